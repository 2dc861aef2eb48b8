"""Scale of the sample weights of boosted trees: counts of rows, or relative weights."""

from __future__ import annotations

import numpy as np

from mddf._targets.weights import rounded_weights, whole_weights

# Weights are scaled if the largest one is above 2**40 or below 2**-40: larger whole numbers cannot
# be counts of rows.
_MAX_EXPONENT = 40
# Weights that are not whole numbers are divided by their mean. In this mean, no weight counts as
# more than 1000 times the 90 % quantile. With one row of weight 1e12 among 1000, the other rows
# then keep weights of about 0.5 each. "balanced" weights of classes as rare as 1 in 1000 are not
# cut.
_QUANTILE = 0.9
_MAX_IN_MEAN = 1000.0
# A few rows (fewer than a tenth) have at most 16 times the total weight of the other rows.
# Otherwise only these rows would matter in the loss, and the sums of 30 bits that splits are
# compared by could not resolve the other rows. One row of weight 1e12 among 1000 made the model a
# constant. With the limit of 16, its prediction is within 0.02 of its target, and the R2 of the
# others is 0.93.
_MAX_FACTOR_OF_FEW = 16.0
# Whole weights with at most this sum are counts of rows and are never cut.
_MAX_COUNT = 2.0**16


def within_range(weights: np.ndarray | None) -> np.ndarray | None:
    """Multiply weights by a power of two if they are very large or very small."""
    if weights is None:
        return None
    exponent = np.frexp(weights.max())[1]
    return weights if abs(exponent) <= _MAX_EXPONENT else np.ldexp(weights, -exponent)


def boosting_weights(
    row_weights: np.ndarray | None, sample_weight: np.ndarray | None
) -> np.ndarray | None:
    """Weights of the rows in the loss of boosted trees.

    Whole numbers are counts of rows and stay as they are. Other weights are divided by their mean,
    so that `l2_regularization`, which is added to sums over rows, does not depend on their scale.

    `row_weights` are products of sample weights and class weights, in any unit. If the
    `sample_weight` alone are whole numbers, their sum is the number of rows.
    """
    if row_weights is None:
        return None
    weights = within_range(row_weights)
    assert weights is not None
    has_weight = weights > 0
    if not whole_weights(weights):
        n_rows = float(np.count_nonzero(has_weight))
        if sample_weight is not None and whole_weights(sample_weight):
            n_rows = float(sample_weight[has_weight].sum())
        most = _MAX_IN_MEAN * _high_quantile(weights)
        weights = rounded_weights(weights * (n_rows / float(np.minimum(weights, most).sum())))
    return _limit_few_rows(weights)


def _high_quantile(weights: np.ndarray) -> float:
    """90 % quantile of the positive weights."""
    return float(np.quantile(weights[weights > 0], _QUANTILE, method="higher"))


def _limit_few_rows(weights: np.ndarray) -> np.ndarray:
    """Limit the weights of a few rows that have far more weight than all others together."""
    quantile = _high_quantile(weights)
    is_whole = whole_weights(weights)
    is_large = weights > quantile
    if not is_large.any():
        return weights
    max_sum = _MAX_FACTOR_OF_FEW * float(np.minimum(weights, quantile).sum())
    if is_whole:
        max_sum = max(max_sum, _MAX_COUNT)
    if weights[is_large].sum() <= max_sum:
        return weights
    limit = max(quantile, max_sum / np.count_nonzero(is_large))
    return np.minimum(weights, np.floor(limit) if is_whole else limit)
