"""The stages of a fitted model as operators."""

from __future__ import annotations

from typing import Any

import numpy as np

from mddf._binning.bins import Bins
from mddf._ensemble.blending import FLOOR, Calibration
from mddf._fitted.fitted_model import FittedStages, Stage, StageMember
from mddf._fitted.vector_layout import GRAIN
from mddf._gradient.fitted_trees import BoostedMember
from mddf._gradient.losses import Labels, Numbers
from mddf._gradient.target_encoding import TargetStatistics
from mddf._members.boosted import BoostedFolds
from mddf._targets.kernel_targets import Units
from mddf._trees.arrays import Trees

from ._boosting import add_link, add_scaled_up, add_softmax
from ._external import add_external, add_external_regressor
from ._graph import Graph
from ._statistics import CategoryLevels, add_statistics
from ._trees import add_trees


def _add_shares(graph: Graph, sums: str) -> str:
    total = graph.add("ReduceSum", sums, graph.constant([1], np.int64), keepdims=1)
    return graph.add("Div", sums, total)


def _add_scaled(graph: Graph, operation: str, value: str, factor: Any) -> str:
    """A value times a factor, or divided by it; as it is if that is 1."""
    if np.all(np.equal(factor, 1)):
        return value
    return graph.add(operation, value, graph.constant(factor))


def _add_sum(graph: Graph, values: list[str], weights: Any = None) -> str:
    """The sum of values, each times its weight."""
    if weights is not None:
        scaled = zip(values, weights, strict=True)
        values = [_add_scaled(graph, "Mul", value, weight) for value, weight in scaled]
    total = values[0]
    for value in values[1:]:  # one after the other, as numpy does, to the same last bit
        total = graph.add("Add", total, value)
    return total


def _add_mean(graph: Graph, values: list[str], weights: Any = None) -> str:
    total = float(len(values) if weights is None else weights.sum())
    return _add_scaled(graph, "Div", _add_sum(graph, values, weights), total)


def add_stages(
    graph: Graph, raw: str, levels: CategoryLevels, fitted: FittedStages, is_regressor: bool
) -> str:
    """As `FittedStages.predict`: the prediction of all stages together."""
    codes = numbers = raw
    columns: list[str] = []
    votes: list[tuple[str, StageMember]] = []
    if fitted.largest is not None and not fitted.sees_codes_only:
        numbers = _add_bounded(graph, raw, fitted.largest)
    for stage in fitted.stages:
        seen = numbers
        if stage.columns is not None and not all(member.has_trees for member in stage.members):
            seen = graph.add("Gather", codes, graph.constant(stage.columns, np.int64), axis=1)
        vectors = [
            _add_raw(graph, codes, levels, member, stage)
            if isinstance(member, BoostedMember)
            else _add_trees(graph, codes, member, stage)
            if member.has_trees
            else _add_boosted(graph, codes, levels, member, stage)
            if isinstance(member, BoostedFolds)
            else _add_estimators(graph, seen, member, is_regressor)
            for member in stage.members
        ]
        votes += zip(vectors, stage.members, strict=True)
        if stage.inputs:
            columns.append(_add_columns(graph, [vectors[i] for i in stage.inputs], stage))
            used = np.flatnonzero(stage.alphas)
            shares = stage.alphas[used] / stage.alphas.sum()
            added = _add_sum(graph, [columns[i] for i in used], shares)
            codes = graph.add("Concat", raw, added, axis=1)
    if fitted.weighs_members:
        average = _add_vote(graph, votes)
    else:
        average = _add_mean_of_columns(graph, added, stage)
    if fitted.link is not None:
        assert isinstance(fitted.link, Labels | Numbers)
        return add_link(graph, average, fitted.link)
    if fitted.units is not None:
        return _add_restored(graph, average, fitted.units)
    return _add_calibrated(graph, average, fitted.calibration, stage.members[0].n_columns)


def _add_trees(graph: Graph, codes: str, member: StageMember, stage: Stage) -> str:
    """As `StageMember.vectors`: the mean over trees."""
    sums = add_trees(graph, codes, member.models, stage.bins)
    if isinstance(member.models[0], Trees):
        means = _add_shares(graph, sums)
    else:
        n_trees = float(sum(block.n_trees for block in member.models))
        means = graph.add("Div", sums, graph.constant(n_trees))
        means = graph.add("Mul", means, graph.constant(member.unit))
    return _add_rounded(graph, means) if member.is_rounded else means


def _add_raw(
    graph: Graph, codes: str, levels: CategoryLevels, member: BoostedMember, stage: Stage
) -> str:
    """As `BoostedMember.vectors`: raw predictions."""
    raw = _add_raw_sums(graph, codes, levels, member.models, stage.bins, member.statistics)
    exponent = np.frexp(member.unit)[1] - 1
    return add_scaled_up(graph, raw, np.array([exponent])) if exponent else raw


