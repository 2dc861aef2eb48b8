"""Tests that compare two learning algorithms over several data sets."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import betainc
from scipy.stats import binomtest, poisson_binom

from mddf._base.messages import short
from mddf.analysis._checks import check_number, finite_numbers


def discordant_counts(y: ArrayLike, first: ArrayLike, second: ArrayLike) -> tuple[int, int]:
    """Count the test rows on which exactly one of two predictions is right.

    Parameters
    ----------
    y, first, second : array-like of shape (n_samples,)
        Labels, and what the two algorithms predict.

    Returns
    -------
    first_only, second_only : int
        Rows that only the first, only the second algorithm has right.

    Raises
    ------
    ValueError
        If the three are not 1-d and of one length.
    """
    labels, one, two = np.asarray(y), np.asarray(first), np.asarray(second)
    if labels.ndim != 1 or not labels.shape == one.shape == two.shape:
        raise ValueError(
            "y, first and second must be 1-d and of one length; got shapes "
            f"{labels.shape}, {one.shape} and {two.shape}"
        )
    right_first, right_second = one == labels, two == labels
    first_only = np.count_nonzero(right_first & ~right_second)
    return int(first_only), int(np.count_nonzero(right_second & ~right_first))


def probability_better(first_only: ArrayLike, second_only: ArrayLike) -> NDArray[np.float64]:
    """Probability that the first algorithm has the smaller risk on a data set.

    p = 1 - I_1/2(k_A + 1, k_B + 1), I the regularised incomplete beta function: the posterior of
    the share of discordant rows that go to the first, under a uniform prior, above 1/2.

    Parameters
    ----------
    first_only, second_only : array-like of the same shape
        k_A and k_B, see :func:`discordant_counts`; finite and not negative.

    Returns
    -------
    array
        Of the same shape, in [0, 1].

    Raises
    ------
    ValueError
        If the shapes differ, or a count is negative or not finite.
    """
    k_a = finite_numbers("first_only", first_only, 0)
    k_b = finite_numbers("second_only", second_only, 0)
    if k_a.shape != k_b.shape:
        raise ValueError(
            f"second_only must have the shape of first_only, {k_a.shape}; got {k_b.shape}"
        )
    return 1 - betainc(k_a + 1, k_b + 1, 0.5)


def poisson_binomial_test(first_only: ArrayLike, second_only: ArrayLike) -> float:
    """Probability that the first algorithm is better on most data sets.

    P(sum_i B_i > N / 2) + P(sum_i B_i = N / 2) / 2 with independent Bernoulli variables B_i of
    parameter :func:`probability_better`.

    Parameters
    ----------
    first_only, second_only : array-like of shape (n_sets,)
        Discordant counts per data set, at least one.

    Returns
    -------
    float
        Above 1/2 in favour of the first.

    Raises
    ------
    ValueError
        If the counts are not 1-d, of one length and not empty, or one is negative or not finite.

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
    wins, half = poisson_binom(p), len(p) / 2
    return float(wins.sf(half) + wins.pmf(half) / 2)


def sign_test(wins: int, losses: int) -> float:
    """One-sided p-value of the sign test, ties left out.

    sum_{k >= W} C(n, k) / 2^n for W wins among n = wins + losses.

    Parameters
    ----------
    wins, losses : int
        Data sets on which the first algorithm is better, worse; whole floats will do.

    Returns
    -------
    float
        Small when the first wins too often for chance; 1 without a decided data set.

    Raises
    ------
    ValueError
        If a count is negative or not whole.
    """
    for name, count in (("wins", wins), ("losses", losses)):
        check_number(name, count, 0)
        if count != int(count):
            raise ValueError(f"{name} must be a whole number; got {short(count)}")
    if wins + losses == 0:
        return 1.0
    return float(binomtest(int(wins), int(wins) + int(losses), alternative="greater").pvalue)
