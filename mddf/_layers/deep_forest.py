"""Growth of a deep forest: which layers it tries, and which of them it keeps."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy as np

from mddf._base.deadline import TimeIsUp
from mddf._base.progress import tell_work
from mddf._layers.checkpoints import Checkpoint
from mddf._layers.cross_fitting import cross_fitted, nested_vectors, parts_of_rows
from mddf._layers.first_layer import FIRST_LAYER_SHARE, train_first_layer
from mddf._layers.fold_trainer import FoldTrainer
from mddf._layers.later_layers import LaterLayers
from mddf._layers.member import BoostedMember, Member, members_of_later_layers
from mddf._layers.member_options import (
    BoostingChoice,
    choose_boosting_options,
    choose_forest_options,
    leaf_wise_choice,
    reweighting_factors,
)
from mddf._layers.report import Candidate, FitReport, Leaderboard
from mddf._layers.seeds import Purpose
from mddf._layers.stack import Average, LayerEvidence, Stack
from mddf._layers.tasks import Task
from mddf._layers.time_limit import fit_into_time
from mddf._targets.weights import mean_error, n_counted

# Time to weight the members, for each number that a member forecasts. It is kept back from the
# first layer. Measured once on one core.
_SECONDS_PER_FORECAST = 3e-6
# Share of the remaining time for the comparison of the options of one kind of forest. Not tuned.
_OPTIONS_SHARE = 0.1
# Members are refitted if that is expected to fit into this share of the remaining time. The rest
# is a margin for estimates that are too low. Not tuned.
_REFIT_SHARE = 0.7
# A later layer is tried if three times the seconds of the first layer fit into this share of the
# remaining time: its nested folds fit the first layer again several times, with fewer members.
# Not tuned.
_LATER_FACTOR = 3.0
_LATER_SHARE = 0.7


@dataclass(frozen=True)
class Gain:
    """Gain of a layer in score or loss, and the standard error that it has to exceed."""

    value: float
    error: float
    reason: str  # why the layer is rejected, if it is

    @property
    def is_significant(self) -> bool:
        return bool(self.value > self.error)


class GrownDeepForest:
    """Layers of a deep forest, and how they were found."""

    def __init__(self, trainer: FoldTrainer, *, keep_fold_models: bool, verbose: bool) -> None:
        self.trainer = trainer
        self.stack = Stack(trainer)
        self.report = FitReport(verbose)
        self.leaderboard = Leaderboard(verbose)
        self.later_layers = LaterLayers(
            trainer, self.stack, self.report, keep_fold_models=keep_fold_models
        )
        # Options that are chosen for each kind of named forests.
        self.forest_options: dict[str, dict[str, int]] = {}
        self.cross_fitted = np.empty(0)  # forecast of the layers that are kept, for figures
        self.stop_reason = ""
        self._parts = parts_of_rows(trainer)
        self._nested_vectors: dict[int, list[np.ndarray]] = {}

    @property
    def strength(self) -> float:
        """Strength with which the second layer reweights samples; 0 if it is not kept."""
        return self.stack.layers[1].strength if len(self.stack.layers) > 1 else 0.0

    def has_time_to_refit(self) -> bool:
        """Whether the members that are kept can be refitted in the remaining time."""
        trainer = self.trainer
        seconds = sum(
            layer.members[i].refit_seconds(trainer, layer.seconds[i])
            for layer, weights in zip(
                self.stack.layers, self.stack.weights_by_layer(), strict=True
            )
            for i in np.flatnonzero(weights > 0).tolist()
        )
        has_time = trainer.clock.allows(seconds, _REFIT_SHARE)
        if not has_time:
            decision = "not fitted again on all samples"
            self.report.add_cut("members", decision, n_rows=trainer.n_samples)
        return has_time

    def figures_with(self, layer: LayerEvidence, average: Average) -> np.ndarray:
        """Forecast of the layers so far and another one, from which figures are made."""
        if not self.stack.layers:
            self._nested_vectors = nested_vectors(self.trainer, layer, self._parts)
        vectors = [*self.stack.figure_vectors(), *layer.figure_vectors]
        task = self.trainer.task
        return cross_fitted(task, vectors, self._parts, average, self._nested_vectors)

    def figures_on(
        self, rows: np.ndarray, task: Task, layer: LayerEvidence, average: Average
    ) -> np.ndarray:
        """The same on some rows, for which alone the layer has vectors."""
        vectors = [vectors[rows] for vectors in self.stack.figure_vectors()]
        nested = {
            part: [vectors[rows] for vectors in vectors_of_members]
            for part, vectors_of_members in self._nested_vectors.items()
        }
        all_vectors = [*vectors, *layer.figure_vectors]
        return cross_fitted(task, all_vectors, self._parts[rows], average, nested)


def grow_deep_forest(
    trainer: FoldTrainer,
    members: list[Member],  # of the first layer; options of named ones are chosen here
    *,
    n_layers: int,
    depths: tuple[int, ...],  # depths of the named boosted trees that are compared
    keep_fold_models: bool,  # whether they predict, not models of all samples
    checkpoint: Checkpoint | None = None,
    verbose: bool = False,
) -> GrownDeepForest:
    """Grow the layers of a deep forest.

    All members of the first layer are trained, on one fold or on all. A later layer has the best
    forests of the first one, and is kept if it lowers the loss by more than the error of the gain.
    """
    grown = GrownDeepForest(trainer, keep_fold_models=keep_fold_models, verbose=verbose)
    report = grown.report
    _report_time_order(trainer, report)

    # 1. Reduce the members to the limit of time, and choose options of the named ones.
    boosting_choices: dict[int, BoostingChoice] = {}
    with _time_for_weights(trainer):
        tell_work("options", 0.0)
        budget = fit_into_time(members, trainer, report)
        members = budget.members
        grown.forest_options = _choose_forest_options(
            members, trainer, report, allows_trials=budget.allows_trials
        )
        if budget.allows_trials:
            boosting_choices = _choose_boosting_options(members, depths, trainer, report)

    # 2. Train the first layer, and weight its members.
    start = perf_counter()
    with _time_for_weights(trainer):
        layer = _stored_layer(checkpoint, 0, members, trainer)
        if layer is None:
            layer = train_first_layer(
                members, trainer, report, boosting_choices, keep_fold_models=keep_fold_models
            )
            _save(checkpoint, 0, layer)
        seconds_of_first_layer = perf_counter() - start
        layer.weigh(trainer.task)
        average = grown.stack.average_with(layer)
        forecast = grown.figures_with(layer, average)
        _report_weights(trainer, report, layer, average)
        _add(grown, 0, layer, average, forecast, start)

    # 3. Try later layers, as long as they help.
    for number in range(1, n_layers):
        grown.stop_reason = _reason_to_stop(grown, number, members, seconds_of_first_layer)
        if grown.stop_reason:
            return grown
        try:
            with trainer.clock.cut(_LATER_SHARE, whole=True):
                grown.stop_reason = _try_later_layer(grown, number, checkpoint)
        except TimeIsUp:
            report.add_cut(f"layer {number + 1}", "not kept", n_rows=trainer.n_samples)
            grown.stop_reason = f"time_limit ended the trial of layer {number + 1}"
        if grown.stop_reason:
            return grown
    grown.stop_reason = f"n_layers={n_layers} were grown"
    return grown


def _report_time_order(trainer: FoldTrainer, report: FitReport) -> None:
    """Report the number of rows without a past prediction."""
    if trainer.without_past is None:
        return
    n_without = len(trainer.without_past)
    candidate = Candidate("time order", decision=f"{n_without} rows have no past prediction")
    n_rows = trainer.n_samples - n_without
    report.add("folds", [candidate], n_rows=n_rows, n_folds=len(trainer.folds))


def _time_for_weights(trainer: FoldTrainer) -> AbstractContextManager[None]:
    """Context that keeps back the time in which members are weighted."""
    n_numbers = trainer.n_samples * trainer.task.n_columns
    return trainer.clock.kept_back(_SECONDS_PER_FORECAST * n_numbers)


def _choose_forest_options(
    members: Sequence[Member], trainer: FoldTrainer, report: FitReport, *, allows_trials: bool
) -> dict[str, dict[str, int]]:
    """Choose and set options for each kind of named forests."""
    forest_options = {}
    for role, options in trainer.task.forest_options.items():
        forests = [member for member in members if member.role == role]
        if not forests:
            continue
        trials = options if allows_trials else options[:1]
        try:
            with trainer.clock.cut(_OPTIONS_SHARE, whole=True):
                chosen = choose_forest_options(forests[0], trials, trainer, report)
        except TimeIsUp:
            chosen = trials[0]
            name = forests[0].name
            report.add_cut("options", "not all tried", n_rows=trainer.n_samples, member=name)
        forest_options[role] = chosen
        for forest in forests:
            forest.model.set_params(**chosen)
    return forest_options


def _choose_boosting_options(
    members: Sequence[Member], depths: Sequence[int], trainer: FoldTrainer, report: FitReport
) -> dict[int, BoostingChoice]:
    """Choose and set options of named boosted trees; by the members' numbers."""
    choices: dict[int, BoostingChoice] = {}
    for number, member in enumerate(members):
        if not isinstance(member, BoostedMember):
            continue
        entropy = trainer.seeds.entropy_for(Purpose.BOOSTING_OPTIONS, number)
        if member.role == "boosted":
            choices[number] = choose_boosting_options(member, depths, trainer, entropy, report)
            member.model.set_params(**choices[number].options)
        elif member.role == "boosted-leaf-wise":
            leaf_wise = leaf_wise_choice(member, trainer, entropy)
            if leaf_wise is not None:
                choices[number] = leaf_wise
    return choices


