"""Predictions by blocks of rows, which bound the memory that they take beside their result."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

import numpy as np

from mddf._base.parallel import shares_memory
from mddf._data.binner import Binner
from mddf._data.chunked import ChunkedFrame
from mddf._data.table import FrameTable, Table

# A block takes so many bytes.
_BLOCK_BYTES = 2**24
# But it has a multiple of so many rows: threads share fewer badly.
_FEWEST = 2**10
# Or of so many, where each block goes to other processes, with the trees.
_FEWEST_SENT = 2**17
Item = TypeVar("Item")


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
    fewest = _FEWEST if shares_memory() else _FEWEST_SENT
    size = max(1, _BLOCK_BYTES // row_bytes // fewest) * fewest
    # Members from elsewhere multiply matrices by BLAS, where the last bits of a row may depend on
    # how many there are, and on its place: blocks begin at round numbers, and none is short.
    starts = range(0, max(1, n_rows - fewest + 1), size)
    if len(starts) == 1:
        return list(predict(0, n_rows))
    whole: list[np.ndarray] = []
    for first in starts:
        end = n_rows if first == starts[-1] else first + size
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


class NewRows:
    """A table's rows as codes and, if asked for, as numbers, made for one block after the other.

    Of arrays of numbers nothing is made for all rows at once. Of other tables codes are, since
    their columns are read whole: for kinds and unseen categories, which all rows tell.

    Parameters
    ----------
    binner : Binner
    table : Table
    n_spare : int, default=0
        Columns to leave room for on the right of the codes.
    wanted : ndarray of bool of shape (n_columns,), default=None
        The codes of other columns are 0, or right. None for all.
    numbers : bool, default=False
        Whether numbers are asked for.
    """

    def __init__(self, binner: Binner, table: Table, *, n_spare=0, wanted=None, numbers=False):
        self.n_rows = table.shape[0]
        self._binner, self._table = binner, table
        self._n_spare, self._wanted, self._with_numbers = n_spare, wanted, numbers
        self._codes: np.ndarray | None = None
        self._numbers: np.ndarray | None = None

    def codes(self) -> np.ndarray:
        """Of all rows and columns but the spare ones; blocks are copied from them."""
        if self._codes is None:
            whole = self._with_numbers and not self._table.has_rows
            self._codes, self._numbers = self._read(self._table, whole)
        return self._codes

    def block(self, first: int, end: int) -> tuple[np.ndarray, np.ndarray | None]:
        """Codes, which may be written over, and numbers of some rows."""
        whole = end - first == self.n_rows
        if self._codes is None and (whole or self._binner.is_plain(self._table)):
            table = self._table if whole else self._table.rows(first, end)
            return self._read(table, self._with_numbers, self._n_spare)
        found = self.codes()[first:end]
        codes = np.zeros((len(found), found.shape[1] + self._n_spare), np.uint8)
        codes[:, : found.shape[1]] = found
        if self._numbers is not None:
            return codes, self._numbers[first:end]
        if not self._with_numbers:
            return codes, None
        return codes, self._binner.numbers(self._table.rows(first, end))

    def _read(self, table: Table, with_numbers: bool, n_spare=0):
        options: dict[str, Any] = {"n_spare": n_spare, "wanted": self._wanted}
        if with_numbers and isinstance(table, FrameTable | ChunkedFrame):  # are read but once
            numbers = np.empty(table.shape)
            return self._binner.transform(table, numbers=numbers, **options), numbers
        codes = self._binner.transform(table, **options)
        return codes, self._binner.numbers(table) if with_numbers else None
