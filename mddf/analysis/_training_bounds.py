"""Bounds on the training error of boosting, from the edges of its rounds."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import ArrayLike

from mddf._base.messages import short
from mddf._base.validation import naming
from mddf.analysis._checks import finite_vector


def adaboost_training_bounds(
    weighted_error: ArrayLike | Mapping[str, ArrayLike],
) -> tuple[float, float]:
    """Compute two bounds on the training error of AdaBoost.

    training error <= prod_t 2 sqrt(eps_t (1 - eps_t)) <= exp(-2 sum_t (1/2 - eps_t)^2). The
    product equals the mean of exp(-y f), unless the last learner has no error; the mean is then
    smaller.

    Parameters
    ----------
    weighted_error : array-like of shape (n_rounds,), or a history
        eps_t of every round, in [0, 1]; ``history_`` or ``history_["weighted_error"]`` of an
        AdaBoost fitted to two classes. A history of another algorithm is refused: its rounds
        minimise another objective, and their errors bound nothing. An array does not tell which
        algorithm it comes from. With more than two classes, a history has a row for each class
        against the rest, with NaN after the last round of that class: pass the entries of one
        row that are not NaN.

    Returns
    -------
    product, exponential : float
        Both bounds; 1 without a round.

    Examples
    --------
    >>> product, exponential = adaboost_training_bounds([0.2, 0.125])
    >>> round(product, 4), round(exponential, 4)
    (0.5292, 0.6305)
    """
    if isinstance(weighted_error, Mapping):
        weighted_error = _errors_of_adaboost(weighted_error)
    with naming("weighted_error"):
        error = np.asarray(weighted_error, dtype=np.float64)
    if error.ndim != 1:
        raise ValueError(
            "weighted_error must be 1-d: with more than two classes, pass the row of one class; "
            f"got shape {error.shape}"
        )
    wrong = error[~((error >= 0) & (error <= 1))]
    if len(wrong):
        hint = "; leave out the NaN after a class's last round" if np.isnan(wrong).any() else ""
        raise ValueError(f"weighted_error must lie in [0, 1]{hint}; got {float(wrong[0])!r}")
    product = np.prod(2 * np.sqrt(error * (1 - error)))
    return float(product), float(np.exp(-2 * np.sum((0.5 - error) ** 2)))


def _errors_of_adaboost(history: Mapping[str, ArrayLike]) -> ArrayLike:
    """The errors of a history with the normalizers that only AdaBoost has."""
    if not {"weighted_error", "normalizer"} <= history.keys():
        raise ValueError(
            "weighted_error must come from an AdaBoost: the bounds do not hold for other "
            f"algorithms, got a history of {short(sorted(history))}"
        )
    return history["weighted_error"]


def margin_error_training_bound(weighted_error: ArrayLike, rho: float) -> float:
    """Compute a bound on the share of training rows with a margin of at most rho.

    AdaBoost_rho minimises Z_t exp(rho alpha_t) in each round. The product of these factors bounds
    the share of rows with a normalised margin y f(x) / sum_t alpha_t of at most rho::

        share <= prod_t ((1 + gamma_t) / (1 + rho))^((1 + rho) / 2)
                        ((1 - gamma_t) / (1 - rho))^((1 - rho) / 2)
               = exp(-sum_t KL((1 + rho) / 2, (1 + gamma_t) / 2)),

    where gamma_t = 1 - 2 eps_t is the edge, and KL is the relative entropy of two coins. With
    rho = 0, this is the product of :func:`adaboost_training_bounds`.

    Parameters
    ----------
    weighted_error : array-like of shape (n_rounds,)
        eps_t of every round; ``history_["weighted_error"]`` of an
        :class:`mddf.baselines.AdaBoostRhoClassifier` fitted to two classes. The edges must be at
        least rho.
    rho : float
        The margin that boosting aimed at, in [0, 1).

    Returns
    -------
    float
        The bound; 1 without a round.

    Examples
    --------
    >>> from mddf.analysis import margin_error_training_bound
    >>> round(margin_error_training_bound([0.2, 0.125], rho=0.1), 4)
    0.6189
    """
    with naming("rho"):
        if not 0 <= rho < 1:
            raise ValueError(f"rho must lie in [0, 1); got {short(rho)}")
    error = finite_vector("weighted_error", weighted_error, 0)
    edge = 1 - 2 * error
    too_small = error[edge < rho]
    if len(too_small):
        raise ValueError(
            f"weighted_error must be at most (1 - rho) / 2 = {(1 - rho) / 2:g}; "
            f"got {float(too_small[0])!r}"
        )
    upper = ((1 + edge) / (1 + rho)) ** ((1 + rho) / 2)
    lower = ((1 - edge) / (1 - rho)) ** ((1 - rho) / 2)
    return float(np.prod(upper * lower))


def quadboost_training_bounds(
    correlation: ArrayLike | Mapping[str, ArrayLike],
) -> tuple[float, float]:
    """Compute two bounds on the training error of QuadBoost without a penalty.

    A round with a classifier of correlation r_t with the residuals lowers the quadratic risk by
    exactly r_t^2. The risk of the empty vote is 1. After T rounds with abs(r_t) >= gamma::

        training error <= mean((y - f)^2) = 1 - sum_t r_t^2 <= 1 - T gamma^2.

    Hence at most 1 / gamma^2 rounds have a correlation of gamma. AdaBoost needs
    ln(1 / eps) / (2 gamma^2) rounds for a training error of eps if its edges are 2 gamma. The two
    assumptions differ: gamma is a correlation with residuals here, which shrink with the risk, and
    half of an edge under weights of sum 1 there.

    Parameters
    ----------
    correlation : array-like of shape (n_rounds,), or a history
        r_t of every round; ``history_`` or ``history_["correlation"]`` of a
        :class:`mddf.baselines.QuadBoostClassifier` with ``penalty=None`` that was fitted to two
        classes with learners of values -1 and +1, such as stumps.

    Returns
    -------
    risk : float
        Quadratic risk after all rounds; 1 without a round.
    rate : float
        1 - T gamma^2.

    Examples
    --------
    >>> from mddf.analysis import quadboost_training_bounds
    >>> risk, rate = quadboost_training_bounds([0.6, -0.3])
    >>> round(risk, 4), round(rate, 4)
    (0.55, 0.82)
    """
    if isinstance(correlation, Mapping):
        if "correlation" not in correlation:
            raise ValueError(
                "correlation must come from a QuadBoost; got a history of "
                f"{short(sorted(correlation))}"
            )
        correlation = correlation["correlation"]
    r = finite_vector("correlation", correlation)
    risk = 1 - float(np.sum(r**2))
    # Rounding errors of the correlations add up over the rounds.
    if risk < -1e-9:
        raise ValueError(
            f"correlation must have squares with a sum of at most 1; got {1 - risk!r}"
        )
    smallest = float(np.abs(r).min(initial=0.0 if len(r) == 0 else np.inf))
    return max(risk, 0.0), 1 - len(r) * smallest**2
