"""Growing trees in parallel."""

from __future__ import annotations

from collections import deque
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from time import monotonic
from typing import Any

import numpy as np

from mddf import _core
from mddf._base.backends import in_order, shared
from mddf._base.parallel import (
    Task,
    TimeIsUp,
    from_threads,
    job_count,
    progress_bar,
    shares_memory,
    stopped_at,
    stopped_on_error,
)
from mddf._base.serialization import register_serializable
from mddf._binning.binned_table import BinnedTable, received_table, shared_table
from mddf._core import Cancel, Cancelled, HeldOut, ValueTarget
from mddf._core import ClassTarget as ClassTarget
from mddf._core import Sampling as Sampling
from mddf._core import TreeOptions as TreeOptions
from mddf._trees.arrays import Trees, ValueTrees, shares, trees_from_reader

# The kernel keeps depths in 32 bits.
NO_DEPTH_LIMIT = 2**31 - 1
OUT_OF_BAG = HeldOut.OUT_OF_BAG
# Limits of the trees of a block. A block is in memory twice until its trees are joined, so that it
# has trees of at most 2**22 rows in total. With at most 64 trees, the progress bar and deadlines
# are checked often. Not tuned.
_MAX_ROWS_PER_BLOCK = 2**22
_MAX_TREES_PER_BLOCK = 64
# Number of calls for each worker, so that all workers end at about the same time. Not tuned.
_CALLS_PER_JOB = 8
# Largest number of trees of a call if there is a deadline, which discards the trees of unfinished
# calls. Not tuned.
_MAX_TREES_BEFORE_DEADLINE = 3


@dataclass(frozen=True)
class TreeJob:
    """Trees that are grown alike."""

    seeds: np.ndarray  # uint64, one per tree
    options: TreeOptions
    sampling: Sampling
    columns: np.ndarray | None = None  # int32: columns that may be split; None for all
    # Rows to predict: a fixed set, or for every tree the rows that it did not draw.
    held_out: np.ndarray | HeldOut | None = None
    importances: bool = False  # whether to sum up the columns' decreases of impurity
    keep: bool = True  # whether to return the trees, and not only the predictions


@register_serializable("growth result")
@dataclass
class GrowthResult:
    """Trees of a job and their predictions of the held-out rows."""

    trees: list[Any] = field(default_factory=list)  # empty if the job does not keep its trees
    # (n_held_out, n_classes): sums over the trees of the class distributions of the held-out rows;
    # if these are out of bag, there is a row for each of `sampling.rows`. In regression each
    # output has two columns, a coarse and a fine part, whose sum is the sum of the predictions.
    sums: np.ndarray | None = None
    n_trees: np.ndarray | None = None  # (n_held_out,), int32: number of trees in each sum
    # (n_columns,): sum over the trees of their importances, of sum 1 for a tree with splits.
    importances: np.ndarray | None = None

    def held_out_probabilities(self) -> np.ndarray:
        """Mean class distribution of the held-out rows; NaN for a row that every tree drew."""
        assert self.sums is not None
        return shares(self.sums)

    def merge(self, piece: _GrownPiece) -> None:
        """Add a piece, and take its arrays: joblib holds a result until the next one is ready."""
        if piece.trees is not None:
            self.trees.append(piece.trees)
        if piece.sums is not None:
            self._merge_sums(piece.sums, piece.n_trees)
        if piece.importances is not None:
            self._merge_importances(piece.importances)
        piece.clear()

    def join_trees(self, n_blocks: int) -> None:
        """Join the last blocks of trees to one."""
        if n_blocks > 1 and self.trees:
            blocks = self.trees[-n_blocks:]
            self.trees[-n_blocks:] = [type(blocks[0]).joined(blocks)]

    def merge_trees(self, trees: Trees | ValueTrees, importances: np.ndarray) -> None:
        """Add a block of trees, and the importances of each of its trees."""
        self.merge(_GrownPiece(trees, None, None, importances))

    def _merge_sums(self, sums: np.ndarray, n_trees: np.ndarray | None) -> None:
        # Sums are exact in any order: probabilities in leaves are multiples of 2^-30, and the two
        # parts of a mean also have such a unit.
        if self.sums is None or self.n_trees is None:
            # Arrays from another process may be read-only, and later pieces are added to them.
            self.sums = np.require(sums, requirements="W")
            self.n_trees = np.require(n_trees, requirements="W")
        else:
            self.sums += sums
            self.n_trees += n_trees

    def _merge_importances(self, importances: np.ndarray) -> None:
        tree_importances = np.maximum(importances, 0)
        totals = tree_importances.sum(axis=1, keepdims=True)
        np.divide(tree_importances, totals, out=tree_importances, where=totals > 0)
        # These sums are rounded: trees are added in their order, however they are cut in pieces.
        if self.importances is not None:
            tree_importances = np.vstack([self.importances, tree_importances])
        self.importances = tree_importances.sum(axis=0)


