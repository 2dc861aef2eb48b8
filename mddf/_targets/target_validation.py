"""Checks of y, sample weights and groups, and their conversion to plain arrays."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from contextlib import contextmanager, suppress
from numbers import Integral, Number, Real
from typing import Any

import narwhals.stable.v1 as nw
import numpy as np
import numpy.typing as npt
from sklearn.exceptions import DataConversionWarning
from sklearn.utils import assert_all_finite, compute_class_weight
from sklearn.utils._missing import is_scalar_nan
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, column_or_1d

from mddf._base.messages import short, warn
from mddf._base.validation import naming
from mddf._input.cell_values import NO_TIMES, TIMES, computed, is_missing, is_time, with_nan
from mddf._targets.weights import scale_weights, summed_weights

# Labels are stored in 16 bits.
MOST_CLASSES = 2**16 - 1
# Types that Python registers as integers, although they are none.
_NO_INTEGERS = (bool, np.timedelta64)


def plain_array(values: Any, name: str) -> np.ndarray:
    """Convert the user's parameter `name` to an array.

    Accepts lists, and arrays, series and data frames of NumPy, pandas, polars and pyarrow.
    Integers and booleans stay what they are, also if they are nullable, objects or of Arrow, which
    NumPy would convert to doubles. A ValueError refuses masked cells and complex numbers.
    """
    values = computed(values)
    if isinstance(values, list | tuple) and any(isinstance(v, np.ma.MaskedArray) for v in values):
        values = np.ma.stack(values)
    if isinstance(values, np.ma.MaskedArray) and np.ma.is_masked(values):
        raise ValueError(f"{name} must have no masked entries, got {np.sum(values.mask)} of them")
    if not isinstance(values, np.ndarray) and nw.dependencies.is_into_dataframe(values):
        frame = nw.from_native(values, eager_only=True)
        columns = [_plain_column(frame[:, c].to_native()) for c in range(frame.shape[1])]
        if any(column.dtype.kind not in "biufc" for column in columns):
            columns = [np.fromiter(column, object, len(column)) for column in columns]
        array = np.column_stack(columns) if columns else np.empty(frame.shape)
    else:
        array = _plain_column(values)
    if array.dtype.kind == "c":
        raise ValueError(f"{name} must hold no complex numbers, got {array.dtype}")
    return array


def _plain_column(values: Any) -> np.ndarray:
    dtype: Any = getattr(values, "dtype", None)
    if str(dtype) in ("Int128", "UInt128"):
        # Types of polars that NumPy does not have.
        values = values.to_list()
    elif getattr(dtype, "kind", "O") in "biu" and hasattr(dtype, "numpy_dtype"):
        # Nullable types and Arrow types of pandas.
        has_missing = np.asarray(values.isna()).any()
        return values.to_numpy(dtype=object if has_missing else dtype.numpy_dtype)
    array = np.asarray(values)
    is_float_list = array.dtype.kind == "f" and isinstance(values, list | tuple)
    if array.ndim == 1 and (array.dtype.kind == "O" or is_float_list):
        kinds = set(map(type, values))
        if kinds and all(issubclass(kind, bool | np.bool_) for kind in kinds):
            return array.astype(bool)
        if kinds and all(
            issubclass(k, Integral) and not issubclass(k, _NO_INTEGERS) for k in kinds
        ):
            return _integers(values)
    return array


def _integers(values: Iterable[Any]) -> np.ndarray:
    """Integers in the first type that holds all of them; objects if NumPy has none."""
    for dtype in (np.int64, np.uint64, object):
        with suppress(OverflowError):
            return np.array(list(values), dtype)
    raise AssertionError


def numeric_array(values: Any, name: str) -> np.ndarray:
    """Convert the user's parameter `name` to an array, NaN where missing; no dates or times."""
    array = plain_array(values, name)
    if array.dtype.kind in "mM" or (array.dtype.kind == "O" and any(map(is_time, array.ravel()))):
        raise TypeError(f"{name} must hold numbers, got dates or times: {NO_TIMES}")
    if array.dtype.kind == "O":
        array = with_nan(array.ravel()).reshape(array.shape)
    return array


def encode_groups(groups: np.ndarray) -> tuple[np.ndarray, bool]:
    """Convert one-dimensional groups to numbers from 0, and tell whether groups can be sorted.

    Equal groups have equal numbers, in ascending order if groups can be sorted. This holds for
    numbers, text and times only: sets also have ``<``, but it means inclusion.
    """
    if groups.dtype.kind == "O":
        missing = [row for row, group in enumerate(groups) if _is_missing_group(group)]
        kinds = set(map(type, groups))
        is_sortable = any(all(issubclass(k, kind) for k in kinds) for kind in (str, Real, *TIMES))
    else:
        missing = np.flatnonzero(groups != groups).tolist()
        is_sortable = True
    if missing:
        raise ValueError(
            f"groups must have one for every sample, got {groups[missing[0]]} in row "
            f"{missing[0]} and {len(missing)} missing in all"
        )
    if is_sortable:
        return np.unique(groups, return_inverse=True)[1], True
    numbers: dict[Hashable, int] = {}
    for row, group in enumerate(groups):
        try:
            numbers.setdefault(group, len(numbers))
        except TypeError as error:
            raise TypeError(
                "groups must hold numbers, text or other objects with a hash, got "
                f"{type(group).__name__} in row {row}"
            ) from error
    return np.array([numbers[group] for group in groups], np.int64), False


def _is_missing_group(group: object) -> bool:
    return is_missing(group) or (isinstance(group, tuple) and any(map(is_scalar_nan, group)))


