"""How much each of many probability forecasts counts, and how sure their mean should be."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import minimize_scalar

from mddf._base.elementary import exp, log, softmax
from mddf._base.serialization import register_serializable
from mddf._targets.weights import n_counted

# Probabilities below this are taken as this much where logarithms are taken: forests are never so
# sure as they say.
FLOOR = 1e-4
_STEPS = 25
_DECIMALS = 6  # scores that agree so far are ties
_COLDEST, _HOTTEST = -1.5, 2.5  # natural logarithms of the exponents that are tried
# So many samples make the exponent of an average count half.
_VOTE_SHRINKAGE = 100
# Samples that are unlike all others, as R. Krichevsky and V. Trofimov (IEEE T-IT 1981) count them.
_UNSEEN = 0.5

# Of several outputs, whose classes are side by side: how many each has. None is one output.
Widths = Sequence[int] | None


def own_probabilities(vectors: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """What vectors (..., n_samples, n_classes) say of each sample's own class.

    Of several outputs, whose classes are side by side, `labels` are the places of a sample's own,
    of shape (n_samples, n_outputs), and so are the results.
    """
    if labels.ndim == 2:
        return np.take_along_axis(vectors, labels, axis=-1)
    return np.take_along_axis(
        vectors, labels.reshape((1,) * (vectors.ndim - 2) + (-1, 1)).astype(np.int64), axis=-1
    )[..., 0]


def log_losses(vectors: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Minus the logarithm of each sample's own probability, which counts as ``FLOOR`` at least.

    Of several outputs their mean.
    """
    losses = -log(np.maximum(own_probabilities(vectors, labels), FLOOR))
    return losses.mean(axis=-1) if labels.ndim == 2 else losses


def by_output(vectors: np.ndarray, widths: Sequence[int]) -> list[np.ndarray]:
    """Vectors of the classes of all outputs side by side, as a list of each output's."""
    return np.split(vectors, np.cumsum(widths)[:-1], axis=-1)


def of_each_output(
    change: Callable[[np.ndarray], np.ndarray], probabilities: np.ndarray, widths: Widths
) -> np.ndarray:
    """What `change` makes of the probabilities of each output, side by side again."""
    if widths is None:
        return change(probabilities)
    if len(set(widths)) == 1:
        shape = probabilities.shape
        return change(probabilities.reshape(*shape[:-1], -1, widths[0])).reshape(shape)
    return np.concatenate([change(part) for part in by_output(probabilities, widths)], axis=-1)


def sharpened(probabilities: np.ndarray, exponent: float, widths: Widths = None) -> np.ndarray:
    """Probabilities to the power of an exponent, scaled to sum 1: temperature scaling.

    The order of the classes stays; C. Guo et al., ICML 2017, with 1 / temperature as exponent.
    With `widths`, those of each output, which has so many classes.
    """
    if exponent == 1:
        return probabilities

    def of_output(part: np.ndarray) -> np.ndarray:
        least = min(FLOOR, 1 / part.shape[-1])
        return softmax(exponent * log(np.maximum(part, least)))

    return of_each_output(of_output, probabilities, widths)


def smoothed(probabilities: np.ndarray, share: float) -> np.ndarray:
    """Probabilities of which a share is spread over the classes evenly; their order stays."""
    if not share:
        return probabilities
    return (1 - share) * probabilities + share / probabilities.shape[-1]


def fit_exponent(
    probabilities: np.ndarray,
    labels: np.ndarray,
    weight: Any = None,
    shrinkage: int = 0,
    widths: Widths = None,
) -> float:
    """The exponent whose :func:`sharpened` probabilities have the least mean log-loss.

    Parameters
    ----------
    probabilities : ndarray of shape (n_samples, n_classes)
        Of samples that the model was not trained on.
    labels : ndarray of int of shape (n_samples,), or (n_samples, n_outputs)
        As `own_probabilities` has them.
    weight : ndarray of shape (n_samples,) or None, default=None
    shrinkage : int, default=0
        So many samples make the logarithm of the exponent count half; with fewer it is nearer
        to 1.
    widths : sequence of int, default=None
        Classes of each of several outputs.

    Returns
    -------
    float
        Of four digits; 1 if none is better.
    """
    if probabilities.shape[1] < 2:
        return 1.0

    def loss(logarithm: float) -> float:
        losses = log_losses(sharpened(probabilities, float(exp(logarithm)), widths), labels)
        return float(np.average(losses, weights=weight))

    found = minimize_scalar(loss, bounds=(_COLDEST, _HOTTEST), method="bounded")
    if found.fun >= loss(0.0):
        return 1.0
    exponent, n = float(f"{exp(found.x):.4g}"), n_counted(len(labels), weight)
    return float(f"{exponent ** (n / (n + shrinkage)):.4g}")


