"""What every estimator checks: parameters, labels, weights; failed fits leave no trace."""

from __future__ import annotations

import re
from collections.abc import Iterator, Set
from contextlib import contextmanager
from numbers import Integral, Number, Real
from typing import Any

import numpy as np
from sklearn.exceptions import DataConversionWarning
from sklearn.utils import assert_all_finite, compute_class_weight
from sklearn.utils._param_validation import Interval, RealNotInt, StrOptions
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import (
    _check_sample_weight,
    check_consistent_length,
    column_or_1d,
)

from mddf._base.messages import short, warn
from mddf._data.cells import is_missing
from mddf._data.plain import numbers_of, plain_array
from mddf._data.sampling import scale_weights, summed_weights

MOST_CLASSES = 65535
MOST = 2**31 - 1


def refuse_class(parameter: str, value: Any) -> None:
    """Refuse a class where a function is wanted: calling it would make an object of it."""
    if isinstance(value, type):
        raise ValueError(f"{parameter} must not be a class, got {short(value)}")


class Within(Interval):
    """Numbers of an interval; all that is no number of Python's or numpy's is outside."""

    def __contains__(self, value: Any) -> bool:
        if isinstance(value, float | np.floating):
            return super().__contains__(float(value))
        return isinstance(value, Integral) and super().__contains__(value)


def finite(least: float = 0, closed: str = "both") -> Within:
    """Real numbers from `least` that a float holds; `closed` "right" leaves `least` out."""
    return Within(Real, least, float(np.finfo(np.float64).max), closed=closed)


# How often something is done, and how many threads or processes may do it.
COUNT = Within(Integral, 1, MOST, closed="both")
JOBS = [COUNT, Within(Integral, -MOST, -1, closed="both"), None]
# Columns drawn for a split: a number, a share, or all.
MAX_FEATURES = [
    Within(Integral, 1, None, closed="left"),
    Within(RealNotInt, 0, 1, closed="right"),
    StrOptions({"sqrt", "log2"}),
    None,
]


def resolve_max_features(max_features: Any, n_features: int) -> int:
    """Number of candidate columns from the parameter of that name."""
    if max_features is None:
        return n_features
    if max_features == "sqrt":
        return max(1, int(np.sqrt(n_features)))
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


def warn_of_column() -> None:
    """Warn, as scikit-learn does, of a y that is a table of one column."""
    warn(
        "A column-vector y was passed when a 1d array was expected. Please change the shape "
        "of y to (n_samples,), for example using ravel().",
        DataConversionWarning,
    )


def _check_complete(y: Any) -> None:
    """Refuse None, NaN and pandas' NA among labels of type object; leaves the rest to others."""
    if y.dtype.kind != "O":
        return
    missing = np.flatnonzero([is_missing(label) for label in y])
    if len(missing):
        raise ValueError(
            f"y must have a label for every sample, got {short(y[missing[0]])} in row "
            f"{missing[0]} and {len(missing)} missing in all"
        )


def encode_labels(y: Any) -> tuple[np.ndarray, np.ndarray]:
    """Classes in order, and the class of every sample as uint16.

    Raises
    ------
    ValueError
        If `y` is None, lacks a label, is no classification target or has more than 65535 classes.
    """
    if y is None:
        raise ValueError("a classifier requires y to be passed, but the target y is None")
    with naming("y"):
        y = plain_array(y, "y")
        if y.ndim == 2 and y.shape[1] == 1:
            warn_of_column()
        y = column_or_1d(y)
    if y.dtype.kind == "f":
        with np.errstate(invalid="ignore"):  # of sums of infinities
            assert_all_finite(y, input_name="y")
    _check_complete(y)
    try:
        check_classification_targets(y)
        classes, labels = np.unique(y, return_inverse=True)
    except TypeError as error:
        kinds = sorted({type(label).__name__ for label in y})
        raise TypeError(
            f"y must hold labels of one kind, numbers, strings or booleans; got {', '.join(kinds)}"
        ) from error
    if len(classes) > MOST_CLASSES:
        raise ValueError(f"y must have at most {MOST_CLASSES} classes, got {len(classes)}")
    return classes, labels.astype(np.uint16)


def known_labels(y: Any, classes: np.ndarray, n_rows: int) -> np.ndarray:
    """Class of every sample among those of a fitted classifier."""
    with naming("y"):
        y = plain_array(y, "y")
    if y.shape != (n_rows,):
        raise ValueError(f"y must have shape ({n_rows},), got {y.shape}")
    _check_complete(y)
    if y.dtype.kind in "mM" and y.dtype.kind == classes.dtype.kind:
        y = y.astype(classes.dtype)
    # Compared as Python's objects: of integers and floats, or of kinds that may have no order.
    numbers = {label: number for number, label in enumerate(classes.tolist())}
    present, places = np.unique(y, return_inverse=True) if y.dtype.kind != "O" else (y, ...)
    codes = np.array([numbers.get(label, -1) for label in present.tolist()], np.int64)
    if (codes < 0).any():
        unknown = list(dict.fromkeys(present[codes < 0].tolist()))
        raise ValueError(
            f"y must hold labels seen in fit, {short(classes.tolist())}; got {short(unknown)}"
        )
    return codes[places]


def all_weights(sample_weight: Any, n_rows: int) -> np.ndarray:
    """Sample weights as float64, finite, not negative and not all zero; None means ones."""
    if isinstance(sample_weight, Number):
        largest = float(np.finfo(np.float64).max)
        if not (isinstance(sample_weight, Real) and 0 < sample_weight <= largest):  # type: ignore[operator]
            raise ValueError(
                f"sample_weight must be positive and finite, got {short(sample_weight)}"
            )
    rows = np.empty((n_rows, 0))
    with naming("sample_weight"):
        if not (sample_weight is None or isinstance(sample_weight, Number)):
            sample_weight = numbers_of(sample_weight, "sample_weight")
        weights = _check_sample_weight(
            sample_weight, rows, dtype=np.float64, ensure_non_negative=True
        )
    if not weights.any():
        raise ValueError("sample_weight must have at least one entry above zero, got only zeros")
    return weights


def check_weights(sample_weight: Any, n_rows: int) -> np.ndarray | None:
    """As `all_weights`, scaled for trees; None stays None."""
    return None if sample_weight is None else scale_weights(all_weights(sample_weight, n_rows))


def class_factors(
    class_weight: Any, classes: Any, labels: np.ndarray, weights: Any
) -> np.ndarray | None:
    """Factor of each class from `class_weight`.

    Sample weights do not change what "balanced" means. None if there is no factor, and for
    "balanced_subsample", which each tree works out for itself.
    """
    if class_weight is None or class_weight == "balanced_subsample":
        return None
    present = labels if weights is None else labels[weights > 0]
    if isinstance(class_weight, dict):
        with naming("class_weight"):
            factors = compute_class_weight(class_weight, classes=classes, y=classes[present])
        if not np.all(np.isfinite(factors) & (factors >= 0)):
            raise ValueError(
                "class_weight must have finite weights that are not negative, "
                f"got {short(class_weight)}"
            )
        return factors
    if weights is None:
        counts = np.bincount(labels, minlength=len(classes))
    else:
        counts = summed_weights(labels, weights, len(classes))
    n_present = np.count_nonzero(counts)
    factors = np.zeros(len(classes))
    np.divide(counts.sum(), n_present * counts, out=factors, where=counts > 0)
    return factors
