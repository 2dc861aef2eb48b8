"""Layers after the first: trials on samples whose labels nothing in their input has seen."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from time import perf_counter

import numpy as np

from mddf._base.progress import tell_work
from mddf._layers.checkpoints import Checkpoint
from mddf._layers.cross_fitting import CrossFitting
from mddf._layers.evidence import Evidence
from mddf._layers.first_layer import PROGRESS_OF_FIRST_LAYER
from mddf._layers.member import ForestMember
from mddf._layers.member_options import (
    STRENGTHS,
    choose_strength,
    reweighting_factors,
    reweighting_trial_member,
)
from mddf._layers.nested_folds import NestedInputs, grow_on_folds
from mddf._layers.report import Candidate
from mddf._layers.seeds import Purpose
from mddf._layers.stack import Average, Layer, Stack
from mddf._layers.tasks import Task
from mddf._layers.trainer import LayerInput
from mddf._members.fit import Fit
from mddf._targets.weights import mean_error, n_counted


@dataclass(frozen=True)
class Gain:
    """Gain of a layer in score or loss, and the standard error that it has to exceed."""

    value: float
    error: float
    reason: str  # why the layer is rejected, if it is

    @property
    def is_significant(self) -> bool:
        return bool(self.value > self.error)


def try_later_layer(
    stack: Stack,
    nested: NestedInputs,
    figures: CrossFitting,
    checkpoint: Checkpoint,
    *,
    keep_fold_models: bool,  # whether they predict, not models of all samples
) -> str:
    """Train a later layer, and keep it if it helps; returns why it is not kept, or nothing."""
    start = perf_counter()
    number = len(stack.layers)
    trainer = stack.trainer
    task = trainer.task

    # 1. Train the two best forests of the first layer in steps, as long as they help.
    forests = stack.layers[0].best_forests(task)
    state = checkpoint.load(number)
    if state is not None:
        layer = Layer.from_state(state, forests)
    else:
        tell_work(f"layer {number + 1}", PROGRESS_OF_FIRST_LAYER)
        trial = _TrialLayer(stack, nested, forests, keep_fold_models)
        for train in (trial.optimistic_layer, trial.layer_of_first_fold):
            reason = _reason_on_first_fold(stack, train(), figures, start)
            if reason:
                return reason
        layer = trial.layer_of_all_folds()
        checkpoint.save(number, layer.state())

    # 2. Weight the members of all layers, and compare the averages without and with the layer.
    stack.features_for(number)
    layer.vote(task)
    for evidence in layer.evidence:
        evidence.seconds = (perf_counter() - start) / len(layer.evidence)
    average = stack.average_with(layer)
    forecast = figures.forecast([*stack.figure_vectors(), *layer.figure_vectors], average)
    gain = _gain(stack, task, stack.average.forecast, average.forecast)
    if not gain.is_significant:
        elapsed = perf_counter() - start
        stack.leaderboard.add_layer(number, task, layer, average=forecast, elapsed=elapsed)
        return gain.reason

    # 3. Keep the layer. A refit of the second one reweights all samples by its factors.
    margins = stack.margins() if number == 1 else None
    if margins is not None:
        layer.reweighting = reweighting_factors(margins, trainer, layer.strength)
    stack.add(layer, average, forecast, elapsed=perf_counter() - start)
    return ""


class _TrialLayer:
    """Growth of a layer on more and more of the samples; the cheap steps come first."""

    def __init__(
        self,
        stack: Stack,
        nested: NestedInputs,
        forests: list[ForestMember],
        keep_fold_models: bool,
    ) -> None:
        self.stack = stack
        self.trainer = stack.trainer
        self.nested = nested
        self.number = len(stack.layers)
        self.forests = forests
        self.keep_fold_models = keep_fold_models
        self.strength = 0.0
        self.fits: list[list[Fit]] = []  # for each outer fold, for each forest

    def optimistic_layer(self) -> Layer:
        """The first outer fold, with out-of-fold vectors of all rows as inputs.

        These know labels of the held-out rows, so that the layer's loss is too small.
        """
        features = self.stack.features_for(self.number)
        layer_input = LayerInput(self.trainer.put_into_table(features))
        entropy = self.trainer.seeds.entropy_for(Purpose.OPTIMISTIC_LAYER, self.number)
        return _layer_of_one_fold(self.forests, self._grow(self.forests, layer_input, 0, entropy))

    def layer_of_first_fold(self) -> Layer:
        """The first outer fold, with nested inputs."""
        self.nested.prepare(self.number, [0])
        if self.number == 1 and self.trainer.task.has_margins:
            self._choose_strength()
        self.fits.append(self._grow_nested(0))
        return _layer_of_one_fold(self.forests, self.fits[0])

    def layer_of_all_folds(self) -> Layer:
        """All outer folds, with nested inputs."""
        trainer = self.trainer
        other_folds = range(1, len(trainer.outer_folds))
        self.nested.prepare(self.number, other_folds)
        self.fits += [self._grow_nested(outer) for outer in other_folds]
        layer = Layer([], strength=self.strength)
        for forest, fits in zip(self.forests, zip(*self.fits, strict=True), strict=True):
            vectors = np.zeros((trainer.n_samples, trainer.task.n_columns))
            for fit in fits:
                vectors[fit.held_out] = fit.vectors
            models = [fit.model for fit in fits]
            layer.evidence.append(Evidence(forest, models, trainer.fill_unknown(vectors)))
        return layer

    def _choose_strength(self) -> None:
        """Choose the strength of reweighting with the least loss of a small forest."""
        trial = [reweighting_trial_member(self.forests)]
        _, rows = self.trainer.outer_folds[0]
        task = self.trainer.task.for_rows(rows)
        entropy = self.trainer.seeds.entropy_for(Purpose.REWEIGHTING, 1, 0)
        losses = []
        for strength in STRENGTHS:
            factors = self.nested.reweighting_factors(0, strength)
            (fit,) = self._grow(trial, self.nested.layer_input(0, factors), 0, entropy)
            losses.append(task.calibrated_losses(fit.vectors))
        self.strength = choose_strength(losses, task, self.stack.report)

    def _grow_nested(self, outer: int) -> list[Fit]:
        """Grow the forests without an outer fold."""
        # Only the second layer reweights samples: margins are those of the first layer.
        strength = self.strength if self.number == 1 else 0.0
        factors = self.nested.reweighting_factors(outer, strength)
        layer_input = self.nested.layer_input(outer, factors)
        entropy = self.trainer.seeds.entropy_for(Purpose.NESTED_LAYER, self.number, outer)
        return self._grow(self.forests, layer_input, outer, entropy, keep=self.keep_fold_models)

    def _grow(
        self,
        forests: Sequence[ForestMember],
        layer_input: LayerInput,
        outer: int,
        entropy: Sequence[int],
        *,
        keep: bool = False,
    ) -> list[Fit]:
        fold = self.trainer.outer_folds[outer : outer + 1]
        fits = grow_on_folds(forests, self.trainer, layer_input, fold, entropy, keep=keep)
        return [fit for (fit,) in fits]


def _layer_of_one_fold(forests: Sequence[ForestMember], fits: Sequence[Fit]) -> Layer:
    """Layer with vectors of the rows that the fold holds out."""
    return Layer(
        [
            Evidence(forest, [fit.model], fit.vectors)
            for forest, fit in zip(forests, fits, strict=True)
        ]
    )


def _reason_on_first_fold(stack: Stack, layer: Layer, figures: CrossFitting, start: float) -> str:
    """Why a layer that does not lower the loss on the first outer fold is given up.

    With a score of the user's, the layer goes on in any case: the score of a fold may be
    undefined, and is noisier than a loss.
    """
    _, rows = stack.trainer.outer_folds[0]
    task = stack.trainer.task.for_rows(rows)
    layer.vote(task)
    mean = stack.average.mean[rows]
    average = Average.from_votes(task, [mean, *layer.votes])
    before = task.fit_calibration(mean)(mean)
    gain = _gain(stack, task, before, average.forecast, rows)
    if gain.is_significant or stack.trainer.task.score is not None:
        return ""
    vectors = [vectors[rows] for vectors in stack.figure_vectors()]
    forecast = figures.forecast([*vectors, *layer.figure_vectors], average, task, rows)
    stack.leaderboard.add_layer(
        len(stack.layers), task, layer, average=forecast, elapsed=perf_counter() - start
    )
    return gain.reason


def _gain(
    stack: Stack,
    task: Task,
    before: np.ndarray,
    after: np.ndarray,
    rows: np.ndarray | None = None,
) -> Gain:
    """Gain of the next layer on some rows, or on all.

    The error on some rows is the one that the same differences would have on all rows.
    """
    trainer = stack.trainer
    number = len(stack.layers)
    error = 0.0
    evidence = ""
    if task.score is not None:
        value = task.score(after) - task.score(before)
    else:
        gains = task.losses(before) - task.losses(after)
        groups = trainer.groups
        if rows is not None and groups is not None:
            groups = groups[rows]
        value = float(np.average(gains, weights=task.weight))
        n_samples = n_counted(len(gains), task.weight)
        error = mean_error(gains, task.weight, n_samples, groups)
        if rows is not None:
            error *= np.sqrt(len(rows) / len(trainer.evaluated_rows))
        evidence = f", error {error:.4f}"
    if rows is not None:
        evidence += f", on {len(rows)} samples"
    reason = f"layer {number + 1} gained {value:.4f} in {task.score_name}{evidence}"
    gain = Gain(float(value), float(error), reason)
    decision = "not kept"
    if gain.is_significant:
        decision = "kept" if rows is None else "goes on"
    stack.report.add(
        f"layer {number + 1}",
        [
            Candidate("without it", task.decision_loss(before)),
            Candidate("with it", task.decision_loss(after), decision),
        ],
        n_rows=len(trainer.evaluated_rows if rows is None else rows),
        n_folds=len(trainer.outer_folds) if rows is None else 1,
    )
    return gain
