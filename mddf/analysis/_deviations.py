"""Deviations of means from their expectations: lemmas 1 and 3 of mdDF."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from mddf.analysis._checks import check_count, check_delta, check_number, finite_vector


def drawn_vote_bound(margins: ArrayLike, n_draws: int, epsilon: float) -> float:
    """Bound the chance that a vote of drawn learners exceeds the margin of the whole vote.

    G is the mean of n learners that are drawn independently by their coefficients in F. Over the
    rows and the draws,

        P(y G(x) - y F(x) >= epsilon)
            <= mean over rows of exp(-n epsilon^2 / (2 - 2 (y F(x))^2 + 4 epsilon / 3)).

    This is lemma 1 of mdDF, row by row. See Notes for the printed form.

    Parameters
    ----------
    margins : array-like of shape (n_samples,)
        y F(x), in [-1, 1].
    n_draws : int
        n, at least 1.
    epsilon : float
        The deviation, > 0.

    Returns
    -------
    float

    Raises
    ------
    ValueError
        If a parameter is out of range.

    Notes
    -----
    The printed lemma has the square of the mean margin for all rows, outside the mean. Both agree
    if all margins are equal. Otherwise the printed form can fail: its equation 15 multiplies the
    expectations of the n draws, which are independent only for a fixed row. With margin 1 on nine
    rows of ten, margin 0 on the tenth, n = 100 and epsilon = 0.3, the chance is 1.8e-4, and the
    printed bound 9.7e-6.

    Source: S.-H. Lv, L. Yang and Z.-H. Zhou, "Forest representation learning guided by margin
    distribution", arXiv:1905.03052v1, 2019.

    Examples
    --------
    >>> from mddf.analysis import drawn_vote_bound
    >>> round(drawn_vote_bound([0.9, 0.5], n_draws=100, epsilon=0.3), 5)
    0.00439
    """
    sample = finite_vector("margins", margins)
    if len(sample) == 0:
        raise ValueError("margins must have at least one entry; got none")
    largest = float(np.abs(sample).max())
    if largest > 1 + 1e-9:
        raise ValueError(f"margins must lie in [-1, 1]; got one of size {largest!r}")
    check_count("n_draws", n_draws, 1)
    check_number("epsilon", epsilon, 0, above=True)
    variance = np.maximum(1 - sample**2, 0.0)
    return float(np.exp(-n_draws * epsilon**2 / (2 * variance + 4 * epsilon / 3)).mean())


def empirical_bernstein_deviation(values: ArrayLike, delta: float = 0.05) -> float:
    """Bound how far the mean of independent values lies from its expectation, by their variance.

    With probability at least 1 - delta, the expectation of the mean exceeds the mean by no more
    than ::

        sqrt(2 V ln(2 / delta) / m) + 7 ln(2 / delta) / (3 m),

    where V is the variance of the sample with divisor m - 1. The same holds for the other side.
    This is lemma 3 of mdDF.

    Parameters
    ----------
    values : array-like of shape (n_samples,)
        In [0, 1]; at least 5.
    delta : float, default=0.05
        In (0, 1).

    Returns
    -------
    float

    Raises
    ------
    ValueError
        If a parameter is out of range.

    Notes
    -----
    Source: W. Gao and Z.-H. Zhou, "On the doubt about margin explanation of boosting", Artificial
    Intelligence 203, 1-18, 2013, as cited by mdDF.

    Examples
    --------
    >>> from mddf.analysis import empirical_bernstein_deviation
    >>> round(empirical_bernstein_deviation([0.0, 1.0, 1.0, 1.0] * 100), 4)
    0.0804
    """
    sample = finite_vector("values", values, 0)
    if len(sample) < 5:
        raise ValueError(f"values must have at least 5 entries; got {len(sample)}")
    if sample.max() > 1:
        raise ValueError(f"values must lie in [0, 1]; got {float(sample.max())!r}")
    check_delta(delta)
    m = len(sample)
    log_term = np.log(2 / delta)
    return float(np.sqrt(2 * sample.var(ddof=1) * log_term / m) + 7 * log_term / (3 * m))
