"""The first layer of a deep forest: members on all folds, or on one if they lose the race."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from time import perf_counter

import numpy as np

from mddf._base.parallel import TimeIsUp
from mddf._base.progress import tell_work
from mddf._layers.evidence import Evidence
from mddf._layers.member import Member, by_kind
from mddf._layers.member_options import BoostingChoice
from mddf._layers.report import Candidate, FitReport, leaderboard_row
from mddf._layers.seeds import Purpose
from mddf._layers.stack import Layer
from mddf._layers.tasks import Task
from mddf._layers.trainer import Split, Trainer, splits_from_folds

# Shares of the remaining time of a limit: for the race, for forests after it, and for a single
# estimator.
# Each leaves time for what follows, and for a refit. Set by hand. Within a limit, only forests
# race, which get half of the time of the race.
_TIME_OF_RACE = 0.4
_TIME_OF_WINNERS = 0.5
_ESTIMATOR_SHARE = 0.4
# Share for estimators that were not finished at first, in the time that the others left: only a
# refit follows. Set by hand.
_LAST_SHARE = 0.8
# With fewer samples, held out or in all, there is no race: members train quickly, and chance would
# decide. Set by hand.
_MIN_HELD_OUT = 50
_MIN_SAMPLES = 400
# A single vote would often leave out a member that is about as good as those that it takes.
# Weights are therefore means over 20 votes of half of the held-out samples each, of ten steps.
_N_DRAWS = 20
_N_STEPS = 10
# Halves have at most this many samples, which bounds the time of the votes.
_MAX_DRAWN = 2000
# Share of the trees that forests have in the race of a large table, after which the winners are
# grown in full. Set by hand.
_TREE_SHARE_OF_RACE = 0.25
# Members with a smaller mean weight are left out. Over 21 data sets of classes, the race changed
# the loss by a factor of 1.000 +- 0.000.
_MIN_WEIGHT = 0.03

# Shares of a fit that are done before members are compared, after that, and after the first layer.
# Rounded means over three tables of 600 to 1500 rows; they only serve to show progress.
_PROGRESS_OF_OPTIONS = 0.1
_PROGRESS_OF_RACE = 0.2
PROGRESS_OF_FIRST_LAYER = 0.95


def train_first_layer(
    members: list[Member],
    trainer: Trainer,
    report: FitReport,
    # Choices for boosted trees, by their numbers. With vectors of the first fold, they take part
    # in the race, which they may only lose if their loss is settled. Other boosted trees do not
    # race, since their folds grow side by side.
    boosting_choices: Mapping[int, BoostingChoice],
    *,
    keep_fold_models: bool,  # whether the models of the folds predict, not models of all samples
) -> Layer:
    """Train the members of the first layer: all on one fold, the winners of the race on all.

    Forests are trained first, then boosted trees, then estimators, which may take longest.
    """
    training = _FirstLayerTraining(members, trainer, keep_fold_models)
    known_vectors = {
        i: choice.first_fold_vectors
        for i, choice in boosting_choices.items()
        if choice.first_fold_vectors is not None
    }

    # 1. Train members on the first fold, and leave out those that the others do not need.
    losers: list[int] = []
    racing = _racing_members(training, known_vectors)
    if racing:
        to_train = [i for i in racing if i not in known_vectors]
        full_forests = training.with_fewer_trees(to_train)
        with trainer.clock.cut(_TIME_OF_RACE):
            training.train(to_train, training.splits[:1])
        forecasts = [
            known_vectors[i] if i in known_vectors else training.first_fold_vectors(i)
            for i in racing
        ]
        losers = _losers(training, racing, forecasts, boosting_choices, report)
        for i, forest in full_forests.items():
            if i not in losers:
                training.start_again(i, forest)
    survivors = [i for i in range(len(members)) if i not in losers]
    training.survivors = survivors

    # 2. Train the members that raced on the other folds, and the others on all folds.
    after_race = [i for i in survivors if i in training.trained]
    without_race = [i for i in survivors if i not in training.trained]
    training.leave_out_forests_without_time(after_race)
    in_time = [i for i in after_race if i not in training.out_of_time]
    training.train(in_time, training.splits[1:], first=1)
    if trainer.clock.runs:
        _train_within_limit(training, without_race)
    else:
        training.train(without_race, training.splits)

    # 3. Report the work that a limit of time left out, and collect the evidence.
    for i, decision in sorted(training.cuts().items()):
        report.add_cut(members[i].name, decision, n_rows=trainer.n_samples)
    return training.layer(losers)


def _racing_members(
    training: _FirstLayerTraining, known_vectors: Mapping[int, np.ndarray]
) -> list[int]:
    """Numbers of the members that take part in the race; none if there is no race."""
    trainer = training.trainer
    racing = [
        i
        for i, member in enumerate(training.members)
        if i in known_vectors or member.can_race(is_timed=trainer.clock.runs)
    ]
    held_out = trainer.folds[0][1]
    if len(racing) < 2 or not can_race(trainer.n_samples, len(held_out)):
        return []
    return racing


def _losers(
    training: _FirstLayerTraining,
    racing: Sequence[int],
    forecasts: Sequence[np.ndarray],  # of the rows that the first fold holds out
    boosting_choices: Mapping[int, BoostingChoice],
    report: FitReport,
) -> list[int]:
    """Numbers of the racing members that the others do not need."""
    trainer = training.trainer
    held_out = trainer.folds[0][1]
    task = trainer.task.for_rows(held_out)
    weights, losses = race_weights(task, forecasts, trainer.seeds.entropy_for(Purpose.RACE))
    losers = []
    candidates = []
    least_weight = min(_MIN_WEIGHT, weights.max())
    for i, loss, weight in zip(racing, losses, weights, strict=True):
        choice = boosting_choices.get(i)
        may_lose = choice is None or choice.first_fold_vectors is None or choice.is_settled
        decision = f"weight {weight:.2f}"
        if weight < least_weight and may_lose:
            losers.append(i)
            decision += ", left out"
        candidates.append(Candidate(training.members[i].name, loss, decision))
    report.add("race", candidates, n_rows=len(held_out), n_folds=1)
    return losers


def can_race(n_samples: int, n_held_out: int) -> bool:
    """Whether there are enough samples to rank members."""
    return n_samples >= _MIN_SAMPLES and n_held_out >= _MIN_HELD_OUT


def race_weights(
    task: Task,
    forecasts: Sequence[np.ndarray],
    entropy: Sequence[int],  # entropy of the draws
) -> tuple[np.ndarray, np.ndarray]:
    """Mean weights of members in votes of halves of the held-out samples, and their losses."""
    votes = [task.sharpened(forecast, task.member_exponent(forecast)) for forecast in forecasts]
    rng = np.random.default_rng(np.random.SeedSequence(tuple(entropy)))
    n_samples = len(votes[0])
    n_drawn = min(_MAX_DRAWN, (n_samples + 1) // 2)
    weights = np.zeros(len(votes))
    for _ in range(_N_DRAWS):
        rows = rng.permutation(n_samples)[:n_drawn]
        weights += task.trial_weights(votes, rows, _N_STEPS)
    losses = np.array([task.mean_loss(vote) for vote in votes])
    return weights / _N_DRAWS, losses


def _train_within_limit(training: _FirstLayerTraining, numbers: Sequence[int]) -> None:
    """Train members on all folds; estimators only if their first fold shows that there is time."""
    members = training.members
    training.train([i for i in numbers if members[i].adapts_to_time], training.splits)
    slow = [i for i in numbers if not members[i].adapts_to_time]
    training.train(slow, training.splits[:1])
    for share in (_ESTIMATOR_SHARE, _LAST_SHARE):
        begun = [i for i in slow if i in training.trained and i not in training.complete]
        training.train(begun, training.splits[1:], first=1, share=share)


class _FirstLayerTraining:
    """Members on folds: evidence so far, and the time it took."""

    def __init__(self, members: list[Member], trainer: Trainer, keep_fold_models: bool) -> None:
        self.members = [*members]
        self.trainer = trainer
        self.splits = splits_from_folds(trainer.folds, keep=keep_fold_models)
        self.trained: dict[int, Evidence] = {}
        # Members that were left out because of the limit of time.
        self.out_of_time: set[int] = set()
        self.complete: set[int] = set()  # members that were trained on all folds
        # Members that are trained on all folds, once it is known.
        self.survivors: Sequence[int] = ()

    def train(
        self,
        numbers: Sequence[int],
        splits: Sequence[Split],
        *,
        first: int = 0,
        share: float = _ESTIMATOR_SHARE,  # of the remaining time, for an estimator
    ) -> None:
        """Train members on splits, of which the first has number `first`.

        Members that are trained on the splits from 1 on were trained on split 0 before.
        """
        if not splits:
            return
        for kind, group in by_kind({i: self.members[i] for i in numbers}):
            for name, batch in kind.batches(group):
                if not all(self._has_time(i, splits, first, share) for i in batch):
                    continue
                self._tell(name)
                start = perf_counter()
                try:
                    with self.trainer.clock.cut(kind.time_share):
                        trained = kind.train(
                            batch,
                            self.trainer,
                            splits,
                            first=first,
                            is_only_member=not self.trained,
                        )
                except TimeIsUp:
                    self.out_of_time.update(batch)
                    continue
                seconds = (perf_counter() - start) / len(batch)
                is_complete = first + len(splits) == len(self.splits)
                for i, evidence in trained.items():
                    self._add(i, evidence, seconds, is_complete=is_complete)

    def _add(self, i: int, evidence: Evidence, seconds: float, *, is_complete: bool) -> None:
        """Add the evidence about a member from some splits."""
        evidence.seconds = seconds
        if i in self.trained:
            evidence = self.trained[i].joined(evidence)
        self.trained[i] = evidence
        self.members[i] = evidence.member
        if is_complete:
            self.complete.add(i)

    def first_fold_vectors(self, i: int) -> np.ndarray:
        """Predictions of the rows that the first fold holds out, if it alone is trained so far."""
        held_out = self.trainer.folds[0][1]
        # Vectors are sums over the folds, divided by their number.
        n_times = self.trainer.mean_of_folds.n_times_held_out[held_out]
        return self.trained[i].vectors[held_out] * n_times[:, None]

    def _tell(self, member: str) -> None:
        if not self.survivors:
            tell_work(f"comparing members: {member}", _PROGRESS_OF_OPTIONS)
            return
        done = len(self.complete) / len(self.survivors)
        share = _PROGRESS_OF_RACE + done * (PROGRESS_OF_FIRST_LAYER - _PROGRESS_OF_RACE)
        tell_work(f"layer 1: {member}", share)

    def with_fewer_trees(self, numbers: Sequence[int]) -> dict[int, Member]:
        """Reduce the forests among some members, if the table is large; returns them as before."""
        if self.trainer.clock.runs or not self.trainer.task.is_large:
            return {}
        full_forests = {i: self.members[i] for i in numbers if self.members[i].n_trees}
        for i, forest in full_forests.items():
            self.members[i] = forest.with_tree_factor(_TREE_SHARE_OF_RACE)
        return full_forests

    def start_again(self, i: int, member: Member) -> None:
        """Drop the evidence about a member, which is then trained on all splits."""
        del self.trained[i]
        self.members[i] = member

    def leave_out_forests_without_time(self, numbers: Sequence[int]) -> None:
        """Leave out all forests after a race but the first, if there is no time for all."""
        forests = [i for i in numbers if self.members[i].n_trees]
        seconds = sum(self.trained[i].seconds for i in forests) * len(self.splits)
        if not self.trainer.clock.allows(seconds, _TIME_OF_WINNERS):
            self.out_of_time.update(forests[1:])

    def _has_time(self, i: int, splits: Sequence[Split], first: int, share: float) -> bool:
        """Whether a member fits into the remaining time; if not, it is left out so far."""
        clock = self.trainer.clock
        if not (clock.runs and any(member.adapts_to_time for member in self.members)):
            return True
        self.out_of_time.discard(i)
        first_fold = self.trained[i].seconds if first else 0.0
        seconds = self.members[i].expected_seconds(self.trainer, len(splits), first_fold)
        if seconds and not clock.allows(seconds, share):
            self.out_of_time.add(i)
        return i not in self.out_of_time

    def cuts(self) -> dict[int, str]:
        """Work that the limit of time ended or left out, by the members' numbers."""
        cuts = {}
        if self.trainer.clock.runs:
            cuts = {i: self.members[i].cut(evidence) for i, evidence in self.trained.items()}
        left_out = dict.fromkeys(self.out_of_time, "left out")
        return {i: cut for i, cut in (cuts | left_out).items() if cut}

    def layer(self, losers: Sequence[int]) -> Layer:
        """Members that are kept, and rows of the leaderboard for the others."""
        trainer = self.trainer
        kept = [self.trained[i] for i in self.survivors if i not in self.out_of_time]
        for evidence in kept:
            trainer.fill_unknown(evidence.vectors)
            if evidence.blind_vectors is not None:
                trainer.fill_unknown(evidence.blind_vectors)
        unknown = dict.fromkeys(trainer.task.metrics(kept[0].vectors), np.nan)
        pruned = []
        importances = []
        for i in sorted({*losers, *self.out_of_time}):
            seconds = self.trained[i].seconds if i in self.trained else 0.0
            row = leaderboard_row(0, self.members[i].name, unknown, seconds)
            has_lost = i in losers
            row["reason"] = "almost no weight on the first fold" if has_lost else "no time left"
            pruned.append(row)
            if i in self.trained:
                importances += self.members[i].importances(self.trained[i].models[:1])
        return Layer(kept, pruned=pruned, pruned_importances=importances)
