"""Learners: the base classifiers of an ensemble, many of them at once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mddf import _core
from mddf._base.messages import short
from mddf._base.serialization import register_serializable
from mddf._base.validation import naming
from mddf._ensemble.margin_loss import weighted_sum

FloatArray = NDArray[np.float64]
Learner = Callable[[FloatArray], FloatArray]

#: Weighted errors and edges that differ by less than this are ties.
TIE = 1e-11


@register_serializable("base trees")
@dataclass(frozen=True, eq=False)
class WeakTrees:
    """Decision trees with labels in {-1, +1}, one after another in flat read-only arrays.

    Children count from the start of their tree and come after their parent.

    Parameters
    ----------
    start : int64 array of shape (n_learners + 1,)
        Where the nodes of each tree start; the last entry is n_nodes.
    feature : int32 array of shape (n_nodes,)
        Feature on which a node splits; -1 at a leaf.
    threshold : float64 array of shape (n_nodes,)
        Values up to the threshold go left.
    left, right : int32 arrays of shape (n_nodes,)
        Children; -1 at a leaf.
    label : int8 array of shape (n_nodes,)
        The vote of a leaf.
    gain : float64 array of shape (n_nodes,)
        What the split of a node added to the edge of the tree when it was found.
    """

    start: NDArray[np.int64]
    feature: NDArray[np.int32]
    threshold: FloatArray
    left: NDArray[np.int32]
    right: NDArray[np.int32]
    label: NDArray[np.int8]
    gain: FloatArray

    def __post_init__(self) -> None:
        kept = vars(self)
        for name, array in kept.items():
            kept[name] = array.view()
            kept[name].flags.writeable = False

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self.__post_init__()  # the arrays are read-only again

    @classmethod
    def of_tree(
        cls, feature: Any, threshold: Any, left: Any, right: Any, label: Any, gain: Any
    ) -> WeakTrees:
        """Take one tree."""
        start = np.array([0, len(feature)], dtype=np.int64)
        return cls(start, feature, threshold, left, right, label, gain)

    @classmethod
    def joined(cls, parts: Iterable[WeakTrees]) -> WeakTrees:
        """Put the trees of several one after another."""
        parts = [_NO_TREES, *parts]
        nodes = [
            np.concatenate(arrays) for arrays in zip(*(p._nodes() for p in parts), strict=True)
        ]
        sizes = np.concatenate([part.sizes for part in parts])
        return cls(_starts(sizes), *nodes)

    @classmethod
    def stumps(cls, feature: NDArray[np.int64], threshold: FloatArray) -> WeakTrees:
        """Make one stump for each feature and threshold, +1 above the threshold."""
        n = len(feature)

        def nodes(root: Any, left: Any, right: Any, dtype: Any) -> Any:
            columns = np.empty((n, 3), dtype)
            columns[:, 0], columns[:, 1], columns[:, 2] = root, left, right
            return columns.ravel()

        return cls(
            3 * np.arange(n + 1, dtype=np.int64),
            nodes(feature, -1, -1, np.int32),
            nodes(threshold, 0, 0, np.float64),
            nodes(1, -1, -1, np.int32),
            nodes(2, -1, -1, np.int32),
            nodes(1, -1, 1, np.int8),
            nodes(1, 0, 0, np.float64),
        )

    def __len__(self) -> int:
        return len(self.start) - 1

    def __getitem__(self, index: int) -> WeakTrees:
        return self.take(np.array([index]))

    def _nodes(self) -> tuple[NDArray[Any], ...]:
        return self.feature, self.threshold, self.left, self.right, self.label, self.gain

    def _arrays(self) -> Any:
        return self.feature, self.threshold, self.left, self.right, self.label, self.start

    @property
    def size(self) -> int:
        """Number of nodes, inner ones and leaves, of all trees together."""
        return len(self.feature)

    @property
    def sizes(self) -> NDArray[np.int64]:
        """Number of nodes of every tree, shape (n_learners,)."""
        return np.diff(self.start)

    def values(self, X: FloatArray) -> NDArray[np.int8]:
        """Votes of every tree on every row, shape (n_learners, n_samples)."""
        return _core.tree_labels(X, *self._arrays())

    def votes(self, X: FloatArray, weights: FloatArray) -> FloatArray:
        """Weighted sum of the votes, shape (n_samples,)."""
        return _core.tree_votes(X, np.ascontiguousarray(weights), *self._arrays())

    def take(self, chosen: NDArray[np.int64]) -> WeakTrees:
        """Keep only some of the trees."""
        sizes = self.sizes[chosen]
        start = _starts(sizes)
        nodes = np.arange(sizes.sum()) + np.repeat(self.start[:-1][chosen] - start[:-1], sizes)
        return WeakTrees(start, *(array[nodes] for array in self._nodes()))

    def importances(self, weights: FloatArray, n_features: int) -> FloatArray:
        """Share of each feature in the splits, shape (n_features,).

        Every tree shares its absolute weight among its features in proportion to the gains of
        their splits; the sum over the trees is divided by its total, if that is positive.
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
    """Learners that the caller brings along.

    Parameters
    ----------
    learners : callable or sequence of callables
        Each takes X of shape (n_samples, n_features) and returns real values of shape
        (n_samples,); a single callable may return (n_samples, n_learners).
    chosen : int64 array or None, default=None
        The learners to keep of those given; all when None.
    """

    learners: Learner | Sequence[Learner]
    chosen: NDArray[np.int64] | None = None

    def __post_init__(self) -> None:
        wrong = [] if callable(self.learners) else [v for v in self.learners if not callable(v)]
        if wrong:
            raise ValueError(f"weak_learners must be callable; got {short(wrong[0])} among them")

    @classmethod
    def joined(cls, parts: Sequence[GivenLearners]) -> GivenLearners:
        """Put together what was chosen of the same learners, at least once."""
        chosen = [part.chosen for part in parts if part.chosen is not None]
        return cls(parts[0].learners, np.concatenate(chosen))

    def __len__(self) -> int:
        if self.chosen is not None:
            return len(self.chosen)
        if callable(self.learners):
            raise TypeError(
                "a single callable shows in its values alone how many learners it makes"
            )
        return len(self.learners)

    def values(self, X: FloatArray) -> FloatArray:
        """Values of every learner on every row, shape (n_learners, n_samples)."""
        if callable(self.learners):
            rows = _values(self.learners, X, n_axes=(1, 2))
            return rows if self.chosen is None else rows[self.chosen]
        kept = range(len(self.learners)) if self.chosen is None else self.chosen
        made = [_values(self.learners[j], X, n_axes=(1,)) for j in kept]
        return np.concatenate([np.empty((0, len(X))), *made])

    def votes(self, X: FloatArray, weights: FloatArray) -> FloatArray:
        """Weighted sum of the values, shape (n_samples,)."""
        return weighted_sum(self.values(X).T, weights) if len(weights) else np.zeros(len(X))

    def take(self, chosen: NDArray[np.int64]) -> GivenLearners:
        """Keep only some of the learners."""
        return GivenLearners(self.learners, chosen if self.chosen is None else self.chosen[chosen])


