"""Rows of a table to predict, which are encoded block by block."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from mddf._binning.binner import Binner
from mddf._binning.encoded_rows import EncodedRows
from mddf._input.table import Table


class NewRows:
    """Rows of a table to predict, encoded in blocks as codes and, on request, as numbers.

    Numeric arrays are encoded block by block. Other tables are coded as a whole, since the kind
    of a column and its share of unknown categories depend on all rows. `n_spare`, `with_numbers`
    and `wanted` are the parameters of `Binner.encode`; `levels` are the columns whose levels are
    returned, and `offset` is passed on. `n_jobs` is the number of threads.
    """

    def __init__(
        self,
        binner: Binner,
        table: Table,
        *,
        n_spare: int = 0,
        wanted: np.ndarray | None = None,
        with_numbers: bool = False,
        levels: Sequence[int] = (),
        offset: np.ndarray | None = None,
        n_jobs: int | None,
    ) -> None:
        self.n_rows = table.shape[0]
        self._binner = binner
        self._table = table
        self._n_spare = n_spare
        self._wanted = wanted
        self._with_numbers = with_numbers
        self._levels = binner.levels(table, list(levels)) if levels else None
        self._offset = offset
        self._n_jobs = n_jobs
        self._all_rows: EncodedRows | None = None

    def all_rows(self) -> EncodedRows:
        """All rows without spare columns; blocks are copied from them.

        They hold numbers only if blocks of the table cannot be read.
        """
        if self._all_rows is None:
            self._all_rows = self._binner.encode(
                self._table,
                with_numbers=self._with_numbers and not self._table.has_rows,
                wanted=self._wanted,
                levels=self._levels,
                n_jobs=self._n_jobs,
            )
        return self._all_rows

    def block(self, first: int, end: int) -> EncodedRows:
        """Rows `first` to `end` (not included); the caller may overwrite their codes."""
        is_whole = end - first == self.n_rows
        if self._all_rows is None and (is_whole or self._binner.is_plain(self._table)):
            rows = self._binner.encode(
                self._table if is_whole else self._table.rows(first, end),
                n_spare=self._n_spare,
                with_numbers=self._with_numbers,
                wanted=self._wanted,
                levels=self._levels,  # None for plain tables
                n_jobs=self._n_jobs,
            )
        else:
            rows = self.all_rows().take(slice(first, end))
            codes = np.zeros((end - first, rows.codes.shape[1] + self._n_spare), np.uint8)
            codes[:, : rows.codes.shape[1]] = rows.codes
            numbers = rows.numbers
            if self._with_numbers and numbers is None:
                numbers = self._binner.numbers(self._table.rows(first, end))
            rows = replace(rows, codes=codes, numbers=numbers)
        return rows if self._offset is None else replace(rows, offset=self._offset[first:end])
