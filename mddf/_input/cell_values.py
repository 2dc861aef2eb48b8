"""Values of cells: missing ones, their kinds, and conversion of objects to numbers."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from numbers import Complex, Real
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator
from sklearn.utils import check_array
from sklearn.utils._missing import is_pandas_na, is_scalar_nan
from sklearn.utils.validation import assert_all_finite

from mddf._base.messages import short

# Types that the kernel reads without a copy.
NUMERIC_DTYPES = (np.float64, np.float32, np.int64, np.int32, np.uint8)
NUMBER = "number"
NO_TIMES = (
    "dates and times are not numbers: convert them to numbers first, or let X be a data frame of "
    "pandas or polars, whose dates are understood"
)
ENCODE = "; encode text first, for example with OneHotEncoder"
TIMES = (date, time, timedelta, np.datetime64, np.timedelta64)
# Durations and times of day, which count as numbers: their seconds.
_SPANS = (time, timedelta, np.timedelta64)
# Types that NumPy converts to doubles without help, with None as NaN.
_CONVERTED_BY_NUMPY = {int, float, bool, type(None), np.float64, np.float32, np.int64, np.bool_}
# Types none of whose values is missing, and names of types whose only value is.
_NEVER_MISSING = frozenset({str, int, bool, np.bool_, date, datetime})
_ALWAYS_MISSING = frozenset({"NoneType", "NAType", "NaTType"})
_NO_CATEGORIES = (
    "; an array has no columns of categories unless categorical_features gives their numbers: do "
    "so, or let X be a data frame (many transformers return one after "
    'set_output(transform="pandas"); next to TfidfVectorizer, encode categories by OrdinalEncoder)'
)
_RESHAPE = (
    "Reshape your data by array.reshape(-1, 1) if it is a single feature, or by "
    "array.reshape(1, -1) if it is a single sample"
)


def is_missing(value: object) -> bool:
    """Whether a cell is None, NaN, NaT or NA of pandas."""
    if value is None:
        return True
    if isinstance(value, str | int):
        return False
    if isinstance(value, Decimal):
        return value.is_nan()
    if isinstance(value, np.datetime64 | np.timedelta64):
        return bool(np.isnat(value))
    return is_scalar_nan(value) or is_pandas_na(value) or type(value).__name__ == "NaTType"


def is_time(value: object) -> bool:
    """Whether a value is a date, a time, a period or a difference of times."""
    return isinstance(value, TIMES) or type(value).__name__ == "Period"


def computed(values: Any) -> Any:
    """Compute an array of Dask; other values stay. NumPy would drop the masks of its chunks."""
    kinds = {(kind.__module__.split(".")[0], kind.__name__) for kind in type(values).__mro__}
    return values.compute() if ("dask", "Array") in kinds else values


def fill_masked(X: np.ma.MaskedArray) -> np.ndarray:
    """Convert a masked array, with NaN in masked cells, or None if cells are objects."""
    cells = X.data
    is_masked = np.ma.getmaskarray(X)
    if is_masked.any():
        dtypes: dict[str, npt.DTypeLike] = {"b": float, "i": float, "u": float}
        dtypes |= {"f": X.dtype, "c": X.dtype}
        cells = cells.astype(dtypes.get(X.dtype.kind, object))  # a copy
        cells[is_masked] = None if cells.dtype.kind == "O" else np.nan
    return cells


def missing_cells(values: np.ndarray) -> np.ndarray:
    """Mark the cells of a column that are None, NaN, NaT or NA of pandas."""
    if values.dtype.kind != "O":
        return values != values if values.dtype.kind in "fmM" else np.zeros(len(values), bool)
    # A test of each value is slow. Most columns hold only types whose values need no test, and
    # floats, which can be tested together.
    kinds = set(map(type, values)) - _NEVER_MISSING
    missing_kinds = {kind for kind in kinds if kind.__name__ in _ALWAYS_MISSING}
    if not all(issubclass(kind, float | np.floating) for kind in kinds - missing_kinds):
        return np.fromiter(map(is_missing, values), bool, len(values))
    missing = np.zeros(len(values), bool)
    if missing_kinds:
        missing = np.fromiter(
            map(missing_kinds.__contains__, map(type, values)), bool, len(values)
        )
    if kinds != missing_kinds:
        present = ~missing
        missing[present] = values[present] != values[present]
    return missing


def with_nan(values: np.ndarray) -> np.ndarray:
    """Replace all missing cells of a column of objects by NaN."""
    missing = missing_cells(values)
    return np.where(missing, np.nan, values) if missing.any() else values


def kind_of_values(values: np.ndarray) -> str | None:
    """Kind of a column's values, such as "number" or "number and text"; None without values."""
    if values.dtype.kind in "biufm":
        return NUMBER
    if values.dtype.kind == "M":
        return str(values.dtype)
    types = set(map(type, values))
    if types == {str}:
        return "text"
    if not types <= _NEVER_MISSING:
        types = set(map(type, values[~missing_cells(values)]))
    return " and ".join(sorted(set(map(_kind_of_type, types)))) or None


def _kind_of_type(type_: type) -> str:
    if issubclass(type_, str):
        return "text"
    return NUMBER if issubclass(type_, (Real, Decimal, np.bool_, *_SPANS)) else type_.__name__


