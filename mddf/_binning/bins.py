"""Tables of numbers coded in one byte per cell."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from mddf import _core
from mddf._base.parallel import chunks, in_threads, useful_jobs
from mddf._base.serialization import register_serializable

MISSING = 255  # the code of a missing or unseen value
_WORTH_BYTES = 2**16  # cells; smaller tables are binned in no time


@register_serializable("bins")
@dataclass(frozen=True)
class Bins:
    """How the columns of a table are coded.

    Attributes
    ----------
    edges : ndarray of float64
        Upper edges of the bins of all columns; a value belongs to the first bin whose edge is not
        below it. The last edge of a column is infinite.
    values : ndarray of float64
        The value that stands for each bin when a threshold is chosen.
    start : ndarray of int64 of shape (n_columns + 1,)
        The bins of column c are ``edges[start[c]:start[c + 1]]``.
    categorical : ndarray of uint8 of shape (n_columns,)
        Whether a column holds the codes of categories, which have no order.
    """

    edges: np.ndarray
    values: np.ndarray
    start: np.ndarray
    categorical: np.ndarray

    @property
    def n_columns(self) -> int:
        """Number of columns."""
        return len(self.categorical)

    def columns(self, first: int, last: int) -> Bins:
        """The bins of columns ``first`` to ``last`` (not included) alone."""
        part = slice(self.start[first], self.start[last])
        return Bins(
            self.edges[part],
            self.values[part],
            self.start[first : last + 1] - self.start[first],
            self.categorical[first:last],
        )


def join_bins(*parts: Bins) -> Bins:
    """The bins of several tables that stand side by side."""
    filled = [bins for bins in parts if bins.n_columns]
    if len(filled) == 1:
        return filled[0]
    counts = np.concatenate([np.diff(bins.start) for bins in parts])
    return Bins(
        np.concatenate([bins.edges for bins in parts]),
        np.concatenate([bins.values for bins in parts]),
        _starts(counts),
        np.concatenate([bins.categorical for bins in parts]),
    )


def _starts(counts: np.ndarray) -> np.ndarray:
    """Where parts of so many bins begin, and where the last one ends."""
    return np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)


def find_bins(
    X: Any,
    *,
    categorical: Any = None,
    n_categories: Any = None,
    sample_weight: Any = None,
    max_bins: int = 255,
    n_jobs: int | None = None,
) -> Any:
    """Bins for the columns of a table.

    A numeric column with at most `max_bins` different values gets one bin for each; any other one
    gets bins of about equal weight. A categorical column gets one bin per category.

    Parameters
    ----------
    X : ndarray or csc_matrix of shape (n_rows, n_columns)
        One of `NUMERIC_DTYPES`, any strides; NaN is missing. If sparse: floats, no cell twice,
        no categories.
    categorical : array of bool of shape (n_columns,), default=None
        Columns that hold codes 0, 1, ... of categories.
    n_categories : array of int of shape (n_columns,), default=None
        Number of categories of each column; only looked at where `categorical` is true.
    sample_weight : array of shape (n_rows,), default=None
        Weight k counts as k rows; rows without weight are not looked at.
    max_bins : int, default=255
        From 2 to 255.
    n_jobs : int, default=None
        Number of threads; does not change the result.

    Returns
    -------
    Bins
    """
    n_columns = X.shape[1]
    if sparse.issparse(X):
        if sample_weight is None:
            return _bins_of_sparse(X, max_bins, n_jobs)
        X = X.toarray()
    X = np.require(X, requirements="A")
    if sample_weight is not None:
        sample_weight = np.ascontiguousarray(sample_weight, dtype=np.float64)
        if len(sample_weight) and sample_weight.min() == sample_weight.max() > 0:
            sample_weight = None  # the same bins, without the rounding of sums
    bins = _by_columns(
        lambda first, last, cancel: _core.find_bins(
            X, sample_weight, first, last, max_bins, cancel
        ),
        X,
        n_jobs,
    )
    if categorical is None or not np.any(categorical):
        return bins
    parts = [
        _category_bins(n_categories[c]) if categorical[c] else bins.columns(c, c + 1)
        for c in range(n_columns)
    ]
    return join_bins(*parts)


def _stored(X: Any) -> dict[str, Any]:
    """A sparse matrix as the kernel takes it."""
    return {
        "cells": np.require(X.data, requirements=["A", "C"]),
        "rows": X.indices.astype(np.int32, copy=False),
        "start": X.indptr.astype(np.int64),  # a copy, which other threads cannot change
        "n_rows": X.shape[0],
    }


def _bins_of_sparse(X: Any, max_bins: int, n_jobs: int | None) -> Bins:
    """Bins of a sparse matrix; columns with many values are made dense for that."""
    stored = _stored(X)
    bins = _by_columns(
        lambda first, last, cancel: _core.find_bins_of_sparse(
            **stored, first=first, last=last, max_bins=max_bins, cancel=cancel
        ),
        X,
        n_jobs,
    )
    counts = np.diff(bins.start)
    has_many = counts == 0
    if not has_many.any():
        return bins
    others = find_bins(X[:, has_many].toarray(), max_bins=max_bins, n_jobs=n_jobs)
    counts[has_many] = np.diff(others.start)
    start = _starts(counts)
    from_others = np.repeat(has_many, counts)
    edges, values = np.empty(start[-1]), np.empty(start[-1])
    for joined, mine, theirs in (
        (edges, bins.edges, others.edges),
        (values, bins.values, others.values),
    ):
        joined[from_others], joined[~from_others] = theirs, mine
    return Bins(edges, values, start, bins.categorical)


def narrowed(
    X: Any, out: np.ndarray, first_column: int = 0, n_jobs: int | None = None
) -> np.ndarray:
    """A large table of whole numbers from 0 to 255 as bytes, whose bins are found faster.

    Parameters
    ----------
    X : ndarray or csc_matrix of shape (n_rows, n_columns)
        One of `NUMERIC_DTYPES`.
    out : ndarray of uint8 of shape (n_rows, n_all)
        Where the bytes go, from column `first_column` on; `apply_bins` may write codes there
        over them.
    n_jobs : int, default=None
        Number of threads.

    Returns
    -------
    ndarray or csc_matrix
        A part of `out`; `X` itself if it is small, holds anything else, or has no rows in one
        piece. Some bytes may then have been written.
    """
    if sparse.issparse(X) or X.dtype == np.uint8 or X.size < _WORTH_BYTES:
        return X
    X = np.require(X, requirements="A")
    if X.strides[1] != X.itemsize:
        return X

    def write(first: Any, last: Any, cancel: Any = None) -> Any:
        return _core.to_bytes(X, first, last, out, first_column, cancel)

    # Most tables show in their first row that they hold something else.
    if not write(0, 1):
        return X
    whole = in_threads(write, chunks(len(X), useful_jobs(X.size, n_jobs), 4096), n_jobs)
    return out[:, first_column : first_column + X.shape[1]] if all(whole) else X


def learn_bins(
    X: np.ndarray | sparse.csc_matrix,
    *,
    n_categories: np.ndarray | None,
    rows: np.ndarray | None,
    sample_weight: np.ndarray | None,
    max_bins: int,
    out: np.ndarray,
    first_column: int,
    by_column: np.ndarray | None,
    n_jobs: int | None,
) -> Bins:
    """Find the bins of some columns of a table, and code them, by whatever is fastest.

    Parameters
    ----------
    n_categories : array of int of shape (n_columns,) or None
        Number of categories of each column, -1 of one of numbers; None if all are of numbers.
    rows : array of int or None
        The rows to find the bins on; None for all.
    X, sample_weight, max_bins, out, first_column, by_column, n_jobs
        As in `find_bins` and `apply_bins`.
    """
    place: dict[str, Any] = {
        "out": out,
        "first_column": first_column,
        "by_column": by_column,
        "n_jobs": n_jobs,
    }
    if sample_weight is None:
        few = X.shape[0] <= max_bins and rows is None and n_categories is None
        if few and isinstance(X, np.ndarray):
            return bin_by_rank(X, **place)
        X = narrowed(X, out, first_column, n_jobs)
    elif rows is not None:
        sample_weight = sample_weight[rows]
    bins = find_bins(
        X if rows is None else X[rows],
        categorical=None if n_categories is None else n_categories >= 0,
        n_categories=n_categories,
        sample_weight=sample_weight,
        max_bins=max_bins,
        n_jobs=n_jobs,
    )
    apply_bins(X, bins, **place)
    return bins


def bin_by_rank(
    X: Any,
    *,
    out: np.ndarray,
    first_column: int = 0,
    by_column: Any = None,
    n_jobs: int | None = None,
) -> Bins:
    """Bins for the columns of a table of at most 255 rows, one for each value, and their codes.

    As `find_bins` and `apply_bins` after it, but faster. No column may be one of categories.
    """
    X = np.require(X, requirements="A")
    return _by_columns(
        lambda first, last, cancel: _core.bin_by_rank(
            X, first, last, out, first_column, by_column, cancel
        ),
        X,
        n_jobs,
    )


def _by_columns(find: Any, X: Any, n_jobs: int | None) -> Bins:
    """Bins of numeric columns, from a function that finds those of a range of them."""
    ranges = chunks(X.shape[1], useful_jobs(X.size, n_jobs), 8)
    found = in_threads(find, ranges, n_jobs)
    edges, values, counts = (
        found[0] if len(found) == 1 else map(np.concatenate, zip(*found, strict=True))
    )
    start = _starts(counts)
    return Bins(edges, values, start, np.zeros(X.shape[1], np.uint8))


def _category_bins(n_categories: Any) -> Bins:
    n = max(int(n_categories), 1)
    codes = np.arange(n, dtype=np.float64)
    edges = np.append(codes[:-1] + 0.5, np.inf)
    return Bins(edges, codes, np.array([0, n]), np.ones(1, np.uint8))


def apply_bins(
    X: Any,
    bins: Bins,
    *,
    out: np.ndarray | None = None,
    first_column: int = 0,
    by_column: Any = None,
    wanted: Any = None,
    n_jobs: int | None = None,
) -> np.ndarray:
    """Code a table.

    Parameters
    ----------
    X : ndarray or csc_matrix of shape (n_rows, n_columns)
        One of `NUMERIC_DTYPES`, any strides. If sparse: floats, no cell twice, no categories.
    bins : Bins
        Those of the columns of `X`.
    out : ndarray of uint8 of shape (n_rows, n_all), default=None
        Where the codes go, from column `first_column` on; made here if None. `X` may be bytes that
        lie at just that place.
    by_column : ndarray of uint8 of shape (n_all, n_rows), default=None
        Where they go once more, transposed.
    wanted : ndarray of bool of shape (n_columns,), default=None
        The codes of other columns may stay what they are. None for all.
    n_jobs : int, default=None
        Number of threads.

    Returns
    -------
    ndarray of uint8
        `out`.
    """
    if out is None:
        out = np.empty((X.shape[0], bins.n_columns), np.uint8)
    if sparse.issparse(X):
        _apply_bins_to_sparse(X, bins, out, first_column, by_column, n_jobs)
        return out
    X = np.require(X, requirements="A")

    def code(first: Any, last: Any, cancel: Any) -> None:
        _core.apply_bins(
            X,
            bins.edges,
            bins.start,
            bins.categorical,
            first,
            last,
            out,
            first_column,
            by_column,
            wanted,
            cancel,
        )

    in_threads(code, chunks(len(X), useful_jobs(X.size, n_jobs), 4096), n_jobs)
    return out


def _apply_bins_to_sparse(
    X: Any, bins: Any, out: np.ndarray, first_column: int, by_column: Any, n_jobs: int | None
) -> None:
    given = {**_stored(X), "edges": bins.edges, "bin_start": bins.start}
    given |= {"out": out, "first_column": first_column, "by_column": by_column}
    ranges = chunks(X.shape[1], useful_jobs(X.shape[0] * X.shape[1], n_jobs), 8)
    in_threads(
        lambda first, last, cancel: _core.apply_bins_to_sparse(
            **given, first=first, last=last, cancel=cancel
        ),
        ranges,
        n_jobs,
    )
