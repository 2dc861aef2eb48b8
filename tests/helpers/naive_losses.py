"""Losses and sums of gradient boosting in plain Python, rounded as the kernel does."""

from __future__ import annotations

from dataclasses import dataclass
from math import frexp, ldexp

import numpy as np

from mddf._base.elementary import exp, expit, log  # noqa: F401

QUANTILES = ("absolute_error", "quantile")
CONSTANT = ("squared_error", *QUANTILES)


@dataclass
class Problem:
    """A coded table, its targets and weights, and growth options."""

    codes: np.ndarray
    n_bins: list[int]
    categorical: np.ndarray
    y: np.ndarray
    train: np.ndarray
    weights: np.ndarray | None = None
    loss: str = "squared_error"
    n_classes: int = 2
    symmetric: bool = True
    learning_rate: float = 0.1
    max_depth: int = 6
    max_leaf_nodes: int = 31
    min_samples_leaf: int = 1
    l2: float = 0.0
    max_features: int = 2**31 - 1
    subsample: float = 1.0
    n_copies: int = 1
    quantile: float = 0.5
    tweedie_power: float = 1.5
    category_smoothing: float = 10.0
    monotonic: np.ndarray | None = None
    interactions: np.ndarray | None = None
    newton_splits: bool = True

    @property
    def width(self):
        if self.y.ndim == 2:
            return self.y.shape[1]
        return self.n_classes if self.loss == "softmax" else 1

    @property
    def whole(self):
        return self.weights is None or np.all(self.weights == np.floor(self.weights))


def weighted_quantile(values, weights, share):
    """The lowest value with at least this share of the weight up to it."""
    order = np.lexsort((weights, values))
    total = 0.0
    for i in order:
        total += weights[i]
    reached = 0.0
    for i in order:
        reached += weights[i]
        if reached >= share * total:
            return values[i]
    return values[order[-1]]


def scale_for(values, times, bits):
    """The power of two that keeps sums over rows of any column below 2^bits."""
    largest = np.abs(values).max()
    if not largest > 1e-250:
        return None
    exponent = frexp(largest)[1]
    units = np.rint(np.abs(values) * ldexp(1.0, 20 - exponent))
    most = max(sum(times * column) for column in units.T)
    return bits - (frexp(most + times.sum())[1] + exponent - 20)


def rough_scale(values, times, bits):
    """The same from the largest value alone."""
    largest = np.abs(values).max()
    if not largest > 1e-250:
        return None
    return bits - frexp(largest)[1] - frexp(times.sum())[1]


def exact_mean(values, weights, whole):
    """A mean that does not depend on the order of rows; whole weights equal copies."""

    def total(of, times):
        scale = scale_for(of[:, None], times, 50)
        return 0.0 if scale is None else ldexp(sum(times * np.rint(np.ldexp(of, scale))), -scale)

    if whole:
        return total(values, weights) / weights.sum()
    once = np.ones(len(values))
    return total(values * weights, once) / total(weights, once)


def start(problem, y, weights):
    """The best constant prediction."""
    loss = problem.loss
    if y.ndim == 2:
        return [start(problem, column, weights)[0] for column in y.T]
    if loss == "squared_error":
        return [exact_mean(y, weights, problem.whole)]
    if loss in ("absolute_error", "huber", "quantile"):
        share = problem.quantile if loss == "quantile" else 0.5
        return [weighted_quantile(y, weights, share)]
    if loss in ("poisson", "gamma", "tweedie"):
        return [float(log(exact_mean(y, weights, problem.whole)))]
    if loss == "softmax":
        means = [
            exact_mean((y == k) * 1.0, weights, problem.whole) for k in range(problem.n_classes)
        ]
        return [float(log(np.clip(mean, 1e-7, 1 - 1e-7))) for mean in means]
    p = np.clip(exact_mean(y, weights, problem.whole), 1e-7, 1 - 1e-7)
    return [float(log(p / (1 - p))) * (1 if loss == "log_loss" else 0.5)]


def curvature_unit(problem, y, weights):
    """Return the unit of the penalties of second derivatives."""
    if problem.loss not in ("poisson", "tweedie"):
        return 1.0
    if y.ndim == 2:
        return sum(curvature_unit(problem, column, weights) for column in y.T) / y.shape[1]
    mean = exact_mean(y, weights, problem.whole)
    if problem.loss == "poisson":
        return mean
    return float(exp((2 - problem.tweedie_power) * log(mean)))


def large_residual(problem, raw, y, weights, before=np.inf):
    """Residual above which Huber's loss is linear; it never increases."""
    if problem.loss != "huber":
        return before
    median = weighted_quantile(y, weights, 0.5)
    is_not_median = y != median
    least = 0.0
    if is_not_median.any():
        least = 0.1 * weighted_quantile(
            abs(y - median)[is_not_median], weights[is_not_median], problem.quantile
        )
    now = weighted_quantile(np.abs(y - raw[:, 0]), weights, problem.quantile)
    return max(least, min(before, now))


