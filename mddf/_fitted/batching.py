"""Predictions in blocks of rows, which bound the memory that they take."""

from __future__ import annotations

from collections.abc import Callable, Sequence

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


def in_blocks(
    n_rows: int,
    row_bytes: int,  # memory that the prediction of a row takes
    predict: Callable[[int, int], Sequence[np.ndarray]],
    convert: Conversion | None = None,
) -> list[np.ndarray]:
    """Predictions for all rows, of which a block is predicted at a time.

    `predict` gets the first row of a block and its end, and returns arrays with an entry for each
    row. They are converted block by block, so that larger arrays before the conversion exist for
    one block only.
    """
    blocks = row_blocks(n_rows, row_bytes)
    results: list[np.ndarray] = []
    for first, end in blocks:
        parts = predict(first, end)
        if convert is not None:
            parts = list(map(convert, parts))
        if len(blocks) == 1:
            return list(parts)
        if not results:
            results = [np.empty((n_rows, *part.shape[1:]), part.dtype) for part in parts]
        for result, part in zip(results, parts, strict=True):
            result[first:end] = part
    return results
