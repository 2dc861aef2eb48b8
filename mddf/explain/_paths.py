"""What each feature does to a row's class vector on its way down the trees."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mddf import _growing
from mddf._trees import Trees

from ._nodes import LEAF, Nodes, decode


def node_values(nodes: Nodes, leaf_indices: np.ndarray) -> np.ndarray:
    """The mean distribution of the leaves below each node, weighted by the rows that reach them.

    Where no row gets to, all leaves weigh the same.

    Parameters
    ----------
    nodes : Nodes
    leaf_indices : ndarray of int64 of shape (n_rows, n_trees)

    Returns
    -------
    ndarray of shape (n_nodes, n_classes)
    """
    leaf = nodes.left == LEAF
    reached = np.bincount(nodes.leaves(leaf_indices).ravel(), minlength=len(leaf))
    value = np.where(leaf[:, None], nodes.value, 0)
    counts = nodes.gather(np.where(leaf, reached, 0))
    n_leaves = nodes.gather(leaf.astype(int))
    with np.errstate(invalid="ignore"):
        of_rows = nodes.gather(reached[:, None] * value) / counts[:, None]
    of_leaves = nodes.gather(value) / n_leaves[:, None]
    found = np.where(counts[:, None] > 0, of_rows, of_leaves)
    found[leaf] = nodes.value[leaf]
    return found


def path_contributions(
    blocks: Sequence[Trees], codes: np.ndarray, background: np.ndarray, *, n_jobs=None
) -> tuple[np.ndarray, np.ndarray]:
    """Contributions of the columns to the mean class distribution over trees, by their paths.

    At every step down a tree the mean class distribution changes from a node's to its child's;
    the change is put down to the column that the node asks.

    Parameters
    ----------
    blocks : sequence of Trees
    codes : ndarray of uint8 of shape (n_rows, n_columns)
        What is explained.
    background : ndarray of uint8 of shape (n_background, n_columns)
        The rows that the means of nodes are taken over.
    n_jobs : int, default=None

    Returns
    -------
    contributions : ndarray of shape (n_rows, n_columns, n_classes)
    bias : ndarray of shape (n_classes,)
        With the sum over columns it makes the mean class distribution of a row.
    """
    n_classes, n_trees = blocks[0].n_classes, sum(block.n_trees for block in blocks)
    contributions = np.zeros((*codes.shape, n_classes))
    bias = np.zeros(n_classes)
    rows = np.arange(len(codes))
    for block in blocks:
        nodes = decode(block)
        value = node_values(nodes, _growing.leaf_indices([block], background, n_jobs=n_jobs))
        parent = nodes.parent
        step = value - value[parent]  # of roots it is not looked at
        column = nodes.column[parent]
        bias += value[nodes.start[:-1]].sum(axis=0)
        leaves = nodes.leaves(_growing.leaf_indices([block], codes, n_jobs=n_jobs))
        for node in leaves.T:
            row = rows
            while len(row := row[below := parent[node] != LEAF]):
                node = node[below]
                contributions[row, column[node]] += step[node]
                node = parent[node]
    return contributions / n_trees, bias / n_trees
