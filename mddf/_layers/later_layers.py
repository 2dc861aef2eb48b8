"""Layers after the first: trials on samples whose labels nothing in their input has seen."""

from __future__ import annotations

from collections.abc import Sequence
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
from mddf._layers.trainer import LayerInput, Trainer
from mddf._members.fit import Fit
from mddf._targets.weights import mean_error, n_counted


def try_later_layer(
    stack: Stack,
    nested: NestedInputs,
    figures: CrossFitting,
    checkpoint: Checkpoint,
    *,
    keep_fold_models: bool,  # whether they predict, not models of all samples
) -> str:
    """Train a later layer, and keep it if it helps; returns why it is not kept, or nothing.

    The two best forests of the first layer are trained on more and more of the samples; the cheap
    steps come first, and the layer is given up as soon as one of them does not help.
    """
    start = perf_counter()
    number = len(stack.layers)
    trainer = stack.trainer
    forests = stack.layers[0].best_forests(trainer.task)
    state = checkpoint.load(number)
    if state is not None:
        return _keep_or_reject(stack, Layer.from_state(state, forests), figures, start)

    # 1. Train on the first outer fold, with out-of-fold vectors of all rows as inputs. These know
    # labels of the held-out rows, so that the layer's loss is too small.
    tell_work(f"layer {number + 1}", PROGRESS_OF_FIRST_LAYER)
    layer_input = LayerInput(trainer.put_into_table(stack.features_for(number)))
    entropy = trainer.seeds.entropy_for(Purpose.OPTIMISTIC_LAYER, number)
    fits = grow_on_folds(forests, trainer, layer_input, trainer.outer_folds[:1], entropy)
    reason = _reason_on_first_fold(stack, forests, fits, figures, start)
    if reason:
        return reason

    # 2. Train on the first outer fold, with nested inputs. Only the second layer reweights
    # samples: margins are those of the first layer.
    nested.prepare(number, [0])
    strength = 0.0
    if number == 1 and trainer.task.has_margins:
        strength = _choose_strength(stack, nested, forests)
    fits = nested.grow(forests, 0, strength, keep=keep_fold_models)
    reason = _reason_on_first_fold(stack, forests, fits, figures, start)
    if reason:
        return reason

    # 3. Train on the other outer folds, with nested inputs.
    other_folds = range(1, len(trainer.outer_folds))
    nested.prepare(number, other_folds)
    for outer in other_folds:
        fits_of_fold = nested.grow(forests, outer, strength, keep=keep_fold_models)
        fits = [before + new for before, new in zip(fits, fits_of_fold, strict=True)]
    layer = _layer_of_all_folds(trainer, forests, fits, strength)
    checkpoint.save(number, layer.state())
    return _keep_or_reject(stack, layer, figures, start)


def _keep_or_reject(stack: Stack, layer: Layer, figures: CrossFitting, start: float) -> str:
    """Compare the averages without and with a layer; returns why it is not kept, or nothing."""
    number = len(stack.layers)
    task = stack.trainer.task
    stack.features_for(number)
    layer.vote(task)
    for evidence in layer.evidence:
        evidence.seconds = (perf_counter() - start) / len(layer.evidence)
    average = stack.average_with(layer)
    forecast = figures.forecast([*stack.figure_vectors(), *layer.figure_vectors], average)
    reason = _reason_to_reject(stack, task, stack.average.forecast, average.forecast)
    if reason:
        elapsed = perf_counter() - start
        stack.leaderboard.add_layer(number, task, layer, average=forecast, elapsed=elapsed)
        return reason
    # A refit of the second layer reweights all samples by its factors.
    margins = stack.margins() if number == 1 else None
    if margins is not None:
        layer.reweighting = reweighting_factors(margins, stack.trainer, layer.strength)
    stack.add(layer, average, forecast, elapsed=perf_counter() - start)
    return ""


