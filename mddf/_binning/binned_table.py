"""Coded tables that trees are grown on, in this process or on a cluster."""

from __future__ import annotations

from threading import Lock
from typing import Any

import numpy as np

from mddf import _core
from mddf._base.backends import cluster_in_use, shared
from mddf._binning.bins import Bins, apply_bins, find_bins, join_bins

# Tables of more bytes are also stored by columns, since the rows of their large nodes do not fit
# the processor's cache. Half a megabyte is a common size of the second-level cache; not tuned.
_CACHE_BYTES = 2**19


class BinnedTable:
    """A coded table that trees are grown on; a large one also has the codes `by_column`."""

    def __init__(self, bins: Bins, codes: np.ndarray, by_column: np.ndarray | None) -> None:
        self.bins = bins
        # The table as the kernel reads it. It checks the codes only once, here.
        self.cells = _core.BinnedTable(codes, by_column, bins.values, bins.start, bins.categorical)
        # The kernel returns a new, read-only array on each access. Storing one lets joblib see the
        # same object each time, which it sends to other processes only once.
        self.codes = self.cells.codes
        self.by_column = self.cells.by_column
        self.n_fixed = bins.n_columns  # columns on the left that have never been replaced
        self.version = 0  # number of replacements so far
        # Cluster that the table was sent to, version sent, and stand-ins: see `shared_table`.
        self.sent: dict[str, Any] = {}

    def __reduce__(self) -> tuple[Any, ...]:
        return BinnedTable, (self.bins, self.codes, self.by_column)

    @property
    def n_rows(self) -> int:
        return len(self.codes)

    def column(self, c: int) -> np.ndarray:
        return self.codes[:, c]

    def codes_of(self, rows: np.ndarray | slice) -> np.ndarray:
        return self.codes[rows]

    def with_rows(self, rows: np.ndarray) -> BinnedTable:
        """Copy some rows, possibly repeated, to a new table."""
        return coded_table(self.bins, self.codes[rows])

    def followed_by(self, codes: np.ndarray) -> BinnedTable:
        """Copy the rows of this table and further rows with the same bins to a new table."""
        return coded_table(self.bins, np.vstack([self.codes, codes]))

    def with_columns(
        self, rows: np.ndarray, cleared: list[int], bins: Bins, codes: np.ndarray
    ) -> BinnedTable:
        """Copy some rows and additional columns to a new table; the `cleared` columns are 0."""
        own_codes = self.codes[rows]
        own_codes[:, cleared] = 0
        return coded_table(join_bins(self.bins, bins), np.hstack([own_codes, codes]))

    def __sizeof__(self) -> int:
        return self.codes.nbytes * (1 if self.by_column is None else 2)

    def replace_columns(
        self,
        first: int,
        X: np.ndarray,
        *,
        sample_weight: np.ndarray | None = None,
        n_jobs: int | None = None,
    ) -> None:
        """Replace the columns from `first` on by numeric columns, which are binned here."""
        bins = find_bins(X, sample_weight=sample_weight, n_jobs=n_jobs)
        self.replace_codes(first, apply_bins(X, bins, n_jobs=n_jobs), bins)

    def replace_codes(self, first: int, codes: np.ndarray, bins: Bins) -> None:
        """Replace the columns from `first` on by codes with these bins."""
        last = first + codes.shape[1]
        self.cells.replace_columns(first, codes, bins.values, bins.start, bins.categorical)
        old = self.bins
        self.bins = join_bins(old.columns(0, first), bins, old.columns(last, old.n_columns))
        self.n_fixed = min(first, self.n_fixed)
        self.version += 1


def spare_bins(n: int) -> Bins:
    """Bins of `n` constant columns, to be replaced later."""
    return Bins(
        np.full(n, np.inf),
        np.zeros(n),
        np.arange(n + 1, dtype=np.int64),
        np.zeros(n, np.uint8),
    )


def coded_table(bins: Bins, codes: np.ndarray) -> BinnedTable:
    """Make a table of codes; a large table also stores them by columns."""
    by_column = np.ascontiguousarray(codes.T) if _is_large(codes.shape) else None
    return BinnedTable(bins, codes, by_column)


def _is_large(shape: tuple[int, int]) -> bool:
    return shape[0] * shape[1] > _CACHE_BYTES


def empty_codes(n_rows: int, n_columns: int) -> tuple[np.ndarray, np.ndarray | None]:
    """Codes of zeros and, if the table is large, their transposed copy; else None."""
    codes = np.zeros((n_rows, n_columns), np.uint8)
    return codes, np.zeros((n_columns, n_rows), np.uint8) if _is_large(codes.shape) else None


# Version, bins and codes of the last columns of a table, replaced after the table was sent.
_NewColumns = tuple[int, Bins, np.ndarray]


class _SentTable:
    """A table as it is sent, without the codes by columns, which each process makes itself."""

    def __init__(self, bins: Bins, codes: np.ndarray) -> None:
        self.bins = bins
        self.codes = codes
        self._lock = Lock()
        self._made: tuple[int | None, BinnedTable] | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        return _SentTable, (self.bins, self.codes)

    def __sizeof__(self) -> int:
        return self.codes.nbytes

    def table(self, new: _NewColumns | None) -> BinnedTable:
        """Table with the new columns, made once for all tasks of a layer."""
        version = None if new is None else new[0]
        with self._lock:
            if self._made is None or self._made[0] != version:
                self._made = None  # frees the memory of the former version first
                self._made = version, self._make(new)
            return self._made[1]

    def _make(self, new: _NewColumns | None) -> BinnedTable:
        if new is None:
            return coded_table(self.bins, self.codes)
        _, new_bins, new_codes = new
        n_kept = self.bins.n_columns - new_bins.n_columns
        codes = self.codes.copy()
        codes[:, n_kept:] = new_codes
        return coded_table(join_bins(self.bins.columns(0, n_kept), new_bins), codes)


def shared_table(table: BinnedTable) -> tuple[Any, Any]:
    """Stand-ins for a table, and for the columns replaced since it was first sent.

    If the last columns of a table are replaced for every layer, only these are sent again.
    """
    cluster = cluster_in_use()
    if cluster is None:
        return table, None
    sent = table.sent
    if sent.get("cluster") != cluster:
        (stand_in,) = shared([_SentTable(table.bins, table.codes)])
        sent.update(cluster=cluster, version=table.version, table=stand_in, new=None)
    if sent["version"] != table.version:
        bins = table.bins.columns(table.n_fixed, table.bins.n_columns)
        codes = np.ascontiguousarray(table.codes[:, table.n_fixed :])
        (sent["new"],) = shared([(table.version, bins, codes)])
        sent["version"] = table.version
    return sent["table"], sent["new"]


def received_table(table: Any, new: Any) -> BinnedTable:
    """Table for the two stand-ins of `shared_table`."""
    return table if isinstance(table, BinnedTable) else table.table(new)
