"""The nodes of boosted trees."""

from __future__ import annotations

from typing import Any

import numpy as np

from mddf._binning.bins import MISSING
from mddf._gradient.trees import BoostedTrees
from mddf._trees.nodes import LEAF, Nodes

_NO_NODES = (np.empty(0, int),) * 4


def decode_boosted(trees: BoostedTrees) -> Nodes:
    """Unpack boosted trees.

    Symmetric ones have a node for each place where a level's split divides a leaf.
    """
    arrays = trees.arrays
    places = _symmetric_places(trees) if trees.symmetric else _leaf_wise_places(trees)
    tree, split, leaf, left, leaf_of_way = places
    order = np.argsort(tree, kind="stable")  # trees one after the other; children stay together
    place = np.empty_like(order)
    place[order] = np.arange(len(order))
    tree, split, leaf, left = (found[order] for found in (tree, split, leaf, left))
    inner = split >= 0
    column, shift, threshold, number = (  # of leaves what is behind all splits
        np.append(arrays[name], end).astype(int)[split]
        for name, end in (("column", 0), ("shift", 0), ("threshold", 0), ("set", -1))
    )
    missing_left = shift > 0
    sets = {}
    for node in np.flatnonzero(number >= 0).tolist():
        bits = arrays["sets"][number[node]].astype("<u8").view(np.uint8)
        goes_left = np.unpackbits(bits, bitorder="little") > 0
        missing_left[node], sets[node] = goes_left[MISSING], np.flatnonzero(goes_left[:MISSING])
    value = np.full((len(tree), trees.n_scores), np.nan)
    value[~inner] = arrays["values"][leaf[~inner]]
    node_of_leaf = np.zeros(len(arrays["values"]), int)
    node_of_leaf[leaf[~inner]] = np.flatnonzero(~inner)
    weight = np.zeros(len(tree))
    weight[~inner] = np.bincount(leaf_of_way, trees.weight, minlength=len(leaf_of_way))[
        leaf[~inner]
    ]
    return Nodes(
        np.searchsorted(tree, np.arange(trees.n_trees + 1)),
        np.where(inner, place[left], LEAF),
        column,
        threshold - shift,
        missing_left,
        sets,
        value,
        node_of_leaf[leaf_of_way],
        arrays["first_leaf"],
        weight,
    )


def _leaf_wise_places(trees: BoostedTrees) -> tuple[np.ndarray, ...]:
    """Nodes level by level: tree, split or -1, leaf or -1, left child; and the leaf of each leaf.

    Splits, leaves and nodes are counted over all trees.
    """
    arrays = trees.arrays
    first_split, first_leaf = arrays["first_split"], arrays["first_leaf"]
    tree = np.arange(trees.n_trees)
    at = np.where(np.diff(first_split) > 0, 0, -1)
    levels, n_nodes = [_NO_NODES], 0
    while len(tree):
        inner = at >= 0
        split = np.where(inner, first_split[tree] + at, -1)
        leaf = np.where(inner, -1, first_leaf[tree] - 1 - at)
        n_nodes += len(tree)
        left = np.full(len(tree), -1)
        left[inner] = n_nodes + 2 * np.arange(inner.sum())
        levels.append((tree, split, leaf, left))
        tree = np.repeat(tree[inner], 2)
        at = np.column_stack([arrays["left"], arrays["right"]])[split[inner]].ravel()
    return (*map(np.concatenate, zip(*levels, strict=True)), np.arange(len(arrays["values"])))


def _symmetric_places(trees: BoostedTrees) -> tuple[np.ndarray, ...]:
    """The same of symmetric trees, whose ways may end in the same leaf."""
    arrays = trees.arrays
    first_split, first_leaf = arrays["first_split"], arrays["first_leaf"]
    n_levels = np.diff(first_split)
    n_reached = np.concatenate([[0], np.cumsum(trees.weight > 0)])

    def skip(tree: Any, level: Any, way: Any) -> Any:
        """To the next level that divides the samples there, or the last one."""
        while True:
            size = np.left_shift(1, np.maximum(n_levels[tree] - 1 - level, 0))
            right = first_leaf[tree] + (2 * way + 1) * size
            n_right = np.take(n_reached, right + size, mode="clip")
            n_right = n_right - np.take(n_reached, right, mode="clip")
            stays = (level < n_levels[tree]) & (n_right == 0)
            if not stays.any():
                return level, way
            level, way = level + stays, np.where(stays, 2 * way, way)

    tree = np.arange(trees.n_trees)
    level, way = np.zeros_like(tree), np.zeros_like(tree)
    levels, n_nodes = [_NO_NODES], 0
    while len(tree):
        level, way = skip(tree, level, way)
        inner = level < n_levels[tree]
        split = np.where(inner, first_split[tree] + level, -1)
        leaf = np.where(inner, -1, first_leaf[tree] + way)
        n_nodes += len(tree)
        left = np.full(len(tree), -1)
        left[inner] = n_nodes + 2 * np.arange(inner.sum())
        levels.append((tree, split, leaf, left))
        tree, level = np.repeat(tree[inner], 2), np.repeat(level[inner] + 1, 2)
        way = (2 * way[inner, None] + [0, 1]).ravel()
    tree = np.repeat(np.arange(trees.n_trees), np.diff(first_leaf))
    full = np.arange(len(tree)) - first_leaf[tree]
    level, way = np.zeros_like(tree), np.zeros_like(tree)
    for _ in range(n_levels.max(initial=0)):  # to the first way that ends in the same leaf
        level, way = skip(tree, level, way)
        below = n_levels[tree] - 1 - level
        steps = below >= 0
        bit = np.right_shift(full, np.maximum(below, 0)) & 1
        way, level = np.where(steps, 2 * way + bit, way), level + steps
    return (*map(np.concatenate, zip(*levels, strict=True)), first_leaf[tree] + way)
