"""Discrete AdaBoost over trees with the lowest weighted error."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, clone
from sklearn.ensemble._base import _set_random_states
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import HasMethods
from sklearn.utils.validation import check_is_fitted, has_fit_parameter

from mddf import _core
from mddf._base.docstrings import describes_parameters
from mddf._base.elementary import exp
from mddf._base.messages import short
from mddf._base.types import TableLike
from mddf._base.validation import finite
from mddf._targets.target_validation import all_weights, known_labels

from ._boosting.early_stopping import Monitor
from ._boosting.ensemble import Ensemble, History
from ._boosting.margin_boosting import BaseMarginBoosting, normalizer
from ._boosting.parameters import BOOSTING, WEAK_LEARNERS
from ._boosting.search import LEAST_ERROR
from ._boosting.sources import Candidate, FixedSource
from ._boosting.weak_learners import FittedLearners, FloatArray, Learner


@describes_parameters(WEAK_LEARNERS, BOOSTING)
class AdaBoostClassifier(BaseMarginBoosting):
    r"""Discrete AdaBoost.

    In round t, the learner h_t with the lowest weighted error eps_t under the weights D_t gets

        alpha_t = 1/2 ln((1 - eps_t) / eps_t),
        D_{t+1}(i) = D_t(i) exp(-alpha_t y_i h_t(x_i)) / Z_t,  Z_t = 2 sqrt(eps_t (1 - eps_t)),

    so that the mean of exp(-y f) over the training rows is the product of the Z_t. If a learner is
    chosen again, its weights are added up. Boosting stops if no learner is better than chance, and
    after a learner without error. Such a learner is treated as if its error were 1e-10; the mean
    is then smaller than the product.

    Parameters
    ----------
    estimator : classifier or None, default=None
        Any classifier whose fit takes `sample_weight`. A clone is fitted in every round, as in
        `sklearn.ensemble.AdaBoostClassifier`. It replaces trees of `max_depth`, and cannot be
        combined with `weak_learners`. It gets numbers, with NaN and codes of categories. A fit
        that is worse than chance gets a negative weight, where scikit-learn stops.
    learning_rate : float, default=1.0
        Factor of alpha_t, > 0.
    random_state : int, RandomState instance or None, default=None
        Draws the validation share, and seeds of the fits of `estimator`; nothing else is random.

    Attributes
    ----------
    history_ : dict of arrays of shape (n_rounds,), or (n_classes, n_rounds)
        ``objective`` (weighted mean of exp(-y f)), ``weighted_error``, ``edge`` (1 - 2 eps),
        ``normalizer`` (Z), ``step`` (alpha_t), ``n_learners``, and for searched trees
        ``tree_size`` in nodes. With early stopping ``validation_loss``.
    feature_importances_ : array of shape (n_features,)
        Shares of the features in the vote. With an `estimator` that has importances, this is their
        weighted mean. Callables have none.

    See Also
    --------
    DeepBoostClassifier : Adds penalties by the complexity of a tree.

    References
    ----------
    Y. Freund and R. E. Schapire, "A decision-theoretic generalization of on-line learning and an
    application to boosting", Journal of Computer and System Sciences 55, 119-139, 1997.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from mddf.baselines import AdaBoostClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = AdaBoostClassifier(n_estimators=50).fit(X, y)
    >>> round(model.score(X, y), 2)
    1.0
    """

    _parameter_constraints: dict[str, Any] = {
        **BaseMarginBoosting._parameter_constraints,
        "estimator": [None, HasMethods(["fit", "predict"])],
        "learning_rate": [finite(0, "right")],
    }

    _notes = ("objective", "weighted_error", "edge", "normalizer", "step", "n_learners")

    def __init__(
        self,
        n_estimators: int = 100,
        *,
        max_depth: int = 1,
        weak_learners: str | Learner | Sequence[Learner] | None = None,
        n_thresholds: int = 10,
        estimator: BaseEstimator = None,
        learning_rate: float = 1.0,
        categorical_features: npt.ArrayLike | None = "from_dtype",
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 10,
        random_state: int | np.random.RandomState | None = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_estimators = n_estimators
        self.max_depth = max_depth
        self.weak_learners = weak_learners
        self.n_thresholds = n_thresholds
        self.estimator = estimator
        self.learning_rate = learning_rate
        self.categorical_features = categorical_features
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _target_margin(self, minimum_margin: float) -> float:
        return 0.0

    def _grows_trees(self) -> bool:
        return self.estimator is None and super()._grows_trees()

    def _boost(
        self, X: FloatArray, y: FloatArray, sample_weight: FloatArray, monitor: Monitor | None
    ) -> tuple[Ensemble, History]:
        weight = sample_weight / sample_weight.sum()
        weak_learners = self.weak_learners
        if self.estimator is not None and weak_learners is not None:
            raise ValueError(
                "estimator must be None if weak_learners are given; got " + short(self.estimator)
            )
        if self.estimator is not None:
            source = _FittedSource(self.estimator, X, self.random_state)
            return self._collect_rounds(self._rounds(source, y, weight), monitor, self._notes)
        # The kernel runs all rounds over a finite set, but has no learning rate.
        if weak_learners is None or self.learning_rate != 1:
            return super()._boost(X, y, sample_weight, monitor)
        fixed = FixedSource.from_parameter(weak_learners, X, self.n_thresholds)
        ensemble, round_arrays = self._run_kernel(
            _core.adaboost_path,
            fixed.learners,
            fixed.votes,
            y,
            weight,
            self.n_estimators,
            LEAST_ERROR,
        )
        step, objective, edge, n_learners = round_arrays
        error = np.maximum((1 - np.abs(edge)) / 2, LEAST_ERROR)
        return ensemble, {
            "objective": objective,
            "weighted_error": error,
            "edge": np.abs(edge),
            "normalizer": normalizer(error),
            "step": np.abs(step),
            "n_learners": n_learners.astype(np.int64),
        }

    def staged_sample_weight(
        self, X: TableLike, y: npt.ArrayLike, sample_weight: npt.ArrayLike | None = None
    ) -> Iterator[FloatArray]:
        """Yield the weights D_t of the training rows in every round, and after the last one.

        Rows that are hard to classify get large weights in later rounds. With mislabelled rows,
        the largest weights point to candidates. With early stopping, fit held some rows back: the
        weights of all rows are then not those of the fit.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The training rows.
        y : array-like of shape (n_samples,)
            Their labels.
        sample_weight : array-like of shape (n_samples,), default=None
            Their weights in fit.

        Yields
        ------
        array of shape (n_samples,) or (n_samples, n_classes)
            ``n_iter_ + 1`` times. The sum of the weights is 1. With more than two classes, there
            is a column for each class against the rest; one that stopped earlier keeps its last
            weights.

        Examples
        --------
        >>> from mddf.baselines import AdaBoostClassifier
        >>> X, y = [[0], [1], [2], [3]], [0, 1, 1, 0]
        >>> model = AdaBoostClassifier(2).fit(X, y)
        >>> [D.round(3).tolist() for D in model.staged_sample_weight(X, y)][:2]
        [[0.25, 0.25, 0.25, 0.25], [0.167, 0.167, 0.167, 0.5]]
        """
        weight = all_weights(sample_weight, len(self._read_new_rows(X)))
        codes = known_labels(y, self.classes_, len(weight))
        n_classes = len(self.classes_)
        signs = 2.0 * codes - 1 if n_classes == 2 else 2.0 * np.eye(n_classes)[codes] - 1
        if n_classes > 2:
            weight = weight[:, None]
        for decision in chain([np.zeros_like(signs)], self.staged_decision_function(X)):
            margin = signs * decision
            # The smallest margin is subtracted, so that weights do not underflow.
            distribution = weight * exp(margin.min(axis=0) - margin)
            yield distribution / distribution.sum(axis=0)

    @property
    def estimators_(self) -> list[Any]:
        """Fitted clones of `estimator`; with more than two classes, a list for each class."""
        check_is_fitted(self)
        estimators: list[list[Any]] = []
        for ensemble in self.ensembles_:
            if isinstance(ensemble.learners, FittedLearners):
                estimators.append(ensemble.learners.estimators)
            elif self.estimator is not None and not ensemble.n_rounds:
                estimators.append([])
            else:
                raise AttributeError("estimators_ needs an estimator; trees are in ensembles_")
        return estimators[0] if len(estimators) == 1 else estimators


class _FittedSource:
    """Clones of a classifier, seeded as by scikit-learn's AdaBoost."""

    def __init__(
        self,
        estimator: BaseEstimator,
        X: FloatArray,
        random_state: int | np.random.RandomState | None,
    ) -> None:
        if not has_fit_parameter(estimator, "sample_weight"):
            raise ValueError(
                "estimator must be a classifier whose fit takes sample_weight; got "
                + short(estimator)
            )
        self._estimator = estimator
        self._X = X
        self._random = check_random_state(random_state)
        self._n_fitted = 0

    def best(self, distribution: FloatArray, y: FloatArray) -> Candidate | None:
        """Fit a clone."""
        fitted = clone(self._estimator)
        _set_random_states(fitted, self._random)
        # Scaled to a mean of 1: some classifiers compare weights with absolute numbers.
        fitted.fit(self._X, y.astype(np.int64), sample_weight=distribution * len(y))
        learner = FittedLearners([fitted])
        self._n_fitted += 1
        return Candidate(self._n_fitted - 1, learner, learner.values(self._X)[0])
