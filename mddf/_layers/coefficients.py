"""Coefficients of a cascade's layers, and sample weights of the next layer, from margins."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from mddf._base.messages import short
from mddf._base.validation import naming
from mddf._layers.margin_loss import (
    BATCH_SIZE,
    N_STEPS,
    margin_loss,
    mean_margin_alpha,
    reweight,
    simplex_alphas,
    stagewise_alpha,
    weighted_sum,
)


@dataclass(frozen=True)
class MarginHistory:
    """Out-of-fold margins from which coefficients are computed."""

    margins: np.ndarray  # out-of-fold, of each layer alone: (n_samples, n_layers)
    before: np.ndarray  # coefficients after the layer before: (n_layers - 1,)
    weight: np.ndarray | None  # weights of the rows
    order: np.ndarray  # the rows in their canonical order
    entropy: tuple[int, ...]  # of the random stream of this layer

    def draw_batches(self, n_steps: int = N_STEPS) -> np.ndarray:
        """Draw the samples of each step of a descent, in proportion to their weights."""
        random = np.random.default_rng(np.random.SeedSequence(self.entropy))
        points = random.random((n_steps, BATCH_SIZE))
        if self.weight is None:
            n = len(self.order)
            return self.order[np.minimum((points * n).astype(np.int64), n - 1)]
        weight = self.weight[self.order]
        cumulative = np.cumsum(weight)
        points *= cumulative[-1]
        last = np.flatnonzero(weight)[-1]
        return self.order[np.minimum(np.searchsorted(cumulative, points, side="right"), last)]


class CoefficientRule(Protocol):
    """Rule from the margins of the layers so far to their coefficients, which are not all 0."""

    def __call__(self, history: MarginHistory) -> np.ndarray:
        """Coefficients, shape (n_layers,)."""


@dataclass(frozen=True)
class Simplex:
    """Coefficients of all layers, not negative and with sum 1, that minimise the mean loss."""

    target_margin: float
    mu: float
    n_steps: int = N_STEPS

    def __call__(self, history: MarginHistory) -> np.ndarray:
        if history.margins.shape[1] == 1:
            return np.ones(1)
        return simplex_alphas(
            history.margins,
            history.draw_batches(self.n_steps),
            target_margin=self.target_margin,
            mu=self.mu,
            sample_weight=history.weight,
        )


@dataclass(frozen=True)
class Stagewise:
    """Coefficient of the last layer that minimises the mean loss, the others being fixed."""

    target_margin: float
    mu: float

    def __call__(self, history: MarginHistory) -> np.ndarray:
        last = stagewise_alpha(
            history.margins[:, -1],
            weighted_sum(history.margins[:, :-1], history.before),
            history.draw_batches(),
            target_margin=self.target_margin,
            mu=self.mu,
            sample_weight=history.weight,
        )
        return _not_all_zero(np.append(history.before, last))


@dataclass(frozen=True)
class MeanMargin:
    """``ln((1 + g) / (1 - g)) / 2`` of the last layer's mean margin g."""

    def __call__(self, history: MarginHistory) -> np.ndarray:
        last = mean_margin_alpha(history.margins[:, -1], history.weight)
        return _not_all_zero(np.append(history.before, last))


@dataclass(frozen=True)
class LastLayer:
    """1 for the last layer, and 0 for the others."""

    def __call__(self, history: MarginHistory) -> np.ndarray:
        return np.append(np.zeros(len(history.before)), 1.0)


@dataclass(frozen=True)
class OwnRule:
    """Coefficients from a user's function of margins, earlier coefficients and weights."""

    function: Callable[..., npt.ArrayLike]

    def __call__(self, history: MarginHistory) -> np.ndarray:
        with naming("alpha"):
            coefficients = _call_user_function(self.function, history, history.before)
        n_layers = history.margins.shape[1]
        return _checked("alpha", coefficients, n_layers, "coefficients, one of each layer")


def _not_all_zero(alphas: np.ndarray) -> np.ndarray:
    if alphas.sum() == 0:
        alphas[-1] = 1.0
    return alphas


@dataclass(frozen=True)
class Reweighting:
    """Factors of the samples' weights in the next layer, by the losses of their margins."""

    target_margin: float
    mu: float
    strength: float  # share of the losses in the factors
    normalise: bool = False  # divide the margins by the sum of the coefficients first

    def __call__(self, history: MarginHistory, alphas: np.ndarray) -> np.ndarray:
        """Factors, shape (n_samples,), of mean about 1."""
        z = weighted_sum(history.margins, alphas)
        if self.normalise:
            z = z / alphas.sum()
        return self.factors(z, history.weight)

    def factors(self, margins: np.ndarray, weight: np.ndarray | None) -> np.ndarray:
        """Factors by the margins of one forecast, shape (n_samples,)."""
        losses = margin_loss(margins, self.target_margin, self.mu)
        return reweight(losses, self.strength, weight)


def _call_user_function(
    function: Callable[..., npt.ArrayLike], history: MarginHistory, alphas: np.ndarray
) -> npt.ArrayLike:
    """Call a user's function with margins, coefficients and weights, which are read-only."""
    weight = np.ones(len(history.margins)) if history.weight is None else history.weight
    margins_view = history.margins.view()
    alphas_view = alphas.view()
    weight_view = weight.view()
    for view in (margins_view, alphas_view, weight_view):
        view.flags.writeable = False
    return function(margins_view, alphas_view, weight_view)


def _checked(parameter: str, result: npt.ArrayLike, size: int, expected: str) -> np.ndarray:
    """The result of a user's function as a new array of doubles."""
    try:
        values = np.array(result, np.float64)
    except (TypeError, ValueError, OverflowError):
        values = np.empty(0)
    with np.errstate(over="ignore", invalid="ignore"):
        is_sound = np.isfinite(values.sum()) and np.all(values >= 0)
    if values.shape != (size,) or not is_sound:
        raise ValueError(
            f"{parameter} must give {size} {expected}, not negative and of finite sum, "
            f"got {short(result)}"
        )
    if not values.any():
        raise ValueError(
            f"{parameter} must give {expected}, of which one is above zero, got zeros"
        )
    return values