@register_serializable("calibration")
@dataclass(frozen=True)
class Calibration:
    """Calibration of averaged probabilities: their exponent and label smoothing.

    Attributes
    ----------
    exponent : float
    label_smoothing : float
        Share of the probabilities that is spread evenly over the classes: that of half a sample.
        If the samples are few and easily separated, the exponent of least out-of-fold loss alone
        leaves the other classes no probability.
    widths : sequence of int or None
        Classes of each of several outputs.
    """

    exponent: float = 1.0
    label_smoothing: float = 0.0
    widths: Widths = None

    def __call__(self, probabilities: np.ndarray) -> np.ndarray:
        """Calibrated probabilities, whose order is the same."""
        sharp = sharpened(probabilities, self.exponent, self.widths)
        return of_each_output(
            lambda part: smoothed(part, self.label_smoothing), sharp, self.widths
        )


UNCALIBRATED = Calibration()


def calibration(
    probabilities: np.ndarray, labels: np.ndarray, weight: Any = None, widths: Widths = None
) -> Calibration:
    """The calibration of averaged out-of-fold probabilities; see `fit_exponent`."""
    exponent = fit_exponent(probabilities, labels, weight, _VOTE_SHRINKAGE, widths)
    return Calibration(exponent, _UNSEEN / (n_counted(len(labels), weight) + _UNSEEN), widths)


def greedy_weights(
    vectors: Sequence[np.ndarray],
    labels: np.ndarray,
    score: Callable[[np.ndarray], float] | None = None,
    weight: Any = None,
    n_steps: int = _STEPS,
) -> np.ndarray:
    """Weights of forecasts, found by adding the best one again and again.

    R. Caruana et al., ICML 2004: start from nothing; each step adds the forecast whose addition
    gives the best mean, with replacement; the best of all means on the way is kept. Between
    equal ones those that are in already come first.

    Parameters
    ----------
    vectors : sequence of ndarray of shape (n_samples, n_classes)
        Of samples that no forecast was trained on.
    labels : ndarray of int of shape (n_samples,), or (n_samples, n_outputs)
        As `own_probabilities` has them.
    score : callable or None, default=None
        From probabilities to a number, larger if better; None means log-loss.
    weight : ndarray of shape (n_samples,) or None, default=None
    n_steps : int, default=25

    Returns
    -------
    ndarray of shape (n_forecasts,)
        Not negative, of sum 1.
    """
    if score is None:
        kept = [np.maximum(own_probabilities(v, labels), FLOOR) for v in vectors]

        def judge(total: Any, n: int) -> Any:
            losses = -log(total / n)
            losses = losses.mean(axis=-1) if losses.ndim == 2 else losses
            return -float(np.average(losses, weights=weight))
    else:
        kept = list(vectors)

        def judge(total: Any, n: int) -> Any:
            return score(total / n)

    return _greedy(kept, judge, n_steps)


def squared_errors(forecasts: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Squared errors of each sample, summed over outputs."""
    return np.square(forecasts - y).sum(axis=-1)


def error_weights(
    forecasts: Sequence[np.ndarray], y: np.ndarray, weight: Any = None, n_steps: int = _STEPS
) -> np.ndarray:
    """Weights of forecasts of numbers, found as :func:`greedy_weights` by squared error.

    Parameters
    ----------
    forecasts : sequence of ndarray of shape (n_samples, n_outputs)
        Of samples that no forecast was trained on.
    y : ndarray of shape (n_samples, n_outputs)
    weight : ndarray of shape (n_samples,) or None, default=None
    n_steps : int, default=25

    Returns
    -------
    ndarray of shape (n_forecasts,)
        Not negative, of sum 1.
    """
    errors = [of_one - y for of_one in forecasts]

    def loss(error: Any) -> float:
        return float(np.average(np.square(error).sum(axis=1), weights=weight))

    least = min(map(loss, errors)) or 1.0
    return _greedy(errors, lambda total, n: -loss(total / n) / least, n_steps)


def _greedy(
    kept: list[np.ndarray], judge: Callable[[np.ndarray, int], float], n_steps: int
) -> np.ndarray:
    """Shares of steps that add one of `kept`, up to the best of them by `judge(sum, step)`."""
    counts = np.zeros(len(kept), np.int64)
    total = np.zeros(kept[0].shape)
    best_score, best = -np.inf, counts
    for step in range(1, n_steps + 1):
        scores = np.round([judge(total + one, step) for one in kept], _DECIMALS)
        ties = np.flatnonzero(scores == scores.max())
        chosen = ties[np.argmax(counts[ties])]
        counts[chosen] += 1
        total = total + kept[chosen]
        if scores[chosen] > best_score:
            best_score, best = scores[chosen], counts.copy()
    return best / best.sum()
