"""Linear models by scikit-learn on scaled numbers and one column for each category."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any, Self

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.linear_model import LogisticRegression, Ridge

from mddf._base.elementary import class_probabilities
from mddf._base.serialization import register_serializable

_MOST_CODES = 256
_BLOCK = 1024


def product(rows: np.ndarray, matrix: np.ndarray, *, by_columns: bool = False) -> np.ndarray:
    """Their matrix product, each row of which does not depend on the rows beside it.

    Libraries for it add in an order that depends on how many rows there are; so does NumPy, if
    rows lie in memory `by_columns`, which has to be known of a single row, too.
    """
    sums = sums_in_turn if by_columns else partial(np.sum, axis=1)
    found = np.empty((len(rows), matrix.shape[1]))
    for first in range(0, len(rows), _BLOCK):
        block = slice(first, first + _BLOCK)
        for score, column in enumerate(matrix.T):
            found[block, score] = sums(rows[block] * column)
    return found


def sums_in_turn(terms: np.ndarray) -> np.ndarray:
    """Sums along the second axis, which does not lie together in memory, term by term.

    Of one row it does, and NumPy would add that up in eight parts.
    """
    if len(terms) == 1 and terms.shape[1]:
        return terms.cumsum(axis=1)[:, -1]
    return terms.sum(axis=1)


@register_serializable("feature encoding")
@dataclass
class Encoding:
    """How a table becomes columns for a linear model: scaled numbers, one for each category.

    Attributes
    ----------
    categorical : ndarray of bool of shape (n_features,)
    means, scales : ndarray of shape (n_numbers,)
        Means are put for missing numbers.
    places : ndarray of int32 of shape (n_categorical, 257)
        Columns of missing values, of code 0, of code 1, ...; -1 of those that were not seen.
    """

    categorical: np.ndarray
    means: np.ndarray
    scales: np.ndarray
    places: np.ndarray

    @classmethod
    def of(cls, X: np.ndarray, categorical: np.ndarray) -> Encoding:
        """Learn it from rows."""
        numbers, categories = X[:, ~categorical], X[:, categorical]
        seen = ~np.isnan(numbers)
        means = np.where(seen, numbers, 0).sum(axis=0) / np.maximum(seen.sum(axis=0), 1)
        centred = np.where(seen, numbers - means, 0)
        scales = np.sqrt((centred**2).mean(axis=0))
        scales[~(scales > 1e-12 * np.abs(means))] = 1
        places = np.full((categories.shape[1], 1 + _MOST_CODES), -1, np.int32)
        places[np.arange(categories.shape[1]), _entries(categories)] = 0
        places[places == 0] = np.arange((places == 0).sum())
        return cls(categorical, means, scales, places)

    @property
    def n_codes(self) -> int:
        """Categories that were seen."""
        return int(self.places.max(initial=-1)) + 1

    def centred(self, X: np.ndarray) -> np.ndarray:
        """Numbers less their means, 0 where missing."""
        numbers = X[:, ~self.categorical]
        return np.where(np.isnan(numbers), 0, numbers - self.means)

    def places_of(self, X: np.ndarray) -> np.ndarray:
        """Columns of the cells that hold categories, -1 where that was not seen."""
        categories = X[:, self.categorical]
        return self.places[np.arange(categories.shape[1]), _entries(categories)]

    def dense(self, X: np.ndarray) -> np.ndarray:
        """Rows as columns."""
        n_numbers, places = len(self.means), self.places_of(X)
        encoded = np.zeros((len(X), n_numbers + self.n_codes + 1))
        encoded[:, :n_numbers] = self.centred(X) / self.scales
        # The last column takes what was not seen.
        encoded[np.arange(len(X))[:, None], np.where(places < 0, -1, n_numbers + places)] = 1
        return encoded[:, :-1]

    def matrix(self, X: np.ndarray) -> Any:
        """The same, but sparse where most of it is zero."""
        n, n_filled = len(X), len(self.means) + len(self.places)
        if n_filled >= 0.3 * (len(self.means) + self.n_codes):
            return self.dense(X)
        places = self.places_of(X)
        rows = np.repeat(np.arange(n), places.shape[1])[places.ravel() >= 0]
        known = places[places >= 0]
        indicators = sparse.csr_array((np.ones(len(known)), (rows, known)), (n, self.n_codes))
        scaled = sparse.csr_array(self.centred(X) / self.scales)
        return sparse.hstack([scaled, indicators], format="csr")


class _Linear(BaseEstimator):
    """What the classifier and the regressor share: scaled numbers, a column for each category.

    Scaling is part of the coefficients once it is fitted, so that one row takes microseconds.
    """

    categorical: Any

    def _encoding(self, X: np.ndarray) -> Encoding:
        """That of training rows, which is kept."""
        self.n_features_in_ = X.shape[1]
        encoding = Encoding.of(X, np.asarray(self.categorical, bool))
        self.means_, self.places_ = encoding.means, encoding.places
        return encoding

    def _keep(self, encoding: Encoding, coefficients: np.ndarray, intercept: np.ndarray) -> None:
        """Keep coefficients of shape (n_scores, n_encoded), of scaled numbers."""
        scales = encoding.scales
        self.numbers_ = (coefficients[:, : len(scales)] / scales).T.copy()
        self.categories_ = np.zeros((encoding.n_codes + 1, len(coefficients)))
        self.categories_[:-1] = coefficients[:, len(scales) :].T
        self.intercept_ = intercept

    @property
    def encoding_(self) -> Encoding:
        """How rows are encoded: with scales of 1, as the coefficients know of them."""
        categorical = np.asarray(self.categorical, bool)
        return Encoding(categorical, self.means_, np.ones(len(self.means_)), self.places_)

    def _scores(self, X: np.ndarray) -> np.ndarray:
        """Of shape (n_rows, n_scores)."""
        encoding = self.encoding_
        scores = product(encoding.centred(X), self.numbers_, by_columns=True) + self.intercept_
        return scores + sums_in_turn(self.categories_[encoding.places_of(X)])


@register_serializable("logistic regression")
class LinearClassifier(ClassifierMixin, _Linear):
    """A logistic regression on tables: means for missing numbers, missing values as a category.

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
    places_ : ndarray of int32 of shape (n_categorical, 257)
        See Encoding.
    numbers_ : ndarray of shape (n_numbers, n_scores)
        Coefficients.
    categories_ : ndarray of shape (n_seen + 1, n_scores)
        Coefficients of the codes; the last row is zero.
    intercept_ : ndarray of shape (n_scores,)
    """

    _fits_step_by_step = True  # which `fit_external` asks for

    def __init__(self, categorical: Any, C: float = 1.0) -> None:
        self.categorical = categorical
        self.C = C

    def fit(self, X: np.ndarray, y: np.ndarray, sample_weight: np.ndarray | None = None) -> Self:
        """Fit.

        Parameters
        ----------
        X : ndarray of float64 of shape (n_samples, n_features)
        y : ndarray of shape (n_samples,)
        sample_weight : ndarray of shape (n_samples,), default=None
        """
        self.classes_ = np.unique(y)
        encoding = self._encoding(X)
        if len(self.classes_) < 2:
            n_columns = len(encoding.scales) + encoding.n_codes
            self._keep(encoding, np.zeros((1, n_columns)), np.zeros(1))
        else:
            model = LogisticRegression(C=self.C, max_iter=200, tol=1e-3)
            model.fit(encoding.matrix(X), y, sample_weight)
            self._keep(encoding, model.coef_, model.intercept_)
        return self

    def predict_proba(self, X: np.ndarray) -> np.ndarray:
        """Probabilities of the classes, shape (n_rows, n_classes)."""
        if len(self.classes_) == 1:
            return np.ones((len(X), 1))
        return class_probabilities(self._scores(X))

    def predict(self, X: np.ndarray) -> np.ndarray:
        """The most probable classes."""
        return self.classes_[self.predict_proba(X).argmax(axis=1)]


@register_serializable("linear ridge regression")
class LinearRegressor(RegressorMixin, _Linear):
    """A ridge regression on tables, whose columns are as those of `LinearClassifier`.

    Parameters
    ----------
    categorical : ndarray of bool of shape (n_features,)
    alpha : float, default=1.0
        Strength of the penalty on the coefficients.
    """

    def __init__(self, categorical: Any, alpha: float = 1.0) -> None:
        self.categorical = categorical
        self.alpha = alpha

    def fit(self, X: np.ndarray, y: np.ndarray, sample_weight: np.ndarray | None = None) -> Self:
        """Fit numbers, of shape (n_samples,) or (n_samples, n_outputs)."""
        encoding, values = self._encoding(X), np.reshape(y, (len(X), -1))
        model = Ridge(self.alpha).fit(encoding.matrix(X), values, sample_weight)
        coefficients = np.reshape(model.coef_, (values.shape[1], -1))
        self._keep(encoding, coefficients, np.reshape(model.intercept_, -1))
        return self

    def predict(self, X: np.ndarray) -> np.ndarray:
        """Numbers of shape (n_rows, n_outputs)."""
        return self._scores(X)


def _entries(categories: Any) -> np.ndarray:
    """Columns of `places_`: 0 for NaN, else one more than the code."""
    return (
        np.clip(np.where(np.isnan(categories), -1, categories), -1, _MOST_CODES - 1).astype(
            np.intp
        )
        + 1
    )
