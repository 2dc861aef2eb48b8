"""Nodes and leaves of trees of all kinds."""

from __future__ import annotations

import numpy as np

from mddf._binning.bins import MISSING
from mddf._gradient.trees import BoostedTrees
from mddf._trees import predictor
from mddf._trees.arrays import TreeBlock
from mddf._trees.decoding import decode_forest
from mddf._trees.nodes import LEAF, Nodes


def leaves_of_block(
    block: TreeBlock | BoostedTrees, codes: np.ndarray, n_jobs: int | None = None
) -> np.ndarray:
    """Find the leaf of each row in each tree of a block: see `Nodes.leaves`."""
    if isinstance(block, BoostedTrees):
        return block.leaves(codes)
    return predictor.forest_leaves([block], codes, n_jobs=n_jobs)


def decode(trees: TreeBlock | BoostedTrees, *, reads_values: bool = True) -> Nodes:
    """Unpack a block of trees.

    Nodes have a number as their value, so that linear leaves are refused unless the caller does
    not read values.
    """
    if isinstance(trees, BoostedTrees) and trees.has_linear_leaves and reads_values:
        raise TypeError(
            "model must have leaves that are constants, so that its trees can be read, got a "
            "model whose leaves are linear functions (linear_leaves)"
        )
    return _decode_boosted(trees) if isinstance(trees, BoostedTrees) else decode_forest(trees)


def _decode_boosted(trees: BoostedTrees) -> Nodes:
    """Unpack boosted trees.

    Symmetric trees get a node wherever the split of a level divides the samples of a leaf.
    """
    arrays = trees.arrays
    if trees.symmetric:
        places = _symmetric_places(trees)
        representative = _representative_leaves(trees)
    else:
        places = _leaf_wise_places(trees)
        representative = np.arange(len(arrays["values"]))
    # 1. Order nodes by trees. The sort is stable, so that children stay next to each other.
    order = np.argsort(places[:, 0], kind="stable")
    new_place = np.empty_like(order)
    new_place[order] = np.arange(len(order))
    tree, split, leaf, left = places[order].T
    inner = split >= 0
    leaf = leaf[~inner]
    # 2. Look up the splits. Leaves have split -1, and take the entry behind all splits.
    column, shift, threshold, set_number = (
        np.append(arrays[name], entry_of_leaves).astype(int)[split]
        for name, entry_of_leaves in (("column", 0), ("shift", 0), ("threshold", 0), ("set", -1))
    )
    missing_left = shift > 0
    sets = {}
    for node in np.flatnonzero(set_number >= 0).tolist():
        bits = arrays["sets"][set_number[node]].astype("<u8").view(np.uint8)
        goes_left = np.unpackbits(bits, bitorder="little") > 0
        missing_left[node] = goes_left[MISSING]
        sets[node] = np.flatnonzero(goes_left[:MISSING])
    # 3. Look up the leaves.
    n_leaves = len(arrays["values"])
    value = np.full((len(inner), trees.n_scores), np.nan)
    value[~inner] = arrays["values"][leaf]
    weight = np.zeros(len(inner))
    weight[~inner] = np.bincount(representative, trees.weight, minlength=n_leaves)[leaf]
    node_of_leaf = np.zeros(n_leaves, int)
    node_of_leaf[leaf] = np.flatnonzero(~inner)
    return Nodes(
        start=np.searchsorted(tree, np.arange(trees.n_trees + 1)),
        left=np.where(inner, new_place[left], LEAF),
        column=column,
        highest=threshold - shift,
        missing_left=missing_left,
        sets=sets,
        value=value,
        word_node=node_of_leaf[representative],
        word_start=arrays["first_leaf"],
        weight=weight,
    )


