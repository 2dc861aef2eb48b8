"""Detection of identifiers of repeated subjects: columns with a handful of rows per value."""

from __future__ import annotations

import numpy as np
from scipy.special import chdtr

from mddf._base.messages import warn

# With fewer rows or values, subjects cannot be distinguished from measured numbers.
_MIN_ROWS = 40
_MIN_SUBJECTS = 10
# Mean number of rows of a subject. A column with about one row per value is an identifier of rows;
# a column with more than a handful is an ordinary category.
_MIN_REPEATS = 2.0
_MAX_REPEATS = 10.0
# Counts of the values of a measured number vary at least as much as counts of random events.
# Counts of subjects who were measured equally often vary less. This is the largest probability
# that counts vary so little by chance. With 0.001, none of 64 benchmark data sets has a column
# that is reported.
_MAX_PROBABILITY = 1e-3
# Whole numbers in this range are taken as years, which may also have a few rows each.
_YEARS = (1900, 2100)


def looks_like_subjects(counts: np.ndarray) -> bool:
    """Whether values with these counts look like subjects that were measured a few times each."""
    n_rows = int(counts.sum())
    if n_rows < _MIN_ROWS or len(counts) < _MIN_SUBJECTS:
        return False
    mean = n_rows / len(counts)
    if not _MIN_REPEATS <= mean <= _MAX_REPEATS:
        return False
    squares = float(np.square(counts - mean).sum())
    return bool(chdtr(len(counts) - 1, squares / _random_variance(mean)) < _MAX_PROBABILITY)


def _random_variance(mean: float) -> float:
    """Variance of the counts of values of random events, without values that never occur.

    The counts have a Poisson distribution without zeros, whose mean is rate / (1 - exp(-rate)).
    """
    rate = mean
    # For means from 2 on, this converges within a few rounds.
    for _ in range(50):
        rate = mean * -np.expm1(-rate)
    return float(mean * (1 + rate - mean))


def counts_of_whole_numbers(column: np.ndarray) -> np.ndarray | None:
    """Count the rows of each value; None for columns that cannot identify subjects."""
    n_rows = len(column)
    if n_rows < _MIN_ROWS or column[0] != np.rint(column[0]):
        return None
    least = float(column.min())
    # As float of Python, whose arithmetic overflows without a warning.
    largest = float(column.max())
    # The range bounds the number of distinct whole numbers. NaN fails the comparison.
    if not (largest - least + 1) * _MAX_REPEATS >= n_rows:
        return None
    if _YEARS[0] <= least and largest <= _YEARS[1]:
        return None
    if not np.array_equal(column, np.rint(column)):
        return None
    return np.unique(column, return_counts=True)[1]


def warn_of_subjects(place: str, counts: np.ndarray) -> None:
    """Warn of a column that looks like subjects."""
    mean = counts.sum() / len(counts)
    warn(
        f"column {place} looks like an identifier of subjects: {len(counts)} values with about "
        f"{mean:.0f} rows each. If the rows of a value belong together, leave the column out and "
        "pass it as groups, here or to a GroupKFold, so that these rows are held out together",
        kind=f"subjects in column {place}",
    )
