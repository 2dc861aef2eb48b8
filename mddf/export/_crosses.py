"""The member "boosted-crosses" as operators."""

from __future__ import annotations

import numpy as np

from mddf._members.boosted_crosses import BoostedCrosses
from mddf._members.crosses import (
    DIFFERENCE,
    N_CODES,
    PRODUCT,
    RATIO,
    SCALED_DIFFERENCE,
    SMALLEST_DENOMINATOR,
    Crosses,
)

from ._graph import Graph
from ._statistics import LevelsInput, add_statistics
from ._trees import add_trees


def add_boosted_crosses(graph: Graph, X: str, model: BoostedCrosses) -> list[str]:
    """Append the raw predictions of each output, shapes (n_rows, n_scores)."""
    numbers = _add_known_codes(graph, graph.columns(X, model.columns_), model)
    parts = [numbers]
    if model.crosses_.n_columns:
        parts.append(_add_made_columns(graph, numbers, model.crosses_))
    n_levels = len(model.level_columns_)
    if n_levels:
        # Trees do not split these columns, which have the place of the encoded categories.
        parts.append(graph.repeat(np.zeros(n_levels), numbers))
    table = graph.concat(parts)
    levels = _add_levels(graph, numbers, model)
    raw = []
    for trees, statistics in model.model_.trees_with_statistics():
        codes = table
        bins = model.bins_
        if statistics is not None:
            codes, bins = add_statistics(graph, codes, bins, levels, statistics)
        raw.append(graph.add("Add", add_trees(graph, codes, [trees], bins), trees.start))
    return raw


def _add_known_codes(graph: Graph, numbers: str, model: BoostedCrosses) -> str:
    """Append the columns with NaN in the place of categories that were absent in training."""
    n_codes = model.n_codes_
    if not n_codes.any():
        return numbers
    limit = np.where(n_codes > 0, n_codes, np.inf)
    is_new = graph.add("GreaterOrEqual", numbers, limit[None])
    return graph.add("Where", is_new, np.nan, numbers)


def _add_levels(graph: Graph, numbers: str, model: BoostedCrosses) -> dict[int, LevelsInput]:
    """Append the numbers of the encoded categories, by the columns in their place."""
    levels = {}
    first = model.bins_.n_columns - len(model.level_columns_)
    for place, column in enumerate(model.level_columns_.tolist()):
        n_levels = int(model.n_codes_[column])
        code = graph.columns(numbers, [column])
        level = graph.add("Where", graph.add("IsNaN", code), float(n_levels), code)
        flat = graph.add("Reshape", graph.cast(level, np.int64), graph.constant([-1], np.int64))
        levels[first + place] = LevelsInput(flat, n_levels)
    return levels


def _add_made_columns(graph: Graph, numbers: str, crosses: Crosses) -> str:
    """Append the columns of `Crosses.transform`."""
    blocks = []
    places = []
    for operation in np.unique(crosses.operations).tolist():
        of_operation = np.flatnonzero(crosses.operations == operation)
        first, second = (
            graph.columns(numbers, crosses.pairs[of_operation, side]) for side in (0, 1)
        )
        scales = crosses.scales[of_operation]
        blocks.append(_add_operation(graph, operation, first, second, scales))
        places.append(of_operation)
    for place, (number, category) in enumerate(crosses.grouped.tolist()):
        code = graph.columns(numbers, [category])
        code = graph.add("Where", graph.add("IsNaN", code), float(N_CODES), code)
        means = graph.constant(crosses.group_means[place])
        mean = graph.add("Gather", means, graph.cast(code, np.int64))
        blocks.append(graph.add("Sub", graph.columns(numbers, [number]), mean))
        places.append(np.array([len(crosses.pairs) + place]))
    return graph.columns(graph.concat(blocks), np.argsort(np.concatenate(places)))


def _add_operation(
    graph: Graph, operation: int, first: str, second: str, scales: np.ndarray
) -> str:
    if operation == PRODUCT:
        return graph.add("Mul", first, second)
    if operation == RATIO:
        is_small = graph.add("Less", graph.add("Abs", second), SMALLEST_DENOMINATOR)
        return graph.add("Div", first, graph.add("Where", is_small, np.nan, second))
    if operation == SCALED_DIFFERENCE:
        first = graph.add("Div", first, scales[None, :, 0])
        second = graph.add("Div", second, scales[None, :, 1])
    else:
        assert operation == DIFFERENCE
    return graph.add("Sub", first, second)
