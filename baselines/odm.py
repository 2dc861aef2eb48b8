"""The optimal margin distribution machine, a linear classifier."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted, validate_data

from mddf._base.messages import short, warn
from mddf._base.serialization import Saved
from mddf._base.validation import Within, finite, fit_context, unchanged_on_failure
from mddf._targets.target_validation import all_weights, encode_labels

from ._boosting.base import has_share

FloatArray = NDArray[np.float64]

# A step is taken if the objective falls by this share of what its slope promises (Armijo's rule,
# with the usual constant).
_SUFFICIENT_DECREASE = 1e-4
# Halvings of a step: the objective no longer changes in double precision below 2^-50.
_MOST_HALVINGS = 50


class ODMClassifier(Saved, ClassifierMixin, BaseEstimator):
    r"""Optimal margin distribution machine of Zhang and Zhou, equation 52 of mdDF's preprint.

    A linear classifier that keeps the margins z_i = y_i (w x_i + b) within a band around 1::

        min  |w|^2 / 2 + lambda / (1 - theta)^2 mean(xi_i^2 + mu eps_i^2)
        with z_i >= 1 - theta - xi_i  and  z_i <= 1 + theta + eps_i.

    Small margins cost more than large ones, by the factor mu: the mean of the margins becomes
    large, and their variance small. mdDF takes its loss from this machine.

    Parameters
    ----------
    lambda_ : float, default=1.0
        Weight of the losses, > 0. Smaller values shrink w more.
    theta : float, default=0.2
        Half of the width of the band without loss, in [0, 1).
    mu : float, default=0.1
        Weight of the losses above the band, in (0, 1].
    fit_intercept : bool, default=True
        Whether there is an intercept b, which is not penalised. The paper has none.
    max_iter : int, default=200
        Largest number of Newton steps.
    tol : float, default=1e-10
        Fit stops if no derivative of the objective is larger than `tol` times the largest one at
        the start.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
        The labels.
    coef_ : array of shape (1, n_features) or (n_classes, n_features)
        w. With more than two classes, one row per class against the rest.
    intercept_ : array of shape (1,) or (n_classes,)
        b.
    objective_ : array of shape (1,) or (n_classes,)
        Values of the objective.
    n_iter_ : int
        Newton steps made (the most over the classes).
    n_features_in_ : int
        Number of features.

    See Also
    --------
    mddf.analysis.odm_objective : The objective with its gradient.
    mddf.analysis.BandMarginLoss : The loss of equation 51.

    Notes
    -----
    The objective is convex and piecewise quadratic. Newton's method ends at the exact minimiser
    after finitely many steps, once the margins below, within and above the band no longer change.
    A step solves a linear system with as many unknowns as features. Features should have a common
    scale. More than two classes are handled one against the rest; the paper's margin over the
    best other class makes the upper constraint non-convex.

    The last digits of the coefficients depend on the processor, since LAPACK solves the systems.

    References
    ----------
    T. Zhang and Z.-H. Zhou, "Multi-class optimal margin distribution machine", ICML 2017.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from mddf.baselines import ODMClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = make_pipeline(StandardScaler(), ODMClassifier(lambda_=10.0)).fit(X, y)
    >>> round(model.score(X, y), 2)
    0.98
    """

    _parameter_constraints: dict[str, Any] = {
        "lambda_": [finite(0, "right")],
        "theta": [Within(Real, 0, 1, closed="left")],
        "mu": [Within(Real, 0, 1, closed="right")],
        "fit_intercept": ["boolean"],
        "max_iter": [Within(Integral, 1, None, closed="left")],
        "tol": [finite()],
    }

    def __init__(
        self,
        lambda_: float = 1.0,
        *,
        theta: float = 0.2,
        mu: float = 0.1,
        fit_intercept: bool = True,
        max_iter: int = 200,
        tol: float = 1e-10,
    ) -> None:
        self.lambda_ = lambda_
        self.theta = theta
        self.mu = mu
        self.fit_intercept = fit_intercept
        self.max_iter = max_iter
        self.tol = tol

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: npt.ArrayLike, y: npt.ArrayLike, sample_weight: Any = None) -> Self:
        """Fit the classifier.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows of finite numbers.
        y : array-like of shape (n_samples,)
            Class labels, at least two different ones.
        sample_weight : array-like of shape (n_samples,), default=None
            Non-negative weights; None means 1 for all. A weight of k is the same as k copies of a
            row.

        Returns
        -------
        self : estimator
            The fitted estimator.

        Raises
        ------
        ValueError
            If X or the weights are invalid, if squares in X or the weights have an infinite sum,
            or if fewer than two classes have a positive weight.
        """
        with unchanged_on_failure(self):
            self._fit(X, y, sample_weight)
        return self

    def _fit(self, X: Any, y: Any, sample_weight: Any) -> None:
        rows, y = validate_data(self, X, y, dtype=np.float64)
        classes, codes = encode_labels(y)
        weight = all_weights(sample_weight, len(rows))
        # Rows without weight count neither in the loss nor among the classes.
        has_weight = has_share(weight)
        present, codes = np.unique(codes[has_weight], return_inverse=True)
        self.classes_ = classes[present]
        n_classes = len(present)
        if n_classes < 2:
            raise ValueError(
                "ODMClassifier needs samples of at least 2 classes with positive weight; "
                f"got {n_classes} class, {short(self.classes_.tolist())}"
            )
        rows = rows[has_weight]
        with np.errstate(over="ignore"):
            sum_of_squares = np.square(rows).sum()
        if not np.isfinite(sum_of_squares):
            raise ValueError(
                "X must have squares with a finite sum, got numbers up to "
                f"{np.abs(rows).max():.3g}: scale the features"
            )
        if self.fit_intercept:
            rows = np.column_stack([rows, np.ones(len(rows))])
        weight = weight[has_weight] / weight[has_weight].sum()
        positive = [1] if n_classes == 2 else range(n_classes)
        solutions = []
        for code in positive:
            signs = np.where(codes == code, 1.0, -1.0)
            problem = _Problem(
                signed_rows=rows * signs[:, None],
                weight=weight,
                penalised=np.append(np.ones(self.n_features_in_), 0.0)[: rows.shape[1]],
                factor=float(self.lambda_) / (1 - float(self.theta)) ** 2,
                theta=float(self.theta),
                mu=float(self.mu),
            )
            solutions.append(problem.minimise(int(self.max_iter), float(self.tol)))
        if not all(solution.has_converged for solution in solutions):
            warn(
                f"ODMClassifier has not converged after max_iter={self.max_iter} steps",
                ConvergenceWarning,
            )
        parameters = np.stack([solution.parameters for solution in solutions])
        self.coef_ = parameters[:, : self.n_features_in_]
        self.intercept_ = (
            parameters[:, -1] if self.fit_intercept else np.zeros(len(solutions))
        ).copy()
        self.objective_ = np.array([solution.objective for solution in solutions])
        self.n_iter_ = max(solution.n_iter for solution in solutions)

    def __sklearn_is_fitted__(self) -> bool:
        # By default, any attribute that ends in _ would count, also the parameter lambda_.
        return hasattr(self, "coef_")

    def decision_function(self, X: npt.ArrayLike) -> FloatArray:
        """Return w x + b.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows of finite numbers.

        Returns
        -------
        array of shape (n_samples,) or (n_samples, n_classes)
            With two classes, positive for ``classes_[1]``. With more, one column per class.
        """
        check_is_fitted(self)
        rows = validate_data(self, X, dtype=np.float64, reset=False)
        scores = rows @ self.coef_.T + self.intercept_
        return scores[:, 0] if scores.shape[1] == 1 else scores

    def predict(self, X: npt.ArrayLike) -> NDArray[Any]:
        """Return the predicted labels.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows of finite numbers.

        Returns
        -------
        array of shape (n_samples,)
        """
        scores = self.decision_function(X)
        codes = (scores > 0).astype(int) if scores.ndim == 1 else scores.argmax(axis=1)
        return self.classes_[codes]


@dataclass(frozen=True)
class _Solution:
    """Minimiser of a problem."""

    parameters: FloatArray
    objective: float
    n_iter: int
    has_converged: bool


@dataclass(frozen=True)
class _Problem:
    """The objective for labels in {-1, +1}.

    Attributes
    ----------
    signed_rows : array of shape (n_samples, n_parameters)
        y_i x_i, with y_i in the last column if there is an intercept.
    weight : array of shape (n_samples,)
        Weights of the rows, with sum 1.
    penalised : array of shape (n_parameters,)
        1 for features, 0 for the intercept.
    factor : float
        lambda / (1 - theta)^2.
    theta, mu : float
        Half of the width of the band, and the weight of losses above it.
    """

    signed_rows: FloatArray
    weight: FloatArray
    penalised: FloatArray
    factor: float
    theta: float
    mu: float

    def minimise(self, max_iter: int, tol: float) -> _Solution:
        """Newton's method with steps that are halved until the objective falls enough."""
        parameters = np.zeros(self.signed_rows.shape[1])
        objective, gradient = self._value_and_gradient(parameters)
        largest = np.abs(gradient).max(initial=0.0)
        n_iter = 0
        while np.abs(gradient).max(initial=0.0) > tol * largest and n_iter < max_iter:
            n_iter += 1
            direction = self._newton_direction(parameters, gradient)
            slope = float(gradient @ direction)
            step = 1.0
            for _ in range(_MOST_HALVINGS):
                trial = parameters + step * direction
                trial_objective, trial_gradient = self._value_and_gradient(trial)
                if trial_objective <= objective + _SUFFICIENT_DECREASE * step * slope:
                    break
                step /= 2
            else:
                # The objective falls no further in double precision.
                return _Solution(parameters, objective, n_iter, has_converged=True)
            parameters = trial
            objective = trial_objective
            gradient = trial_gradient
        has_converged = bool(np.abs(gradient).max(initial=0.0) <= tol * largest)
        return _Solution(parameters, objective, n_iter, has_converged)

    def _value_and_gradient(self, parameters: FloatArray) -> tuple[float, FloatArray]:
        margins = self.signed_rows @ parameters
        below = np.maximum(1 - self.theta - margins, 0.0)
        above = np.maximum(margins - 1 - self.theta, 0.0)
        losses = self.weight @ (below**2 + self.mu * above**2)
        shrunk = self.penalised * parameters
        slopes = 2 * self.factor * self.weight * (self.mu * above - below)
        return (
            float(0.5 * shrunk @ parameters + self.factor * losses),
            shrunk + self.signed_rows.T @ slopes,
        )

    def _newton_direction(self, parameters: FloatArray, gradient: FloatArray) -> FloatArray:
        margins = self.signed_rows @ parameters
        curvature = np.where(margins < 1 - self.theta, 1.0, 0.0)
        curvature[margins > 1 + self.theta] = self.mu
        rows = self.signed_rows * (2 * self.factor * self.weight * curvature)[:, None]
        hessian = rows.T @ self.signed_rows
        hessian[np.diag_indices_from(hessian)] += self.penalised
        if self.penalised[-1] == 0:
            # Without a row outside the band, the intercept has no curvature.
            hessian[-1, -1] += 1e-12 * (1 + self.factor)
        return np.asarray(np.linalg.solve(hessian, -gradient), np.float64)
