"""Normal scores of numeric columns for kernels and networks, with indicators of categories."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.spatial.distance import cdist
from scipy.special import ndtri

from mddf._base.serialization import register_serializable
from mddf._members.linear import FeatureEncoding

# Encoded numbers are multiples of GRAIN, at most FARTHEST standard deviations from the mean. Their
# products have so few binary digits that sums of them are exact in any order.
GRAIN = 2.0**-10
FARTHEST = 2.0**8
# Quantiles of a column that are kept as knots. Not tuned.
_KNOTS = 256
# Value of a category's indicator, next to normal scores with standard deviation 1. Set by hand.
INDICATOR = 0.5
# Differing categories are counted by columns instead of by indicators if a block has at least 32
# rows and columns have 16 levels or more in the mean. With many levels, this takes a fifth of the
# time.
_FEW_ROWS = 32
_MANY_LEVELS = 16


@register_serializable("normal scores")
@dataclass
class NormalScores:
    """Encoding of columns by normal quantiles of the numbers, and by indicators of categories."""

    encoding: FeatureEncoding  # of the categories
    values: list[np.ndarray]  # knots of each numeric column, in ascending order
    scores: list[np.ndarray]  # at the knots, interpolated between them

    @classmethod
    def from_rows(cls, X: np.ndarray, encoding: FeatureEncoding) -> NormalScores:
        values = []
        scores = []
        numbers = X[:, ~encoding.categorical]
        ordered = np.sort(numbers, axis=0)
        # All columns without equal or missing numbers have the same scores. Using these saves most
        # of the time of a wide table.
        all_differ = np.all(ordered[:-1] < ordered[1:], axis=0) & ~np.isnan(ordered[-1])
        shared_knots, shared_scores = _choose_knots(np.ones(len(X), int))
        for i, column in enumerate(numbers.T):
            if all_differ[i]:
                values.append(ordered[shared_knots, i])
                scores.append(shared_scores)
                continue
            levels, counts = np.unique(column[~np.isnan(column)], return_counts=True)
            if not len(levels):
                levels = np.zeros(1)
                counts = np.ones(1, int)
            knots, column_scores = _choose_knots(counts)
            values.append(levels[knots])
            scores.append(column_scores)
        return cls(encoding, values, scores)

    def numbers(self, X: np.ndarray) -> np.ndarray:
        """Scores of the numeric columns; a missing number gets the median's score, 0."""
        numbers = X[:, ~self.encoding.categorical]
        encoded = np.empty(numbers.shape)
        for i, column in enumerate(numbers.T):
            scores = np.interp(column, self.values[i], self.scores[i])
            encoded[:, i] = np.where(np.isnan(column), 0.0, scores)
        return encoded

    @property
    def n_numbers(self) -> int:
        """Number of numeric columns."""
        return len(self.encoding.means)

    def dense(self, X: np.ndarray) -> np.ndarray:
        """Encoded rows, shape (n_rows, n_encoded)."""
        encoded = INDICATOR * self.encoding.dense(X)
        encoded[:, : self.n_numbers] = self.numbers(X)
        return encoded

    def distances(
        self, X: np.ndarray, landmarks: np.ndarray, encoded: np.ndarray | None = None
    ) -> np.ndarray:
        """Sums of absolute differences between rows and landmarks, which `dense` has encoded.

        Terms are added one after the other, numbers first. If columns have many levels, different
        categories are counted by column, as there are far fewer columns than indicators. `encoded`
        are the rows of X, encoded by `dense`, if they are known.
        """
        encoding = self.encoding
        n_numbers = self.n_numbers
        has_categories = len(encoding.places) > 0
        few_levels = encoding.n_codes < _MANY_LEVELS * len(encoding.places)
        if has_categories and (len(X) < _FEW_ROWS or few_levels):
            return cdist(self.dense(X) if encoded is None else encoded, landmarks, "cityblock")
        numbers = self.numbers(X) if encoded is None else encoded[:, :n_numbers]
        distances = cdist(numbers, landmarks[:, :n_numbers], "cityblock")
        if has_categories:
            n_different = _n_different(encoding.places_of(X), landmarks[:, n_numbers:])
            for n_added in range(int(n_different.max())):
                np.add(distances, INDICATOR, out=distances, where=n_different > n_added)
        return distances


def _choose_knots(counts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Positions of the values of a column that are kept as knots, and their normal scores.

    `counts` are the numbers of rows with each value, in ascending order of the values.
    """
    below = (np.cumsum(counts) - counts / 2) / counts.sum()
    knots = np.arange(len(counts))
    if len(counts) > _KNOTS:
        knots = np.unique(np.searchsorted(below, np.linspace(0, below[-1], _KNOTS)))
    return knots, np.rint(ndtri(below[knots]) / GRAIN) * GRAIN


def _n_different(places: np.ndarray, indicators: np.ndarray) -> np.ndarray:
    """Number of indicators that differ between rows and landmarks.

    A landmark has one indicator of 1 in each categorical column. A row has none, and the place -1,
    if its category is not among the training rows.
    """
    landmark_places = np.nonzero(indicators)[1].reshape(len(indicators), places.shape[1])
    n_different = np.zeros((len(places), len(indicators)), np.int16)
    for column, landmark_column in zip(places.T, landmark_places.T, strict=True):
        n_different += np.where(column < 0, 1, 2).astype(np.int16)[:, None]
        n_different -= 2 * (column[:, None] == landmark_column).astype(np.int16)
    return n_different
