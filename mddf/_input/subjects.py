"""Columns that look like repeated subjects: identifiers with a handful of rows for each value."""

from __future__ import annotations

import numpy as np
from scipy.special import chdtr

from mddf._base.messages import warn

# Fewer rows or values are too few to tell.
_FEWEST_ROWS, _FEWEST_SUBJECTS = 40, 10
# Rows of a subject in the mean: one is a plain identifier, and more than a handful are a category.
_FEWEST_REPEATS, _MOST_REPEATS = 2.0, 10.0
# A measured number has values whose counts vary at least as counts of random events do. Those of
# subjects who were measured equally often vary less. This is the probability of counts that vary
# so little by chance. With 0.001, none of 64 data sets of the benchmark has such a column.
_PROBABILITY = 1e-3
# Whole numbers in this range are taken as years: a few rows for each are no subjects.
_YEARS = (1900, 2100)


def looks_like_subjects(counts: np.ndarray) -> bool:
    """Whether values with these numbers of rows look like subjects measured a few times each."""
    n_rows = int(counts.sum())
    if n_rows < _FEWEST_ROWS or len(counts) < _FEWEST_SUBJECTS:
        return False
    mean = n_rows / len(counts)
    if not _FEWEST_REPEATS <= mean <= _MOST_REPEATS:
        return False
    squares = float(np.square(counts - mean).sum())
    return bool(chdtr(len(counts) - 1, squares / _random_variance(mean)) < _PROBABILITY)


def _random_variance(mean: float) -> float:
    """Variance of how often random values come, of those that come at all.

    Their numbers are Poisson ones without the zeros, whose mean is rate / (1 - exp(-rate)).
    """
    rate = mean
    for _ in range(50):  # converges for means from 2 on within a few rounds
        rate = mean * -np.expm1(-rate)
    return float(mean * (1 + rate - mean))


def counts_of_whole_numbers(column: np.ndarray) -> np.ndarray | None:
    """How often each value comes; None for columns that can be no identifiers of subjects."""
    n_rows = len(column)
    if n_rows < _FEWEST_ROWS or column[0] != np.rint(column[0]):
        return None
    least = float(column.min())
    largest = float(column.max())  # of Python, whose arithmetic overflows without a warning
    # Whole numbers have at most so many different values. NaN fails the comparison.
    if not (largest - least + 1) * _MOST_REPEATS >= n_rows:
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
        f"{mean:.0f} rows each. If rows of a value belong together, leave the column out and pass "
        "it as groups, here or to a GroupKFold, so that they are held out together",
        kind=f"subjects in column {place}",
    )
