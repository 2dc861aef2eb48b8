"""The members "linear", "kernel", "kernel-logistic" and "network" as operators."""

from __future__ import annotations

import numpy as np

from mddf._members.kernel import KernelClassifier, KernelRegressor
from mddf._members.kernel_logistic import KernelLogisticClassifier
from mddf._members.linear import FeatureEncoding, LinearClassifier, LinearRegressor
from mddf._members.network import Network, NetworkClassifier, NetworkRegressor
from mddf._members.scores import (
    FARTHEST,
    GRAIN,
    INDICATOR,
    NormalScores,
)

from ._graph import Graph


def add_linear(graph: Graph, X: str, model: LinearClassifier | LinearRegressor) -> str:
    """Append the scores or predictions of a linear model, shape (n_rows, n_outputs)."""
    encoded = graph.concat(
        _add_scaled_numbers(graph, X, model.encoding_) + _add_indicators(graph, X, model.encoding_)
    )
    coefficients = np.vstack([model.numbers_, model.categories_[:-1]])
    product = graph.add("MatMul", encoded, coefficients)
    return graph.add("Add", product, model.intercept_[None])


def add_kernel(
    graph: Graph,
    X: str,
    model: KernelClassifier | KernelRegressor | KernelLogisticClassifier,
) -> str:
    """Append the values of a kernel model, or its scores, shape (n_rows, n_outputs)."""
    if isinstance(model.encoding_, NormalScores):
        encoded = _add_scores(graph, X, model.encoding_, indicator=INDICATOR)
        distances = _add_city_block_distances(graph, encoded, model.landmarks_)
    else:
        numbers = _add_scaled_numbers(graph, X, model.encoding_)
        encoded = graph.concat(numbers + _add_indicators(graph, X, model.encoding_))
        distances = _add_squared_distances(graph, encoded, model.landmarks_)
    similarities = graph.add("Exp", graph.add("Mul", distances, -model.rate_))
    values = graph.add("MatMul", similarities, model.bumps_)
    return graph.add("Add", values, model.intercept_[None])


def add_network_probabilities(graph: Graph, X: str, model: NetworkClassifier) -> str:
    """Append the mean of the networks' class probabilities, shape (n_rows, n_classes)."""
    probabilities = graph.add("Softmax", _add_networks(graph, X, model), axis=2)
    return graph.reduce("ReduceMean", probabilities, 0)


def add_network_regression(graph: Graph, X: str, model: NetworkRegressor) -> str:
    """Append the mean of the networks' predictions, shape (n_rows, n_outputs)."""
    values = graph.add("Mul", _add_networks(graph, X, model), model.scale_)
    values = graph.add("Add", values, model.mean_)
    return graph.reduce("ReduceMean", graph.clip(values, model.least_, model.most_), 0)


def _add_networks(graph: Graph, X: str, model: Network) -> str:
    """Append the outputs of all networks, shape (n_networks, n_rows, n_outputs)."""
    if len(model.columns_) < model.n_features_in_:
        X = graph.columns(X, model.columns_)
    values = _add_scores(graph, X, model.encoding_, indicator=1.0)
    if len(model.missing_):
        is_missing = graph.add("IsNaN", graph.columns(X, model.missing_))
        values = graph.concat([values, graph.cast(is_missing, np.float64)])
    last = len(model.weights_) - 1
    for layer, (weights, biases) in enumerate(zip(model.weights_, model.biases_, strict=True)):
        values = graph.add("MatMul", values, weights)
        values = graph.add("Add", values, biases[:, None])
        if layer < last:
            values = _add_softsign_below_zero(graph, values)
    return values


def _add_softsign_below_zero(graph: Graph, values: str) -> str:
    """Append the networks' activation: x where x > 0, else x / (1 - x)."""
    negative = graph.add("Min", values, 0.0)
    bent = graph.add("Div", negative, graph.add("Sub", 1.0, negative))
    return graph.add("Add", graph.add("Max", values, 0.0), bent)


