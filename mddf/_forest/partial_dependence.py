"""Partial dependence by recursion: averages over the nodes of features that are not known."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from mddf._binning.binner import Binner
from mddf._binning.bins import apply_bins
from mddf._trees.arrays import TreeBlock
from mddf._trees.decoding import decode_forest
from mddf._trees.nodes import LEAF, Nodes

# Partial dependence is computed for parts of the rows with at most this number of node weights (16
# MB). Not tuned.
_MAX_NODE_WEIGHTS = 2**21


def average_over_unknown(
    trees: Sequence[TreeBlock], binner: Binner, grid: npt.ArrayLike, features: np.ndarray
) -> np.ndarray:
    """Mean over trees whose `features` have the values of a grid of shape (n_points, n_known).

    Nodes that split other features average their children by the weight of the training samples.
    The result has the shape (n_points, width), in the unit of the leaves.
    """
    points = np.asarray(grid, dtype=object)
    numbers = np.full((len(points), binner.bins_.n_columns), np.nan)
    for column, values in zip(features, points.T, strict=True):
        encoder = binner.encoders_.get(int(column))
        numbers[:, column] = values if encoder is None else encoder.look_up(values)
    codes = apply_bins(numbers, binner.bins_)
    known = np.zeros(codes.shape[1], bool)
    known[features] = True
    sums = np.zeros((len(points), trees[0].width))
    for block in trees:
        for tree in block.single_trees():
            sums += _average_of_tree(tree, codes, known)
    return sums / sum(block.n_trees for block in trees)


def _average_of_tree(tree: TreeBlock, codes: np.ndarray, known: np.ndarray) -> np.ndarray:
    """Average a tree's predictions over the columns that are not known."""
    nodes = decode_forest(tree)
    step = max(1, _MAX_NODE_WEIGHTS // len(nodes.left))
    parts = [
        _average_of_nodes(nodes, codes[i : i + step], known) for i in range(0, len(codes), step)
    ]
    return np.concatenate(parts)


def _average_of_nodes(nodes: Nodes, codes: np.ndarray, known: np.ndarray) -> np.ndarray:
    assert nodes.weight is not None
    weight = nodes.gather(nodes.weight)
    # Share of each row that reaches each node.
    share = np.ones((len(nodes.left), len(codes)))
    leads = nodes.leads(codes)
    for level in nodes.levels:
        for child in (nodes.left[level], nodes.left[level] + 1):
            share_taken = np.where(
                known[nodes.column[level], None],
                leads[child],
                (weight[child] / weight[level])[:, None],
            )
            share[child] = share[level] * share_taken
    leaf = nodes.left == LEAF
    return share[leaf].T @ nodes.value[leaf]
