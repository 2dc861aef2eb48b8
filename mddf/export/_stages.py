"""The stages of a fitted model as operators.

Each function here repeats a computation of a fitted model, in the same order of additions where
results are the same to the last bit. `FittedStages.run` and `FittedStages.finish` are the
originals of `add_stages`; the functions for members are copies of their `vectors` methods.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from mddf._binning.bins import Bins
from mddf._binning.categories import CategoryEncoder
from mddf._fitted.calibration import FLOOR, Calibration
from mddf._fitted.fitted_model import FittedMember, FittedStages, Stage
from mddf._fitted.vector_layout import GRAIN
from mddf._gradient.fitted_trees import FittedBoosting
from mddf._gradient.losses import ClassificationTarget, RegressionTarget
from mddf._gradient.target_statistics import TargetStatistics
from mddf._gradient.trees import BoostedTrees
from mddf._members.boosted import BoostedFolds
from mddf._members.external_member import ExternalMember
from mddf._targets.kernel_targets import TargetScaling
from mddf._trees.arrays import Trees

from ._boosting import add_link, add_scaled_up, add_softmax
from ._external import add_external_classifier, add_external_regressor
from ._graph import Graph
from ._statistics import LevelsInput, add_statistics
from ._trees import add_trees


@dataclass(frozen=True)
class _StageInput:
    """Rows as the members of a stage take them."""

    codes: str  # features, and columns added by the stage before, for trees
    bins: Bins  # of these columns
    numbers: str  # columns for members without trees
    levels: dict[int, LevelsInput]  # categories of the columns that have target statistics
    encoders: dict[int, CategoryEncoder]  # by the columns that hold categories


def add_stages(
    graph: Graph,
    raw: str,
    levels: dict[int, LevelsInput],
    fitted: FittedStages,
    *,
    is_regressor: bool,
) -> str:
    """Append all stages and return the value of their joint predictions."""
    bounded = raw
    if fitted.largest is not None and not fitted.reads_codes_only:
        bounded = graph.clip(raw, -fitted.largest, fitted.largest)
    codes = raw
    added = ""
    columns: list[str] = []
    vectors_of_all: list[str] = []
    left = ""
    for stage in fitted.stages:
        if stage.augmentation is not None:
            raise TypeError(
                "graphs have no columns of regions, got a model with a function as augmentation"
            )
        numbers = bounded
        if stage.columns is not None and not all(member.has_trees for member in stage.members):
            table = graph.concat([bounded, added]) if added else bounded
            numbers = graph.columns(table, stage.columns)
        rows = _StageInput(codes, fitted.bins_of(stage), numbers, levels, fitted.binner.encoders_)
        vectors = [
            _add_member(graph, rows, member, is_regressor=is_regressor) for member in stage.members
        ]
        vectors_of_all += vectors
        if stage.inputs:
            columns.append(_add_columns(graph, [vectors[i] for i in stage.inputs], stage))
            if left:
                columns[-1] = graph.add("Where", left, columns[-2], columns[-1])
            left = _add_left_rows(graph, columns[-1], stage, left)
            used = np.flatnonzero(stage.alphas)
            shares = stage.alphas[used] / stage.alphas.sum()
            added = _add_sum(graph, [columns[i] for i in used], shares)
            codes = graph.concat([raw, added])
    if fitted.weighs_members:
        average = _add_weighted_average(graph, vectors_of_all, fitted.members)
    else:
        average = _add_mean_of_columns(graph, added, stage)
    if fitted.link is not None:
        assert isinstance(fitted.link, ClassificationTarget | RegressionTarget)
        return add_link(graph, average, fitted.link)
    if fitted.units is not None:
        return _add_restored_units(graph, average, fitted.units)
    return _add_calibrated(graph, average, fitted.calibration, stage.members[0].n_columns)


def _add_left_rows(graph: Graph, columns: str, stage: Stage, left: str) -> str:
    """Append the mask of the rows that left up to a stage: see `Stage.leaving`."""
    if stage.gate is None:
        return left
    confidence = graph.reduce(
        "ReduceMax", _add_mean_of_columns(graph, columns, stage), axis=1, keepdims=True
    )
    leaving = graph.add("GreaterOrEqual", confidence, stage.gate)
    return graph.add("Or", left, leaving) if left else leaving


def _add_member(
    graph: Graph, rows: _StageInput, member: FittedMember, *, is_regressor: bool
) -> str:
    if isinstance(member, FittedBoosting):
        return _add_raw_predictions(graph, rows, member)
    if member.has_trees:
        return _add_forest(graph, rows, member)
    if isinstance(member, BoostedFolds):
        return _add_boosted(graph, rows, member)
    assert isinstance(member, ExternalMember)
    return _add_estimators(graph, rows, member, is_regressor=is_regressor)


def _add_forest(graph: Graph, rows: _StageInput, member: FittedMember) -> str:
    sums = add_trees(graph, rows.codes, member.models, rows.bins)
    if isinstance(member.models[0], Trees):
        means = _add_shares(graph, sums)
    else:
        means = graph.add("Div", sums, float(sum(block.n_trees for block in member.models)))
        means = graph.add("Mul", means, member.unit)
    return _add_rounded(graph, means) if member.is_rounded else means


def _add_raw_predictions(graph: Graph, rows: _StageInput, member: FittedBoosting) -> str:
    raw = _add_raw_sums(graph, rows, member.parts, member.statistics)
    if isinstance(member.unit, np.ndarray):
        return graph.add("Mul", raw, member.unit)
    exponent = np.frexp(member.unit)[1] - 1  # the unit is a power of two
    return add_scaled_up(graph, raw, np.array([exponent])) if exponent else raw


def _add_raw_sums(
    graph: Graph,
    rows: _StageInput,
    blocks: Sequence[BoostedTrees],
    statistics: TargetStatistics | None,
) -> str:
    codes = rows.codes
    bins = rows.bins
    if statistics is not None:
        codes, bins = add_statistics(graph, codes, bins, rows.levels, statistics)
    sums = add_trees(graph, codes, blocks, bins)
    return graph.add("Add", sums, blocks[0].start)


def _add_boosted(graph: Graph, rows: _StageInput, member: BoostedFolds) -> str:
    if member.reads_levels and rows.bins.n_columns > member.n_features:
        # Target statistics stand behind the features, in the place of columns that were added.
        rows = replace(
            rows,
            codes=graph.columns(rows.codes, np.arange(member.n_features)),
            bins=rows.bins.columns(0, member.n_features),
        )
    vectors = []
    for model in member.models:
        if not model.trees:  # only one class in its training rows
            return graph.repeat(np.ones(1), rows.codes)
        raw = [
            _add_raw_sums(graph, rows, [trees], statistics)
            for trees, statistics in model.trees_with_statistics()
        ]
        if model.is_classifier:
            vectors.append(add_softmax(graph, raw[0], model.trees[0].n_scores))
        else:
            vectors.append(graph.concat(raw))
    return _add_mean(graph, vectors)


def _add_estimators(
    graph: Graph, rows: _StageInput, member: ExternalMember, *, is_regressor: bool
) -> str:
    predictions = []
    numbers = rows.numbers
    category_codes = None
    if member.frame_columns is not None:
        category_codes = {c: encoder.codes_by_category for c, encoder in rows.encoders.items()}
    for model in member.models:
        if is_regressor:
            vectors = add_external_regressor(graph, numbers, model, category_codes=category_codes)
        else:
            vectors = add_external_classifier(
                graph, numbers, model, n_classes=member.n_columns, category_codes=category_codes
            )
        predictions.append(vectors)
    if not member.is_rounded:
        return _add_mean(graph, predictions)
    return _add_rounded(graph, _add_shares(graph, _add_sum(graph, predictions)))


def _add_columns(graph: Graph, vectors: list[str], stage: Stage) -> str:
    """Append the columns that a stage adds for the next one: see `Stage.own_columns`."""
    if stage.average_weights is None:
        return graph.concat(vectors)
    return _add_mean(graph, vectors, stage.average_weights)


def _add_mean_of_columns(graph: Graph, columns: str, stage: Stage) -> str:
    """Append the mean of such columns over the members: see `Stage.mean`."""
    if stage.average_weights is not None:
        return columns
    n_columns = stage.members[0].n_columns
    starts = range(0, n_columns * len(stage.inputs), n_columns)
    vectors = [graph.columns(columns, range(start, start + n_columns)) for start in starts]
    return _add_mean(graph, vectors)


def _add_weighted_average(graph: Graph, vectors: list[str], members: list[FittedMember]) -> str:
    """Append the average of members with weights: see `FittedStages.averages`."""
    weights = [member.weight for member in members if member.weight > 0]
    sharpened = [
        _add_sharpened(graph, vector, member.exponent)
        for vector, member in zip(vectors, members, strict=True)
        if member.weight > 0
    ]
    return graph.add("Div", _add_sum(graph, sharpened, weights), sum(weights))


def _add_restored_units(graph: Graph, standardised: str, units: TargetScaling) -> str:
    values = graph.add("Mul", standardised, units.spread)
    values = graph.add("Add", values, units.mean)
    return add_scaled_up(graph, values, units.exponents)


def _add_calibrated(graph: Graph, mean: str, calibration: Calibration, n_classes: int) -> str:
    sharpened = _add_sharpened(graph, mean, calibration.exponent)
    if not calibration.label_smoothing:
        return sharpened
    shrunk = graph.add("Mul", sharpened, 1 - calibration.label_smoothing)
    return graph.add("Add", shrunk, calibration.label_smoothing / n_classes)


def _add_sharpened(graph: Graph, probabilities: str, exponent: float) -> str:
    if exponent == 1:
        return probabilities
    logs = graph.add("Log", graph.add("Max", probabilities, FLOOR))
    return graph.add("Softmax", graph.add("Mul", logs, exponent), axis=1)


def _add_rounded(graph: Graph, vectors: str) -> str:
    return graph.add("Mul", graph.add("Round", graph.add("Div", vectors, GRAIN)), GRAIN)


def _add_shares(graph: Graph, sums: str) -> str:
    return graph.add("Div", sums, graph.reduce("ReduceSum", sums, 1, keepdims=True))


def _add_mean(graph: Graph, values: list[str], weights: np.ndarray | None = None) -> str:
    total = float(len(values) if weights is None else weights.sum())
    return _add_scaled(graph, "Div", _add_sum(graph, values, weights), total)


def _add_sum(
    graph: Graph, values: list[str], weights: Sequence[float] | np.ndarray | None = None
) -> str:
    """Append the sum of values, each times its weight."""
    if weights is not None:
        pairs = zip(values, weights, strict=True)
        values = [_add_scaled(graph, "Mul", value, weight) for value, weight in pairs]
    total = values[0]
    for value in values[1:]:  # one after the other as NumPy does, so that the last bits agree
        total = graph.add("Add", total, value)
    return total


def _add_scaled(graph: Graph, operation: str, value: str, factor: float) -> str:
    """Multiply a value by a factor, or divide it, unless the factor is 1."""
    return value if factor == 1 else graph.add(operation, value, factor)
