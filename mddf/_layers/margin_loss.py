"""Margin-distribution loss, coefficients that minimise it, and sample weights from it.

Source: S.-H. Lv, L. Yang and Z.-H. Zhou, "Forest representation learning guided by margin
distribution", arXiv:1905.03052v1, 2019.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from mddf import _core
from mddf._base.elementary import log1p

# Defaults of the loss: the target margin and the factor of squared distances above it. Both are in
# the middle of the paper's grids. Not tuned.
TARGET_MARGIN = 0.9
MU = 0.1
# Rows whose margins are computed at once, which bounds the memory of a copy of their scores.
_ROWS_AT_ONCE = 2**16
# Steps of the descent, the parts with a constant step size, and samples in each step. Not tuned.
N_STEPS = 1000
N_PARTS = 20
BATCH_SIZE = 256
# Factors of the samples' weights are multiples of this unit, so that their sums are exact.
_FACTOR_GRAIN = 2.0**-20
# Largest mean margin: a mean margin of 1 would have an infinite coefficient.
_MAX_MEAN_MARGIN = 1 - 1e-6


@dataclass(frozen=True)
class MarginHistory:
    """Out-of-fold margins from which the coefficients of a cascade's layers are computed."""

    margins: np.ndarray  # of each layer alone: (n_samples, n_layers)
    before: np.ndarray  # coefficients after the layer before: (n_layers - 1,)
    weight: np.ndarray | None  # weights of the rows
    order: np.ndarray  # the rows in their canonical order
    entropy: tuple[int, ...]  # of the random stream of this layer

    def draw_batches(self) -> np.ndarray:
        """Draw the samples of each step of a descent, in proportion to their weights."""
        random = np.random.default_rng(np.random.SeedSequence(self.entropy))
        points = random.random((N_STEPS, BATCH_SIZE))
        if self.weight is None:
            n = len(self.order)
            return self.order[np.minimum((points * n).astype(np.int64), n - 1)]
        weight = self.weight[self.order]
        cumulative = np.cumsum(weight)
        points *= cumulative[-1]
        last = np.flatnonzero(weight)[-1]
        return self.order[np.minimum(np.searchsorted(cumulative, points, side="right"), last)]


