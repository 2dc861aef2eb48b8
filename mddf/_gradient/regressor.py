"""Gradient boosting for regression."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from numbers import Real
from typing import Any, ClassVar, TypeVar

import numpy as np
import numpy.typing as npt
from sklearn.metrics import r2_score
from sklearn.utils import Tags
from sklearn.utils._param_validation import StrOptions
from sklearn.utils.validation import check_is_fitted

from mddf._base.docstrings import COMMON, describes_parameters
from mddf._base.validation import Within
from mddf._fitted.base_estimators import TableRegressor
from mddf._fitted.scoring import regression_score
from mddf._gradient.base import GradientBoosting
from mddf._gradient.custom_loss import CustomLoss, GradientHessian, as_custom_loss
from mddf._gradient.dataset import BoostingRows
from mddf._gradient.losses import (
    LOGARITHMIC,
    REGRESSION,
    TAKES_ZEROS,
    BoostingTarget,
    RegressionTarget,
    TargetKind,
    check_targets,
    takes_outputs,
)
from mddf._gradient.options import NEWTON, SYMMETRIC, scores_by_loss
from mddf._gradient.parameters import BOOSTING_PARAMETERS, CONSTRAINTS, FIXED_PARAMETERS
from mddf._targets.kernel_targets import read_values


@describes_parameters(BOOSTING_PARAMETERS, COMMON)
class GradientBoostingRegressor(GradientBoosting, TableRegressor):
    """Gradient-boosted trees for regression.

    Each tree is fitted to the gradients and second derivatives of the loss at the predictions of
    the trees before it [1]_. Trees are symmetric [2]_, which is fast and regularises, or grow leaf
    by leaf.

    Parameters
    ----------
    loss : {"squared_error", "absolute_error", "quantile", "huber", "poisson", "gamma", \
            "tweedie"}, callable or CustomLoss, default="squared_error"
        Loss to minimise. "poisson" and "tweedie" (targets that are not negative) and "gamma"
        (positive targets) have a logarithmic link. Leaf values of "absolute_error" and "quantile"
        are medians and quantiles of the residuals. A callable
        ``(y_true, raw_prediction, sample_weight) -> (gradient, hessian)`` is a loss of your own;
        a `CustomLoss` also has its values, its start and its link. Change it for counts, amounts,
        medians and quantiles.
    quantile : float or None, default=None
        For "quantile", the quantile to predict; None is an error. For "huber", the quantile of the
        absolute residuals above which the loss is linear, updated before each tree; None stands
        for 0.9. Other losses ignore it. Change it together with `loss`.
    tweedie_power : float, default=1.5
        For "tweedie", the power of the mean to which the variance is proportional: above 1
        (Poisson) and below 2 (gamma). Other losses ignore it. Change it together with `loss`.
    l2_regularization : float or "auto", default=3.0
        Number added to the sum of second derivatives in a leaf, which is the number of samples for
        the squared error. "auto" stands for 3, or the value chosen by `early_stopping`. Change it
        if you search for parameters yourself.
    max_features : {"auto", "sqrt", "log2"}, int, float or None, default="auto"
        Number of features drawn for each level of a symmetric tree or each node of a leaf-wise
        tree. A float is a share of the features, None means all. "auto" stands for 0.5, or for
        1.0 if `early_stopping` chose it, and for 1.0 above 100 000 samples. Change it to a smaller
        value for many features.
    monotonic_cst : array of int of shape (n_features,), dict or None, default=None
        For each feature 1 if predictions must not decrease with it, -1 if they must not increase,
        otherwise 0. A dict has names of features as keys. Change it if you know the direction of
        an effect.

    Attributes
    ----------
    n_outputs_ : int
        Number of targets of each sample.

    Notes
    -----
    If y has several targets for each sample, each leaf has a value for every target, and a split
    adds up the gains of all targets [3]_. Targets are divided by their standard deviations (by
    their means with a logarithmic link), so that their units do not matter; `train_score_` and
    `validation_score_` are sums over the scaled targets. More than seven targets are projected at
    random to seven for the choice of splits, by a new projection for each tree. "absolute_error",
    "quantile" and "huber" take one target.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from mddf import GradientBoostingRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = GradientBoostingRegressor(max_iter=50, random_state=0).fit(X, y)
    >>> round(model.score(X, y), 1)
    0.6
    """

    _fixed_parameters = (*FIXED_PARAMETERS, "quantile", "tweedie_power")
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **CONSTRAINTS,
        "loss": [StrOptions(set(REGRESSION)), CustomLoss, callable],
        "quantile": [Within(Real, 0, 1, closed="both"), None],
        "tweedie_power": [Within(Real, 1, 2, closed="neither")],
    }

    def __init__(
        self,
        loss: str | GradientHessian | CustomLoss = "squared_error",
        *,
        quantile: float | None = None,
        tweedie_power: float = 1.5,
        learning_rate: float | str = "auto",
        max_iter: int | str = "auto",
        grow_policy: str = SYMMETRIC,
        max_leaf_nodes: int | None = 31,
        max_depth: int | None = None,
        min_samples_leaf: int = 1,
        l2_regularization: float | str = 3.0,
        max_features: float | str | None = "auto",
        subsample: float | str = 0.8,
        max_bins: int = 255,
        categorical_features: npt.ArrayLike | None = "from_dtype",
        linear_leaves: bool | str = False,
        split_score: str = NEWTON,
        monotonic_cst: npt.ArrayLike | dict[str, int] | None = None,
        interaction_cst: str | Sequence[Iterable[int]] | None = None,
        early_stopping: bool | str = "auto",
        scoring: str | Callable[..., float] | None = "loss",
        validation_fraction: float | None = 0.1,
        cv: Any = None,
        n_iter_no_change: int = 50,
        tol: float = 0.0,
        warm_start: bool = False,
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
        verbose: int = 0,
    ) -> None:
        self.loss = loss
        self.learning_rate = learning_rate
        self.max_iter = max_iter
        self.grow_policy = grow_policy
        self.max_leaf_nodes = max_leaf_nodes
        self.max_depth = max_depth
        self.min_samples_leaf = min_samples_leaf
        self.l2_regularization = l2_regularization
        self.max_features = max_features
        self.subsample = subsample
        self.max_bins = max_bins
        self.categorical_features = categorical_features
        self.linear_leaves = linear_leaves
        self.split_score = split_score
        self.monotonic_cst = monotonic_cst
        self.interaction_cst = interaction_cst
        self.early_stopping = early_stopping
        self.scoring = scoring
        self.validation_fraction = validation_fraction
        self.cv = cv
        self.n_iter_no_change = n_iter_no_change
        self.tol = tol
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.quantile = quantile
        self.tweedie_power = tweedie_power

    def _loss_quantile(self) -> float:
        if self.loss == "quantile" and self.quantile is None:
            raise ValueError("quantile must be a number from 0 to 1 for loss='quantile', got None")
        return 0.9 if self.quantile is None else float(self.quantile)

    def _read_numbers(self, y: npt.ArrayLike) -> np.ndarray:
        values = read_values(y)
        return values[:, 0] if values.shape[1] == 1 else values

    def _read_target(self, y: npt.ArrayLike, weights: np.ndarray | None) -> BoostingTarget:
        values = self._read_numbers(y)
        weighted = with_weight(values, weights)
        loss = self.loss if isinstance(self.loss, str) else as_custom_loss(self.loss)
        check_targets(loss, weighted)
        target = RegressionTarget.from_targets(
            loss, weighted, with_weight(weights, weights), tweedie_power=float(self.tweedie_power)
        )
        if self._continues:
            assert isinstance(self._target, RegressionTarget)
            if target.n_scores == self._target.n_scores:  # checked later
                target = replace(target, exponent=self._target.exponent, sizes=self._target.sizes)
        return BoostingTarget(target, target.scaled(valid_everywhere(values, weights)), weights)

    def _read_validation_target(
        self, y: npt.ArrayLike, target: TargetKind, weights: np.ndarray | None
    ) -> np.ndarray:
        assert isinstance(target, RegressionTarget)
        values = self._read_numbers(y)
        n_outputs = values.shape[1] if values.ndim == 2 else 1
        if n_outputs != target.n_scores:
            raise ValueError(
                f"y_val must have as many targets as y, {target.n_scores}, got {n_outputs}"
            )
        weighted = with_weight(values, weights)
        # Boosting starts from the logarithm of the training mean, which must not be 0. The
        # deviance of zeros is defined, so that a validation set may have only zeros.
        if target.loss not in TAKES_ZEROS or weighted.any():
            check_targets(target.loss, weighted)
        return target.scaled(valid_everywhere(values, weights))

    def _check_continues(self, target: TargetKind) -> None:
        super()._check_continues(target)
        assert isinstance(self._target, RegressionTarget)
        if target.n_scores != self._target.n_scores:
            raise ValueError(
                f"with warm_start=True, y must have {self._target.n_scores} targets for each "
                f"sample, as in the fit before, got {target.n_scores}"
            )

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = takes_outputs(self.loss)
        tags.target_tags.positive_only = isinstance(self.loss, str) and self.loss in LOGARITHMIC
        return tags

    def _scorer(
        self, rows: BoostingRows, target: TargetKind
    ) -> Callable[[np.ndarray], float] | None:
        if scores_by_loss(self):
            return None
        assert isinstance(target, RegressionTarget)
        y = target.unscaled(rows.y[rows.held_out])
        score = regression_score(self.scoring, y, rows.held_out_weights)
        return lambda raw: score(target.predicted(raw))

    @property
    def n_outputs_(self) -> int:
        """Number of targets of each sample."""
        check_is_fitted(self)
        return self._target.n_scores

    def predict(self, X: Any, *, offset: npt.ArrayLike | None = None) -> np.ndarray:
        """Predict the targets.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_samples, n_features)
        offset : array of the shape of the predictions, default=None
            Added to the raw predictions, as in `fit`. None stands for 0: for a model of counts
            with exposures, the predictions are then rates.

        Returns
        -------
        ndarray of shape (n_samples,), or (n_samples, n_outputs_) with several targets
        """
        predictions = self._predict_in_blocks(X, offset=offset)
        return predictions[:, 0] if predictions.shape[1] == 1 else predictions

    def staged_predict(
        self, X: Any, *, offset: npt.ArrayLike | None = None
    ) -> Iterator[np.ndarray]:
        """Yield `predict` after each tree.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_samples, n_features)
        offset : array of the shape of the predictions, default=None
            Added to the raw predictions, as in `predict`.

        Yields
        ------
        ndarray of shape (n_samples,), or (n_samples, n_outputs_) with several targets
        """
        for raw in self._staged_raw(X, offset):
            yield self._target.predicted(raw)

    def score(
        self,
        X: Any,
        y: npt.ArrayLike,
        sample_weight: npt.ArrayLike | None = None,
        *,
        offset: npt.ArrayLike | None = None,
    ) -> float:
        """R2 of the predictions; the mean over the targets if there are several.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_samples, n_features)
        y : array of shape (n_samples,) or (n_samples, n_outputs_)
        sample_weight : array of shape (n_samples,), default=None
        offset : array of the shape of the predictions, default=None
            Added to the raw predictions, as in `predict`.

        Returns
        -------
        float
        """
        predicted = self.predict(X, offset=offset)
        return float(r2_score(y, predicted, sample_weight=sample_weight))


Values = TypeVar("Values", np.ndarray, "np.ndarray | None")


def with_weight(values: Values, weights: np.ndarray | None) -> Values:
    """Targets of the samples with a weight above 0."""
    return values if weights is None or values is None else values[weights > 0]


def valid_everywhere(values: np.ndarray, weights: np.ndarray | None) -> np.ndarray:
    """Replace the targets of samples without weight, which may be invalid for the loss."""
    if weights is None:
        return values
    has_weight = weights > 0
    return np.where(
        has_weight if values.ndim == 1 else has_weight[:, None], values, values[has_weight][0]
    )
