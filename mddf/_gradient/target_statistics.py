"""Ordered target statistics: categories are encoded by their mean target.

The mean of a training row is taken over the rows before it in a random order, so that it does not
contain the row's own target (Prokhorenkova et al., "CatBoost: unbiased boosting with categorical
features", 2018). Copies of a row share one place in the order, so that no copy contains the target
of another one.

There are several orders, and a copy of the training rows for each. Trees are grown on the copies
in turn. Each copy has its own raw predictions, since the predictions of other orders contain the
target. New rows get the means over all training rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from math import fsum

import numpy as np

from mddf._base.serialization import register_serializable
from mddf._binning.bins import Bins, apply_bins, find_bins, join_bins
from mddf._binning.encoded_rows import CategoryLevels, EncodedRows
from mddf._gradient.repeats import Repeats
from mddf._targets.weights import whole_weights

# Fewest levels of a column with statistics; columns with fewer are split by sets of levels. If
# each level has a code, held-out rows choose between both. On made tables with 60 or 200 levels,
# sets had 0.25 to 0.8 times the excess loss of statistics if levels mattered much, and up to 6
# times as much if they did not matter. The number is not tuned.
FEWEST_LEVELS = 32
# There are four random orders, but fewer if the copies would have more than 2**20 rows together,
# which bounds memory. Not tuned.
_MAX_ORDERS = 4
_MAX_COPIED_ROWS = 2**20
# Pairs of the ten columns with the most levels have statistics: at most 45 pairs. Not tuned.
_MAX_PAIRED_COLUMNS = 10
# Only the eight most frequent classes, or the first eight targets, have statistics, which bounds
# the number of columns. Not tuned.
_MAX_OUTPUTS = 8
# Weight of the mean of all targets in the mean of a level, in rows. CatBoost has the same default.
_PRIOR = 1.0
# Largest number of bins of a column of statistics: half of the codes of a byte. Not tuned.
_MAX_BINS = 128
# Doubles hold whole numbers up to 2^53 exactly; one bit is left for a sum.
_EXACT = 52


@dataclass(frozen=True)
class TargetSums:
    """Weights and weighted targets as whole numbers, whose sums are exact in any order.

    If rows have sizes, the weight of a row is multiplied by its size, and its targets are not.
    """

    sums: np.ndarray  # (n_rows, 1 + n_outputs): weights, and targets times weights
    units: np.ndarray  # (1 + n_outputs,): value of 1 in each column of `sums`
    prior: np.ndarray  # (n_outputs,): mean of all targets

    @classmethod
    def from_outputs(
        cls, outputs: np.ndarray, weights: np.ndarray | None, sizes: np.ndarray | None = None
    ) -> TargetSums:
        """Convert targets of shape (n_rows, n_outputs)."""
        weights = np.ones(len(outputs)) if weights is None else weights
        sizes = np.ones(len(outputs)) if sizes is None else sizes
        values = np.column_stack([weights * sizes, weights[:, None] * outputs])
        most = np.abs(values).sum(axis=0)
        is_whole = np.all(values == np.rint(values), axis=0) & (most < 2.0**_EXACT)
        exponents = np.where(is_whole, 0, _EXACT - np.frexp(most)[1])
        if whole_weights(weights):
            # Targets are rounded before they are multiplied by the weight k, so that the result is
            # exactly k times the target of one row.
            once = np.column_stack([sizes, outputs])
            sums = np.rint(np.ldexp(once, exponents)) * weights[:, None]
        else:
            sums = np.rint(np.ldexp(values, exponents))
        units = np.ldexp(1.0, -exponents)
        total = sums.sum(axis=0) * units
        return cls(sums, units, total[1:] / total[0])

    def means(self, sums: np.ndarray) -> np.ndarray:
        """Means, of shape (n, n_outputs), from sums over rows and the prior."""
        sums = sums * self.units
        return (sums[:, 1:] + _PRIOR * self.prior) / (sums[:, :1] + _PRIOR)

    def before(
        self, keys: np.ndarray, order: np.ndarray, unit: np.ndarray | None = None
    ) -> np.ndarray:
        """Mean over the earlier rows with the same key, for each row in an order.

        Rows with the same `unit` are adjacent, and all have the mean of the first of them.
        """
        by_key = order[np.argsort(keys[order], kind="stable")]
        sums = self.sums[by_key]
        until = np.cumsum(sums, axis=0) - sums
        starts = np.flatnonzero(np.diff(keys[by_key], prepend=-1))
        until -= np.repeat(until[starts], np.diff(starts, append=len(keys)), axis=0)
        if unit is not None:
            starts = np.flatnonzero(np.diff(unit[by_key], prepend=-1))
            until = np.repeat(until[starts], np.diff(starts, append=len(keys)), axis=0)
        means = np.empty((len(keys), len(self.prior)))
        means[by_key] = self.means(until)
        return means

    def all_means(self, keys: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Distinct keys, ascending, and the means of their rows; the last mean is the prior."""
        different, places = np.unique(keys, return_inverse=True)
        sums = [np.bincount(places, column, minlength=len(different)) for column in self.sums.T]
        return different, np.vstack([self.means(np.column_stack(sums)), self.prior])