def _add_city_block_distances(graph: Graph, encoded: str, landmarks: np.ndarray) -> str:
    """Append the distances of rows and landmarks, shape (n_rows, n_landmarks)."""
    rows = graph.add("Unsqueeze", encoded, graph.constant([1], np.int64))
    differences = graph.add("Abs", graph.add("Sub", rows, landmarks[None]))
    return graph.reduce("ReduceSum", differences, 2)


def _add_squared_distances(graph: Graph, encoded: str, landmarks: np.ndarray) -> str:
    """Append the squared distances of rows and landmarks, shape (n_rows, n_landmarks).

    Encoded numbers are rounded to multiples of a power of two, so that the expanded square is
    exact.
    """
    encoded = graph.clip(encoded, -FARTHEST, FARTHEST)
    encoded = graph.add("Mul", graph.add("Round", graph.add("Div", encoded, GRAIN)), GRAIN)
    ones = np.ones((landmarks.shape[1], 1))
    squares = graph.add("MatMul", graph.add("Mul", encoded, encoded), ones)
    product = graph.add("MatMul", encoded, -2 * landmarks.T)
    landmark_squares = np.square(landmarks).sum(axis=1)[None]
    return graph.add("Add", graph.add("Add", product, squares), landmark_squares)


def _add_scaled_numbers(graph: Graph, X: str, encoding: FeatureEncoding) -> list[str]:
    """Append the standardised numeric columns, if there are any, 0 where missing."""
    if encoding.categorical.all():
        return []
    numbers = graph.columns(X, np.flatnonzero(~encoding.categorical))
    numbers = graph.add("Where", graph.add("IsNaN", numbers), encoding.means, numbers)
    return [graph.add("Div", graph.add("Sub", numbers, encoding.means), encoding.scales)]


def _add_scores(graph: Graph, X: str, scores: NormalScores, *, indicator: float) -> str:
    """Append scores of numeric columns, and indicators of the value `indicator`."""
    encoding = scores.encoding
    parts = _add_normal_scores(graph, X, scores)
    indicators = _add_indicators(graph, X, encoding)
    if indicator != 1:
        indicators = [graph.add("Mul", table, indicator) for table in indicators]
    return graph.concat(parts + indicators)


def _add_normal_scores(graph: Graph, X: str, scores: NormalScores) -> list[str]:
    """Append the normal scores of each numeric column."""
    columns = np.flatnonzero(~scores.encoding.categorical).tolist()
    return [
        _add_interpolation(graph, graph.columns(X, [column]), knots, column_scores)
        for column, knots, column_scores in zip(columns, scores.values, scores.scores, strict=True)
    ]


def _add_indicators(graph: Graph, X: str, encoding: FeatureEncoding) -> list[str]:
    """Append a column of 0 and 1 for each category, if there are columns of categories."""
    if not encoding.categorical.any():
        return []
    codes = graph.columns(X, np.flatnonzero(encoding.categorical))
    codes = graph.add("Where", graph.add("IsNaN", codes), -1.0, codes)
    # Row c of `places` has the column's codes from -1, which is missing, in its entries from 0.
    column, code = np.nonzero(encoding.places >= 0)
    equal = graph.add("Equal", graph.columns(codes, column), code[None] - 1.0)
    return [graph.cast(equal, np.float64)]


def _add_interpolation(graph: Graph, column: str, knots: np.ndarray, scores: np.ndarray) -> str:
    """Append a piecewise linear function of a column of shape (n_rows, 1); 0 where missing."""
    values = graph.add("Where", graph.add("IsNaN", column), knots[0], column)
    if len(knots) > 1:
        # The share of each step between two knots that lies below the value.
        shares = graph.add("Div", graph.add("Sub", values, knots[None, :-1]), np.diff(knots)[None])
        steps = np.diff(scores)[:, None]
        interpolated = graph.add("MatMul", graph.clip(shares, 0.0, 1.0), steps)
        interpolated = graph.add("Add", interpolated, scores[0])
    else:
        interpolated = graph.add("Mul", 0.0, values)
    return graph.add("Where", graph.add("IsNaN", column), 0.0, interpolated)
