"""Trees as weak learners: searching new ones, and those already in the vote."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from mddf import _core

from .weak_learners import TIE, FloatArray, WeakTrees

#: Smallest weighted error: a perfect learner gets a finite weight.
LEAST_ERROR = 1e-10


class TreeSearch:
    """Search for the tree with the lowest penalised weighted error.

    Parameters
    ----------
    X : float64 array of shape (n_samples, n_features), C order
        Training rows; they are encoded once, by the ranks of their values.
    max_depth : int
        Largest depth of a tree.
    mode : {"layerwise", "greedy", "stumps"}, default="layerwise"
        Trees that are considered. "layerwise": the constants, the best stump, then the best tree
        with one more layer of leaves, and so on. "greedy": one tree, which is grown node by node
        in breadth-first order and split only where that lowers the penalised error. "stumps": the
        constants, the best stump, and, if ``max_depth`` is at least 2, that stump followed by the
        same split on both sides.
    penalty : float64 array, default=[0.]
        Penalty by number of nodes, or by number of levels with "stumps". Larger trees have the
        last entry.
    """

    def __init__(
        self,
        X: FloatArray,
        max_depth: int,
        mode: str = "layerwise",
        penalty: FloatArray | None = None,
    ) -> None:
        self._features = _core.RankedFeatures(X)
        # The kernel counts levels in 32 bits.
        self._max_depth = min(max_depth, 2**30)
        self._mode = mode
        self._penalty = np.zeros(1) if penalty is None else np.asarray(penalty, np.float64)

    def best(
        self, signed_weight: FloatArray, scale: float = 1.0
    ) -> tuple[WeakTrees, NDArray[np.int8], float]:
        """Return the tree that maximises edge / 2 - scale * penalty, its votes, and its edge.

        `signed_weight` is the weight times the label of every row; absolute values sum to 1. Ties
        go to the smaller tree, then to the lower feature and threshold. The edge, the sum of
        signed_weight_i h(x_i), is never negative.
        """
        *nodes, prediction, edge = self._features.search(
            signed_weight, self._penalty, scale, self._max_depth, self._mode
        )
        return WeakTrees.from_tree(*nodes), prediction, edge


class UsedTrees:
    """Trees that are in the vote, with their predictions of the training rows."""

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
        """Add a tree that is not there yet; return its index."""
        k = len(self.trees)
        if k == len(self._predictions):
            # The capacity doubles, so that rows are rarely copied.
            larger = np.empty((max(16, 2 * k), len(prediction)), dtype=np.int8)
            larger[:k] = self._predictions[:k].reshape(k, len(prediction))
            self._predictions = larger
        self._predictions[k] = prediction
        self.trees.append(tree)
        self._index[(prediction * prediction[0]).tobytes()] = k
        return k

    def choose(
        self, tree: WeakTrees, prediction: NDArray[np.int8], score: float, scores: FloatArray
    ) -> int | None:
        """Choose the tree with the largest score; the new tree must beat all that are in use.

        `scores` are of the trees in use; empty if they do not compete. The new tree is added if it
        is chosen and not in use yet. Returns the index of the tree; None if no score is above 0.
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
        """Edge of every tree in use, negative if its complement is better."""
        k = len(self.trees)
        if k == 0:
            return np.empty(0)
        return _core.learner_edges(self._predictions[:k], signed_weight)
