"""Choice of options by a few trees, before many are grown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from operator import attrgetter
from typing import Any

import numpy as np
from sklearn.base import clone

from mddf._base.parallel import TimeIsUp
from mddf._layers.margin_loss import margin_factors
from mddf._layers.member import ForestMember, Member, fit_all
from mddf._layers.report import Candidate, FitReport
from mddf._layers.seeds import Purpose
from mddf._layers.tasks import Task
from mddf._layers.trainer import Job, Split, Trainer, one_stream, splits_from_folds
from mddf._members.screening import is_wide
from mddf._targets.weights import mean_error, n_counted
from mddf._trees.grower import OUT_OF_BAG, GrowthResult

# Shares of the losses in the samples' weights that are compared for the second layer: none, the
# default of mdDF, and that of the paper.
STRENGTHS = (0.0, 0.25, 1.0)
# Trees of a comparison of options. Out of bag, about 15 of 40 trees do not draw a given sample, so
# that a comparison on folds grows 15 on each. Not tuned.
_N_TREES = 40
_N_TREES_OF_FOLD = 15
# Share of these trees for large tables, whose many rows make the comparison exact. Set by hand.
_TREE_SHARE_OF_LARGE_TABLE = 0.25
# Share of the rows that such a tree draws if it is evaluated out of bag. In a regression of
# 200 000 rows, the comparison took 16 CPU seconds with all rows and 5 with this share, and chose
# the same options. The whole fit takes some 50 CPU seconds.
_ROW_SHARE_OF_LARGE_TABLE = 0.2
# With fewer rows, the first options are taken without a comparison. Set by hand.
_MIN_ROWS = 50
# Depth of boosted trees that is taken where there is no comparison: the middle one.
_MIDDLE_DEPTH = 4
# Trees of this depth or more are regularised less. Set by hand.
_MIN_DEEP = 6
_L2_OF_DEEP = 3.0
_L2 = 10.0
# Whether half of the features for each split are better than all is compared at the best depth.
_HALF_OF_FEATURES: dict[str, float] = {"max_features": 0.5}
# For classes, whether splits are better scored without second derivatives is compared at the best
# of these. On eleven sets this lowered the log-loss by 0.6 % in the mean, for 5 % more CPU.
_GRADIENT_SCORES: dict[str, Any] = {"split_score": "gradient"}
# Depths are compared on two folds, in fewer rounds at a higher rate than in the fit, which takes a
# fraction of its time. The numbers were set by hand.
_N_DEPTH_FOLDS = 2
_FAST: dict[str, float] = {"learning_rate": 0.15}
_MAX_ROUNDS = 200
_MIN_ROUNDS = 50
# On large tables, leaf-wise trees are tried on one fold: with 200 000 rows, they took half of the
# time of a fit and ended with a weight of 0. This trial has more rounds than the trials of
# symmetric trees, by this factor, since leaf-wise trees have fewer leaves. Not tuned.
_LEAF_WISE_ROUND_FACTOR = 2
# Share of the remaining time for each trial of boosting options. Not tuned.
_TIME_SHARE = 0.05
# A trial whose best round comes before this share of its rounds would not improve by more rounds.
# Its loss then decides whether the member is trained at all. Not tuned.
_SETTLED_SHARE = 0.9


def choose_forest_options(
    member: Member, options: list[dict[str, int]], trainer: Trainer, report: FitReport
) -> dict[str, int]:
    """Options of a forest with the least loss on rows that its trees did not see.

    The first options win unless others are better by more than one standard error.
    """
    if trainer.n_samples < _MIN_ROWS:
        return options[0]
    losses = [_trial_losses(member.with_parameters(**trial), trainer) for trial in options]
    best, candidates = _choose(options, losses, trainer.task.weight)
    n_folds = 0 if trainer.uses_out_of_bag else len(trainer.folds)
    n_rows = len(trainer.evaluated_rows)
    report.add("options", candidates, n_rows=n_rows, n_folds=n_folds, member=member.name)
    return options[best]


class _SumsAndTrees:
    """Aggregator of a forest's sums over trees, followed by the number of trees."""

    def held_out_vectors(self, growth: GrowthResult) -> np.ndarray:
        assert growth.sums is not None
        assert growth.n_trees is not None
        return np.column_stack([growth.sums, growth.n_trees])

    def combined(self, total: np.ndarray) -> np.ndarray:
        return total


