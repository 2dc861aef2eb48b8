"""The interface of scikit-learn's ensembles: a list of trees, and the rows that they drew."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from mddf import _core
from mddf._base.types import TableLike
from mddf._binning.bins import apply_bins
from mddf._trees import grower
from mddf._trees.arrays import TreeBlock
from mddf._trees.decoding import decode_forest
from mddf._trees.nodes import LEAF, Nodes

if TYPE_CHECKING:
    from mddf._binning.binner import Binner
    from mddf._forest.growth import DrawnTrees
    from mddf._forest.trees import ForestTree

# Partial dependence is computed for parts of the rows with at most this number of node weights (16
# MB). Not tuned.
_MAX_NODE_WEIGHTS = 2**21


class TreeEnsemble:
    """Mixin with the attributes by which users inspect the trees of a forest.

    Trees in the form of scikit-learn are made anew at each access, and not stored.
    """

    _tree_type: type[ForestTree]
    _binner: Binner
    _entropy: list[int]
    _trees: list[TreeBlock]
    _unit: float | np.ndarray
    # An entry for each fit; None if the forest comes from a file.
    _drawn_from: list[DrawnTrees] | None = None

    @property
    def estimators_(self) -> list[ForestTree]:
        """The trees as fitted trees of scikit-learn, with `tree_`; made anew at each access."""
        check_is_fitted(self, "_trees")
        return [
            self._tree_type.from_forest(self, tree)
            for block in self._trees
            for tree in block.single_trees()
        ]

    def __len__(self) -> int:
        check_is_fitted(self, "_trees")
        return sum(block.n_trees for block in self._trees)

    def __bool__(self) -> bool:
        # Without this method, truth would follow from `len`, which fails before fit.
        return True

    def __getitem__(self, index: int | slice) -> ForestTree | list[ForestTree]:
        return self.estimators_[index]

    def __iter__(self) -> Iterator[ForestTree]:
        return iter(self.estimators_)

    @property
    def estimators_samples_(self) -> list[np.ndarray]:
        """Rows that each tree was grown on, ascending, each repeated as often as it was drawn."""
        return [
            np.repeat(np.arange(len(counts), dtype=np.int32), counts)
            for counts in self._sample_counts()
        ]

    def _sample_counts(self) -> Iterator[np.ndarray]:
        """For each tree, yield the number of times that it drew each row."""
        check_is_fitted(self, "_trees")
        if self._drawn_from is None:
            raise AttributeError(
                f"the rows that the trees of this {type(self).__name__} drew are not stored in "
                "files and copies of it: fit it again with the same random_state"
            )
        seeds = grower.draw_seeds(self._entropy, len(self))
        first = 0
        for drawn in self._drawn_from:
            for seed in seeds[first : first + drawn.n_trees]:
                if drawn.sampling is None:
                    yield np.ones(drawn.n_rows, np.uint32)
                else:
                    yield _core.sample_counts(drawn.sampling, drawn.n_rows, seed)
            first += drawn.n_trees

    def __getstate__(self) -> dict[str, object]:
        state: dict[str, object] = super().__getstate__()  # type: ignore[assignment]
        return {name: None if name == "_drawn_from" else state[name] for name in state}

    def decision_path(self, X: TableLike) -> tuple[sparse.csr_matrix, np.ndarray]:
        """Mark the nodes of all trees that each sample passes.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_samples, n_features)

        Returns
        -------
        indicator : csr_matrix of shape (n_samples, n_nodes)
            1 where a sample passes a node.
        n_nodes_ptr : ndarray of shape (n_estimators + 1,)
            Tree t has the columns ``n_nodes_ptr[t]`` to ``n_nodes_ptr[t + 1] - 1``.
        """
        paths = [tree.decision_path(X) for tree in self.estimators_]
        start = np.cumsum([0, *(path.shape[1] for path in paths)])
        return sparse.hstack(paths, format="csr"), start

    def _compute_partial_dependence_recursion(
        self, grid: npt.ArrayLike, features: np.ndarray
    ) -> np.ndarray:
        """Average predictions over all features but some, which have the values of a grid.

        scikit-learn calls this method by its name, with a grid of shape (n_points, n_known). Nodes
        that split other features average their children by the weight of the training samples. The
        result has shape (n_points,), or (n_outputs, n_points) if there are several outputs.
        """
        points = np.asarray(grid, dtype=object)
        numbers = np.full((len(points), self._binner.bins_.n_columns), np.nan)
        for column, values in zip(features, points.T, strict=True):
            encoder = self._binner.encoders_.get(int(column))
            numbers[:, column] = values if encoder is None else encoder.look_up(values)
        codes = apply_bins(numbers, self._binner.bins_)
        known = np.zeros(codes.shape[1], bool)
        known[features] = True
        sums = np.zeros((len(points), self._trees[0].width))
        for block in self._trees:
            for tree in block.single_trees():
                sums += _average_over_unknown(tree, codes, known)
        means = sums / len(self) * self._unit
        return means[:, 0] if means.shape[1] == 1 else means.T


def _average_over_unknown(tree: TreeBlock, codes: np.ndarray, known: np.ndarray) -> np.ndarray:
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
