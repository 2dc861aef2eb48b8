"""What every estimator checks of its parameters; failed fits leave no trace."""

from __future__ import annotations

import re
from collections.abc import Iterator, Set
from contextlib import contextmanager
from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.base import is_classifier
from sklearn.utils._param_validation import Interval, RealNotInt, StrOptions
from sklearn.utils.validation import _check_monotonic_cst, check_consistent_length

from mddf._base.messages import short

MOST = 2**31 - 1


def refuse_class(parameter: str, value: Any) -> None:
    """Refuse a class where a function is wanted: calling it would make an object of it."""
    if isinstance(value, type):
        raise ValueError(f"{parameter} must not be a class, got {short(value)}")


def is_boolean(value: Any) -> bool:
    """Whether a value is True or False, of Python or numpy."""
    return isinstance(value, bool | np.bool_)


class Within(Interval):
    """Numbers of an interval; all that is no number of Python's or numpy's is outside.

    Booleans are outside as well, although Python takes True for 1.
    """

    def __contains__(self, value: Any) -> bool:
        if is_boolean(value):
            return False
        if isinstance(value, float | np.floating):
            return super().__contains__(float(value))
        return isinstance(value, Integral) and super().__contains__(value)


def finite(least: float = 0, closed: str = "both") -> Within:
    """Real numbers from `least` that a float holds; `closed` "right" leaves `least` out."""
    return Within(Real, least, float(np.finfo(np.float64).max), closed=closed)


# How often something is done, and how many threads or processes may do it.
COUNT = Within(Integral, 1, MOST, closed="both")
JOBS = [COUNT, Within(Integral, -MOST, -1, closed="both"), None]


def max_features_among(*words: str) -> list[Any]:
    """What `max_features` allows, columns drawn for a split: a number, a share, a word or all."""
    return [
        Within(Integral, 1, None, closed="left"),
        Within(RealNotInt, 0, 1, closed="right"),
        StrOptions(set(words)),
        None,
    ]


def resolve_max_features(max_features: Any, n_features: int) -> int:
    """Number of candidate columns from the parameter of that name."""
    if max_features is None:
        return n_features
    if max_features == "sqrt":
        return int(np.sqrt(n_features))
    if max_features == "log2":
        return max(1, int(n_features).bit_length() - 1)
    if isinstance(max_features, Integral):
        return min(int(max_features), n_features)
    return max(1, int(max_features * n_features))


@contextmanager
def naming(parameter: str) -> Iterator[None]:
    """Have errors about the value of a parameter name it: where they do not, it is put first."""
    try:
        yield
    except (ValueError, TypeError, OverflowError) as error:
        if re.search(rf"\b{parameter}\b", str(error)):
            raise
        kind = TypeError if isinstance(error, TypeError) else ValueError
        raise kind(f"{parameter} cannot be used: {error}") from error


@contextmanager
def unchanged_on_failure(estimator: Any) -> Iterator[None]:
    """Give an estimator all its attributes back if what is done with it fails.

    Whatever the fit before had learnt, the numbers and names of features included, is there
    again: predictions are what they were. Attributes must be replaced, not changed in place.
    """
    before = dict(vars(estimator))
    try:
        yield
    except BaseException:
        vars(estimator).clear()
        vars(estimator).update(before)
        raise


def refuse_booleans(parameter: str, value: Any) -> None:
    """Refuse True and False as numbers within a parameter: a list, a dict, or lists of lists."""
    if isinstance(value, np.ndarray):
        value = value.ravel().tolist()
    entries = list(value.values()) if isinstance(value, dict) else value
    if not isinstance(entries, list | tuple | Set):
        return
    for entry in entries:
        refuse_booleans(parameter, entry)
    if any(map(is_boolean, entries)):
        raise ValueError(f"{parameter} must hold numbers, not booleans, got {short(value)}")


def is_list(value: Any) -> bool:
    """Whether a parameter has a length and an order: no number, word, set or 0-d array."""
    try:
        return not isinstance(value, str | bytes | Set) and len(value) >= 0
    except TypeError:
        return False


def check_lengths(X: Any, **given: Any) -> None:
    """Refuse by its name what does not have one entry for each row of X; None is fine."""
    for name, values in given.items():
        with naming(name):
            check_consistent_length(X, values)


def monotonic_signs(estimator: Any, categorical: np.ndarray, n_scores: int) -> np.ndarray | None:
    """Signs of the features from `monotonic_cst`, None if all are 0.

    Parameters
    ----------
    estimator : object
        That knows its features.
    categorical : ndarray of bool of shape (n_features,)
    n_scores : int
        What is predicted: constraints are for one.
    """
    given = estimator.monotonic_cst
    refuse_booleans("monotonic_cst", given)
    if not (given is None or isinstance(given, dict) or is_list(given)):
        raise ValueError(f"monotonic_cst must have a sign for each feature, got {short(given)}")
    with naming("monotonic_cst"):
        signs = _check_monotonic_cst(estimator, given).astype(np.int8)
    if not signs.any():
        return None
    if np.any(signs[categorical]):
        raise ValueError("monotonic_cst must be 0 for categories, got a constraint on one")
    if n_scores > 1:
        kind = "classes or outputs" if is_classifier(estimator) else "outputs"
        raise ValueError(
            "monotonic_cst is for one score, that of the second class of two, or one output, got "
            f"constraints and {n_scores} {kind}"
        )
    return signs
