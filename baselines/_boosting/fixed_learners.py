"""Finite sets of learners, with their values on the training rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .columns import EXTREME
from .weak_learners import FloatArray, GivenLearners, Learner, Learners, WeakTrees


def stump_dictionary(X: FloatArray, n_thresholds: int) -> WeakTrees:
    """Decision stumps at evenly spaced thresholds.

    Every feature has the thresholds low + k (high - low) / (n_thresholds + 1) for k = 1, ...,
    n_thresholds, between its smallest and its largest value in X. A stump votes +1 above its
    threshold. Complements of stumps are stumps with a negative weight, and not learners of their
    own. A feature with a single value, missing values aside, has no stumps.
    """
    low = X.min(axis=0)
    high = X.max(axis=0)
    # Fill values of missing values do not count.
    if np.any(low == -EXTREME) or np.any(high == EXTREME):
        low = X.min(axis=0, initial=EXTREME, where=X > -EXTREME)
        high = X.max(axis=0, initial=-EXTREME, where=X < EXTREME)
    features = np.flatnonzero(low < high)
    share = np.arange(1, n_thresholds + 1) / (n_thresholds + 1)
    thresholds = low[features, None] * (1 - share) + high[features, None] * share
    return WeakTrees.stumps(np.repeat(features, n_thresholds), thresholds.ravel())


def distinct_learners(values: NDArray[Any]) -> NDArray[np.int64]:
    """Find learners that differ by more than their sign, and are not 0 on all rows.

    `values` has the shape (n_learners, n_samples); values of type int8 are -1 or +1. Returns the
    indices of the first learner of every group of equal ones, in ascending order.
    """
    if values.dtype == np.int8:
        return _first_of_equal_rows(np.packbits(values == values[:, :1], axis=1))
    nonzero = values != 0
    kept = np.flatnonzero(nonzero.any(axis=1))
    first = values[kept, nonzero[kept].argmax(axis=1)]
    # Adding 0.0 turns -0.0 in a negated row into 0.0: rows are compared by their bytes.
    return kept[_first_of_equal_rows(values[kept] * np.sign(first)[:, None] + 0.0)]


def _first_of_equal_rows(rows: NDArray[Any]) -> NDArray[np.int64]:
    rows = np.ascontiguousarray(rows)
    keys = rows.view(np.dtype((np.void, rows.itemsize * rows.shape[1]))).ravel()
    return np.sort(np.unique(keys, return_index=True)[1])


def fixed_learners(
    learners: str | Learner | Sequence[Learner], X: FloatArray, n_thresholds: int
) -> tuple[Learners, NDArray[Any]]:
    """Make a finite set of learners, with their values on the training rows.

    "stumps" makes :func:`stump_dictionary`; callables are as in :class:`GivenLearners`. Learners
    that agree with an earlier one on all rows up to sign, or that are 0 on all rows, are left out.
    Values have the shape (n_learners, n_samples).
    """
    if isinstance(learners, str):
        candidates: Learners = stump_dictionary(X, n_thresholds)
    else:
        candidates = GivenLearners(learners)
    values = candidates.values(X)
    kept = distinct_learners(values)
    return candidates.take(kept), values[kept]


class UsesWeakLearners:
    """Mixin for the parameter `weak_learners`."""

    weak_learners: str | Learner | Sequence[Learner] | None

    def _grows_trees(self) -> bool:
        return self.weak_learners is None or isinstance(self.weak_learners, str)
