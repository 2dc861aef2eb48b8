"""Weak learners: trees found by the compiled core, and the ones already in use."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from mddf import _core

from .weak_learners import TIE, FloatArray, WeakTrees

#: A weighted error below this counts as this, so that a perfect learner has a finite weight.
LEAST_ERROR = 1e-10


class TreeSearch:
    """Finds the tree of least penalised weighted error.

    Parameters
    ----------
    X : float64 array of shape (n_samples, n_features), C order
        Training rows, encoded once by the ranks of their values.
    max_depth : int
        Largest depth of a tree.
    mode : {"layerwise", "greedy", "stumps"}, default="layerwise"
        Which trees are visited. "layerwise": the constants, the best stump, then the best tree
        that one more layer of leaves makes of it, and so on. "greedy": one tree, node by node in
        breadth-first order, split only where that pays. "stumps": the constants, the best stump,
        and, when ``max_depth`` is at least 2, that stump followed by one and the same question on
        both sides.
    penalty : float64 array, default=[0.]
        Penalty by number of nodes ("stumps": 1 or 2, the number of levels); larger numbers cost
        what the last entry says.
    """

    def __init__(
        self,
        X: FloatArray,
        max_depth: int,
        mode: str = "layerwise",
        penalty: FloatArray | None = None,
    ) -> None:
        self._features = _core.RankedFeatures(X)
        self._max_depth = min(max_depth, 2**30)
        self._mode = mode
        self._penalty = np.zeros(1) if penalty is None else np.asarray(penalty, np.float64)

    def best(
        self, signed_weight: FloatArray, scale: float = 1.0
    ) -> tuple[WeakTrees, NDArray[np.int8], float]:
        """Return the tree that maximises edge / 2 - scale * penalty.

        Parameters
        ----------
        signed_weight : float64 array of shape (n_samples,)
            Weight times label of every row; their absolute values sum to 1.
        scale : float, default=1.0
            Multiplies the penalty.

        Returns
        -------
        tree : WeakTrees
            One tree: the smaller one, the lower feature and the lower threshold in case of ties.
        prediction : int8 array of shape (n_samples,)
            Its votes on the training rows.
        edge : float
            sum_i signed_weight_i h(x_i), never negative.
        """
        found = self._features.search(
            signed_weight, self._penalty, scale, self._max_depth, self._mode
        )
        return WeakTrees.of_tree(*found[:6]), found[6], found[7]


class UsedTrees:
    """The trees that have a weight already, with what they say about the training rows."""

    def __init__(self) -> None:
        self.trees: list[WeakTrees] = []
        self._predictions = np.empty((0, 0), dtype=np.int8)
        self._index: dict[bytes, int] = {}

    def __len__(self) -> int:
        return len(self.trees)

    def prediction(self, k: int) -> NDArray[np.int8]:
        """Votes of tree k on the training rows."""
        return self._predictions[k]

    def find(self, prediction: NDArray[np.int8]) -> int | None:
        """Index of the tree with these votes, up to a common sign, if there is one."""
        return self._index.get((prediction * prediction[0]).tobytes())

    def add(self, tree: WeakTrees, prediction: NDArray[np.int8]) -> int:
        """Append a tree that was not found; return its index."""
        k = len(self.trees)
        if k == len(self._predictions):
            grown = np.empty((max(16, 2 * k), len(prediction)), dtype=np.int8)
            grown[:k] = self._predictions[:k].reshape(k, len(prediction))
            self._predictions = grown
        self._predictions[k] = prediction
        self.trees.append(tree)
        self._index[(prediction * prediction[0]).tobytes()] = k
        return k

    def choose(
        self, tree: WeakTrees, prediction: NDArray[np.int8], score: float, scores: FloatArray
    ) -> int | None:
        """Index of the learner of the largest score, a new tree only where none in use is better.

        Parameters
        ----------
        tree : WeakTrees
            The tree that was found; it is added if it is the best and not in use.
        prediction : int8 array of shape (n_samples,)
            Its votes.
        score : float
            Its score.
        scores : array of shape (n_used,) or (0,)
            Scores of the trees in use; none where they do not compete.

        Returns
        -------
        int or None
            None where no score is above 0.
        """
        if len(scores):
            best = int(np.argmax(scores))
            if scores[best] > score + TIE:
                return best
        if score <= TIE:
            return None
        k = self.find(prediction)
        return self.add(tree, prediction) if k is None else k

    def edges(self, signed_weight: FloatArray) -> FloatArray:
        """Edge of every used tree, negative where its complement is better."""
        k = len(self.trees)
        if k == 0:
            return np.empty(0)
        return _core.learner_edges(self._predictions[:k], signed_weight)
