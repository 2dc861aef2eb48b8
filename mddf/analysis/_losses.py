"""The margin-distribution loss with a band, and the objective of the optimal margin machine."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mddf._base.messages import short
from mddf._layers.margin_loss import project_to_simplex, weighted_sum
from mddf.analysis._checks import check_number, finite_numbers, finite_vector, weight_shares

# Accelerated gradient steps for the coefficients. Cascades have few layers: the steps end by the
# tolerance after a few hundred at most in the tests.
_MAX_STEPS = 5000
_TOLERANCE = 1e-12


@dataclass(frozen=True)
class BandMarginLoss:
    """Margin-distribution loss with a band without loss, equation 51 of mdDF's preprint.

    For a margin z::

        (z - 1 + theta)^2 / (1 - theta)^2         if z <= 1 - theta,
        0                                         if 1 - theta < z <= 1 + theta,
        mu (z - 1 - theta)^2 / (1 + theta)^2      if z > 1 + theta.

    It is convex, continuously differentiable and 1 at z = 0, so that it bounds the 0-1 loss.

    Parameters
    ----------
    theta : float, default=0.2
        Half of the width of the band, in [0, 1).
    mu : float, default=0.1
        Weight of the losses above the band, in (0, 1].

    Notes
    -----
    Margins of a cascade are at most 1, where the upper branch is never reached: the band then
    begins at the target margin 1 - theta, and confident samples have no loss at all. A cascade
    boosts by this loss with `coefficients` as `alpha` of :class:`mddf.rules.MarginRules`, and
    `sample_factors` in a rule.

    Source: S.-H. Lv, L. Yang and Z.-H. Zhou, "Forest representation learning guided by margin
    distribution", arXiv:1905.03052v1, 2019.

    Examples
    --------
    >>> from mddf import MDDFClassifier
    >>> from mddf.analysis import BandMarginLoss
    >>> from mddf.rules import MarginRules
    >>> loss = BandMarginLoss(theta=0.2, mu=0.1)
    >>> [round(value, 4) for value in loss.value([0.0, 0.5, 1.0, 2.0]).tolist()]
    [1.0, 0.1406, 0.0, 0.0444]
    >>> def reweighting(view):
    ...     return loss.sample_factors(view.margins, view.alphas, view.sample_weight)
    >>> rules = MarginRules(alpha=loss.coefficients, reweighting=reweighting, redraw=True)
    >>> model = MDDFClassifier(rules=rules)
    """

    theta: float = 0.2
    mu: float = 0.1

    def __post_init__(self) -> None:
        _check_band(self.theta, self.mu)

    def value(self, margins: ArrayLike) -> NDArray[np.float64]:
        """Compute the loss of each margin.

        Parameters
        ----------
        margins : array-like
            Finite margins of any shape.

        Returns
        -------
        array
            Losses, in the shape of the margins.
        """
        below, above = self._distances(margins)
        return below**2 / (1 - self.theta) ** 2 + self.mu * above**2 / (1 + self.theta) ** 2

    def gradient(self, margins: ArrayLike) -> NDArray[np.float64]:
        """Compute the derivative of the loss by each margin.

        Parameters
        ----------
        margins : array-like
            Finite margins of any shape.

        Returns
        -------
        array
            Derivatives, in the shape of the margins.
        """
        below, above = self._distances(margins)
        upper = 2 * self.mu * above / (1 + self.theta) ** 2
        return upper - 2 * below / (1 - self.theta) ** 2

    def sample_factors(
        self,
        margins: ArrayLike,
        alphas: ArrayLike,
        sample_weight: ArrayLike | None = None,
    ) -> NDArray[np.float64]:
        """Compute factors of the samples' weights, for the rule `reweighting` of `LayerRules`.

        Parameters
        ----------
        margins : array-like of shape (n_samples, n_layers)
            Margins of each layer alone.
        alphas : array-like of shape (n_layers,)
            Coefficients of the layers, not all 0; margins of their weighted mean count.
        sample_weight : array-like of shape (n_samples,) or None, default=None
            Samples of weight 0 do not decide whether there is a loss.

        Returns
        -------
        array of shape (n_samples,)
            The losses; 1 for all samples if none with weight has a loss.
        """
        columns = _margins_of_layers(margins)
        coefficients = finite_vector("alphas", alphas, 0)
        if len(coefficients) != columns.shape[1] or not coefficients.any():
            raise ValueError(
                f"alphas must have an entry for each of the {columns.shape[1]} layers, not all 0; "
                f"got {short(alphas)}"
            )
        losses = self.value(weighted_sum(columns, coefficients) / coefficients.sum())
        weight = np.ones(len(losses)) if sample_weight is None else np.asarray(sample_weight)
        return losses if np.any(losses * weight > 0) else np.ones_like(losses)

    def coefficients(
        self,
        margins: ArrayLike,
        before: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> NDArray[np.float64]:
        """Find coefficients of layers that minimise the mean loss.

        The function can be passed as ``MarginRules(alpha=...)``.

        Parameters
        ----------
        margins : array-like of shape (n_samples, n_layers)
            Margins of each layer alone.
        before : array-like or None, default=None
            Not used: the coefficients of all layers are found anew.
        sample_weight : array-like of shape (n_samples,) or None, default=None
            Weights of the mean; None means equal weights.

        Returns
        -------
        array of shape (n_layers,)
            Coefficients that are not negative and have sum 1.
        """
        columns = _margins_of_layers(margins)
        n_samples, n_layers = columns.shape
        weight = weight_shares(sample_weight, n_samples, "margins")
        # The trace of the second moments bounds their largest eigenvalue.
        steepest = 2 * max(1 / (1 - self.theta) ** 2, self.mu / (1 + self.theta) ** 2)
        bound = steepest * float((weight[:, None] * columns**2).sum())
        alphas = np.full(n_layers, 1 / n_layers)
        if bound == 0:
            return alphas
        ahead = alphas
        momentum = 1.0
        for _ in range(_MAX_STEPS):
            slopes = weight * self.gradient(weighted_sum(columns, ahead))
            gradient = (slopes[:, None] * columns).sum(axis=0)
            after = project_to_simplex((ahead - gradient / bound)[None])[0]
            next_momentum = (1 + np.sqrt(1 + 4 * momentum**2)) / 2
            # Acceleration restarts where it has overshot.
            if (ahead - after) @ (after - alphas) > 0:
                next_momentum = 1.0
                ahead = after
            else:
                ahead = after + (momentum - 1) / next_momentum * (after - alphas)
            change = np.abs(after - alphas).max()
            alphas = after
            momentum = next_momentum
            if change <= _TOLERANCE:
                break
        return alphas

    def _distances(self, margins: ArrayLike) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Distances below and above the band, 0 within it."""
        z = finite_numbers("margins", margins)
        below = np.maximum(1 - self.theta - z, 0.0)
        return below, np.maximum(z - 1 - self.theta, 0.0)


