"""Columns that are made from other columns, as operators."""

from __future__ import annotations

import numpy as np

from mddf._members.boosted_crosses import MadeColumns
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


def add_made_columns(graph: Graph, numbers: str, made: MadeColumns) -> list[str]:
    """Append the made columns, and zeros in the place of the constant columns behind them."""
    tables = []
    if made.crosses.n_columns:
        tables.append(_add_crosses(graph, numbers, made.crosses))
    n_constant = made.bins.n_columns - made.crosses.n_columns
    if n_constant:
        tables.append(graph.repeat(np.zeros(n_constant), numbers))
    return tables


def _add_crosses(graph: Graph, numbers: str, crosses: Crosses) -> str:
    """Append the columns of `Crosses.transform`."""
    blocks = []
    places = []
    for operation in np.unique(crosses.operations).tolist():
        of_operation = np.flatnonzero(crosses.operations == operation)
        first = graph.columns(numbers, crosses.pairs[of_operation, 0])
        second = graph.columns(numbers, crosses.pairs[of_operation, 1])
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
