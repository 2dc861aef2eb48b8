"""What is kept of a deep forest's layers: members that vote or feed those that do, refitted."""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from typing import Any

import numpy as np

from mddf._base.deadline import TimeIsUp
from mddf._base.serialization import to_plain
from mddf._deep_forest.fit_report import FitLog
from mddf._deep_forest.layers import DeepLayer, FittedMember
from mddf._deep_forest.stack import GrownLayer, Stack
from mddf._fitted.vector_layout import columns_of
from mddf._training.layer_trainer import LayerInput, Split

# Of the time that is left, for members that are fitted again on all samples.
_SHARE_OF_REFIT = 0.85


def fitted_layers(
    stack: Stack,
    entropy: tuple[int, ...],
    log: FitLog,
    *,
    refit: bool,
    leaderboard: Sequence[dict[str, Any]],
) -> tuple[list[DeepLayer], list[np.ndarray]]:
    """Layers of the members that are kept, and their out-of-fold vectors as columns.

    Parameters
    ----------
    stack : Stack
    entropy : tuple of int
        Of the seeds.
    log : FitLog
    refit : bool
        Whether members are trained once more on all samples.
    leaderboard : sequence of dict
        Which learns how many bytes each member has.
    """
    weights = stack.weights()
    while len(weights) > 1 and not weights[-1].any():
        weights.pop()
    fitted, features = [], []
    for number, of_layer in enumerate(weights):
        layer = stack.layers[number]
        feeds = number + 1 < len(weights)
        inputs = layer.inputs if feeds else []
        kept = [i for i in range(len(layer.members)) if of_layer[i] > 0 or i in inputs]
        models = {i: layer.models[i] for i in kept}
        if refit:
            models |= _trained_in_time(stack, number, kept, entropy, log)
        unit = stack.training.task.unit
        members = [_fitted(layer, i, models[i], float(of_layer[i]), unit) for i in kept]
        sizes = {member.name: len(pickle.dumps(to_plain(member.models))) for member in members}
        for row in leaderboard:
            if row["layer"] == number + 1:
                row["bytes"] = sizes.get(row["member"], 0)
        features.append(columns_of(layer.vectors[kept], None))
        before = stack.layers[number - 1].features if number else None
        fitted.append(
            DeepLayer(
                members,
                [kept.index(i) for i in inputs],
                layer.average_weights if feeds else None,
                stack.training.table.bins.columns(0, 0) if before is None else before.bins,
                None if number else _tried(layer, members),
            )
        )
    return fitted, features


def _fitted(
    layer: GrownLayer, i: int, models: list[Any], weight: float, unit: Any
) -> FittedMember:
    """A member as it is kept."""
    spec, importances = layer.members[i], None
    if spec.is_forest:
        importances = np.sum([grown.importances for grown in models], axis=0)
        models = [trees for grown in models for trees in grown.trees]
    exponent = layer.exponents[i]
    kind = spec.is_forest, importances, unit, spec.is_external
    return FittedMember(spec.name, weight, exponent, models, *kind)


def _tried(layer: GrownLayer, members: list[FittedMember]) -> list[np.ndarray] | None:
    """See `DeepLayer`."""
    if any(member.is_forest for member in members):
        return None
    return [
        np.sum([of_fold.importances for of_fold in of_folds], axis=0)
        for member, of_folds in zip(layer.members, layer.models, strict=True)
        if member.is_forest
    ] + list(layer.lost_importances)


def _trained_in_time(
    stack: Stack, number: int, kept: list[int], entropy: tuple[int, ...], log: FitLog
) -> dict[int, list[Any]]:
    """The same as `_trained_again`; nothing if the time does not suffice."""
    try:
        with stack.training.clock.cut(_SHARE_OF_REFIT, whole=True):
            return _trained_again(stack, number, kept, entropy)
    except TimeIsUp:
        n_rows = len(stack.training.order)
        log.cut(f"layer {number + 1}", "not fitted again on all samples", n_rows)
        return {}


def _trained_again(
    stack: Stack, number: int, kept: list[int], entropy: tuple[int, ...]
) -> dict[int, list[Any]]:
    """Models of all samples, of the members that take them in place of those of the folds."""
    training, layer = stack.training, stack.layers[number]
    parts = [Split(training.everything, None)]
    forests = [i for i in kept if layer.members[i].is_forest]
    again: dict[int, list[Any]] = {}
    if forests:
        columns = training.show(stack.features(number)) if number else training.raw_columns
        grown = training.grow_all(
            [layer.members[i].in_full(training.task.n_times) for i in forests],
            LayerInput(columns, layer.reweighting),
            parts,
            (*entropy, 6, number),
            f"layer {number + 1} on all samples",
        )
        again = dict(zip(forests, grown, strict=True))
    for i in kept:
        spec = layer.members[i]
        if not (spec.is_forest or spec.is_boosted):
            fitted = training.fit_member(spec, parts, (*entropy, 7, i))
            again[i] = [model for model, _ in fitted]
    return again