def warn_of_column_vector() -> None:
    """Warn, as scikit-learn does, of a y that is a table with one column."""
    warn(
        "A column-vector y was passed when a 1d array was expected. Please change the shape "
        "of y to (n_samples,), for example using ravel().",
        DataConversionWarning,
        kind="y is a column",
    )


def _refuse_missing_labels(y: np.ndarray) -> None:
    """Refuse None, NaN and NA of pandas among labels of type object."""
    if y.dtype.kind != "O":
        return
    missing = np.flatnonzero([is_missing(label) for label in y])
    if len(missing):
        raise ValueError(
            f"y must have a label for every sample, got {short(y[missing[0]])} in row "
            f"{missing[0]} and {len(missing)} missing in all"
        )


@contextmanager
def naming_row(y: np.ndarray) -> Iterator[None]:
    """Add the first row with NaN or an infinity to errors about numbers that are not finite."""
    try:
        yield
    except ValueError as error:
        if not (y.ndim and y.dtype.kind == "f"):
            raise
        rows = np.flatnonzero(~np.isfinite(y.reshape(len(y), -1)).all(axis=1))
        if not len(rows):
            raise
        more = f", the first of {len(rows)} rows" if len(rows) > 1 else ""
        raise ValueError(
            f"{error} It must be finite, got {y[rows[0]].tolist()!r} in row {rows[0]}{more}"
        ) from None


def encode_labels(y: npt.ArrayLike | None) -> tuple[np.ndarray, np.ndarray]:
    """Convert a user's y to sorted classes, and the position of each sample's class as uint16.

    A ValueError refuses None, missing labels, targets of regression and more than 65535 classes.
    """
    if y is None:
        raise ValueError("a classifier requires y to be passed, but the target y is None")
    with naming("y"):
        array = plain_array(y, "y")
        if array.ndim == 2 and array.shape[1] == 1:
            warn_of_column_vector()
        array = np.asarray(column_or_1d(array))
    if array.dtype.kind == "f":
        # The check adds the labels up, among which may be infinities.
        with np.errstate(invalid="ignore"), naming_row(array):
            assert_all_finite(array, input_name="y")
    _refuse_missing_labels(array)
    try:
        check_classification_targets(array)
        classes, labels = np.unique(array, return_inverse=True)
    except TypeError as error:
        kinds = sorted({type(label).__name__ for label in array})
        raise TypeError(
            f"y must hold labels of one kind, numbers, strings or booleans; got {', '.join(kinds)}"
        ) from error
    if len(classes) > MOST_CLASSES:
        raise ValueError(f"y must have at most {MOST_CLASSES} classes, got {len(classes)}")
    return classes, labels.astype(np.uint16)


def known_labels(y: npt.ArrayLike, classes: np.ndarray, n_rows: int) -> np.ndarray:
    """Positions of the labels among the classes of a fitted classifier."""
    with naming("y"):
        y = plain_array(y, "y")
    if y.shape != (n_rows,):
        raise ValueError(f"y must have shape ({n_rows},), got {y.shape}")
    _refuse_missing_labels(y)
    if y.dtype.kind in "mM" and y.dtype.kind == classes.dtype.kind:
        y = y.astype(classes.dtype)
    # Compared as objects of Python: integers with floats, or kinds that may have no order.
    code_of = {label: code for code, label in enumerate(classes.tolist())}
    distinct, places = np.unique(y, return_inverse=True) if y.dtype.kind != "O" else (y, ...)
    codes = np.array([code_of.get(label, -1) for label in distinct.tolist()], np.int64)
    if (codes < 0).any():
        unknown = list(dict.fromkeys(distinct[codes < 0].tolist()))
        raise ValueError(
            f"y must hold labels seen in fit, {short(classes.tolist())}; got {short(unknown)}"
        )
    return codes[places]


def all_weights(sample_weight: npt.ArrayLike | None, n_rows: int) -> np.ndarray:
    """Sample weights as float64: finite, not negative, not all zero; ones for None."""
    if isinstance(sample_weight, Number):
        largest = float(np.finfo(np.float64).max)
        if not (isinstance(sample_weight, Real) and 0 < sample_weight <= largest):
            raise ValueError(
                f"sample_weight must be positive and finite, got {short(sample_weight)}"
            )
    with naming("sample_weight"):
        if not (sample_weight is None or isinstance(sample_weight, Number)):
            sample_weight = numeric_array(sample_weight, "sample_weight")
        weights = _check_sample_weight(
            sample_weight, np.empty((n_rows, 0)), dtype=np.float64, ensure_non_negative=True
        )
    if not weights.any():
        raise ValueError("sample_weight must have at least one entry above zero, got only zeros")
    return weights


def check_weights(sample_weight: npt.ArrayLike | None, n_rows: int) -> np.ndarray | None:
    """Check sample weights and scale them for trees; None stays None."""
    return None if sample_weight is None else scale_weights(all_weights(sample_weight, n_rows))


def class_factors(
    class_weight: dict[Hashable, float] | str | None,
    classes: np.ndarray,
    labels: np.ndarray,
    weights: np.ndarray | None,
) -> np.ndarray | None:
    """Compute the factor of each class from `class_weight`.

    With "balanced", the factors are inversely proportional to the weighted sizes of the classes.
    None means no factors, also for "balanced_subsample", which each tree resolves itself.
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
    factors = np.zeros(len(classes))
    np.divide(counts.sum(), np.count_nonzero(counts) * counts, out=factors, where=counts > 0)
    return factors
