"""Nodes of trees as arrays with one entry per node."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from mddf._binning.bins import MISSING

# Child of a leaf, and parent of a root.
LEAF = -1


@dataclass(frozen=True)
class Nodes:
    """All nodes of a block of trees, tree after tree, every parent before its children."""

    start: np.ndarray  # (n_trees + 1,): tree t has the nodes `start[t]` to `start[t + 1] - 1`
    # (n_nodes,): index of the left child in the block; the right child is the next node. LEAF for
    # leaves.
    left: np.ndarray
    column: np.ndarray  # (n_nodes,): column that the node splits; 0 for leaves
    # (n_nodes,): highest bin that goes left at a numeric split; -1 if only missing values do.
    highest: np.ndarray
    missing_left: np.ndarray  # (n_nodes,): whether missing values go left
    sets: dict[int, np.ndarray]  # for each node that splits categories: the codes that go left
    value: np.ndarray  # (n_nodes, n_classes): distributions or means in leaves; NaN elsewhere
    word_node: np.ndarray  # (n_words,): node of each word of the block
    word_start: np.ndarray  # (n_trees + 1,): first word of each tree
    # (n_nodes,): total weight of the training samples in each leaf, 0 in inner nodes; None if the
    # trees do not store it.
    weight: np.ndarray | None = None

    @property
    def n_trees(self) -> int:
        return len(self.start) - 1

    @cached_property
    def levels(self) -> list[np.ndarray]:
        """Inner nodes by depth, from the roots down."""
        levels = []
        level = self.start[:-1]
        while len(level := level[self.left[level] != LEAF]):
            levels.append(level)
            level = np.concatenate([self.left[level], self.left[level] + 1])
        return levels

    @cached_property
    def parent(self) -> np.ndarray:
        """Parent of each node, LEAF for roots."""
        parent = np.full(len(self.left), LEAF)
        inner = np.flatnonzero(self.left != LEAF)
        parent[self.left[inner]] = inner
        parent[self.left[inner] + 1] = inner
        return parent

    def leaves(self, leaf_indices: np.ndarray) -> np.ndarray:
        """Convert the result of `forest_leaves` to nodes, shape (n_rows, n_trees)."""
        return self.word_node[leaf_indices + self.word_start[:-1]]

    def reached(self, leaf_indices: np.ndarray | None) -> np.ndarray:
        """Number of rows in each leaf by their `leaf_indices`; with None, the training weight."""
        if leaf_indices is None:
            assert self.weight is not None
            return self.weight
        return np.bincount(self.leaves(leaf_indices).ravel(), minlength=len(self.left))

    def leads(self, codes: np.ndarray) -> np.ndarray:
        """Whether a row at the parent goes on to the node, bool of shape (n_nodes, n_rows)."""
        inner = np.flatnonzero(self.left != LEAF)
        cells = codes.T[self.column[inner]]
        left = cells <= self.highest[inner, None]
        for node, left_codes in self.sets.items():
            place = np.searchsorted(inner, node)
            left[place] = np.isin(cells[place], left_codes)
        left = np.where(cells == MISSING, self.missing_left[inner, None], left)
        leads = np.ones((len(self.left), len(codes)), bool)
        leads[self.left[inner]] = left
        leads[self.left[inner] + 1] = ~left
        return leads

    def gather(self, leaf_values: np.ndarray) -> np.ndarray:
        """Sum values of the leaves below each node; inner nodes of `leaf_values` hold zeros."""
        sums = leaf_values.copy()
        for level in reversed(self.levels):
            sums[level] = sums[self.left[level]] + sums[self.left[level] + 1]
        return sums
