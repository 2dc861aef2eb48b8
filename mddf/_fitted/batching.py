"""Predictions by blocks of rows, which bound the memory that they take beside their result."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

import numpy as np

from mddf._base.parallel import shares_memory

# A block takes so many bytes.
_BLOCK_BYTES = 2**24
# But it has a multiple of so many rows: threads share fewer badly.
_FEWEST = 2**10
# Or of so many, where each block goes to other processes, with the trees.
_FEWEST_SENT = 2**17
Item = TypeVar("Item")


def row_blocks(n_rows: int, row_bytes: int) -> list[tuple[int, int]]:
    """Cut rows into ranges that predictions take one after the other; at least one range.

    Parameters
    ----------
    n_rows : int
    row_bytes : int
        Memory that a prediction takes for a row.
    """
    fewest = _FEWEST if shares_memory() else _FEWEST_SENT
    size = max(1, _BLOCK_BYTES // row_bytes // fewest) * fewest
    # Members from elsewhere multiply matrices by BLAS, where the last bits of a row may depend on
    # how many there are, and on its place: blocks begin at round numbers, and none is short.
    starts = range(0, max(1, n_rows - fewest + 1), size)
    return [(first, n_rows if first == starts[-1] else first + size) for first in starts]


def by_blocks(
    predict: Callable[[int, int], Sequence[np.ndarray]], n_rows: int, row_bytes: int
) -> list[np.ndarray]:
    """Arrays of all rows, from a function that makes them of the rows of a block.

    Parameters
    ----------
    predict : callable
        From the first row and the one after the last to arrays with one entry for each row.
    n_rows : int
    row_bytes : int
        What `predict` takes for a row.
    """
    ranges = row_blocks(n_rows, row_bytes)
    if len(ranges) == 1:
        return list(predict(0, n_rows))
    whole: list[np.ndarray] = []
    for first, end in ranges:
        parts = predict(first, end)
        if not whole:
            whole = [np.empty((n_rows, *part.shape[1:]), part.dtype) for part in parts]
        for out, part in zip(whole, parts, strict=True):
            out[first:end] = part
    return whole


def last(items: Iterable[Item]) -> Item:
    """The last item, of at least one; those before are not kept."""
    for item in items:  # noqa: B007
        pass
    return item
