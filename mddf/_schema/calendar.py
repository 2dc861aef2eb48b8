"""Numeric features of dates. Needs NumPy only."""

from __future__ import annotations

import numpy as np

PARTS = ("days", "month", "weekday", "hour")
_MICROSECONDS_PER_DAY = 86_400_000_000
_MICROSECONDS_PER_HOUR = 3_600_000_000
# 1970-01-01 was a Thursday; Monday is 0.
_WEEKDAY_OF_EPOCH = 3


def part_name(name: str, part: str) -> str:
    """Name of the feature that holds a part of the dates in a column."""
    return f"{name}.{part}"


def calendar_parts(microseconds: np.ndarray) -> dict[str, np.ndarray]:
    """Days since 1970 with their fractions, month, weekday (Monday is 0) and hour, all in UTC.

    `microseconds` since 1970 are doubles, NaN where missing, as are the parts.
    """
    is_missing = np.isnan(microseconds)
    whole = np.where(is_missing, 0, microseconds).astype(np.int64)
    day = whole // _MICROSECONDS_PER_DAY
    months = day.astype("datetime64[D]").astype("datetime64[M]").astype(np.int64)
    parts = {
        "days": microseconds / _MICROSECONDS_PER_DAY,
        "month": months % 12 + 1,
        "weekday": (day + _WEEKDAY_OF_EPOCH) % 7,
        "hour": (whole - day * _MICROSECONDS_PER_DAY) // _MICROSECONDS_PER_HOUR,
    }
    return {
        part: np.where(is_missing, np.nan, values.astype(float)) for part, values in parts.items()
    }
