"""What is kept of a deep forest's layers: members that vote or feed those that do, refitted."""

from __future__ import annotations

import pickle

import numpy as np

from mddf._base.serialization import to_plain
from mddf._cascade.trainer import Part, View
from mddf._deep_forest.growth import GrownLayer, Growth
from mddf._deep_forest.layers import DeepLayer, FittedMember
from mddf._ensemble.stages import columns_of


def fitted_layers(growth: Growth) -> tuple[list[DeepLayer], list[np.ndarray]]:
    """Layers of the members that are kept, and their out-of-fold vectors as columns.

    The leaderboard learns how many bytes each has.
    """
    ends = np.cumsum([len(layer.members) for layer in growth.layers])
    weights = np.split(growth.vote.weights, ends[:-1])
    while len(weights) > 1 and not weights[-1].any():
        weights.pop()
    fitted, features = [], []
    for number, of_layer in enumerate(weights):
        layer = growth.layers[number]
        feeds = number + 1 < len(weights)
        inputs = layer.inputs if feeds else []
        kept = [i for i in range(len(layer.members)) if of_layer[i] > 0 or i in inputs]
        members = _fitted_members(growth, number, kept, of_layer)
        sizes = {member.name: len(pickle.dumps(to_plain(member.models))) for member in members}
        for row in growth.leaderboard:
            if row["layer"] == number + 1:
                row["bytes"] = sizes.get(row["member"], 0)
        features.append(columns_of(layer.vectors[kept], None))
        before = growth.layers[number - 1].features if number else None
        bins = growth.training.table.bins.columns(0, 0)
        fitted.append(
            DeepLayer(
                members,
                [kept.index(i) for i in inputs],
                layer.average_weights if feeds else None,
                bins if before is None else before.bins,
                None if number else _tried(layer, members),
            )
        )
    return fitted, features


def _tried(layer: GrownLayer, members: list[FittedMember]) -> list[np.ndarray] | None:
    """See `DeepLayer`."""
    if any(member.is_forest for member in members):
        return None
    return [
        np.sum([of_fold.importances for of_fold in of_folds], axis=0)
        for member, of_folds in zip(layer.members, layer.models, strict=True)
        if member.is_forest
    ]


def _fitted_members(growth: Growth, number: int, kept: list[int], weights) -> list[FittedMember]:
    training, layer, model = growth.training, growth.layers[number], growth.model
    forests = [i for i in kept if layer.members[i].is_forest]
    grown = {i: layer.models[i] for i in forests}
    if model.refit and forests:
        again = training.grow_all(
            [layer.members[i].in_full(training.task.n_times) for i in forests],
            View(_columns(growth, number), layer.reweighting),
            [Part(training.everything, None)],
            (*growth.entropy, 6, number),
            f"layer {number + 1} on all samples",
        )
        grown = dict(zip(forests, again, strict=True))
    members = []
    for i in kept:
        spec = layer.members[i]
        if spec.is_forest:
            models = [trees for part in grown[i] for trees in part.trees]
            importances = np.sum([part.importances for part in grown[i]], axis=0)
        else:
            models, importances = layer.models[i], None
            if model.refit and not spec.is_boosted:
                parts = [Part(training.everything, None)]
                fitted = training.fit(spec.model, parts, (*growth.entropy, 7, i), spec.name)
                models = [one for one, _ in fitted]
        members.append(
            FittedMember(
                spec.name,
                float(weights[i]),
                layer.exponents[i],
                models,
                spec.is_forest,
                importances,
                training.task.unit,
            )
        )
    return members


def _columns(growth: Growth, number: int) -> np.ndarray:
    """What the forests of a layer see, with the features of the layer before in the table."""
    if not number:
        return growth.training.raw_columns
    features = growth.layers[number - 1].features
    assert features is not None
    return growth.training.show(features)
