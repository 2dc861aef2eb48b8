"""Sets of weak learners, the base classifiers of an ensemble."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from numpy.typing import NDArray

from mddf import _core
from mddf._base.messages import short
from mddf._base.serialization import register_serializable
from mddf._base.validation import naming
from mddf._layers.margin_loss import weighted_sum

FloatArray = NDArray[np.float64]
Learner = Callable[[FloatArray], FloatArray]

#: Weighted errors and edges that differ by less than this are ties.
TIE = 1e-11


@register_serializable("base trees")
@dataclass(frozen=True, eq=False)
class WeakTrees:
    """Decision trees with labels in {-1, +1}, in flat read-only arrays.

    Indices of children count from the start of their tree, and are larger than their parent's.

    Parameters
    ----------
    start : int64 array of shape (n_learners + 1,)
        First node of each tree; the last entry is n_nodes.
    feature : int32 array of shape (n_nodes,)
        Feature on which a node splits; -1 at a leaf.
    threshold : float64 array of shape (n_nodes,)
        Values up to the threshold go left.
    left, right : int32 arrays of shape (n_nodes,)
        Children; -1 at a leaf.
    label : int8 array of shape (n_nodes,)
        The vote of a leaf.
    gain : float64 array of shape (n_nodes,)
        Increase of the tree's edge by the split of a node.
    """

    start: NDArray[np.int64]
    feature: NDArray[np.int32]
    threshold: FloatArray
    left: NDArray[np.int32]
    right: NDArray[np.int32]
    label: NDArray[np.int8]
    gain: FloatArray

    def __post_init__(self) -> None:
        fields = vars(self)
        for name, array in fields.items():
            fields[name] = array.view()
            fields[name].flags.writeable = False

    def __setstate__(self, state: dict[str, object]) -> None:
        vars(self).update(state)
        # Restored arrays are writeable.
        self.__post_init__()

    @classmethod
    def from_tree(cls, feature: NDArray[np.int32], *node_arrays: NDArray[Any]) -> WeakTrees:
        """Make a single tree from the arrays of its nodes, in the order of the parameters."""
        return cls(np.array([0, len(feature)], dtype=np.int64), feature, *node_arrays)

    @classmethod
    def concatenate(cls, sets: Iterable[WeakTrees]) -> WeakTrees:
        """Join sets of trees; without any set, the result has no trees."""
        sets = [_NO_TREES, *sets]
        arrays_by_field = zip(*(trees._node_arrays() for trees in sets), strict=True)
        sizes = np.concatenate([trees.sizes for trees in sets])
        return cls(_starts(sizes), *(np.concatenate(arrays) for arrays in arrays_by_field))

    @classmethod
    def stumps(cls, feature: NDArray[np.int64], threshold: FloatArray) -> WeakTrees:
        """Make one stump for each feature and threshold, +1 above the threshold."""
        n = len(feature)

        def nodes(root: Any, left: float, right: float, dtype: npt.DTypeLike) -> NDArray[Any]:
            stump_nodes = np.empty((n, 3), dtype)
            stump_nodes[:, 0] = root
            stump_nodes[:, 1] = left
            stump_nodes[:, 2] = right
            return stump_nodes.ravel()

        return cls(
            start=3 * np.arange(n + 1, dtype=np.int64),
            feature=nodes(feature, -1, -1, np.int32),
            threshold=nodes(threshold, 0, 0, np.float64),
            left=nodes(1, -1, -1, np.int32),
            right=nodes(2, -1, -1, np.int32),
            label=nodes(1, -1, 1, np.int8),
            gain=nodes(1, 0, 0, np.float64),
        )

    def __len__(self) -> int:
        return len(self.start) - 1

    def __getitem__(self, index: int) -> WeakTrees:
        return self.take(np.array([index]))

    def _node_arrays(self) -> tuple[NDArray[Any], ...]:
        return self.feature, self.threshold, self.left, self.right, self.label, self.gain

    def _kernel_arrays(self) -> tuple[NDArray[Any], ...]:
        return self.feature, self.threshold, self.left, self.right, self.label, self.start

    @property
    def size(self) -> int:
        """Number of nodes of all trees, leaves included."""
        return len(self.feature)

    @property
    def sizes(self) -> NDArray[np.int64]:
        """Number of nodes of every tree, shape (n_learners,)."""
        return np.diff(self.start)

    def values(self, X: FloatArray) -> NDArray[np.int8]:
        """Votes of every tree on every row, shape (n_learners, n_samples)."""
        return _core.tree_labels(X, *self._kernel_arrays())

    def votes(self, X: FloatArray, weights: FloatArray) -> FloatArray:
        """Weighted sum of the votes, shape (n_samples,)."""
        return _core.tree_votes(X, np.ascontiguousarray(weights), *self._kernel_arrays())

    def take(self, chosen: NDArray[np.int64]) -> WeakTrees:
        """Select trees by their indices."""
        sizes = self.sizes[chosen]
        start = _starts(sizes)
        nodes = np.arange(sizes.sum()) + np.repeat(self.start[:-1][chosen] - start[:-1], sizes)
        return WeakTrees(start, *(array[nodes] for array in self._node_arrays()))

    def importances(self, weights: FloatArray, n_features: int) -> FloatArray:
        """Compute the share of each feature in the splits, shape (n_features,).

        Every tree distributes its absolute weight over its features in proportion to the gains of
        its splits. The sum over the trees is scaled to sum 1, if it is positive.
        """
        tree_of = np.searchsorted(self.start, np.arange(self.size), "right") - 1
        inner = self.feature >= 0
        total = np.bincount(tree_of[inner], self.gain[inner], minlength=len(self))
        scale = np.divide(np.abs(weights), total, out=np.zeros(len(self)), where=total > 0)
        shares = np.zeros(n_features)
        np.add.at(shares, self.feature[inner], self.gain[inner] * scale[tree_of[inner]])
        return shares / shares.sum() if shares.sum() > 0 else shares


def _starts(sizes: NDArray[np.int64]) -> NDArray[np.int64]:
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes)])


_NODE_TYPES: tuple[Any, ...] = (np.int32, np.float64, np.int32, np.int32, np.int8, np.float64)
_NO_TREES = WeakTrees(np.zeros(1, np.int64), *(np.empty(0, dtype) for dtype in _NODE_TYPES))


@register_serializable("given base classifiers")
@dataclass(frozen=True, eq=False)
class GivenLearners:
    """Learners passed by the user.

    Parameters
    ----------
    learners : callable or sequence of callables
        Each takes X of shape (n_samples, n_features) and returns real values of shape
        (n_samples,); a single callable may return (n_samples, n_learners).
    chosen : int64 array or None, default=None
        Indices of the selected learners; None for all.
    """

    learners: Learner | Sequence[Learner]
    chosen: NDArray[np.int64] | None = None

    def __post_init__(self) -> None:
        for learner in () if callable(self.learners) else self.learners:
            if not callable(learner):
                raise ValueError(
                    f"weak_learners must be callable; got {short(learner)} among them"
                )

    @classmethod
    def concatenate(cls, sets: Sequence[GivenLearners]) -> GivenLearners:
        """Join selections of the same learners, at least one."""
        chosen = [selection.chosen for selection in sets if selection.chosen is not None]
        return cls(sets[0].learners, np.concatenate(chosen))

    def __len__(self) -> int:
        if self.chosen is not None:
            return len(self.chosen)
        if callable(self.learners):
            raise TypeError(
                "the number of learners of a single callable is only known from its values"
            )
        return len(self.learners)

    def values(self, X: FloatArray) -> FloatArray:
        """Values of every learner on every row, shape (n_learners, n_samples)."""
        if callable(self.learners):
            values = _values(self.learners, X, n_axes=(1, 2))
            return values if self.chosen is None else values[self.chosen]
        indices = range(len(self.learners)) if self.chosen is None else self.chosen
        learner_values = [_values(self.learners[j], X, n_axes=(1,)) for j in indices]
        return np.concatenate([np.empty((0, len(X))), *learner_values])

    def votes(self, X: FloatArray, weights: FloatArray) -> FloatArray:
        """Weighted sum of the values, shape (n_samples,)."""
        return weighted_sum(self.values(X).T, weights) if len(weights) else np.zeros(len(X))

    def take(self, chosen: NDArray[np.int64]) -> GivenLearners:
        """Select learners by their indices."""
        return GivenLearners(self.learners, chosen if self.chosen is None else self.chosen[chosen])


@register_serializable("fitted base classifiers")
@dataclass(frozen=True, eq=False)
class FittedLearners:
    """Fitted classifiers of labels in {-1, +1}, one for each round.

    Parameters
    ----------
    estimators : list of fitted classifiers
    """

    estimators: list[Any]

    @classmethod
    def concatenate(cls, sets: Iterable[FittedLearners]) -> FittedLearners:
        """Join sets of classifiers."""
        return cls([estimator for learners in sets for estimator in learners.estimators])

    def __len__(self) -> int:
        return len(self.estimators)

    def values(self, X: FloatArray) -> NDArray[np.int8]:
        """Votes of every classifier on every row, shape (n_learners, n_samples)."""
        labels = [np.asarray(estimator.predict(X)) for estimator in self.estimators]
        return np.reshape(labels, (len(labels), len(X))).astype(np.int8)

    def votes(self, X: FloatArray, weights: FloatArray) -> FloatArray:
        """Weighted sum of the votes, shape (n_samples,)."""
        return weighted_sum(self.values(X).T.astype(float), weights)

    def take(self, chosen: NDArray[np.int64]) -> FittedLearners:
        """Select classifiers by their indices."""
        return FittedLearners([self.estimators[k] for k in chosen.tolist()])

    def importances(self, weights: FloatArray, n_features: int) -> FloatArray:
        """Compute the weighted mean of the classifiers' importances, shape (n_features,)."""
        shares = np.zeros(n_features)
        for weight, estimator in zip(weights, self.estimators, strict=True):
            shares += abs(weight) * np.asarray(estimator.feature_importances_)
        return shares / shares.sum() if shares.sum() > 0 else shares


Learners = WeakTrees | GivenLearners | FittedLearners


def _values(learner: Learner, X: FloatArray, n_axes: tuple[int, ...]) -> FloatArray:
    """Values of a learner, or of several learners in one callable; a row per learner."""
    with naming("weak_learners"):
        columns = np.asarray(learner(X), dtype=np.float64)
    if columns.ndim not in n_axes or len(columns) != len(X):
        raise ValueError(
            "weak_learners must return one value per row of X; "
            f"got an array of shape {columns.shape} for {len(X)} rows"
        )
    if not np.isfinite(columns).all():
        wrong = columns[~np.isfinite(columns)][0]
        raise ValueError(f"weak_learners must return finite values; got {wrong!s}")
    return columns.T.reshape(-1, len(X))
