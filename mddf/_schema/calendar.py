"""Numeric features of dates. Needs NumPy only."""

from __future__ import annotations

from collections.abc import Collection, Sequence

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


def columns_of_fit(features: Sequence[str], present: Collection[str]) -> list[str]:
    """Names of the columns that the features of a fit were made of, in the order of the columns.

    The days of a date stand in the place of its column, and its other parts at the end. A column
    that is present under the name of a feature is not a part of a date.
    """
    known = set(features)
    other_parts = set()
    columns = []
    for feature in features:
        name = feature.removesuffix(part_name("", PARTS[0]))
        parts = [part_name(name, part) for part in PARTS]
        is_date = feature not in present and name != feature and known.issuperset(parts)
        columns.append(name if is_date else feature)
        if is_date:
            other_parts.update(parts[1:])
    return [name for name in columns if name not in other_parts]
