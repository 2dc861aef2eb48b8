"""Growing trees in parallel, and asking them."""

from __future__ import annotations

from collections import deque
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from joblib import delayed

from mddf import _core
from mddf._base.parallel import (
    Task,
    chunks,
    from_threads,
    in_threads,
    job_count,
    progress_bar,
    shares_memory,
    stopped_on_error,
)
from mddf._core import Cancel, ClassTarget, HeldOut, Sampling, TreeOptions, ValueTarget
from mddf._data.binning import BinnedTable
from mddf._trees.arrays import Numbers, Trees, grown_trees
from mddf._trees.backends import in_order, received_table, shared, shared_table

NO_DEPTH_LIMIT = 2**31 - 1
OUT_OF_BAG = HeldOut.OUT_OF_BAG
# So many ways of a row down a tree, about a millisecond, are worth a thread.
_FEW_WALKS = 2**16
# And so many, some tenth of a second, are worth sending trees and rows to other processes.
_MANY_WALKS = 2**22
# Tables of so many columns have some that no tree asks for.
_WIDE = 256
# A thread grows trees of at most so many rows in all at once: what they take is there twice until
# they are done.
_MOST_ROWS = 2**22


@dataclass(frozen=True)
class Block:
    """Trees that are grown alike.

    Attributes
    ----------
    seeds : ndarray of uint64
        One per tree.
    options : TreeOptions
    sampling : Sampling
    columns : ndarray of int32 or None
        The columns that may be split; None for all.
    held_out : ndarray of int32, OUT_OF_BAG or None
        Rows whose predictions are wanted: these, or for every tree those it did not draw.
    importances : bool
        Whether the columns' decrease of impurity is wanted.
    keep : bool
        Whether the trees are wanted, and not only what they say of the rows held out.
    """

    seeds: np.ndarray
    options: TreeOptions
    sampling: Sampling
    columns: np.ndarray | None = None
    held_out: np.ndarray | HeldOut | None = None
    importances: bool = False
    keep: bool = True


@dataclass
class Grown:
    """What became of a block.

    Attributes
    ----------
    trees : list of Trees or of ValueTrees
    sums : ndarray of shape (n_held_out, n_classes) or None
        Sums over trees of the class distributions of the rows held out; out of bag: of
        ``sampling.rows``. Of numbers: two columns for each output, whose sum is meant.
    n_trees : ndarray of int32 of shape (n_held_out,) or None
        How many trees each sum has.
    importances : ndarray of shape (n_columns,) or None
        Sum over trees of each tree's importances, which sum to 1 for a tree with splits.
    """

    trees: list[Any] = field(default_factory=list)
    sums: np.ndarray | None = None
    n_trees: np.ndarray | None = None
    importances: np.ndarray | None = None

    def held_out_probabilities(self) -> np.ndarray:
        """Mean class distribution of the rows held out; NaN for a row that no tree left out."""
        assert self.sums is not None
        return shares(self.sums)


def shares(sums: np.ndarray) -> np.ndarray:
    """Rows of sums over trees, scaled to sum 1; NaN where there was no tree.

    Leaves hold probabilities in single precision, so that the number of trees would not do.
    """
    with np.errstate(invalid="ignore"):
        return sums / sums.sum(axis=1, keepdims=True)


def _grow_chunk(
    table, new, target: ClassTarget | ValueTarget, block: Block, first, last, cancel: Cancel
):
    reader, sums, n_trees, importances = _core.grow(
        received_table(table, new).cells,
        target,
        block.sampling,
        block.options,
        block.seeds[first:last],
        columns=block.columns,
        held_out=block.held_out,
        importances=block.importances,
        cancel=cancel,
    )
    trees = grown_trees(reader) if block.keep else None
    return [trees, sums, n_trees, importances]


