"""Tests that compare two learning algorithms over several data sets."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import betainc
from scipy.stats import poisson_binom

from mddf.analysis._checks import finite_numbers


def discordant_counts(y: ArrayLike, first: ArrayLike, second: ArrayLike) -> tuple[int, int]:
    """Count the test rows on which exactly one of two predictions is right.

    Parameters
    ----------
    y, first, second : array-like of shape (n_samples,)
        Labels, and the predictions of the two algorithms.

    Returns
    -------
    first_only, second_only : int
        Rows that only the first, or only the second, algorithm predicts right.

    Examples
    --------
    >>> discordant_counts([0, 0, 1, 1], first=[0, 0, 1, 0], second=[0, 1, 0, 1])
    (2, 1)
    """
    y = np.asarray(y)
    first = np.asarray(first)
    second = np.asarray(second)
    if y.ndim != 1 or not y.shape == first.shape == second.shape:
        raise ValueError(
            "y, first and second must be 1-d and of one length; got shapes "
            f"{y.shape}, {first.shape} and {second.shape}"
        )
    first_right = first == y
    second_right = second == y
    first_only = np.count_nonzero(first_right & ~second_right)
    second_only = np.count_nonzero(second_right & ~first_right)
    return int(first_only), int(second_only)


def probability_better(first_only: ArrayLike, second_only: ArrayLike) -> NDArray[np.float64]:
    """Compute the probability that the first algorithm has the smaller risk on a data set.

    p = 1 - I_1/2(k_A + 1, k_B + 1), where I is the regularised incomplete beta function. This is
    the posterior probability, under a uniform prior, that the first algorithm is right on more
    than half of the discordant rows.

    Parameters
    ----------
    first_only, second_only : array-like of the same shape
        k_A and k_B of :func:`discordant_counts`; finite and not negative.

    Returns
    -------
    array
        Of the same shape, in [0, 1].

    Examples
    --------
    >>> probability_better([9, 5], [2, 5]).round(3)
    array([0.981, 0.5  ])
    """
    k_a = finite_numbers("first_only", first_only, 0)
    k_b = finite_numbers("second_only", second_only, 0)
    if k_a.shape != k_b.shape:
        raise ValueError(
            f"second_only must have the shape of first_only, {k_a.shape}; got {k_b.shape}"
        )
    return 1 - betainc(k_a + 1, k_b + 1, 0.5)


def poisson_binomial_test(first_only: ArrayLike, second_only: ArrayLike) -> float:
    """Compute the probability that the first algorithm is better on most data sets.

    P(sum_i B_i > N / 2) + P(sum_i B_i = N / 2) / 2, where the B_i are independent Bernoulli
    variables whose parameters are given by :func:`probability_better`.

    Parameters
    ----------
    first_only, second_only : array-like of shape (n_sets,)
        Discordant counts per data set, at least one.

    Returns
    -------
    float
        Above 1/2 in favour of the first.

    Examples
    --------
    >>> round(poisson_binomial_test([9, 7, 1], [2, 3, 5]), 3)
    0.878
    """
    p = np.atleast_1d(probability_better(first_only, second_only))
    if p.ndim != 1 or len(p) == 0:
        raise ValueError(
            f"first_only must be 1-d, with at least one data set; got shape {p.shape}"
        )
    wins = poisson_binom(p)
    half = len(p) / 2
    return float(wins.sf(half) + wins.pmf(half) / 2)
