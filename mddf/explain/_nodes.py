"""The nodes of packed trees as columns of numbers."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from mddf._trees.arrays import TreeArrays, Trees

LEAF = -1
# As `_kernel/forest/tree/trees.hpp` lays out a node's word.
_MISSING_LEFT, _CATEGORICAL, _LEAF_KIND = 1, 2, 3
_PURE = 1 << 31


@dataclass(frozen=True)
class Nodes:
    """All nodes of a block of trees, tree after tree, every parent before its children.

    Attributes
    ----------
    start : ndarray of int of shape (n_trees + 1,)
        The nodes of tree t are those from ``start[t]`` to ``start[t + 1]``.
    left : ndarray of int of shape (n_nodes,)
        The left child, counted over the block; the right one comes next. LEAF if there is none.
    column : ndarray of int of shape (n_nodes,)
    highest : ndarray of int of shape (n_nodes,)
        The highest bin that goes left at a split by order; -1 if none does.
    missing_left : ndarray of bool of shape (n_nodes,)
    sets : dict of int to ndarray of int
        The codes that go left at nodes which split categories.
    value : ndarray of shape (n_nodes, n_classes)
        The class distribution of leaves, or their numbers; NaN elsewhere.
    word_node : ndarray of int
        From the place of a word in the block to the node.
    word_start : ndarray of int of shape (n_trees + 1,)
        Where the words of each tree begin.
    """

    start: np.ndarray
    left: np.ndarray
    column: np.ndarray
    highest: np.ndarray
    missing_left: np.ndarray
    sets: dict[int, np.ndarray]
    value: np.ndarray
    word_node: np.ndarray
    word_start: np.ndarray

    @property
    def n_trees(self) -> int:
        """Number of trees."""
        return len(self.start) - 1

    @cached_property
    def levels(self) -> list[np.ndarray]:
        """The inner nodes by their depth, the roots first."""
        found, level = [], self.start[:-1]
        while len(level := level[self.left[level] != LEAF]):
            found.append(level)
            level = np.concatenate([self.left[level], self.left[level] + 1])
        return found

    @cached_property
    def parent(self) -> np.ndarray:
        """The parent of each node, LEAF for roots."""
        parent = np.full(len(self.left), LEAF)
        inner = np.flatnonzero(self.left != LEAF)
        parent[self.left[inner]] = parent[self.left[inner] + 1] = inner
        return parent

    def leaves(self, leaf_indices: np.ndarray) -> np.ndarray:
        """The nodes that `Trees.leaf_indices` means, shape (n_rows, n_trees)."""
        return self.word_node[leaf_indices + self.word_start[:-1]]

    def gather(self, of_leaves: np.ndarray) -> np.ndarray:
        """Sums over the leaves below each node, from an array of shape (n_nodes, ...)."""
        sums = of_leaves.copy()
        for level in reversed(self.levels):
            sums[level] = sums[self.left[level]] + sums[self.left[level] + 1]
        return sums


def decode(trees: TreeArrays) -> Nodes:
    """Unpack a block of trees."""
    trees.check()
    words = trees.nodes
    is_node = _which_are_nodes(words, trees.tree_start)
    places = np.flatnonzero(is_node)
    word_node = np.cumsum(is_node) - 1
    start = np.append(word_node[trees.tree_start[:-1]], len(places))
    w = words[places]
    kind, payload, threshold = _kind(w), _payload(w), ((w >> 54) & 255).astype(int)
    base = np.repeat(trees.tree_start[:-1], np.diff(start))
    inner = kind != _LEAF_KIND
    by_set = kind == _CATEGORICAL
    left = np.full(len(places), LEAF)
    left[inner] = word_node[(base + payload)[inner]]
    missing_left = np.where(by_set, (threshold & 128) > 0, kind == _MISSING_LEFT)
    sets = {}
    for node in np.flatnonzero(by_set):
        first = base[node] + payload[node] + 2
        bits = words[first : first + (threshold[node] & 7)].astype("<u8").view(np.uint8)
        sets[int(node)] = np.flatnonzero(np.unpackbits(bits, bitorder="little"))
    return Nodes(
        start,
        left,
        np.where(inner, (w >> 32) & (2**22 - 1), 0).astype(int),
        np.where(kind == _MISSING_LEFT, threshold - 1, threshold),
        missing_left & inner,
        sets,
        _values(trees, inner, payload)
        if isinstance(trees, Trees)
        else _means(trees, inner, payload),
        word_node,
        trees.tree_start,
    )


def _kind(words: np.ndarray) -> np.ndarray:
    return (words >> 62).astype(int)


def _payload(words: np.ndarray) -> np.ndarray:
    return (words & 0xFFFFFFFF).astype(int)


def _which_are_nodes(words: np.ndarray, tree_start: np.ndarray) -> np.ndarray:
    """Tell nodes from the sets of categories that stand between them: from the roots down."""
    if not np.any(_kind(words) == _CATEGORICAL):
        return np.ones(len(words), bool)
    is_node = np.zeros(len(words), bool)
    level = base = tree_start[:-1]
    while len(level):
        is_node[level] = True
        inner = _kind(words[level]) != _LEAF_KIND
        level, base = level[inner], base[inner]
        left = base + _payload(words[level])
        level, base = np.concatenate([left, left + 1]), np.concatenate([base, base])
    return is_node


def _means(trees, inner: np.ndarray, payload: np.ndarray) -> np.ndarray:
    value = np.full((len(inner), trees.n_outputs), np.nan)
    value[~inner] = trees.leaf_value.reshape(-1, trees.n_outputs)[payload[~inner]]
    return value


def _values(trees: Trees, inner: np.ndarray, payload: np.ndarray) -> np.ndarray:
    value = np.zeros((len(inner), trees.n_classes))
    value[inner] = np.nan
    leaves = np.flatnonzero(~inner)
    pure = (payload[leaves] & _PURE) > 0
    value[leaves[pure], payload[leaves[pure]] ^ _PURE] = 1
    mixed = leaves[~pure]
    if len(mixed):
        first, last = (trees.leaf_start[payload[mixed] + i].astype(int) for i in (0, 1))
        counts = last - first
        node = np.repeat(mixed, counts)
        entry = np.arange(counts.sum()) + np.repeat(first - (np.cumsum(counts) - counts), counts)
        value[node, trees.leaf_class[entry]] = trees.leaf_probability[entry]
    return value