@register_serializable("fitted base classifiers")
@dataclass(frozen=True, eq=False)
class FittedLearners:
    """Classifiers of labels in {-1, +1}, one for each round that fitted one.

    Parameters
    ----------
    estimators : list of fitted classifiers
    """

    estimators: list[Any]

    @classmethod
    def joined(cls, parts: Iterable[FittedLearners]) -> FittedLearners:
        """Put the classifiers of several one after another."""
        return cls([estimator for part in parts for estimator in part.estimators])

    def __len__(self) -> int:
        return len(self.estimators)

    def values(self, X: FloatArray) -> NDArray[np.int8]:
        """Votes of every classifier on every row, shape (n_learners, n_samples)."""
        made = [np.asarray(estimator.predict(X)) for estimator in self.estimators]
        return np.reshape(made, (len(made), len(X))).astype(np.int8)

    def votes(self, X: FloatArray, weights: FloatArray) -> FloatArray:
        """Weighted sum of the votes, shape (n_samples,)."""
        return weighted_sum(self.values(X).T.astype(float), weights)

    def take(self, chosen: NDArray[np.int64]) -> FittedLearners:
        """Keep only some of the classifiers."""
        return FittedLearners([self.estimators[k] for k in chosen.tolist()])

    def importances(self, weights: FloatArray, n_features: int) -> FloatArray:
        """Mean of the classifiers' importances by their weights, shape (n_features,)."""
        shares = np.zeros(n_features)
        for weight, estimator in zip(weights, self.estimators, strict=True):
            shares += abs(weight) * np.asarray(estimator.feature_importances_)
        return shares / shares.sum() if shares.sum() > 0 else shares


Learners = WeakTrees | GivenLearners | FittedLearners


def _values(learner: Learner, X: FloatArray, n_axes: tuple[int, ...]) -> FloatArray:
    """Values of what is one learner or several, one row per learner."""
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
