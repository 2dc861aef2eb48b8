"""The first layer of a deep forest: members on all folds, or on one if they lose the race."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from time import monotonic, perf_counter

import numpy as np

from mddf._base.deadline import TimeIsUp
from mddf._base.progress import tell_work
from mddf._deep_forest.fit_report import Candidate, FitReport, leaderboard_row
from mddf._deep_forest.fold_trainer import FoldTrainer, is_large_table
from mddf._deep_forest.stack import OutOfFoldLayer
from mddf._deep_forest.tuning import BoostingChoice
from mddf._members.external_training import n_fits
from mddf._members.kernel import MOST_ROWS, KernelRidge
from mddf._members.kernel_logistic import KernelLogisticClassifier
from mddf._members.spec import MemberSpec
from mddf._training.layer_trainer import (
    EstimatorFit,
    LayerInput,
    LayerJob,
    MeanOfFolds,
    Split,
    TrainedMember,
    splits_from_folds,
)
from mddf._training.seeds import Purpose
from mddf._training.tasks import Task

# Shares of the remaining time of a limit: for the race, for forests, for boosted trees, and for a
# single estimator. Each leaves time for what follows, and for a refit. Set by hand.
_RACE_SHARE = 0.2
_FOREST_SHARE = 0.5
_BOOSTING_SHARE = 0.7
_ESTIMATOR_SHARE = 0.4
# Share for estimators that were not finished at first, in the time that the others left: only a
# refit follows. Set by hand.
_LAST_SHARE = 0.8
# Share of the time of the first fold that the other folds take if it chose options for them. It
# was 0.12 to 0.5 for kernels on 300 and 1000 rows.
_SHARE_WITHOUT_CHOICE = 0.5
# Rough time that a kernel or network, the slowest of the named estimators, takes on a fold: by
# rows, or in tables of many columns by the numbers that it encodes, up to 2 million of them. It
# only has to tell seconds from minutes.
_SECONDS_PER_ROW = 3e-4
_SECONDS_PER_CELL = 1.5e-6
_MAX_CELLS = 2**21
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
_TREE_SHARE_OF_LARGE_TABLE = 0.25
# Members with a smaller mean weight are left out. Over 21 data sets of classes, the race changed
# the loss by a factor of 1.000 +- 0.000.
_MIN_WEIGHT = 0.03

# Shares of a fit that are done before members are compared, after that, and after the first layer.
# Rounded means over three tables of 600 to 1500 rows; they only serve to show progress.
OPTIONS_SHARE = 0.1
RACE_SHARE = 0.2
FIRST_LAYER_SHARE = 0.95


def train_first_layer(
    members: list[MemberSpec],
    trainer: FoldTrainer,
    report: FitReport,
    # Choices for boosted trees, by their numbers. With vectors of the first fold, they take part
    # in the race, which they may only lose if their loss is settled. Other boosted trees do not
    # race, since their folds grow side by side.
    boosting_choices: Mapping[int, BoostingChoice],
    *,
    # Whether the models of the folds predict, not models of all samples. Those of boosted trees
    # are kept in any case: they predict the classes, and a refit needs their numbers of rounds.
    keep_fold_models: bool,
) -> OutOfFoldLayer:
    """Train the members of the first layer: all on one fold, the winners of the race on all."""
    training = _FirstLayerTraining(members, trainer, keep_fold_models)
    losers = _race(training, boosting_choices, report)
    survivors = [i for i in range(len(members)) if i not in losers]
    _train_survivors(training, survivors)
    for i, decision in sorted(training.cuts().items()):
        report.add_cut(members[i].name, decision, n_rows=trainer.n_samples)
    kept = [i for i in survivors if i not in training.out_of_time]
    return training.out_of_fold_layer(kept, pruned=sorted({*losers, *training.out_of_time}))


def _race(
    training: _FirstLayerTraining,
    boosting_choices: Mapping[int, BoostingChoice],
    report: FitReport,
) -> list[int]:
    """Train members on the first fold; returns the numbers of the losers."""
    members = training.members
    trainer = training.trainer
    held_out = trainer.folds[0][1]
    known_vectors = {
        i: choice.first_fold_vectors
        for i, choice in boosting_choices.items()
        if choice.first_fold_vectors is not None
    }
    racing = [i for i, m in enumerate(members) if i in known_vectors or not m.is_boosted]
    if trainer.clock.runs:
        # Time spent on slow estimators may be missing for the others.
        racing = [i for i in racing if not members[i].needs_numbers]
    if len(racing) < 2 or not can_race(trainer.n_samples, len(held_out)):
        return []
    to_train = [i for i in racing if i not in known_vectors]
    full_forests = {}
    if is_large_table(trainer.task) and not trainer.clock.runs:
        full_forests = {i: members[i] for i in to_train if members[i].is_forest}
    for i, forest in full_forests.items():
        members[i] = forest.with_more_trees(_TREE_SHARE_OF_LARGE_TABLE)
    with trainer.clock.cut(_RACE_SHARE):
        training.train(to_train, training.splits[:1])
    forecasts = [
        known_vectors[i] if i in known_vectors else training.first_fold_vectors(i) for i in racing
    ]
    task = trainer.task.for_rows(held_out)
    weights, losses = race_weights(task, forecasts, trainer.seeds.entropy_for(Purpose.RACE))
    losers = []
    candidates = []
    for i, loss, weight, survives in zip(
        racing, losses, weights, survives_race(weights), strict=True
    ):
        decision = f"weight {weight:.2f}"
        if not survives and (i not in known_vectors or boosting_choices[i].is_settled):
            losers.append(i)
            decision += ", left out"
        candidates.append(Candidate(members[i].name, loss, decision))
    report.add("race", candidates, n_rows=len(held_out), n_folds=1)
    for i, forest in full_forests.items():
        if i not in losers:
            training.forget(i)
            members[i] = forest
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


def survives_race(weights: np.ndarray) -> np.ndarray:
    """Whether each member is trained on the other folds."""
    return weights >= min(_MIN_WEIGHT, weights.max())


def _train_survivors(training: _FirstLayerTraining, survivors: Sequence[int]) -> None:
    """Train members on all folds, or on the other folds after a race.

    Forests are trained first, then boosted trees, then estimators, which may take longest.
    """
    training.plan_work(survivors)
    members = training.members
    clock = training.trainer.clock
    first_split = training.splits[:1]
    other_splits = training.splits[1:]
    after_race = [i for i in survivors if i in training.trained]
    without_race = [i for i in survivors if i not in training.trained]
    training.reduce_forests_to_time([i for i in after_race if members[i].is_forest])
    after_race = [i for i in after_race if i not in training.out_of_time]
    with clock.cut(_FOREST_SHARE):
        training.train(after_race, other_splits, first=1)
        training.train([i for i in without_race if members[i].is_forest], training.splits)
    for i in without_race:
        if members[i].is_boosted:
            training.boost(i)
    estimators = [i for i in without_race if members[i].needs_numbers]
    if not clock.runs:
        training.train(estimators, training.splits)
        return
    # The first fold shows whether the time suffices for more.
    training.train(estimators, first_split)
    for share in (_ESTIMATOR_SHARE, _LAST_SHARE):
        begun = [i for i in estimators if training.has_only_first_fold(i)]
        training.train(begun, other_splits, first=1, share=share)


def _seconds_of_estimator(member: MemberSpec, trainer: FoldTrainer) -> float:
    """Rough time that an estimator takes on a fold, if it is a slow one."""
    bins = trainer.table.bins.columns(0, trainer.n_features)
    n_encoded = int(np.where(bins.categorical, np.diff(bins.start), 1).sum())
    n_rows = min(trainer.n_samples, MOST_ROWS)
    n_cells = min(n_rows * n_encoded, _MAX_CELLS)
    return n_fits(member.model, trainer.task.n_classes_per_output) * max(
        _SECONDS_PER_ROW * n_rows, _SECONDS_PER_CELL * n_cells
    )


def _counted(n: int, noun: str) -> str:
    return f"{n} {noun}" + "s" * (n != 1)


class _FirstLayerTraining:
    """Members on folds: models and vectors so far, and the seconds they took."""

    def __init__(
        self, members: list[MemberSpec], trainer: FoldTrainer, keep_fold_models: bool
    ) -> None:
        self.members = [*members]
        self.trainer = trainer
        self.keep_fold_models = keep_fold_models
        self.splits = splits_from_folds(trainer.folds, keep=keep_fold_models)
        self.aggregator = MeanOfFolds.from_folds(trainer.task, trainer.folds)
        self.trained: dict[int, TrainedMember] = {}
        self.seconds: dict[int, float] = {}
        # Vectors of boosted trees whose numbers of rounds are chosen without the held-out rows.
        self.blind_vectors: dict[int, np.ndarray] = {}
        # Members that were left out because of the limit of time.
        self.out_of_time: set[int] = set()
        self._complete: set[int] = set()  # estimators that were trained on all folds
        self._rounds_in_time: dict[int, str] = {}
        # Seconds of the work that is planned and of what is left of it, for progress only.
        self._work = 0.0
        self._work_left: dict[int, float] = {}

    def train(
        self,
        numbers: Sequence[int],
        splits: Sequence[Split],
        *,
        first: int = 0,
        share: float = _ESTIMATOR_SHARE,  # of the remaining time, for an estimator
    ) -> None:
        """Train members other than boosted trees on splits, of which the first has number `first`.

        Members that are trained on the splits from 1 on were trained on split 0 before.
        """
        if not splits:
            return
        self._tell("forests" if any(self.members[i].is_forest for i in numbers) else "")
        self._grow_forests([i for i in numbers if self.members[i].is_forest], splits, first)
        for i in numbers:
            if not self.members[i].is_forest and self._has_time(i, splits, first, share):
                self._tell(self.members[i].name)
                start = perf_counter()
                self._fit_estimator(i, splits, first)
                if first + len(splits) == len(self.splits):
                    self._complete.add(i)
                self._add_seconds(i, perf_counter() - start)
                self._finish_work(i)

    def first_fold_vectors(self, i: int) -> np.ndarray:
        """Predictions of the rows that the first fold holds out, if it alone is trained so far."""
        held_out = self.trainer.folds[0][1]
        # Vectors are sums over the folds, divided by their number.
        n_times = self.aggregator.n_times_held_out[held_out]
        return self.trained[i].vectors[held_out] * n_times[:, None]

    def plan_work(self, numbers: Sequence[int]) -> None:
        """Estimate the seconds of the folds that are left, to tell the share that is done.

        A member that was trained on the first fold is known; any other one counts as the slowest.
        """
        slowest = max(self.seconds.values(), default=1.0)
        self._work_left = {i: self.seconds.get(i, slowest) for i in numbers}
        self._work = sum(self._work_left.values())

    def _finish_work(self, i: int) -> None:
        self._work_left.pop(i, None)

    def _tell(self, member: str) -> None:
        if not member:
            return
        if not self._work:
            tell_work(f"comparing members: {member}", OPTIONS_SHARE)
            return
        done = 1 - sum(self._work_left.values()) / self._work
        share = RACE_SHARE + done * (FIRST_LAYER_SHARE - RACE_SHARE)
        tell_work(f"layer 1: {member}", share)

    def forget(self, i: int) -> None:
        """Drop the models and vectors of a member, which is then trained on all splits."""
        del self.trained[i]
        del self.seconds[i]

    def reduce_forests_to_time(self, forests: list[int]) -> None:
        """Leave out all forests but the first, if the time does not suffice for all."""
        seconds = sum(self.seconds[i] for i in forests) * len(self.splits)
        if not self.trainer.clock.allows(seconds, _FOREST_SHARE):
            self.out_of_time.update(forests[1:])

    def has_only_first_fold(self, i: int) -> bool:
        """Whether a member has been trained on the first fold, but not on the others."""
        return i in self.trained and i not in self._complete

    def _has_time(self, i: int, splits: Sequence[Split], first: int, share: float) -> bool:
        """Whether an estimator fits into the remaining time; if not, it is left out so far."""
        clock = self.trainer.clock
        if not clock.runs or all(member.needs_numbers for member in self.members):
            return True
        self.out_of_time.discard(i)
        if first:
            # The first fold shows the time of a fold. A fit of all rows may follow.
            seconds = self.seconds[i] * (len(splits) + 2)
            if self.members[i].chosen is not None:
                seconds *= _SHARE_WITHOUT_CHOICE
        else:
            seconds = _seconds_of_estimator(self.members[i], self.trainer) * clock.pace
        if not clock.allows(seconds, share):
            self.out_of_time.add(i)
        return i not in self.out_of_time

    def _grow_forests(self, numbers: list[int], splits: Sequence[Split], first: int) -> None:
        """Grow forests, which share the time since they grow together."""
        start = perf_counter()
        job = LayerJob(
            LayerInput(self.trainer.feature_columns),
            splits,
            self.trainer.seeds.entropy_for(Purpose.FORESTS, first),
            "layer 1",
        )
        trained = self.trainer.train_forests(
            {i: self.members[i] for i in numbers}, job, self.aggregator, importances=True
        )
        for i, member in trained.items():
            self._add(i, member)
            self._add_seconds(i, (perf_counter() - start) / len(numbers))
            self._finish_work(i)

    def _fit_estimator(self, i: int, splits: Sequence[Split], first: int) -> None:
        """Fit an estimator; the first fold chooses the options of a kernel for the others."""
        if first == 0:
            entropy = self.trainer.seeds.entropy_for(Purpose.ESTIMATORS, i)
            fits = self.trainer.fit_member(self.members[i], splits[:1], entropy)
            model, _ = fits[0]
            if isinstance(model, KernelRidge | KernelLogisticClassifier):
                self.members[i] = self.members[i].with_chosen(model.chosen())
            self._add_fits(i, fits, splits[:1])
            splits = splits[1:]
        if splits:
            entropy = self.trainer.seeds.entropy_for(Purpose.ESTIMATORS, i, 1)
            fits = self.trainer.fit_member(self.members[i], splits, entropy)
            self._add_fits(i, fits, splits)

    def boost(self, i: int) -> None:
        """Train boosted trees on all folds, or on folds of their own."""
        self._tell(self.members[i].name)
        start = perf_counter()
        trainer = self.trainer
        member = self.members[i]
        splits = self.splits
        aggregator = self.aggregator
        if member.kind is not None and trainer.boosting_folds is not None:
            splits = splits_from_folds(trainer.boosting_folds)
            aggregator = MeanOfFolds.from_folds(trainer.task, trainer.boosting_folds)
        end = trainer.clock.until(_BOOSTING_SHARE)
        try:
            fits = trainer.boost(
                member,
                splits,
                self.trainer.seeds.entropy_for(Purpose.ESTIMATORS, i),
                time_share=_BOOSTING_SHARE,
                # A layer needs a member: the only one is trained in any case.
                may_skip=bool(self.trained),
                goes_on=True,
            )
        except TimeIsUp:
            self.out_of_time.add(i)
            return
        if monotonic() > end:
            self._rounds_in_time[i] = _counted(max(fits[0].model.rounds, default=0), "round")
        vectors = [(fit.model, fit.vectors) for fit in fits]
        blind_vectors = [(fit.model, fit.blind_vectors) for fit in fits]
        self._add(
            i,
            TrainedMember(
                [fit.model for fit in fits],
                trainer.out_of_fold_vectors(vectors, splits, aggregator),
            ),
        )
        self.blind_vectors[i] = trainer.out_of_fold_vectors(blind_vectors, splits, aggregator)
        self._add_seconds(i, perf_counter() - start)
        self._finish_work(i)

    def cuts(self) -> dict[int, str]:
        """Work that the limit of time ended or left out, by the members' numbers."""
        cuts = self._rounds_in_time | dict.fromkeys(self.out_of_time, "left out")
        if not self.trainer.clock.runs:
            return cuts
        for i, trained in self.trained.items():
            if self.members[i].is_forest and i not in cuts:
                n_trees = min(
                    sum(block.n_trees for block in result.trees) for result in trained.models
                )
                if n_trees < self.members[i].model.n_estimators:
                    cuts[i] = _counted(n_trees, "tree")
        return cuts

    def out_of_fold_layer(self, kept: Sequence[int], pruned: Sequence[int]) -> OutOfFoldLayer:
        """Members that are kept, and rows of the leaderboard for the others."""
        vectors = self.trainer.fill_unknown(np.stack([self.trained[i].vectors for i in kept]))
        unknown = dict.fromkeys(self.trainer.task.metrics(vectors[0]), np.nan)
        pruned_forests = [self.trained[i].models[0] for i in pruned if self.members[i].is_forest]
        return OutOfFoldLayer(
            [self.members[i] for i in kept],
            vectors,
            [self.trained[i].models for i in kept],
            seconds=np.array([self.seconds[i] for i in kept]),
            pruned=[
                leaderboard_row(0, self.members[i].name, unknown, self.seconds.get(i, 0.0))
                for i in pruned
            ],
            pruned_importances=tuple(result.importances for result in pruned_forests),
            blind_vectors={
                position: self.trainer.fill_unknown(self.blind_vectors[i])
                for position, i in enumerate(kept)
                if i in self.blind_vectors
            },
        )

    def _add_fits(self, i: int, fits: Sequence[EstimatorFit], splits: Sequence[Split]) -> None:
        models = [model for model, _ in fits] if self.keep_fold_models else []
        vectors = self.trainer.out_of_fold_vectors(fits, splits, self.aggregator)
        self._add(i, TrainedMember(models, vectors))

    def _add(self, i: int, member: TrainedMember) -> None:
        if i in self.trained:
            before = self.trained[i]
            member = TrainedMember(before.models + member.models, before.vectors + member.vectors)
        self.trained[i] = member

    def _add_seconds(self, i: int, seconds: float) -> None:
        self.seconds[i] = self.seconds.get(i, 0.0) + seconds
