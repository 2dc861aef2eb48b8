"""Weights of forecasts in their average."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from mddf._base.elementary import log
from mddf._fitted.calibration import FLOOR, own_probabilities

# Steps of the greedy selection. Weights are multiples of 1 / 25 at most. Not tuned.
_N_STEPS = 25
# Scores that agree to this number of decimals are ties, whatever the last bits are.
_DECIMALS = 6


def greedy_weights(
    vectors: Sequence[np.ndarray],
    labels: np.ndarray,
    score: Callable[[np.ndarray], float] | None = None,
    weight: np.ndarray | None = None,
    n_steps: int = _N_STEPS,
) -> np.ndarray:
    """Weights of forecasts, with sum 1, by greedy selection with replacement.

    R. Caruana et al., ICML 2004: starting from nothing, each step adds the forecast whose addition
    gives the best mean. The best of all means on the way is kept. If scores are equal, forecasts
    that were selected before come first.

    Parameters
    ----------
    vectors : sequence of ndarray of shape (n_samples, n_classes)
        Forecasts of samples on which no model was trained.
    labels : ndarray of int of shape (n_samples,), or (n_samples, n_outputs)
        As in `own_probabilities`.
    score : callable or None, default=None
        From probabilities to a number, larger if better; None means log-loss.
    weight : ndarray of shape (n_samples,) or None, default=None
    n_steps : int, default=25
    """
    if score is None:
        # The log-loss depends only on the probabilities of the samples' own classes.
        probabilities = [
            np.maximum(own_probabilities(forecast, labels), FLOOR) for forecast in vectors
        ]

        def minus_log_loss(mean: np.ndarray) -> float:
            losses = -log(mean)
            losses = losses.mean(axis=-1) if losses.ndim == 2 else losses
            return -float(np.average(losses, weights=weight))

        return _select_greedily(probabilities, minus_log_loss, n_steps)
    return _select_greedily(list(vectors), score, n_steps)


def squared_errors(forecasts: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Squared error of each sample, summed over outputs."""
    return np.square(forecasts - y).sum(axis=-1)


def error_weights(
    forecasts: Sequence[np.ndarray],
    y: np.ndarray,
    weight: np.ndarray | None = None,
    n_steps: int = _N_STEPS,
) -> np.ndarray:
    """Weights of forecasts of targets (n_samples, n_outputs) by the squared error.

    See `greedy_weights`.
    """
    errors = [forecast - y for forecast in forecasts]

    def mean_squared_error(error: np.ndarray) -> float:
        return float(np.average(np.square(error).sum(axis=1), weights=weight))

    # Relative to the best forecast, so that ties do not depend on the scale of the errors.
    smallest = min(map(mean_squared_error, errors)) or 1.0

    def minus_relative_error(mean: np.ndarray) -> float:
        return -mean_squared_error(mean) / smallest

    return _select_greedily(errors, minus_relative_error, n_steps)


def _select_greedily(
    arrays: list[np.ndarray], score: Callable[[np.ndarray], float], n_steps: int
) -> np.ndarray:
    """Shares of the steps that add each array, up to the step whose mean has the best score."""
    counts = np.zeros(len(arrays), np.int64)
    total = np.zeros(arrays[0].shape)
    best_score = -np.inf
    best_counts = counts
    for step in range(1, n_steps + 1):
        scores = np.round([score((total + array) / step) for array in arrays], _DECIMALS)
        ties = np.flatnonzero(scores == scores.max())
        chosen = ties[np.argmax(counts[ties])]
        counts[chosen] += 1
        total = total + arrays[chosen]
        if scores[chosen] > best_score:
            best_score = scores[chosen]
            best_counts = counts.copy()
    return best_counts / best_counts.sum()
