"""Columns that are made from other columns of a table.

Trees split one column at a time, so that they approximate a difference, a product or a ratio of
two numbers by steps. A column that holds it takes a single split.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations, product

import numpy as np

from mddf._base.serialization import register_serializable

# Operations on two numbers, in the order of their codes in stored models.
OPERATIONS = ("difference", "scaled difference", "product", "ratio")
DIFFERENCE, SCALED_DIFFERENCE, PRODUCT, RATIO = range(len(OPERATIONS))
# A ratio is missing if its denominator is smaller, so that it is finite: deep forests bound
# numbers by 1e100.
SMALLEST_DENOMINATOR = 1e-100
# Categories have codes below 256. Means of groups also have a place for missing categories.
N_CODES = 256


@register_serializable("columns made from columns")
@dataclass(frozen=True)
class Crosses:
    """Columns made from pairs of columns: of two numbers, or of a number and a category.

    Attributes
    ----------
    pairs : ndarray of int32 of shape (n_pairs, 2)
        Columns of two numbers.
    operations : ndarray of uint8 of shape (n_pairs,)
        Positions in `OPERATIONS`.
    scales : ndarray of float64 of shape (n_pairs, 2)
        Powers of two by which a scaled difference divides its numbers.
    grouped : ndarray of int32 of shape (n_grouped, 2)
        Columns of a number and a category. The made column is the number minus its mean in the
        category.
    group_means : ndarray of float64 of shape (n_grouped, 257)
        Means by the code of the category; the last one is for missing and unknown categories.
    """

    pairs: np.ndarray
    operations: np.ndarray
    scales: np.ndarray
    grouped: np.ndarray
    group_means: np.ndarray

    @classmethod
    def from_rows(
        cls,
        X: np.ndarray,
        *,
        operations: Sequence[int],
        numbers: Sequence[int],
        grouped_numbers: Sequence[int],
        categories: Sequence[int],
        sample_weight: np.ndarray | None = None,
    ) -> Crosses:
        """Learn scales and means from training rows.

        Parameters
        ----------
        X : ndarray of shape (n_rows, n_columns)
            Numbers, codes of categories, and NaN where missing.
        operations : sequence of int
            Positions in `OPERATIONS`. Ratios are made in both directions.
        numbers : sequence of int
            Columns of numbers, of which all pairs are made.
        grouped_numbers, categories : sequence of int
            Columns of numbers and of categories. Each number is compared with its mean in the
            groups of each category.
        sample_weight : ndarray of shape (n_rows,) or None, default=None
        """
        weight = np.ones(len(X)) if sample_weight is None else sample_weight
        pairs = []
        pair_operations = []
        for operation in operations:
            for first, second in combinations(numbers, 2):
                directions = [(first, second)]
                if operation == RATIO:
                    directions.append((second, first))
                pairs += directions
                pair_operations += [operation] * len(directions)
        scale_of_column = {column: _scale(X[:, column], weight) for column in numbers}
        scales = [(scale_of_column[first], scale_of_column[second]) for first, second in pairs]
        grouped = list(product(grouped_numbers, categories))
        means = [_group_means(X[:, number], X[:, group], weight) for number, group in grouped]
        return cls(
            np.array(pairs, np.int32).reshape(-1, 2),
            np.array(pair_operations, np.uint8),
            np.array(scales, float).reshape(-1, 2),
            np.array(grouped, np.int32).reshape(-1, 2),
            np.array(means, float).reshape(-1, N_CODES + 1),
        )

    @property
    def n_columns(self) -> int:
        """Number of made columns."""
        return len(self.pairs) + len(self.grouped)

    @property
    def sources(self) -> np.ndarray:
        """The two columns that each column is made from, shape (n_columns, 2)."""
        return np.vstack([self.pairs, self.grouped])

    def transform(self, X: np.ndarray) -> np.ndarray:
        """Made columns of rows, shape (n_rows, n_columns); NaN where a source is missing."""
        made = np.empty((len(X), self.n_columns))
        for place, (first, second) in enumerate(self.pairs.tolist()):
            made[:, place] = self._operate(place, X[:, first], X[:, second])
        for place, (number, category) in enumerate(self.grouped.tolist()):
            means = self.group_means[place][_group_places(X[:, category])]
            made[:, len(self.pairs) + place] = X[:, number] - means
        return made

    def _operate(self, place: int, first: np.ndarray, second: np.ndarray) -> np.ndarray:
        operation = self.operations[place]
        if operation == PRODUCT:
            return first * second
        if operation == RATIO:
            denominator = np.where(np.abs(second) >= SMALLEST_DENOMINATOR, second, np.nan)
            return first / denominator
        if operation == SCALED_DIFFERENCE:
            first = first / self.scales[place, 0]
            second = second / self.scales[place, 1]
        return first - second


def _scale(values: np.ndarray, weight: np.ndarray) -> float:
    """Power of two near the standard deviation, by which a division is exact."""
    is_known = ~np.isnan(values)
    total = weight[is_known].sum()
    if not total > 0:
        return 1.0
    values = values[is_known]
    weight = weight[is_known] / total
    deviations = values - (weight * values).sum()
    largest = np.abs(deviations).max()
    if not largest > 0:
        return 1.0
    spread = largest * np.sqrt((weight * np.square(deviations / largest)).sum())
    mantissa, exponent = np.frexp(spread)
    return float(np.ldexp(1.0, int(exponent) - int(mantissa < np.sqrt(0.5))))


def _group_places(categories: np.ndarray) -> np.ndarray:
    """Places in the means of groups: the code, or the last place."""
    is_code = (categories >= 0) & (categories < N_CODES)  # False for NaN
    return np.where(is_code, categories, N_CODES).astype(np.intp)


def _group_means(values: np.ndarray, categories: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """Mean of the known values of each category; categories without any have the mean of all."""
    is_known = ~np.isnan(values)
    places = _group_places(categories)[is_known]
    weight = weight[is_known]
    totals = np.bincount(places, weight, minlength=N_CODES + 1)
    sums = np.bincount(places, weight * values[is_known], minlength=N_CODES + 1)
    all_weight = totals.sum()
    mean = sums.sum() / all_weight if all_weight > 0 else 0.0
    has_weight = totals > 0
    return np.where(has_weight, sums / np.where(has_weight, totals, 1.0), mean)
