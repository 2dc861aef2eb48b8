"""What of a deep forest fits into a limit of time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from time import monotonic

import numpy as np
from sklearn.base import clone

from mddf._base.messages import warn
from mddf._base.parallel import job_count
from mddf._deep_forest.fit_report import FitLog
from mddf._deep_forest.fold_trainer import Training
from mddf._members.spec import MemberSpec
from mddf._training.layer_trainer import LayerInput, Split

# Forests get this share of the time; of fewer trees than that there is one kind, and no less than
# that.
_SHARE_OF_FORESTS, _FEW_TREES, _FEWEST_TREES = 0.35, 20, 3
# Trees of a trial of options, in all.
_TRIALS = 240


def seconds_of_a_tree(forest: MemberSpec, training: Training, entropy: Sequence[int]) -> float:
    """What a tree of all rows takes, of a few."""
    n_trees = 2 * job_count(training.n_jobs, forest.model.n_estimators)
    trial = replace(forest, model=clone(forest.model).set_params(n_estimators=n_trees))
    start = monotonic()
    parts = [Split(training.everything, None)]
    training.grow_all(
        [trial], LayerInput(training.raw_columns), parts, (*entropy, 14), "a few trees"
    )
    return (monotonic() - start) / n_trees


def within_limit(
    members: list[MemberSpec], training: Training, entropy: Sequence[int], log: FitLog
) -> tuple[list[MemberSpec], bool]:
    """Members whose forests fit into the time, and whether there is some to choose their options.

    With a warning where less than a few trees of one forest do.
    """
    clock, forests = training.clock, [member for member in members if member.is_forest]
    if not (clock.runs and forests):
        return members, True
    seconds = seconds_of_a_tree(forests[0], training, entropy)
    budget = _SHARE_OF_FORESTS * max(0.0, clock.left) / seconds
    times = len(training.folds) + training.task.n_times
    wanted = sum(forest.model.n_estimators for forest in forests) * times
    share = budget / wanted
    chooses = budget > 2 * _TRIALS
    least = min(forest.model.n_estimators for forest in forests)
    if share * least < _FEW_TREES and len(forests) > 1:
        share, forests = share * len(forests), forests[:1]
    if share < 1:
        forests = [_with_share(forest, share) for forest in forests]
        n_trees = min(forest.model.n_estimators for forest in forests)
        log.note(
            "time limit",
            "",
            [(one.name, np.nan, f"{one.model.n_estimators} trees") for one in forests],
            len(training.order),
            0,
        )
        if share * least < _FEWEST_TREES:
            warn(
                f"time_limit={clock.limit:g} is too short for this table: there is one forest, of "
                f"{n_trees} trees or fewer for each fold, which may take longer"
            )
    by_name = {forest.name: forest for forest in forests}
    left = [by_name.get(member.name, member) for member in members]
    return [m for m in left if not m.is_forest or m.name in by_name], chooses


def _with_share(forest: MemberSpec, share: float) -> MemberSpec:
    n_trees = max(_FEWEST_TREES, int(share * forest.model.n_estimators))
    n_trees = min(n_trees, forest.model.n_estimators)
    return replace(forest, model=clone(forest.model).set_params(n_estimators=n_trees))
