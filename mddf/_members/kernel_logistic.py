"""Kernel logistic regression, which fits smooth class probabilities."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassifierMixin

from mddf import _core
from mddf._base.elementary import class_probabilities, exp, log
from mddf._base.serialization import register_serializable
from mddf._fitted.calibration import log_losses
from mddf._members.kernel import (
    BLOCK_ROWS,
    JITTER,
    MOST_ROWS,
    drawn_rows,
    round_to_grain,
    squared_distances,
)
from mddf._members.linear import FeatureEncoding, product

# Largest number of landmarks. The time of a fit grows with n_rows * n_landmarks**2. Set by hand.
_LANDMARKS = 300
# Largest number of training rows times classes, which bounds the time of a fit: 10 000 rows of up
# to five classes, 5000 of ten. Set by hand.
_MOST_SCORES = 50_000
# Candidates for gamma: the kernel is exp(-gamma * squared distance / n_features). Not tuned.
_GAMMAS = (0.0625, 0.25, 1.0)
# Candidates for the penalty, from strong to weak. Not tuned.
_PENALTIES = (10.0, 1.0, 0.1, 0.01, 0.001, 0.0001)
# Candidates are compared by three folds of at most 1000 rows. With more than three classes, rows
# times classes are at most 3000, but there are at least 300 rows. Not tuned.
_COMPARED_ROWS = 1000
_COMPARED_SCORES = 3000
_FEWEST_COMPARED_ROWS = 300
_N_FOLDS = 3
# Tolerances of fits that are compared, and of the fit on all rows. With 1e-3 for the former, other
# penalties were chosen on balance, and the loss of the deep forest rose by 5 %.
_ROUGH_TOLERANCE = 2e-4
_TOLERANCE = 1e-4


@dataclass(frozen=True)
class _Training:
    """Rows on which a logistic regression is fitted."""

    labels: np.ndarray  # int32
    weight: np.ndarray  # with mean 1
    n_classes: int

    def rows(self, rows: slice | np.ndarray) -> _Training:
        return _Training(self.labels[rows], self.weight[rows], self.n_classes)

    @property
    def n_scores(self) -> int:
        """One score for two classes, else one for each class."""
        return 1 if self.n_classes == 2 else self.n_classes

    def offsets(self) -> np.ndarray:
        """Scores of the classes' shares, with half a row more of each class."""
        counts = np.bincount(self.labels, self.weight, minlength=self.n_classes) + 0.5
        scores = log(counts / counts.sum())
        return scores[1:] - scores[0] if self.n_classes == 2 else scores

    def loss(self, probabilities: np.ndarray) -> float:
        """Weighted sum of log-losses."""
        return float((self.weight * log_losses(probabilities, self.labels)).sum())

    def fit(
        self, features: np.ndarray, start: np.ndarray, penalty: float, tolerance: float
    ) -> np.ndarray:
        """Coefficients of shape (n_scores, n_features)."""
        return _core.fit_logistic(
            features,
            self.labels,
            self.weight,
            self.offsets(),
            start,
            penalty=penalty,
            tolerance=tolerance,
        )


