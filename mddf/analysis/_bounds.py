"""Bounds on the error of weighted votes, and deviations of means, as stated in the papers."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from mddf._base.messages import short
from mddf.analysis._checks import (
    check_count,
    check_delta,
    check_norm_order,
    check_number,
    checked_margins,
    finite_vector,
    margins_of_vote,
)


def finite_class_margin_bound(
    margins: ArrayLike, rho: float, n_hypotheses: float, delta: float = 0.05, norm: float = 1.0
) -> float:
    """Compute the margin bound of a vote over finitely many base classifiers.

    With probability at least 1 - delta over the sample, for every vote of norm at most B,

        P(y f <= 0) <= share(y f <= rho) + (2 B / rho) sqrt(2 ln|H| / m)
            + sqrt(ln(1 / delta) / (2 m)),

    which is the Rademacher margin bound with Massart's lemma for a finite class.

    Parameters
    ----------
    margins : array-like of shape (n_samples,)
        y f(x) of the training rows, with f of norm at most `norm`; for norm 1, these are
        normalised margins.
    rho : float
        The margin, > 0, fixed beforehand.
    n_hypotheses : float
        |H|, at least 1. Complements of learners count as learners.
    delta : float, default=0.05
        In (0, 1).
    norm : float, default=1.0
        B, the bound on the sum of the absolute weights.

    Returns
    -------
    float
        The bound, possibly above 1.

    Examples
    --------
    >>> margins = [0.6, 0.7, 0.8, 0.9] * 5000
    >>> round(finite_class_margin_bound(margins, rho=0.5, n_hypotheses=100), 3)
    0.094
    """
    sample = checked_margins(margins, rho, delta)
    check_number("n_hypotheses", n_hypotheses, 1)
    check_number("norm", norm, 0, above=True)
    m = len(sample)
    complexity = 2 * norm / rho * np.sqrt(2 * np.log(n_hypotheses) / m)
    return float(np.mean(sample <= rho) + complexity + np.sqrt(np.log(1 / delta) / (2 * m)))


def deepboost_bound(
    margins: ArrayLike,
    rho: float,
    alpha: ArrayLike,
    complexity: ArrayLike,
    n_families: int,
    delta: float = 0.05,
) -> float:
    """Compute the bound of theorem 1 of DeepBoost.

    With probability at least 1 - delta over the sample, for every vote with sum_t alpha_t <= 1,

        P(y f <= 0) <= share(y f <= rho) + (4 / rho) sum_t alpha_t r_t + (2 / rho) sqrt(ln p / m)
            + sqrt(ceil((4 / rho^2) ln(rho^2 m / ln p)) ln p / m + ln(2 / delta) / (2 m)),

    where r_t bounds the complexity of learner t's family, and p is the number of families. The
    number of terms in the last root is rounded up, since its derivation counts learners.

    Parameters
    ----------
    margins : array-like of shape (n_samples,)
        Normalised margins of the training rows.
    rho : float
        The margin, > 0, fixed beforehand.
    alpha : array-like of shape (n_learners,)
        Weights; they are taken absolute and divided by their sum.
    complexity : array-like of shape (n_learners,)
        r_t >= 0.
    n_families : int
        p, at least 2.
    delta : float, default=0.05
        In (0, 1).

    Returns
    -------
    float
        The bound, possibly above 1.

    Notes
    -----
    Source: C. Cortes, M. Mohri and U. Syed, "Deep boosting", ICML 2014.

    Examples
    --------
    >>> margins = [0.6, 0.7, 0.8, 0.9] * 5000
    >>> bound = deepboost_bound(
    ...     margins, rho=0.5, alpha=[0.7, 0.3], complexity=[0.01, 0.02], n_families=2
    ... )
    >>> round(bound, 3)
    0.199
    """
    sample = checked_margins(margins, rho, delta)
    check_number("n_families", n_families, 2)
    weights = np.abs(finite_vector("alpha", alpha))
    bounds = finite_vector("complexity", complexity, 0)
    if weights.shape != bounds.shape:
        raise ValueError(
            f"complexity must have the shape of alpha, {weights.shape}; got {bounds.shape}"
        )
    if not weights.any():
        raise ValueError(f"alpha must have an entry other than 0; got {short(alpha)}")
    # Scaled, so that the sum of large weights is finite.
    weights = weights / weights.max()
    m = len(sample)
    share = np.log(n_families) / m
    n_terms = max(np.ceil(4 / rho**2 * np.log(rho**2 / share)), 0.0)
    return float(
        np.mean(sample <= rho)
        + 4 / rho * (weights @ bounds) / weights.sum()
        + 2 / rho * np.sqrt(share)
        + np.sqrt(n_terms * share + np.log(2 / delta) / (2 * m))
    )


def quadboost_bound(
    margins: ArrayLike,
    alpha: ArrayLike,
    complexity: float,
    p: float = 1.0,
    delta: float = 0.05,
) -> float:
    """Compute the bound of theorem 1 of QuadBoost, for the quadratic loss.

    With probability at least 1 - delta over the sample, for every vote,

        P(y f <= 0) <= mean((1 - y f)^2) + 4 l n^(1 - 1/p) |alpha|_p R
            + sqrt(ln(pi^2 (n + 1)^2 / (3 delta)) / (2 m)) + sqrt(ln(log2(2 |alpha|_p)) / m),

    with n learners and l = 2, the Lipschitz constant of the quadratic loss clipped at 1. The paper
    prints 6 delta in place of 3 delta. The union over all norms costs a factor of 2, as in
    :func:`rademacher_margin_bound` with `all_rho`.

    Parameters
    ----------
    margins : array-like of shape (n_samples,)
        y f(x) of the training rows, not normalised.
    alpha : array-like of shape (n_learners,)
        Weights of the learners in the vote; entries of 0 do not count.
    complexity : float
        R, the Rademacher complexity of the set of learners, >= 0.
    p : float, default=1.0
        Order of the norm, at least 1; infinity gives n |alpha|_inf.
    delta : float, default=0.05
        In (0, 1).

    Returns
    -------
    float
        The bound, possibly above 1. For |alpha|_p < 1, the theorem is applied to a fixed norm:
        4 |alpha|_p counts as at least 2, and the last root as 0.

    Notes
    -----
    Source: L. Fortier-Dubois, F. Laviolette, M. Marchand, L.-E. Robitaille and J.-F. Roy,
    "Efficient learning of ensembles with QuadBoost", arXiv:1506.02535, 2015.

    Examples
    --------
    >>> margins = [0.6, 0.7, 0.8, 0.9] * 5000
    >>> round(quadboost_bound(margins, alpha=[0.6, 0.4], complexity=0.01), 3)
    0.168
    """
    sample = checked_margins(margins, 1.0, delta)
    check_norm_order(p)
    check_number("complexity", complexity, 0)
    weights = finite_vector("alpha", alpha)
    weights = weights[weights != 0]
    n = len(weights)
    m = len(sample)
    largest = float(np.abs(weights).max(initial=0.0))
    norm = largest * float(np.linalg.norm(weights / largest, ord=p)) if n else 0.0
    check_number("the norm of alpha", norm, 0)
    return float(
        np.mean((1 - sample) ** 2)
        + 4 * 2 * n ** (1 - 1 / p) * max(norm, 0.5) * complexity
        + np.sqrt(np.log(np.pi**2 * (n + 1) ** 2 / (3 * delta)) / (2 * m))
        + np.sqrt(np.log(np.log2(2 * max(norm, 1.0))) / m)
    )


def margin_distribution_bound(
    margins: ArrayLike, log_size: float, delta: float = 0.05, *, n_classes: int
) -> tuple[float, float, str]:
    """Compute the right-hand side of theorem 1 of mdDF, where its premises hold.

    The minimum, over the r in (0, 1] with d > 2, of ::

        share(margin < r) + m^-d + 3 sqrt(mu) / m^1.5 + 7 mu / (3 m) + lambda sqrt(3 mu / m)

    with ::

        d = 2 / (1 - mean(margin)^2 + r / 9)
        mu = ln m ln(2 sum_t alpha_t |H_t|) / r^2 + ln(2 / delta)
        lambda = std(margin) / mean(margin)

    The theorem states that this exceeds the error of a cascade of two classes with probability at
    least 1 - delta over its training rows. The printed proof does not give these constants (see
    Notes).

    Parameters
    ----------
    margins : array-like of shape (n_samples,)
        y F(x) of the finished cascade on its training rows, in [-1, 1]: the probability of the
        own class minus the probability of the other class. Out-of-fold margins belong to other
        models, to which the theorem does not apply.
    log_size : float
        ln(sum_t alpha_t |H_t|), at least 0, where |H_t| is the number of hypotheses that layer t
        is chosen from, fixed before the rows are seen; see :func:`log_n_trees`.
    delta : float, default=0.05
        In (0, 1).
    n_classes : int
        Number of classes, at least 2.

    Returns
    -------
    value : float
        The minimum; it says nothing if it is above 1. NaN if a premise fails.
    margin : float
        The minimising r; NaN if a premise fails.
    reason : str
        The premise that fails, or "".

    Notes
    -----
    With n = ln m / r^2, theta = r / 6 and beta = 5 r / 6, as in the proof, equation 44 gives
    m^(-d / 144) in place of m^-d, and equation 27 adds m^(-25 / 72). Equation 43 drops beta and
    theta from a denominator. The value shows how the terms depend on the margins, and is no proven
    bound on the error.

    Source: S.-H. Lv, L. Yang and Z.-H. Zhou, "Forest representation learning guided by margin
    distribution", arXiv:1905.03052v1, 2019.

    Examples
    --------
    >>> margins = [0.6, 0.7, 0.8, 0.9] * 5000
    >>> value, margin, reason = margin_distribution_bound(margins, log_size=5.0, n_classes=2)
    >>> round(value, 3), margin, reason
    (0.042, 0.6, '')
    >>> margin_distribution_bound(margins, log_size=5.0, n_classes=3)[2]
    'the theorem is about two classes; got n_classes=3'
    """
    sample = margins_of_vote(margins)
    check_delta(delta)
    check_number("log_size", log_size, 0)
    check_count("n_classes", n_classes, 2)
    m = len(sample)
    mean = float(sample.mean())
    if n_classes > 2:
        return np.nan, np.nan, f"the theorem is about two classes; got n_classes={n_classes}"
    if m < 5:
        return np.nan, np.nan, f"lemma 3 needs at least 5 rows; got {m}"
    if mean <= 0:
        return np.nan, np.nan, f"the mean margin must be positive; got {mean:.3g}"
    # d > 2 means r < 9 mean^2. The minimum lies at a margin, since the share jumps just above it,
    # or between two margins, where all terms are smooth and a grid of 1000 points is fine enough.
    r = np.union1d(np.linspace(0, min(1, 9 * mean**2), 1001)[1:], sample)
    r = r[(r > 0) & (r <= 1) & (r < 9 * mean**2)]
    share = np.searchsorted(np.sort(sample), r, side="left") / m
    d = 2 / (1 - mean**2 + r / 9)
    mu = np.log(m) * (np.log(2) + log_size) / r**2 + np.log(2 / delta)
    values = share + m**-d + 3 * np.sqrt(mu) / m**1.5 + 7 * mu / (3 * m)
    values += sample.std() / mean * np.sqrt(3 * mu / m)
    best = values.argmin()
    return float(values[best]), float(r[best]), ""


def log_n_trees(n_samples: int, n_features: int, n_classes: int, max_bins: int = 255) -> float:
    """Compute the logarithm of a bound on the number of binary trees that rows can grow.

    It serves as `log_size` in :func:`margin_distribution_bound`. A tree has fewer inner nodes than
    rows. With n inner nodes, there are at most 4^n shapes, a feature and a threshold for each of
    these nodes, and a class for each leaf.

    Parameters
    ----------
    n_samples : int
        Training rows, at least 1.
    n_features : int
        Input columns of a layer, including the vectors of earlier layers, at least 1.
    n_classes : int
        Classes, at least 1.
    max_bins : int, default=255
        Bins of a feature, at least 2; a feature has one threshold less.

    Returns
    -------
    float
        The logarithm.

    Examples
    --------
    >>> round(log_n_trees(100, 5, 3))
    955
    """
    check_number("n_samples", n_samples, 1)
    check_number("n_features", n_features, 1)
    check_number("n_classes", n_classes, 1)
    check_number("max_bins", max_bins, 2)
    n = n_samples - 1
    return float(n * np.log(4 * n_features * (max_bins - 1)) + (n + 1) * np.log(n_classes))


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
    sample = margins_of_vote(margins)
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
