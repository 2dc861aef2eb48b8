"""Layers of a deep forest that are kept, with members that are refitted on all samples."""

from __future__ import annotations

import pickle
from io import BytesIO
from typing import Any

import numpy as np

from mddf._base.parallel import TimeIsUp
from mddf._base.serialization import is_serializable, to_plain
from mddf._fitted.fitted_model import Stage
from mddf._layers.member import by_kind
from mddf._layers.stack import Layer, Stack
from mddf._layers.trainer import LayerInput, Trainer

# Members are refitted if that is expected to fit into this share of the remaining time. The rest
# is a margin for estimates that are too low. Not tuned.
_EXPECTED_SHARE = 0.7
# Share of the remaining time for a refit on all samples. Set by hand.
_REFIT_SHARE = 0.85


def has_time_to_refit(stack: Stack) -> bool:
    """Whether the members with a weight can be trained once more in the remaining time."""
    trainer = stack.trainer
    seconds = sum(
        evidence.member.refit_seconds(trainer, evidence.seconds)
        for evidence in stack.weighted_evidence()
    )
    has_time = trainer.clock.allows(seconds, _EXPECTED_SHARE)
    if not has_time:
        decision = "not fitted again on all samples"
        stack.report.add_cut("members", decision, n_rows=trainer.n_samples)
    return has_time


def keep_layers(stack: Stack, *, refit: bool) -> tuple[list[Stage], list[np.ndarray]]:
    """Keep the layers up to the last one with a weight, and the members that are needed.

    With `refit`, they are trained once more on all samples. Returns the layers, and the
    out-of-fold vectors of each one's members. The "bytes" of the leaderboard are set.
    """
    weights = stack.weights_by_layer()
    while len(weights) > 1 and not weights[-1].any():
        weights.pop()
    stages = []
    vectors = []
    for number, layer_weights in enumerate(weights):
        layer = stack.layers[number]
        # Members without a weight are kept if their vectors are passed on to the next layer.
        has_next = number + 1 < len(weights)
        inputs = layer.inputs if has_next else []
        kept = [i for i, weight in enumerate(layer_weights) if weight > 0 or i in inputs]
        models = {i: layer.evidence[i].models for i in kept}
        if stack.trainer.is_in_time_order:
            # The model of the first fold saw the longest past.
            models = {i: models_of_folds[:1] for i, models_of_folds in models.items()}
        if refit:
            models |= _refitted(stack, number, kept)
        members = [
            layer.evidence[i].member.freeze(
                models[i],
                stack.trainer,
                weight=float(layer_weights[i]),
                exponent=layer.evidence[i].exponent,
            )
            for i in kept
        ]
        sizes = {member.name: _size(member.models) for member in members}
        for row in stack.leaderboard.rows:
            if row["layer"] == number + 1:
                row["bytes"] = sizes.get(row["member"], 0)
        vectors.append(np.stack([layer.evidence[i].vectors for i in kept]))
        before = stack.layers[number - 1].features if number else None
        stage = Stage(
            members,
            stack.trainer.table.bins.columns(0, 0) if before is None else before.bins,
            inputs=[kept.index(i) for i in inputs],
            average_weights=layer.average_weights if has_next else None,
            # Only the layer before it is the input of a layer.
            alphas=np.append(np.zeros(number), 1.0),
            importances=None
            if number
            else _importances_of_average(stack.trainer, layer, models, weights[0]),
        )
        stages.append(stage)
    return stages, vectors


def _size(models: list[Any]) -> int:
    """Bytes of pickled models."""
    file = BytesIO()
    pickler = pickle.Pickler(file)
    # Without a memo, the size does not depend on which objects are shared, which is different
    # after a checkpoint. Objects of other packages may have cycles, which need the memo.
    pickler.fast = all(map(is_serializable, models))
    pickler.dump(to_plain(models))
    return file.tell()


def _importances_of_average(
    trainer: Trainer, layer: Layer, models: dict[int, list[Any]], weights: np.ndarray
) -> np.ndarray:
    """Importances of the features to the first layer's forests, weighted as in the average.

    If no forest is kept, it is the mean over all forests that were trained.
    """
    weighted = [
        # Forests without a weight, which only feed the next layer, decide if there are no others.
        (max(float(weights[i]), 1e-9), np.sum(importances, axis=0))
        for i, models_of_member in sorted(models.items())
        if (importances := layer.evidence[i].member.importances(models_of_member))
    ]
    if not weighted:
        tried = [
            np.sum(importances, axis=0)
            for evidence in layer.evidence
            if (importances := evidence.member.importances(evidence.models))
        ]
        weighted = [(1.0, importances) for importances in (*tried, *layer.pruned_importances)]
    total = np.zeros(trainer.n_features)
    for weight, importances in weighted:
        amounts = importances[: trainer.n_features]
        if amounts.any():
            total += weight * amounts / amounts.sum()
    return total / total.sum() if total.sum() > 0 else total


def _refitted(stack: Stack, number: int, kept: list[int]) -> dict[int, list[Any]]:
    """Models of all samples, by the members' numbers; none if the time does not suffice."""
    trainer = stack.trainer
    layer = stack.layers[number]
    models: dict[int, list[Any]] = {}
    try:
        with trainer.clock.cut(_REFIT_SHARE, whole=True):
            layer_input = None
            if number:
                columns = trainer.put_into_table(stack.features_for(number))
                layer_input = LayerInput(columns, layer.reweighting)
            for kind, group in by_kind({i: layer.evidence[i].member for i in kept}):
                models |= kind.refit(group, trainer, layer_input, number)
    except TimeIsUp:
        decision = "not fitted again on all samples"
        stack.report.add_cut(f"layer {number + 1}", decision, n_rows=trainer.n_samples)
        return {}
    return models
