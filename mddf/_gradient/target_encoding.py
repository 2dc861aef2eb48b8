"""Categories of many levels as numbers: what the targets of their rows are in the mean.

A training row's number comes from the rows before it in a random order, so that its own target is
not in it (Prokhorenkova et al., "CatBoost: unbiased boosting with categorical features", 2018).
Rows that are copies of each other share one place in the order, so that no copy sees the target of
another one.
There are several orders, and for each a copy of the rows with its numbers: trees are grown on one
copy after the other, and each copy keeps raw predictions of its own, since those by other orders
would tell of the target. Other rows get the means of all training rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from mddf._base.serialization import register_serializable
from mddf._binning.bins import Bins, apply_bins, find_bins, join_bins
from mddf._binning.encoded_rows import EncodedRows
from mddf._binning.high_cardinality import CategoryLevels
from mddf._gradient.repeats import Repeats
from mddf._targets.weights import whole_weights

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
    def from_outputs(cls, outputs: np.ndarray, weights: np.ndarray | None) -> TargetSums:
        """From targets of shape (n_rows, n_outputs)."""
        weights = np.ones(len(outputs)) if weights is None else weights
        values = np.column_stack([weights, weights[:, None] * outputs])
        most = np.abs(values).sum(axis=0)
        whole = np.all(values == np.rint(values), axis=0) & (most < 2.0**_EXACT)
        exponents = np.where(whole, 0, _EXACT - np.frexp(most)[1])
        if whole_weights(weights):
            # Rounded before it is multiplied, a target counts k times exactly.
            once = np.column_stack([np.ones(len(outputs)), outputs])
            sums = np.rint(np.ldexp(once, exponents)) * weights[:, None]
        else:
            sums = np.rint(np.ldexp(values, exponents))
        units = np.ldexp(1.0, -exponents)
        total = sums.sum(axis=0) * units
        return cls(sums, units, total[1:] / total[0])

    def means(self, sums: np.ndarray) -> np.ndarray:
        """From sums over rows, and the prior: shape (n, n_outputs)."""
        sums = sums * self.units
        return (sums[:, 1:] + _PRIOR * self.prior) / (sums[:, :1] + _PRIOR)

    def before(
        self, keys: np.ndarray, order: np.ndarray, unit: np.ndarray | None = None
    ) -> np.ndarray:
        """Means of those rows of the same key that come before each row in an order.

        Rows of the same `unit`, which stand next to each other, share the place of the first.
        """
        by_key = order[np.argsort(keys[order], kind="stable")]
        sums = self.sums[by_key]
        until = np.cumsum(sums, axis=0) - sums
        starts = np.flatnonzero(np.diff(keys[by_key], prepend=-1))
        until -= np.repeat(until[starts], np.diff(starts, append=len(keys)), axis=0)
        if unit is not None:
            starts = np.flatnonzero(np.diff(unit[by_key], prepend=-1))
            until = np.repeat(until[starts], np.diff(starts, append=len(keys)), axis=0)
        found = np.empty((len(keys), len(self.prior)))
        found[by_key] = self.means(until)
        return found

    def all_means(self, keys: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
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
class TrainingRows:
    """The rows that statistics are made from.

    Attributes
    ----------
    rows : ndarray of int of shape (n_train,)
        Rows of the table; one may come several times.
    weights : ndarray of float64 of shape (n_train,) or None
    repeats : Repeats
        Which of them hold the same features.
    sees_equal_rows : ndarray of bool
        See `Encoding.sees_equal_rows`.
    """

    rows: np.ndarray
    weights: np.ndarray | None
    repeats: Repeats
    sees_equal_rows: np.ndarray


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
    def from_targets(
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

    def sees_equal_rows(self, levels: CategoryLevels, repeats: Repeats) -> np.ndarray:
        """For each group of columns, whether rows count that hold the same features.

        They do not count if they are copies of a row.
        """
        groups = self.groups()
        if not repeats.any_equal and repeats.n_samples == len(repeats.unit):
            return np.zeros(len(groups), bool)
        if repeats.conflict:
            return np.ones(len(groups), bool)
        n_keys = [len(np.unique(levels.keys(group))) for group in groups]
        return np.array(
            [repeats.is_lookup(n, len(group)) for n, group in zip(n_keys, groups, strict=True)]
        )

    def codes(
        self,
        training: TrainingRows,
        seeds: np.ndarray,
        before: TargetStatistics | None = None,
    ) -> tuple[np.ndarray, TargetStatistics]:
        """Codes of training rows by each order, and what statistics are for other rows.

        Parameters
        ----------
        training : TrainingRows
        seeds : ndarray of uint64
            One for each order.
        before : TargetStatistics, default=None
            Of a fit before, by which codes mean what they did.

        Returns
        -------
        codes : ndarray of uint8 of shape (n_orders * n_train, n_columns)
        statistics : TargetStatistics
        """
        levels = self.levels.take(training.rows)
        weights, repeats = training.weights, training.repeats
        outcomes = TargetSums.from_outputs(self.outputs[training.rows], weights)
        tiled = None if weights is None else np.tile(weights, len(seeds))
        keys_of, coded, codes_of, bins_of = [], [], [], []
        n_outputs = self.outputs.shape[1]
        sees_equal = training.sees_equal_rows
        row_orders = list(repeats.row_orders(seeds, weights)) if sees_equal.any() else []
        unit_orders = list(repeats.unit_orders(seeds)) if not sees_equal.all() else []
        for at, group in enumerate(self.groups()):
            keys = levels.keys(group)
            if sees_equal[at]:
                means = [outcomes.before(keys, order) for order in row_orders]
            else:
                means = [outcomes.before(keys, order, repeats.unit) for order in unit_orders]
            stacked = np.vstack(means)
            if before is None:
                bins = find_bins(stacked, sample_weight=tiled, max_bins=self.max_bins)
                different, of_all = outcomes.all_means(keys)
                keys_of.append(different)
                codes_of.append(apply_bins(of_all, bins))
                bins_of.append(bins)
            else:
                bins = before.bins.columns(at * n_outputs, (at + 1) * n_outputs)
            coded.append(apply_bins(stacked, bins))
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
