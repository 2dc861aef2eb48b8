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
from mddf._binning.binned_table import BinnedTable, received_table, shared_table
from mddf._core import Cancel, Cancelled, HeldOut, ValueTarget
from mddf._core import ClassTarget as ClassTarget
from mddf._core import Sampling as Sampling
from mddf._core import TreeOptions as TreeOptions
from mddf._trees.arrays import grown_trees, shares

NO_DEPTH_LIMIT = 2**31 - 1
OUT_OF_BAG = HeldOut.OUT_OF_BAG
# A thread grows trees of at most so many rows in all at once: what they take is there twice until
# they are done.
_MOST_ROWS = 2**22
# Trees that a call grows if time may end it.
_FEW_TREES = 3


class GrowsTrees:
    """What estimators are whose trees grow on a table that is binned already: forests."""

    def _tree_options(self, n_samples: int, n_features: int, target: Any = None) -> TreeOptions:
        """How trees grow on so many rows and columns, to learn classes or `Values`."""
        raise NotImplementedError


@dataclass(frozen=True)
class TreeJob:
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
class GrowthResult:
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


def _grow_chunk(
    table: Any,
    new: Any,
    target: ClassTarget | ValueTarget,
    block: TreeJob,
    first: Any,
    last: Any,
    cancel: Cancel,
) -> Any:
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


def _collect(grown: GrowthResult, chunk: list[Any]) -> None:
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


def _pieces(blocks: Sequence[TreeJob], n_jobs: int, most: int) -> Iterator[tuple[int, int, int]]:
    """Parts of blocks that are grown by one call each: enough of them to keep all jobs busy."""
    n_trees = sum(len(block.seeds) for block in blocks)
    size = max(1, min(most, -(-n_trees // (8 * n_jobs)) if n_jobs > 1 else n_trees))
    for index, block in enumerate(blocks):
        for first in range(0, len(block.seeds), size):
            yield index, first, min(first + size, len(block.seeds))


def _most_together(table: BinnedTable) -> int:
    """Trees that one call grows at most."""
    return max(1, min(64, _MOST_ROWS // max(1, table.n_rows))) if shares_memory() else 64


def _shared(table: BinnedTable, target: Any, blocks: Sequence[TreeJob]) -> tuple[Any, ...]:
    """The table, the target and the blocks, as calls on other machines get them, too."""
    of_target, *of_blocks = shared([target, *blocks])
    return (*shared_table(table), of_target), of_blocks


def _arriving(
    given: tuple[Any, ...], pieces: Sequence[tuple[int, int, int]], n_jobs: int, cancel: Cancel
) -> Iterator[Any]:
    """What pieces give, in their order."""
    everywhere, blocks = given
    tasks: Iterator[Task] = (
        (_grow_chunk, (*everywhere, blocks[i], first, last, cancel), {})
        for i, first, last in pieces
    )
    return iter(
        from_threads(tasks, n_jobs, cancel) if shares_memory() else in_order(tasks, n_jobs)
    )


def grown_until(
    table: BinnedTable,
    target: ClassTarget | ValueTarget,
    blocks: Sequence[TreeJob],
    until: float,
    *,
    whole: bool,
    n_jobs: int | None = None,
) -> list[GrowthResult]:
    """Grow blocks of trees until a time, as `monotonic` has it: a few of each at a time.

    Parameters
    ----------
    whole : bool
        Whether fewer trees are of no use: `TimeIsUp` is raised then. If not, each block has a
        tree, however long that takes.

    See :func:`growing` for the others.
    """
    most = max((len(block.seeds) for block in blocks), default=0)
    step = min(_FEW_TREES, _most_together(table))
    pieces = [
        (i, first, min(last, len(block.seeds)))
        for first, last in pairwise([0, *range(1, most, step), most])
        for i, block in enumerate(blocks)
        if first < len(block.seeds)
    ]
    n_jobs = job_count(n_jobs, len(pieces), require=None)
    given = _shared(table, target, blocks)
    grown = [GrowthResult() for _ in blocks]

    def grow_pieces(some: Sequence[tuple[int, int, int]], end: float) -> None:
        with stopped_on_error() as cancel, stopped_at(end, cancel):
            arriving = _arriving(given, some, n_jobs, cancel)
            for number, (i, *_) in enumerate(some, 1):
                _collect(grown[i], next(arriving))
                if monotonic() > end and number < len(some):
                    raise Cancelled

    n_first = 0 if whole else len(blocks)
    grow_pieces(pieces[:n_first], np.inf)
    try:
        grow_pieces(pieces[n_first:], until)
    except Cancelled:
        if whole:
            raise TimeIsUp from None
    return grown


def growing(
    table: BinnedTable,
    target: ClassTarget | ValueTarget,
    blocks: Sequence[TreeJob],
    *,
    n_jobs: int | None = None,
    verbose: bool | int = False,
    description: str = "growing",
    until: float = np.inf,
    whole: bool = False,
) -> Generator[GrowthResult]:
    """Grow blocks of trees in parallel: in threads, or as a joblib backend in force has it.

    Parameters
    ----------
    table : BinnedTable
    target : ClassTarget or ValueTarget
        Of every row of the table.
    blocks : sequence of TreeJob
    n_jobs : int, default=None
        Number of jobs, as joblib understands it. Does not change the result.
    verbose : bool, default=False
        Show a progress bar that counts trees.
    description : str
        What the bar says.
    until, whole
        See :func:`grown_until`; no bar is shown where there is an end.

    Yields
    ------
    GrowthResult
        Of each block, as soon as it is there. Close the generator where work on these may fail:
        the others grow on until then.
    """
    if until < np.inf:
        yield from grown_until(table, target, blocks, until, whole=whole, n_jobs=n_jobs)
        return
    total = sum(len(block.seeds) for block in blocks)
    n_jobs = job_count(n_jobs, total, require=None)
    pieces = deque(_pieces(blocks, n_jobs, _most_together(table)))
    given = _shared(table, target, blocks)
    shown_bar = progress_bar(total, description, "tree", shown=verbose)
    with stopped_on_error() as cancel, shown_bar as bar:
        arriving = _arriving(given, tuple(pieces), n_jobs, cancel)
        for index in range(len(blocks)):
            grown = [GrowthResult()]
            while pieces and pieces[0][0] == index:
                _, first, last = pieces.popleft()
                _collect(grown[0], next(arriving))
                bar.update(last - first)
            yield grown.pop()  # not held here while the next one grows


def grow(table: Any, target: Any, blocks: Any, **options: Any) -> list[GrowthResult]:
    """The same, all at once."""
    return list(growing(table, target, blocks, **options))


def draw_seeds(entropy: Any, n: int) -> np.ndarray:
    """The first `n` seeds of a stream; a longer stream from the same entropy begins alike."""
    return np.random.SeedSequence(entropy).generate_state(int(n), np.uint64)
