"""Elo ratings of methods from their losses on many sets."""

import numpy as np
import pandas as pd

# Upper limit; the iteration stops as soon as the strengths no longer change.
_MAX_STEPS = 2000


def elo(losses: pd.DataFrame, anchor: str) -> pd.Series:
    """Rate methods by the model of Bradley and Terry; `anchor` has 1000 points.

    400 points more mean ten wins for each loss. Every pair gets half a win for each side in
    addition: without it, a method that always wins would have no finite rating.

    Parameters
    ----------
    losses : DataFrame
        One row for each set, one column for each method.
    anchor : str
        Name of the method with 1000 points.
    """
    loss_matrix = losses.to_numpy()
    lower = (loss_matrix[:, :, None] < loss_matrix[:, None, :]).sum(axis=0)
    equal = (loss_matrix[:, :, None] == loss_matrix[:, None, :]).sum(axis=0)
    wins = lower + equal / 2 + 0.5
    np.fill_diagonal(wins, 0)
    games = wins + wins.T
    strength = np.ones(len(wins))
    for _ in range(_MAX_STEPS):  # minorisation by Hunter (2004)
        before = strength
        strength = wins.sum(axis=1) / (games / np.add.outer(strength, strength)).sum(axis=1)
        strength /= np.exp(np.log(strength).mean())
        if np.allclose(strength, before, rtol=1e-13, atol=0):
            break
    rating = pd.Series(400 * np.log10(strength), index=losses.columns)
    return rating + 1000 - rating[anchor]


def intervals(losses: pd.DataFrame, anchor: str):
    """Bootstrap the sets: a frame with the 0.05 and 0.95 quantiles of the ratings."""
    rng = np.random.default_rng(0)
    drawn = [
        elo(losses.iloc[rng.integers(0, len(losses), len(losses))], anchor) for _ in range(100)
    ]
    return pd.DataFrame(drawn).quantile([0.05, 0.95]).T
