"""Asking trees about rows, in parallel."""

from __future__ import annotations

from typing import Any

import numpy as np
from joblib import delayed

from mddf._base.backends import in_order, shared
from mddf._base.parallel import chunks, in_threads, job_count, shares_memory
from mddf._trees.arrays import Numbers, Trees, shares

# So many ways of a row down a tree, about a millisecond, are worth a thread.
_FEW_WALKS = 2**16
# And so many, some tenth of a second, are worth sending trees and rows to other processes.
_MANY_WALKS = 2**22
# Tables of so many columns have some that no tree asks for.
_WIDE = 256


def _row_ranges(trees: Any, n_rows: int, n_jobs: int | None) -> list[tuple[int, int]]:
    """Parts of the rows for the threads that send them down the trees."""
    n_trees = sum(block.n_trees for block in trees)
    least = max(256, _FEW_WALKS // max(1, n_trees))
    return chunks(n_rows, job_count(n_jobs, n_rows // least), least)


def _sums(method: str, trees: Any, codes: np.ndarray, n_columns: int) -> np.ndarray:
    sums = np.zeros((len(codes), n_columns))
    for block in trees:
        getattr(block, method)(codes, 0, len(codes), sums)
    return sums


def _add(
    method: str, trees: Any, codes: np.ndarray | Numbers, out: np.ndarray, n_jobs: int | None
) -> None:
    """Add what the trees say to `out`: in threads, or many rows where joblib's backend has it."""
    n_rows, n_trees = len(codes), sum(block.n_trees for block in trees)
    if n_rows * n_trees < _MANY_WALKS or isinstance(codes, Numbers) or shares_memory():

        def work(first: Any, last: Any, cancel: Any) -> None:
            for block in trees:
                getattr(block, method)(codes, first, last, out, cancel)

        in_threads(work, _row_ranges(trees, n_rows, n_jobs), n_jobs)
        return
    n_jobs = job_count(n_jobs, n_rows, require=None)
    ranges = chunks(n_rows, 4 * n_jobs, max(1, _MANY_WALKS // (4 * n_trees)))
    (of_trees,) = shared([trees])
    tasks = (delayed(_sums)(method, of_trees, codes[i:j], out.shape[1]) for i, j in ranges)
    for (first, last), sums in zip(ranges, in_order(tasks, n_jobs), strict=True):
        out[first:last] += sums


def add_probabilities(
    trees: Any, codes: np.ndarray | Numbers, out: np.ndarray, *, n_jobs: int | None = None
) -> None:
    """Add the sum of the trees' class distributions to an array.

    Parameters
    ----------
    trees : list of Trees
    codes : ndarray of uint8 of shape (n_rows, n_columns) or Numbers
    out : ndarray of float64 of shape (n_rows, n_classes)
    n_jobs : int, default=None
        Number of jobs; each takes a part of the rows.
    """
    _add("add_probabilities", trees, codes, out, n_jobs)


def add_values(
    trees: Any, codes: np.ndarray | Numbers, out: np.ndarray, *, n_jobs: int | None = None
) -> None:
    """Add the sum of the trees' means to an array of zeros, as `add_probabilities` does."""
    _add("add_values", trees, codes, out, n_jobs)


def columns_used(trees: Any, n_columns: int) -> np.ndarray | None:
    """Which columns some tree splits on: the others need no codes for predictions.

    Parameters
    ----------
    trees : iterable of Trees or of ValueTrees
        Of `n_columns` columns or more.
    n_columns : int

    Returns
    -------
    ndarray of bool of shape (n_columns,) or None
        None if the table is not wide: most columns are then used.
    """
    if n_columns < _WIDE:
        return None
    used = np.zeros(max((block.n_columns for block in trees), default=n_columns), bool)
    for block in trees:
        block.mark_columns(used[: block.n_columns])
    return used[:n_columns]


def need_no_codes(trees: Any, numbers: np.ndarray, wanted: np.ndarray) -> bool:
    """Whether trees are asked faster about numbers than about codes of the wanted columns.

    Trees ask for about as many cells of a row as if they were balanced. To look at one takes a bit
    longer than to code one, and much longer if that is a small whole number, as in the first row.
    """
    cells = sum(block.n_trees * np.log2(block.n_nodes / block.n_trees) for block in trees)
    n_wanted = np.count_nonzero(wanted)
    if cells * 7 < n_wanted:
        return True
    if cells * 1.25 >= n_wanted:
        return False
    first = np.nan_to_num(numbers[0])
    return not np.all((first >= 0) & (first < 1024) & (first == np.floor(first)))


def mean_vectors(
    trees: Any, codes: np.ndarray | Numbers, n_columns: int, *, n_jobs: int | None = None
) -> np.ndarray:
    """Mean over trees of what their leaves hold: class distributions, or means of numbers.

    Parameters
    ----------
    trees : list of Trees or of ValueTrees
    codes : ndarray of uint8 of shape (n_rows, n_features) or Numbers
    n_columns : int
        Classes or outputs.
    n_jobs : int, default=None

    Returns
    -------
    ndarray of shape (n_rows, n_columns)
    """
    sums = np.zeros((len(codes), n_columns))
    if isinstance(trees[0], Trees):
        add_probabilities(trees, codes, sums, n_jobs=n_jobs)
        return shares(sums)
    add_values(trees, codes, sums, n_jobs=n_jobs)
    return sums / sum(block.n_trees for block in trees)


def leaf_indices(trees: Any, codes: np.ndarray, *, n_jobs: int | None = None) -> np.ndarray:
    """The leaf of every tree that every row ends in: int64 of shape (n_rows, n_trees)."""
    parts = [np.empty((len(codes), block.n_trees), np.int64) for block in trees]

    def work(first: Any, last: Any, cancel: Any) -> None:
        for block, part in zip(trees, parts, strict=True):
            block.leaf_indices(codes, first, last, part, cancel)

    in_threads(work, _row_ranges(trees, len(codes), n_jobs), n_jobs)
    return parts[0] if len(parts) == 1 else np.hstack(parts)