def are_times(values: np.ndarray) -> bool:
    """Whether a column has values, and all of them are dates, times or the like."""
    present = values[~missing_cells(values)]
    return len(present) > 0 and all(map(is_time, present))


def parsed_numbers(values: np.ndarray, place: str) -> np.ndarray:
    """Convert a column of objects to doubles; `place` is the column's name in errors."""
    if set(map(type, values)) <= _CONVERTED_BY_NUMPY:
        with suppress(OverflowError):
            return values.astype(np.float64)
    numbers = np.full(len(values), np.nan)
    for row in np.flatnonzero(~missing_cells(values)):
        value = values[row]
        try:
            if isinstance(value, _SPANS):
                value = _span_seconds(value)
            if is_time(value):
                raise TypeError(NO_TIMES)
            if isinstance(value, Complex) and not isinstance(value, Real):
                raise TypeError("complex numbers are not supported")
            numbers[row] = float(value)
        except (OverflowError, TypeError, ValueError) as error:
            raise no_number(value, row, place, error) from error
    return numbers


def _span_seconds(value: time | timedelta | np.timedelta64) -> float:
    """Seconds of a duration, or since midnight of a time of day."""
    if isinstance(value, time):
        value = datetime.combine(date.min, value.replace(tzinfo=None)) - datetime.min
    return float(value / np.timedelta64(1, "s"))


def no_number(value: object, row: int | np.integer, place: str, error: Exception) -> Exception:
    """Make the error about a cell that is no number: a TypeError if `error` is one."""
    kind = TypeError if isinstance(error, TypeError) else ValueError
    value = value.item() if isinstance(value, np.generic) else value
    return kind(
        "X must hold numbers, NaN where missing, in all columns that are not categories; got "
        f"{short(value)} in row {row}, column {place}: {error}"
    )


def checked_numbers(block: np.ndarray, place: Callable[[int], str]) -> np.ndarray:
    """Convert a block of columns to numbers without infinities.

    `place` returns the name of a column of the block, for errors.
    """
    if block.dtype.kind == "m":
        block = block / np.timedelta64(1, "s")
    elif block.dtype.kind not in "biuf":
        block = block.astype(object, copy=False)
        block = np.column_stack(
            [parsed_numbers(with_nan(block[:, i]), place(i)) for i in range(block.shape[1])]
        )
    elif block.dtype not in NUMERIC_DTYPES:
        block = block.astype(np.float64)
    # scikit-learn's check of a single row takes ten times as long. It is faster from some million
    # cells on, where both take little of the time of a prediction.
    if not np.isinf(block).any():
        return block
    try:
        # The check adds the cells up.
        with np.errstate(invalid="ignore"):
            assert_all_finite(block, allow_nan=True, input_name="X")
    except ValueError as error:
        row, c = np.argwhere(np.isinf(block))[0]
        raise no_number(float(block[row, c]), row, place(c), error) from error
    return block


def read_numeric_array(estimator: BaseEstimator, X: Any) -> np.ndarray:
    """Convert X to numbers, NaN where missing, unless it is a data frame or a sparse matrix."""
    cells = X
    try:
        if isinstance(X, list | tuple):
            cells = np.asarray(X)
        if isinstance(cells, np.ndarray) and cells.ndim == 2 and cells.size:
            if cells.dtype.kind == "M":
                raise TypeError(f"X must hold numbers, got {cells.dtype}: {NO_TIMES}")
            if cells.dtype.kind not in "biufc":
                return checked_numbers(cells, str)
        # The check adds the cells up, among which may be infinities.
        with np.errstate(invalid="ignore"):
            return check_array(
                cells,
                dtype=list(NUMERIC_DTYPES),
                ensure_all_finite="allow-nan",
                estimator=estimator,
                input_name="X",
            )
    except (OverflowError, TypeError, ValueError) as error:
        refusal = _refusal_of_array(cells, error)
        if not _has_text(cells):
            raise refusal from error
        hint = _NO_CATEGORIES if hasattr(estimator, "categorical_features") else ENCODE
        raise type(refusal)(f"{refusal}{hint}") from error


def _has_text(cells: Any) -> bool:
    if not isinstance(cells, np.ndarray):
        return False
    return cells.dtype.kind in "US" or (
        cells.dtype.kind == "O" and any(isinstance(cell, str) for cell in cells.flat)
    )


def _refusal_of_array(X: npt.ArrayLike, error: Exception) -> Exception:
    """Convert scikit-learn's error about X to an error of one line, which names the cell."""
    kind = TypeError if isinstance(error, TypeError) else ValueError
    try:
        cells = np.asarray(X)
    except ValueError:
        return kind(f"X must be a 2D array: {error}")
    if cells.ndim < 2:
        got = short(X) if cells.ndim == 0 else f"an array of shape {cells.shape}"
        return kind(f"X must be a 2D array, got {got}. {_RESHAPE}")
    if cells.dtype.kind == "c":
        return kind(f"Complex data not supported: X must hold real numbers, got {cells.dtype}")
    if cells.ndim == 2 and cells.size:
        try:
            checked_numbers(cells, str)
        except (TypeError, ValueError) as refusal:
            return refusal
    return error
