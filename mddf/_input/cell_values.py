"""Cells of columns: which are missing, what they hold, and numbers from objects."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from datetime import date, time, timedelta
from decimal import Decimal
from numbers import Complex, Real
from typing import Any

import numpy as np
from sklearn.utils import check_array
from sklearn.utils._missing import is_pandas_na, is_scalar_nan
from sklearn.utils.validation import assert_all_finite

from mddf._base.messages import short

# What the kernel reads without a copy.
NUMERIC_DTYPES = (np.float64, np.float32, np.int64, np.int32, np.uint8)
NUMBER = "number"
NO_TIMES = "dates and times are no numbers; turn them into some first"
TIMES = (date, time, timedelta, np.datetime64, np.timedelta64)
_PLAIN = {int, float, bool, type(None), np.float64, np.float32, np.int64, np.bool_}


def is_missing(value: Any) -> bool:
    """Whether a cell is None, NaN, NaT or pandas' NA."""
    if value is None:
        return True
    if isinstance(value, str | int):
        return False
    if isinstance(value, Decimal):
        return value.is_nan()
    if isinstance(value, np.datetime64 | np.timedelta64):
        return bool(np.isnat(value))
    return is_scalar_nan(value) or is_pandas_na(value) or type(value).__name__ == "NaTType"


def is_time(value: Any) -> bool:
    """Whether a value is a date, a time, a period or a difference of times."""
    return isinstance(value, TIMES) or type(value).__name__ == "Period"


def filled(X: np.ma.MaskedArray) -> np.ndarray:
    """An array in which what is masked has become NaN, or None among objects."""
    cells, masked = X.data, np.ma.getmaskarray(X)
    if masked.any():
        dtypes: dict[str, Any] = {"b": float, "i": float, "u": float, "f": X.dtype, "c": X.dtype}
        cells = cells.astype(dtypes.get(X.dtype.kind, object))  # a copy
        cells[masked] = None if cells.dtype.kind == "O" else np.nan
    return cells


_ALWAYS_THERE = frozenset({str, int, bool, np.bool_})
_NOTHING = frozenset({"NoneType", "NAType", "NaTType"})  # types whose only value is missing


def missing_cells(values: np.ndarray) -> np.ndarray:
    """Which cells of a column are None, NaN, NaT or pandas' NA."""
    if values.dtype.kind != "O":
        return values != values if values.dtype.kind in "fmM" else np.zeros(len(values), bool)
    kinds = set(map(type, values)) - _ALWAYS_THERE
    nothing = {kind for kind in kinds if kind.__name__ in _NOTHING}
    if not all(issubclass(kind, float | np.floating) for kind in kinds - nothing):
        return np.fromiter(map(is_missing, values), bool, len(values))
    missing = np.zeros(len(values), bool)
    if nothing:
        missing = np.fromiter(map(nothing.__contains__, map(type, values)), bool, len(values))
    if kinds != nothing:
        there = ~missing
        missing[there] = values[there] != values[there]
    return missing


def with_nan(values: np.ndarray) -> np.ndarray:
    """A column of objects in which all that is missing has become NaN."""
    missing = missing_cells(values)
    return np.where(missing, np.nan, values) if missing.any() else values


def kind_of_values(values: np.ndarray) -> str | None:
    """What the cells of a column are, None if nothing is there; several kinds are all named."""
    if values.dtype.kind in "biuf":
        return NUMBER
    if values.dtype.kind in "mM":
        return str(values.dtype)
    kinds = set(map(type, values))
    if kinds == {str}:
        return "text"
    if not kinds <= _ALWAYS_THERE:  # NaN has a type, too
        kinds = set(map(type, values[~missing_cells(values)]))
    named = {
        "text"
        if issubclass(kind, str)
        else NUMBER
        if issubclass(kind, Real | Decimal | np.bool_)
        else kind.__name__
        for kind in kinds
    }
    return " and ".join(sorted(named)) or None


def are_times(values: np.ndarray) -> bool:
    """Whether something is there in a column, and all that is are dates, times or the like."""
    there = values[~missing_cells(values)]
    return len(there) > 0 and all(map(is_time, there))


