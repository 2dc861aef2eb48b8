"""Categories of many levels as numbers: what the targets of their rows are in the mean.

A training row's number comes from the rows before it in a random order, so that its own target is
not in it (Prokhorenkova et al., "CatBoost: unbiased boosting with categorical features", 2018).
There are several orders, and for each a copy of the rows with its numbers: trees are grown on one
copy after the other, and each copy keeps raw predictions of its own, since those by other orders
would tell of the target. Other rows get the means of all training rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from mddf._base.serialization import register_serializable
from mddf._binning.bins import Bins, apply_bins, find_bins, join_bins
from mddf._binning.encoded_rows import EncodedRows
from mddf._binning.high_cardinality import CategoryLevels
from mddf._resampling.sampling import row_hashes

# Columns of fewer levels are split by sets.
FEWEST_LEVELS = 32
# Orders, of which there are fewer if rows are more than a fourth of so many.
_MOST_ORDERS, _MANY_COPIES = 4, 2**20
# Columns whose pairs have statistics, those of the most levels; and classes that have, the most
# frequent ones.
_MOST_PAIRED, _MOST_OUTPUTS = 10, 8
# Rows at the mean of all targets that are added to each level.
_PRIOR = 1.0
_MOST_BINS = 128
# Sums of whole numbers up to this power of two are exact.
_EXACT = 52


@dataclass(frozen=True)
class TargetSums:
    """What means are taken of, as whole numbers, whose sums are exact.

    Attributes
    ----------
    sums : ndarray of float64 of shape (n_rows, 1 + n_outputs)
        Weights, and targets times weights.
    units : ndarray of float64 of shape (1 + n_outputs,)
        What the numbers in a column count.
    prior : ndarray of float64 of shape (n_outputs,)
        The mean of all.
    """

    sums: np.ndarray
    units: np.ndarray
    prior: np.ndarray

    @classmethod
    def of(cls, outputs: np.ndarray, weights: np.ndarray | None) -> TargetSums:
        """From targets of shape (n_rows, n_outputs)."""
        weights = np.ones(len(outputs)) if weights is None else weights
        values = np.column_stack([weights, weights[:, None] * outputs])
        most = np.abs(values).sum(axis=0)
        whole = np.all(values == np.rint(values), axis=0) & (most < 2.0**_EXACT)
        exponents = np.where(whole, 0, _EXACT - np.frexp(most)[1])
        sums, units = np.rint(np.ldexp(values, exponents)), np.ldexp(1.0, -exponents)
        total = sums.sum(axis=0) * units
        return cls(sums, units, total[1:] / total[0])

    def means(self, sums: np.ndarray) -> np.ndarray:
        """From sums over rows, and the prior: shape (n, n_outputs)."""
        sums = sums * self.units
        return (sums[:, 1:] + _PRIOR * self.prior) / (sums[:, :1] + _PRIOR)

    def before(self, keys: np.ndarray, order: np.ndarray) -> np.ndarray:
        """Means of those rows of the same key that come before each row in an order."""
        by_key = order[np.argsort(keys[order], kind="stable")]
        sums = self.sums[by_key]
        until = np.cumsum(sums, axis=0) - sums
        starts = np.flatnonzero(np.diff(keys[by_key], prepend=-1))
        until -= np.repeat(until[starts], np.diff(starts, append=len(keys)), axis=0)
        found = np.empty((len(keys), len(self.prior)))
        found[by_key] = self.means(until)
        return found

    def of_all(self, keys: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The different keys in order, and means of their rows; last, what others get."""
        different, places = np.unique(keys, return_inverse=True)
        sums = [np.bincount(places, column, minlength=len(different)) for column in self.sums.T]
        return different, np.vstack([self.means(np.column_stack(sums)), self.prior])


