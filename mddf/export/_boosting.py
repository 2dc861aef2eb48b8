"""Gradient boosting as operators."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

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
        As :func:`mddf._members.boosting.trees_of` gives them.
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


def _nodes(trees, part: slice) -> tuple[Nodes, np.ndarray, np.ndarray]:
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
