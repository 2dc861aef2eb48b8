"""Numeric features of dates."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np

# The first part stands in the place of the dates, and the other ones at the end of the table.
# Trees cannot extrapolate and lines extrapolate wrongly, so that the days since 1970 make the
# predictions of later rows worse: they are a feature only on request.
MONTH = "month"
HOUR = "hour"
DAYS = "days"
PARTS = (MONTH, "weekday", "day_of_year", HOUR, DAYS)
_OPTIONAL = (HOUR, DAYS)
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


def parts_of_fit(name: str, features: Collection[str]) -> list[str]:
    """Parts of a column of dates among the features of a fit; empty if there is not each of them.

    The hour and the days may be absent.
    """
    parts = [part for part in PARTS if part_name(name, part) in features]
    return parts if {*parts, *_OPTIONAL} == set(PARTS) else []


def date_of_feature(feature: str, features: Collection[str]) -> str | None:
    """Name of the column of dates whose month is a feature of a fit; None for other features."""
    name = feature.removesuffix(part_name("", MONTH))
    return name if name != feature and parts_of_fit(name, features) else None


def columns_of_fit(features: Sequence[str], present: Collection[str]) -> list[str]:
    """Names of the columns that the features of a fit were made of, in the order of the columns.

    A column that is present under the name of a feature is not a part of a date.
    """
    known = set(features)
    other_parts: set[str] = set()
    columns = []
    for feature in features:
        date = None if feature in present else date_of_feature(feature, known)
        columns.append(feature if date is None else date)
        if date is not None:
            other_parts.update(part_name(date, part) for part in PARTS[1:])
    return [name for name in columns if name not in other_parts or name in present]
