"""Gradient boosting as operators."""

from __future__ import annotations

from typing import Any

import numpy as np

from mddf._gradient.losses import Labels, Numbers

from ._graph import Graph
from ._hist_gradient import trees_of
from ._trees import TreeTable


def add_scores(graph: Graph, X: str, model: Any, codes_of: Any = None) -> str:
    """Append scikit-learn's histogram gradient boosting; its scores, shape (n_rows, n_scores).

    `X` is a value of shape (n_rows, n_columns), in double precision; see `trees_of` for the codes.
    """
    table, start = TreeTable(), np.reshape(model._baseline_prediction, -1)
    for number, (nodes, split, value) in enumerate(trees_of(model, codes_of)):
        table.add_once(nodes, split, np.full(len(split), number % len(start)), value)
    return graph.add("Add", table.operator(graph, X, len(start)), graph.constant(start))


def add_softmax(graph: Graph, scores: str, n_scores: int) -> str:
    """Append what makes probabilities of scores: one for two classes, else one for each."""
    if n_scores > 1:
        return graph.add("Softmax", scores, axis=1)
    second = graph.add("Sigmoid", scores)
    return graph.add("Concat", graph.add("Sub", graph.constant(1.0), second), second, axis=1)


def add_link(graph: Graph, raw: str, target: Labels | Numbers) -> str:
    """Append what makes predictions of raw ones: as `predicted` of the target."""
    if isinstance(target, Numbers):
        values = graph.add("Exp", raw) if target.is_logarithmic else raw
        return add_scaled_up(graph, values, np.array([target.exponent]))
    if target.n_classes == 1:
        return graph.add("Softmax", raw, axis=1)
    if target.loss == "exponential":
        raw = graph.add("Mul", raw, graph.constant(2.0))
    return add_softmax(graph, raw, target.n_scores)


def add_scaled_up(graph: Graph, values: str, exponents: np.ndarray) -> str:
    """Append what multiplies by powers of two; what no double can hold becomes the largest one."""
    if exponents.any():
        for part in (exponents // 2, exponents - exponents // 2):
            values = graph.add("Mul", values, graph.constant(np.ldexp(1.0, part)))
    most = np.finfo(float).max
    return graph.add("Max", graph.add("Min", values, graph.constant(most)), graph.constant(-most))