def _collect(grown: Grown, chunk: list) -> None:
    """Add what has been grown, and empty the list: joblib holds it until the next one is there."""
    trees, sums, n_trees, importances = chunk
    chunk.clear()
    if trees is not None:
        grown.trees.append(trees)
    if sums is not None:
        # Exact in any order: the probabilities in leaves are multiples of 2^-30, and means come in
        # two parts that have such a unit, too.
        if grown.sums is None:
            # Arrays from another process may be read-only, so that nothing is added to them.
            grown.sums, grown.n_trees = (np.require(a, requirements="W") for a in (sums, n_trees))
        else:
            grown.sums += sums
            grown.n_trees += n_trees
    if importances is not None:
        of_trees = np.maximum(importances, 0)
        totals = of_trees.sum(axis=1, keepdims=True)
        np.divide(of_trees, totals, out=of_trees, where=totals > 0)
        if grown.importances is not None:  # one after the other, whatever the chunks
            of_trees = np.vstack([grown.importances, of_trees])
        grown.importances = of_trees.sum(axis=0)


def _pieces(blocks: Sequence[Block], n_jobs: int, most: int) -> Iterator[tuple[int, int, int]]:
    """Parts of blocks that are grown by one call each: enough of them to keep all jobs busy."""
    n_trees = sum(len(block.seeds) for block in blocks)
    size = max(1, min(most, -(-n_trees // (8 * n_jobs)) if n_jobs > 1 else n_trees))
    for index, block in enumerate(blocks):
        for first in range(0, len(block.seeds), size):
            yield index, first, min(first + size, len(block.seeds))


def growing(
    table: BinnedTable,
    target: ClassTarget | ValueTarget,
    blocks: Sequence[Block],
    *,
    n_jobs: int | None = None,
    verbose: bool | int = False,
    description: str = "growing",
) -> Generator[Grown]:
    """Grow blocks of trees in parallel: in threads, or as a joblib backend in force has it.

    Parameters
    ----------
    table : BinnedTable
    target : ClassTarget or ValueTarget
        Of every row of the table.
    blocks : sequence of Block
    n_jobs : int, default=None
        Number of jobs, as joblib understands it. Does not change the result.
    verbose : bool, default=False
        Show a progress bar that counts trees.
    description : str
        What the bar says.

    Yields
    ------
    Grown
        Of each block, as soon as it is there. Close the generator where work on these may fail:
        the others grow on until then.
    """
    total = sum(len(block.seeds) for block in blocks)
    n_jobs = job_count(n_jobs, total, require=None)
    most, at_home = 64, shares_memory()
    if at_home:
        most = max(1, min(most, _MOST_ROWS // max(1, table.n_rows)))
    pieces = deque(_pieces(blocks, n_jobs, most))
    everywhere = shared_table(table)
    of_target, *of_blocks = shared([target, *blocks])
    shown_bar = progress_bar(total, description, "tree", shown=verbose)
    with stopped_on_error() as cancel, shown_bar as bar:
        tasks: Iterator[Task] = (
            (_grow_chunk, (*everywhere, of_target, of_blocks[i], first, last, cancel), {})
            for i, first, last in tuple(pieces)
        )
        results = from_threads(tasks, n_jobs, cancel) if at_home else in_order(tasks, n_jobs)
        arriving = iter(results)
        for index in range(len(blocks)):
            grown = [Grown()]
            while pieces and pieces[0][0] == index:
                _, first, last = pieces.popleft()
                _collect(grown[0], next(arriving))
                bar.update(last - first)
            yield grown.pop()  # not held here while the next one grows


def grow(table, target, blocks, **options) -> list[Grown]:
    """The same, all at once."""
    return list(growing(table, target, blocks, **options))


def out_of_bag(
    table: BinnedTable,
    target: ClassTarget | ValueTarget,
    block: Block,
    trees: Sequence[Any],
    n_jobs: int | None = None,
) -> Grown:
    """The out-of-bag sums of trees that were grown without them.

    Parameters
    ----------
    table : BinnedTable
        What the trees were grown on.
    target : ClassTarget or ValueTarget
    block : Block
        Seeds and sampling of the trees, as they were grown.
    trees : list of Trees or of ValueTrees
    n_jobs : int, default=None

    Returns
    -------
    Grown
        The sums and numbers of trees that `grow` gives with ``held_out=OUT_OF_BAG``.
    """
    rows, one_leaf = block.sampling.rows, TreeOptions(max_depth=0)
    parts = 1 if isinstance(trees[0], Trees) else 2
    sums = np.zeros((len(rows), parts * trees[0].width))
    n_trees = np.zeros(len(rows), np.int32)
    with stopped_on_error() as cancel:
        every_tree = (tree for some in trees for tree in some.each())
        for seed, tree in zip(block.seeds, every_tree, strict=True):
            # Rows are drawn before a tree grows: one of a single leaf has the same sample.
            _, _, left_out, _ = _core.grow(
                table.cells,
                target,
                block.sampling,
                one_leaf,
                np.array([seed]),
                held_out=OUT_OF_BAG,
                cancel=cancel,
            )
            assert left_out is not None
            seen = np.flatnonzero(left_out)
            found = np.zeros((len(seen), tree.width))
            add = add_probabilities if parts == 1 else add_values
            add([tree], table.codes[rows[seen]], found, n_jobs=n_jobs)
            sums[seen] += found if parts == 1 else _in_two_parts(found)
            n_trees[seen] += 1
    return Grown(sums=sums, n_trees=n_trees)


def _in_two_parts(values: np.ndarray) -> np.ndarray:
    """Two columns for each, whose sums are exact, as `add_leaf_exactly` of the kernel has them."""
    coarse = np.ldexp(np.rint(np.ldexp(values, 33)), -33)
    fine = np.ldexp(np.rint(np.ldexp(values - coarse, 66)), -66)
    return np.stack([coarse, fine], axis=2).reshape(len(values), -1)


def _row_ranges(trees, n_rows: int, n_jobs) -> list[tuple[int, int]]:
    """Parts of the rows for the threads that send them down the trees."""
    n_trees = sum(block.n_trees for block in trees)
    least = max(256, _FEW_WALKS // max(1, n_trees))
    return chunks(n_rows, job_count(n_jobs, n_rows // least), least)


def _sums(method: str, trees, codes: np.ndarray, n_columns: int) -> np.ndarray:
    sums = np.zeros((len(codes), n_columns))
    for block in trees:
        getattr(block, method)(codes, 0, len(codes), sums)
    return sums


def _add(method: str, trees, codes, out: np.ndarray, n_jobs) -> None:
    """Add what the trees say to `out`: in threads, or many rows where joblib's backend has it."""
    n_rows, n_trees = len(codes), sum(block.n_trees for block in trees)
    if n_rows * n_trees < _MANY_WALKS or isinstance(codes, Numbers) or shares_memory():

        def work(first, last, cancel):
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


def add_probabilities(trees, codes: np.ndarray | Numbers, out: np.ndarray, *, n_jobs=None) -> None:
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


def add_values(trees, codes: np.ndarray | Numbers, out: np.ndarray, *, n_jobs=None) -> None:
    """Add the sum of the trees' means to an array of zeros, as `add_probabilities` does."""
    _add("add_values", trees, codes, out, n_jobs)


def columns_used(trees, n_columns: int) -> np.ndarray | None:
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


def need_no_codes(trees, numbers: np.ndarray, wanted: np.ndarray) -> bool:
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


def mean_vectors(trees, codes: np.ndarray, n_columns: int, *, n_jobs=None) -> np.ndarray:
    """Mean over trees of what their leaves hold: class distributions, or means of numbers.

    Parameters
    ----------
    trees : list of Trees or of ValueTrees
    codes : ndarray of uint8 of shape (n_rows, n_columns)
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


def leaf_indices(trees, codes: np.ndarray, *, n_jobs=None) -> np.ndarray:
    """The leaf of every tree that every row ends in: int64 of shape (n_rows, n_trees)."""
    parts = [np.empty((len(codes), block.n_trees), np.int64) for block in trees]

    def work(first, last, cancel):
        for block, part in zip(trees, parts, strict=True):
            block.leaf_indices(codes, first, last, part, cancel)

    in_threads(work, _row_ranges(trees, len(codes), n_jobs), n_jobs)
    return parts[0] if len(parts) == 1 else np.hstack(parts)


def draw_seeds(entropy, n: int) -> np.ndarray:
    """The first `n` seeds of a stream; a longer stream from the same entropy begins alike."""
    return np.random.SeedSequence(entropy).generate_state(int(n), np.uint64)
