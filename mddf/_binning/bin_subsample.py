"""Draw the rows that bins are found on if a table has more rows than needed."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

# Rows that are hashed at a time: their temporary arrays of 2 MB stay in the cache.
_ROWS_AT_A_TIME = 2**18
# Odd multipliers of hashes: the golden ratio, and those of the generator SplitMix64.
_GOLDEN = 0x9E3779B97F4A7C15
_FIRST_MULTIPLIER = np.uint64(0xBF58476D1CE4E5B9)
_SECOND_MULTIPLIER = np.uint64(0x94D049BB133111EB)


def rows_for_bins(
    blocks: Iterable[np.ndarray], n_rows: int, n_enough: int | None, weight: np.ndarray | None
) -> np.ndarray | None:
    """Draw `n_enough` rows to find bins on, in ascending order; None for all rows.

    `blocks` are the numeric columns. Rows are drawn by a hash of their contents, so that the same
    rows are drawn whatever their order and the parts that a table comes in. Equal rows are
    distinguished by their rank. Rows of weight 0 are not drawn.
    """
    rows = np.arange(n_rows) if weight is None else np.flatnonzero(weight)
    if n_enough is None or len(rows) <= n_enough:
        return None
    hashes = np.full(n_rows, _GOLDEN, np.uint64)
    has_numbers = False
    for block in blocks:
        _mix(hashes, block)
        has_numbers = True
    if not has_numbers:
        return None
    hashes = _distinct(hashes[rows], None if weight is None else weight[rows])
    return rows[hashes <= np.partition(hashes, n_enough - 1)[n_enough - 1]]


def _distinct(hashes: np.ndarray, weight: np.ndarray | None) -> np.ndarray:
    """Change all but the first of equal hashes, so that all are different."""
    order = np.argsort(hashes) if weight is None else np.lexsort((weight, hashes))
    starts = np.flatnonzero(np.append(True, np.diff(hashes[order]) != 0))
    sizes = np.diff(np.append(starts, len(hashes)))
    rank = np.empty(len(hashes), np.uint64)
    rank[order] = np.arange(len(hashes)) - np.repeat(starts, sizes)
    is_repeated = rank > 0
    hashes[is_repeated] ^= rank[is_repeated] * np.uint64(_GOLDEN)
    hashes[is_repeated] = _scrambled(hashes[is_repeated])
    return hashes


def _mix(hashes: np.ndarray, numbers: np.ndarray) -> None:
    """Add columns to the hashes of the rows; numbers of all types are hashed as doubles."""
    for first in range(0, len(hashes), _ROWS_AT_A_TIME):
        part = hashes[first : first + _ROWS_AT_A_TIME]
        for column in numbers[first : first + _ROWS_AT_A_TIME].T:
            values = column.astype(np.float64)
            values += 0.0  # -0.0 becomes 0.0
            values[np.isnan(values)] = np.nan  # all NaN get the same bits
            part[:] = _scrambled(part ^ values.view(np.uint64))


def _scrambled(hashes: np.ndarray) -> np.ndarray:
    hashes = hashes * _FIRST_MULTIPLIER
    hashes ^= hashes >> np.uint64(31)
    hashes *= _SECOND_MULTIPLIER
    return hashes ^ hashes >> np.uint64(29)