def parsed_numbers(values: np.ndarray, place: str) -> np.ndarray:
    """Numbers from a column of any objects; `place` is how the column is called in errors."""
    numbers = np.full(len(values), np.nan)
    if set(map(type, values)) <= _PLAIN:
        with suppress(OverflowError):
            return values.astype(np.float64)
    for row in np.flatnonzero(~missing_cells(values)):
        value = values[row]
        try:
            if is_time(value):
                raise TypeError(NO_TIMES)
            if isinstance(value, Complex) and not isinstance(value, Real):
                raise TypeError("complex numbers are not supported")
            numbers[row] = float(value)
        except (OverflowError, TypeError, ValueError) as error:
            raise no_number(value, row, place, error) from error
    return numbers


def no_number(value: Any, row: int | np.integer, place: str, error: Exception) -> Exception:
    """The error about a cell that is no number, of the kind of the one that says why."""
    kind = TypeError if isinstance(error, TypeError) else ValueError
    value = value.item() if isinstance(value, np.generic) else value
    return kind(
        "X must hold numbers, NaN where missing, in all columns that are not categories; got "
        f"{short(value)} in row {row}, column {place}: {error}"
    )


def checked_numbers(block: np.ndarray, place: Callable[[int], str]) -> np.ndarray:
    """The block as numbers without infinities; errors name the cell, and `place` its column."""
    if block.dtype.kind not in "biuf":
        block = block.astype(object, copy=False)
        block = np.column_stack(
            [parsed_numbers(with_nan(block[:, i]), place(i)) for i in range(block.shape[1])]
        )
    elif block.dtype not in NUMERIC_DTYPES:
        block = block.astype(np.float64)
    try:
        with np.errstate(invalid="ignore"):  # of sums of infinities
            assert_all_finite(block, allow_nan=True, input_name="X")
    except ValueError as error:
        row, c = np.argwhere(np.isinf(block))[0]
        raise no_number(float(block[row, c]), row, place(c), error) from error
    return block


_NO_CATEGORIES = (
    "; an array has no columns of categories unless categorical_features gives their numbers: do "
    "so, or let X be a data frame (the transformer before gives one after "
    'set_output(transform="pandas"))'
)
ENCODE = "; encode text first, for example with OneHotEncoder"


def array_of_numbers(estimator: Any, X: Any) -> np.ndarray:
    """What is no data frame and no sparse matrix as numbers, NaN where missing."""
    hint = _NO_CATEGORIES if hasattr(estimator, "categorical_features") else ENCODE
    cells = X
    try:
        if isinstance(X, list | tuple):
            cells = np.asarray(X)
        if isinstance(cells, np.ndarray) and cells.ndim == 2 and cells.size:
            if cells.dtype.kind in "mM":
                raise TypeError(f"X must hold numbers, got {cells.dtype}: {NO_TIMES}")
            if cells.dtype.kind not in "biufc":
                return checked_numbers(cells, str)
        with np.errstate(invalid="ignore"):  # of sums of infinities
            return check_array(
                cells,
                dtype=list(NUMERIC_DTYPES),
                ensure_all_finite="allow-nan",
                estimator=estimator,
                input_name="X",
            )
    except (OverflowError, TypeError, ValueError) as error:
        named = _named_refusal(cells, error)
        raise (type(named)(f"{named}{hint}") if has_text(cells) else named) from error


def has_text(cells: Any) -> bool:
    """Whether some cells of an array are text."""
    if not isinstance(cells, np.ndarray):
        return False
    return cells.dtype.kind in "US" or (
        cells.dtype.kind == "O" and any(isinstance(cell, str) for cell in cells.flat)
    )


def _named_refusal(X: Any, error: Exception) -> Exception:
    """An error of scikit-learn's about X in one line, with the cell that it means."""
    kind = TypeError if isinstance(error, TypeError) else ValueError
    try:
        cells = np.asarray(X)
    except ValueError:
        return kind(f"X must be a 2D array: {error}")
    if cells.ndim < 2:
        what = short(X) if cells.ndim == 0 else f"an array of shape {cells.shape}"
        return kind(f"X must be a 2D array, got {what}. {_RESHAPE}")
    if cells.dtype.kind == "c":
        return kind(f"Complex data not supported: X must hold real numbers, got {cells.dtype}")
    if cells.ndim == 2 and cells.size:
        try:
            checked_numbers(cells, str)
        except (TypeError, ValueError) as named:
            return named
    return error


_RESHAPE = (
    "Reshape your data by array.reshape(-1, 1) if it is a single feature, or by "
    "array.reshape(1, -1) if it is a single sample"
)
