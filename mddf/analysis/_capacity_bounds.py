"""Generalisation bounds by the capacity of a class: Rademacher, VC, and norms of linear votes."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from mddf._base.messages import short
from mddf._base.validation import naming
from mddf.analysis._checks import check_delta, check_norm_order, check_number, checked_margins


def massart_complexity(n_hypotheses: float, n_samples: int, norm: float = 1.0) -> float:
    """Bound the Rademacher complexity of a finite class by Massart's lemma.

    R_S(H) <= B sqrt(2 ln abs(H) / m) for hypotheses with a root mean square of at most B. For a
    class of binary functions, the number of different labellings of the sample takes the place of
    abs(H): the growth function, in equations 7 to 9 of DeepBoost.

    Parameters
    ----------
    n_hypotheses : float
        Hypotheses or labellings, at least 1.
    n_samples : int
        m, at least 1.
    norm : float, default=1.0
        B, the largest root mean square of a hypothesis over the sample.

    Returns
    -------
    float
        The bound.

    Notes
    -----
    C. Zhang, "CSC 665: Boosting", lecture notes, 2019, states the lemma without the factor 2 under
    the root.

    Examples
    --------
    >>> from mddf.analysis import massart_complexity
    >>> round(massart_complexity(100, 1000), 4)
    0.096
    """
    check_number("n_hypotheses", n_hypotheses, 1)
    check_number("n_samples", n_samples, 1)
    check_number("norm", norm, 0)
    return float(norm * np.sqrt(2 * np.log(n_hypotheses) / n_samples))


def vote_complexity(complexity: float, n_learners: int, p: float = 1.0) -> float:
    """Compute the Rademacher complexity of votes of unit p-norm, by Lemma 1 of QuadBoost.

    For votes of n learners from a symmetric class H with weights of p-norm 1, the complexity is
    exactly n^(1 - 1/p) R_S(H). With p = 1, it does not grow with the number of learners.

    Parameters
    ----------
    complexity : float
        R_S(H), at least 0.
    n_learners : int
        n, at least 1.
    p : float, default=1.0
        Order of the norm, at least 1; infinity gives n R_S(H).

    Returns
    -------
    float
        The complexity.

    Examples
    --------
    >>> import numpy as np
    >>> from mddf.analysis import vote_complexity
    >>> vote_complexity(0.1, 4), vote_complexity(0.1, 4, p=2), vote_complexity(0.1, 4, p=np.inf)
    (0.1, 0.2, 0.4)
    """
    check_number("complexity", complexity, 0)
    check_number("n_learners", n_learners, 1)
    check_norm_order(p)
    return float(n_learners ** (1 - 1 / p) * complexity)


def rademacher_margin_bound(
    margins: ArrayLike,
    rho: float,
    complexity: float,
    delta: float = 0.05,
    *,
    empirical: bool = True,
    all_rho: bool = False,
) -> float:
    """Compute the general Rademacher margin bound of an ensemble.

    With probability at least 1 - delta over the sample, for every convex combination f of
    hypotheses from H,

        P(y f <= 0) <= share(y f <= rho) + (2 / rho) R + c sqrt(ln(a / delta) / (2 m)),

    where c = 1 and a = 1 for the expected complexity R = R_m(H), and c = 3 and a = 2 for the
    empirical one, R = R_S(H). A bound for all rho in (0, 1] at the same time, so that rho may be
    chosen by the margins, has 4 / rho in place of 2 / rho, 2 a in place of a, and the additional
    term sqrt(ln(log2(2 / rho)) / m).

    Parameters
    ----------
    margins : array-like of shape (n_samples,)
        Normalised margins of the training rows.
    rho : float
        The margin, > 0; fixed beforehand unless `all_rho`.
    complexity : float
        R, at least 0; see :func:`rademacher_complexity`, :func:`tree_rademacher_complexity`.
    delta : float, default=0.05
        In (0, 1).
    empirical : bool, default=True
        Whether the complexity was computed from the training rows.
    all_rho : bool, default=False
        Whether the bound holds for all rho in (0, 1].

    Returns
    -------
    float
        The bound, possibly above 1.

    Notes
    -----
    H. Peng and X. Wang, "Deep boosting vs AdaBoosting", print log2(2 / delta) in the additional
    term; it is log2(2 / rho), as in DeepBoost.

    Source: M. Mohri, A. Rostamizadeh and A. Talwalkar, "Foundations of Machine Learning", 2nd
    edition, theorems 5.8 and 5.9 and corollary 7.5.

    Examples
    --------
    >>> from mddf.analysis import rademacher_margin_bound
    >>> margins = [0.6, 0.7, 0.8, 0.9] * 5000
    >>> round(rademacher_margin_bound(margins, 0.5, complexity=0.02), 3)
    0.109
    """
    sample = checked_margins(margins, rho, delta)
    check_number("complexity", complexity, 0)
    m = len(sample)
    n_events = 2 if empirical else 1
    factor = 2.0
    uniform = 0.0
    if all_rho:
        if rho > 1:
            raise ValueError(f"rho must lie in (0, 1] with all_rho; got {short(rho)}")
        n_events *= 2
        factor = 4.0
        uniform = float(np.sqrt(np.log(np.log2(2 / rho)) / m))
    confidence = np.sqrt(np.log(n_events / delta) / (2 * m)) * (3 if empirical else 1)
    share = np.mean(sample <= rho)
    return float(share + factor / rho * complexity + uniform + confidence)


def vc_bound(error: float, n_samples: int, vc_dimension: float, delta: float = 0.05) -> float:
    """Compute the VC bound on the error of a classifier.

    With probability at least 1 - delta over the sample, for every classifier of the class,

        error <= training error + sqrt(2 ln G / m) + sqrt(ln(1 / delta) / (2 m)),

    where G = (e m / d)^d bounds the number of labellings by a class of VC dimension d (Sauer's
    lemma), and G = 2^m if m <= d.

    Parameters
    ----------
    error : float
        Training error, in [0, 1].
    n_samples : int
        m, at least 1.
    vc_dimension : float
        d > 0; see :func:`tree_vc_dimension` and :func:`vote_vc_dimension`.
    delta : float, default=0.05
        In (0, 1).

    Returns
    -------
    float
        The bound, possibly above 1.

    Examples
    --------
    >>> from mddf.analysis import vc_bound
    >>> round(vc_bound(0.02, n_samples=10_000, vc_dimension=5), 3)
    0.125
    """
    with naming("error"):
        if not 0 <= error <= 1:
            raise ValueError(f"error must lie in [0, 1]; got {short(error)}")
    check_number("n_samples", n_samples, 1)
    check_number("vc_dimension", vc_dimension, 0, above=True)
    check_delta(delta)
    if n_samples <= vc_dimension:
        log_growth = n_samples * np.log(2)
    else:
        log_growth = vc_dimension * np.log(np.e * n_samples / vc_dimension)
    confidence = np.sqrt(np.log(1 / delta) / (2 * n_samples))
    return float(error + np.sqrt(2 * log_growth / n_samples) + confidence)


def tree_vc_dimension(n_nodes: int, n_features: int) -> float:
    """Bound the VC dimension of binary decision trees: (2 n + 1) log2(d + 2).

    Parameters
    ----------
    n_nodes : int
        n, the nodes of a tree, at least 1.
    n_features : int
        d, at least 1.

    Returns
    -------
    float
        The bound.

    Examples
    --------
    >>> from mddf.analysis import tree_vc_dimension
    >>> tree_vc_dimension(n_nodes=3, n_features=14)
    28.0
    """
    check_number("n_nodes", n_nodes, 1)
    check_number("n_features", n_features, 1)
    return float((2 * n_nodes + 1) * np.log2(n_features + 2))


def vote_vc_dimension(n_rounds: int, vc_dimension: float) -> float:
    """Bound the VC dimension of weighted votes: 2 (d + 1) (T + 1) log2(e (T + 1)).

    It grows with the number of rounds T. The VC bound therefore predicts that AdaBoost overfits,
    which it often does not; margin bounds do not depend on T.

    Parameters
    ----------
    n_rounds : int
        T, the learners in the vote, at least 1.
    vc_dimension : float
        d, the VC dimension of the learners, at least 2.

    Returns
    -------
    float
        The bound.

    Notes
    -----
    Source: Y. Freund and R. E. Schapire, "A decision-theoretic generalization of on-line learning
    and an application to boosting", 1997, theorem 8.

    Examples
    --------
    >>> from mddf.analysis import vote_vc_dimension
    >>> round(vote_vc_dimension(n_rounds=99, vc_dimension=2))
    4852
    """
    check_number("n_rounds", n_rounds, 1)
    check_number("vc_dimension", vc_dimension, 2)
    votes = n_rounds + 1
    return float(2 * (vc_dimension + 1) * votes * np.log2(np.e * votes))


def l1_linf_margin_bound(
    margins: ArrayLike,
    rho: float,
    n_features: int,
    delta: float = 0.05,
    *,
    weight_norm: float = 1.0,
    example_norm: float = 1.0,
) -> float:
    """Compute the margin bound of linear functions with weights of bounded l1 norm.

    With probability at least 1 - delta over the sample, for every w with abs(w)_1 <= B_1, if
    abs(x)_inf <= R_inf,

        P(y w x <= 0) <= share(y w x <= rho) + (2 / rho) B_1 R_inf sqrt(2 ln(2 d) / m)
            + sqrt(ln(1 / delta) / (2 m)).

    A vote over d learners with values in [-1, 1] is such a function of the learners' values.

    Parameters
    ----------
    margins : array-like of shape (n_samples,)
        y w x of the training rows, not normalised.
    rho : float
        The margin, > 0, fixed beforehand.
    n_features : int
        d, at least 1.
    delta : float, default=0.05
        In (0, 1).
    weight_norm : float, default=1.0
        B_1 > 0.
    example_norm : float, default=1.0
        R_inf > 0.

    Returns
    -------
    float
        The bound, possibly above 1.

    See Also
    --------
    l2_l2_margin_bound : The bound of support vector machines.

    Notes
    -----
    Theorem 3 of C. Zhang, "CSC 665: Boosting", lecture notes, 2019, leaves the constants open. The
    constants here follow from Massart's lemma for the 2 d functions that are a single feature or
    its negative.

    Examples
    --------
    >>> from mddf.analysis import l1_linf_margin_bound
    >>> margins = [0.6, 0.7, 0.8, 0.9] * 5000
    >>> round(l1_linf_margin_bound(margins, 0.5, n_features=100), 3)
    0.101
    """
    sample = checked_margins(margins, rho, delta)
    check_number("n_features", n_features, 1)
    check_number("weight_norm", weight_norm, 0, above=True)
    check_number("example_norm", example_norm, 0, above=True)
    complexity = massart_complexity(2 * n_features, len(sample), weight_norm * example_norm)
    return rademacher_margin_bound(sample, rho, complexity, delta, empirical=False)


def l2_l2_margin_bound(
    margins: ArrayLike,
    rho: float,
    delta: float = 0.05,
    *,
    weight_norm: float = 1.0,
    example_norm: float = 1.0,
) -> float:
    """Compute the margin bound of linear functions with weights of bounded l2 norm.

    With probability at least 1 - delta over the sample, for every w with abs(w)_2 <= B_2, if
    abs(x)_2 <= R_2,

        P(y w x <= 0) <= share(y w x <= rho) + (2 / rho) B_2 R_2 / sqrt(m)
            + sqrt(ln(1 / delta) / (2 m)).

    Parameters
    ----------
    margins : array-like of shape (n_samples,)
        y w x of the training rows, not normalised.
    rho : float
        The margin, > 0, fixed beforehand.
    delta : float, default=0.05
        In (0, 1).
    weight_norm : float, default=1.0
        B_2 > 0.
    example_norm : float, default=1.0
        R_2 > 0.

    Returns
    -------
    float
        The bound, possibly above 1.

    See Also
    --------
    l1_linf_margin_bound : The bound of votes.

    Notes
    -----
    A vote with abs(w)_1 <= B_1 and abs(x)_inf <= R_inf has abs(w)_2 <= B_1 and
    abs(x)_2 <= sqrt(d) R_inf. By the l2 bound, its complexity is then larger by a factor of
    sqrt(d / (2 ln(2 d))) than by the l1 bound. C. Zhang, "CSC 665: Boosting", lecture notes, 2019,
    prints the radii of these balls, and with them the comparison, the other way round.

    Examples
    --------
    >>> from mddf.analysis import l2_l2_margin_bound
    >>> margins = [0.6, 0.7, 0.8, 0.9] * 5000
    >>> round(l2_l2_margin_bound(margins, 0.5, example_norm=10.0), 3)
    0.291
    """
    sample = checked_margins(margins, rho, delta)
    check_number("weight_norm", weight_norm, 0, above=True)
    check_number("example_norm", example_norm, 0, above=True)
    complexity = weight_norm * example_norm / np.sqrt(len(sample))
    return rademacher_margin_bound(sample, rho, complexity, delta, empirical=False)
