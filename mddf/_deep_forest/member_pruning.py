"""A race of members on one fold: those that get no weight there are not fitted on the others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

# With fewer samples held out, or in all, all go on: they are quick, and chance decides.
_FEWEST_HELD_OUT, _FEWEST = 50, 400
# Weights are means over so many halves of the samples held out, of so many steps.
_DRAWS, _STEPS = 20, 10
# Halves are at most so large.
_MOST = 2000
# Members with less weight are left out.
_LEAST_WEIGHT = 0.03


def is_enough(n_samples: int, n_held_out: int) -> bool:
    """Whether there are enough samples to tell members apart."""
    return n_samples >= _FEWEST and n_held_out >= _FEWEST_HELD_OUT


def race(
    task: Any, forecasts: Sequence[np.ndarray], entropy: Sequence[int]
) -> tuple[np.ndarray, np.ndarray]:
    """Weights of members in votes of halves of the samples, and their losses.

    A single vote would often leave out what is about as good as what it takes.

    Parameters
    ----------
    task : ClassificationTask or RegressionTask
        Of the samples held out.
    forecasts : list of ndarray of shape (n_samples, n_columns)
    entropy : sequence of int
        Of what is drawn.

    Returns
    -------
    weights, losses : ndarray of shape (n_members,)
    """
    votes = [task.sharpened(of_one, task.own_exponent(of_one)) for of_one in forecasts]
    rng, n = np.random.default_rng(np.random.SeedSequence(tuple(entropy))), len(votes[0])
    weights = np.zeros(len(votes))
    for _ in range(_DRAWS):
        rows = rng.permutation(n)[: min(_MOST, (n + 1) // 2)]
        weights += task.drawn_weights(votes, rows, _STEPS)
    losses = [np.average(task.losses(vote), weights=task.weight) for vote in votes]
    return weights / _DRAWS, np.array(losses)


def goes_on(weights: np.ndarray) -> np.ndarray:
    """Which members are fitted on the other folds."""
    return weights >= min(_LEAST_WEIGHT, weights.max())
