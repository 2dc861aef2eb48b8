"""The rows that trees draw from one shard, and their sums by nodes.

A tree is named by its number, and a node by its index in the tree.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from mddf import _core
from mddf._binning.binned_table import BinnedTable
from mddf._clusters.communication import Communicator


@dataclass(frozen=True)
class Draws:
    """Draws of the rows of this shard by trees.

    Without a bootstrap, `n_draws` is 0, and each tree has all of `rows`, with `weights` if there
    are any. Otherwise a draw is a whole number below `total`, and the i-th of `rows` is drawn by
    the numbers from ``starts[i]`` to ``ends[i] - 1``, which are ascending. Without `ends`, the
    number ``starts[i]`` alone draws it.
    """

    seeds: np.ndarray
    n_rows: int  # of the shard
    rows: np.ndarray
    n_draws: int = 0
    total: int = 0
    starts: np.ndarray = field(default_factory=lambda: np.zeros(0, np.uint64))
    ends: np.ndarray | None = None
    weights: np.ndarray | None = None

    def rows_of(self, tree: int) -> NodeRows:
        """Rows that a tree draws from this shard."""
        if not self.n_draws:
            weights = np.ones(len(self.rows)) if self.weights is None else self.weights
            return NodeRows(self.rows, weights.astype(np.uint32))
        seed = int(self.seeds[tree])
        if self.ends is None:
            counts = _core.draw_divided_uniformly(seed, self.n_draws, self.total, self.starts)
        else:
            counts = _core.draw_divided(seed, self.n_draws, self.total, self.starts, self.ends)
        # In the order of the table, in which the codes are read faster.
        by_row = np.zeros(self.n_rows, np.uint32)
        by_row[self.rows] = counts
        drawn = np.flatnonzero(by_row)
        return NodeRows(drawn.astype(np.uint32), by_row[drawn])


@dataclass(frozen=True)
class NodeRows:
    """Rows of a node in this shard, and how often the tree drew them: uint32."""

    rows: np.ndarray
    counts: np.ndarray


@dataclass
class Shard:
    """Rows of one shard.

    Attributes
    ----------
    table : BinnedTable
    target : ndarray of shape (n_rows,)
        Numbers of classes as uint16, or fixed-point targets as int64.
    n_classes : int
    draws : Draws
    nodes : dict
        For each tree that grows, the rows of its nodes that may still be divided.
    """

    table: BinnedTable
    target: np.ndarray
    n_classes: int
    draws: Draws
    nodes: dict[int, dict[int, NodeRows]] = field(default_factory=dict)

    def begin(self, tree: int) -> NodeRows:
        """Draw the rows of a tree."""
        root = self.draws.rows_of(tree)
        self.nodes[tree] = {0: root}
        return root

    def end(self, tree: int) -> None:
        """Forget a tree."""
        del self.nodes[tree]

    def divide(
        self, tree: int, node: int, column: int, left_codes: np.ndarray, left: int
    ) -> tuple[NodeRows, NodeRows]:
        """Divide the rows of a node between its children `left` and `left` + 1."""
        nodes = self.nodes[tree]
        parent = nodes.pop(node)
        children = _core.divide_shard_rows(
            self.table.cells, parent.rows, parent.counts, column, left_codes
        )
        left_rows, right_rows = (NodeRows(rows, counts) for rows, counts in children)
        nodes[left] = left_rows
        nodes[left + 1] = right_rows
        return left_rows, right_rows


def places_in_order(
    hashes: np.ndarray, weights: np.ndarray | None, communicator: Communicator
) -> tuple[np.ndarray, np.ndarray | None]:
    """Find the places of this shard's rows in the canonical order of the rows of all shards.

    Rows are ordered by hash, then by weight, then by their order in the table, as in
    `canonical_order`. Each process sorts the hashes of one range.

    Returns
    -------
    places : ndarray of int64
    all_weights : ndarray or None
        Weights of the rows of all shards, in the canonical order.
    """
    size = communicator.size
    keys = (hashes,) if weights is None else (weights, hashes)
    order = np.lexsort(keys)
    # Ranges of equal width; hashes are spread evenly over them.
    bounds = [np.uint64(2**64 * rank // size) for rank in range(1, size)]
    cuts = [0, *np.searchsorted(hashes[order], bounds).tolist(), len(hashes)]
    parts = [order[cuts[r] : cuts[r + 1]] for r in range(size)]
    received = communicator.distribute([tuple(key[part] for key in keys) for part in parts])
    joined = tuple(np.concatenate(columns) for columns in zip(*received, strict=True))
    sorted_here = np.lexsort(joined)
    counts = communicator.gather(len(sorted_here))
    ranks = np.empty(len(sorted_here), np.int64)
    ranks[sorted_here] = np.arange(len(sorted_here)) + sum(counts[: communicator.rank])
    ends = np.cumsum([len(shard[0]) for shard in received])
    answers = communicator.distribute(np.split(ranks, ends[:-1]))
    places = np.empty(len(hashes), np.int64)
    places[order] = np.concatenate(answers)
    if weights is None:
        return places, None
    return places, communicator.gather_array(joined[0][sorted_here])
