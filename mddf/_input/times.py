"""Dates and times as numbers."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from typing import Any

import narwhals.stable.v1 as nw
import numpy as np

from mddf._input.cell_values import missing_cells

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


def are_dates(values: np.ndarray) -> bool:
    """Whether an array has values, and all of them are dates, or dates with times."""
    if values.dtype.kind == "M":
        return bool((~np.isnat(values)).any())
    if values.dtype.kind != "O":
        return False
    types = set(map(type, values[~missing_cells(values)]))
    return len(types) > 0 and all(issubclass(kind, date | np.datetime64) for kind in types)


def holds_dates(series: nw.Series[Any]) -> bool:
    """Whether the type of a column is one of dates, or of dates with times."""
    return isinstance(series.dtype, nw.Date | nw.Datetime) or _has_unknown_zone(series)


def _has_unknown_zone(series: nw.Series[Any]) -> bool:
    """Whether narwhals does not know the type of dates with times of pandas.

    It does not read names of zones with an underscore, such as America/New_York.
    """
    return series.dtype == nw.Unknown and getattr(series.to_native().dtype, "kind", "") == "M"


def series_microseconds(series: nw.Series[Any]) -> np.ndarray:
    """Microseconds since 1970 in UTC of a column of dates: doubles, NaN where missing.

    Doubles hold them exactly up to the year 2255. Times without a zone count as UTC.
    """
    if _has_unknown_zone(series):
        in_utc = series.to_native().dt.tz_convert("UTC")
        series = nw.from_native(in_utc, series_only=True)
    return series.dt.timestamp("us").cast(nw.Float64).to_numpy()


def array_microseconds(values: np.ndarray) -> np.ndarray:
    """Microseconds since 1970 in UTC of an array of dates, as `series_microseconds` has them."""
    if values.dtype.kind == "M":
        numbers = values.astype("datetime64[us]").astype(np.int64).astype(float)
        return np.where(np.isnat(values), np.nan, numbers)
    numbers = np.full(len(values), np.nan)
    for row in np.flatnonzero(~missing_cells(values)):
        numbers[row] = _date_microseconds(values[row])
    return numbers


def _date_microseconds(value: date | np.datetime64) -> float:
    if isinstance(value, np.datetime64):
        return float(value.astype("datetime64[us]").astype(np.int64))
    if not isinstance(value, datetime):
        return float((value - _EPOCH.date()) // _MICROSECOND)
    in_zone = value if value.tzinfo is not None else value.replace(tzinfo=UTC)
    return float((in_zone - _EPOCH) // _MICROSECOND)
