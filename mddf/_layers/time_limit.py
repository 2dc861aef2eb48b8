"""Number of forests and trees that fit into a limit of time."""

from __future__ import annotations

from time import monotonic

from mddf._base.messages import warn
from mddf._base.parallel import job_count
from mddf._layers.member import Member, fit_all
from mddf._layers.report import Candidate, FitReport
from mddf._layers.seeds import Purpose
from mddf._layers.trainer import Job, Split, Trainer, one_stream

# Share of the time that forests get: boosted trees, estimators and a refit need the rest. Not
# tuned.
_TIME_OF_TREES = 0.35
# If there would be fewer trees for each fold, only the first kind of forest is grown. More than
# one kind pays only if each has some trees. Set by hand.
_MIN_TREES_OF_SEVERAL_KINDS = 20
# A forest has no fewer trees, however short the time is. Not tuned.
_MIN_TREES = 3
# Trees of a comparison of options: three leaf sizes of 40 trees, for two kinds of forest.
_TREES_OF_TRIALS = 240
# Options are compared if their trees take at most this share of the forests' time. Not tuned.
_TRIAL_SHARE = 0.5


def seconds_per_tree(forest: Member, trainer: Trainer) -> float:
    """Time that a tree of all rows takes, measured on a few trees."""
    n_trees = 2 * job_count(trainer.n_jobs, forest.n_trees)
    trial = forest.with_parameters(n_estimators=n_trees)
    entropy = trainer.seeds.entropy_for(Purpose.TIMED_TREES)
    job = Job(
        splits=[Split(trainer.all_rows, None)],
        entropy_of=one_stream(entropy),
        description="a few trees",
    )
    start = monotonic()
    for _, fits in fit_all({0: trial}, trainer, job):
        list(fits)
    return (monotonic() - start) / n_trees


def fit_into_time(
    members: list[Member], trainer: Trainer, report: FitReport
) -> tuple[list[Member], bool]:
    """Reduce the forests and their trees to the number that fits into the time.

    Returns the members, and whether there is time to compare their options. Warns if the time
    suffices for less than a few trees of one forest.
    """
    clock = trainer.clock
    forests = [member for member in members if member.n_trees]
    if not (clock.runs and forests):
        return members, True
    seconds = seconds_per_tree(forests[0], trainer)
    n_trees_in_time = _TIME_OF_TREES * max(0.0, clock.left) / seconds
    n_forests_per_member = len(trainer.folds) + trainer.task.refit_tree_factor
    n_trees = sum(forest.n_trees for forest in forests) * n_forests_per_member
    share = n_trees_in_time / n_trees
    smallest = min(forest.n_trees for forest in forests)
    if share * smallest < _MIN_TREES_OF_SEVERAL_KINDS and len(forests) > 1:
        share *= len(forests)
        forests = forests[:1]
    if share < 1:
        forests = [_with_share_of_trees(forest, share) for forest in forests]
        report.add(
            "time limit",
            [Candidate(forest.name, decision=f"{forest.n_trees} trees") for forest in forests],
            n_rows=trainer.n_samples,
        )
        if share * smallest < _MIN_TREES:
            n_trees = min(forest.n_trees for forest in forests)
            warn(
                f"time_limit={clock.limit:g} is too short for this table: there is one forest, of "
                f"{n_trees} trees or fewer for each fold, which may take longer"
            )
    by_name = {forest.name: forest for forest in forests}
    members_in_time = [
        by_name.get(member.name, member)
        for member in members
        if not member.n_trees or member.name in by_name
    ]
    return members_in_time, _TRIAL_SHARE * n_trees_in_time > _TREES_OF_TRIALS


def _with_share_of_trees(forest: Member, share: float) -> Member:
    n_trees = max(_MIN_TREES, int(share * forest.n_trees))
    n_trees = min(n_trees, forest.n_trees)
    return forest.with_parameters(n_estimators=n_trees)
