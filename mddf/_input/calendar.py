"""Dates as numbers, and numeric features of dates."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from typing import Any

import narwhals.stable.v1 as nw
import numpy as np

from mddf._input.cell_values import missing_cells

# The first part stands in the place of the dates, and the other ones at the end of the table.
# Trees cannot extrapolate and lines extrapolate wrongly, so that the days since 1970 make the
# predictions of later rows worse: they are a feature only on request.
MONTH = "month"
HOUR = "hour"
DAYS = "days"
PARTS = (MONTH, "weekday", "day_of_year", HOUR, DAYS)
MICROSECONDS_PER_DAY = 86_400_000_000
_MICROSECONDS_PER_HOUR = 3_600_000_000
# 1970-01-01 was a Thursday; Monday is 0.
_WEEKDAY_OF_EPOCH = 3
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


def part_name(name: str, part: str) -> str:
    """Name of the feature that holds a part of the dates in a column."""
    return f"{name}.{part}"


def calendar_parts(microseconds: np.ndarray) -> dict[str, np.ndarray]:
    """Month, weekday (Monday is 0), day of the year, hour, and days since 1970, all in UTC.

    `microseconds` since 1970 are doubles, NaN where missing, as are the parts. Days have
    fractions.
    """
    is_missing = np.isnan(microseconds)
    whole = np.where(is_missing, 0, microseconds).astype(np.int64)
    day = whole // MICROSECONDS_PER_DAY
    dates = day.astype("datetime64[D]")
    months = dates.astype("datetime64[M]").astype(np.int64)
    first_day_of_year = dates.astype("datetime64[Y]").astype("datetime64[D]").astype(np.int64)
    parts = {
        MONTH: months % 12 + 1,
        "weekday": (day + _WEEKDAY_OF_EPOCH) % 7,
        "day_of_year": day - first_day_of_year + 1,
        HOUR: (whole - day * MICROSECONDS_PER_DAY) // _MICROSECONDS_PER_HOUR,
        DAYS: microseconds / MICROSECONDS_PER_DAY,
    }
    return {
        part: np.where(is_missing, np.nan, values.astype(float)) for part, values in parts.items()
    }


def have_hours(microseconds: np.ndarray) -> bool:
    """Whether some dates have a time of the day other than midnight in UTC."""
    present = microseconds[~np.isnan(microseconds)]
    return bool((calendar_parts(present)[HOUR] != 0).any())


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
