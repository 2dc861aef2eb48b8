"""Ridge regression on features of a Gaussian kernel, which fits smooth functions."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy.linalg import cholesky, solve_triangular
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.linear_model import Ridge, RidgeCV
from sklearn.utils import check_random_state

from mddf._base.elementary import exp, softmax
from mddf._base.serialization import register_serializable
from mddf._ensemble.vote import fit_exponent
from mddf._members.linear import Encoding, product

# At most so many landmarks, and rows to learn from.
_LANDMARKS, _ROWS = 1000, 10_000
_PENALTIES = np.logspace(-4, 2, 13)
# Rows count that have more than this share of the largest weight.
_LEAST_WEIGHT = 1e-12
# Makes the landmarks' kernel matrix positive definite in floating point.
_JITTER = 1e-6
# Encoded numbers, in standard deviations.
GRAIN, FARTHEST = 2.0**-10, 2.0**8
_BLOCK = 1024


class _GaussianRidge(BaseEstimator):
    """What the classifier and the regressor share; use one of them.

    The function that is fitted is a sum of Gaussian bumps around landmarks, rows that are drawn:
    C. Williams and M. Seeger, NIPS 2000. Scaling and categories are as in `LinearClassifier`.

    Parameters
    ----------
    categorical : ndarray of bool of shape (n_features,)
        Which columns hold codes of categories, below 256.
    gamma : float
        The kernel is ``exp(-gamma * d / n_features)``, where d is the squared distance.
    random_state : int, RandomState or None, default=None
        Of the rows that are drawn.

    Attributes
    ----------
    encoding_ : Encoding
    landmarks_ : ndarray of shape (n_landmarks, n_encoded)
    bumps_ : ndarray of shape (n_landmarks, n_outputs)
        Coefficients.
    intercept_ : ndarray of shape (n_outputs,)
    """

    _tried = 1000  # rows, at most, by which the penalty is chosen

    def __init__(self, categorical, gamma, random_state=None):
        self.categorical = categorical
        self.gamma = gamma
        self.random_state = random_state

    def _learn(self, X, values, sample_weight):
        """Fit; returns some rows, their features, values and weights, and the penalty.

        Parameters
        ----------
        X : ndarray of shape (n_samples, n_features)
        values : ndarray of float64 of shape (n_samples, n_outputs)
        sample_weight : ndarray of shape (n_samples,) or None
        """
        self.n_features_in_ = X.shape[1]
        rows = check_random_state(self.random_state).permutation(len(X))[:_ROWS]
        if sample_weight is not None:  # leave-one-out errors lose their digits by the others
            rows = rows[sample_weight[rows] > _LEAST_WEIGHT * sample_weight[rows].max()]
        X, values = X[rows], values[rows]
        weight = None if sample_weight is None else sample_weight[rows]
        self.encoding_ = Encoding.of(X, np.asarray(self.categorical, bool))
        self.landmarks_ = self._encoded(X[:_LANDMARKS])
        similar = np.vstack(list(self._similarities(X)))
        among = similar[:_LANDMARKS] + _JITTER * np.eye(len(self.landmarks_))
        root = cholesky(among, lower=True, overwrite_a=True)
        features = solve_triangular(root, similar.T, lower=True, overwrite_b=True).T
        few = slice(self._tried)
        some = None if weight is None else weight[few]
        penalty = 1.0
        if len(X) > 1:
            penalty = RidgeCV(_PENALTIES).fit(features[few], values[few], some).alpha_
        model = Ridge(penalty).fit(features, values, weight)
        coefficients = model.coef_.reshape(-1, len(root)).T
        self.bumps_ = solve_triangular(root, coefficients, trans=1, lower=True)
        self.intercept_ = np.atleast_1d(model.intercept_)
        return rows[few], features[few], values[few], some, penalty

    def _similarities(self, X) -> Iterator[np.ndarray]:
        """The kernel of rows and landmarks, some rows at a time."""
        factor, squares = -self.gamma / max(1, X.shape[1]), np.square(self.landmarks_).sum(axis=1)
        for first in range(0, len(X), _BLOCK):
            rows = self._encoded(X[first : first + _BLOCK])
            distances = np.square(rows).sum(axis=1)[:, None] + squares
            distances -= 2 * rows @ self.landmarks_.T
            yield exp(distances * factor)

    def _encoded(self, X) -> np.ndarray:
        """Rows of so few binary digits that distances are exact, in whatever order they add up."""
        rows = np.clip(self.encoding_.dense(X), -FARTHEST, FARTHEST)
        return np.rint(rows / GRAIN) * GRAIN

    def _values(self, X) -> np.ndarray:
        """What the function is at some rows, shape (n_rows, n_outputs)."""
        values = [product(similar, self.bumps_) for similar in self._similarities(X)]
        return np.concatenate(values) + self.intercept_


def _leave_one_out(features, values, weight, penalty) -> np.ndarray:
    """Leave-one-out predictions of a ridge regression, shape of `values`."""
    # Only with a scorer are predictions kept, not errors.
    search = RidgeCV([penalty], scoring="neg_mean_squared_error", store_cv_results=True)
    return search.fit(features, values, weight).cv_results_.reshape(values.shape)


@register_serializable("kernel ridge classifier")
class GaussianClassifier(ClassifierMixin, _GaussianRidge):
    """Classes as 1 and -1; what is fitted to them is scaled so that its softmax is calibrated."""

    _tried = 300  # classes ask for less precision

    def fit(self, X, y, sample_weight=None):
        """Fit.

        Parameters
        ----------
        X : ndarray of float64 of shape (n_samples, n_features)
        y : ndarray of shape (n_samples,)
        sample_weight : ndarray of shape (n_samples,), default=None
        """
        self.classes_, labels = np.unique(y, return_inverse=True)
        values = np.where(labels[:, None] == np.arange(len(self.classes_)), 1.0, -1.0)
        rows, features, values, weight, penalty = self._learn(X, values, sample_weight)
        self.scale_ = 1.0
        if len(rows) > 1:
            held_out = softmax(_leave_one_out(features, values, weight, penalty))
            self.scale_ = fit_exponent(held_out, labels[rows], weight)
        return self

    def predict_proba(self, X):
        """Probabilities of the classes, shape (n_rows, n_classes)."""
        return softmax(self.scale_ * self._values(X))

    def predict(self, X):
        """The most probable classes."""
        return self.classes_[self.predict_proba(X).argmax(axis=1)]


@register_serializable("kernel ridge regressor")
class GaussianRegressor(RegressorMixin, _GaussianRidge):
    """One function for each output."""

    def fit(self, X, y, sample_weight=None):
        """Fit numbers, of shape (n_samples,) or (n_samples, n_outputs)."""
        self._learn(X, np.reshape(y, (len(X), -1)), sample_weight)
        return self

    def predict(self, X):
        """Numbers of shape (n_rows, n_outputs)."""
        return self._values(X)
