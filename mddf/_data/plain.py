"""What users pass as y, sample weights and groups, as plain arrays that hold the same values."""

from __future__ import annotations

from contextlib import suppress
from numbers import Integral, Real
from typing import Any

import narwhals.stable.v1 as nw
import numpy as np
from sklearn.utils._missing import is_scalar_nan

from mddf._base.messages import short
from mddf._data.cells import NO_TIMES, TIMES, is_missing, is_time, with_nan

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