def odm_objective(
    coef: ArrayLike,
    X: ArrayLike,
    y: ArrayLike,
    *,
    lambda_: float = 1.0,
    theta: float = 0.2,
    mu: float = 0.1,
    sample_weight: ArrayLike | None = None,
) -> tuple[float, NDArray[np.float64]]:
    """Compute the objective of the optimal margin distribution machine (ODM).

    Equation 52 of mdDF's preprint, for a linear function of two classes with margins
    z_i = y_i w x_i::

        |w|^2 / 2 + lambda / (m (1 - theta)^2) sum_i (xi_i^2 + mu eps_i^2),
        xi_i = max(1 - theta - z_i, 0),  eps_i = max(z_i - 1 - theta, 0),

    which is the paper's constrained form with its slack variables at their optimum, and
    Omega(w) = abs(w)^2 / 2, which the paper leaves open. It is strongly convex and continuously
    differentiable. :class:`mddf.baselines.ODMClassifier` minimises it.

    Parameters
    ----------
    coef : array-like of shape (n_features,)
        w.
    X : array-like of shape (n_samples, n_features)
        Rows of finite numbers.
    y : array-like of shape (n_samples,)
        Labels in {-1, +1}.
    lambda_ : float, default=1.0
        Weight of the losses, > 0.
    theta : float, default=0.2
        Half of the width of the band without loss, in [0, 1).
    mu : float, default=0.1
        Weight of the losses above the band, in (0, 1].
    sample_weight : array-like of shape (n_samples,) or None, default=None
        Weights of the mean loss; None means equal weights.

    Returns
    -------
    value : float
    gradient : array of shape (n_features,)
        As ``scipy.optimize.minimize(jac=True)`` takes them.

    Notes
    -----
    Equation 52 divides the losses above the band by (1 - theta)^2, and equation 51 by
    (1 + theta)^2. Both are kept as they are printed. The equations have the numbers of
    the preprint, arXiv:1905.03052v1.

    Examples
    --------
    >>> from mddf.analysis import odm_objective
    >>> value, gradient = odm_objective([0.5], [[1.0], [-2.0]], [1, -1])
    >>> round(value, 4), gradient.round(4).tolist()
    (0.1953, [0.0312])
    """
    _check_band(theta, mu)
    check_number("lambda_", lambda_, 0, above=True)
    w = finite_vector("coef", coef)
    rows = finite_numbers("X", X)
    labels = finite_vector("y", y)
    if rows.shape != (len(labels), len(w)):
        raise ValueError(
            f"X must have shape (n_samples, n_features) = {(len(labels), len(w))}; "
            f"got {rows.shape}"
        )
    wrong = labels[np.abs(labels) != 1]
    if len(wrong):
        raise ValueError(f"y must have labels in {{-1, +1}}; got {float(wrong[0])!r}")
    weight = weight_shares(sample_weight, len(labels), "y")
    margins = labels * (rows @ w)
    below = np.maximum(1 - theta - margins, 0.0)
    above = np.maximum(margins - 1 - theta, 0.0)
    factor = lambda_ / (1 - theta) ** 2
    value = 0.5 * w @ w + factor * (weight @ (below**2 + mu * above**2))
    slopes = 2 * factor * weight * labels * (mu * above - below)
    return float(value), w + rows.T @ slopes


def _margins_of_layers(margins: ArrayLike) -> NDArray[np.float64]:
    columns = finite_numbers("margins", margins)
    if columns.ndim != 2 or columns.size == 0:
        raise ValueError(
            "margins must have shape (n_samples, n_layers) with at least one entry; "
            f"got {columns.shape}"
        )
    return columns


def _check_band(theta: float, mu: float) -> None:
    check_number("theta", theta, 0)
    if not theta < 1:
        raise ValueError(f"theta must lie in [0, 1); got {short(theta)}")
    check_number("mu", mu, 0, above=True)
    if not mu <= 1:
        raise ValueError(f"mu must lie in (0, 1]; got {short(mu)}")