@dataclass
class _GrownPiece:
    """Result of one call of the kernel; see `GrowthResult`, importances are by tree."""

    trees: Trees | ValueTrees | None
    sums: np.ndarray | None
    n_trees: np.ndarray | None
    importances: np.ndarray | None

    def clear(self) -> None:
        self.trees = self.sums = self.n_trees = self.importances = None


# Number of a job, and its trees [first, last), which one call of the kernel grows.
_Piece = tuple[int, int, int]


def _grow_piece(
    table: Any,
    new_columns: Any,
    target: ClassTarget | ValueTarget,
    job: TreeJob,
    *,
    first: int,
    last: int,
    cancel: Cancel,
) -> _GrownPiece:
    reader, sums, n_trees, importances = _core.grow(
        received_table(table, new_columns).cells,
        target,
        job.sampling,
        job.options,
        job.seeds[first:last],
        columns=job.columns,
        held_out=job.held_out,
        importances=job.importances,
        cancel=cancel,
    )
    trees = trees_from_reader(reader) if job.keep else None
    return _GrownPiece(trees, sums, n_trees, importances)


class _Workers:
    """Grow pieces of jobs in threads, or on workers of joblib that get the data once."""

    def __init__(
        self,
        table: BinnedTable,
        target: ClassTarget | ValueTarget,
        jobs: Sequence[TreeJob],
        n_jobs: int,
    ) -> None:
        target_and_jobs = shared([target, *jobs])
        self._table = shared_table(table)
        self._target = target_and_jobs[0]
        self._jobs = target_and_jobs[1:]
        self._n_jobs = n_jobs

    def grow(self, pieces: Sequence[_Piece], cancel: Cancel) -> Iterator[_GrownPiece]:
        """Yield the results in the order of the pieces."""
        tasks: Iterator[Task] = (
            (
                _grow_piece,
                (*self._table, self._target, self._jobs[job_index]),
                {"first": first, "last": last, "cancel": cancel},
            )
            for job_index, first, last in pieces
        )
        if shares_memory():
            return from_threads(tasks, self._n_jobs, cancel)
        return iter(in_order(tasks, self._n_jobs))


