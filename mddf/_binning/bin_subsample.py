"""Rows that bins are found on, where a table has more of them than are worth looking at."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

_FEW_ROWS = 2**18  # that take little memory


def drawn_rows(
    blocks: Iterable[np.ndarray], n_rows: int, most: int | None, weight: np.ndarray | None
) -> np.ndarray | None:
    """The rows of a table that bins are found on.

    They are drawn by a hash of what they hold: the same ones in whatever order they stand, and
    however they are parted. Equal rows are distinguished by their number among them.

    Parameters
    ----------
    blocks : iterable of ndarray of shape (n_rows, some)
        The columns of numbers, by which rows are distinguished, some after the others.
    n_rows : int
    most : int or None
        How many rows are enough; None for all.
    weight : ndarray of shape (n_rows,) or None
        Rows without weight are not drawn.

    Returns
    -------
    ndarray of int64 or None
        In ascending order; None for all rows.
    """
    rows = np.arange(n_rows) if weight is None else np.flatnonzero(weight)
    if most is None or len(rows) <= most:
        return None
    hashes = np.full(n_rows, 0x9E3779B97F4A7C15, np.uint64)
    nothing = True
    for block in blocks:
        _mix(hashes, block)
        nothing = False
    if nothing:
        return None
    found = _distinct(hashes[rows], None if weight is None else weight[rows])
    return rows[found <= np.partition(found, most - 1)[most - 1]]


def _distinct(hashes: np.ndarray, weight: np.ndarray | None) -> np.ndarray:
    """Hashes of which equal ones have become different: the first of them stays what it is."""
    order = np.argsort(hashes) if weight is None else np.lexsort((weight, hashes))
    starts = np.flatnonzero(np.append(True, np.diff(hashes[order]) != 0))
    sizes = np.diff(np.append(starts, len(hashes)))
    number = np.empty(len(hashes), np.uint64)
    number[order] = np.arange(len(hashes)) - np.repeat(starts, sizes)
    again = number > 0
    hashes[again] ^= number[again] * np.uint64(0x9E3779B97F4A7C15)
    hashes[again] = _scrambled(hashes[again])
    return hashes


def _mix(hashes: np.ndarray, numbers: np.ndarray) -> None:
    """Add columns to the rows' hashes, as if all numbers were of double precision."""
    for first in range(0, len(hashes), _FEW_ROWS):
        some = hashes[first : first + _FEW_ROWS]
        for column in numbers[first : first + _FEW_ROWS].T:
            values = column.astype(np.float64)
            values += 0.0  # -0.0 is 0.0
            values[np.isnan(values)] = np.nan
            some[:] = _scrambled(some ^ values.view(np.uint64))


def _scrambled(hashes: np.ndarray) -> np.ndarray:
    hashes = hashes * np.uint64(0xBF58476D1CE4E5B9)
    hashes ^= hashes >> np.uint64(31)
    hashes *= np.uint64(0x94D049BB133111EB)
    return hashes ^ hashes >> np.uint64(29)
