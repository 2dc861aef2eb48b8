"""Members of layers that are not trees of mddf, as operators.

scikit-learn's models are written here rather than by skl2onnx, as a graph computes in doubles.
skl2onnx 1.20 with onnx 1.23 fails to convert histogram gradient boosting. It converts a
SimpleImputer to an operator that onnxruntime has in single precision alone, and refuses one-hot
categories that are not integers. Probabilities of a LinearDiscriminantAnalysis come out wrong by
0.15, without a warning.
"""

from __future__ import annotations

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, is_regressor
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.linear_model import LinearRegression, LogisticRegression, LogisticRegressionCV, Ridge

from mddf._base.messages import short
from mddf._members.external_member import OnePerOutput, SomeClassesClassifier
from mddf._members.kernel import KernelClassifier, KernelRegressor
from mddf._members.kernel_logistic import KernelLogisticClassifier
from mddf._members.linear import LinearClassifier, LinearRegressor
from mddf._members.network import NetworkClassifier, NetworkRegressor

from ._boosting import add_softmax
from ._graph import Graph
from ._hist_gradient import CategoryCodes, add_hist_gradient_boosting
from ._named_members import (
    add_kernel,
    add_linear,
    add_network_probabilities,
    add_network_regression,
)
from ._steps import SUPPORTED_STEPS, add_steps, split_steps

# Models that read data frames with categories as they are, or ignore the features.
_TAKE_CATEGORIES = (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    DummyClassifier,
    DummyRegressor,
)
# Classifiers that give the only class probability 1 if they were trained on one.
_CLASSIFIERS_OF_ONE_CLASS = (LinearClassifier, KernelLogisticClassifier, DummyClassifier)


def add_external_classifier(
    graph: Graph,
    X: str,
    classifier: ClassifierMixin,
    *,
    n_classes: int,
    category_codes: CategoryCodes | None = None,
) -> str:
    """Append the class probabilities of a fitted classifier, shape (n_rows, n_classes).

    The classes of the classifier, which may be a pipeline, are numbers below `n_classes`. Classes
    that were absent in its training rows get probability 0. `category_codes` has the codes of the
    categories in `X` if the classifier was fitted on a data frame with categories.
    """
    if isinstance(classifier, SomeClassesClassifier):
        known_classes = add_external_classifier(
            graph,
            X,
            classifier.model,
            n_classes=len(classifier.classes),
            category_codes=category_codes,
        )
        return graph.add("MatMul", known_classes, np.eye(n_classes)[classifier.classes])
    _check_categories(classifier, category_codes)
    steps, model = split_steps(classifier)
    X = add_steps(graph, X, steps)
    if isinstance(model, LogisticRegression | LogisticRegressionCV):
        scores = graph.add("Add", graph.add("MatMul", X, model.coef_.T), model.intercept_)
        probabilities = add_softmax(graph, scores, len(model.intercept_))
    elif isinstance(model, HistGradientBoostingClassifier):
        scores = add_hist_gradient_boosting(graph, X, model, category_codes)
        probabilities = add_softmax(graph, scores, model.n_trees_per_iteration_)
    elif isinstance(model, LinearClassifier) and len(model.classes_) > 1:
        probabilities = add_softmax(graph, add_linear(graph, X, model), len(model.intercept_))
    elif isinstance(model, KernelLogisticClassifier) and len(model.classes_) > 1:
        scores = add_kernel(graph, X, model)
        probabilities = add_softmax(graph, scores, len(model.intercept_))
    elif isinstance(model, KernelClassifier):
        scores = graph.add("Mul", add_kernel(graph, X, model), model.scale_)
        probabilities = graph.add("Softmax", scores, axis=1)
    elif isinstance(model, NetworkClassifier):
        probabilities = add_network_probabilities(graph, X, model)
    elif isinstance(model, _CLASSIFIERS_OF_ONE_CLASS) and len(model.classes_) == 1:
        probabilities = graph.repeat(np.ones(1), X)
    else:
        raise _refusal(classifier)
    if len(model.classes_) == n_classes:
        return probabilities
    return graph.add("MatMul", probabilities, np.eye(n_classes)[model.classes_])


def add_external_regressor(
    graph: Graph,
    X: str,
    regressor: RegressorMixin,
    *,
    category_codes: CategoryCodes | None = None,
) -> str:
    """Append the predictions of a fitted regressor or pipeline, shape (n_rows, n_outputs)."""
    if isinstance(regressor, OnePerOutput):
        return graph.concat(
            [
                add_external_regressor(graph, X, model, category_codes=category_codes)
                for model in regressor.models
            ]
        )
    _check_categories(regressor, category_codes)
    steps, model = split_steps(regressor)
    X = add_steps(graph, X, steps)
    if isinstance(model, Ridge | LinearRegression):
        product = graph.add("MatMul", X, np.atleast_2d(model.coef_).T)
        return graph.add("Add", product, np.atleast_1d(model.intercept_))
    if isinstance(model, HistGradientBoostingRegressor):
        # Raw predictions are predictions: members are fitted to standardised targets, which
        # "poisson" and "gamma", the losses with a logarithmic link, refuse as they are negative.
        return add_hist_gradient_boosting(graph, X, model, category_codes)
    if isinstance(model, KernelRegressor):
        return add_kernel(graph, X, model)
    if isinstance(model, NetworkRegressor):
        return add_network_regression(graph, X, model)
    if isinstance(model, LinearRegressor):
        return add_linear(graph, X, model)
    if isinstance(model, DummyRegressor):
        return graph.repeat(model.constant_, X)
    raise _refusal(regressor)


def _check_categories(model: BaseEstimator, category_codes: CategoryCodes | None) -> None:
    if category_codes and not isinstance(model, _TAKE_CATEGORIES):
        raise TypeError(
            "to_onnx takes members of other packages that were fitted on numbers, or histogram "
            f"gradient boosting; got a data frame with categories and {short(model)}"
        )


def _refusal(model: BaseEstimator) -> TypeError:
    if is_regressor(model):
        kind = "regressors"
        supported = "a Ridge, a LinearRegression and a HistGradientBoostingRegressor, alone"
    else:
        kind = "classifiers"
        supported = "a LogisticRegression and a HistGradientBoostingClassifier, alone"
    return TypeError(
        f"among {kind} that are not forests of mddf, to_onnx takes {supported} or after "
        f"{SUPPORTED_STEPS}; got {short(model)}"
    )
