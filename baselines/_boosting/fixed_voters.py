"""Finite sets of voters, with their values on the training rows."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from .voters import FloatArray, GivenVoters, TreeVoters, Voter, Voters


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
    return TreeVoters.stumps(np.repeat(features, n_thresholds), thresholds.ravel())


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
) -> tuple[Voters, NDArray]:
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
    made = stump_dictionary(X, n_thresholds) if isinstance(voters, str) else GivenVoters(voters)
    values = made.values(X)
    kept = distinct_voters(values)
    return made.take(kept), values[kept]
