"""Which method is better over many sets: ranks, tests, and intervals."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np
import pandas as pd
from scipy import stats

from . import need


def by_set(frame, metric) -> pd.DataFrame:
    """Means over seeds by set and method, of the sets where every method has a result."""
    return frame.pivot_table(metric, "set", "method", aggfunc="mean", sort=False).dropna()


def ranks(values, greater=True) -> pd.DataFrame:
    """Rank of each method on each set, 1 the best; what differs by rounding only is equal."""
    return values.round(9).rank(axis=1, ascending=not greater)


@dataclass(frozen=True)
class Comparison:
    """Methods on the same sets.

    Attributes
    ----------
    ranks : Series
        Mean rank of each method, the best first.
    friedman_p : float
        That all are alike; NaN for fewer than three methods or two sets.
    critical_difference : float
        Of mean ranks by Nemenyi, at the level asked for.
    p : DataFrame
        Of each pair, by the test asked for.
    n_sets : int
    """

    ranks: pd.Series
    friedman_p: float
    critical_difference: float
    p: pd.DataFrame
    n_sets: int


def compare(values, greater=True, test="nemenyi", level=0.05) -> Comparison:
    """Friedman's test and its pairs.

    Parameters
    ----------
    values : DataFrame
        Sets by methods, without gaps.
    greater : bool
        Whether more is better.
    test : str
        Of pairs: "nemenyi" on mean ranks, or "wilcoxon": signed ranks with Holm's correction.
    level : float
    """
    n_sets, n_methods = values.shape
    mean_ranks = ranks(values, greater).mean().sort_values(kind="stable")
    friedman = float("nan")
    if n_methods > 2 and n_sets > 1:
        friedman = float(stats.friedmanchisquare(*values.round(9).to_numpy().T).pvalue)
    error = np.sqrt(n_methods * (n_methods + 1) / (6 * n_sets))
    reach = stats.studentized_range.ppf(1 - level, n_methods, np.inf) / np.sqrt(2) * error
    pairs = list(combinations(mean_ranks.index, 2))
    if test == "nemenyi":
        gaps = np.array([abs(mean_ranks[a] - mean_ranks[b]) for a, b in pairs])
        found = stats.studentized_range.sf(gaps / error * np.sqrt(2), n_methods, np.inf)
    else:
        found = holm([_wilcoxon(values[a] - values[b]) for a, b in pairs])
    p = pd.DataFrame(1.0, mean_ranks.index, mean_ranks.index)
    for (a, b), one in zip(pairs, found, strict=True):
        p.loc[a, b] = p.loc[b, a] = one
    return Comparison(mean_ranks, friedman, float(reach), p, n_sets)


def _wilcoxon(differences):
    differences = differences.round(9)
    return float(stats.wilcoxon(differences).pvalue) if differences.any() else 1.0


def holm(p) -> np.ndarray:
    """Holm's correction of several p-values."""
    p = np.asarray(p, dtype=float)
    order = np.argsort(p)
    corrected = np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1))
    found = np.empty(len(p))
    found[order] = np.minimum(corrected, 1)
    return found


def bayes(first, second, rope=0.01, seed=0) -> tuple[float, float, float]:
    """Bayesian signed-rank test; more is better.

    The probabilities that the first is better, that they differ by less than the rope, and that
    the second is better.
    """
    found = need("baycomp", "league").two_on_multiple(
        np.asarray(first), np.asarray(second), rope=rope, random_state=seed
    )
    better, *alike, worse = map(float, found)
    return better, alike[0] if alike else 0.0, worse


def paired_bootstrap(first, second, n_draws=10_000, level=0.05, seed=0):
    """Mean difference of two methods on the same test rows, and its interval.

    Parameters
    ----------
    first, second : array of shape (n_samples,)
        Of each row, such as 1 where right and 0 where wrong.
    n_draws : int
    level : float
        The interval leaves out half of it on either side.
    seed : int

    Returns
    -------
    difference, low, high : float
    """
    gains = np.asarray(first, dtype=float) - np.asarray(second, dtype=float)
    random, n = np.random.default_rng(seed), len(gains)
    draws = [gains[random.integers(n, size=n)].mean() for _ in range(n_draws)]
    return float(gains.mean()), *map(float, np.quantile(draws, [level / 2, 1 - level / 2]))
