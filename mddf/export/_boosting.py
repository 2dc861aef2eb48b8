"""Gradient boosting as operators."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from mddf._gradient.losses import Labels, Numbers
from mddf.explain._nodes import LEAF, Nodes

from ._graph import Graph
from ._trees import TreeTable


def add_boosting(graph: Graph, X: str, start: np.ndarray, trees: dict[str, np.ndarray]) -> str:
    """Append boosted trees; the probabilities, shape (n_rows, n_classes): see `add_scores`."""
    return add_softmax(graph, add_scores(graph, X, start, trees), len(start))


def add_scores(graph: Graph, X: str, start: np.ndarray, trees: dict[str, np.ndarray]) -> str:
    """Append boosted trees; their scores, shape (n_rows, n_scores).

    Parameters
    ----------
    graph : Graph
    X : str
        Value of shape (n_rows, n_columns), in double precision.
    start : ndarray of shape (n_scores,)
        Scores before the first round.
    trees : dict
        As :func:`mddf.export._hist_gradient.trees_of` gives them.
    """
    table = TreeTable()
    ends = np.append(trees["roots"], len(trees["left"]))
    for number, (first, last) in enumerate(pairwise(ends)):
        nodes, split, weight = _nodes(trees, slice(first, last))
        table.add_once(nodes, split, np.full(last - first, number % len(start)), weight)
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


def _nodes(trees: Any, part: slice) -> tuple[Nodes, np.ndarray, np.ndarray]:
    """A tree, its thresholds, and the values of its leaves."""
    tree = {name: trees[name][part] for name in ("column", "left", "split", "set", "missing_left")}
    leaf, by_set = tree["left"] == 0, tree["set"] >= 0
    words = trees["sets"].astype("<u8").view(np.uint8)
    sets = {
        node: np.flatnonzero(np.unpackbits(words[tree["set"][node]], bitorder="little"))
        for node in np.flatnonzero(by_set).tolist()
    }
    none = np.empty(0)
    nodes = Nodes(
        np.array([0, len(leaf)]),
        np.where(leaf, LEAF, tree["left"] - part.start).astype(int),
        tree["column"].astype(int),
        none,
        tree["missing_left"],
        sets,
        none,
        none,
        none,
    )
    split = np.where(by_set | leaf, np.nan, tree["split"])
    return nodes, split, np.where(leaf, tree["split"], 0.0)
