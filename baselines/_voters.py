"""Voters: the base classifiers of an ensemble, and ways to have many of them at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mddf import _core

FloatArray = NDArray[np.float64]
Voter = Callable[[FloatArray], FloatArray]

#: Weighted errors and edges that differ by less than this are ties.
TIE = 1e-11


@dataclass(frozen=True)
class Tree:
    """A decision tree with labels in {-1, +1}.

    Parameters
    ----------
    feature : int32 array of shape (n_nodes,)
        Feature asked at a node; -1 at a leaf.
    threshold : float64 array of shape (n_nodes,)
        Values up to the threshold go left.
    left, right : int32 arrays of shape (n_nodes,)
        Children; a child's number is larger than its parent's. -1 at a leaf.
    label : int8 array of shape (n_nodes,)
        The vote of a leaf.
    gain : float64 array of shape (n_nodes,)
        What the split of a node added to the edge of the tree when it was found.
    """

    feature: NDArray[np.int32]
    threshold: FloatArray
    left: NDArray[np.int32]
    right: NDArray[np.int32]
    label: NDArray[np.int8]
    gain: FloatArray

    @property
    def size(self) -> int:
        """Number of nodes, inner ones and leaves."""
        return len(self.feature)


_NODE_ARRAYS = ("feature", "threshold", "left", "right", "label", "gain")


class TreeVoters:
    """A fixed list of trees, stored flat for the compiled core.

    Parameters
    ----------
    trees : sequence of Tree
        The voters, in the order in which their weights are given.
    """

    def __init__(self, trees: Sequence[Tree]):
        def joined(name, dtype):
            return np.concatenate([np.empty(0, dtype), *(getattr(t, name) for t in trees)])

        sizes = np.array([tree.size for tree in trees], dtype=np.int64)
        self.start = np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes)])
        self.feature: NDArray[np.int32] = joined("feature", np.int32)
        self.threshold: FloatArray = joined("threshold", np.float64)
        self.left: NDArray[np.int32] = joined("left", np.int32)
        self.right: NDArray[np.int32] = joined("right", np.int32)
        self.label: NDArray[np.int8] = joined("label", np.int8)
        self.gain: FloatArray = joined("gain", np.float64)

    def __len__(self) -> int:
        return len(self.start) - 1

    def __getitem__(self, index: int) -> Tree:
        at = slice(self.start[index], self.start[index + 1])
        return Tree(*(getattr(self, name)[at] for name in _NODE_ARRAYS))

    @property
    def sizes(self) -> NDArray[np.int64]:
        """Number of nodes of every tree, shape (n_voters,)."""
        return np.diff(self.start)

    def _arrays(self):
        return self.feature, self.threshold, self.left, self.right, self.label, self.start

    def values(self, X: FloatArray) -> NDArray[np.int8]:
        """Votes of every tree on every row, shape (n_voters, n_samples)."""
        return _core.tree_labels(X, *self._arrays())

    def votes(self, X: FloatArray, weights: FloatArray) -> FloatArray:
        """Weighted sum of the votes, shape (n_samples,)."""
        return _core.tree_votes(X, np.ascontiguousarray(weights), *self._arrays())

    def take(self, chosen: NDArray[np.int64]) -> TreeVoters:
        """Keep only some of the trees."""
        chosen = np.asarray(chosen, dtype=np.int64)
        sizes = self.sizes[chosen]
        kept = TreeVoters([])
        kept.start = np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes)])
        nodes = np.arange(sizes.sum()) + np.repeat(self.start[chosen] - kept.start[:-1], sizes)
        for name in _NODE_ARRAYS:
            setattr(kept, name, getattr(self, name)[nodes])
        return kept

    def importances(self, weights: FloatArray, n_features: int) -> FloatArray:
        """Share of each feature in the splits, shape (n_features,).

        Every tree hands out its absolute weight to its features in proportion to the gains of
        their splits; the sum over the trees is divided by its total, if that is positive.
        """
        tree_of = np.repeat(np.arange(len(self)), self.sizes)
        inner = self.feature >= 0
        total = np.bincount(tree_of[inner], self.gain[inner], minlength=len(self))
        scale = np.divide(np.abs(weights), total, out=np.zeros(len(self)), where=total > 0)
        shares = np.zeros(n_features)
        np.add.at(shares, self.feature[inner], self.gain[inner] * scale[tree_of[inner]])
        return shares / shares.sum() if shares.sum() > 0 else shares


class GivenVoters:
    """Voters that the caller brings along.

    Parameters
    ----------
    voters : callable or sequence of callables
        Each takes X of shape (n_samples, n_features) and returns real values of shape
        (n_samples,); a single callable may return (n_samples, n_voters).
    chosen : int array or None, default=None
        The voters to keep of those given; all when None.
    """

    def __init__(self, voters: Voter | Sequence[Voter], chosen: NDArray[np.int64] | None = None):
        wrong = [] if callable(voters) else [voter for voter in voters if not callable(voter)]
        if wrong:
            raise ValueError(f"voters must be callable; got {wrong[0]!r} among them")
        self.voters = voters
        self.chosen = chosen

    def values(self, X: FloatArray) -> FloatArray:
        """Values of every voter on every row, shape (n_voters, n_samples)."""
        if callable(self.voters):
            rows = _as_rows(self.voters(X), len(X), n_axes=(1, 2))
            return rows if self.chosen is None else rows[self.chosen]
        kept = range(len(self.voters)) if self.chosen is None else self.chosen
        made = [_as_rows(self.voters[j](X), len(X), n_axes=(1,)) for j in kept]
        return np.concatenate([np.empty((0, len(X))), *made])

    def __len__(self) -> int:
        if self.chosen is not None:
            return len(self.chosen)
        if callable(self.voters):
            raise TypeError("a single callable shows how many voters it makes only in its values")
        return len(self.voters)

    def votes(self, X: FloatArray, weights: FloatArray) -> FloatArray:
        """Weighted sum of the values, shape (n_samples,)."""
        return weights @ self.values(X) if len(weights) else np.zeros(len(X))

    def take(self, chosen: NDArray[np.int64]) -> GivenVoters:
        """Keep only some of the voters."""
        return GivenVoters(self.voters, chosen if self.chosen is None else self.chosen[chosen])


def _as_rows(values, n_samples: int, n_axes: tuple[int, ...]) -> FloatArray:
    """What a voter returned, of shape (n_samples,) or (n_samples, n_voters), one row per voter."""
    columns = np.asarray(values, dtype=np.float64)
    if columns.ndim not in n_axes or len(columns) != n_samples:
        raise ValueError(
            "voters must return one value per row of X; "
            f"got an array of shape {columns.shape} for {n_samples} rows"
        )
    if not np.isfinite(columns).all():
        wrong = columns[~np.isfinite(columns)][0]
        raise ValueError(f"voters must return finite values; got {wrong!s}")
    return columns.T.reshape(-1, n_samples)


def stump_dictionary(X: FloatArray, n_thresholds: int) -> TreeVoters:
    """Decision stumps at evenly spaced thresholds.

    For every feature the thresholds low + k (high - low) / (n_thresholds + 1), k = 1, ...,
    n_thresholds, between its least and its largest value in X; a stump votes +1 above its
    threshold. The complement of a stump is its negative, hence a negative weight, and no voter of
    its own. A feature with a single value has no stumps.

    Parameters
    ----------
    X : array of shape (n_samples, n_features)
        Rows with positive sample weight.
    n_thresholds : int
        Thresholds per feature.

    Returns
    -------
    TreeVoters
        n_thresholds trees of three nodes per feature that is not constant.
    """
    low, high = X.min(axis=0), X.max(axis=0)
    features = np.flatnonzero(low < high)
    share = np.arange(1, n_thresholds + 1) / (n_thresholds + 1)
    thresholds = low[features, None] * (1 - share) + high[features, None] * share
    n_stumps = thresholds.size
    voters = TreeVoters([])
    voters.start = 3 * np.arange(n_stumps + 1, dtype=np.int64)
    voters.feature = np.full(3 * n_stumps, -1, dtype=np.int32)
    voters.feature[::3] = np.repeat(features, n_thresholds)
    voters.threshold = np.zeros(3 * n_stumps)
    voters.threshold[::3] = thresholds.ravel()
    voters.left = np.tile(np.array([1, -1, -1], dtype=np.int32), n_stumps)
    voters.right = np.tile(np.array([2, -1, -1], dtype=np.int32), n_stumps)
    voters.label = np.tile(np.array([1, -1, 1], dtype=np.int8), n_stumps)
    voters.gain = np.tile(np.array([1.0, 0.0, 0.0]), n_stumps)
    return voters


def distinct_voters(values: NDArray) -> NDArray[np.int64]:
    """First of every group of voters that agree on all rows up to sign, and that are not 0.

    Parameters
    ----------
    values : int8 or float64 array of shape (n_voters, n_samples)
        Values of the voters on the training rows; those of type int8 are -1 or +1.

    Returns
    -------
    int64 array
        Indices into the voters, rising.
    """
    if values.dtype == np.int8:
        return _first_of_equal_rows(np.packbits(values == values[:, :1], axis=1))
    nonzero = values != 0
    kept = np.flatnonzero(nonzero.any(axis=1))
    first = values[kept, nonzero[kept].argmax(axis=1)]
    # + 0 turns the -0.0 of a negated row into 0.0, whose bytes differ
    return kept[_first_of_equal_rows(values[kept] * np.sign(first)[:, None] + 0.0)]


def _first_of_equal_rows(rows: NDArray) -> NDArray[np.int64]:
    rows = np.ascontiguousarray(rows)
    keys = rows.view(np.dtype((np.void, rows.itemsize * rows.shape[1]))).ravel()
    return np.sort(np.unique(keys, return_index=True)[1])


def fixed_voters(
    voters: str | Voter | Sequence[Voter], X: FloatArray, n_thresholds: int
) -> tuple[TreeVoters | GivenVoters, NDArray]:
    """Make a finite set of voters, with their values on the training rows.

    Parameters
    ----------
    voters : "stumps", callable or sequence of callables
        "stumps" makes :func:`stump_dictionary`; callables are as in :class:`GivenVoters`.
    X : array of shape (n_samples, n_features)
        Training rows.
    n_thresholds : int
        Thresholds per feature of "stumps".

    Returns
    -------
    voters : TreeVoters or GivenVoters
        All voters.
    values : int8 or float64 array of shape (n_voters, n_samples)
        Values of the voters that are kept, in order. Voters that agree with an earlier one on
        all rows, up to sign, or that are 0 on all of them, are left out.
    """
    if isinstance(voters, str):
        made: TreeVoters | GivenVoters = stump_dictionary(X, n_thresholds)
    else:
        made = GivenVoters(voters)
    values = made.values(X)
    kept = distinct_voters(values)
    return made.take(kept), values[kept]