def _choose_strength(stack: Stack, nested: NestedInputs, forests: list[ForestMember]) -> float:
    """Choose the strength of reweighting with the least loss of a small forest."""
    trainer = stack.trainer
    trial = [reweighting_trial_member(forests)]
    fold = trainer.outer_folds[:1]
    task = trainer.task.for_rows(fold[0][1])
    entropy = trainer.seeds.entropy_for(Purpose.REWEIGHTING, 1, 0)
    losses = []
    for strength in STRENGTHS:
        layer_input = nested.layer_input(0, strength)
        ((fit,),) = grow_on_folds(trial, trainer, layer_input, fold, entropy)
        losses.append(task.calibrated_losses(fit.vectors))
    return choose_strength(losses, task, stack.report)


def _layer_of_all_folds(
    trainer: Trainer, forests: Sequence[ForestMember], fits: list[list[Fit]], strength: float
) -> Layer:
    """Layer with vectors of all rows, from a fit of each forest for each outer fold."""
    layer = Layer([], strength=strength)
    for forest, fits_of_forest in zip(forests, fits, strict=True):
        vectors = np.zeros((trainer.n_samples, trainer.task.n_columns))
        for fit in fits_of_forest:
            vectors[fit.held_out] = fit.vectors
        models = [fit.model for fit in fits_of_forest]
        layer.evidence.append(Evidence(forest, models, trainer.fill_unknown(vectors)))
    return layer


def _reason_on_first_fold(
    stack: Stack,
    forests: Sequence[ForestMember],
    fits: Sequence[Sequence[Fit]],  # of the first outer fold, for each forest
    figures: CrossFitting,
    start: float,
) -> str:
    """Why a layer that does not lower the loss on the first outer fold is given up.

    With a score of the user's, the layer goes on in any case: the score of a fold may be
    undefined, and is noisier than a loss.
    """
    _, rows = stack.trainer.outer_folds[0]
    task = stack.trainer.task.for_rows(rows)
    layer = Layer(
        [
            Evidence(forest, [fit.model], fit.vectors)
            for forest, (fit,) in zip(forests, fits, strict=True)
        ]
    )
    layer.vote(task)
    mean = stack.average.mean[rows]
    average = Average.from_votes(task, [mean, *layer.votes])
    before = task.fit_calibration(mean)(mean)
    reason = _reason_to_reject(stack, task, before, average.forecast, rows)
    if not reason or stack.trainer.task.score is not None:
        return ""
    vectors = [vectors[rows] for vectors in stack.figure_vectors()]
    forecast = figures.forecast([*vectors, *layer.figure_vectors], average, task, rows)
    stack.leaderboard.add_layer(
        len(stack.layers), task, layer, average=forecast, elapsed=perf_counter() - start
    )
    return reason


def _helps(gain: float, error: float) -> bool:
    """Whether a gain in score or loss exceeds its standard error."""
    return bool(gain > error)


def _reason_to_reject(
    stack: Stack,
    task: Task,
    before: np.ndarray,
    after: np.ndarray,
    rows: np.ndarray | None = None,
) -> str:
    """Why the next layer does not help on some rows, or on all; empty if it helps.

    The error of a gain on some rows is the one that the same differences would have on all rows.
    """
    trainer = stack.trainer
    number = len(stack.layers)
    error = 0.0
    evidence = ""
    if task.score is not None:
        gain = task.score(after) - task.score(before)
    else:
        gains = task.losses(before) - task.losses(after)
        groups = trainer.groups
        if rows is not None and groups is not None:
            groups = groups[rows]
        gain = float(np.average(gains, weights=task.weight))
        n_samples = n_counted(len(gains), task.weight)
        error = mean_error(gains, task.weight, n_samples, groups)
        if rows is not None:
            error *= np.sqrt(len(rows) / len(trainer.evaluated_rows))
        evidence = f", error {error:.4f}"
    if rows is not None:
        evidence += f", on {len(rows)} samples"
    helps = _helps(gain, error)
    decision = "not kept"
    if helps:
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
    if helps:
        return ""
    return f"layer {number + 1} gained {gain:.4f} in {task.score_name}{evidence}"
