"""Linear members of a cascade as operators."""

from __future__ import annotations

import numpy as np
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, LogisticRegressionCV
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

from ._graph import Graph


def add_guest(graph: Graph, X: str, classifier, n_classes: int) -> str:
    """Append a logistic regression, imputed and scaled or not; others are refused.

    Parameters
    ----------
    graph : Graph
    X : str
        Value of shape (n_rows, n_columns), in double precision.
    classifier : fitted classifier
        That knows classes by their numbers, but not all of them perhaps.
    n_classes : int

    Returns
    -------
    str
        Value of shape (n_rows, n_classes).
    """
    steps = [step for _, step in classifier.steps] if isinstance(classifier, Pipeline) else []
    *transformers, last = steps or [classifier]
    if not isinstance(last, LogisticRegression | LogisticRegressionCV):
        raise _refusal(classifier)
    for transformer in transformers:
        X = _add_transformer(graph, X, transformer, classifier)
    classes = last.classes_
    scores = graph.add("MatMul", X, graph.constant(last.coef_.T))
    scores = graph.add("Add", scores, graph.constant(last.intercept_))
    if len(classes) == 2:
        second = graph.add("Sigmoid", scores)
        first = graph.add("Sub", graph.constant(1.0), second)
        probabilities = graph.add("Concat", first, second, axis=1)
    else:
        probabilities = graph.add("Softmax", scores, axis=1)
    if len(classes) == n_classes:
        return probabilities
    return graph.add("MatMul", probabilities, graph.constant(np.eye(n_classes)[classes]))


def _add_transformer(graph: Graph, X: str, transformer, classifier) -> str:
    if transformer is None or transformer == "passthrough":
        return X
    if isinstance(transformer, StandardScaler):
        if transformer.with_mean:
            X = graph.add("Sub", X, graph.constant(transformer.mean_))
        return (
            graph.add("Div", X, graph.constant(transformer.scale_)) if transformer.with_std else X
        )
    if isinstance(transformer, SimpleImputer):
        values = np.asarray(transformer.statistics_)
        plain = transformer.indicator_ is None and np.isnan(transformer.missing_values)
        if plain and values.dtype.kind == "f" and not np.isnan(values).any():
            return graph.add("Where", graph.add("IsNaN", X), graph.constant(values), X)
    raise _refusal(classifier)


def _refusal(classifier) -> TypeError:
    return TypeError(
        "of classifiers that are not forests of mddf, to_onnx takes a LogisticRegression, alone "
        "or in a pipeline after a SimpleImputer of NaN without an indicator and a "
        f"StandardScaler; got {classifier!r}"
    )
