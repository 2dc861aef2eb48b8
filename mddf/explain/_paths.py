"""What each feature does to a row's class vector on its way down the trees."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from mddf._trees.arrays import Trees
from mddf._trees.nodes import LEAF, Nodes

from ._decoding import decode, leaf_indices


def node_values(nodes: Nodes, reached: np.ndarray) -> np.ndarray:
    """The mean distribution of the leaves below each node, weighted by the rows that reach them.

    Where no row gets to, all leaves weigh the same.

    Parameters
    ----------
    nodes : Nodes
    reached : ndarray of shape (n_nodes,)
        Rows at each leaf: see `Nodes.reached`.

    Returns
    -------
    ndarray of shape (n_nodes, n_classes)
    """
    leaf = nodes.left == LEAF
    value = np.where(leaf[:, None], nodes.value, 0)
    counts = nodes.gather(reached)[:, None]
    n_leaves = nodes.gather(leaf.astype(int))[:, None]
    of_rows = nodes.gather(reached[:, None] * value) / np.where(counts > 0, counts, 1)
    found = np.where(counts > 0, of_rows, nodes.gather(value) / n_leaves)
    found[leaf] = nodes.value[leaf]
    return found


def rows_at_leaves(
    nodes: Nodes, block: Any, background: np.ndarray | None, n_jobs: int | None
) -> np.ndarray:
    """How many rows of the background get to each leaf of a block."""
    if background is None:
        return nodes.reached(None)
    return nodes.reached(leaf_indices(block, background, n_jobs))


def nothing(blocks: Any, codes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Contributions and a bias of zeros, for trees that say something of rows."""
    width = blocks[0].width
    return np.zeros((*codes.shape, width)), np.zeros(width)


def path_contributions(
    blocks: Sequence[Any],
    codes: np.ndarray,
    background: np.ndarray | None,
    players: np.ndarray | None = None,
    *,
    n_jobs: int | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Contributions of the columns to the mean class distribution over trees, by their paths.

    At every step down a tree the mean class distribution changes from a node's to its child's;
    the change is put down to the column that the node asks.

    Parameters
    ----------
    blocks : sequence of Trees, ValueTrees or BoostedTrees
    codes : ndarray of uint8 of shape (n_rows, n_columns)
        What is explained.
    background : ndarray of uint8 of shape (n_background, n_columns) or None
        The rows that the means of nodes are taken over; None for those of training, of which
        trees have to keep the weight.
    players : ndarray of int of shape (n_columns,) or None, default=None
        The column that each one's part is put down to: columns of the same are known together.
        None: each by itself.
    n_jobs : int, default=None

    Returns
    -------
    contributions : ndarray of shape (n_rows, n_columns, n_classes)
    bias : ndarray of shape (n_classes,)
        With the sum over columns it makes the mean class distribution of a row.
    """
    contributions, bias = nothing(blocks, codes)
    for block in blocks:
        nodes = decode(block)
        value = node_values(nodes, rows_at_leaves(nodes, block, background, n_jobs))
        bias += value[nodes.start[:-1]].sum(axis=0)
        step = value - value[nodes.parent]  # of roots it is not looked at
        for row, node, column in _steps(nodes, block, codes, n_jobs):
            contributions[row, column if players is None else players[column]] += step[node]
    n_trees = max(1, sum(block.n_trees for block in blocks))
    return contributions / n_trees, bias / n_trees


def own_class_contributions(
    blocks: Sequence[Trees], codes: np.ndarray, labels: np.ndarray, *, n_jobs: int | None = None
) -> np.ndarray:
    """Path contributions to the probability of each row's own class, over the rows themselves.

    Parameters
    ----------
    blocks : sequence of Trees
    codes : ndarray of uint8 of shape (n_rows, n_columns)
        What is explained, and what the means of nodes are taken over.
    labels : ndarray of int of shape (n_rows,)
    n_jobs : int, default=None

    Returns
    -------
    ndarray of shape (n_rows, n_columns)
    """
    contributions = np.zeros(codes.shape)
    for block in blocks:
        nodes = decode(block)
        value = node_values(nodes, rows_at_leaves(nodes, block, codes, n_jobs))
        step = value - value[nodes.parent]
        for row, node, column in _steps(nodes, block, codes, n_jobs):
            contributions[row, column] += step[node, labels[row]]
    return contributions / sum(block.n_trees for block in blocks)


def _steps(
    nodes: Nodes, block: Trees, codes: np.ndarray, n_jobs: int | None
) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """All steps of the rows down the trees, many at once but no row twice.

    Yields
    ------
    row, node, column : ndarray of int
        Which rows, what node they get to, and the column that led them there.
    """
    parent, column = nodes.parent, nodes.column[nodes.parent]
    leaves = nodes.leaves(leaf_indices(block, codes, n_jobs))
    rows = np.arange(len(codes))
    for node in leaves.T:
        row = rows
        while len(row := row[below := parent[node] != LEAF]):
            node = node[below]
            yield row, node, column[node]
            node = parent[node]
