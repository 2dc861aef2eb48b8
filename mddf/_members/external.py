"""Checks of estimators of other packages before a layer trains them, and their errors."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from copy import deepcopy
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, clone
from sklearn.compose import TransformedTargetRegressor
from sklearn.ensemble._base import _BaseHeterogeneousEnsemble
from sklearn.model_selection._search import BaseSearchCV
from sklearn.pipeline import Pipeline
from sklearn.utils import get_tags
from sklearn.utils.validation import has_fit_parameter

from mddf._base.messages import short
from mddf._base.types import TableLike
from mddf._members.booster_conventions import apply_conventions, learns_categories, package_of

# The method by which a layer gets a fitted estimator's predictions.
METHODS = {"classifier": "predict_proba", "regressor": "predict"}
# Enough rows for the inner cross-validation of stacks and searches.
_PROBE_ROWS = 40
# Words in errors of scikit-learn and others about text or categories in place of numbers, and
# about missing values.
_WORDS_OF_CATEGORIES = (
    "convert",
    "string",
    "categor",
    "dtype",
    "cast",
    "object",
    "nan",
    "missing",
)
_WORDS_OF_MISSING_VALUES = ("nan", "missing value")
# Words in the error of scikit-learn's `make_column_selector` about an array.
_WORDS_OF_FRAMES = "pandas dataframe"


def kind_of(model: BaseEstimator) -> str:
    """Type of an estimator by its tags: "classifier", "regressor" or another.

    An estimator without tags is a classifier if it has `predict_proba`.
    """
    if isinstance(model, ClassifierMixin):
        return "classifier"
    if isinstance(model, RegressorMixin):
        return "regressor"
    try:
        kind = get_tags(model).estimator_type
    except (AttributeError, TypeError, ValueError):
        kind = getattr(model, "_estimator_type", None)
    if kind is None and _defines(model, "predict_proba"):
        return "classifier"
    if kind is None and _defines(model, "predict"):
        return "regressor"
    return kind or "estimator"


def _defines(model: BaseEstimator, method: str) -> bool:
    """Whether the model has a method, or may have it when it is fitted."""
    return hasattr(model, method) or hasattr(type(model), method)


def check_external(parameter: str, model: BaseEstimator, kind: str, n_features: int) -> None:
    """Refuse an object that cannot be a member, before any work is done.

    `parameter` holds it, `kind` is "classifier" or "regressor", and its input has `n_features`.
    """
    method = METHODS[kind]
    expected = f"{parameter} must hold names or {kind}s with fit and {method}, got"
    if isinstance(model, type):
        raise ValueError(f"{expected} the class {model.__name__}: put parentheses after it")
    if not hasattr(model, "fit"):
        raise ValueError(f"{expected} {short(model)}")
    name = type(model).__name__
    actual_kind = kind_of(model)
    if actual_kind != kind:
        raise ValueError(f"{expected} the {actual_kind} {name}")
    if not (hasattr(model, method) or _appears_with_fit(model, method, n_features)):
        reason = _why_missing(model, method)
        raise ValueError(f"{expected} {name} without {method}{reason and f': {reason}'}")


def _appears_with_fit(model: BaseEstimator, method: str, n_features: int) -> bool:
    """Whether a method appears when the model is fitted, tried on a few random rows.

    A stack, for instance, has the methods of its final estimator, which fit makes. A failing trial
    counts as yes: the layer's fit will then raise the error.
    """
    if not hasattr(type(model), method):
        return False
    X = np.random.RandomState(0).normal(size=(_PROBE_ROWS, n_features))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            probe = unfitted(model)
            apply_conventions(probe, range(n_features), categorical=())
            return hasattr(probe.fit(X, np.arange(_PROBE_ROWS) % 2), method)
        except Exception:
            return True


def _why_missing(model: BaseEstimator, method: str) -> str:
    """Message of the model's error about a missing method."""
    try:
        getattr(model, method)
    except AttributeError as error:
        return str(error.__cause__ or error)
    return ""


