"""Checks of parameters that all estimators share, and undoing failed fits."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from contextlib import contextmanager
from copy import deepcopy
from numbers import Integral, Real
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
from sklearn.base import _fit_context, is_classifier
from sklearn.utils._param_validation import Interval, RealNotInt, StrOptions
from sklearn.utils.validation import _check_monotonic_cst, check_consistent_length

from mddf._base.messages import short

FitMethod = TypeVar("FitMethod", bound=Callable[..., Any])

# The kernel counts in 32 bits.
MOST = 2**31 - 1


def fit_context(*, prefer_skip_nested_validation: bool) -> Callable[[FitMethod], FitMethod]:
    """scikit-learn's decorator of `fit`, which type checkers do not know."""
    decorator: Callable[[FitMethod], FitMethod] = _fit_context(
        prefer_skip_nested_validation=prefer_skip_nested_validation
    )
    return decorator


def refuse_class(parameter: str, value: object) -> None:
    """Refuse a class in place of a function: a call would only make an instance."""
    if isinstance(value, type):
        raise ValueError(f"{parameter} must not be a class, got {short(value)}")


def is_boolean(value: object) -> bool:
    return isinstance(value, bool | np.bool_)


class Within(Interval):
    """Interval that contains only numbers of Python and NumPy, and no booleans."""

    def __contains__(self, value: object) -> bool:
        if is_boolean(value):
            return False
        if isinstance(value, float | np.floating):
            return super().__contains__(float(value))
        return isinstance(value, Integral) and super().__contains__(value)


def finite(least: float = 0, closed: str = "both") -> Within:
    """Interval of the finite floats from `least` on; ``closed="right"`` excludes `least`."""
    return Within(Real, least, float(np.finfo(np.float64).max), closed=closed)


# Constraints of counts, such as `n_estimators`, and of `n_jobs`.
COUNT = Within(Integral, 1, MOST, closed="both")
JOBS = [COUNT, Within(Integral, -MOST, -1, closed="both"), None]


def max_features_among(*words: str) -> list[Interval | StrOptions | None]:
    """Constraints of `max_features`: a number, a share, one of some words, or None for all."""
    return [
        Within(Integral, 1, None, closed="left"),
        Within(RealNotInt, 0, 1, closed="right"),
        StrOptions(set(words)),
        None,
    ]


def resolve_max_features(max_features: str | float | None, n_features: int) -> int:
    """Number of columns that are drawn for a split."""
    if max_features is None:
        return n_features
    if max_features == "sqrt":
        return int(np.sqrt(n_features))
    if max_features == "log2":
        return max(1, int(n_features).bit_length() - 1)
    if isinstance(max_features, Integral):
        return min(int(max_features), n_features)
    assert isinstance(max_features, float | np.floating)
    return max(1, int(max_features * n_features))


@contextmanager
def naming(parameter: str) -> Iterator[None]:
    """Put the name of a parameter in front of errors that do not mention it."""
    try:
        yield
    except (ValueError, TypeError, OverflowError) as error:
        if re.search(rf"\b{parameter}\b", str(error)):
            raise
        kind = TypeError if isinstance(error, TypeError) else ValueError
        raise kind(f"{parameter} cannot be used: {error}") from error


@contextmanager
def unchanged_on_failure(estimator: object) -> Iterator[None]:
    """Restore all attributes of an estimator if the context fails.

    A failed fit leaves the estimator as the fit before had left it, names of features included.
    This works for attributes that are replaced, not for changes in place.
    """
    before = dict(vars(estimator))
    try:
        yield
    except BaseException:
        vars(estimator).clear()
        vars(estimator).update(before)
        raise


def refuse_booleans(parameter: str, value: object) -> None:
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
    """Whether a value has a length and an order; numbers, texts, sets and 0-d arrays do not."""
    try:
        return not isinstance(value, str | bytes | Set) and len(value) >= 0
    except TypeError:
        return False


def check_lengths(X: object, **arrays: npt.ArrayLike | None) -> None:
    """Refuse arrays that do not have an entry for each row of X, by name; None is allowed."""
    for name, values in arrays.items():
        with naming(name):
            check_consistent_length(X, values)


