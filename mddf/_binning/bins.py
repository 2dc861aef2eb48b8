"""Bins of numeric columns, and codes of one byte per cell."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from mddf import _core
from mddf._base.parallel import chunks, in_threads, useful_jobs
from mddf._base.serialization import register_serializable

MISSING = 255  # the code of a missing or unseen value
# Tables with fewer cells are binned so fast that converting them to bytes first does not pay.
_MIN_CELLS_TO_NARROW = 2**16
# Fewest rows or columns that a thread gets, so that starting it costs less than its work. Round
# figures that were not tuned; they do not change the result.
_ROWS_PER_THREAD = 4096
_COLUMNS_PER_THREAD = 8


@register_serializable("bins")
@dataclass(frozen=True)
class Bins:
    """Bins of the columns of a table."""

    # Upper edges of the bins of all columns, float64. A value belongs to the first bin whose edge
    # is not below it. The last edge of a column is infinite.
    edges: np.ndarray
    values: np.ndarray  # float64: represents each bin when a threshold is chosen
    # (n_columns + 1,), int64: the bins of column c are `edges[start[c]:start[c + 1]]`.
    start: np.ndarray
    # (n_columns,), uint8: whether a column holds codes of categories, which have no order.
    categorical: np.ndarray

    @property
    def n_columns(self) -> int:
        return len(self.categorical)

    def columns(self, first: int, last: int) -> Bins:
        """Bins of columns ``first`` to ``last`` (not included) only."""
        part = slice(self.start[first], self.start[last])
        return Bins(
            self.edges[part],
            self.values[part],
            self.start[first : last + 1] - self.start[first],
            self.categorical[first:last],
        )


def join_bins(*parts: Bins) -> Bins:
    """Bins of several tables side by side."""
    filled = [bins for bins in parts if bins.n_columns]
    if len(filled) == 1:
        return filled[0]
    counts = np.concatenate([np.diff(bins.start) for bins in parts])
    return Bins(
        np.concatenate([bins.edges for bins in parts]),
        np.concatenate([bins.values for bins in parts]),
        _bin_starts(counts),
        np.concatenate([bins.categorical for bins in parts]),
    )


def _bin_starts(counts: np.ndarray) -> np.ndarray:
    return np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)


def find_bins(
    X: np.ndarray | sparse.csc_matrix,
    *,
    n_categories: npt.ArrayLike | None = None,
    sample_weight: npt.ArrayLike | None = None,
    max_bins: int = 255,
    n_jobs: int | None = None,
) -> Bins:
    """Find bins for the columns of a table.

    A numeric column with at most `max_bins` distinct values gets one bin for each value. Other
    numeric columns get bins of about equal weight. A categorical column gets one bin per category.

    `X` has one of `NUMERIC_DTYPES` and any strides; NaN is missing. A sparse matrix must hold
    floats, each cell once, and no categories. `n_categories` has the number of categories of each
    column, whose cells are codes 0, 1, ..., and -1 for numeric ones; None if all are numeric. A
    row of weight k counts as k rows, and rows of weight 0 are ignored.
    """
    if sparse.issparse(X):
        if sample_weight is None:
            return _bins_of_sparse(X, max_bins, n_jobs)
        X = X.toarray()  # type: ignore[union-attr]
    X = np.require(X, requirements="A")
    if sample_weight is not None:
        sample_weight = np.ascontiguousarray(sample_weight, dtype=np.float64)
        if len(sample_weight) and sample_weight.min() == sample_weight.max() > 0:
            sample_weight = None  # equal weights give the same bins, but sums are rounded
    find = partial(_core.find_bins, x=X, weights=sample_weight, max_bins=max_bins)
    bins = _by_columns(find, X, n_jobs)
    if n_categories is None:
        return bins
    column_bins = [
        _category_bins(n_codes) if n_codes >= 0 else bins.columns(c, c + 1)
        for c, n_codes in enumerate(np.asarray(n_categories).tolist())
    ]
    return join_bins(*column_bins)


def _kernel_arguments(X: sparse.csc_matrix) -> dict[str, Any]:
    """Arguments by which the kernel reads a sparse matrix."""
    return {
        "cells": np.require(X.data, requirements=["A", "C"]),
        "rows": X.indices.astype(np.int32, copy=False),
        "start": X.indptr.astype(np.int64),  # a copy, which other threads cannot change
        "n_rows": X.shape[0],
    }


def _bins_of_sparse(X: sparse.csc_matrix, max_bins: int, n_jobs: int | None) -> Bins:
    """Bins of a sparse matrix. Columns with many distinct values are converted to dense ones."""
    stored = _kernel_arguments(X)
    find = partial(_core.find_bins_of_sparse, **stored, max_bins=max_bins)
    bins = _by_columns(find, X, n_jobs)
    counts = np.diff(bins.start)
    has_many = counts == 0
    if not has_many.any():
        return bins
    dense_bins = find_bins(X[:, has_many].toarray(), max_bins=max_bins, n_jobs=n_jobs)
    counts[has_many] = np.diff(dense_bins.start)
    start = _bin_starts(counts)
    is_dense = np.repeat(has_many, counts)
    edges = np.empty(start[-1])
    edges[is_dense] = dense_bins.edges
    edges[~is_dense] = bins.edges
    values = np.empty(start[-1])
    values[is_dense] = dense_bins.values
    values[~is_dense] = bins.values
    return Bins(edges, values, start, bins.categorical)


def narrowed(
    X: np.ndarray | sparse.csc_matrix,
    out: np.ndarray,
    first_column: int = 0,
    n_jobs: int | None = None,
) -> np.ndarray | sparse.csc_matrix:
    """Convert a large table of whole numbers from 0 to 255 to bytes, whose bins are found faster.

    The bytes are written to `out`, from column `first_column` on, and that part of `out` is
    returned. `apply_bins` may then overwrite it by codes. If `X` is small, holds other values, or
    its rows are not contiguous, `X` itself is returned; some of `out` may have been overwritten.
    """
    if sparse.issparse(X) or X.dtype == np.uint8 or X.size < _MIN_CELLS_TO_NARROW:
        return X
    X = np.require(X, requirements="A")
    if X.strides[1] != X.itemsize:
        return X
    write = partial(_core.to_bytes, x=X, out=out, first_column=first_column)
    # In most tables, the first row already has a value that does not fit a byte.
    if not write(first=0, last=1):
        return X
    ranges = chunks(len(X), useful_jobs(X.size, n_jobs), _ROWS_PER_THREAD)
    is_narrow = in_threads(write, ranges, n_jobs)
    return out[:, first_column : first_column + X.shape[1]] if all(is_narrow) else X


def learn_bins(
    X: np.ndarray | sparse.csc_matrix,
    *,
    n_categories: np.ndarray | None,
    sample_weight: np.ndarray | None,
    max_bins: int,
    out: np.ndarray,
    first_column: int,
    by_column: np.ndarray | None,
    n_jobs: int | None,
) -> Bins:
    """Find the bins of some columns and code them, in the fastest way.

    The parameters are explained in `find_bins` and `apply_bins`.
    """
    if sample_weight is None:
        can_rank = X.shape[0] <= max_bins and n_categories is None
        if can_rank and isinstance(X, np.ndarray):
            return bin_by_rank(
                X, out=out, first_column=first_column, by_column=by_column, n_jobs=n_jobs
            )
        X = narrowed(X, out, first_column, n_jobs)
    bins = find_bins(
        X,
        n_categories=n_categories,
        sample_weight=sample_weight,
        max_bins=max_bins,
        n_jobs=n_jobs,
    )
    apply_bins(X, bins, out=out, first_column=first_column, by_column=by_column, n_jobs=n_jobs)
    return bins


def bin_by_rank(
    X: np.ndarray,
    *,
    out: np.ndarray,
    first_column: int = 0,
    by_column: np.ndarray | None = None,
    n_jobs: int | None = None,
) -> Bins:
    """Find the bins of a table of at most 255 rows, one for each value, and code it.

    This is a faster `find_bins` and `apply_bins`. No column may be categorical.
    """
    X = np.require(X, requirements="A")
    find = partial(_core.bin_by_rank, x=X, out=out, first_column=first_column, by_column=by_column)
    return _by_columns(find, X, n_jobs)


def _by_columns(
    find: Callable[..., Any],
    X: np.ndarray | sparse.csc_matrix,
    n_jobs: int | None,
) -> Bins:
    """Bins of numeric columns, from a function that finds the bins of a range of columns."""
    ranges = chunks(X.shape[1], useful_jobs(X.size, n_jobs), _COLUMNS_PER_THREAD)
    results = in_threads(find, ranges, n_jobs)
    edges, values, counts = (
        results[0] if len(results) == 1 else map(np.concatenate, zip(*results, strict=True))
    )
    start = _bin_starts(counts)
    return Bins(edges, values, start, np.zeros(X.shape[1], np.uint8))


def _category_bins(n_categories: int) -> Bins:
    n = max(n_categories, 1)
    codes = np.arange(n, dtype=np.float64)
    edges = np.append(codes[:-1] + 0.5, np.inf)
    return Bins(edges, codes, np.array([0, n]), np.ones(1, np.uint8))


def apply_bins(
    X: np.ndarray | sparse.csc_matrix,
    bins: Bins,
    *,
    out: np.ndarray | None = None,
    first_column: int = 0,
    by_column: np.ndarray | None = None,
    wanted: np.ndarray | None = None,
    n_jobs: int | None = None,
) -> np.ndarray:
    """Code a table; see `find_bins` for `X`.

    `out`, uint8 of shape (n_rows, n_all), receives the codes from column `first_column` on, and is
    returned; `X` may be these very columns of bytes. `by_column`, of shape (n_all, n_rows), also
    receives the codes, transposed. Columns that are not `wanted` may stay as they are in `out`.
    """
    if out is None:
        out = np.empty((X.shape[0], bins.n_columns), np.uint8)
    if sparse.issparse(X):
        code = partial(
            _core.apply_bins_to_sparse,
            **_kernel_arguments(X),
            edges=bins.edges,
            bin_start=bins.start,
            out=out,
            first_column=first_column,
            by_column=by_column,
        )
        n_cells = X.shape[0] * X.shape[1]
        ranges = chunks(X.shape[1], useful_jobs(n_cells, n_jobs), _COLUMNS_PER_THREAD)
    else:
        code = partial(
            _core.apply_bins,
            x=np.require(X, requirements="A"),
            edges=bins.edges,
            bin_start=bins.start,
            categorical=bins.categorical,
            out=out,
            first_column=first_column,
            by_column=by_column,
            wanted=wanted,
        )
        ranges = chunks(len(X), useful_jobs(X.size, n_jobs), _ROWS_PER_THREAD)
    in_threads(code, ranges, n_jobs)
    return out
