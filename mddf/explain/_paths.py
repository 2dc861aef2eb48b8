"""Contributions of features to class vectors, step by step down the trees."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from mddf._gradient.decoding import decode, leaves_of_block
from mddf._gradient.trees import BoostedTrees
from mddf._trees.arrays import TreeBlock, Trees
from mddf._trees.nodes import LEAF, Nodes


def node_values(nodes: Nodes, reached: np.ndarray) -> np.ndarray:
    """Mean distribution of the leaves below each node, weighted by the rows that reach them.

    `reached` has the number of rows at each leaf. All leaves have equal weight below a node that
    no row reaches.
    """
    leaf = nodes.left == LEAF
    value = np.where(leaf[:, None], nodes.value, 0)
    counts = nodes.gather(reached)[:, None]
    n_leaves = nodes.gather(leaf.astype(int))[:, None]
    weighted_means = nodes.gather(reached[:, None] * value) / np.where(counts > 0, counts, 1)
    means = np.where(counts > 0, weighted_means, nodes.gather(value) / n_leaves)
    means[leaf] = nodes.value[leaf]
    return means


def rows_at_leaves(
    nodes: Nodes,
    block: TreeBlock | BoostedTrees,
    background: np.ndarray | None,
    n_jobs: int | None,
) -> np.ndarray:
    """Number of background rows at each leaf; without background, weight of training rows."""
    if background is None:
        return nodes.reached(None)
    return nodes.reached(leaves_of_block(block, background, n_jobs))


def zero_contributions(
    blocks: Sequence[TreeBlock | BoostedTrees], codes: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Contributions and a bias of zeros, in the shapes of `path_contributions`."""
    width = blocks[0].width
    return np.zeros((*codes.shape, width)), np.zeros(width)


def path_contributions(
    blocks: Sequence[TreeBlock | BoostedTrees],
    codes: np.ndarray,
    background: np.ndarray | None,
    *,
    n_jobs: int | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Contributions of the columns to the mean class distribution over trees, by their paths.

    At every step down a tree, the mean class distribution changes from a node's to its child's.
    The change is attributed to the column that the node splits by. The means of nodes
    are taken over the background codes, or over the training rows if there are none and the trees
    store their weight.

    Returns contributions of shape (n_rows, n_columns, n_classes) and a bias of shape (n_classes,),
    which add up to the mean class distributions of the rows.
    """
    contributions, bias = zero_contributions(blocks, codes)
    for block in blocks:
        nodes = decode(block)
        value = node_values(nodes, rows_at_leaves(nodes, block, background, n_jobs))
        bias += value[nodes.start[:-1]].sum(axis=0)
        change = value - value[nodes.parent]  # entries of roots are never read
        for row, node, column in _steps(nodes, block, codes, n_jobs):
            contributions[row, column] += change[node]
    n_trees = max(1, sum(block.n_trees for block in blocks))
    return contributions / n_trees, bias / n_trees


def own_class_contributions(
    blocks: Sequence[Trees], codes: np.ndarray, labels: np.ndarray, *, n_jobs: int | None = None
) -> np.ndarray:
    """Path contributions to the probability of each row's own class, shape (n_rows, n_columns).

    The rows are also the background.
    """
    contributions = np.zeros(codes.shape)
    for block in blocks:
        nodes = decode(block)
        value = node_values(nodes, rows_at_leaves(nodes, block, codes, n_jobs))
        change = value - value[nodes.parent]
        for row, node, column in _steps(nodes, block, codes, n_jobs):
            contributions[row, column] += change[node, labels[row]]
    return contributions / sum(block.n_trees for block in blocks)


def _steps(
    nodes: Nodes, block: TreeBlock | BoostedTrees, codes: np.ndarray, n_jobs: int | None
) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Go from the leaves up to the roots, all rows at once.

    Yields rows without duplicates, the node of each, and the column that its parent splits by.
    """
    parent = nodes.parent
    column = nodes.column[parent]
    leaves = nodes.leaves(leaves_of_block(block, codes, n_jobs))
    rows = np.arange(len(codes))
    for node in leaves.T:
        row = rows
        while len(row := row[below := parent[node] != LEAF]):
            node = node[below]
            yield row, node, column[node]
            node = parent[node]