@register_serializable("target statistics")
@dataclass(frozen=True)
class TargetStatistics:
    """Codes of the means of targets: columns that stand to the right of a table's own.

    Attributes
    ----------
    columns : list of int
        Columns of the table that have many levels.
    groups : list of list of int
        Of which of these there are means: of each one, and of pairs.
    keys : list of ndarray of int64
        For each group, those that were seen, in order.
    codes : list of ndarray of uint8 of shape (n_keys + 1, n_outputs)
        For each group; last, of what was not seen.
    bins : Bins
        Of the means.
    """

    columns: list[int]
    groups: list[list[int]]
    keys: list[np.ndarray]
    codes: list[np.ndarray]
    bins: Bins

    @property
    def n_columns(self) -> int:
        """How many columns they are."""
        return self.bins.n_columns

    def transform(self, levels: CategoryLevels) -> np.ndarray:
        """Codes of rows that were not trained on: uint8 of shape (n_rows, n_columns)."""
        found = []
        for group, keys, codes in zip(self.groups, self.keys, self.codes, strict=True):
            found.append(codes[places_of(levels.keys(group), keys)])
        return np.hstack(found)

    def players(self, n_columns: int) -> np.ndarray:
        """For each column of a table and of statistics, the one that tells what it tells.

        The columns of a level's means tell what its own column does, and those of a pair's means
        what the first of them does.
        """
        n_raw, n_outputs = n_columns - self.n_columns, self.codes[0].shape[1]
        of_groups = [
            self.columns[group[0]] if len(group) == 1 else n_raw + at * n_outputs
            for at, group in enumerate(self.groups)
        ]
        return np.concatenate([np.arange(n_raw), np.repeat(of_groups, n_outputs)])

    def shared(self, of_columns: np.ndarray) -> np.ndarray:
        """Amounts of the table's columns; those of statistics go to what they are made of."""
        n_raw, n_outputs = len(of_columns) - self.n_columns, self.codes[0].shape[1]
        found = of_columns[:n_raw].copy()
        amounts = of_columns[n_raw:].reshape(-1, n_outputs, *found.shape[1:]).sum(axis=1)
        for group, amount in zip(self.groups, amounts, strict=True):
            found[[self.columns[place] for place in group]] += amount / len(group)
        return found