def _trial_losses(forest: Member, trainer: Trainer) -> np.ndarray:
    """Calibrated losses of all samples, by trees of a forest that did not see them.

    These are trees of all samples that did not draw a sample. If another sample of the same group
    may have been drawn, they are trees of the folds.
    """
    task = trainer.task
    tree_share = _TREE_SHARE_OF_LARGE_TABLE if task.is_large else 1.0
    if trainer.uses_out_of_bag:
        splits = [Split(trainer.all_rows, OUT_OF_BAG, False)]
        n_trees = int(tree_share * _N_TREES)
        changes: dict[str, Any] = {"bootstrap": True}
        if task.is_large:
            changes["max_samples"] = _ROW_SHARE_OF_LARGE_TABLE
    else:
        splits = splits_from_folds(trainer.folds)
        n_trees = int(tree_share * _N_TREES_OF_FOLD)
        changes = {}
    trial = forest.with_parameters(n_estimators=min(n_trees, forest.n_trees), **changes)
    entropy = trainer.seeds.entropy_for(Purpose.FOREST_OPTIONS)
    job = Job(
        splits=splits,
        entropy_of=one_stream(entropy),
        aggregator=_SumsAndTrees(),
        description="trials",
    )
    total = np.zeros(1)
    for _, fits in fit_all({0: trial}, trainer, job):
        for fit in fits:
            if total.ndim == 1:
                total = np.zeros((trainer.n_samples, fit.vectors.shape[1]))
            total[fit.held_out] += fit.vectors
    has_trees = total[:, -1] > 0
    sums = total[has_trees, :-1]
    forecast = np.full((trainer.n_samples, task.n_columns), task.prior)
    forecast[has_trees] = task.forecast_from_sums(sums, total[has_trees, -1])
    return task.calibrated_losses(forecast)


def _choose(
    options: Sequence[Mapping[str, float]], losses: list[np.ndarray], weight: np.ndarray | None
) -> tuple[int, list[Candidate]]:
    """Options of least mean loss, if they are better than the first by more than its error."""
    means = [float(np.average(trial_losses, weights=weight)) for trial_losses in losses]
    best = int(np.argmin(means))
    gains = losses[0] - losses[best]
    error = mean_error(gains, weight, n_counted(len(gains), weight))
    if not np.average(gains, weights=weight) > error:
        best = 0
    return best, _candidates(options, means, best)


def _candidates(
    options: Sequence[Mapping[str, float]], losses: Sequence[float], best: int
) -> list[Candidate]:
    return [
        Candidate(
            ", ".join(f"{name}={value}" for name, value in trial.items()),
            loss,
            "chosen" if number == best else "",
        )
        for number, (trial, loss) in enumerate(zip(options, losses, strict=True))
    ]


def reweighting_factors(
    margins: np.ndarray, trainer: Trainer, strength: float, rows: np.ndarray | None = None
) -> np.ndarray | None:
    """Factors of the weights of some rows, or of all, by the losses of their margins."""
    if not strength:
        return None
    rows = trainer.all_rows if rows is None else rows
    if trainer.is_in_time_order:
        # Margins of rows without an out-of-fold prediction are unknown: their weights stay.
        rows = np.intersect1d(rows, trainer.evaluated_rows)
        if not len(rows):
            return None
    weight = trainer.weights.row
    weight_of_rows = None if weight is None else weight[rows]
    factors = np.ones(len(margins))
    factors[rows] = margin_factors(margins[rows], weight_of_rows, strength)
    return factors


def reweighting_trial_member(members: Sequence[ForestMember]) -> ForestMember:
    """A small forest on which strengths of reweighting are compared."""
    forests = [member.model for member in members]
    # A forest whose splits depend on labels, if there is one.
    forest = next((forest for forest in forests if not forest._random_thresholds), forests[0])
    n_trees = min(_N_TREES_OF_FOLD, forest.n_estimators)
    return ForestMember("trial", clone(forest).set_params(n_estimators=n_trees))


def choose_strength(losses: list[np.ndarray], task: Task, report: FitReport) -> float:
    """Choose how strongly the second layer reweights samples by the losses of their margins."""
    options = [{"strength": strength} for strength in STRENGTHS]
    best, candidates = _choose(options, losses, task.weight)
    report.add("reweighting", candidates, n_rows=len(task.target), n_folds=1)
    return STRENGTHS[best]


@dataclass(frozen=True)
class BoostingChoice:
    """Options of boosted trees, and their trial."""

    options: dict[str, float]
    loss: float = np.nan
    n_rounds: int = 0
    # Predictions of the rows that the first fold holds out; None without a comparison.
    first_fold_vectors: np.ndarray | None = None
    # Whether the vectors suffice to leave the member out: if more rounds would not lower the loss,
    # which is unknown if the time may have ended them, or if the table is large.
    is_settled: bool = False


