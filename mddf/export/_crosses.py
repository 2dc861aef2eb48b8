"""Columns that are made from other columns, as operators."""

from __future__ import annotations

import numpy as np

from mddf._members.boosted_crosses import MadeColumns
from mddf._members.crosses import DIFFERENCE, N_CODES, PRODUCT, Crosses

from ._graph import Graph

# Operators of the operations.
_OPERATORS = {DIFFERENCE: "Sub", PRODUCT: "Mul"}


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
        blocks.append(graph.add(_OPERATORS[operation], first, second))
        places.append(of_operation)
    for place, (number, category) in enumerate(crosses.grouped.tolist()):
        code = graph.columns(numbers, [category])
        code = graph.add("Where", graph.add("IsNaN", code), float(N_CODES), code)
        means = graph.constant(crosses.group_means[place])
        mean = graph.add("Gather", means, graph.cast(code, np.int64))
        blocks.append(graph.add("Sub", graph.columns(numbers, [number]), mean))
        places.append(np.array([len(crosses.pairs) + place]))
    return graph.columns(graph.concat(blocks), np.argsort(np.concatenate(places)))
