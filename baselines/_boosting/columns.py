"""Columns of finite numbers for weak learners, from tables with gaps and categories."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator

from mddf._base.serialization import register_serializable
from mddf._base.types import TableLike
from mddf._binning.binner import Binner
from mddf._input.reading import read_table
from mddf._input.table import Table

from .weak_learners import FloatArray

#: Fill value for missing values that go with the large values; its negative is for the small ones.
EXTREME = float(np.finfo(np.float64).max)


@register_serializable("columns of weak learners")
@dataclass(frozen=True, eq=False)
class LearnerColumns:
    """Columns that weak learners are trained on, derived from a numeric table.

    A numeric column without gaps is taken as it is. If values are missing in training, it is taken
    twice, with missing values below all numbers and above all numbers, and an indicator says
    where they are missing: a threshold can then send them to the better side. A categorical column
    has an indicator for each code, and one for missing values if there were any in training.

    Parameters
    ----------
    number : int64 array of shape (n_numbers,)
        Source columns of the first, numeric, columns.
    fill : float64 array of shape (n_numbers,)
        Values that replace missing values in them.
    category : int64 array of shape (n_indicators,)
        Source columns of the next columns, the indicators of categories.
    code : float64 array of shape (n_indicators,)
        Codes that they indicate.
    missing : int64 array of shape (n_missing,)
        Source columns of the last columns, the indicators of missing values.
    """

    number: NDArray[np.int64]
    fill: FloatArray
    category: NDArray[np.int64]
    code: FloatArray
    missing: NDArray[np.int64]

    @classmethod
    def learn(cls, numbers: FloatArray, weight: FloatArray, n_codes: dict[int, int]) -> Self:
        """Choose the columns.

        Parameters
        ----------
        numbers : float64 array of shape (n_samples, n_columns)
            Training rows: numbers, codes of categories, NaN where missing.
        weight : float64 array of shape (n_samples,)
            Their weights, positive.
        n_codes : dict of int to int
            Number of codes of each categorical column.
        """
        number: list[int] = []
        fill_values: list[float] = []
        missing: list[int] = []
        has_gaps = np.asarray(np.isnan(numbers).any(axis=0))
        for c in range(numbers.shape[1]):
            if c not in n_codes:
                number += [c, c] if has_gaps[c] else [c]
                fill_values += [-EXTREME, EXTREME] if has_gaps[c] else [np.nan]
            if has_gaps[c]:
                missing.append(c)
        # New missing values in a column without gaps in training count as its median.
        fill = np.array(fill_values)
        without_gaps = np.flatnonzero(np.isnan(fill))
        source = np.array(number, np.int64)
        fill[without_gaps] = weighted_medians(numbers[:, source[without_gaps]], weight)
        indicators = [(c, code) for c, n in n_codes.items() for code in range(n)]
        category, code = np.array(indicators, np.int64).reshape(-1, 2).T
        return cls(source, fill, category, code.astype(float), np.array(missing, np.int64))

    @property
    def sources(self) -> NDArray[np.int64]:
        """Source column of each column."""
        return np.concatenate([self.number, self.category, self.missing])

    def transform(self, numbers: FloatArray) -> FloatArray:
        """Make the columns for rows of the table, shape (n_samples, n_columns), in C order."""
        n = numbers.shape[1]
        # If all columns are taken as they are, rows without gaps need no copy.
        if len(self.sources) == n and np.array_equal(self.number, np.arange(n)):
            gaps = np.isnan(numbers)
            return np.where(gaps, self.fill, numbers) if gaps.any() else numbers
        values = numbers[:, self.number]
        filled = np.where(np.isnan(values), self.fill, values)
        is_category = numbers[:, self.category] == self.code
        is_missing = np.isnan(numbers[:, self.missing])
        return np.ascontiguousarray(np.hstack([filled, is_category, is_missing]))

    def source_shares(self, shares: FloatArray, n_columns: int) -> FloatArray:
        """Add up shares of these columns, such as importances, by source column."""
        return np.bincount(self.sources, shares, minlength=n_columns).astype(float)


def weighted_medians(X: FloatArray, weight: FloatArray) -> FloatArray:
    """Compute the lower weighted median of each column.

    Missing values that count as the median go to the side of a stump with more weight.
    """
    if np.all(weight == weight[0]):
        middle = (len(X) - 1) // 2
        return np.partition(X, middle, axis=0)[middle]
    order = np.argsort(X, axis=0, kind="stable")
    below = np.cumsum(weight[order], axis=0)
    middles = (below < below[-1] / 2).sum(axis=0)
    return np.take_along_axis(X, np.take_along_axis(order, middles[None], 0), 0)[0]


def read_rows(estimator: BaseEstimator, X: TableLike, *, reset: bool) -> Table:
    """Read X as a table; sparse matrices are refused."""
    if sparse.issparse(X):
        raise TypeError(
            "Sparse data was passed for X, but dense data is required: pass X.toarray()"
        )
    return read_table(
        estimator, X, reset=reset, categorical_features=estimator.categorical_features
    )


def as_numbers(binner: Binner, table: Table, *, is_new: bool = False) -> FloatArray:
    """Convert a table to doubles in C order, with NaN for missing values.

    Unknown categories are counted if the table is a new one, to predict.
    """
    numbers = binner.new_numbers(table) if is_new else binner.numbers(table)
    return np.ascontiguousarray(numbers, np.float64)
