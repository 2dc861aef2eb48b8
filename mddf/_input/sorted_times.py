"""Detection of columns by which the rows are sorted, as rows in the order of time are."""

from __future__ import annotations

import numpy as np

from mddf._base.messages import warn
from mddf._input.subjects import nearly_all

# With fewer rows or values, a column may be sorted by chance, or by its classes. A random column
# of 20 values is sorted with a probability of 1e-18. Not tuned.
_MIN_ROWS = 40
_MIN_VALUES = 20
# Differences of row numbers are equal up to this share of the largest. Not tuned.
_TOLERANCE = 1e-6
# Share of the steps from row to row that may go back in time, since some rows are entered late. In
# a random order it is a half. Not tuned.
_MAX_STEPS_BACK = 0.05


def is_sorted_by(column: np.ndarray) -> bool:
    """Whether the rows are sorted by a column of numbers, ascending or descending.

    Numbers with equal steps are row numbers, which tables have without any order in time. Of 61
    files at hand, three have a sorted column: all three hold row numbers, so that there is no
    false alarm. A missing or odd cell does not matter.
    """
    if len(column) < _MIN_ROWS:
        return False
    # A few rows nearly always decide.
    head = column[:_MIN_ROWS]
    head = head[~np.isnan(head)]
    if not (nearly_all(head[:-1] <= head[1:]) or nearly_all(head[:-1] >= head[1:])):
        return False
    present = ~np.isnan(column)
    if not nearly_all(present):
        return False
    # As halves of doubles: differences of unsigned or very large numbers could overflow.
    values = column[present].astype(np.float64) / 2
    rows = np.flatnonzero(present)
    is_falling = np.median(np.sign(np.diff(values))) < 0
    is_odd = np.diff(values) > 0 if is_falling else np.diff(values) < 0
    if not nearly_all(~is_odd):
        return False
    # Without the rows on both sides of a step in the wrong direction, one of which is odd.
    kept = ~(np.append(is_odd, False) | np.append(False, is_odd))
    steps = np.diff(values[kept]) / np.diff(rows[kept])
    if (np.any(steps > 0) and np.any(steps < 0)) or np.count_nonzero(steps) + 1 < _MIN_VALUES:
        return False
    spread = float(steps.max() - steps.min())
    return spread > _TOLERANCE * float(np.abs(steps).max())


def follow_dates(dates: np.ndarray) -> bool:
    """Whether rows follow dates, given as numbers, NaN where missing, in either direction."""
    dates = dates[~np.isnan(dates)]
    if len(dates) < _MIN_ROWS:
        return False
    steps = np.diff(dates)
    steps = steps[steps != 0]
    n_back = min(np.count_nonzero(steps < 0), np.count_nonzero(steps > 0))
    return bool(len(steps) + 1 >= _MIN_VALUES and n_back <= _MAX_STEPS_BACK * len(steps))


def warn_of_sorted_times(place: str) -> None:
    warn(
        f"the rows are sorted by column {place}. If it is a time, and the model is to predict "
        "later rows, folds of rows at random promise too much: pass cv=TimeOrder(...) with this "
        "column. If it numbers subjects, pass it as groups. If the order means nothing, shuffle "
        "the rows",
        kind=f"rows are sorted by column {place}",
    )
