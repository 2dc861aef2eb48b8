"""The margin-distribution loss, the coefficients that minimise it, and the weights it gives.

Source: S.-H. Lv, L. Yang and Z.-H. Zhou, "A refined margin distribution analysis for forest
representation learning", NeurIPS 2019.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from mddf import _core
from mddf._base.elementary import log1p

_FEW_ROWS = 2**16  # that take little memory
N_STEPS = 1000
N_PARTS = 20  # of the steps
BATCH_SIZE = 256
_FACTOR_GRAIN = 2.0**-20
_LARGEST_MEAN = 1 - 1e-6  # a mean margin of 1 would have an infinite coefficient


def class_margins(scores: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """What each sample's own class has above the largest other one.

    Parameters
    ----------
    scores : ndarray of shape (n_samples, n_classes)
    labels : ndarray of int of shape (n_samples,)

    Returns
    -------
    ndarray of shape (n_samples,)
        With one class, the score itself.
    """
    margins = np.empty(len(scores), scores.dtype)
    for first in range(0, len(scores), _FEW_ROWS):
        some = slice(first, first + _FEW_ROWS)
        others = scores[some].copy()
        own = np.arange(len(others)), labels[some]
        margins[some] = others[own]
        if scores.shape[1] > 1:
            others[own] = -np.inf
            margins[some] -= others.max(axis=1)
    return margins


def margin_moments(margins: np.ndarray, weights: np.ndarray | None) -> tuple[float, float]:
    """Weighted mean and standard deviation."""
    mean = float(np.average(margins, weights=weights))
    return mean, float(np.sqrt(np.average((margins - mean) ** 2, weights=weights)))


def margin_ratio(margins: np.ndarray, weights: np.ndarray | None = None) -> float:
    """Standard deviation over mean, lambda in the paper; infinite if the mean is not positive."""
    mean, spread = margin_moments(margins, weights)
    return spread / mean if mean > 0 else np.inf


def margin_loss(z: np.ndarray, target_margin: float, mu: float) -> np.ndarray:
    """The loss l_md: squared distance to the target margin, counted `mu`-fold above it.

    ``(z - r)^2 / r^2`` up to the target margin r, ``mu (z - r)^2 / (1 - r)^2`` above it.

    Parameters
    ----------
    z : ndarray
        Margins.
    target_margin : float
        r, between 0 and 1.
    mu : float
        Not negative.
    """
    loss = z - target_margin
    np.square(loss, out=loss)
    loss *= _factors(z, target_margin, mu)
    return loss


def weighted_sum(columns: np.ndarray, x: np.ndarray) -> np.ndarray:
    """``columns @ x``, added up one column after the other.

    The last bit of a matrix product depends on the processor that BLAS finds; this does not.
    """
    total = np.zeros(len(columns))
    for column, factor in zip(columns.T, x, strict=True):
        total += column * factor
    return total


def project_to_simplex(v: np.ndarray) -> np.ndarray:
    """The nearest points, along the last axis, whose entries are not negative and sum to 1.

    J. Duchi, S. Shalev-Shwartz, Y. Singer and T. Chandra, ICML 2008: what is taken from each entry
    is the largest surplus that any number of the largest entries have.
    """
    falling = np.sort(v, axis=-1)[..., ::-1]
    surplus = (np.cumsum(falling, axis=-1) - 1) / np.arange(1, v.shape[-1] + 1)
    return np.maximum(v - surplus.max(axis=-1, keepdims=True), 0)


def _factors(z: Any, target_margin: float, mu: float) -> Any:
    """What the squared distance to the target margin is multiplied by."""
    return np.where(z <= target_margin, 1 / target_margin**2, mu / (1 - target_margin) ** 2)


# Curvature that one row in 10^30 would make: as good as none.
_FLAT = 1e-30


def _safe_step(columns: Any, weights: Any, target_margin: float, mu: float) -> float:
    """One over a bound of the mean loss's curvature; 0 where it is flat."""
    if weights is None:
        weighed = columns * (1 / len(columns))
    else:
        weighed = columns * (weights / weights.sum())[:, None]
    moments = np.array([[(a * b).sum() for b in columns.T] for a in weighed.T])
    steepest = max(1 / target_margin**2, mu / (1 - target_margin) ** 2)
    curvature = 2 * steepest * np.linalg.eigvalsh(moments)[-1]
    # In single precision, so that the last bits of LAPACK's eigenvalues do not matter.
    return float(np.float32(1 / curvature)) if curvature > _FLAT else 0.0


