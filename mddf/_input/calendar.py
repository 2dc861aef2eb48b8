"""Numeric features of dates."""

from __future__ import annotations

import numpy as np

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