def newton_step(loss, gradient, hessian, l2):
    """The Newton step of a leaf, shortened if it is large."""
    free = {"poisson": 1.0, "gamma": 1.0, "tweedie": 1.0, "log_loss": 8.0, "softmax": 8.0}.get(
        loss
    )
    weight = hessian + l2
    if free is not None:
        weight = max(weight, 2.0**-40 * abs(gradient))
    if not weight > 0:
        return 0.0
    step = gradient / weight
    if free is None or abs(step) <= free:
        return step
    return float(np.copysign(free * (1 + log(abs(step) / free)), step))


def gradients(problem, raw, y, weights, large=None):
    """Negative gradients and hessians, both of shape (n_rows, width)."""
    loss = problem.loss
    if loss == "softmax":
        powers = exp(raw - raw.max(axis=1, keepdims=True))
        total = np.zeros(len(raw))
        for column in powers.T:
            total += column
        p = powers * (1 / total)[:, None]
        return (np.arange(problem.n_classes) == y[:, None]) - p, p * (1 - p)
    f = raw if y.ndim == 2 else raw[:, 0]
    rest = y - f
    hessian = np.ones_like(y)
    if loss == "squared_error":
        gradient = rest
    elif loss == "absolute_error":
        gradient = np.sign(rest)
    elif loss == "quantile":
        gradient = np.select([rest > 0, rest < 0], [problem.quantile, problem.quantile - 1], 0)
    elif loss == "huber":
        is_large = np.abs(rest) > large
        gradient = np.where(is_large, np.copysign(large, rest), rest)
        hessian = np.where(is_large, large / np.where(is_large, np.abs(rest), 1), 1)
    elif loss == "poisson":
        hessian = exp(f)
        gradient = y - hessian
    elif loss == "gamma":
        hessian = y * exp(-f)
        gradient = hessian - 1
    elif loss == "tweedie":
        first, second = 1 - problem.tweedie_power, 2 - problem.tweedie_power
        of_target, of_mean = y * exp(first * f), exp(second * f)
        gradient, hessian = of_target - of_mean, second * of_mean - first * of_target
    elif loss == "log_loss":
        p = 1 / (1 + exp(-f))
        gradient, hessian = y - p, p * (1 - p)
    else:
        sign = np.where(y > 0, 1.0, -1.0)
        hessian = exp(-sign * f)
        gradient = sign * hessian
    if y.ndim == 2:
        return gradient, hessian
    return gradient[:, None], hessian[:, None]


def mean_loss(problem, raw, y, weights, large):
    """The mean loss of rows without terms that do not depend on raw predictions."""
    total = weight = 0.0
    for loss, count in zip(losses(problem, raw, y, large), weights, strict=True):
        total += count * loss
        weight += count
    return total / weight


def losses(problem, raw, y, large):
    """The loss of each row; beyond the residual `large`, Huber's loss is linear."""
    if y.ndim == 2:
        total = np.zeros(len(y))
        for k, column in enumerate(y.T):
            total += losses(problem, raw[:, k : k + 1], column, large)
        return total

    def power(of):
        return exp(np.clip(of, -500, 500))

    if problem.loss == "softmax":
        most = raw.max(axis=1)
        total = np.zeros(len(raw))
        for column in exp(raw - most[:, None]).T:
            total += column
        return log(total) + most - raw[np.arange(len(raw)), y.astype(int)]
    f = raw[:, 0]
    rest, size = y - f, np.abs(y - f)
    return {
        "squared_error": lambda: rest * rest / 2,
        "absolute_error": lambda: size,
        "quantile": lambda: np.where(rest >= 0, problem.quantile, problem.quantile - 1) * rest,
        "huber": lambda: np.where(size <= large, rest * rest / 2, large * (size - large / 2)),
        "poisson": lambda: power(f) - y * f,
        "gamma": lambda: f + y * power(-f),
        "tweedie": lambda: tweedie_losses(problem.tweedie_power, f, y),
        "log_loss": lambda: np.maximum(f, 0) + log(1 + exp(-np.abs(f))) - y * f,
        "exponential": lambda: power(np.where(y > 0, -f, f)),
    }[problem.loss]()


def tweedie_losses(p, f, y):
    """The loss of each row, less its value at f = 0, with ratios (e^x - 1) / x."""

    def ratio(x):
        x = np.clip(x, -500, 500)
        series = 1 + x * (1 / 2 + x * (1 / 6 + x * (1 / 24 + x * (1 / 120))))
        is_small = np.abs(x) < 1e-3
        return np.where(is_small, series, (exp(x) - 1) / np.where(is_small, 1, x))

    return f * (ratio((2 - p) * f) - y * ratio((1 - p) * f))
