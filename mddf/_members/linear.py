"""Linear models of scikit-learn on scaled numbers and one column for each category."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Self

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.linear_model import LogisticRegression, Ridge

from mddf._base.elementary import class_probabilities
from mddf._base.serialization import register_serializable

# Codes of categories fit into a byte.
_N_CODES = 256
# Rows of a block, so that its terms stay in the cache. Not tuned.
_BLOCK_ROWS = 1024
# Share of non-zero entries from which a dense matrix is fitted faster. Set by hand.
_DENSE_SHARE = 0.3


def product(rows: np.ndarray, matrix: np.ndarray, *, by_columns: bool = False) -> np.ndarray:
    """Matrix product, each row of which does not depend on the other rows.

    BLAS adds terms in an order that depends on the number of rows. So does NumPy, if columns are
    contiguous in memory: `by_columns` says so, as the memory of a single row does not show it.
    """
    sum_rows = sums_in_turn if by_columns else partial(np.sum, axis=1)
    result = np.empty((len(rows), matrix.shape[1]))
    for first in range(0, len(rows), _BLOCK_ROWS):
        block = slice(first, first + _BLOCK_ROWS)
        for output, column in enumerate(matrix.T):
            result[block, output] = sum_rows(rows[block] * column)
    return result


def sums_in_turn(terms: np.ndarray) -> np.ndarray:
    """Sums along the second axis, which is not contiguous, term by term.

    In a single row it is contiguous, and NumPy would add it up in eight parts.
    """
    if len(terms) == 1 and terms.shape[1]:
        return terms.cumsum(axis=1)[:, -1]
    return terms.sum(axis=1)


@register_serializable("feature encoding")
@dataclass
class FeatureEncoding:
    """Encoding of tables for linear models: scaled numbers and one column for each category."""

    categorical: np.ndarray
    means: np.ndarray  # of the numeric columns; they replace missing numbers
    scales: np.ndarray
    # Columns of missing values, of code 0, of code 1 and so on: (n_categorical, 257). -1 for codes
    # that are not in the training rows.
    places: np.ndarray

    @classmethod
    def from_rows(cls, X: np.ndarray, categorical: np.ndarray) -> FeatureEncoding:
        numbers = X[:, ~categorical]
        categories = X[:, categorical]
        is_known = ~np.isnan(numbers)
        means = np.where(is_known, numbers, 0).sum(axis=0) / np.maximum(is_known.sum(axis=0), 1)
        centred = np.where(is_known, numbers - means, 0)
        scales = np.sqrt((centred**2).mean(axis=0))
        # A constant column has a scale of rounding errors only.
        scales[~(scales > 1e-12 * np.abs(means))] = 1
        places = np.full((categories.shape[1], 1 + _N_CODES), -1, np.int32)
        places[np.arange(categories.shape[1]), _entries(categories)] = 0
        places[places == 0] = np.arange((places == 0).sum())
        return cls(categorical, means, scales, places)

    @property
    def n_codes(self) -> int:
        """Number of categories in the training rows, over all columns."""
        return int(self.places.max(initial=-1)) + 1

    def centred(self, X: np.ndarray) -> np.ndarray:
        """Numbers minus their means, 0 where missing."""
        numbers = X[:, ~self.categorical]
        return np.where(np.isnan(numbers), 0, numbers - self.means)

    def places_of(self, X: np.ndarray) -> np.ndarray:
        """Indicator column of each categorical cell, -1 for categories without a column."""
        categories = X[:, self.categorical]
        return self.places[np.arange(categories.shape[1]), _entries(categories)]

    def dense(self, X: np.ndarray) -> np.ndarray:
        """Encoded rows, shape (n_rows, n_numbers + n_codes)."""
        n_numbers = len(self.means)
        places = self.places_of(X)
        encoded = np.zeros((len(X), n_numbers + self.n_codes + 1))
        encoded[:, :n_numbers] = self.centred(X) / self.scales
        # The last column, which is cut off, takes categories without a column.
        encoded[np.arange(len(X))[:, None], np.where(places < 0, -1, n_numbers + places)] = 1
        return encoded[:, :-1]

    def matrix(self, X: np.ndarray) -> np.ndarray | sparse.csr_array:
        """Encoded rows, as a sparse matrix if most entries are zero."""
        n_filled = len(self.means) + len(self.places)
        if n_filled >= _DENSE_SHARE * (len(self.means) + self.n_codes):
            return self.dense(X)
        places = self.places_of(X)
        rows, columns = np.nonzero(places >= 0)
        entries = np.ones(len(rows)), (rows, places[rows, columns])
        indicators = sparse.csr_array(entries, (len(X), self.n_codes))
        scaled = sparse.csr_array(self.centred(X) / self.scales)
        return sparse.hstack([scaled, indicators], format="csr")


class _Linear(BaseEstimator):
    """Base class of the linear classifier and regressor.

    The scales are multiplied into the coefficients, so that one row takes microseconds.
    """

    categorical: npt.ArrayLike

    def _fit_encoding(self, X: np.ndarray) -> FeatureEncoding:
        self.n_features_in_ = X.shape[1]
        encoding = FeatureEncoding.from_rows(X, np.asarray(self.categorical, bool))
        self.means_ = encoding.means
        self.places_ = encoding.places
        return encoding

    def _set_coefficients(
        self, encoding: FeatureEncoding, coefficients: np.ndarray, intercept: np.ndarray
    ) -> None:
        """Store coefficients of scaled numbers, shape (n_scores, n_encoded)."""
        scales = encoding.scales
        self.numbers_ = (coefficients[:, : len(scales)] / scales).T.copy()
        self.categories_ = np.zeros((encoding.n_codes + 1, len(coefficients)))
        self.categories_[:-1] = coefficients[:, len(scales) :].T
        self.intercept_ = intercept

    @property
    def encoding_(self) -> FeatureEncoding:
        """Encoding with scales of 1, which the coefficients are for."""
        categorical = np.asarray(self.categorical, bool)
        return FeatureEncoding(categorical, self.means_, np.ones(len(self.means_)), self.places_)

    def _scores(self, X: np.ndarray) -> np.ndarray:
        """Scores or predictions of shape (n_rows, n_scores)."""
        encoding = self.encoding_
        scores = product(encoding.centred(X), self.numbers_, by_columns=True) + self.intercept_
        return scores + sums_in_turn(self.categories_[encoding.places_of(X)])


@register_serializable("logistic regression")
class LinearClassifier(ClassifierMixin, _Linear):
    """Logistic regression on tables, with means for missing numbers and a category for NaN.

    Parameters
    ----------
    categorical : ndarray of bool of shape (n_features,)
        Columns that hold codes of categories. Codes that are not in the training rows have no
        effect.
    C : float, default=1.0
        Inverse strength of the penalty on the coefficients.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    means_ : ndarray of shape (n_numbers,)
    places_ : ndarray of int32 of shape (n_categorical, 257)
        Attributes of the same names of `FeatureEncoding`.
    numbers_ : ndarray of shape (n_numbers, n_scores)
        Coefficients of the numbers.
    categories_ : ndarray of shape (n_codes + 1, n_scores)
        Coefficients of the categories; the last row is zero.
    intercept_ : ndarray of shape (n_scores,)
    """

    _fits_step_by_step = True  # `fit_external` then uses one thread for small tables

    def __init__(self, categorical: npt.ArrayLike, C: float = 1.0) -> None:
        self.categorical = categorical
        self.C = C

    def fit(self, X: np.ndarray, y: np.ndarray, sample_weight: np.ndarray | None = None) -> Self:
        """Fit labels of shape (n_samples,)."""
        self.classes_ = np.unique(y)
        encoding = self._fit_encoding(X)
        if len(self.classes_) < 2:
            n_columns = len(encoding.scales) + encoding.n_codes
            self._set_coefficients(encoding, np.zeros((1, n_columns)), np.zeros(1))
        else:
            # The tolerance is looser than scikit-learn's 1e-4 to save time. Not tuned.
            model = LogisticRegression(C=self.C, max_iter=200, tol=1e-3)
            model.fit(encoding.matrix(X), y, sample_weight)
            self._set_coefficients(encoding, model.coef_, model.intercept_)
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
    """Ridge regression on tables, which are encoded as in `LinearClassifier`."""

    def __init__(self, categorical: npt.ArrayLike, alpha: float = 1.0) -> None:
        self.categorical = categorical
        self.alpha = alpha

    def fit(self, X: np.ndarray, y: np.ndarray, sample_weight: np.ndarray | None = None) -> Self:
        """Fit numbers, of shape (n_samples,) or (n_samples, n_outputs)."""
        encoding = self._fit_encoding(X)
        values = np.reshape(y, (len(X), -1))
        model = Ridge(self.alpha).fit(encoding.matrix(X), values, sample_weight)
        coefficients = np.reshape(model.coef_, (values.shape[1], -1))
        self._set_coefficients(encoding, coefficients, np.reshape(model.intercept_, -1))
        return self

    def predict(self, X: np.ndarray) -> np.ndarray:
        """Numbers of shape (n_rows, n_outputs)."""
        return self._scores(X)


def _entries(categories: np.ndarray) -> np.ndarray:
    """Columns of `places`: 0 for NaN, else one more than the code."""
    codes = np.where(np.isnan(categories), -1, categories)
    return np.clip(codes, -1, _N_CODES - 1).astype(np.intp) + 1
