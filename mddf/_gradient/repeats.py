"""Rows that hold the same features: copies of one row, or several observations."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from mddf._binning.high_cardinality import CategoryLevels
from mddf._resampling.sampling import hashes_with, row_hashes
from mddf._targets.weights import whole_weights

# Copies of a row have its target. Where more than this share of the different rows differ in their
# target alone, equal rows are observations that happen to have the same features.
_MOST_CONFLICTS = 0.05
# With so many samples for each combination of features, a column that determines all other
# features is a lookup table rather than a column of names with copied rows.
_SAMPLES_OF_A_LOOKUP = 8
# Rows of a whole weight are expanded up to so many rows. Every number of orders of target
# statistics is the same up to this size.
_MOST_EXPANDED = 2**18


@dataclass(frozen=True)
class Repeats:
    """Groups of rows that hold the same features, called units."""

    unit: np.ndarray  # (n_rows,): number of the unit of each row
    hashes: np.ndarray  # (n_rows,), uint64: hashes of features and target
    n_units: int
    n_samples: float  # sum of the weights, or number of rows
    n_columns: int  # columns of the table

    @classmethod
    def from_rows(
        cls,
        codes: np.ndarray,
        levels: CategoryLevels | None,
        y: np.ndarray,
        weights: np.ndarray | None,
    ) -> Repeats:
        """Compare rows by their codes, their levels and their targets."""
        content = codes if levels is None else with_levels(codes, levels)
        features = row_hashes(content, np.zeros((len(y), 0), np.int64))
        hashes = hashes_with(features, y.view(np.int64)[:, None])
        different, unit = np.unique(features, return_inverse=True)
        n_samples = float(len(y) if weights is None else weights.sum())
        return cls(unit, hashes, len(different), n_samples, codes.shape[1])

    def take(self, rows: np.ndarray) -> Repeats:
        """The same units for some rows, which may be repeated."""
        return Repeats(
            self.unit[rows], self.hashes[rows], self.n_units, self.n_samples, self.n_columns
        )

    @property
    def any_equal(self) -> bool:
        """Whether some rows hold the same features."""
        return self.n_units < len(self.unit)

    @property
    def conflict(self) -> bool:
        """Whether too many equal rows differ in their target for them to be copies."""
        n_different = len(np.unique(self.hashes))
        return n_different - self.n_units > _MOST_CONFLICTS * self.n_units

    def is_lookup(self, n_keys: int, n_key_columns: int) -> bool:
        """Whether some columns, of `n_keys` different values, determine all features.

        All rows of a level are then equal, and only these rows can tell what the level means.
        """
        if n_keys < self.n_units:
            return False
        no_other_columns = n_key_columns == self.n_columns
        return no_other_columns or self.n_samples > _SAMPLES_OF_A_LOOKUP * self.n_units

    def first_rows(self) -> np.ndarray:
        """First row of each unit, ascending."""
        _, first = np.unique(self.unit, return_index=True)
        return np.sort(first)

    def unit_orders(self, seeds: np.ndarray) -> Iterator[np.ndarray]:
        """Random orders in which the rows of a unit are next to each other."""
        least = np.full(self.n_units, np.iinfo(np.uint64).max, np.uint64)
        np.minimum.at(least, self.unit, self.hashes)
        for seed in seeds:
            yield np.argsort(mixed(least + times_golden(seed))[self.unit], kind="stable")

    def row_orders(
        self, seeds: np.ndarray, weights: np.ndarray | None = None
    ) -> Iterator[np.ndarray]:
        """Random orders of single rows, which do not depend on the order of the table."""
        order = np.lexsort((self.hashes,) if weights is None else (weights, self.hashes))
        hashes = self.hashes[order]
        starts = np.flatnonzero(np.append(True, hashes[1:] != hashes[:-1]))
        copy = np.arange(len(order)) - np.repeat(starts, np.diff(starts, append=len(order)))
        for seed in seeds:
            places = mixed(hashes + times_golden(copy.astype(np.uint64) + seed))
            yield order[np.argsort(places, kind="stable")]


def with_levels(codes: np.ndarray, levels: CategoryLevels) -> np.ndarray:
    """Codes of rows, followed by the bytes of their levels."""
    return np.hstack([codes, np.ascontiguousarray(levels.numbers).view(np.uint8)])


def copies_of(weights: np.ndarray | None) -> np.ndarray | None:
    """How many equal rows each row stands for; None if each is one, or if they would be too many.

    Weights that are not whole numbers do not count rows.
    """
    if weights is None or not whole_weights(weights) or weights.max() <= 1:
        return None
    return weights.astype(np.int64) if weights.sum() <= _MOST_EXPANDED else None


def times_golden(numbers: np.ndarray) -> np.ndarray:
    """Numbers spread over all of 64 bits."""
    return np.multiply(numbers, np.uint64(0x9E3779B97F4A7C15))


def mixed(numbers: np.ndarray) -> np.ndarray:
    """The finalizer of SplitMix64, which is one to one."""
    for factor in (0xBF58476D1CE4E5B9, 0x94D049BB133111EB):
        numbers = (numbers ^ (numbers >> np.uint64(30))) * np.uint64(factor)
    return numbers ^ (numbers >> np.uint64(31))
