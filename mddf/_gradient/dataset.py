"""The rows that gradient boosting is trained on and those that are held out."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.model_selection import train_test_split

from mddf._base.validation import naming
from mddf._binning.binned_table import BinnedTable, coded_table
from mddf._binning.bins import join_bins
from mddf._binning.high_cardinality import CategoryLevels
from mddf._gradient.losses import Labels
from mddf._gradient.repeats import Repeats, copies_of
from mddf._gradient.target_encoding import Encoding, TargetStatistics, TrainingRows
from mddf._resampling.sampling import hashes_with, row_hashes

# Of fewer combinations of features, a tenth is less than ten: too few to tell when to stop.
_FEWEST_UNITS = 100


@dataclass(frozen=True)
class Rows:
    """A coded table, what is boosted, and on which rows.

    Attributes
    ----------
    table : BinnedTable
    y : ndarray of float64 of shape (n_rows,)
    weights : ndarray of float64 of shape (n_rows,) or None
    train, held_out : ndarray of int32
        Of weight above 0.
    levels : CategoryLevels or None
        Of the columns of many categories.
    """

    table: BinnedTable
    y: np.ndarray
    weights: np.ndarray | None
    train: np.ndarray
    held_out: np.ndarray
    levels: CategoryLevels | None = None

    @classmethod
    def of(
        cls,
        table: BinnedTable,
        y: np.ndarray,
        weights: np.ndarray | None,
        levels: CategoryLevels | None = None,
    ) -> Rows:
        """All rows that have weight are trained on."""
        train = np.arange(table.n_rows) if weights is None else np.flatnonzero(weights > 0)
        return cls(table, y, weights, train.astype(np.int32), np.zeros(0, np.int32), levels)

    @property
    def train_weights(self) -> np.ndarray | None:
        """Weights of the training rows."""
        return None if self.weights is None else self.weights[self.train]

    @cached_property
    def row_keys(self) -> np.ndarray:
        """Of what rows hold but for their targets: uint64 of shape (n_rows,)."""
        return row_hashes(self.table.codes, np.zeros((self.table.n_rows, 0), np.int64))

    @cached_property
    def keys(self) -> np.ndarray:
        """Of what rows hold, by which they are drawn: uint64 of shape (n_rows,)."""
        ranks = np.searchsorted(np.unique(self.y[self.train]), self.y)  # whatever its unit is
        return hashes_with(self.row_keys, ranks.astype(np.int64)[:, None])

    def folds(self, n_folds: int, labels: bool) -> list[tuple[np.ndarray, np.ndarray]] | None:
        """Parts of the training rows to train on, and those held out, by what rows hold.

        Equal rows are in one fold, whatever their targets; if `y` has labels, each fold has its
        share of each. Rows that hold all there is of a label are never held out. None if a fold
        would be empty.
        """
        keys, y = self.keys[self.train], self.y[self.train]
        _, group = np.unique(self.row_keys[self.train], return_inverse=True)
        first = np.lexsort((keys, y, group))  # of the rows of a group, the first stands for all
        first = first[np.flatnonzero(np.diff(group[first], prepend=-1))]
        keys, y = keys[first][group], y[first][group]
        order = np.lexsort((keys, y)) if labels else np.argsort(keys, kind="stable")
        is_new = np.append(True, np.diff(keys[order].view(np.int64)) != 0)
        number = np.cumsum(is_new) - 1
        fold = np.empty(len(keys), np.int64)
        fold[order] = number % n_folds
        if labels:
            of_label = self.y[self.train].astype(int)
            n_labels = of_label.max() + 1
            least, most = np.full(n_labels, n_folds), np.full(n_labels, -1)
            np.minimum.at(least, of_label, fold)
            np.maximum.at(most, of_label, fold)
            alone = (least == most)[of_label]
            stays = np.zeros(group.max() + 1, bool)
            stays[group[alone]] = True
            fold[stays[group]] = n_folds
        if np.any(np.bincount(fold, minlength=n_folds)[:n_folds] == 0):
            return None
        return [(self.train[fold != k], self.train[fold == k]) for k in range(n_folds)]

    def split(self, target: Any, share: Any, entropy: list[int]) -> Rows:
        """With some of the training rows held out: a share or number of them, or None for all.

        Classes have their shares, unless one of them would have no row on a side. Rows that hold
        the same features are held out together and count as one. Where few combinations of
        features exist, rows are split one by one, and a row of weight k as k rows.
        """
        if share is None:
            return replace(self, held_out=self.train)
        repeats = self._repeats(self.levels)
        if self._is_split_by_row(repeats):
            rows = self._expanded(repeats)
            train, held_out = rows._split_rows(rows.train, target, share, entropy)
            return replace(rows, train=train, held_out=held_out)
        if not repeats.any_equal:
            train, held_out = self._split_rows(self.train, target, share, entropy)
            return replace(self, train=train, held_out=held_out)
        first = self.train[repeats.first_rows()]
        _, held_out = self._split_rows(first, target, share, entropy)
        is_held_out = np.zeros(self.table.n_rows, bool)
        is_held_out[held_out] = True
        held_out_units = np.zeros(repeats.n_units, bool)
        held_out_units[repeats.unit[is_held_out[self.train]]] = True
        of_train = held_out_units[repeats.unit]
        return replace(self, train=self.train[~of_train], held_out=self.train[of_train])

    def _split_rows(
        self, rows: np.ndarray, target: Any, share: Any, entropy: list[int]
    ) -> tuple[np.ndarray, np.ndarray]:
        """Some rows to train on, and others."""
        seed = np.random.SeedSequence(entropy, spawn_key=(1,)).generate_state(1)
        n_held_out = share if isinstance(share, Integral) else np.ceil(share * len(rows))
        labels = None
        if isinstance(target, Labels):
            labels = self.y[rows].astype(int)
            counts = np.bincount(labels, minlength=target.n_classes)
            if counts.min() < 2 or n_held_out < target.n_classes:
                labels = None
        with naming("validation_fraction"):
            train, others = train_test_split(
                rows, test_size=share, stratify=labels, random_state=int(seed[0])
            )
        return train, others

    def _is_split_by_row(self, repeats: Repeats) -> bool:
        """Whether rows that hold the same features may be on both sides of a split.

        They may be where they are no copies, and too few features differ to hold some out.
        """
        if not repeats.any_equal:
            return False
        if repeats.conflict and repeats.n_units < _FEWEST_UNITS:
            return True
        if self.levels is None:
            return False
        levels = self.levels.take(self.train)
        n_keys = [len(np.unique(levels.keys([place]))) for place in range(len(levels.counts))]
        return any(repeats.is_lookup(n, 1) for n in n_keys)

    def _expanded(self, repeats: Repeats) -> Rows:
        """Rows of a whole weight k as k rows, in an order that depends on what they hold.

        Rows as they are if all differ and have weight 1, or if they would be too many.
        """
        n_copies = copies_of(None if self.weights is None else self.weights[self.train])
        if n_copies is None and len(np.unique(repeats.hashes)) == len(self.train):
            return self
        train = self.train[np.argsort(repeats.hashes, kind="stable")]
        if n_copies is None:
            return replace(self, train=train)
        assert self.weights is not None
        train = np.repeat(train, self.weights[train].astype(np.int64))
        return Rows(
            coded_table(self.table.bins, self.table.codes[train]),
            self.y[train],
            np.ones(len(train)),
            np.arange(len(train), dtype=np.int32),
            np.zeros(0, np.int32),
            None if self.levels is None else self.levels.take(train),
        )

    def with_others(
        self,
        codes: np.ndarray,
        y: np.ndarray,
        weights: np.ndarray | None,
        levels: CategoryLevels | None = None,
    ) -> Rows:
        """With the rows of another table, which are held out."""
        both = np.vstack([self.table.codes, codes])
        n = self.table.n_rows
        held_out = np.arange(len(y)) if weights is None else np.flatnonzero(weights > 0)
        joined = None
        if self.weights is not None or weights is not None:
            parts = zip((self.weights, weights), (n, len(y)), strict=True)
            joined = np.concatenate([np.ones(k) if w is None else w for w, k in parts])
        return Rows(
            coded_table(self.table.bins, both),
            np.concatenate([self.y, y]),
            joined,
            self.train,
            (n + held_out).astype(np.int32),
            None if self.levels is None or levels is None else self.levels.append(levels),
        )

    def ordered(
        self, encoding: Encoding, first: int = 0, before: TargetStatistics | None = None
    ) -> tuple[Rows, TargetStatistics]:
        """Copies of the training rows with statistics, and what these are for other rows.

        Parameters
        ----------
        encoding : Encoding
        first : int, default=0
            The order of the first copy.
        before : TargetStatistics, default=None
            Of a fit before, by which codes mean what they did.

        Returns
        -------
        rows : Rows
            The training rows once for each order, then those held out.
        statistics : TargetStatistics
        """
        training = self._training_rows(encoding)
        n_orders, levels = encoding.n_copies, encoding.levels
        n_train = n_orders * len(training.rows)
        taken = np.concatenate([np.tile(training.rows, n_orders), self.held_out])
        codes = self.table.codes[taken]
        codes[:, levels.columns] = 0  # sets of so many levels would fit noise
        seeds = encoding.seeds[(np.arange(n_orders) + first) % n_orders]
        of_train, statistics = encoding.codes(training, seeds, before)
        others = statistics.transform(levels.take(self.held_out))
        weights = None
        if self.weights is not None:
            assert training.weights is not None
            tiled = np.tile(training.weights, n_orders)
            weights = np.concatenate([tiled, self.weights[self.held_out]])
        copies = Rows(
            coded_table(
                join_bins(self.table.bins, statistics.bins),
                np.hstack([codes, np.vstack([of_train, others])]),
            ),
            self.y[taken],
            weights,
            np.arange(n_train, dtype=np.int32),
            np.arange(n_train, len(taken), dtype=np.int32),
        )
        return copies, statistics

    def _repeats(self, levels: CategoryLevels | None) -> Repeats:
        """Which training rows hold the same features."""
        codes = self.table.codes[self.train]
        weights = None if self.weights is None else self.weights[self.train]
        of_train = None
        if levels is not None:
            of_train = levels.take(self.train)
            codes[:, levels.columns] = 0  # a code may stand for several rare levels
        return Repeats.from_rows(codes, of_train, self.y[self.train], weights)

    def _training_rows(self, encoding: Encoding) -> TrainingRows:
        """The training rows, as copies where those of a whole weight must see each other."""
        train = self.train
        weights = None if self.weights is None else self.weights[train]
        repeats = self._repeats(encoding.levels)
        sees_equal_rows = encoding.sees_equal_rows(encoding.levels.take(train), repeats)
        n_copies = copies_of(weights) if sees_equal_rows.any() else None
        if n_copies is not None:
            repeated = np.repeat(np.arange(len(train)), n_copies)
            train, repeats = train[repeated], repeats.of_rows(repeated)
            weights = np.ones(len(train))
        return TrainingRows(train, weights, repeats, sees_equal_rows)
