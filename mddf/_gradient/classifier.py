"""Gradient boosting for classification."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from sklearn.metrics import accuracy_score
from sklearn.utils._param_validation import StrOptions

from mddf._base.docstrings import COMMON, describes_parameters
from mddf._base.elementary import log
from mddf._fitted.base_estimators import ProbabilityClassifier
from mddf._fitted.scoring import out_of_fold_score
from mddf._gradient.base import GradientBoosting
from mddf._gradient.custom_loss import CustomLoss, GradientHessian, as_custom_loss
from mddf._gradient.dataset import BoostingRows
from mddf._gradient.losses import CLASSIFICATION, BoostingTarget, ClassificationTarget, TargetKind
from mddf._gradient.options import NEWTON, SYMMETRIC, scores_by_loss
from mddf._gradient.parameters import BOOSTING_PARAMETERS, CONSTRAINTS
from mddf._targets.target_validation import class_factors, encode_labels, known_labels
from mddf._targets.weights import row_weights


@describes_parameters(BOOSTING_PARAMETERS, COMMON)
class GradientBoostingClassifier(GradientBoosting, ProbabilityClassifier):
    """Gradient-boosted trees for classification.

    Each tree is fitted to the gradients and second derivatives of the loss at the predictions of
    the trees before it [1]_. With two classes, leaves have a value for the score of the second
    class. With more classes, each leaf has a value for every class [3]_. Trees are symmetric [2]_,
    which is fast and regularises, or grow leaf by leaf.

    Parameters
    ----------
    loss : {"log_loss", "exponential"}, callable or CustomLoss, default="log_loss"
        Loss to minimise. "exponential" is for two classes only. A callable
        ``(y_true, raw_prediction, sample_weight) -> (gradient, hessian)`` is a loss of your own;
        a `CustomLoss` also has its values, its start and its link. Change it if your costs differ.
    l2_regularization : float or "auto", default="auto"
        Number added to the sum of second derivatives in a leaf. "auto" stands for 3, or the value
        chosen by `early_stopping`. Change it if you search for parameters yourself.
    max_features : {"auto", "sqrt", "log2"}, int, float or None, default="auto"
        Number of features drawn for each level of a symmetric tree or each node of a leaf-wise
        tree. A float is a share of the features, None means all. "auto" stands for 0.5, or the
        value chosen by `early_stopping`, and for 1.0 above 100 000 samples. Change it to a smaller
        value for many features.
    monotonic_cst : array of int of shape (n_features,), dict or None, default=None
        For each feature 1 if the score of the second class must not decrease with it, -1 if the
        score must not increase, otherwise 0. A dict has names of features as keys. For two classes
        only. Change it if you know the direction of an effect.
    class_weight : dict, "balanced" or None, default=None
        Factors of the sample weights by class. "balanced" gives all classes the same total weight.
        Change it hardly ever: for a rare class, choose a threshold.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    n_classes_ : int

    Notes
    -----
    The choice of "auto" parameters tries `max_features` 0.25 and 1.0, `l2_regularization` 0.3 and
    0.05 and `subsample` 1.0 one after the other. Values that regularise less must lower the
    held-out log-loss by 1, 5 or 10 %.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from mddf import GradientBoostingClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = GradientBoostingClassifier(max_iter=50, random_state=0).fit(X, y)
    >>> model.predict(X[:2])
    array([0, 0])
    """

    classes_: np.ndarray
    n_classes_: int

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **CONSTRAINTS,
        "loss": [StrOptions(set(CLASSIFICATION)), CustomLoss, callable],
        "class_weight": [StrOptions({"balanced"}), dict, None],
    }

    def __init__(
        self,
        loss: str | GradientHessian | CustomLoss = "log_loss",
        *,
        learning_rate: float | str = "auto",
        max_iter: int | str = "auto",
        grow_policy: str = SYMMETRIC,
        max_leaf_nodes: int | None = 31,
        max_depth: int | None = None,
        min_samples_leaf: int = 1,
        l2_regularization: float | str = "auto",
        max_features: float | str | None = "auto",
        subsample: float | str = "auto",
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
        class_weight: str | dict[Any, float] | None = None,
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
        self.class_weight = class_weight

    def _read_target(self, y: npt.ArrayLike, weights: np.ndarray | None) -> BoostingTarget:
        classes, labels = encode_labels(y)
        target = self._target_of(classes)
        factors = class_factors(self.class_weight, classes, labels, weights)
        if factors is not None:
            weights = row_weights(weights, factors, labels).row
        return BoostingTarget(target, labels.astype(float), weights, factors)

    def _target_of(self, classes: np.ndarray) -> ClassificationTarget:
        """Target for these classes; refuses a loss that is for two classes only."""
        if self.loss == "exponential" and len(classes) > 2:
            raise ValueError(
                f"loss must be 'log_loss' for {len(classes)} classes, got 'exponential'"
            )
        loss = self.loss if isinstance(self.loss, str) else as_custom_loss(self.loss)
        return ClassificationTarget(loss, classes)

    def _read_validation_target(
        self, y: npt.ArrayLike, target: TargetKind, weights: np.ndarray | None
    ) -> np.ndarray:
        assert isinstance(target, ClassificationTarget)
        return known_labels(y, target.classes, np.shape(y)[0]).astype(float)

    def _check_continues(self, target: TargetKind) -> None:
        super()._check_continues(target)
        assert isinstance(target, ClassificationTarget)
        if not np.array_equal(target.classes, self.classes_):
            raise ValueError(
                "with warm_start=True, y must have the classes of the fit before, "
                f"{self.classes_.tolist()}, got {target.classes.tolist()}"
            )

    def _target_attributes(self, target: TargetKind) -> dict[str, Any]:
        assert isinstance(target, ClassificationTarget)
        return {"classes_": target.classes, "n_classes_": target.n_classes}

    def _scorer(
        self, rows: BoostingRows, target: TargetKind
    ) -> Callable[[np.ndarray], float] | None:
        if scores_by_loss(self):
            return None
        assert isinstance(target, ClassificationTarget)
        labels = rows.y[rows.held_out].astype(int)
        score = out_of_fold_score(self.scoring, target.classes, labels, rows.held_out_weights)
        return lambda raw: score(target.predicted(raw))

    def predict(self, X: Any, *, offset: npt.ArrayLike | None = None) -> np.ndarray:
        """Class of the largest probability.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_samples, n_features)
        offset : array of the shape of `decision_function`, default=None
            Added to the raw scores, as in `fit`. None stands for 0.

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        return self._predict_in_blocks(X, self._most_probable, offset=offset)

    def predict_proba(self, X: Any, *, offset: npt.ArrayLike | None = None) -> np.ndarray:
        """Class probabilities.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_samples, n_features)
        offset : array of the shape of `decision_function`, default=None
            Added to the raw scores, as in `fit`. None stands for 0.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Columns in the order of `classes_`.
        """
        return self._predict_in_blocks(X, offset=offset)

    def predict_log_proba(self, X: Any, *, offset: npt.ArrayLike | None = None) -> np.ndarray:
        """Natural logarithm of `predict_proba`; minus infinity where that is 0.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_samples, n_features)
        offset : array of the shape of `decision_function`, default=None
            Added to the raw scores, as in `fit`. None stands for 0.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
        """
        return self._predict_in_blocks(X, log, offset=offset)

    def score(
        self,
        X: Any,
        y: npt.ArrayLike,
        sample_weight: npt.ArrayLike | None = None,
        *,
        offset: npt.ArrayLike | None = None,
    ) -> float:
        """Accuracy: the share of samples whose class is predicted.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_samples, n_features)
        y : array of shape (n_samples,)
        sample_weight : array of shape (n_samples,), default=None
        offset : array of the shape of `decision_function`, default=None
            Added to the raw scores, as in `fit`. None stands for 0.

        Returns
        -------
        float
        """
        predicted = self.predict(X, offset=offset)
        return float(accuracy_score(y, predicted, sample_weight=sample_weight))

    def decision_function(self, X: Any, *, offset: npt.ArrayLike | None = None) -> np.ndarray:
        """Predict raw scores: of the second of two classes, or of each of more classes.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_samples, n_features)
        offset : array of the shape of `decision_function`, default=None
            Added to the raw scores, as in `fit`. None stands for 0.

        Returns
        -------
        ndarray of shape (n_samples,), or (n_samples, n_classes) with more than two classes
        """
        return self._predict_in_blocks(X, one_column_of_two, finish=False, offset=offset)

    def staged_decision_function(
        self, X: Any, *, offset: npt.ArrayLike | None = None
    ) -> Iterator[np.ndarray]:
        """Yield `decision_function` after each tree.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_samples, n_features)
        offset : array of the shape of `decision_function`, default=None
            Added to the raw scores, as in `fit`. None stands for 0.

        Yields
        ------
        ndarray of shape (n_samples,), or (n_samples, n_classes) with more than two classes
        """
        for raw in self._staged_raw(X, offset):
            yield one_column_of_two(raw).copy()

    def staged_predict_proba(
        self, X: Any, *, offset: npt.ArrayLike | None = None
    ) -> Iterator[np.ndarray]:
        """Yield `predict_proba` after each tree.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_samples, n_features)
        offset : array of the shape of `decision_function`, default=None
            Added to the raw scores, as in `fit`. None stands for 0.

        Yields
        ------
        ndarray of shape (n_samples, n_classes)
        """
        for raw in self._staged_raw(X, offset):
            yield self._target.predicted(raw)

    def staged_predict(
        self, X: Any, *, offset: npt.ArrayLike | None = None
    ) -> Iterator[np.ndarray]:
        """Yield `predict` after each tree.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_samples, n_features)
        offset : array of the shape of `decision_function`, default=None
            Added to the raw scores, as in `fit`. None stands for 0.

        Yields
        ------
        ndarray of shape (n_samples,)
        """
        for probabilities in self.staged_predict_proba(X, offset=offset):
            yield self._most_probable(probabilities)


def one_column_of_two(raw: np.ndarray) -> np.ndarray:
    """Raw scores in the shape of `decision_function`."""
    return raw if raw.shape[1] > 1 else raw[:, 0]
