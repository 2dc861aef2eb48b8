"""Checks of users' estimators before a layer trains them, and their errors."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from inspect import Parameter, signature

from sklearn.base import BaseEstimator
from sklearn.model_selection._search import BaseSearchCV
from sklearn.pipeline import Pipeline
from sklearn.utils import get_tags

from mddf._base.messages import short
from mddf._base.types import TableLike

# The method by which a layer gets a fitted estimator's predictions.
METHODS = {"classifier": "predict_proba", "regressor": "predict"}
# Words in errors of scikit-learn and others about text or categories in place of numbers, and
# about missing values.
_WORDS_OF_CATEGORIES = ("convert", "string", "categor", "dtype", "cast", "object", "missing")
_WORDS_OF_MISSING_VALUES = ("nan", "missing value")


def check_external(parameter: str, model: BaseEstimator, kind: str) -> None:
    """Refuse an object that cannot be a member, before any work is done.

    `parameter` holds it, and `kind` is "classifier" or "regressor".
    """
    method = METHODS[kind]
    expected = f"{parameter} must hold names or {kind}s with fit and {method}, got"
    if isinstance(model, type):
        raise ValueError(f"{expected} the class {model.__name__}: put parentheses after it")
    if not hasattr(model, "fit"):
        raise ValueError(f"{expected} {short(model)}")
    name = type(model).__name__
    has_tags = hasattr(model, "__sklearn_tags__")
    actual_kind = (get_tags(model).estimator_type if has_tags else None) or "estimator"
    if actual_kind != kind:
        raise ValueError(f"{expected} the {actual_kind} {name}")
    # A method that depends on parameters, as of SVC, may also appear in fit, as of a stack: then
    # only the prediction of the first fold shows whether it exists.
    if not hasattr(type(model), method):
        raise ValueError(f"{expected} {name} without {method}")


def weight_parameter(model: BaseEstimator) -> str | None:
    """Parameter of fit that passes sample weights, also to estimators inside; None without one.

    scikit-learn's metadata routing is off where members are fitted. Ensembles pass keywords on,
    and raise an error if an estimator inside takes no weights.
    """
    if isinstance(model, Pipeline):
        step, last = model.steps[-1]
        name = weight_parameter(last)
        return name and f"{step}__{name}"
    if isinstance(model, BaseSearchCV):
        return weight_parameter(model.estimator)
    parameters = signature(model.fit).parameters
    passes_keywords = any(p.kind is Parameter.VAR_KEYWORD for p in parameters.values())
    return "sample_weight" if passes_keywords or "sample_weight" in parameters else None


def check_takes_weights(parameter: str, name: str, model: BaseEstimator) -> None:
    """Refuse a member to which sample weights cannot be passed."""
    if weight_parameter(model) is None:
        raise ValueError(
            f"{parameter} must hold models whose fit takes sample_weight, as samples or classes "
            f"have weights, got {name!r}"
        )


@contextmanager
def blaming(name: str, failure: str, X: TableLike = None) -> Iterator[None]:
    """Make errors name the member and its failure, such as "be fitted".

    With the input X of the failing model, the message includes a remedy if there is one.
    """
    try:
        yield
    except (Warning, MemoryError):
        raise
    except Exception as error:
        kind = next((k for k in (ValueError, TypeError) if isinstance(error, k)), RuntimeError)
        first_line, *lines = (str(error) or type(error).__name__).split("\n")
        message = f"the member {name!r} cannot {failure}: {first_line}{_remedy(str(error), X)}"
        raise kind("\n".join([message, *lines])) from error


def _remedy(message: str, X: TableLike) -> str:
    """Advice about categories or missing values if an error seems to be about them."""
    words = message.lower()
    has_categories = any(str(dtype) == "category" for dtype in getattr(X, "dtypes", ()))
    if has_categories and any(word in words for word in _WORDS_OF_CATEGORIES):
        return (
            " (it gets categories as they are: set its parameters for categories, or encode and "
            "impute by mddf.with_encoder)"
        )
    if any(word in words for word in _WORDS_OF_MISSING_VALUES):
        return " (missing values are NaN: put SimpleImputer() before it in a pipeline)"
    return ""