def _descend(
    columns: np.ndarray,
    offset: np.ndarray,
    start: np.ndarray,
    walk: Callable[..., np.ndarray],
    batches: np.ndarray,
    sample_weight: np.ndarray | None,
    target_margin: float,
    mu: float,
) -> np.ndarray:
    """Projected stochastic gradient descent on the mean loss of ``offset + columns @ x``.

    The path has many parts with a constant step each. A part ends in the mean over its second
    half (Polyak and Ruppert), in which the noise of the batches cancels; if that has a smaller
    loss, the next step is larger, otherwise it is smaller and starts where this part did.
    """

    def mean_loss(x: Any) -> Any:
        z = weighted_sum(columns, x)
        z += offset
        return np.average(margin_loss(z, target_margin, mu), weights=sample_weight)

    step = _safe_step(columns, sample_weight, target_margin, mu)
    best = start
    least = mean_loss(best)
    for part in np.array_split(batches, N_PARTS):
        x = walk(columns, offset, part, best, step, target_margin, mu)
        loss = mean_loss(x)
        if loss < least:
            best, least = x, loss
            step *= 2
        else:
            step /= 4
    return best


def _walk_on_simplex(
    columns: Any,
    offset: Any,
    batches: Any,
    x: Any,
    step: Any,
    target_margin: float,
    mu: float,
) -> np.ndarray:
    below, above = 1 / target_margin**2, mu / (1 - target_margin) ** 2
    return _core.walk_on_simplex(columns, offset, batches, x, step, target_margin, below, above)


def _walk_on_ray(
    columns: Any,
    offset: Any,
    batches: Any,
    x: Any,
    step: Any,
    target_margin: float,
    mu: float,
) -> np.ndarray:
    total = np.zeros_like(x)
    for number, batch in enumerate(batches):
        chosen = columns[batch]
        z = offset[batch] + weighted_sum(chosen, x)
        slope = 2 * _factors(z, target_margin, mu) * (z - target_margin)
        x = np.maximum(x - step * (slope[:, None] * chosen).sum(axis=0) / len(batch), 0)
        if 2 * number >= len(batches):
            total += x
    return total / (len(batches) // 2)


def simplex_alphas(
    margins: np.ndarray,
    batches: Any,
    *,
    target_margin: float,
    mu: float,
    sample_weight: Any = None,
) -> np.ndarray:
    """Coefficients of all layers, not negative and of sum 1, that minimise the mean loss.

    Parameters
    ----------
    margins : ndarray of shape (n_samples, n_layers)
        Of each layer alone.
    batches : ndarray of int of shape (n_steps, batch_size)
        Samples of each step, drawn in proportion to their weights.
    target_margin, mu : float
        As in :func:`margin_loss`.
    sample_weight : ndarray of shape (n_samples,) or None, default=None

    Returns
    -------
    ndarray of shape (n_layers,)
    """
    n_layers = margins.shape[1]
    start = np.full(n_layers, 1 / n_layers)
    if n_layers == 1:
        return start
    # Along the simplex only the differences between layers count, and they are much smaller than
    # the margins: the step can be so much larger.
    middle = margins.mean(axis=1)
    return _descend(
        np.ascontiguousarray(margins - middle[:, None]),
        middle,
        start,
        _walk_on_simplex,
        np.ascontiguousarray(batches, np.int32),
        sample_weight,
        target_margin,
        mu,
    )


def stagewise_alpha(
    margins: np.ndarray,
    before: Any,
    batches: Any,
    *,
    target_margin: float,
    mu: float,
    sample_weight: Any = None,
) -> float:
    """Coefficient of the last layer, not negative, the earlier ones being fixed.

    Parameters
    ----------
    margins : ndarray of shape (n_samples,)
        Of the last layer.
    before : ndarray of shape (n_samples,)
        Sum of the earlier layers' margins times their coefficients.
    batches, target_margin, mu, sample_weight
        As in :func:`simplex_alphas`.
    """
    (alpha,) = _descend(
        margins[:, None],
        before,
        np.zeros(1),
        _walk_on_ray,
        batches,
        sample_weight,
        target_margin,
        mu,
    )
    return float(alpha)


def mean_margin_alpha(margins: np.ndarray, sample_weight: Any = None) -> float:
    """``ln((1 + g) / (1 - g)) / 2`` of the mean margin g, and 0 if that is negative."""
    mean = float(np.average(margins, weights=sample_weight))
    mean = min(max(mean, 0), _LARGEST_MEAN)
    return 0.5 * float(log1p(2 * mean / (1 - mean)))


def reweight(losses: np.ndarray, strength: float, sample_weight: Any = None) -> np.ndarray:
    """Factors of the samples' weights at the next layer, with a mean of about 1.

    They are rounded to multiples of 2^-20, so that their sums are exact in any order and a weight
    of k remains the same as k rows.

    Parameters
    ----------
    losses : ndarray of shape (n_samples,)
        Loss of each sample's margin.
    strength : float
        From 0, which weighs all samples alike, to 1, which weighs them by their losses.
    sample_weight : ndarray of shape (n_samples,) or None, default=None
        What the mean is weighted by.
    """
    mean = np.average(losses, weights=sample_weight)
    if mean <= 0:
        return np.ones_like(losses)
    return np.rint(((1 - strength) + strength * (losses / mean)) / _FACTOR_GRAIN) * _FACTOR_GRAIN


def effective_sample_size(weights: np.ndarray) -> float:
    """``(sum w)^2 / sum w^2``: how many equally weighted samples would vary as little."""
    return float(weights.sum() ** 2 / np.square(weights).sum())
