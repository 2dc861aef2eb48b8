"""Ratings of methods by how often their losses are the lower ones."""

import numpy as np
import pandas as pd

_STEPS = 2000


def elo(losses: pd.DataFrame, anchor: str) -> pd.Series:
    """Ratings by Bradley and Terry's model, that of `anchor` being 1000.

    400 more means ten wins for a loss. Each pair has half a win on either side beside those that
    were seen, without which a method that always wins would have no finite rating.

    Parameters
    ----------
    losses : DataFrame
        A row for each set, a column for each method.
    anchor : str
        A method.
    """
    found = losses.to_numpy()
    lower = (found[:, :, None] < found[:, None, :]).sum(axis=0)
    equal = (found[:, :, None] == found[:, None, :]).sum(axis=0)
    wins = lower + equal / 2 + 0.5
    np.fill_diagonal(wins, 0)
    games = wins + wins.T
    strength = np.ones(len(wins))
    for _ in range(_STEPS):  # Hunter's minorisation
        before = strength
        strength = wins.sum(axis=1) / (games / np.add.outer(strength, strength)).sum(axis=1)
        strength /= np.exp(np.log(strength).mean())
        if np.allclose(strength, before, rtol=1e-13, atol=0):
            break
    rating = pd.Series(400 * np.log10(strength), index=losses.columns)
    return rating + 1000 - rating[anchor]


def intervals(losses: pd.DataFrame, anchor: str, n_draws: int = 100, seed: int = 0):
    """Quantiles of .05 and .95 of ratings on sets that are drawn again: a frame of two columns."""
    rng = np.random.default_rng(seed)
    drawn = [
        elo(losses.iloc[rng.integers(0, len(losses), len(losses))], anchor) for _ in range(n_draws)
    ]
    return pd.DataFrame(drawn).quantile([0.05, 0.95]).T
