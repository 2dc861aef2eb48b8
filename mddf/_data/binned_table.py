"""Coded tables that trees are grown on."""

from __future__ import annotations

from typing import Any

import numpy as np

from mddf import _core
from mddf._data.binning import Bins, apply_bins, find_bins, join_bins

# Above this size the columns are kept a second time, one after the other: the rows of large nodes
# do not fit the processor's cache.
_CACHE_BYTES = 2**19


class BinnedTable:
    """A coded table that trees are grown on.

    Parameters
    ----------
    bins : Bins
    codes : ndarray of uint8 of shape (n_rows, n_columns)
        Must not be written any more: all codes are checked here, once.
    by_column : ndarray of uint8 of shape (n_columns, n_rows) or None
        The same by columns, if the table is large.

    Attributes
    ----------
    bins : Bins
    codes, by_column : ndarray
        The parameters, read-only.
    cells : _core.BinnedTable
        What the kernel grows on.
    n_fixed : int
        The columns before this one have never been replaced.
    version : int
        How often columns have been replaced.
    """

    def __init__(self, bins: Bins, codes: np.ndarray, by_column: np.ndarray | None) -> None:
        self.bins = bins
        self.cells = _core.BinnedTable(codes, by_column, bins.values, bins.start, bins.categorical)
        # Always the same arrays: joblib then sends them to other processes only once.
        self.codes, self.by_column = self.cells.codes, self.cells.by_column
        self.n_fixed, self.version = bins.n_columns, 0

    def __reduce__(self) -> Any:
        return BinnedTable, (self.bins, self.codes, self.by_column)

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.codes)

    def __sizeof__(self) -> int:
        return self.codes.nbytes * (1 if self.by_column is None else 2)

    def replace_columns(
        self, first: int, X: Any, *, sample_weight: Any = None, n_jobs: int | None = None
    ) -> None:
        """Write new columns over those from `first` on.

        Parameters
        ----------
        first : int
        X : ndarray of shape (n_rows, n_new), first + n_new <= n_columns
            Numeric columns; they are binned here.
        sample_weight : array of shape (n_rows,), default=None
            As in :func:`find_bins`.
        n_jobs : int, default=None
            Number of threads.
        """
        bins = find_bins(X, sample_weight=sample_weight, n_jobs=n_jobs)
        self.replace_codes(first, apply_bins(X, bins, n_jobs=n_jobs), bins)

    def replace_codes(self, first: int, codes: np.ndarray, bins: Bins) -> None:
        """Write new codes over those of the columns from `first` on.

        Parameters
        ----------
        first : int
        codes : ndarray of uint8 of shape (n_rows, n_new), first + n_new <= n_columns
        bins : Bins
            Of the new columns.
        """
        last = first + codes.shape[1]
        self.cells.replace_columns(first, codes, bins.values, bins.start, bins.categorical)
        old = self.bins
        self.bins = join_bins(old.columns(0, first), bins, old.columns(last, old.n_columns))
        self.n_fixed, self.version = min(first, self.n_fixed), self.version + 1


def spare_bins(n: int) -> Bins:
    """Bins of constant columns that others are to take the place of."""
    return Bins(
        np.full(n, np.inf),
        np.zeros(n),
        np.arange(n + 1, dtype=np.int64),
        np.zeros(n, np.uint8),
    )


def coded_table(bins: Bins, codes: np.ndarray) -> BinnedTable:
    """A table of codes, which if it is large are kept by columns, too."""
    by_column = np.ascontiguousarray(codes.T) if _is_large(codes.shape) else None
    return BinnedTable(bins, codes, by_column)


def _is_large(shape: tuple[int, int]) -> bool:
    """Whether the codes of a table are also kept by columns."""
    return shape[0] * shape[1] > _CACHE_BYTES


def empty_codes(n_rows: int, n_columns: int) -> tuple[np.ndarray, np.ndarray | None]:
    """Room for the codes of a table, all 0, and if it is large for the same by columns."""
    codes = np.zeros((n_rows, n_columns), np.uint8)
    return codes, np.zeros((n_columns, n_rows), np.uint8) if _is_large(codes.shape) else None
