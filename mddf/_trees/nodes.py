"""The nodes of trees as columns of numbers."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from mddf._binning.bins import MISSING

LEAF = -1


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
    weight : ndarray of shape (n_nodes,) or None
        Of the training samples in each leaf, 0 elsewhere; None where trees do not keep it.
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
    weight: np.ndarray | None = None

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

    def reached(self, leaf_indices: np.ndarray | None) -> np.ndarray:
        """How many of such rows get to each leaf; of None, what training samples weigh there."""
        if leaf_indices is None:
            assert self.weight is not None
            return self.weight
        return np.bincount(self.leaves(leaf_indices).ravel(), minlength=len(self.left))

    def leads(self, codes: np.ndarray) -> np.ndarray:
        """Whether the rows' values lead from the parent to each node, shape (n_nodes, n_rows)."""
        inner = np.flatnonzero(self.left != LEAF)
        cells = codes.T[self.column[inner]]
        left = cells <= self.highest[inner, None]
        for node, lefts in self.sets.items():
            place = np.searchsorted(inner, node)
            left[place] = np.isin(cells[place], lefts)
        left = np.where(cells == MISSING, self.missing_left[inner, None], left)
        leads = np.ones((len(self.left), len(codes)), bool)
        leads[self.left[inner]], leads[self.left[inner] + 1] = left, ~left
        return leads

    def gather(self, of_leaves: np.ndarray) -> np.ndarray:
        """Sums over the leaves below each node, from an array of shape (n_nodes, ...)."""
        sums = of_leaves.copy()
        for level in reversed(self.levels):
            sums[level] = sums[self.left[level]] + sums[self.left[level] + 1]
        return sums
