"""Predictions in blocks of rows, which bound the memory that they take."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from mddf._base.parallel import shares_memory

# From an array with one entry for each row to another one.
Conversion = Callable[[np.ndarray], np.ndarray]

# Memory of a block: large enough that its overhead does not matter, small enough for caches and
# for tables of any length. Set by hand.
_BLOCK_BYTES = 2**24
# A block has a multiple of this number of rows, since threads share fewer rows badly.
_MIN_ROWS = 2**10
# If blocks are sent to other processes together with the trees, they have a multiple of this.
_MIN_ROWS_SENT = 2**17


def row_blocks(n_rows: int, row_bytes: int) -> list[tuple[int, int]]:
    """First rows and ends of blocks, from the memory that the prediction of a row takes.

    Members of other packages multiply matrices by BLAS, where the last bits of a row may depend on
    the number of rows and on its position. Therefore blocks begin at round numbers, and none of
    them is short.
    """
    min_rows = _MIN_ROWS if shares_memory() else _MIN_ROWS_SENT
    size = max(1, _BLOCK_BYTES // row_bytes // min_rows) * min_rows
    starts = range(0, max(1, n_rows - min_rows + 1), size)
    ends = [*starts[1:], n_rows]
    return list(zip(starts, ends, strict=True))


class BlockResults:
    """Arrays with one entry for each row, which are filled block by block.

    Each block is converted first by `convert`, so that larger arrays before the conversion exist
    for one block only.
    """

    def __init__(self, n_rows: int, convert: Conversion | None = None) -> None:
        self._n_rows = n_rows
        self._convert = convert
        self.arrays: list[np.ndarray] = []

    @property
    def array(self) -> np.ndarray:
        """The only array."""
        (array,) = self.arrays
        return array

    def put(self, first: int, end: int, *block: np.ndarray) -> None:
        """Convert the parts of a block, and put them in place, one for each array.

        The arrays are made for the first block, or are the parts of a block of all rows.
        """
        parts = list(block) if self._convert is None else list(map(self._convert, block))
        if end - first == self._n_rows:
            self.arrays = parts
            return
        if not self.arrays:
            self.arrays = [np.empty((self._n_rows, *part.shape[1:]), part.dtype) for part in parts]
        for array, part in zip(self.arrays, parts, strict=True):
            array[first:end] = part