def _leaf_wise_places(trees: BoostedTrees) -> np.ndarray:
    """Find the split or the leaf of each node, level by level over all trees.

    The columns are the tree, the split (-1 at leaves), the leaf (-1 at inner nodes) and the left
    child (-1 at leaves). The right child is next to the left one. Splits, leaves and nodes are
    counted over all trees.
    """
    arrays = trees.arrays
    first_split = arrays["first_split"]
    first_leaf = arrays["first_leaf"]
    children = np.column_stack([arrays["left"], arrays["right"]])
    tree = np.arange(trees.n_trees)
    # A child is the number of a split in its tree, or -1 - the number of a leaf.
    child = np.where(np.diff(first_split) > 0, 0, -1)
    levels = [np.empty((0, 4), int)]
    n_nodes = 0
    while len(tree):
        inner = child >= 0
        split = np.where(inner, first_split[tree] + child, -1)
        leaf = np.where(inner, -1, first_leaf[tree] - 1 - child)
        n_nodes += len(tree)
        left = _left_children(inner, n_nodes)
        levels.append(np.column_stack([tree, split, leaf, left]))
        tree = np.repeat(tree[inner], 2)
        child = children[split[inner]].ravel()
    return np.concatenate(levels)


def _symmetric_places(trees: BoostedTrees) -> np.ndarray:
    """Find the same columns for symmetric trees.

    A node stands at a level of its tree. Its way is the binary number of the turns taken so far, 1
    for right. The leaf of a node at the last level is the first one of its tree plus the way.
    """
    first_split = trees.arrays["first_split"]
    first_leaf = trees.arrays["first_leaf"]
    n_levels = np.diff(first_split)
    tree = np.arange(trees.n_trees)
    level = np.zeros_like(tree)
    way = np.zeros_like(tree)
    levels = [np.empty((0, 4), int)]
    n_nodes = 0
    while len(tree):
        level, way = _next_division(trees, tree, level, way)
        inner = level < n_levels[tree]
        split = np.where(inner, first_split[tree] + level, -1)
        leaf = np.where(inner, -1, first_leaf[tree] + way)
        n_nodes += len(tree)
        left = _left_children(inner, n_nodes)
        levels.append(np.column_stack([tree, split, leaf, left]))
        tree = np.repeat(tree[inner], 2)
        level = np.repeat(level[inner] + 1, 2)
        way = np.column_stack([2 * way[inner], 2 * way[inner] + 1]).ravel()
    return np.concatenate(levels)


def _representative_leaves(trees: BoostedTrees) -> np.ndarray:
    """Map each leaf of symmetric trees to the leaf that has a node.

    A split that does not divide the samples of a leaf has no node. The leaves on both of its sides
    then share the node of the left one.
    """
    first_leaf = trees.arrays["first_leaf"]
    n_levels = np.diff(trees.arrays["first_split"])
    tree = np.repeat(np.arange(trees.n_trees), np.diff(first_leaf))
    full_way = np.arange(len(tree)) - first_leaf[tree]
    level = np.zeros(len(tree), int)
    way = np.zeros(len(tree), int)
    for _ in range(n_levels.max(initial=0)):
        level, way = _next_division(trees, tree, level, way)
        levels_below = n_levels[tree] - 1 - level
        goes_on = levels_below >= 0
        turn = np.right_shift(full_way, np.maximum(levels_below, 0)) & 1
        way = np.where(goes_on, 2 * way + turn, way)
        level = level + goes_on
    return first_leaf[tree] + way


def _next_division(
    trees: BoostedTrees, tree: np.ndarray, level: np.ndarray, way: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Go left down to the next level whose split divides the samples there, or to the leaf."""
    first_leaf = trees.arrays["first_leaf"]
    n_levels = np.diff(trees.arrays["first_split"])
    n_reached = np.concatenate([[0], np.cumsum(trees.weight > 0)])  # leaves with samples, before
    while True:
        # The leaves below the right child are those from `right` to `right + size`.
        size = np.left_shift(1, np.maximum(n_levels[tree] - 1 - level, 0))
        right = first_leaf[tree] + (2 * way + 1) * size
        n_right = np.take(n_reached, right + size, mode="clip")
        n_right = n_right - np.take(n_reached, right, mode="clip")
        undivided = (level < n_levels[tree]) & (n_right == 0)
        if not undivided.any():
            return level, way
        way = np.where(undivided, 2 * way, way)
        level = level + undivided


def _left_children(inner: np.ndarray, n_nodes: int) -> np.ndarray:
    """Left children of a level's nodes, if the next level begins at node `n_nodes`."""
    left = np.full(len(inner), -1)
    left[inner] = n_nodes + 2 * np.arange(inner.sum())
    return left
