"""Coded tables of gradient boosting whose codes are in a temporary file, column by column."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from tempfile import TemporaryFile
from typing import IO

import numpy as np

from mddf import _core
from mddf._binning.bins import MISSING, Bins, join_bins


class ColumnTable:
    """A coded table whose codes are read from a file as they are needed.

    It has the methods of `BinnedTable` that gradient boosting uses.
    """

    def __init__(self, bins: Bins, columns: np.ndarray, folder: str) -> None:
        """Use columns that `write_columns` returned; `folder` is the place of later files."""
        self.bins = bins
        self.cells = _core.ColumnTable(columns, bins.start, bins.categorical)
        self._columns = columns
        self._folder = folder

    @property
    def n_rows(self) -> int:
        return self._columns.shape[1]

    @property
    def _n_bins(self) -> list[int]:
        counts: list[int] = np.diff(self.bins.start).tolist()
        return counts

    def column(self, c: int) -> np.ndarray:
        """Codes of a column, with 255 for missing values."""
        return _missing_as_255(self._columns[c], self._n_bins[c])

    def codes_of(self, rows: np.ndarray | slice) -> np.ndarray:
        """Copy the codes of some rows into memory, with 255 for missing values."""
        # Columns are read one after the other, as they are in the file.
        columns = [
            _missing_as_255(column[rows], n)
            for column, n in zip(self._columns, self._n_bins, strict=True)
        ]
        return np.ascontiguousarray(np.stack(columns, axis=1))

    def with_rows(self, rows: np.ndarray) -> ColumnTable:
        """Write some rows, possibly repeated, to a new file."""
        return self._new(self.bins, (column[rows] for column in self._columns), len(rows))

    def followed_by(self, codes: np.ndarray) -> ColumnTable:
        """Write the rows of this table and of a table in memory to a new file."""
        columns = (
            np.concatenate([column, missing_as_n_bins(codes[:, c], n)])
            for c, (column, n) in enumerate(zip(self._columns, self._n_bins, strict=True))
        )
        return self._new(self.bins, columns, self.n_rows + len(codes))

    def with_columns(
        self, rows: np.ndarray, cleared: list[int], bins: Bins, codes: np.ndarray
    ) -> ColumnTable:
        """Write some rows and additional columns to a new file; the `cleared` columns are 0."""

        def columns() -> Iterator[np.ndarray]:
            for c, column in enumerate(self._columns):
                yield np.zeros(len(rows), np.uint8) if c in cleared else column[rows]
            for c, n in enumerate(np.diff(bins.start).tolist()):
                yield missing_as_n_bins(codes[:, c], n)

        return self._new(join_bins(self.bins, bins), columns(), len(rows))

    def _new(self, bins: Bins, columns: Iterable[np.ndarray], n_rows: int) -> ColumnTable:
        shape = (bins.n_columns, n_rows)
        return ColumnTable(bins, write_columns(columns, shape, self._folder), self._folder)


def missing_as_n_bins(codes: np.ndarray, n_bins: int) -> np.ndarray:
    """Convert codes with 255 for missing values to the codes of the file, which has `n_bins`."""
    return np.where(codes == MISSING, np.uint8(n_bins), codes)


def _missing_as_255(codes: np.ndarray, n_bins: int) -> np.ndarray:
    return np.where(codes == n_bins, np.uint8(MISSING), codes)


def write_columns(
    columns: Iterable[np.ndarray], shape: tuple[int, int], folder: str
) -> np.ndarray:
    """Write columns of bytes to a temporary file, and map it into memory.

    Each column is written before the next one is made. `shape` has the numbers of columns and of
    rows. The file disappears with the last reference to the result, or with the process. An
    OSError says if `folder` has no room for it.
    """
    with _temporary_file(folder) as file:
        for column in columns:
            _write(file, np.ascontiguousarray(column), folder, shape)
        return np.asarray(np.memmap(file, np.uint8, "r", shape=shape))


def _temporary_file(folder: str) -> IO[bytes]:
    """Open a file without a buffer, whose rest would be written while it is closed."""
    try:
        return TemporaryFile(dir=folder, buffering=0)
    except OSError as error:
        raise _naming_folder(error, folder, "a file cannot be made") from error


def _write(file: IO[bytes], column: np.ndarray, folder: str, shape: tuple[int, int]) -> None:
    """Write a column to a file.

    A disk without room raises an error here. If memory were mapped for writing, the operating
    system would end the process.
    """
    rest = column.data
    try:
        while len(rest):
            rest = rest[file.write(rest) :]
    except OSError as error:
        size = f"a file of {shape[0] * shape[1]} bytes cannot be written"
        raise _naming_folder(error, folder, size) from error


def _naming_folder(error: OSError, folder: str, failure: str) -> OSError:
    """Return an error of the same type whose message names the parameter and the folder."""
    return OSError(error.errno, f"codes_folder: {failure} ({error.strerror})", folder)
