"""Training rows and held-out rows of gradient boosting."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from numbers import Integral
from typing import TYPE_CHECKING

import numpy as np
from sklearn.model_selection import train_test_split

from mddf._base.validation import naming
from mddf._binning.binned_table import BinnedTable
from mddf._binning.column_table import ColumnTable
from mddf._binning.encoded_rows import CategoryLevels
from mddf._gradient.losses import ClassificationTarget, TargetKind
from mddf._gradient.repeats import Repeats, copies_of, feature_hashes, keys_of_copies
from mddf._gradient.target_statistics import AllRows, Encoding, TargetStatistics
from mddf._gradient.trees import BoostedTrees
from mddf._resampling.sampling import hashes_with

if TYPE_CHECKING:
    from typing import Self

# Rows whose codes are read together, so that a table in a file is never in memory as a whole: 13
# MB with 50 columns. Each reads 64 pages of a column in the file. Not tuned.
_ROWS_AT_A_TIME = 2**18


@dataclass(frozen=True)
class Units:
    """Training rows in units, each of which is held out as a whole."""

    rows: BoostingRows  # their table repeats rows of whole weight if single rows are units
    unit: np.ndarray  # unit of each training row

    @cached_property
    def n_units(self) -> int:
        return int(self.unit.max()) + 1 if len(self.unit) else 0

    @property
    def are_rows(self) -> bool:
        """Whether each row is a unit."""
        return self.n_units == len(self.unit)

    def n_among(self, rows: np.ndarray) -> int:
        """Number of units among some rows of the table."""
        is_among = np.zeros(self.rows.table.n_rows, bool)
        is_among[rows] = True
        return len(np.unique(self.unit[is_among[self.rows.train]]))

    def first_rows(self) -> np.ndarray:
        """First training row of each unit, ascending."""
        _, first = np.unique(self.unit, return_index=True)
        return self.rows.train[np.sort(first)]

    def folds(self, n_folds: int, labels: bool) -> list[tuple[np.ndarray, np.ndarray]] | None:
        """Split the training rows into folds; return (train, held out) of each fold.

        The split depends on the content of rows, not on their order. If `y` has labels, the folds
        are stratified, and a label whose rows all are in one fold is never held out. The result is
        None if a fold would be empty.
        """
        train = self.rows.train
        unit = self.unit
        keys = self.rows.keys[train]
        row_y = self.rows.y[train]
        y = row_y if row_y.ndim == 1 else row_y[:, 0]
        if self.are_rows and len(np.unique(keys)) < len(keys):
            # Equal rows are dealt at random: each fold would otherwise have the same share of
            # them, so that their noise would be known.
            keys = keys_of_copies(keys)
        first = np.lexsort((keys, y, unit))  # the first row of a unit represents it
        first = first[np.flatnonzero(np.diff(unit[first], prepend=-1))]
        keys = keys[first][unit]
        y = y[first][unit]
        order = np.lexsort((keys, y)) if labels else np.argsort(keys, kind="stable")
        is_new = np.append(True, np.diff(keys[order].view(np.int64)) != 0)
        number = np.cumsum(is_new) - 1
        fold = np.empty(len(keys), np.int64)
        fold[order] = number % n_folds
        if labels:
            row_label = row_y.astype(int)
            n_labels = row_label.max() + 1
            # Rows of a label that is in one fold only are training rows of all folds.
            first_fold = np.full(n_labels, n_folds)
            last_fold = np.full(n_labels, -1)
            np.minimum.at(first_fold, row_label, fold)
            np.maximum.at(last_fold, row_label, fold)
            is_in_one_fold = (first_fold == last_fold)[row_label]
            always_train = np.zeros(self.n_units, bool)
            always_train[unit[is_in_one_fold]] = True
            fold[always_train[unit]] = n_folds
        if np.any(np.bincount(fold, minlength=n_folds)[:n_folds] == 0):
            return None
        return [(train[fold != k], train[fold == k]) for k in range(n_folds)]


@dataclass(frozen=True)
class BoostingRows:
    """A binned table with targets and weights, split into training rows and held-out rows."""

    table: BinnedTable | ColumnTable
    y: np.ndarray  # (n_rows,) or (n_rows, n_outputs), float64
    weights: np.ndarray | None  # (n_rows,)
    train: np.ndarray  # int32: rows with a weight above 0, as in `held_out`
    held_out: np.ndarray
    levels: CategoryLevels | None = None  # of the columns with many categories
    offset: np.ndarray | None = None  # (n_rows, n_scores): known parts of the raw predictions
    are_observations: bool = False  # whether equal rows are drawn one by one

    @classmethod
    def from_table(
        cls,
        table: BinnedTable | ColumnTable,
        y: np.ndarray,
        weights: np.ndarray | None,
        levels: CategoryLevels | None = None,
        offset: np.ndarray | None = None,
    ) -> BoostingRows:
        """Take all rows with a weight above 0 as training rows."""
        train = _rows_with_weight(table.n_rows, weights)
        none = np.zeros(0, np.int32)
        return cls(table, y, weights, train.astype(np.int32), none, levels, offset)

    @property
    def train_weights(self) -> np.ndarray | None:
        return None if self.weights is None else self.weights[self.train]

    @property
    def held_out_weights(self) -> np.ndarray | None:
        return None if self.weights is None else self.weights[self.held_out]

    @property
    def n_rows_of_table(self) -> int:
        """Number of rows of the table, of all shards if there are several."""
        return int(self.division.gathered(np.array([self.table.n_rows])).sum())

    @property
    def division(self) -> AllRows:
        """What other processes have of the rows; see `ShardRows`."""
        return AllRows()

    @property
    def exchange(self) -> object | None:
        """Communicator with the processes that have the other rows; see `ShardRows`."""
        return None

    @property
    def any_held_out(self) -> bool:
        return bool(self.division.gathered(np.array([len(self.held_out)])).any())

    def least_loss(self, target: TargetKind) -> float:
        """Mean loss of exact predictions of the training rows."""
        return target.least_loss(self.y[self.train], self.train_weights)

    @cached_property
    def row_keys(self) -> np.ndarray:
        """Hashes of the features: uint64 of shape (n_rows,)."""
        hashes = [feature_hashes(self.table.codes_of(rows), None) for rows in self._slices()]
        return np.concatenate(hashes) if hashes else np.zeros(0, np.uint64)

    def raw_of(self, trees: BoostedTrees, n_jobs: int | None) -> np.ndarray:
        """Raw predictions of all rows of the table: float64 of shape (n_rows, n_scores)."""
        raw = np.tile(trees.start, (self.table.n_rows, 1))
        for rows in self._slices():
            trees.raw(self.table.codes_of(rows), n_jobs, out=raw[rows])
        return raw

    def _slices(self) -> list[slice]:
        """Ranges of rows of the table that are read together."""
        starts = range(0, self.table.n_rows, _ROWS_AT_A_TIME)
        return [slice(first, first + _ROWS_AT_A_TIME) for first in starts]

    @cached_property
    def keys(self) -> np.ndarray:
        """Hashes of features, target and offset, by which rows are drawn: uint64 (n_rows,)."""
        # Ranks of the targets, so that the unit of the targets does not matter.
        ranks = [
            np.searchsorted(np.unique(column[self.train]), column)
            for column in self._targets_and_offsets.T
        ]
        return hashes_with(self.row_keys, np.column_stack(ranks).astype(np.int64))

    @cached_property
    def draw_keys(self) -> np.ndarray:
        """Keys of rows, by which trees draw them: uint64 (n_rows,).

        Copies of a row have the same key. Observations have different keys: the few kinds of rows
        of a table with few combinations would otherwise be drawn as a whole.
        """
        return keys_of_copies(self.keys) if self.are_observations else self.keys

    @property
    def _targets_and_offsets(self) -> np.ndarray:
        """Numbers that tell rows with the same features apart: shape (n_rows, n).

        An offset that all rows share is not among them, so that it changes no draws.
        """
        targets = self.y.reshape(len(self.y), -1)
        if self.offset is None:
            return targets
        varies = np.any(self.offset != self.offset[:1], axis=0)
        return np.hstack([targets, self.offset[:, varies]])

    @cached_property
    def units(self) -> Units:
        """Units of the training rows that are held out together.

        Copies of a row are a unit. Rows with the same features that are independent observations
        are held out one by one, since a new row is then likely to have features that are known.
        """
        repeats = self._repeats(self.levels)
        if not self._are_observations(repeats):
            return Units(self, repeats.unit)
        copies = repeats.copies(self._targets_and_offsets[self.train])
        if copies is not None and repeats.has_conflicts:
            return Units(self, copies)
        rows = replace(self._expanded(repeats), are_observations=True)
        return Units(rows, np.arange(len(rows.train)))

    def split(self, target: TargetKind, share: float | None, entropy: list[int]) -> BoostingRows:
        """Hold out a share or number of the training rows; None scores the training rows.

        The split is stratified by class, unless a class would have no row on one side. A unit is
        held out as a whole and counts as one.
        """
        if share is None:
            return replace(self, held_out=self.train)
        units = self.units
        rows = units.rows
        train, held_out = rows._split_rows(units.first_rows(), target, share, entropy)
        if units.are_rows:
            return replace(rows, train=train, held_out=held_out)
        is_held_out = np.zeros(self.table.n_rows, bool)
        is_held_out[held_out] = True
        held_out_units = np.zeros(units.n_units, bool)
        held_out_units[units.unit[is_held_out[self.train]]] = True
        in_held_out_unit = held_out_units[units.unit]
        return replace(
            self, train=self.train[~in_held_out_unit], held_out=self.train[in_held_out_unit]
        )

    def _split_rows(
        self, rows: np.ndarray, target: TargetKind, share: float, entropy: list[int]
    ) -> tuple[np.ndarray, np.ndarray]:
        """Draw the rows to hold out; return the other rows and the held-out rows."""
        seed = np.random.SeedSequence(entropy, spawn_key=(1,)).generate_state(1)
        n_held_out = share if isinstance(share, Integral) else np.ceil(share * len(rows))
        labels = None
        if isinstance(target, ClassificationTarget):
            labels = self.y[rows].astype(int)
            counts = np.bincount(labels, minlength=target.n_classes)
            if counts.min() < 2 or n_held_out < target.n_classes:
                labels = None
        with naming("validation_fraction"):
            train, held_out = train_test_split(
                rows, test_size=share, stratify=labels, random_state=int(seed[0])
            )
        return train, held_out

    def _are_observations(self, repeats: Repeats) -> bool:
        """Whether rows with the same features are observations, or a column determines them."""
        if repeats.are_observations(self._n_values):
            return True
        if self.levels is None or not repeats.any_equal:
            return False
        levels = self.levels.take(self.train)
        n_keys = [len(np.unique(levels.keys([place]))) for place in range(len(levels.counts))]
        return any(repeats.is_lookup(n, 1) for n in n_keys)

    def _n_values(self) -> list[int]:
        """Number of different values of each column among the training rows."""
        table = self.table
        n_different = self.division.n_different
        counts = [n_different(table.column(c)[self.train]) for c in range(table.bins.n_columns)]
        if self.levels is not None:
            levels = self.levels.take(self.train)
            for place, column in enumerate(levels.columns):
                counts[column] = n_different(levels.keys([place]))
        return counts

    def _expanded(self, repeats: Repeats) -> BoostingRows:
        """Repeat rows of a whole weight k, in an order that depends on their content.

        If all rows differ and have weight 1, or if there would be too many rows, none is repeated.
        """
        n_copies = copies_of(self.train_weights)
        if n_copies is None and len(np.unique(repeats.hashes)) == len(self.train):
            return self
        train = self.train[np.argsort(repeats.hashes, kind="stable")]
        if n_copies is None:
            return replace(self, train=train)
        assert self.weights is not None
        train = np.repeat(train, self.weights[train].astype(np.int64))
        return BoostingRows(
            self.table.with_rows(train),
            self.y[train],
            np.ones(len(train)),
            np.arange(len(train), dtype=np.int32),
            np.zeros(0, np.int32),
            None if self.levels is None else self.levels.take(train),
            None if self.offset is None else self.offset[train],
        )

    def with_held_out(
        self,
        codes: np.ndarray,
        y: np.ndarray,
        weights: np.ndarray | None,
        levels: CategoryLevels | None = None,
        offset: np.ndarray | None = None,
    ) -> Self:
        """Append the rows of a validation set as held-out rows; a shard may have none."""
        held_out = self.table.n_rows + _rows_with_weight(len(y), weights)
        if self.weights is not None or weights is not None:
            own_weights = np.ones(len(self.y)) if self.weights is None else self.weights
            weights = np.concatenate(
                [own_weights, np.ones(len(y)) if weights is None else weights]
            )
        if self.levels is not None:
            levels = self.levels if levels is None else self.levels.append(levels)
        if self.offset is not None and offset is not None:
            offset = np.vstack([self.offset, offset])
        return replace(
            self,
            table=self.table.followed_by(codes),
            y=np.concatenate([self.y, y]),
            weights=weights,
            held_out=held_out.astype(np.int32),
            levels=levels,
            offset=offset,
        )

    def ordered(
        self, encoding: Encoding, first: int = 0, before: TargetStatistics | None = None
    ) -> tuple[BoostingRows, TargetStatistics]:
        """Copy the training rows for each random order, with target statistics as further columns.

        The rows begin with the order number `first`. Statistics of a fit `before` keep their bins.
        Returns the training rows once for each order, then the held-out rows, and the statistics
        for new rows.
        """
        # A row of weight k is repeated if equal rows are counted.
        train = self.train
        weights = self.train_weights
        all_weights = None if weights is None else self.division.gathered(weights)
        levels = encoding.levels
        repeats = self._repeats(levels)
        sees_equal_rows = encoding.sees_equal_rows(levels.take(train), repeats, self.division)
        sees_equal_rows |= repeats.are_observations(self._n_values)
        n_copies = copies_of(all_weights) if sees_equal_rows.any() else None
        if n_copies is not None:
            assert weights is not None
            repeats = repeats.take(np.repeat(np.arange(len(n_copies)), n_copies))
            train = np.repeat(train, weights.astype(np.int64))
            weights = np.ones(len(train))
            all_weights = np.ones(len(repeats.unit))
        n_orders = encoding.n_copies
        n_train = n_orders * len(train)
        taken = np.concatenate([np.tile(train, n_orders), self.held_out])
        train_codes, statistics = encoding.codes(
            train,
            all_weights,
            repeats,
            sees_equal_rows=sees_equal_rows,
            seeds=encoding.seeds[(np.arange(n_orders) + first) % n_orders],
            division=self.division,
            before=before,
        )
        held_out_codes = statistics.transform(levels.take(self.held_out))
        if self.weights is not None:
            assert weights is not None
            weights = np.concatenate([np.tile(weights, n_orders), self.weights[self.held_out]])
        copies = replace(
            self,
            # Sets of so many levels would fit noise: their columns are cleared.
            table=self.table.with_columns(
                taken, levels.columns, statistics.bins, np.vstack([train_codes, held_out_codes])
            ),
            y=self.y[taken],
            weights=weights,
            train=np.arange(n_train, dtype=np.int32),
            held_out=np.arange(n_train, len(taken), dtype=np.int32),
            levels=None,
            offset=None if self.offset is None else self.offset[taken],
        )
        return copies, statistics

    def _repeats(self, levels: CategoryLevels | None) -> Repeats:
        """Find training rows with the same features, of all processes."""
        hashes = [np.zeros(0, np.uint64)]
        for first in range(0, len(self.train), _ROWS_AT_A_TIME):
            rows = self.train[first : first + _ROWS_AT_A_TIME]
            codes = self.table.codes_of(rows)
            row_levels = None
            if levels is not None:
                row_levels = levels.take(rows)
                codes[:, levels.columns] = 0  # a code may stand for several rare levels
            hashes.append(feature_hashes(codes, row_levels))
        targets = np.ascontiguousarray(self._targets_and_offsets[self.train]).view(np.int64)
        weights = self.train_weights
        gathered = self.division.gathered
        return Repeats.from_hashes(
            gathered(np.concatenate(hashes)),
            gathered(targets),
            None if weights is None else gathered(weights),
            n_columns=self.table.bins.n_columns,
        )


def _rows_with_weight(n_rows: int, weights: np.ndarray | None) -> np.ndarray:
    """Indices of the rows with a weight above 0."""
    return np.arange(n_rows) if weights is None else np.flatnonzero(weights > 0)


def encoding_of(
    rows: BoostingRows, target: TargetKind, entropy: list[int], max_bins: int
) -> Encoding:
    """Settings of the target statistics of rows with levels."""
    assert rows.levels is not None
    values = rows.y
    sizes = None
    if rows.offset is not None:
        values, sizes = target.without_offset(rows.y, rows.offset)
    return Encoding.from_targets(
        rows.levels,
        values,
        target.n_classes,
        entropy,
        max_bins,
        sizes=sizes,
        division=rows.division,
    )
