"""What weak learners see of a table: finite numbers, whatever is missing or a category."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from mddf._base.serialization import register_serializable
from mddf._binning.binner import Binner
from mddf._input.reading import read_table

from .weak_learners import FloatArray

#: What a missing value counts as where it goes with the large ones; its negative with the small.
EXTREME = float(np.finfo(np.float64).max)


@register_serializable("columns of weak learners")
@dataclass(frozen=True, eq=False)
class SeenColumns:
    """The columns that trees are grown on, made of those of a table of numbers.

    A numeric column stands there as it is. If values of it are missing in training, it stands
    there twice, with these below all numbers, then above all, and a third time as whether they
    are missing: so a threshold sends them to the better side. A column of categories has an
    indicator for each of its codes, and one for what is missing, if there was any.

    Parameters
    ----------
    number : int64 array of shape (n_numbers,)
        Which columns the first ones are.
    fill : float64 array of shape (n_numbers,)
        What a missing value counts as there.
    category : int64 array of shape (n_indicators,)
        Which columns the indicators of categories are of.
    code : float64 array of shape (n_indicators,)
        The codes that they ask for.
    missing : int64 array of shape (n_missing,)
        Of which columns the last ones say whether a value is missing.
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
            Of the columns of categories.
        """
        number, fill, missing = [], [], []
        gaps = np.asarray(np.isnan(numbers).any(axis=0))
        for c in range(numbers.shape[1]):
            if c not in n_codes:
                number += [c, c] if gaps[c] else [c]
                fill += [-EXTREME, EXTREME] if gaps[c] else [np.nan]
            if gaps[c]:
                missing.append(c)
        sources, fills = np.array(number, np.int64), np.array(fill)
        plain = np.flatnonzero(np.isnan(fills))
        fills[plain] = weighted_medians(numbers[:, sources[plain]], weight)
        of_code = [(c, k) for c, n in n_codes.items() for k in range(n)]
        columns, codes = np.array(of_code, np.int64).reshape(-1, 2).T
        return cls(sources, fills, columns, codes.astype(float), np.array(missing, np.int64))

    @classmethod
    def plain(cls, n_columns: int) -> Self:
        """Columns of numbers as they are, of which it is not known what is missing counts as."""
        none = np.empty(0, np.int64)
        return cls(np.arange(n_columns), np.full(n_columns, np.nan), none, np.empty(0), none)

    @property
    def sources(self) -> NDArray[np.int64]:
        """The column of the table that each column is made of."""
        return np.concatenate([self.number, self.category, self.missing])

    def of(self, numbers: FloatArray) -> FloatArray:
        """The columns for rows of the table, shape (n_samples, n_seen), in C order."""
        n = numbers.shape[1]
        if len(self.sources) == n and np.array_equal(self.number, np.arange(n)):
            gaps = np.isnan(numbers)
            if not gaps.any():
                return numbers
            if np.isnan(self.fill).any():
                raise ValueError(
                    "X must have no missing values: version 0.1 fitted this model, and did not "
                    f"keep what they count as; got {np.count_nonzero(gaps)} of them; fit it again"
                )
            return np.where(gaps, self.fill, numbers)
        found = numbers[:, self.number]
        indicators = numbers[:, self.category] == self.code
        parts = [np.where(np.isnan(found), self.fill, found), indicators]
        parts.append(np.isnan(numbers[:, self.missing]))
        return np.ascontiguousarray(np.hstack(parts))

    def shares(self, seen: FloatArray, n_columns: int) -> FloatArray:
        """Shares of the table's columns, from those of the columns that are seen."""
        return np.bincount(self.sources, seen, minlength=n_columns).astype(float)


def weighted_medians(X: FloatArray, weight: FloatArray) -> FloatArray:
    """The lower weighted median of each column.

    A new missing value counts as it, so that stumps send it to the side of more weight.
    """
    if np.all(weight == weight[0]):
        middle = (len(X) - 1) // 2
        return np.partition(X, middle, axis=0)[middle]
    order = np.argsort(X, axis=0, kind="stable")
    below = np.cumsum(weight[order], axis=0)
    middles = (below < below[-1] / 2).sum(axis=0)
    return np.take_along_axis(X, np.take_along_axis(order, middles[None], 0), 0)[0]


def read_rows(estimator: Any, X: Any, *, reset: bool) -> Any:
    """X as a table; sparse ones are refused."""
    if sparse.issparse(X):
        raise TypeError(
            "Sparse data was passed for X, but dense data is required: pass X.toarray()"
        )
    return read_table(
        estimator, X, reset=reset, categorical_features=estimator.categorical_features
    )


def as_numbers(binner: Binner, table: Any, *, is_new: bool = False) -> FloatArray:
    """A table as numbers in double precision and C order, NaN for what is missing.

    Unknown categories are counted if the table is a new one, to predict.
    """
    numbers = binner.new_numbers(table) if is_new else binner.numbers(table)
    return np.ascontiguousarray(numbers, np.float64)
