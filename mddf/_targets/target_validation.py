"""What users pass as y, sample weights and groups, as plain arrays, checked."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from numbers import Integral, Number, Real
from typing import Any

import narwhals.stable.v1 as nw
import numpy as np
from sklearn.exceptions import DataConversionWarning
from sklearn.utils import assert_all_finite, compute_class_weight
from sklearn.utils._missing import is_scalar_nan
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, column_or_1d

from mddf._base.messages import short, warn
from mddf._base.validation import naming
from mddf._input.cell_values import NO_TIMES, TIMES, is_missing, is_time, with_nan
from mddf._targets.weights import scale_weights, summed_weights

MOST_CLASSES = 65535
_OTHERS = (bool, np.timedelta64)  # that count as integers


def holds_times(values: np.ndarray) -> bool:
    """Whether an array holds dates, times or the like, be it one among other objects."""
    return values.dtype.kind in "mM" or (
        values.dtype.kind == "O" and any(map(is_time, values.ravel()))
    )


def plain_array(values: np.ndarray, name: str) -> np.ndarray:
    """What a user passed as `name`, an array of numpy, pandas, polars or pyarrow or a list.

    Integers and booleans keep their type, be they nullable, objects or a column of Arrow, where
    numpy would make doubles of them.

    Raises
    ------
    ValueError
        If cells are masked, or numbers complex.
    """
    if isinstance(values, list | tuple) and any(isinstance(v, np.ma.MaskedArray) for v in values):
        values = np.ma.stack(values)
    if isinstance(values, np.ma.MaskedArray) and np.ma.is_masked(values):
        raise ValueError(f"{name} must have no masked entries, got {np.sum(values.mask)} of them")
    if not isinstance(values, np.ndarray) and nw.dependencies.is_into_dataframe(values):
        frame = nw.from_native(values, eager_only=True)
        columns = [_column(frame[:, c].to_native()) for c in range(frame.shape[1])]
        if any(column.dtype.kind not in "biufc" for column in columns):
            columns = [np.fromiter(c, object, len(c)) for c in columns]
        found = np.column_stack(columns) if columns else np.empty(frame.shape)
    else:
        found = _column(values)
    if found.dtype.kind == "c":
        raise ValueError(f"{name} must hold no complex numbers, got {found.dtype}")
    return found


def _column(values: Any) -> np.ndarray:
    dtype: Any = getattr(values, "dtype", None)
    if str(dtype) in ("Int128", "UInt128"):  # polars' numbers that numpy has no type for
        values = values.to_list()
    elif getattr(dtype, "kind", "O") in "biu" and hasattr(dtype, "numpy_dtype"):
        # pandas' nullable types, and those of Arrow
        missing = np.asarray(values.isna()).any()
        return values.to_numpy(dtype=object if missing else dtype.numpy_dtype)
    found = np.asarray(values)
    if found.ndim == 1 and (
        found.dtype.kind == "O" or (found.dtype.kind == "f" and isinstance(values, list | tuple))
    ):
        kinds = set(map(type, values))
        if kinds and all(issubclass(kind, bool | np.bool_) for kind in kinds):
            return found.astype(bool)
        if kinds and all(issubclass(k, Integral) and not issubclass(k, _OTHERS) for k in kinds):
            return _integers(values)
    return found


def _integers(values: np.ndarray) -> np.ndarray:
    """Whole numbers, as objects if numpy has no type for all of them."""
    for dtype in (np.int64, np.uint64, object):
        with suppress(OverflowError):
            return np.array(list(values), dtype)
    raise AssertionError


def numbers_of(values: np.ndarray, name: str) -> np.ndarray:
    """Numbers that a user passed as `name`, NaN where one is missing; no dates or times.

    What is neither is left for others to refuse.
    """
    found = plain_array(values, name)
    if holds_times(found):
        raise TypeError(f"{name} must hold numbers, got dates or times: {NO_TIMES}")
    if found.dtype.kind == "O":
        found = with_nan(found.ravel()).reshape(found.shape)
    return found


def numbered(groups: np.ndarray) -> tuple[np.ndarray, bool]:
    """Groups of one dimension as numbers from 0, and whether these are in the order of groups.

    Groups are the same where they are equal. Only numbers, text and times have an order: sets
    have ``<``, too, but it means inclusion.
    """
    if groups.dtype.kind == "O":
        missing = [row for row, group in enumerate(groups) if _lacks_something(group)]
        kinds = set(map(type, groups))
        in_order = any(all(issubclass(k, kind) for k in kinds) for kind in (str, Real, *TIMES))
    else:
        missing, in_order = np.flatnonzero(groups != groups).tolist(), True
    if missing:
        raise ValueError(
            f"groups must have one for every sample, got {short(groups[missing[0]])} in row "
            f"{missing[0]} and {len(missing)} missing in all"
        )
    if in_order:
        return np.unique(groups, return_inverse=True)[1], True
    numbers: dict[Any, int] = {}
    for row, group in enumerate(groups):
        try:
            numbers.setdefault(group, len(numbers))
        except TypeError as error:
            raise TypeError(
                "groups must hold numbers, text or other objects with a hash, got "
                f"{type(group).__name__} in row {row}"
            ) from error
    return np.array([numbers[group] for group in groups], np.int64), False


def _lacks_something(group: Any) -> bool:
    return is_missing(group) or (isinstance(group, tuple) and any(map(is_scalar_nan, group)))


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


@contextmanager
def naming_row(y: Any) -> Iterator[None]:
    """Have errors about numbers that are not finite say in which row the first one is."""
    try:
        yield
    except ValueError as error:
        odd = np.array([])
        if isinstance(y, np.ndarray) and y.ndim and y.dtype.kind == "f":
            odd = np.flatnonzero(~np.isfinite(y.reshape(len(y), -1)).all(axis=1))
        if not len(odd):
            raise
        more = f", the first of {len(odd)} rows" if len(odd) > 1 else ""
        where = f"got {y[odd[0]].tolist()!r} in row {odd[0]}{more}"
        raise ValueError(f"{error} It must be finite, {where}") from None


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
        with np.errstate(invalid="ignore"), naming_row(y):  # of sums of infinities
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
