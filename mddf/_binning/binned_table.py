"""Coded tables that trees are grown on, here or on other machines."""

from __future__ import annotations

from dataclasses import dataclass
from threading import Lock
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from mddf import _core
from mddf._base.backends import cluster_in_use, shared
from mddf._binning.bins import Bins, apply_bins, find_bins, join_bins

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


@dataclass(frozen=True)
class _NewColumns:
    """Columns that have been replaced since a table was sent: the last ones."""

    version: int
    bins: Bins
    codes: np.ndarray

    def __sizeof__(self) -> int:
        return self.codes.nbytes


class _SentTable:
    """A table as it travels: without the codes by columns, which each process makes for itself."""

    def __init__(self, bins: Bins, codes: np.ndarray) -> None:
        self.bins, self.codes = bins, codes
        self._lock = Lock()
        self._made: tuple[int | None, BinnedTable] | None = None

    def __reduce__(self) -> Any:
        return _SentTable, (self.bins, self.codes)

    def __sizeof__(self) -> int:
        return self.codes.nbytes

    def table(self, new: _NewColumns | None) -> BinnedTable:
        """For growing trees on; the same for all tasks of a layer."""
        version = None if new is None else new.version
        with self._lock:
            if self._made is None or self._made[0] != version:
                self._made = None  # before there is another one
                self._made = version, self._make(new)
            return self._made[1]

    def _make(self, new: _NewColumns | None) -> BinnedTable:
        bins, codes = self.bins, self.codes
        if new is not None:
            n_kept = bins.n_columns - new.bins.n_columns
            bins, codes = join_bins(bins.columns(0, n_kept), new.bins), codes.copy()
            codes[:, n_kept:] = new.codes
        return coded_table(bins, codes)


@dataclass
class _Sent:
    """Where a table has been sent to, and in which version."""

    place: Any
    version: int
    table: Any
    new_version: int
    new: Any = None


_sent: WeakKeyDictionary[BinnedTable, _Sent] = WeakKeyDictionary()


def shared_table(table: BinnedTable) -> tuple[Any, Any]:
    """Stand-ins for a table, and for what has changed in it since it was sent first.

    Of a table whose last columns are replaced for every layer, only these travel again.
    """
    here = cluster_in_use()
    if here is None:
        return table, None
    sent = _sent.get(table)
    if sent is None or sent.place != here:
        (stand_in,) = shared([_SentTable(table.bins, table.codes)])
        sent = _sent[table] = _Sent(here, table.version, stand_in, table.version)
    if sent.new_version != table.version:
        bins = table.bins.columns(table.n_fixed, table.bins.n_columns)
        codes = np.ascontiguousarray(table.codes[:, table.n_fixed :])
        (sent.new,) = shared([_NewColumns(table.version, bins, codes)])
        sent.new_version = table.version
    return sent.table, sent.new


def received_table(table: Any, new: Any) -> BinnedTable:
    """The table that the two of `shared_table` stand for."""
    return table if isinstance(table, BinnedTable) else table.table(new)
