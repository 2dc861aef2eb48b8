"""Members of a cascade that are not forests of mddf as operators."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import is_regressor
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.linear_model import LinearRegression, LogisticRegression, LogisticRegressionCV, Ridge
from sklearn.multioutput import MultiOutputRegressor

from mddf._base.messages import short
from mddf._members.kernel import (
    FARTHEST,
    GRAIN,
    INDICATOR,
    KernelClassifier,
    KernelRegressor,
    NormalScores,
)
from mddf._members.linear import Encoding, LinearClassifier, LinearRegressor
from mddf._members.network import Network, NetworkClassifier, NetworkRegressor
from mddf._members.one_per_output import OnePerOutput, SomeClassesClassifier

from ._boosting import add_scores, add_softmax
from ._graph import Graph
from ._steps import STEPS, add_steps, split_steps

# Members of these kinds may have seen one class alone.
_ONE_CLASS_ALLOWED = LinearClassifier | DummyClassifier
_SEE_CATEGORIES = (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    MultiOutputRegressor,
    DummyClassifier,
    DummyRegressor,
)


def add_external(
    graph: Graph, X: str, classifier: Any, n_classes: int, codes_of: Any = None
) -> str:
    """Append a logistic regression or boosting, with usual steps before it; others are refused.

    Parameters
    ----------
    graph : Graph
    X : str
        Value of shape (n_rows, n_columns), in double precision.
    classifier : fitted classifier
        That knows classes by their numbers, but not all of them perhaps.
    n_classes : int
    codes_of : dict or None, default=None
        Codes of categories, if it was fitted on a data frame that has some.

    Returns
    -------
    str
        Value of shape (n_rows, n_classes).
    """
    if isinstance(classifier, SomeClassesClassifier):
        some = add_external(graph, X, classifier.model, len(classifier.classes), codes_of)
        columns = graph.constant(np.eye(n_classes)[classifier.classes])
        return graph.add("MatMul", some, columns)
    _refuse_others(classifier, codes_of)
    steps, last = split_steps(classifier)
    X = add_steps(graph, X, steps)
    if isinstance(last, LogisticRegression | LogisticRegressionCV):
        probabilities = _add_logistic(graph, X, last)
    elif isinstance(last, HistGradientBoostingClassifier):
        scores = add_scores(graph, X, last, codes_of)
        probabilities = add_softmax(graph, scores, last.n_trees_per_iteration_)
    elif isinstance(last, LinearClassifier) and len(last.classes_) > 1:
        scores = _add_linear(graph, X, last)
        probabilities = add_softmax(graph, scores, len(last.intercept_))
    elif isinstance(last, KernelClassifier):
        values = _add_kernel(graph, X, last)
        scaled = graph.add("Mul", values, graph.constant(last.scale_))
        probabilities = graph.add("Softmax", scaled, axis=1)
    elif isinstance(last, NetworkClassifier):
        probabilities = _add_mean(
            graph, graph.add("Softmax", _add_networks(graph, X, last), axis=2)
        )
    elif isinstance(last, _ONE_CLASS_ALLOWED) and len(last.classes_) == 1:
        probabilities = graph.repeat(np.ones(1), X)
    else:
        raise _refusal(classifier)
    classes = last.classes_
    if len(classes) == n_classes:
        return probabilities
    return graph.add("MatMul", probabilities, graph.constant(np.eye(n_classes)[classes]))


def add_external_regressor(graph: Graph, X: str, regressor: Any, codes_of: Any = None) -> str:
    """Append a linear model, boosting or a smooth one, as `add_external` does of classifiers.

    Returns
    -------
    str
        Value of shape (n_rows, n_outputs).
    """
    if isinstance(regressor, OnePerOutput):
        outputs = [add_external_regressor(graph, X, model, codes_of) for model in regressor.models]
        return graph.add("Concat", *outputs, axis=1)
    _refuse_others(regressor, codes_of)
    steps, last = split_steps(regressor)
    X = add_steps(graph, X, steps)
    if isinstance(last, Ridge | LinearRegression):
        coefficients = graph.constant(np.atleast_2d(last.coef_).T)
        product = graph.add("MatMul", X, coefficients)
        return graph.add("Add", product, graph.constant(np.atleast_1d(last.intercept_)))
    if isinstance(last, MultiOutputRegressor):
        outputs = [add_external_regressor(graph, X, model, codes_of) for model in last.estimators_]
        return graph.add("Concat", *outputs, axis=1)
    if isinstance(last, HistGradientBoostingRegressor):  # its losses that need logs need y > 0
        return add_scores(graph, X, last, codes_of)
    if isinstance(last, KernelRegressor):
        return _add_kernel(graph, X, last)
    if isinstance(last, NetworkRegressor):
        values = graph.add("Mul", _add_networks(graph, X, last), graph.constant(last.scale_))
        values = graph.add("Add", values, graph.constant(last.mean_))
        values = graph.add("Max", values, graph.constant(last.least_))
        return _add_mean(graph, graph.add("Min", values, graph.constant(last.most_)))
    if isinstance(last, LinearRegressor):
        return _add_linear(graph, X, last)
    if isinstance(last, DummyRegressor):
        return graph.repeat(last.constant_, X)
    raise _refusal(regressor)


def _refuse_others(model: Any, codes_of: Any) -> None:
    """Refuse what was fitted on categories as they are, but for trees that know sets of them."""
    if codes_of and not isinstance(model, _SEE_CATEGORIES):
        raise TypeError(
            "to_onnx takes members of other packages that were fitted on numbers, or histogram "
            f"gradient boosting; got a data frame with categories and {short(model)}"
        )


def _add_logistic(graph: Graph, X: str, model: Any) -> str:
    scores = graph.add("MatMul", X, graph.constant(model.coef_.T))
    scores = graph.add("Add", scores, graph.constant(model.intercept_))
    return add_softmax(graph, scores, len(model.intercept_))


def _add_linear(graph: Graph, X: str, model: LinearClassifier | LinearRegressor) -> str:
    encoded = _add_encoding(graph, X, model.encoding_)
    coefficients = np.vstack([model.numbers_, model.categories_[:-1]])
    product = graph.add("MatMul", encoded, graph.constant(coefficients))
    return graph.add("Add", product, graph.constant(model.intercept_[None]))


def _add_kernel(graph: Graph, X: str, model: KernelClassifier | KernelRegressor) -> str:
    laplace = isinstance(model.encoding_, NormalScores)
    encoded = _add_encoding(graph, X, model.encoding_)
    if laplace:
        distances = _add_city_blocks(graph, encoded, model.landmarks_)
    else:
        for operation, value in (("Min", FARTHEST), ("Max", -FARTHEST), ("Div", GRAIN)):
            encoded = graph.add(operation, encoded, graph.constant(value))
        encoded = graph.add("Mul", graph.add("Round", encoded), graph.constant(GRAIN))
        distances = _add_squares(graph, encoded, model.landmarks_)
    similar = graph.add("Exp", graph.add("Mul", distances, graph.constant(-model.rate_)))
    values = graph.add("MatMul", similar, graph.constant(model.bumps_))
    return graph.add("Add", values, graph.constant(model.intercept_[None]))


def _add_networks(graph: Graph, X: str, model: Network) -> str:
    """What each network makes of the rows, shape (n_networks, n_rows, n_outputs)."""
    if len(model.columns_) < model.n_features_in_:
        X = graph.add("Gather", X, graph.constant(model.columns_, np.int64), axis=1)
    values = _add_encoding(graph, X, model.encoding_, indicator=1.0)
    if len(model.missing_):
        columns = graph.add("Gather", X, graph.constant(model.missing_, np.int64), axis=1)
        missing = graph.cast(graph.add("IsNaN", columns), np.float64)
        values = graph.add("Concat", values, missing, axis=1)
    last = len(model.weights_) - 1
    for number, (weights, biases) in enumerate(zip(model.weights_, model.biases_, strict=True)):
        values = graph.add("MatMul", values, graph.constant(weights))
        values = graph.add("Add", values, graph.constant(biases[:, None]))
        if number < last:
            negative = graph.add("Min", values, graph.constant(0.0))
            below = graph.add("Sub", graph.constant(1.0), negative)
            positive = graph.add("Max", values, graph.constant(0.0))
            values = graph.add("Add", positive, graph.add("Div", negative, below))
    return values


def _add_mean(graph: Graph, values: str) -> str:
    """Of the networks, which come first."""
    return graph.add("ReduceMean", values, graph.constant([0], np.int64), keepdims=0)


def _add_city_blocks(graph: Graph, encoded: str, landmarks: np.ndarray) -> str:
    """Sums of absolute differences of rows and landmarks, shape (n_rows, n_landmarks)."""
    rows = graph.add("Unsqueeze", encoded, graph.constant([1], np.int64))
    apart = graph.add("Abs", graph.add("Sub", rows, graph.constant(landmarks[None])))
    return graph.add("ReduceSum", apart, graph.constant([2], np.int64), keepdims=0)


def _add_squares(graph: Graph, encoded: str, landmarks: np.ndarray) -> str:
    """Squared distances of rows and landmarks, shape (n_rows, n_landmarks)."""
    ones = graph.constant(np.ones((landmarks.shape[1], 1)))
    squares = graph.add("MatMul", graph.add("Mul", encoded, encoded), ones)
    product = graph.add("MatMul", encoded, graph.constant(-2 * landmarks.T))
    constant = graph.constant(np.square(landmarks).sum(axis=1)[None])
    return graph.add("Add", graph.add("Add", product, squares), constant)


def _add_encoding(
    graph: Graph, X: str, encoding: Encoding | NormalScores, indicator: float = INDICATOR
) -> str:
    """Scaled numbers or their scores, and a column for each category, of 0 and `indicator`."""
    scores = encoding if isinstance(encoding, NormalScores) else None
    encoding = encoding.encoding if isinstance(encoding, NormalScores) else encoding
    categorical, parts = encoding.categorical, []
    if scores is not None:
        places = np.flatnonzero(~categorical).tolist()
        for place, *knots in zip(places, scores.values, scores.scores, strict=True):
            number = graph.add("Gather", X, graph.constant([place], np.int64), axis=1)
            parts.append(_add_interpolation(graph, number, *knots))
    elif not categorical.all():
        numbers = graph.add("Gather", X, _columns_of(graph, ~categorical), axis=1)
        means = graph.constant(encoding.means)
        numbers = graph.add("Where", graph.add("IsNaN", numbers), means, numbers)
        centred = graph.add("Sub", numbers, means)
        parts.append(graph.add("Div", centred, graph.constant(encoding.scales)))
    if categorical.any():
        categories = graph.add("Gather", X, _columns_of(graph, categorical), axis=1)
        categories = graph.add(
            "Where", graph.add("IsNaN", categories), graph.constant(-1.0), categories
        )
        column, code = np.nonzero(encoding.places >= 0)  # in the order of their places
        categories = graph.add("Gather", categories, graph.constant(column, np.int64), axis=1)
        equal = graph.add("Equal", categories, graph.constant(code[None] - 1.0))
        indicators = graph.cast(equal, np.float64)
        if scores is not None and indicator != 1:
            indicators = graph.add("Mul", indicators, graph.constant(indicator))
        parts.append(indicators)
    return graph.add("Concat", *parts, axis=1)


def _add_interpolation(graph: Graph, column: str, knots: np.ndarray, scores: np.ndarray) -> str:
    """A piecewise linear function of a column of shape (n_rows, 1); 0 where that is missing."""
    steps = np.diff(scores)[:, None]
    value = graph.add("Where", graph.add("IsNaN", column), graph.constant(knots[0]), column)
    if len(steps):
        shares = graph.add("Sub", value, graph.constant(knots[None, :-1]))
        shares = graph.add("Div", shares, graph.constant(np.diff(knots)[None]))
        shares = graph.add("Min", shares, graph.constant(1.0))
        shares = graph.add("Max", shares, graph.constant(0.0))
        found = graph.add("MatMul", shares, graph.constant(steps))
        found = graph.add("Add", found, graph.constant(scores[0]))
    else:
        found = graph.add("Mul", graph.constant(0.0), value)
    return graph.add("Where", graph.add("IsNaN", column), graph.constant(0.0), found)


def _columns_of(graph: Graph, mask: np.ndarray) -> str:
    return graph.constant(np.flatnonzero(mask), np.int64)


def _refusal(model: Any) -> TypeError:
    kinds, last = "classifiers", "a LogisticRegression and a HistGradientBoostingClassifier, alone"
    if is_regressor(model):
        kinds = "regressors"
        last = (
            "a Ridge, a LinearRegression and a HistGradientBoostingRegressor, alone, in a "
            "MultiOutputRegressor,"
        )
    return TypeError(
        f"of {kinds} that are not forests of mddf, to_onnx takes {last} or after {STEPS}; "
        f"got {short(model)}"
    )
