"""ONNX graphs of boosting classifiers."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from mddf._base.messages import short
from mddf._trees.nodes import LEAF, Nodes
from mddf.export._boosting import add_softmax
from mddf.export._graph import Graph
from mddf.export._trees import TreeTable

from .columns import LearnerColumns
from .ensemble import NEAR_TIE, Ensemble
from .probabilities import NEAR_TOP
from .weak_learners import FittedLearners, WeakTrees


class VoteGraph:
    """A fitted boosting classifier in the form that `mddf.export.to_onnx` reads.

    Parameters
    ----------
    model : fitted boosting classifier
        Its weak learners must be trees.
    """

    columns_of_levels: list[int] = []

    def __init__(self, model: BaseEstimator) -> None:
        if not isinstance(model._link(), str):
            raise TypeError(
                "to_onnx cannot export a loss that is an object, which is Python code; got "
                f"{type(model).__name__} with loss={short(model._link())}"
            )
        self.model = model
        self.binner = model._binner
        self.n_outputs = len(model.classes_)
        self.ensembles: list[Ensemble] = model.ensembles_
        for ensemble in self.ensembles:
            if not isinstance(ensemble.learners, WeakTrees):
                fits = isinstance(ensemble.learners, FittedLearners)
                raise TypeError(
                    "to_onnx takes boosted trees and weak_learners='stumps'; got "
                    f"{type(model).__name__} of {'an estimator' if fits else 'given learners'}"
                )

    def lossy_columns(self) -> NDArray[np.bool_]:
        """Mark numeric columns with a threshold that single precision does not represent."""
        lossy = np.zeros(self.model.n_features_in_, bool)
        if (columns := self.model._columns) is not None:
            for ensemble in self.ensembles:
                trees: Any = ensemble.learners
                is_lossy = (trees.feature >= 0) & (trees.feature < len(columns.number))
                with np.errstate(over="ignore"):
                    is_lossy &= trees.threshold.astype(np.float32) != trees.threshold
                lossy[columns.number[trees.feature[is_lossy]]] = True
        return lossy

    def add(self, graph: Graph, raw: str, levels: Any) -> tuple[str, str]:
        """Append the vote; return the values with the probabilities and with the class indices."""
        f = _add_decision(graph, raw, self.model._columns, self.ensembles)
        n = len(self.ensembles)
        if n > 1:
            code = graph.add("ArgMax", f, axis=1, keepdims=0)
        else:
            operator = "Greater" if self.model.n_iter_ else "GreaterOrEqual"
            second = graph.add(operator, f, graph.constant(0.0))
            code = graph.cast(second, np.int64)
            code = graph.add("Reshape", code, graph.constant([-1], np.int64))
        return _add_probabilities(graph, f, n, self.model._link()), code


def _add_decision(
    graph: Graph, raw: str, columns: LearnerColumns | None, ensembles: list[Ensemble]
) -> str:
    """Append `decision_function`, with one column for two classes."""
    table = TreeTable()
    for k, ensemble in enumerate(ensembles):
        trees: Any = ensemble.learners
        vote = trees.label * np.repeat(ensemble.weights(), trees.sizes)
        vote = np.where(trees.feature >= 0, 0.0, vote)
        table.add_once(_nodes(trees), trees.threshold, np.full(trees.size, k), vote)
    inputs = raw if columns is None else _add_columns(graph, raw, columns)
    f = table.operator(graph, inputs, len(ensembles))
    near_tie = [NEAR_TIE * np.abs(ensemble.weights()).sum() for ensemble in ensembles]
    is_tie = graph.add("LessOrEqual", graph.add("Abs", f), graph.constant(near_tie))
    f = graph.add("Where", is_tie, graph.constant(0.0), f)
    if len(ensembles) == 1:
        return f
    top = graph.add("ReduceMax", f, graph.constant([1], np.int64), keepdims=1)
    tolerance = graph.add("Add", graph.add("Abs", top), graph.constant(1.0))
    tolerance = graph.add("Mul", tolerance, graph.constant(NEAR_TOP))
    is_top = graph.add("LessOrEqual", graph.add("Sub", top, f), tolerance)
    return graph.add("Where", is_top, top, f)


def _nodes(trees: WeakTrees) -> Nodes:
    """Convert trees, whose right children follow the left ones, to nodes."""
    is_leaf = trees.feature < 0
    none = np.empty(0)
    left = np.where(is_leaf, LEAF, trees.left + np.repeat(trees.start[:-1], trees.sizes))
    column = np.where(is_leaf, 0, trees.feature)
    return Nodes(
        start=trees.start,
        left=left,
        column=column,
        highest=none,
        missing_left=np.zeros(trees.size, bool),
        sets={},
        value=none,
        word_node=none,
        word_start=none,
    )


def _add_columns(graph: Graph, raw: str, columns: LearnerColumns) -> str:
    """Append `LearnerColumns.transform`."""

    def take(sources: NDArray[np.int64]) -> str:
        return graph.add("Gather", raw, graph.constant(sources, np.int64), axis=1)

    column_groups = []
    if len(columns.number):
        numbers = take(columns.number)
        missing = graph.add("IsNaN", numbers)
        column_groups.append(graph.add("Where", missing, graph.constant(columns.fill), numbers))
    if len(columns.category):
        equal = graph.add("Equal", take(columns.category), graph.constant(columns.code))
        column_groups.append(graph.cast(equal, np.float64))
    if len(columns.missing):
        column_groups.append(graph.cast(graph.add("IsNaN", take(columns.missing)), np.float64))
    return graph.add("Concat", *column_groups, axis=1)


def _add_probabilities(graph: Graph, f: str, n_columns: int, link: str) -> str:
    """Append `probabilities`."""
    if link == "linear":
        return _add_linear(graph, f, n_columns)
    if link == "exponential":
        log_odds = graph.add("Mul", f, graph.constant(2.0))
    else:
        above = graph.add("Sub", f, graph.constant(1.0))
        below = graph.add("Sub", graph.constant(-1.0), f)
        log_odds = graph.add("Sub", _add_softplus(graph, above), _add_softplus(graph, below))
    # With more classes: log-probabilities of each class against the rest.
    if n_columns > 1:
        log_odds = graph.add("Neg", _add_softplus(graph, graph.add("Neg", log_odds)))
    return add_softmax(graph, log_odds, n_columns)


def _add_softplus(graph: Graph, x: str) -> str:
    """Append ln(1 + e^x): onnxruntime has this operator only in single precision."""
    small = graph.add("Exp", graph.add("Neg", graph.add("Abs", x)))
    logarithm = graph.add("Log", graph.add("Add", small, graph.constant(1.0)))
    return graph.add("Add", graph.add("Max", x, graph.constant(0.0)), logarithm)


def _add_linear(graph: Graph, f: str, n_columns: int) -> str:
    """Append `linear_probabilities`."""
    if n_columns == 1:
        f = graph.add("Concat", graph.add("Neg", f), f, axis=1)
    shares = graph.add("Mul", graph.add("Add", f, graph.constant(1.0)), graph.constant(0.5))
    if n_columns == 1:
        shares = graph.add("Min", shares, graph.constant(1.0))
    else:
        shares = graph.add("Sub", shares, _add_surplus(graph, shares))
    return graph.add("Max", shares, graph.constant(0.0))


def _add_surplus(graph: Graph, shares: str) -> str:
    """Append the amount that `project_to_simplex` subtracts from each entry, without sorting.

    A set of the largest entries has the surplus (sum - 1) / size; the amount is the maximum of the
    surplus over these sets, each of which has the entries that are at least as large as one entry.
    """
    axis_1 = graph.constant([1], np.int64)
    axis_2 = graph.constant([2], np.int64)
    row_shares = graph.add("Unsqueeze", shares, axis_1)
    is_larger = graph.add("GreaterOrEqual", row_shares, graph.add("Unsqueeze", shares, axis_2))
    is_larger = graph.cast(is_larger, np.float64)
    total = graph.add("ReduceSum", graph.add("Mul", is_larger, row_shares), axis_2, keepdims=0)
    total = graph.add("Sub", total, graph.constant(1.0))
    surplus = graph.add("Div", total, graph.add("ReduceSum", is_larger, axis_2, keepdims=0))
    return graph.add("ReduceMax", surplus, axis_1, keepdims=1)
