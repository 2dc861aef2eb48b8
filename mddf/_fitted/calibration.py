"""Calibration of averaged probabilities."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize_scalar

from mddf._base.elementary import exp, log, softmax
from mddf._base.serialization import register_serializable
from mddf._targets.weights import n_counted

# Smaller probabilities count as this one in logarithms: a forest has too few trees to estimate
# them, and a probability of 0 would have an infinite loss.
FLOOR = 1e-4

# Bounds of the natural logarithm of an exponent: exponents from 0.22 to 12.
_MIN_LOG_EXPONENT = -1.5

_MAX_LOG_EXPONENT = 2.5

# The logarithm of the exponent of an average is multiplied by n / (n + 100) for n samples. With
# few samples, an exponent that is fitted to them is too far from 1. Set by hand.
_AVERAGE_SHRINKAGE = 100

# Pseudo-count of unseen classes: half a sample, the estimator of R. Krichevsky and V. Trofimov
# (IEEE T-IT 1981).
_UNSEEN_SAMPLES = 0.5

# Numbers of classes of several outputs, whose classes are side by side; None: one output.
Widths = Sequence[int] | None


def own_probabilities(vectors: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Probability of each sample's own class in vectors (..., n_samples, n_classes).

    If classes of several outputs are side by side, `labels` are the positions of a sample's own
    classes, of shape (n_samples, n_outputs), which is also the shape of the result.
    """
    if labels.ndim == 2:
        return np.take_along_axis(vectors, labels, axis=-1)
    return np.take_along_axis(
        vectors, labels.reshape((1,) * (vectors.ndim - 2) + (-1, 1)).astype(np.int64), axis=-1
    )[..., 0]


def log_losses(vectors: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Minus the logarithm of each sample's own probability, at least `FLOOR`; mean of outputs."""
    losses = -log(np.maximum(own_probabilities(vectors, labels), FLOOR))
    return losses.mean(axis=-1) if labels.ndim == 2 else losses


def by_output(vectors: np.ndarray, widths: Sequence[int]) -> list[np.ndarray]:
    """Split vectors of the classes of all outputs into a list with one array per output."""
    return np.split(vectors, np.cumsum(widths)[:-1], axis=-1)


def map_outputs(
    change: Callable[[np.ndarray], np.ndarray], probabilities: np.ndarray, widths: Widths
) -> np.ndarray:
    """Apply a function to the probabilities of each output; returns them side by side."""
    if widths is None:
        return change(probabilities)
    if len(set(widths)) == 1:
        shape = probabilities.shape
        return change(probabilities.reshape(*shape[:-1], -1, widths[0])).reshape(shape)
    return np.concatenate([change(part) for part in by_output(probabilities, widths)], axis=-1)


def sharpened(probabilities: np.ndarray, exponent: float, widths: Widths = None) -> np.ndarray:
    """Probabilities to the power of an exponent, scaled to sum 1 within each output.

    This is temperature scaling (C. Guo et al., ICML 2017), with 1 / temperature as exponent.
    """
    if exponent == 1:
        return probabilities

    def sharpen(part: np.ndarray) -> np.ndarray:
        floor = min(FLOOR, 1 / part.shape[-1])
        return softmax(exponent * log(np.maximum(part, floor)))

    return map_outputs(sharpen, probabilities, widths)


def smoothed(probabilities: np.ndarray, share: float) -> np.ndarray:
    """Spread a share of the probabilities evenly over the classes; their order stays."""
    if not share:
        return probabilities
    return (1 - share) * probabilities + share / probabilities.shape[-1]


def fit_exponent(
    probabilities: np.ndarray,
    labels: np.ndarray,
    weight: np.ndarray | None = None,
    shrinkage: int = 0,
    widths: Widths = None,
) -> float:
    """Exponent whose `sharpened` probabilities have the least mean log-loss, or 1.

    The probabilities are of samples that the model was not trained on; labels as in
    `own_probabilities`. The exponent's logarithm is multiplied by n / (n + shrinkage).
    """
    if probabilities.shape[1] < 2:
        return 1.0

    def loss(logarithm: float) -> float:
        losses = log_losses(sharpened(probabilities, float(exp(logarithm)), widths), labels)
        return float(np.average(losses, weights=weight))

    bounds = _MIN_LOG_EXPONENT, _MAX_LOG_EXPONENT
    minimum = minimize_scalar(loss, bounds=bounds, method="bounded")
    if minimum.fun >= loss(0.0):
        return 1.0
    # Rounded twice, so that last bits of the optimiser do not matter.
    exponent = float(f"{exp(minimum.x):.4g}")
    n_samples = n_counted(len(labels), weight)
    return float(f"{exponent ** (n_samples / (n_samples + shrinkage)):.4g}")


@register_serializable("calibration")
@dataclass(frozen=True)
class Calibration:
    """Calibration of averaged probabilities: their exponent and label smoothing."""

    exponent: float = 1.0
    # Share of the probabilities that is spread evenly over the classes. With few samples that are
    # easily separated, the exponent alone would leave the other classes no probability.
    label_smoothing: float = 0.0
    widths: Widths = None  # number of classes of each of several outputs

    def __call__(self, probabilities: np.ndarray) -> np.ndarray:
        """Calibrated probabilities, whose order is the same."""
        if self.exponent == 1 and not self.label_smoothing:
            return probabilities
        sharp = sharpened(probabilities, self.exponent, self.widths)
        return map_outputs(lambda part: smoothed(part, self.label_smoothing), sharp, self.widths)


UNCALIBRATED = Calibration()


def fit_calibration(
    probabilities: np.ndarray,
    labels: np.ndarray,
    weight: np.ndarray | None = None,
    widths: Widths = None,
) -> Calibration:
    """Fit the calibration of averaged out-of-fold probabilities; see `fit_exponent`."""
    exponent = fit_exponent(probabilities, labels, weight, _AVERAGE_SHRINKAGE, widths)
    n_samples = n_counted(len(labels), weight)
    return Calibration(exponent, _UNSEEN_SAMPLES / (n_samples + _UNSEEN_SAMPLES), widths)