def monotonic_signs(estimator: Any, categorical: np.ndarray, n_scores: int) -> np.ndarray | None:
    """Convert `monotonic_cst` to a sign for each column of the table; None if all are 0.

    Constraints are only allowed if `n_scores`, the number of outputs or class scores, is 1.
    """
    constraints = estimator.monotonic_cst
    refuse_booleans("monotonic_cst", constraints)
    if not (constraints is None or isinstance(constraints, dict) or is_list(constraints)):
        raise ValueError(
            f"monotonic_cst must have a sign for each feature, got {short(constraints)}"
        )
    with naming("monotonic_cst"):
        signs = _check_monotonic_cst(estimator, constraints).astype(np.int8)
    if not signs.any():
        return None
    if len(signs) < len(categorical):  # columns of dates become several columns of the table
        names = estimator.feature_names_in_.tolist()
        for name in estimator._dates:
            if signs[names.index(name)]:
                raise ValueError(
                    f"monotonic_cst must be 0 for dates, got a constraint on {name!r}"
                )
        signs = np.append(signs, np.zeros(len(categorical) - len(signs), np.int8))
    if np.any(signs[categorical]):
        raise ValueError("monotonic_cst must be 0 for categories, got a constraint on one")
    if n_scores > 1:
        kind = "classes or outputs" if is_classifier(estimator) else "outputs"
        raise ValueError(
            "monotonic_cst is for two classes, where it applies to the second one, or for one "
            f"output, got constraints and {n_scores} {kind}"
        )
    return signs


def plain_parameters(estimator: Any, names: Sequence[str]) -> dict[str, Any]:
    """Parameters as lists, dicts, strings and numbers, which files hold and which compare."""
    return {name: _plain(getattr(estimator, name)) for name in names}


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(key): _plain(entry) for key, entry in value.items()}
    if isinstance(value, Set):
        return sorted(_plain(list(value)))
    if is_list(value):
        return [_plain(entry) for entry in value]
    return value.item() if isinstance(value, np.generic) else value


def refuse_changed(before: Mapping[str, Any], now: Mapping[str, Any]) -> None:
    """Refuse parameters that a warm start must not change; both are plain."""
    for name, value in before.items():
        if now[name] != value:
            raise ValueError(
                f"with warm_start=True, {name} must be {short(value)}, as in the fit before, got "
                f"{short(now[name])}"
            )


def resolve_named(
    name: str,
    settings: Mapping[str, Mapping[str, Any]],
    defaults: Mapping[str, Any],
    params: Mapping[str, Any],
) -> dict[str, Any]:
    """Parameters of an estimator by name; ValueError if a parameter contradicts the name."""
    if name not in settings:
        raise ValueError(f"name must be one of {sorted(settings)}; got {short(name)}")
    fixed = settings[name]
    for key, value in fixed.items():
        if key in params and params[key] != value:
            raise ValueError(f"{name} means {key}={value!r}; got {short(params[key])}")
    # Copies, since rules and lists can be changed.
    return {**deepcopy(dict(defaults)), **params, **deepcopy(dict(fixed))}


def check_choice(name: str, value: object, allowed: tuple[str, ...]) -> None:
    if not isinstance(value, str) or value not in allowed:
        *first, last = map(repr, allowed)
        raise ValueError(f"{name} must be {', '.join(first)} or {last}, got {short(value)}")


def check_whole(name: str, value: object, least: int, most: int | None = None) -> None:
    number = int(value) if isinstance(value, Integral) and not isinstance(value, bool) else None
    if number is not None and number >= least and (most is None or number <= most):
        return
    bound = f"of at least {least}" if most is None else f"from {least} to {most}"
    raise ValueError(f"{name} must be a whole number {bound}, got {short(value)}")


def check_position(name: str, position: int | None, length: int) -> int:
    """Validate a position in a list, which may count from its end; return it from the start."""
    check_whole(name, position, -length, length - 1)
    assert position is not None
    return int(position) % length