def _add_raw_sums(
    graph: Graph,
    codes: str,
    levels: CategoryLevels,
    blocks: list[Any],
    bins: Bins,
    statistics: TargetStatistics | None,
) -> str:
    """What trees make of codes, and of statistics that they may see beside them."""
    if statistics is not None:
        codes, bins = add_statistics(graph, codes, bins, levels, statistics)
    sums = add_trees(graph, codes, blocks, bins)
    return graph.add("Add", sums, graph.constant(blocks[0].start))


def _add_boosted(
    graph: Graph, codes: str, levels: CategoryLevels, member: BoostedFolds, stage: Stage
) -> str:
    """As `BoostedFolds.vectors`: the mean over the models of all folds."""
    found, bins = [], stage.bins
    if member.sees_levels and bins.n_columns > member.n_features:
        own = graph.constant(np.arange(member.n_features), np.int64)
        codes = graph.add("Gather", codes, own, axis=1)
        bins = bins.columns(0, member.n_features)
    for model in member.models:
        if not model.trees:
            return graph.repeat(np.ones(1), codes)
        raw = [
            _add_raw_sums(graph, codes, levels, [trees], bins, statistics)
            for trees, statistics in model.outputs()
        ]
        if model.is_classifier:
            found.append(add_softmax(graph, raw[0], model.trees[0].n_scores))
        else:
            found.append(graph.add("Concat", *raw, axis=1))
    return _add_mean(graph, found)


def _add_estimators(graph: Graph, numbers: str, member: StageMember, is_regressor: bool) -> str:
    """As `ExternalMember.vectors`: the mean over estimators."""
    frames = getattr(member, "frames", None)
    codes_of = None if frames is None else frames.codes_of
    if is_regressor:
        found = [add_external_regressor(graph, numbers, one, codes_of) for one in member.models]
    else:
        n = member.n_columns
        found = [add_external(graph, numbers, one, n, codes_of) for one in member.models]
    if not member.is_rounded:
        return _add_mean(graph, found)
    return _add_rounded(graph, _add_shares(graph, _add_sum(graph, found)))


def _add_columns(graph: Graph, vectors: list[str], stage: Stage) -> str:
    """As `Stage.own_columns`."""
    if stage.average_weights is None:
        return graph.add("Concat", *vectors, axis=1)
    return _add_mean(graph, vectors, stage.average_weights)


def _add_mean_of_columns(graph: Graph, columns: str, stage: Stage) -> str:
    """As `Stage.mean`."""
    if stage.average_weights is not None:
        return columns
    n = stage.members[0].n_columns
    starts = range(0, n * len(stage.inputs), n)
    places = [graph.constant(range(first, first + n), np.int64) for first in starts]
    return _add_mean(graph, [graph.add("Gather", columns, place, axis=1) for place in places])


def _add_vote(graph: Graph, votes: list[tuple[str, StageMember]]) -> str:
    """As `FittedStages.average`: the mean of all members that have a weight."""
    kept = [(vectors, member) for vectors, member in votes if member.weight > 0]
    sharpened = [_add_sharpened(graph, vectors, member.exponent) for vectors, member in kept]
    weights = [member.weight for _, member in kept]
    return graph.add("Div", _add_sum(graph, sharpened, weights), graph.constant(sum(weights)))


def _add_bounded(graph: Graph, X: str, largest: float) -> str:
    """As `mddf._fitted.fitted_model.bounded`."""
    return graph.add("Max", graph.add("Min", X, graph.constant(largest)), graph.constant(-largest))


def _add_restored(graph: Graph, standard: str, units: Units) -> str:
    """As `mddf._targets.kernel_targets.Units.restore`."""
    values = graph.add("Mul", standard, graph.constant(units.spread))
    values = graph.add("Add", values, graph.constant(units.mean))
    return add_scaled_up(graph, values, units.exponents)


def _add_calibrated(graph: Graph, mean: str, calibration: Calibration, n_classes: int) -> str:
    sharpened = _add_sharpened(graph, mean, calibration.exponent)
    if not calibration.label_smoothing:
        return sharpened
    shrunk = graph.add("Mul", sharpened, graph.constant(1 - calibration.label_smoothing))
    return graph.add("Add", shrunk, graph.constant(calibration.label_smoothing / n_classes))


def _add_sharpened(graph: Graph, probabilities: str, exponent: float) -> str:
    """As `mddf._ensemble.blending.sharpened`."""
    if exponent == 1:
        return probabilities
    floored = graph.add("Max", probabilities, graph.constant(FLOOR))
    logs = graph.add("Mul", graph.add("Log", floored), graph.constant(exponent))
    return graph.add("Softmax", logs, axis=1)


def _add_rounded(graph: Graph, vector: str) -> str:
    """To whole multiples of a power of two, as layers do."""
    grains = graph.add("Div", vector, graph.constant(GRAIN))
    return graph.add("Mul", graph.add("Round", grains), graph.constant(GRAIN))