def class_margins(scores: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Score of each sample's own class minus the largest score of another class.

    With one class, the score itself.
    """
    margins = np.empty(len(scores), scores.dtype)
    for first in range(0, len(scores), _ROWS_AT_ONCE):
        rows = slice(first, first + _ROWS_AT_ONCE)
        other_scores = scores[rows].copy()
        own_class = np.arange(len(other_scores)), labels[rows]
        margins[rows] = other_scores[own_class]
        if scores.shape[1] > 1:
            other_scores[own_class] = -np.inf
            margins[rows] -= other_scores.max(axis=1)
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

    ``(z - r)^2 / r^2`` up to the target margin r, ``mu (z - r)^2 / (1 - r)^2`` above it; r lies
    between 0 and 1.
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


def _factors(z: np.ndarray, target_margin: float, mu: float) -> np.ndarray:
    """Factor of the squared distance to the target margin."""
    return np.where(z <= target_margin, 1 / target_margin**2, mu / (1 - target_margin) ** 2)


# A smaller curvature, as one row in 10^30 would give, counts as none.
_FLAT = 1e-30


@dataclass(frozen=True)
class _Objective:
    """Mean loss of ``offset + columns @ x``, which a descent minimises."""

    columns: np.ndarray
    offset: np.ndarray
    sample_weight: np.ndarray | None
    target_margin: float
    mu: float

    def mean_loss(self, x: np.ndarray) -> float:
        z = weighted_sum(self.columns, x)
        z += self.offset
        losses = margin_loss(z, self.target_margin, self.mu)
        return float(np.average(losses, weights=self.sample_weight))

    def safe_step(self) -> float:
        """Step size: 1 over a bound of the curvature of the mean loss; 0 if it is flat."""
        weights = self.sample_weight
        if weights is None:
            weighed = self.columns * (1 / len(self.columns))
        else:
            weighed = self.columns * (weights / weights.sum())[:, None]
        moments = np.array([[(a * b).sum() for b in self.columns.T] for a in weighed.T])
        steepest = max(1 / self.target_margin**2, self.mu / (1 - self.target_margin) ** 2)
        curvature = 2 * steepest * np.linalg.eigvalsh(moments)[-1]
        # In single precision, so that the last bits of LAPACK's eigenvalues do not matter.
        return float(np.float32(1 / curvature)) if curvature > _FLAT else 0.0


# From an objective, batches, a start and a step size to the end of a descent.
_Descent = Callable[[_Objective, np.ndarray, np.ndarray, float], np.ndarray]


def _descend(
    objective: _Objective, start: np.ndarray, descent: _Descent, batches: np.ndarray
) -> np.ndarray:
    """Projected stochastic gradient descent.

    The path has many parts with a constant step each. A part ends in the mean over its second
    half (Polyak and Ruppert), in which the noise of the batches cancels; if that has a smaller
    loss, the next step is larger, otherwise it is smaller and starts where this part did.
    """
    step = objective.safe_step()
    best = start
    smallest_loss = objective.mean_loss(best)
    for part in np.array_split(batches, N_PARTS):
        x = descent(objective, part, best, step)
        loss = objective.mean_loss(x)
        if loss < smallest_loss:
            best = x
            smallest_loss = loss
            step *= 2
        else:
            step /= 4
    return best


def _descend_on_simplex(
    objective: _Objective, batches: np.ndarray, x: np.ndarray, step: float
) -> np.ndarray:
    target_margin = objective.target_margin
    factor_below = 1 / target_margin**2
    factor_above = objective.mu / (1 - target_margin) ** 2
    return _core.descend_on_simplex(
        objective.columns,
        objective.offset,
        batches,
        x,
        step,
        target_margin,
        factor_below,
        factor_above,
    )


def _descend_on_ray(
    objective: _Objective, batches: np.ndarray, x: np.ndarray, step: float
) -> np.ndarray:
    total = np.zeros_like(x)
    target_margin = objective.target_margin
    for number, batch in enumerate(batches):
        columns = objective.columns[batch]
        z = objective.offset[batch] + weighted_sum(columns, x)
        slope = 2 * _factors(z, target_margin, objective.mu) * (z - target_margin)
        x = np.maximum(x - step * (slope[:, None] * columns).sum(axis=0) / len(batch), 0)
        if 2 * number >= len(batches):
            total += x
    return total / (len(batches) // 2)


def simplex_alphas(
    margins: np.ndarray,
    batches: np.ndarray,
    *,
    target_margin: float,
    mu: float,
    sample_weight: np.ndarray | None = None,
) -> np.ndarray:
    """Coefficients of all layers, not negative and of sum 1, that minimise the mean loss.

    Parameters
    ----------
    margins : ndarray of shape (n_samples, n_layers)
        Margins of each layer alone.
    batches : ndarray of int of shape (n_steps, batch_size)
        Samples of each step, drawn in proportion to their weights.
    target_margin, mu : float
        As in `margin_loss`.
    sample_weight : ndarray of shape (n_samples,) or None, default=None
    """
    n_layers = margins.shape[1]
    start = np.full(n_layers, 1 / n_layers)
    if n_layers == 1:
        return start
    # Along the simplex, only the differences between layers matter. They are much smaller than the
    # margins, so that the step can be larger.
    middle = margins.mean(axis=1)
    objective = _Objective(
        columns=np.ascontiguousarray(margins - middle[:, None]),
        offset=middle,
        sample_weight=sample_weight,
        target_margin=target_margin,
        mu=mu,
    )
    return _descend(objective, start, _descend_on_simplex, np.ascontiguousarray(batches, np.int32))


def stagewise_alpha(
    margins: np.ndarray,
    before: np.ndarray,
    batches: np.ndarray,
    *,
    target_margin: float,
    mu: float,
    sample_weight: np.ndarray | None = None,
) -> float:
    """Coefficient of the last layer, not negative, the earlier ones being fixed.

    `before` is the sum of the earlier layers' margins times their coefficients. The other
    parameters are as in `simplex_alphas`.
    """
    objective = _Objective(
        columns=margins[:, None],
        offset=before,
        sample_weight=sample_weight,
        target_margin=target_margin,
        mu=mu,
    )
    (alpha,) = _descend(objective, np.zeros(1), _descend_on_ray, batches)
    return float(alpha)


def mean_margin_alpha(margins: np.ndarray, sample_weight: np.ndarray | None = None) -> float:
    """``ln((1 + g) / (1 - g)) / 2`` for the mean margin g, and 0 if g is negative."""
    mean = float(np.average(margins, weights=sample_weight))
    mean = min(max(mean, 0), _MAX_MEAN_MARGIN)
    return 0.5 * float(log1p(2 * mean / (1 - mean)))


def reweight(
    losses: np.ndarray, strength: float, sample_weight: np.ndarray | None = None
) -> np.ndarray:
    """Factors of the samples' weights at the next layer, with a mean of about 1.

    A `strength` of 0 weighs all samples alike, and 1 weighs them by their losses. Factors are
    multiples of 2^-20: their sums are exact in any order, so that a weight of k is the same as k
    rows.
    """
    mean = np.average(losses, weights=sample_weight)
    if mean <= 0:
        return np.ones_like(losses)
    return np.rint(((1 - strength) + strength * (losses / mean)) / _FACTOR_GRAIN) * _FACTOR_GRAIN


def margin_factors(
    margins: np.ndarray,
    weight: np.ndarray | None,
    strength: float,
    *,
    target_margin: float = TARGET_MARGIN,
    mu: float = MU,
) -> np.ndarray:
    """Factors of the samples' weights by the losses of their margins, of mean about 1."""
    return reweight(margin_loss(margins, target_margin, mu), strength, weight)


def effective_sample_size(weights: np.ndarray) -> float:
    """``(sum w)^2 / sum w^2``: how many equally weighted samples would vary as little."""
    return float(weights.sum() ** 2 / np.square(weights).sum())
