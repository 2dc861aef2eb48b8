"""A forest as scikit-learn's ensembles are: a list of trees, with what each of them drew."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from mddf import _core
from mddf._binning.bins import apply_bins
from mddf._trees import grower
from mddf._trees.arrays import TreeBlock
from mddf._trees.decoding import decode_forest
from mddf._trees.nodes import LEAF, Nodes

# Weights of nodes that are held at once, of a partial dependence.
_AT_ONCE = 2**21


class TreeEnsemble:
    """What a forest lets users see of its trees.

    Trees are made when they are asked for, and nothing is kept of them.
    """

    _tree_type: Any  # of the classes of `mddf._forest.trees`
    _binner: Any
    _entropy: list[int]
    _trees: list[Any]
    # Of the trees of each fit: what they drew from (None: all rows), of how many rows, and how
    # many trees they are. Files do not have it: None.
    _drawn_from: list[tuple[Any, int, int]] | None = None

    @property
    def estimators_(self) -> list[Any]:
        """The trees, as fitted trees of scikit-learn with its `tree_`; made anew at each call."""
        check_is_fitted(self, "_trees")
        return [self._tree_type.of(self, tree) for block in self._trees for tree in block.each()]

    def __len__(self) -> int:
        check_is_fitted(self, "_trees")
        return sum(block.n_trees for block in self._trees)

    def __bool__(self) -> bool:
        return True  # fitted or not

    def __getitem__(self, index: Any) -> Any:
        return self.estimators_[index]

    def __iter__(self) -> Iterator[Any]:
        return iter(self.estimators_)

    @property
    def estimators_samples_(self) -> list[np.ndarray]:
        """The rows that each tree was grown on, ascending, as often as it drew them."""
        return [
            np.repeat(np.arange(len(counts), dtype=np.int32), counts)
            for counts in self._sample_counts()
        ]

    def _sample_counts(self) -> Iterator[np.ndarray]:
        """How often each tree drew each row."""
        check_is_fitted(self, "_trees")
        if self._drawn_from is None:
            raise AttributeError(
                f"what the trees of this {type(self).__name__} drew is known where it was fitted, "
                "and not kept in files and copies: fit it again with the same random_state"
            )
        seeds = grower.draw_seeds(self._entropy, len(self))
        for sampling, n_rows, n_trees in self._drawn_from:
            here, seeds = seeds[:n_trees], seeds[n_trees:]
            for seed in here:
                if sampling is None:
                    yield np.ones(n_rows, np.uint32)
                else:
                    yield _core.sample_counts(sampling, n_rows, seed)

    def __getstate__(self) -> dict[str, Any]:
        state: dict[str, Any] = super().__getstate__()  # type: ignore[assignment]
        return {name: None if name == "_drawn_from" else state[name] for name in state}

    def decision_path(self, X: Any) -> tuple[sparse.csr_matrix, np.ndarray]:
        """The nodes of all trees that each sample comes through.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_samples, n_features)

        Returns
        -------
        indicator : csr_matrix of shape (n_samples, n_nodes)
            1 where a sample comes through a node.
        n_nodes_ptr : ndarray of shape (n_estimators + 1,)
            The nodes of tree t are the columns from ``n_nodes_ptr[t]`` to ``n_nodes_ptr[t + 1]``.
        """
        paths = [tree.decision_path(X) for tree in self.estimators_]
        start = np.cumsum([0, *(path.shape[1] for path in paths)])
        return sparse.hstack(paths, format="csr"), start

    def _compute_partial_dependence_recursion(self, grid: Any, features: Any) -> np.ndarray:
        """Mean predictions where only some features are known, as scikit-learn asks for them.

        At nodes that ask for others, both ways count by the weight of the training samples.

        Parameters
        ----------
        grid : array of shape (n_points, n_known)
        features : array of int of shape (n_known,)

        Returns
        -------
        ndarray of shape (n_points,), or (n_outputs, n_points) if there are several outputs
        """
        given = np.asarray(grid, dtype=object)
        numbers = np.full((len(given), self._binner.bins_.n_columns), np.nan)
        for column, values in zip(features, given.T, strict=True):
            encoder = self._binner.encoders_.get(int(column))
            numbers[:, column] = values if encoder is None else encoder.look_up(values)
        codes = apply_bins(numbers, self._binner.bins_)
        known = np.zeros(codes.shape[1], bool)
        known[features] = True
        means = sum(_sums_of(tree, codes, known) for block in self._trees for tree in block.each())
        means = means / len(self) * self._unit  # type: ignore[attr-defined]
        return means[:, 0] if means.shape[1] == 1 else means.T


def _sums_of(tree: TreeBlock, codes: np.ndarray, known: np.ndarray) -> np.ndarray:
    """What a tree predicts on average for rows of which only some columns are known."""
    nodes = decode_forest(tree)
    step = max(1, _AT_ONCE // len(nodes.left))
    parts = [_averages(nodes, codes[i : i + step], known) for i in range(0, len(codes), step)]
    return np.concatenate(parts)


def _averages(nodes: Nodes, codes: np.ndarray, known: np.ndarray) -> np.ndarray:
    assert nodes.weight is not None
    weight = nodes.gather(nodes.weight)
    share, leads = np.ones((len(nodes.left), len(codes))), nodes.leads(codes)
    for level in nodes.levels:
        for child in (nodes.left[level], nodes.left[level] + 1):
            taken = np.where(
                known[nodes.column[level], None],
                leads[child],
                (weight[child] / weight[level])[:, None],
            )
            share[child] = share[level] * taken
    leaf = nodes.left == LEAF
    return share[leaf].T @ nodes.value[leaf]