def _stored_layer(
    checkpoint: Checkpoint | None, number: int, members: list[Member], trainer: FoldTrainer
) -> LayerEvidence | None:
    def restored(*parts: Any) -> LayerEvidence:
        return LayerEvidence.from_stored(members, trainer, parts)

    return None if checkpoint is None else checkpoint.load(number, restored)


def _save(checkpoint: Checkpoint | None, number: int, layer: LayerEvidence) -> None:
    if checkpoint is not None:
        checkpoint.save(number, *layer.to_store())


def _reason_to_stop(
    grown: GrownDeepForest, number: int, members: list[Member], seconds_of_first_layer: float
) -> str:
    """Why no later layer is tried; empty if one is."""
    if not members_of_later_layers(members):
        return "later layers are of forests, and no member is one"
    if not grown.stack.has_weighted_forest():
        return f"no forest of layer {number} has a weight above 0"
    if not grown.trainer.clock.allows(_LATER_FACTOR * seconds_of_first_layer, _LATER_SHARE):
        return "time_limit has no time for a later layer"
    return grown.later_layers.nested.reason_not_to_nest()


def _try_later_layer(grown: GrownDeepForest, number: int, checkpoint: Checkpoint | None) -> str:
    """Train a later layer, and keep it if it helps; returns why it is not kept, or nothing.

    It is given up as soon as it does not help on the first fold.
    """
    start = perf_counter()
    trainer = grown.trainer
    task = trainer.task
    stack = grown.stack
    later = grown.later_layers
    forests = stack.layers[0].best_forests(task)
    layer = _stored_layer(checkpoint, number, [*forests], trainer)
    if layer is None:
        tell_work(f"layer {number + 1}", FIRST_LAYER_SHARE)
        for trial in (later.optimistic_layer, later.layer_of_first_fold):
            reason = _reason_on_first_fold(grown, number, trial(number, forests), start)
            if reason:
                return reason
        layer = later.layer_of_all_folds(number, forests)
        _save(checkpoint, number, layer)
    stack.features_for(number)
    layer.weigh(task)
    n_members = len(layer.members)
    layer.seconds = np.full(n_members, (perf_counter() - start) / n_members)
    average = stack.average_with(layer)
    forecast = grown.figures_with(layer, average)
    gain = _gain(grown, number, task, stack.average.forecast, average.forecast)
    if not gain.is_significant:
        _add_to_leaderboard(grown, number, task, layer, forecast, start)
        return gain.reason
    margins = stack.margins() if number == 1 and layer.strength else None
    if margins is not None:
        # A refit of the second layer reweights all samples by these factors.
        layer.reweighting = reweighting_factors(margins, trainer, layer.strength)
    _add(grown, number, layer, average, forecast, start)
    return ""