def unfitted(model: BaseEstimator) -> Any:
    """Clone an estimator, or copy it if scikit-learn refuses to clone it.

    CatBoost 1.2.10 copies parameters that are lists, such as `cat_features`, which is refused.
    """
    try:
        return clone(model)
    except RuntimeError:
        if package_of(model) is None:
            return deepcopy(model)
        return type(model)(**deepcopy(model.get_params()))


def weight_parameter(model: BaseEstimator) -> str | None:
    """Parameter of fit that passes sample weights to every estimator inside; None if none does.

    scikit-learn's metadata routing is off where members are fitted.
    """
    parameter, _ = _weight_route(model)
    return parameter


def check_takes_weights(parameter: str, name: str, model: BaseEstimator) -> None:
    """Refuse a member to which sample weights cannot be passed."""
    weight_name, refusing = _weight_route(model)
    if weight_name is None:
        inside = "" if refusing is model else f" that passes none to its {type(refusing).__name__}"
        raise ValueError(
            f"{parameter} must hold models whose fit takes sample_weight, as samples or classes "
            f"have weights, got {name!r}{inside}"
        )


def _weight_route(model: BaseEstimator) -> tuple[str | None, BaseEstimator | None]:
    """Name of the parameter, or None and the estimator inside that takes no weights."""
    if isinstance(model, Pipeline):
        step, last = model.steps[-1]
        name, refusing = _weight_route(last)
        return name and f"{step}__{name}", refusing
    if isinstance(model, BaseSearchCV):
        return _weight_route(model.estimator)
    if isinstance(model, TransformedTargetRegressor) and model.regressor is not None:
        return _weight_route(model.regressor)
    for inner in _weighted_estimators(model):
        if _weight_route(inner)[0] != "sample_weight":
            return None, inner
    passes_on = isinstance(model, _BaseHeterogeneousEnsemble | TransformedTargetRegressor)
    if passes_on or has_fit_parameter(model, "sample_weight"):
        return "sample_weight", None
    return None, model


def _weighted_estimators(model: BaseEstimator) -> list[BaseEstimator]:
    """Estimators inside to which weights are passed as `sample_weight`."""
    from sklearn.calibration import CalibratedClassifierCV

    if isinstance(model, _BaseHeterogeneousEnsemble):
        inner = [estimator for _, estimator in model.estimators]
        inner.append(getattr(model, "final_estimator", None))
    elif isinstance(model, CalibratedClassifierCV):
        inner = [model.estimator]
    else:
        inner = []
    return [estimator for estimator in inner if not (estimator is None or estimator == "drop")]


@contextmanager
def blaming(
    name: str, failure: str, *, model: BaseEstimator = None, X: TableLike = None
) -> Iterator[None]:
    """Make errors name the member and its failure, such as "be fitted".

    With the failing model and its input X, the message includes a remedy if there is one.
    """
    try:
        yield
    except (Warning, MemoryError):
        raise
    except Exception as error:
        kind = next((k for k in (ValueError, TypeError) if isinstance(error, k)), RuntimeError)
        first_line, *lines = (str(error) or type(error).__name__).split("\n")
        remedy = _remedy(str(error), model, X)
        message = f"the member {name!r} cannot {failure}: {first_line}{remedy}"
        raise kind("\n".join([message, *lines])) from error


def _remedy(message: str, model: BaseEstimator, X: TableLike) -> str:
    """Advice about categories or missing values if an error seems to be about them."""
    words = message.lower()
    has_categories = any(str(dtype) == "category" for dtype in getattr(X, "dtypes", ()))
    if has_categories and any(word in words for word in _WORDS_OF_CATEGORIES):
        last = model
        while isinstance(last, Pipeline):
            last = last.steps[-1][1]
        if last is not model and learns_categories(last):
            return (
                f" (pass {type(last).__name__} without a pipeline: by itself it gets categories "
                "and missing values as it takes them)"
            )
        call = f"mddf.with_encoder({type(last).__name__}(...))"
        return f" (it gets categories as they are: encode them and impute by {call})"
    if _WORDS_OF_FRAMES in words and not hasattr(X, "dtypes"):
        return " (it selects columns by their types: pass X as a data frame to fit and predict)"
    if any(word in words for word in _WORDS_OF_MISSING_VALUES):
        return " (missing values are NaN: put SimpleImputer() before it in a pipeline)"
    return ""