@dataclass(frozen=True)
class Encoding:
    """How the levels of a table's rows become statistics.

    Attributes
    ----------
    levels : CategoryLevels
    outputs : ndarray of float64 of shape (n_rows, n_outputs)
        What means are taken of.
    seeds : ndarray of uint64
        One for each order.
    max_bins : int
        Most bins of a column of statistics.
    """

    levels: CategoryLevels
    outputs: np.ndarray
    seeds: np.ndarray
    max_bins: int

    @classmethod
    def of(
        cls, levels: CategoryLevels, y: np.ndarray, n_classes: int, entropy: Any, max_bins: int
    ) -> Encoding:
        """From what is boosted: numbers, with `n_classes` 0, or classes."""
        n_orders = int(np.clip(_MANY_COPIES // len(y), 1, _MOST_ORDERS))
        seeds = np.random.SeedSequence(entropy, spawn_key=(2,)).generate_state(n_orders, np.uint64)
        outputs = y[:, None]
        if n_classes > 2:
            frequent = np.argsort(-np.bincount(y.astype(int)), kind="stable")[:_MOST_OUTPUTS]
            outputs = (outputs == np.sort(frequent)).astype(float)
        return cls(levels, outputs, seeds, min(max_bins, _MOST_BINS))

    @property
    def n_copies(self) -> int:
        """How often the training rows come."""
        return len(self.seeds)

    @property
    def n_columns(self) -> int:
        """How many columns statistics have."""
        return len(self.groups()) * self.outputs.shape[1]

    def groups(self) -> list[list[int]]:
        """See `groups_of`."""
        return groups_of(self.levels)

    def extended(self, monotonic: np.ndarray | None, interactions: np.ndarray | None) -> Any:
        """Constraints of columns, for statistics, too: those of pairs are with both columns."""
        groups, n_outputs = self.groups(), self.outputs.shape[1]
        if monotonic is not None:
            none = np.zeros(len(groups) * n_outputs, np.int8)
            monotonic = np.concatenate([monotonic, none])
        if interactions is not None:
            columns = np.asarray(self.levels.columns)
            within = [interactions[:, columns[group]].all(axis=1) for group in groups]
            more = np.repeat(np.column_stack(within), n_outputs, axis=1)
            interactions = np.ascontiguousarray(np.hstack([interactions, more]), np.uint8)
        return monotonic, interactions

    def codes(
        self,
        train: np.ndarray,
        weights: np.ndarray | None,
        orders: list[np.ndarray],
        before: TargetStatistics | None = None,
    ) -> tuple[np.ndarray, TargetStatistics]:
        """Codes of training rows by each order, and what statistics are for other rows.

        Parameters
        ----------
        train : ndarray of int
        weights : ndarray of float64 of shape (n_train,) or None
        orders : list of ndarray of int
            Of the training rows.
        before : TargetStatistics, default=None
            Of a fit before, by which codes mean what they did.

        Returns
        -------
        codes : ndarray of uint8 of shape (n_orders * n_train, n_columns)
        statistics : TargetStatistics
        """
        levels, outcomes = self.levels.of_rows(train), TargetSums.of(self.outputs[train], weights)
        tiled = None if weights is None else np.tile(weights, len(orders))
        keys_of, coded, codes_of, bins_of = [], [], [], []
        n_outputs = self.outputs.shape[1]
        for at, group in enumerate(self.groups()):
            keys = levels.keys(group)
            means = np.vstack([outcomes.before(keys, order) for order in orders])
            if before is None:
                bins = find_bins(means, sample_weight=tiled, max_bins=self.max_bins)
                different, of_all = outcomes.of_all(keys)
                keys_of.append(different)
                codes_of.append(apply_bins(of_all, bins))
                bins_of.append(bins)
            else:
                bins = before.bins.columns(at * n_outputs, (at + 1) * n_outputs)
            coded.append(apply_bins(means, bins))
        if before is None:
            groups, bins = self.groups(), join_bins(*bins_of)
            before = TargetStatistics(levels.columns, groups, keys_of, codes_of, bins)
        return np.hstack(coded), before


def groups_of(levels: CategoryLevels) -> list[list[int]]:
    """Places among the columns of many levels: each one, and pairs."""
    most = np.sort(np.argsort(-levels.counts, kind="stable")[:_MOST_PAIRED]).tolist()
    pairs = [list(two) for two in combinations(most, 2)]
    return [[place] for place in range(len(levels.counts))] + pairs


def places_of(wanted: np.ndarray, keys: np.ndarray) -> np.ndarray:
    """Where numbers stand among keys in order; behind the last if they are none of them."""
    places = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
    return np.where(keys[places] == wanted, places, len(keys))


def with_statistics(rows: EncodedRows, statistics: TargetStatistics | None) -> np.ndarray:
    """Codes of rows as trees see them that were grown beside statistics."""
    if statistics is None:
        return rows.codes
    assert rows.levels is not None
    return np.hstack([rows.codes, statistics.transform(rows.levels)])


def random_orders(
    codes: np.ndarray,
    levels: CategoryLevels,
    y: np.ndarray,
    seeds: np.ndarray,
    weights: np.ndarray | None = None,
) -> Iterator[np.ndarray]:
    """Orders of rows that depend on what these hold, and not on where they stand."""
    content = np.hstack([codes, levels.numbers.view(np.uint8)])
    hashes = row_hashes(content, y.view(np.int64)[:, None])
    by_content = np.lexsort((hashes,) if weights is None else (weights, hashes))
    hashes = hashes[by_content]
    starts = np.flatnonzero(np.append(True, hashes[1:] != hashes[:-1]))
    copy = np.arange(len(y)) - np.repeat(starts, np.diff(starts, append=len(y)))
    for seed in seeds:
        mixed = hashes + (copy.astype(np.uint64) + seed) * np.uint64(0x9E3779B97F4A7C15)
        for factor in (0xBF58476D1CE4E5B9, 0x94D049BB133111EB):
            mixed ^= mixed >> np.uint64(30)
            mixed *= np.uint64(factor)
        yield by_content[np.argsort(mixed ^ (mixed >> np.uint64(31)), kind="stable")]
