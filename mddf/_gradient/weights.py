"""Sample weights of boosted trees: copies of rows, or shares without a unit."""

from __future__ import annotations

import numpy as np

from mddf._targets.weights import rounded_weights, whole_weights

# Weights beyond these powers of two are scaled: whole numbers beyond are no counts of rows.
_MOST_EXPONENT = 40
# In the mean that real weights are divided by, no weight counts as more than this multiple of the
# 90 % quantile. One row of weight 1e12 among 1000 then leaves the others at about 0.5 each, and
# "balanced" weights of classes as rare as 1 in 1000 have their plain mean.
_QUANTILE = 0.9
_MOST_IN_MEAN = 1000.0
# A few rows, fewer than a tenth, count at most this many times as much as all others together: the
# loss would otherwise be that of these rows alone, and the sums of 30 bits by which splits are
# found would not hold the others. One row of weight 1e12 among 1000 left a constant. Held to 16
# times the others, its prediction is within 0.02 of its target, and the R2 of the others is 0.93.
_MOST_OF_FEW = 16.0
# Whole weights of this total are copies in any case.
_MOST_COPIES = 2.0**16


def within_range(weights: np.ndarray | None) -> np.ndarray | None:
    """Weights as they are, or times a power of two if they are very large or very small."""
    if weights is None:
        return None
    exponent = np.frexp(weights.max())[1]
    return weights if abs(exponent) <= _MOST_EXPONENT else np.ldexp(weights, -exponent)


def boosting_weights(
    row_weights: np.ndarray | None, sample_weight: np.ndarray | None
) -> np.ndarray | None:
    """Weights by which trees are boosted.

    Whole numbers are copies of rows and stay. Others have no unit: they are divided by their mean,
    so that penalties and least sizes of leaves, which count rows, do not depend on their scale.

    Parameters
    ----------
    row_weights : ndarray of shape (n_rows,) or None
        Products of sample weights and class weights, in any unit.
    sample_weight : ndarray of shape (n_rows,) or None
        The sample weights alone. If they are whole numbers, they say how many rows there are.
    """
    if row_weights is None:
        return None
    weights = within_range(row_weights)
    assert weights is not None
    counts = weights > 0
    if not whole_weights(weights):
        n_rows = float(np.count_nonzero(counts))
        if sample_weight is not None and whole_weights(sample_weight):
            n_rows = float(sample_weight[counts].sum())
        most = _MOST_IN_MEAN * _typical(weights)
        weights = rounded_weights(weights * (n_rows / float(np.minimum(weights, most).sum())))
    return _without_giants(weights)


def _typical(weights: np.ndarray) -> float:
    """A weight that fewer than a tenth of the rows that count exceed."""
    return float(np.quantile(weights[weights > 0], _QUANTILE, method="higher"))


def _without_giants(weights: np.ndarray) -> np.ndarray:
    """Weights, cut where a few rows count far more than all others together."""
    typical = _typical(weights)
    is_whole = whole_weights(weights)
    is_few = weights > typical
    if not is_few.any():
        return weights
    most = _MOST_OF_FEW * float(np.minimum(weights, typical).sum())
    if is_whole:
        most = max(most, _MOST_COPIES)
    if weights[is_few].sum() <= most:
        return weights
    limit = max(typical, most / np.count_nonzero(is_few))
    return np.minimum(weights, np.floor(limit) if is_whole else limit)