@register_serializable("kernel logistic regression")
class KernelLogisticClassifier(ClassifierMixin, BaseEstimator):
    """Logistic regression on features of a Gaussian kernel, with the same bits on every machine.

    The scores are sums of bumps around landmarks, which are rows drawn at random: C. Williams and
    M. Seeger, NIPS 2000. Numbers are standardised, means replace missing numbers, and categories
    are encoded as in `LinearClassifier`. Cross-validation on some of the rows chooses the width of
    the kernel and the penalty.

    Parameters
    ----------
    categorical : ndarray of bool of shape (n_features,)
        Columns that hold codes of categories, below 256.
    gamma : float or None, default=None
        The kernel is ``exp(-gamma * d / n_features)``, where d is the squared distance. None
        chooses the best one.
    penalty : float or None, default=None
        Penalty of the logistic regression; None chooses the best one.
    random_state : int, RandomState or None, default=None
        Draws the rows.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    encoding_ : FeatureEncoding
    gamma_, penalty_ : float
        Parameters that were chosen.
    landmarks_ : ndarray of shape (n_landmarks, n_encoded)
    bumps_ : ndarray of shape (n_landmarks, n_scores)
        Coefficients. There is one score for two classes, else one for each class.
    intercept_ : ndarray of shape (n_scores,)
    """

    def __init__(
        self,
        categorical: npt.ArrayLike,
        gamma: float | None = None,
        penalty: float | None = None,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.categorical = categorical
        self.gamma = gamma
        self.penalty = penalty
        self.random_state = random_state

    def fit(self, X: np.ndarray, y: np.ndarray, sample_weight: np.ndarray | None = None) -> Self:
        """Fit labels of shape (n_samples,)."""
        # 1. Draw rows.
        self.n_features_in_ = X.shape[1]
        self.classes_, labels = np.unique(y, return_inverse=True)
        n_rows = min(MOST_ROWS, max(_LANDMARKS, _MOST_SCORES // len(self.classes_)))
        rows = drawn_rows(len(X), n_rows, sample_weight, self.random_state)
        weight = np.ones(len(rows))
        if sample_weight is not None:
            weight = sample_weight[rows] / sample_weight[rows].mean()
        training = _Training(labels[rows].astype(np.int32), weight, len(self.classes_))
        # 2. Encode them.
        self.encoding_ = FeatureEncoding.from_rows(X[rows], np.asarray(self.categorical, bool))
        encoded = self._encoded(X[rows])
        self.landmarks_ = encoded[:_LANDMARKS]
        # 3. Choose the kernel and the penalty.
        self._choose(encoded, training)
        # 4. Fit the coefficients.
        if training.n_classes < 2:
            self.bumps_ = np.zeros((len(self.landmarks_), 1))
            self.intercept_ = np.zeros(1)
            return self
        features, root = _kernel_features(self._kernel(encoded))
        start = np.zeros((training.n_scores, features.shape[1]))
        coefficients = training.fit(features, start, self.penalty_, _TOLERANCE)
        bumps = np.ascontiguousarray(coefficients[:, :-1])
        self.bumps_ = np.ascontiguousarray(_core.solve_transposed(root, bumps).T)
        self.intercept_ = training.offsets() + coefficients[:, -1]
        return self

    def chosen(self) -> dict[str, float]:
        """Parameters that were chosen, for fits on other rows."""
        return {"gamma": self.gamma_, "penalty": self.penalty_}

    def _choose(self, encoded: np.ndarray, training: _Training) -> None:
        """Set the parameters, or the candidates with the least cross-validated loss."""
        gammas = _GAMMAS if self.gamma is None else (self.gamma,)
        penalties = _PENALTIES if self.penalty is None else (self.penalty,)
        self.gamma_ = gammas[0]
        self.penalty_ = penalties[0]
        n_candidates = len(gammas) * len(penalties)
        if n_candidates == 1 or training.n_classes < 2 or len(encoded) < _N_FOLDS:
            return
        n_rows = max(_FEWEST_COMPARED_ROWS, _COMPARED_SCORES // training.n_scores)
        compared = slice(min(_COMPARED_ROWS, n_rows))
        distances = squared_distances(encoded[compared], self.landmarks_[compared])
        least = np.inf
        for gamma in gammas:
            features, _ = _kernel_features(exp(distances * (-gamma / self.n_features_in_)))
            penalty, loss = _best_penalty(features, training.rows(compared), penalties)
            if loss < least:
                least = loss
                self.gamma_ = gamma
                self.penalty_ = penalty

    def _encoded(self, X: np.ndarray) -> np.ndarray:
        """Encoded rows, rounded so that distances are exact in whatever order they are added."""
        return round_to_grain(self.encoding_.dense(X))

    @property
    def rate_(self) -> float:
        """The kernel is ``exp(-rate_ * squared distance)``."""
        return self.gamma_ / self.n_features_in_

    def _kernel(self, encoded: np.ndarray) -> np.ndarray:
        """Kernel of rows and landmarks."""
        return exp(squared_distances(encoded, self.landmarks_) * -self.rate_)

    def _scores(self, X: np.ndarray) -> Iterator[np.ndarray]:
        """Scores, by blocks of rows."""
        for first in range(0, len(X), BLOCK_ROWS):
            kernel = self._kernel(self._encoded(X[first : first + BLOCK_ROWS]))
            yield product(kernel, self.bumps_) + self.intercept_

    def predict_proba(self, X: np.ndarray) -> np.ndarray:
        """Probabilities of the classes, shape (n_rows, n_classes)."""
        if len(self.classes_) == 1:
            return np.ones((len(X), 1))
        return np.concatenate([class_probabilities(scores) for scores in self._scores(X)])

    def predict(self, X: np.ndarray) -> np.ndarray:
        """The most probable classes."""
        return self.classes_[self.predict_proba(X).argmax(axis=1)]


def _kernel_features(kernel: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Features whose inner products are the kernel, and a constant one; the Cholesky factor."""
    features, root = _core.kernel_features(kernel, JITTER)
    return np.column_stack([features, np.ones(len(features))]), root


def _best_penalty(
    features: np.ndarray, training: _Training, penalties: tuple[float, ...]
) -> tuple[float, float]:
    """Penalty with the least cross-validated loss, and this loss.

    The fits go from strong to weak penalties, each from the coefficients of the one before. They
    end at the first penalty that is worse than the one before.
    """
    fold_of_row = np.arange(len(features)) % _N_FOLDS
    is_held_out = [fold_of_row == fold for fold in range(_N_FOLDS)]
    coefficients = [np.zeros((training.n_scores, features.shape[1])) for _ in is_held_out]
    best = penalties[0]
    least = np.inf
    for penalty in penalties:
        loss = 0.0
        for fold, held_out in enumerate(is_held_out):
            train = training.rows(~held_out)
            coefficients[fold] = train.fit(
                features[~held_out], coefficients[fold], penalty, _ROUGH_TOLERANCE
            )
            scores = product(features[held_out], coefficients[fold].T) + train.offsets()
            loss += training.rows(held_out).loss(class_probabilities(scores))
        if loss >= least:
            break
        best = penalty
        least = loss
    return best, least
