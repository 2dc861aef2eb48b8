"""Rows with the same features: copies of one row, or several observations."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from math import prod

import numpy as np

from mddf._binning.encoded_rows import CategoryLevels
from mddf._resampling.sampling import hashes_with, row_hashes
from mddf._targets.weights import whole_weights

# Copies of a row have its target. Units may have a few different targets, at most this share of
# the number of units. With more, equal rows are several observations that happen to have the same
# features. Not tuned.
_MAX_CONFLICTS = 0.05
# With more samples than this for each combination of features, a column that determines all other
# features is a lookup key (rows of one key are observations), not a name of copied rows. Not
# tuned.
_MAX_COPIES_PER_UNIT = 8
# With at least this number of different targets for each unit, in the mean, equal rows are
# observations, however many copies there are of each. Copies have 1. Five rows for each unit with
# 10 % of wrong labels have 1.4. Not tuned.
_MIN_TARGETS_PER_UNIT = 1.25
# Targets without noise do not tell observations from copies. If most of the possible combinations
# of features occur, new rows will have known combinations, and equal rows are observations. With
# at most `_MAX_COPIES_PER_UNIT` samples for each combination, the larger share must occur, there
# must be a few samples for each, and they must be combinations of several columns: a single column
# of numbers always has all of its combinations. Not tuned.
_MIN_SHARE_OF_COMBINATIONS = 0.5
_MIN_SHARE_WITH_FEW_SAMPLES = 0.9
_MIN_SAMPLES_PER_COMBINATION = 3
_MIN_UNITS_PER_VALUE = 1.5
# Targets tell rows apart if at least this share of the pairs of features and target has a target
# of its own. Not tuned.
_MIN_SHARE_OF_TARGETS = 0.5
# Rows of a whole weight k are repeated k times only up to so many rows in all. Up to this size
# target statistics have all four random orders, so that repeated rows do not reduce them.
_MAX_REPEATED_ROWS = 2**18


@dataclass(frozen=True)
class Repeats:
    """Groups of rows with the same features, called units."""

    unit: np.ndarray  # (n_rows,): number of the unit of each row
    hashes: np.ndarray  # (n_rows,), uint64: hashes of features and target
    n_units: int
    n_samples: float  # sum of the weights, or number of rows
    n_columns: int  # columns of the table

    @classmethod
    def from_hashes(
        cls,
        features: np.ndarray,
        targets: np.ndarray,
        weights: np.ndarray | None,
        *,
        n_columns: int,
    ) -> Repeats:
        """Find the units of rows by the result of `feature_hashes`.

        `targets` has the bits of the targets as whole numbers, of shape (n_rows, n).
        """
        hashes = hashes_with(features, targets)
        different, unit = np.unique(features, return_inverse=True)
        n_samples = float(len(targets) if weights is None else weights.sum())
        return cls(unit, hashes, len(different), n_samples, n_columns)

    def take(self, rows: np.ndarray) -> Repeats:
        """Select rows, possibly repeated, with the units that they have in the whole table."""
        return Repeats(
            self.unit[rows], self.hashes[rows], self.n_units, self.n_samples, self.n_columns
        )

    @cached_property
    def _n_different(self) -> int:
        """Number of different pairs of features and target."""
        return len(np.unique(self.hashes))

    @property
    def any_equal(self) -> bool:
        """Whether at least two rows have the same features."""
        return self.n_units < len(self.unit)

    @property
    def has_conflicts(self) -> bool:
        """Whether so many rows of a unit differ in their target that they are no copies."""
        return self._n_different - self.n_units > _MAX_CONFLICTS * self.n_units

    def are_observations(self, n_values: Callable[[], list[int]]) -> bool:
        """Whether rows of a unit are independent observations, so that new rows join the units.

        `n_values` counts the different values of each column. Rows of a unit that have the same
        target are either copies or observations of a target without noise. They are observations
        if nearly all combinations of the columns' values occur several times.
        """
        if not self.any_equal and self.n_samples <= self.n_units:
            return False
        if self._n_different >= _MIN_TARGETS_PER_UNIT * self.n_units:
            return True
        if self.n_samples < _MIN_SAMPLES_PER_COMBINATION * self.n_units:
            return False
        counts = n_values()
        share = self.n_units / prod(counts)
        if self.n_samples > _MAX_COPIES_PER_UNIT * self.n_units:
            return share >= _MIN_SHARE_OF_COMBINATIONS
        is_crossed = self.n_units >= _MIN_UNITS_PER_VALUE * max(counts, default=1)
        return is_crossed and share >= _MIN_SHARE_WITH_FEW_SAMPLES

    def copies(self, targets: np.ndarray) -> np.ndarray | None:
        """Number of the different row that each row is a copy of.

        `targets` has the targets, of shape (n_rows, n). The result is None if targets are so few
        that independent observations often have the same features and target.
        """
        n_targets = len(np.unique(targets, axis=0))
        if n_targets < _MIN_SHARE_OF_TARGETS * self._n_different:
            return None
        return np.unique(self.hashes, return_inverse=True)[1]

    def is_lookup(self, n_keys: int, n_key_columns: int) -> bool:
        """Whether columns with `n_keys` combinations of values determine all features.

        All rows of a key are then equal. Their targets are the only information about the key, so
        that target statistics must count them.
        """
        if n_keys < self.n_units:
            return False
        no_other_columns = n_key_columns == self.n_columns
        return no_other_columns or self.n_samples > _MAX_COPIES_PER_UNIT * self.n_units

    def unit_orders(self, seeds: np.ndarray) -> Iterator[np.ndarray]:
        """Yield a random order of rows for each seed; the rows of a unit are adjacent."""
        least = np.full(self.n_units, np.iinfo(np.uint64).max, np.uint64)
        np.minimum.at(least, self.unit, self.hashes)
        for seed in seeds:
            yield np.argsort(mixed(least + times_golden(seed))[self.unit], kind="stable")

    def row_orders(
        self, seeds: np.ndarray, weights: np.ndarray | None = None
    ) -> Iterator[np.ndarray]:
        """Yield a random order of rows for each seed, independent of the order of the table."""
        order = np.lexsort((self.hashes,) if weights is None else (weights, self.hashes))
        hashes = self.hashes[order]
        copy = _copy_numbers(hashes)
        for seed in seeds:
            places = mixed(hashes + times_golden(copy.astype(np.uint64) + seed))
            yield order[np.argsort(places, kind="stable")]


def _copy_numbers(hashes: np.ndarray) -> np.ndarray:
    """Number each hash among its equals; the hashes are sorted."""
    starts = np.flatnonzero(np.append(True, hashes[1:] != hashes[:-1]))
    return np.arange(len(hashes)) - np.repeat(starts, np.diff(starts, append=len(hashes)))


def keys_of_copies(keys: np.ndarray) -> np.ndarray:
    """Different keys for rows with the same key, which depend on their number among them."""
    order = np.argsort(keys, kind="stable")
    copy_keys = np.empty_like(keys)
    copy = _copy_numbers(keys[order]).astype(np.uint64)
    copy_keys[order] = mixed(keys[order] + times_golden(copy))
    return copy_keys


def feature_hashes(codes: np.ndarray, levels: CategoryLevels | None) -> np.ndarray:
    """Hashes of the codes and levels of rows: uint64 of shape (n_rows,)."""
    content = codes if levels is None else with_levels(codes, levels)
    return row_hashes(content, np.zeros((len(codes), 0), np.int64))


def with_levels(codes: np.ndarray, levels: CategoryLevels) -> np.ndarray:
    """Codes of rows, followed by the bytes of their levels."""
    return np.hstack([codes, np.ascontiguousarray(levels.numbers).view(np.uint8)])


def copies_of(weights: np.ndarray | None) -> np.ndarray | None:
    """Whole weights as numbers of copies of rows.

    None if all weights are 1, if they are not whole numbers, or if there would be too many rows.
    """
    if weights is None or not whole_weights(weights) or weights.max() <= 1:
        return None
    return weights.astype(np.int64) if weights.sum() <= _MAX_REPEATED_ROWS else None


def times_golden(numbers: np.ndarray) -> np.ndarray:
    """Multiply by 2**64 / golden ratio, which spreads numbers over all 64 bits."""
    return np.multiply(numbers, np.uint64(0x9E3779B97F4A7C15))


def mixed(numbers: np.ndarray) -> np.ndarray:
    """Mix all bits by a one-to-one function: SplitMix64's finalizer with a second shift of 30."""
    for factor in (0xBF58476D1CE4E5B9, 0x94D049BB133111EB):
        numbers = (numbers ^ (numbers >> np.uint64(30))) * np.uint64(factor)
    return numbers ^ (numbers >> np.uint64(31))
