"""Predictions by blocks of trees, in threads or on joblib's workers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol

import numpy as np
from joblib import delayed

from mddf._base.backends import in_order, shared
from mddf._base.parallel import chunks, in_threads, job_count, shares_memory
from mddf._binning.bins import Bins
from mddf._core import Cancel
from mddf._trees.arrays import TreeBlock, Trees, shares

# A traversal is one row going down one tree. Threads get at least this many traversals, which take
# about a millisecond: starting a thread takes a tenth of that.
_MIN_TRAVERSALS_PER_THREAD = 2**16
# Threads get at least this many rows: many rows go down a tree together, which fewer would not.
_MIN_ROWS_PER_THREAD = 256
# Other processes get work from this many traversals on, which take some tenths of a second:
# sending trees and rows takes longer than fewer of them.
_MIN_TRAVERSALS_FOR_PROCESSES = 2**22
# Narrower tables are coded as a whole: nearly all of their columns are split by some tree.
_MIN_COLUMNS_TO_SELECT = 256
# Time to compare one raw cell on the way down a tree, in units of the time to code one cell.
# Codes are found by binary search or, for small integers, by a table look-up, which is several
# times as fast. Rough figures that were not tuned.
_COMPARE_SLOWER_THAN_CODING = 1.25
_COMPARE_SLOWER_THAN_LOOKUP = 7


class SplitsColumns(Protocol):
    """Trees that know which columns they split: blocks of forests and of boosted trees."""

    @property
    def n_columns(self) -> int:
        """Number of columns of the table that they were grown on."""

    def mark_columns(self, out: np.ndarray) -> None:
        """Set `out` to True for the columns that they split."""


def _count_trees(trees: Iterable[TreeBlock]) -> int:
    return sum(block.n_trees for block in trees)


def _row_ranges(
    trees: Sequence[TreeBlock], n_rows: int, n_jobs: int | None
) -> list[tuple[int, int]]:
    fewest = max(_MIN_ROWS_PER_THREAD, _MIN_TRAVERSALS_PER_THREAD // max(1, _count_trees(trees)))
    return chunks(n_rows, job_count(n_jobs, n_rows // fewest), fewest)


def leaf_sums(
    trees: Sequence[TreeBlock], codes: np.ndarray, *, n_jobs: int | None = None
) -> np.ndarray:
    """Sum over the trees of the values in the leaves of the rows, of shape (n_rows, width).

    Each of the `n_jobs` takes a part of the rows. Their number does not change the result.
    """
    n_rows = len(codes)
    if n_rows * _count_trees(trees) >= _MIN_TRAVERSALS_FOR_PROCESSES and not shares_memory():
        return _leaf_sums_on_workers(trees, codes, n_jobs)
    sums = np.zeros((n_rows, trees[0].width))
    ranges = _row_ranges(trees, n_rows, n_jobs)

    def add(*, first: int, last: int, cancel: Cancel | None) -> None:
        for block in trees:
            block.reader.add_leaf_values(codes, first, last, sums, cancel)

    in_threads(add, ranges, n_jobs)
    return sums


def leaf_sums_of_numbers(
    trees: Sequence[TreeBlock], numbers: np.ndarray, bins: Bins, *, n_jobs: int | None = None
) -> np.ndarray:
    """Compute `leaf_sums` for rows that are compared with thresholds, without coding them first.

    `numbers`, of shape (n_rows, n_columns), are float64 or float32 without infinities; NaN is
    missing. `bins` belong to the table that the trees were grown on, without categorical columns.
    """
    sums = np.zeros((len(numbers), trees[0].width))

    def add(*, first: int, last: int, cancel: Cancel | None) -> None:
        for block in trees:
            block.reader.add_leaf_values_of_numbers(
                numbers, bins.edges, bins.start, first=first, last=last, out=sums, cancel=cancel
            )

    in_threads(add, _row_ranges(trees, len(numbers), n_jobs), n_jobs)
    return sums


def _leaf_sums_on_workers(
    trees: Sequence[TreeBlock], codes: np.ndarray, n_jobs: int | None
) -> np.ndarray:
    """Compute `leaf_sums` on joblib's backend in force, whose workers are sent rows and trees."""
    n_rows = len(codes)
    n_jobs = job_count(n_jobs, n_rows, require=None)
    fewest = max(1, _MIN_TRAVERSALS_FOR_PROCESSES // (4 * _count_trees(trees)))
    # Four parts for each worker, so that all of them end at about the same time.
    ranges = chunks(n_rows, 4 * n_jobs, fewest)
    (shared_trees,) = shared([trees])
    tasks = (delayed(_leaf_sums_in_one_thread)(shared_trees, codes[i:j]) for i, j in ranges)
    return np.concatenate(list(in_order(tasks, n_jobs)))


def _leaf_sums_in_one_thread(trees: Sequence[TreeBlock], codes: np.ndarray) -> np.ndarray:
    sums = np.zeros((len(codes), trees[0].width))
    for block in trees:
        block.reader.add_leaf_values(codes, 0, len(codes), sums)
    return sums


def columns_used(trees: Iterable[SplitsColumns], n_columns: int) -> np.ndarray | None:
    """Mark the columns that some tree splits: predictions need no codes of the others.

    The trees may have more than these `n_columns` columns: later layers add some on the right.
    None means all columns, if the table is not wide: nearly all columns are then used.
    """
    if n_columns < _MIN_COLUMNS_TO_SELECT:
        return None
    used = np.zeros(max((block.n_columns for block in trees), default=n_columns), bool)
    for block in trees:
        block.mark_columns(used[: block.n_columns])
    return used[:n_columns]


def prefers_raw_numbers(trees: Sequence[TreeBlock], numbers: np.ndarray, used: np.ndarray) -> bool:
    """Whether comparing raw numbers in the trees takes less time than coding the used columns.

    A row visits about as many nodes of a tree as if the tree were balanced. Whether cells can be
    coded by look-up is judged from the first row.
    """
    n_visited = sum(block.n_trees * np.log2(block.n_nodes / block.n_trees) for block in trees)
    n_used = np.count_nonzero(used)
    if n_visited * _COMPARE_SLOWER_THAN_LOOKUP < n_used:
        return True
    if n_visited * _COMPARE_SLOWER_THAN_CODING >= n_used:
        return False
    first_row = np.nan_to_num(numbers[0])
    # Columns of integers below 1024 are coded by look-up.
    is_small = (first_row >= 0) & (first_row < 1024)
    return not np.all(is_small & (first_row == np.floor(first_row)))


def means_over_trees(trees: Sequence[TreeBlock], sums: np.ndarray) -> np.ndarray:
    """Means over the trees of the values in the leaves, from the result of `leaf_sums`."""
    return shares(sums) if isinstance(trees[0], Trees) else sums / _count_trees(trees)


def forest_leaves(
    trees: Sequence[TreeBlock],
    codes: np.ndarray,
    *,
    n_jobs: int | None = None,
) -> np.ndarray:
    """Leaf of every tree that every row ends in: int64 of shape (n_rows, n_trees)."""
    leaves = [np.empty((len(codes), block.n_trees), np.int64) for block in trees]

    def write(*, first: int, last: int, cancel: Cancel | None) -> None:
        for block, block_leaves in zip(trees, leaves, strict=True):
            block.reader.leaf_indices(codes, first, last, block_leaves, cancel)

    in_threads(write, _row_ranges(trees, len(codes), n_jobs), n_jobs)
    return leaves[0] if len(trees) == 1 else np.concatenate(leaves, axis=1)
