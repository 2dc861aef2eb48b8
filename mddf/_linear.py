"""Logistic regression by scikit-learn on scaled numbers and one column for each category."""

from __future__ import annotations

import numpy as np
from scipy import sparse
from scipy.special import expit, softmax
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.linear_model import LogisticRegression

from mddf._state import part

_MOST_CODES = 256


@part("linear")
class LinearClassifier(ClassifierMixin, BaseEstimator):
    """A logistic regression on tables: means for missing numbers, missing values as a category.

    Scaling is part of the coefficients once it is fitted, so that one row takes microseconds.

    Parameters
    ----------
    categorical : ndarray of bool of shape (n_features,)
        Which columns hold codes of categories; codes that training did not see count as nothing.
    C : float, default=1.0
        Inverse strength of the penalty on the coefficients.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    means_ : ndarray of shape (n_numbers,)
        Put for missing numbers.
    numbers_ : ndarray of shape (n_numbers, n_scores)
        Coefficients.
    places_ : ndarray of int32 of shape (n_categorical, 257)
        Rows of `categories_`: of missing values, of code 0, of code 1, ...; -1 if not seen.
    categories_ : ndarray of shape (n_seen + 1, n_scores)
        Coefficients of the codes; the last row is zero.
    intercept_ : ndarray of shape (n_scores,)
    """

    def __init__(self, categorical, C=1.0):
        self.categorical = categorical
        self.C = C

    def fit(self, X, y, sample_weight=None):
        """Fit.

        Parameters
        ----------
        X : ndarray of float64 of shape (n_samples, n_features)
        y : ndarray of shape (n_samples,)
        sample_weight : ndarray of shape (n_samples,), default=None
        """
        self.n_features_in_ = X.shape[1]
        self.classes_ = np.unique(y)
        categorical = np.asarray(self.categorical, bool)
        numbers, words = X[:, ~categorical], X[:, categorical]
        seen = ~np.isnan(numbers)
        count = np.maximum(seen.sum(axis=0), 1)
        self.means_ = np.where(seen, numbers, 0).sum(axis=0) / count
        centred = np.where(seen, numbers - self.means_, 0)
        scale = np.sqrt((centred**2).mean(axis=0))
        scale[~(scale > 1e-12 * np.abs(self.means_))] = 1
        self.places_ = np.full((words.shape[1], 1 + _MOST_CODES), -1, np.int32)
        columns = np.arange(words.shape[1])
        self.places_[columns, _entries(words)] = 0
        n_codes = int((self.places_ == 0).sum())
        self.places_[self.places_ == 0] = np.arange(n_codes)
        places = self.places_[columns, _entries(words)]
        n_scores = len(self.classes_) if len(self.classes_) > 2 else 1
        if len(self.classes_) < 2:
            coefficients, self.intercept_ = np.zeros((1, len(scale) + n_codes)), np.zeros(1)
        else:
            design = _design(centred / scale, places, n_codes)
            model = LogisticRegression(C=self.C, max_iter=200, tol=1e-3)
            model.fit(design, y, sample_weight)
            coefficients, self.intercept_ = model.coef_, model.intercept_
        self.numbers_ = (coefficients[:, : len(scale)] / scale).T.copy()
        self.categories_ = np.zeros((n_codes + 1, n_scores))
        self.categories_[:-1] = coefficients[:, len(scale) :].T
        return self

    def predict_proba(self, X):
        """Probabilities of the classes, shape (n_rows, n_classes)."""
        if len(self.classes_) == 1:
            return np.ones((len(X), 1))
        categorical = np.asarray(self.categorical, bool)
        numbers = X[:, ~categorical]
        centred = np.where(np.isnan(numbers), 0, numbers - self.means_)
        scores = centred @ self.numbers_ + self.intercept_
        words = X[:, categorical]
        places = self.places_[np.arange(words.shape[1]), _entries(words)]
        scores += self.categories_[places].sum(axis=1)
        if len(self.classes_) > 2:
            return softmax(scores, axis=1)
        second = expit(scores)
        return np.hstack([1 - second, second])

    def predict(self, X):
        """The most probable classes."""
        return self.classes_[self.predict_proba(X).argmax(axis=1)]


def _entries(words) -> np.ndarray:
    """Columns of `places_`: 0 for NaN, else one more than the code."""
    return np.clip(np.where(np.isnan(words), -1, words), -1, _MOST_CODES - 1).astype(np.intp) + 1


def _design(scaled, places, n_codes):
    """Scaled numbers and indicators of the codes: sparse where most of it is zero."""
    if not n_codes:
        return scaled
    n = len(scaled)
    rows = np.repeat(np.arange(n), places.shape[1])
    indicators = sparse.csr_array(
        (np.ones(places.size), (rows, places.ravel())), shape=(n, n_codes)
    )
    joined = sparse.hstack([sparse.csr_array(scaled), indicators], format="csr")
    filled = scaled.size + places.size
    return joined if filled < 0.3 * n * joined.shape[1] else joined.toarray()