def most_trees_of_block(n_rows: int) -> int:
    """Number of trees of each block of a forest, except the last, for a table of `n_rows`."""
    return max(1, min(_MAX_TREES_PER_BLOCK, _MAX_ROWS_PER_BLOCK // max(1, n_rows)))


def _cut_into_blocks(
    jobs: Sequence[TreeJob], n_jobs: int, trees_per_block: int
) -> Iterator[list[_Piece]]:
    """Cut jobs into blocks, one after the other, and blocks into enough pieces for all workers.

    Blocks do not depend on `n_jobs`, so that a model has the same arrays for every number.
    """
    n_trees = sum(len(job.seeds) for job in jobs)
    size = max(1, -(-n_trees // (_CALLS_PER_JOB * n_jobs))) if n_jobs > 1 else trees_per_block
    for job_index, job in enumerate(jobs):
        for start in range(0, len(job.seeds), trees_per_block):
            end = min(start + trees_per_block, len(job.seeds))
            yield [(job_index, first, min(first + size, end)) for first in range(start, end, size)]


def _cut_across_jobs(jobs: Sequence[TreeJob], trees_per_block: int) -> list[_Piece]:
    """Cut all jobs alike: the first tree of each, then the next few of each, and so on."""
    most = max((len(job.seeds) for job in jobs), default=0)
    step = min(_MAX_TREES_BEFORE_DEADLINE, trees_per_block)
    return [
        (job_index, first, min(last, len(job.seeds)))
        for first, last in pairwise([0, *range(1, most, step), most])
        for job_index, job in enumerate(jobs)
        if first < len(job.seeds)
    ]


def _grow_until(
    table: BinnedTable,
    target: ClassTarget | ValueTarget,
    jobs: Sequence[TreeJob],
    *,
    until: float,
    whole: bool,
    n_jobs: int | None,
) -> list[GrowthResult]:
    """Grow a few trees of each job at a time, until a deadline; see :func:`growing`."""
    pieces = _cut_across_jobs(jobs, most_trees_of_block(table.n_rows))
    workers = _Workers(table, target, jobs, job_count(n_jobs, len(pieces), require=None))
    results = [GrowthResult() for _ in jobs]

    def grow_pieces(pieces: Sequence[_Piece], end: float) -> None:
        with stopped_on_error() as cancel, stopped_at(end, cancel):
            grown_pieces = workers.grow(pieces, cancel)
            for number, (job_index, *_) in enumerate(pieces, 1):
                results[job_index].merge(next(grown_pieces))
                if monotonic() > end and number < len(pieces):
                    raise Cancelled

    # Partial results are only useful if every job has a tree, so the first trees have no deadline.
    n_without_deadline = 0 if whole else len(jobs)
    grow_pieces(pieces[:n_without_deadline], np.inf)
    try:
        grow_pieces(pieces[n_without_deadline:], until)
    except Cancelled:
        if whole:
            raise TimeIsUp from None
    return results


def growing(
    table: BinnedTable,
    target: ClassTarget | ValueTarget,
    jobs: Sequence[TreeJob],
    *,
    n_jobs: int | None = None,
    verbose: bool | int = False,
    description: str = "growing",
    until: float = np.inf,
    whole: bool = False,
) -> Generator[GrowthResult]:
    """Grow trees in parallel and yield the result of each job as soon as it is complete.

    The jobs grow on while a result is used: close the generator if that fails. `n_jobs` is the
    number of threads, or of workers of the joblib backend in force. `until` is a deadline by the
    clock `monotonic`, with which there is no progress bar. If a part of the trees is of no use
    (`whole`), `TimeIsUp` is raised at the deadline; if not, each job grows at least one tree,
    however long this takes.
    """
    if until < np.inf:
        yield from _grow_until(table, target, jobs, until=until, whole=whole, n_jobs=n_jobs)
        return
    total = sum(len(job.seeds) for job in jobs)
    n_jobs = job_count(n_jobs, total, require=None)
    blocks = deque(_cut_into_blocks(jobs, n_jobs, most_trees_of_block(table.n_rows)))
    workers = _Workers(table, target, jobs, n_jobs)
    optional_bar = progress_bar(total, description, "tree", shown=verbose)
    with stopped_on_error() as cancel, optional_bar as bar:
        grown_pieces = workers.grow([piece for block in blocks for piece in block], cancel)
        for job_index in range(len(jobs)):
            # In a list, from which it is popped: this frame does not hold it while the next grows.
            result = [GrowthResult()]
            while blocks and blocks[0][0][0] == job_index:
                pieces = blocks.popleft()
                for _, first, last in pieces:
                    result[0].merge(next(grown_pieces))
                    bar.update(last - first)
                result[0].join_trees(len(pieces))
            yield result.pop()


def grow(
    table: BinnedTable,
    target: ClassTarget | ValueTarget,
    jobs: Sequence[TreeJob],
    **options: Any,
) -> list[GrowthResult]:
    return list(growing(table, target, jobs, **options))


def draw_seeds(entropy: Any, n: int) -> np.ndarray:
    """Return the first `n` seeds of a stream.

    A longer stream from the same entropy begins with the same seeds, so that a forest that grows
    on has the trees of a larger one.
    """
    return np.random.SeedSequence(entropy).generate_state(int(n), np.uint64)