def _add(
    grown: GrownDeepForest,
    number: int,
    layer: LayerEvidence,
    average: Average,
    forecast: np.ndarray,  # for figures
    start: float,
) -> None:
    """Keep a layer."""
    grown.stack.add(layer, average)
    grown.cross_fitted = forecast
    _add_to_leaderboard(grown, number, grown.trainer.task, layer, forecast, start)
    grown.leaderboard.print_weights(number, average.weights)


def _report_weights(
    trainer: FoldTrainer, report: FitReport, layer: LayerEvidence, average: Average
) -> None:
    """Report losses and weights of the first layer's members."""
    task = trainer.task
    candidates = [
        Candidate(
            member.name,
            float(np.average(task.calibrated_losses(vectors), weights=task.weight)),
            f"weight {weight:.2f}",
        )
        for member, vectors, weight in zip(
            layer.members, layer.vectors, average.weights.tolist(), strict=True
        )
    ]
    n_rows = len(trainer.evaluated_rows)
    report.add("layer 1", candidates, n_rows=n_rows, n_folds=len(trainer.folds))


def _add_to_leaderboard(
    grown: GrownDeepForest,
    number: int,
    task: Task,
    layer: LayerEvidence,
    forecast: np.ndarray,
    start: float,
) -> None:
    elapsed = perf_counter() - start
    grown.leaderboard.add_layer(number, task, layer, average=forecast, elapsed=elapsed)