@dataclass(frozen=True)
class GroupStatistics:
    """Statistics of one group of columns."""

    keys: np.ndarray  # as in `TargetStatistics`
    codes: np.ndarray
    bins: Bins


# Makes codes of all rows and statistics of a group of columns, from its number and the rows' keys.
GroupEncoder = Callable[[int, np.ndarray], tuple[np.ndarray, GroupStatistics]]


class AllRows:
    """Training rows that are all in this process."""

    def gathered(self, values: np.ndarray) -> np.ndarray:
        """Values of the rows of all processes, in the order of the rows."""
        return values

    def n_different(self, values: np.ndarray) -> int:
        """Number of different values among the rows of all processes."""
        return len(np.unique(self.gathered(np.unique(values))))

    def encoded_groups(
        self, n_groups: int, keys_of: Callable[[int], np.ndarray], encode: GroupEncoder
    ) -> Iterator[tuple[np.ndarray, GroupStatistics]]:
        """Encode each group of columns by the keys of all rows.

        Yields the codes of the rows of this process, of shape (n_orders, n_rows, n_outputs), and
        the statistics.
        """
        for group in range(n_groups):
            yield encode(group, keys_of(group))


@register_serializable("target statistics")
@dataclass(frozen=True)
class TargetStatistics:
    """Fitted target statistics: codes of mean targets, in columns after the features."""

    columns: list[int]  # columns of the table with many levels
    groups: list[list[int]]  # single columns and pairs, as positions in `columns`
    keys: list[np.ndarray]  # keys of the training rows for each group, ascending, int64
    # For each group, (n_keys + 1, n_outputs) of uint8; the last row is for unknown keys.
    codes: list[np.ndarray]
    bins: Bins  # bins of the means

    @property
    def n_columns(self) -> int:
        return self.bins.n_columns

    def transform(self, levels: CategoryLevels) -> np.ndarray:
        """Codes of new rows: uint8 of shape (n_rows, n_columns).

        The levels may be of more columns, which are split by sets.
        """
        if levels.columns != self.columns:
            levels = levels.among(self.columns)
        return np.hstack(
            [
                codes[key_places(levels.keys(group), keys)]
                for group, keys, codes in zip(self.groups, self.keys, self.codes, strict=True)
            ]
        )

    def players(self, n_columns: int) -> np.ndarray:
        """Player of each column of the table and of each statistic, for Shapley values.

        Statistics of one column belong to the player of that column. Statistics of a pair are a
        separate player.
        """
        n_raw = n_columns - self.n_columns
        n_outputs = self.codes[0].shape[1]
        group_players = [
            self.columns[group[0]] if len(group) == 1 else n_raw + position * n_outputs
            for position, group in enumerate(self.groups)
        ]
        return np.concatenate([np.arange(n_raw), np.repeat(group_players, n_outputs)])

    def shared(self, column_amounts: np.ndarray) -> np.ndarray:
        """Amount of each column of the table; a pair shares its amount equally."""
        n_raw = len(column_amounts) - self.n_columns
        n_outputs = self.codes[0].shape[1]
        amounts = column_amounts[:n_raw].copy()
        statistics = column_amounts[n_raw:].reshape(-1, n_outputs, *amounts.shape[1:]).sum(axis=1)
        for group, amount in zip(self.groups, statistics, strict=True):
            amounts[[self.columns[position] for position in group]] += amount / len(group)
        return amounts