def choose_boosting_options(
    member: Member,
    depths: Sequence[int],
    trainer: Trainer,
    entropy: tuple[int, ...],
    report: FitReport,
) -> BoostingChoice:
    """Choose depth and features of boosted trees by the loss on few folds in few, fast rounds.

    In wide tables, whose rows are too few for a comparison, and where the time does not suffice,
    the depth is the middle one.
    """
    without_comparison = BoostingChoice(_options_of_depth(_MIDDLE_DEPTH))
    if is_wide(trainer.n_samples, trainer.n_features):
        return without_comparison
    n_folds = 1 if trainer.task.is_large else _N_DEPTH_FOLDS
    comparison = _Comparison(member, trainer, n_folds, entropy)
    try:
        for depth in depths:
            comparison.add(_options_of_depth(depth))
        comparison.add(comparison.best.options | _HALF_OF_FEATURES)
        if trainer.task.has_margins:
            comparison.add(comparison.best.options | _GRADIENT_SCORES)
    except TimeIsUp:
        report.add_cut("depths", "not all tried", n_rows=trainer.n_samples, member=member.name)
        return without_comparison
    best = comparison.best
    losses = [trial.loss for trial in comparison.trials]
    candidates = _candidates(
        [trial.options for trial in comparison.trials], losses, losses.index(best.loss)
    )
    n_rows = len(comparison.rows)
    report.add("options", candidates, n_rows=n_rows, n_folds=n_folds, member=member.name)
    is_settled = best.n_rounds < _SETTLED_SHARE * comparison.n_rounds
    return replace(best, is_settled=is_settled and not trainer.clock.runs)


def leaf_wise_choice(
    member: Member, trainer: Trainer, entropy: tuple[int, ...]
) -> BoostingChoice | None:
    """Grow leaf-wise trees of a large table in a few rounds on one fold, to take part in the race.

    They lose the race if they get no weight next to symmetric trees, which are compared after
    trials on the same rows. None if the table is not large or the time is limited.
    """
    if not trainer.task.is_large or trainer.clock.runs:
        return None
    comparison = _Comparison(member, trainer, 1, entropy)
    n_rounds = _LEAF_WISE_ROUND_FACTOR * comparison.n_rounds
    max_iter = min(member.model.get_params()["max_iter"], n_rounds)
    comparison.add({"max_iter": max_iter})
    return replace(comparison.best, options={}, is_settled=True)


def _options_of_depth(depth: int) -> dict[str, float]:
    l2_regularization = _L2_OF_DEEP if depth >= _MIN_DEEP else _L2
    return {"max_depth": depth, "l2_regularization": l2_regularization}


class _Comparison:
    """Trials of boosting options on the first folds, in few rounds."""

    def __init__(
        self, member: Member, trainer: Trainer, n_folds: int, entropy: tuple[int, ...]
    ) -> None:
        self.member = member
        self.trainer = trainer
        self.splits = splits_from_folds(trainer.folds[:n_folds])
        self.rows = np.concatenate([held_out for _, held_out in trainer.folds[:n_folds]])
        self.task = trainer.task.for_rows(self.rows)
        self.n_rounds = max(_MIN_ROUNDS, int(_MAX_ROUNDS / self.task.boosting_cost))
        self.trials: list[BoostingChoice] = []
        self._job = Job(
            splits=self.splits,
            entropy_of=one_stream(entropy),
            is_trial=True,
        )

    def add(self, options: dict[str, Any]) -> None:
        """Try some options; may raise TimeIsUp."""
        trial = self.member.with_parameters(**_FAST | {"max_iter": self.n_rounds} | options)
        with self.trainer.clock.cut(_TIME_SHARE):
            ((_, fits),) = fit_all({0: trial}, self.trainer, self._job)
        fits = list(fits)
        vectors = [fit.vectors for fit in fits]
        losses = self.task.calibrated_losses(np.concatenate(vectors))
        self.trials.append(
            BoostingChoice(
                options,
                loss=float(np.average(losses, weights=self.task.weight)),
                first_fold_vectors=vectors[0],
                n_rounds=max(fits[0].model.rounds, default=0),
            )
        )

    @property
    def best(self) -> BoostingChoice:
        """Trial of least loss."""
        return min(self.trials, key=attrgetter("loss"))