def _reason_on_first_fold(
    grown: GrownDeepForest, number: int, layer: LayerEvidence, start: float
) -> str:
    """Why a layer that does not lower the loss on the first outer fold is given up.

    With a score of the user's, the layer goes on in any case: the score of a fold may be
    undefined, and is noisier than a loss.
    """
    rows = grown.later_layers.first_fold_rows
    task = grown.trainer.task.for_rows(rows)
    mean = grown.stack.average.mean[rows]
    votes = [
        mean,
        *(task.sharpened(vectors, task.member_exponent(vectors)) for vectors in layer.vectors),
    ]
    average = Average.from_votes(task, votes, task.member_weights(votes))
    before = task.calibration(mean)(mean)
    gain = _gain(grown, number, task, before, average.forecast, rows)
    if gain.is_significant or grown.trainer.task.score is not None:
        return ""
    forecast = grown.figures_on(rows, task, layer, average)
    _add_to_leaderboard(grown, number, task, layer, forecast, start)
    return gain.reason


def _gain(
    grown: GrownDeepForest,
    number: int,
    task: Task,
    before: np.ndarray,
    after: np.ndarray,
    rows: np.ndarray | None = None,
) -> Gain:
    """Gain of a layer on some rows, or on all.

    The error on some rows is the one that the same differences would have on all rows.
    """
    error = 0.0
    evidence = ""
    if task.score is not None:
        value = task.score(after) - task.score(before)
    else:
        gains = task.losses(before) - task.losses(after)
        groups = grown.trainer.groups
        if rows is not None and groups is not None:
            groups = groups[rows]
        value = float(np.average(gains, weights=task.weight))
        n_samples = n_counted(len(gains), task.weight)
        error = mean_error(gains, task.weight, n_samples, groups)
        if rows is not None:
            error *= np.sqrt(len(rows) / len(grown.trainer.evaluated_rows))
        evidence = f", error {error:.4f}"
    if rows is not None:
        evidence += f", on {len(rows)} samples"
    reason = f"layer {number + 1} gained {value:.4f} in {task.score_name}{evidence}"
    gain = Gain(float(value), float(error), reason)
    _report_gain(grown, number, task, before, after, gain=gain, rows=rows)
    return gain


def _report_gain(
    grown: GrownDeepForest,
    number: int,
    task: Task,
    before: np.ndarray,
    after: np.ndarray,
    *,
    gain: Gain,
    rows: np.ndarray | None,
) -> None:
    decision = "not kept"
    if gain.is_significant:
        decision = "kept" if rows is None else "goes on"
    losses = [
        task.mean_loss(forecast) if task.score is None else -float(task.score(forecast))
        for forecast in (before, after)
    ]
    grown.report.add(
        f"layer {number + 1}",
        [Candidate("without it", losses[0]), Candidate("with it", losses[1], decision)],
        n_rows=len(grown.trainer.evaluated_rows if rows is None else rows),
        n_folds=len(grown.later_layers.nested.folds) if rows is None else 1,
    )