@dataclass(frozen=True)
class Encoding:
    """Settings of target statistics, and the levels and targets of all rows."""

    levels: CategoryLevels
    outputs: np.ndarray  # (n_rows, n_outputs): targets, or indicators of classes
    seeds: np.ndarray  # uint64, one for each order
    max_bins: int  # largest number of bins of a column of statistics
    # (n_rows,): sizes of rows, by whose sum the sum of outputs is divided; None for 1 each
    sizes: np.ndarray | None = None

    @classmethod
    def from_targets(
        cls,
        levels: CategoryLevels,
        y: np.ndarray,
        n_classes: int,
        entropy: Sequence[int],
        max_bins: int,
        *,
        sizes: np.ndarray | None = None,
        division: AllRows | None = None,
    ) -> Encoding:
        """Choose the orders, and the outputs from targets (`n_classes` is 0) or class numbers."""
        division = division or AllRows()
        n_rows = int(division.gathered(np.array([len(y)])).sum())
        n_orders = int(np.clip(_MAX_COPIED_ROWS // n_rows, 1, _MAX_ORDERS))
        seeds = np.random.SeedSequence(entropy, spawn_key=(2,)).generate_state(n_orders, np.uint64)
        # Of several targets, the first ones have statistics.
        outputs = y[:, None] if y.ndim == 1 else y[:, :_MAX_OUTPUTS]
        if n_classes > 2:
            own_counts = np.bincount(y.astype(int), minlength=n_classes)
            counts = division.gathered(own_counts[None]).sum(axis=0)
            frequent = np.argsort(-counts, kind="stable")[:_MAX_OUTPUTS]
            outputs = (outputs == np.sort(frequent)).astype(float)
        return cls(levels, outputs, seeds, min(max_bins, _MAX_BINS), sizes)

    @property
    def n_copies(self) -> int:
        """Number of copies of the training rows."""
        return len(self.seeds)

    @property
    def n_columns(self) -> int:
        return len(self.groups()) * self.outputs.shape[1]

    def groups(self) -> list[list[int]]:
        return groups_of(self.levels)

    def without_coded(self, max_codes: int) -> Encoding | None:
        """Settings without the columns whose levels all have codes; None if no column is left."""
        is_left = self.levels.counts > max_codes
        if not is_left.any():
            return None
        columns = np.asarray(self.levels.columns)[is_left].tolist()
        return replace(self, levels=self.levels.among(columns))

    def extended(
        self, monotonic: np.ndarray | None, interactions: np.ndarray | None
    ) -> tuple[np.ndarray | None, np.ndarray | None]:
        """Extend constraints to statistics; a pair may interact where both of its columns may."""
        groups = self.groups()
        n_outputs = self.outputs.shape[1]
        if monotonic is not None:
            unconstrained = np.zeros(len(groups) * n_outputs, np.int8)
            monotonic = np.concatenate([monotonic, unconstrained])
        if interactions is not None:
            columns = np.asarray(self.levels.columns)
            pair_allowed = [interactions[:, columns[group]].all(axis=1) for group in groups]
            added = np.repeat(np.column_stack(pair_allowed), n_outputs, axis=1)
            interactions = np.ascontiguousarray(np.hstack([interactions, added]), np.uint8)
        return monotonic, interactions

    def sees_equal_rows(
        self, levels: CategoryLevels, repeats: Repeats, division: AllRows
    ) -> np.ndarray:
        """Whether the means of each group count rows with equal features (which are no copies)."""
        groups = self.groups()
        if not repeats.any_equal and repeats.n_samples == len(repeats.unit):
            return np.zeros(len(groups), bool)
        if repeats.has_conflicts:
            return np.ones(len(groups), bool)
        n_keys = [division.n_different(levels.keys(group)) for group in groups]
        return np.array(
            [repeats.is_lookup(n, len(group)) for n, group in zip(n_keys, groups, strict=True)]
        )

    def codes(
        self,
        rows: np.ndarray,
        weights: np.ndarray | None,
        repeats: Repeats,
        *,
        sees_equal_rows: np.ndarray,
        seeds: np.ndarray,
        division: AllRows,
        before: TargetStatistics | None = None,
    ) -> tuple[np.ndarray, TargetStatistics]:
        """Codes of training rows in each order, and statistics for new rows.

        The rows may be repeated. The codes are uint8 of shape (n_orders * n_rows, n_columns).
        There is a seed for each order. If `before` has the statistics of an earlier fit, its bins
        and means are kept. `rows` are those of this process; `weights` and `repeats` are of the
        rows of all processes.
        """
        levels = self.levels.take(rows)
        sizes = None
        if self.sizes is not None:
            # The prior counts as much as a row of the mean size. The sum is exact, so that it does
            # not depend on the order of the rows or the processor.
            sizes = division.gathered(self.sizes[rows])
            sizes = sizes / (fsum(sizes) / len(sizes))
        outputs = division.gathered(self.outputs[rows])
        target_sums = TargetSums.from_outputs(outputs, weights, sizes)
        tiled_weights = None if weights is None else np.tile(weights, len(seeds))
        n_outputs = outputs.shape[1]
        row_orders = list(repeats.row_orders(seeds, weights)) if sees_equal_rows.any() else []
        unit_orders = list(repeats.unit_orders(seeds)) if not sees_equal_rows.all() else []
        groups = self.groups()

        def encode(position: int, keys: np.ndarray) -> tuple[np.ndarray, GroupStatistics]:
            if sees_equal_rows[position]:
                means = [target_sums.before(keys, order) for order in row_orders]
            else:
                means = [target_sums.before(keys, order, repeats.unit) for order in unit_orders]
            train_means = np.vstack(means)
            if before is None:
                bins = find_bins(train_means, sample_weight=tiled_weights, max_bins=self.max_bins)
                distinct_keys, key_means = target_sums.all_means(keys)
                statistics = GroupStatistics(distinct_keys, apply_bins(key_means, bins), bins)
            else:
                bins = before.bins.columns(position * n_outputs, (position + 1) * n_outputs)
                statistics = GroupStatistics(before.keys[position], before.codes[position], bins)
            codes = apply_bins(train_means, bins)
            return codes.reshape(len(seeds), -1, n_outputs), statistics

        encoded = division.encoded_groups(
            len(groups), lambda place: levels.keys(groups[place]), encode
        )
        codes, statistics = zip(*encoded, strict=True)
        if before is None:
            before = TargetStatistics(
                levels.columns,
                groups,
                [group.keys for group in statistics],
                [group.codes for group in statistics],
                join_bins(*(group.bins for group in statistics)),
            )
        all_codes = np.concatenate(codes, axis=2)
        return all_codes.reshape(-1, all_codes.shape[2]), before


def groups_of(levels: CategoryLevels) -> list[list[int]]:
    """Groups of columns with statistics: single columns, then pairs.

    A group has positions among the columns with many levels.
    """
    paired = np.sort(np.argsort(-levels.counts, kind="stable")[:_MAX_PAIRED_COLUMNS]).tolist()
    pairs = [list(pair) for pair in combinations(paired, 2)]
    return [[place] for place in range(len(levels.counts))] + pairs


def key_places(numbers: np.ndarray, keys: np.ndarray) -> np.ndarray:
    """Position of each number among ascending keys; `len(keys)` if it is not a key."""
    places = np.minimum(np.searchsorted(keys, numbers), len(keys) - 1)
    return np.where(keys[places] == numbers, places, len(keys))


def with_statistics(rows: EncodedRows, statistics: TargetStatistics | None) -> np.ndarray:
    """Codes of rows, followed by the codes of their statistics if there are any."""
    if statistics is None:
        return rows.codes
    assert rows.levels is not None
    return np.hstack([rows.codes, statistics.transform(rows.levels)])
