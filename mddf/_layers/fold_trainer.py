"""Folds, seeds and features of a deep forest, on which its members are trained."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from mddf._binning.binned_table import BinnedTable
from mddf._binning.bins import Bins, apply_bins, find_bins
from mddf._binning.high_cardinality import CategoryLevels
from mddf._layers.layer_trainer import LayerTrainer, MeanOfFolds
from mddf._layers.seeds import Seeds
from mddf._layers.tasks import RegressionTask, Task
from mddf._members.screening import best_columns, is_wide, split_gains
from mddf._resampling.folds import Folds
from mddf._resampling.sampling import row_hashes

if TYPE_CHECKING:
    from mddf._layers.member import ForestMember

# Hyperparameters of the margins' loss by which samples are reweighted: the defaults of
# `MDDFClassifier`.
TARGET_MARGIN = 0.9
MU = 0.1
# Tables with more rows are large: members race before they are grown in full, and trials and races
# have fewer trees. Set by hand.
_MAX_ROWS_OF_MEDIUM_TABLE = 100_000
# Least sizes of leaves that are tried. Screening for all of them takes one sort of each column.
_SCREENED_LEAF_SIZES = (1, 2, 5)


@dataclass(frozen=True)
class Features:
    """Binned vectors that a layer adds to the table for the next one."""

    codes: np.ndarray  # (n_samples, n_added)
    bins: Bins


@dataclass(frozen=True, kw_only=True)
class FoldTrainer(LayerTrainer):
    """Trains the members of a deep forest, with folds, seeds and a limit of time."""

    seeds: Seeds
    folds: Folds
    # Folds on which later layers are evaluated; see :mod:`mddf._layers.nested_folds`.
    outer_folds: Folds
    # Whether rows that a tree did not draw may evaluate it. They may not if groups, a splitter
    # or splits say what is held out together, since other rows of the same group may have been
    # drawn, nor in wide tables, whose columns are chosen by all rows that a forest trains on.
    uses_out_of_bag: bool = True
    # (n_samples,): rows of the same group are not independent of each other; None: all rows are
    # independent.
    groups: np.ndarray | None = None
    # Levels of the columns with many categories, for boosted trees.
    levels: CategoryLevels | None = None
    # Folds of the named boosted trees, if they differ. A classifier keeps the models of all folds,
    # so that more folds give more data to each model, and more models.
    boosting_folds: Folds | None = None

    @cached_property
    def feature_table(self) -> BinnedTable:
        """The table without its spare columns."""
        table = self.table
        n_features = self.n_features
        if table.bins.n_columns == n_features:
            return table
        by_column = None if table.by_column is None else table.by_column[:n_features]
        codes = np.ascontiguousarray(table.codes[:, :n_features])
        return BinnedTable(table.bins.columns(0, n_features), codes, by_column)

    @cached_property
    def row_keys(self) -> np.ndarray:
        """Hashes of the rows' contents, by which boosting draws them."""
        return row_hashes(self.feature_table.codes, self.task.order_key)

    def fill_unknown(self, vectors: np.ndarray) -> np.ndarray:
        """Put the prior into the vectors (..., n_samples, n_columns) that are unknown.

        Losses need numbers, also where they have no weight.
        """
        if self.without_past is not None:
            vectors[..., self.without_past, :] = self.task.prior
        return vectors

    @property
    def feature_columns(self) -> np.ndarray:
        """Columns of the features."""
        return np.arange(self.n_features, dtype=np.int32)

    @cached_property
    def mean_of_folds(self) -> MeanOfFolds:
        """Combines predictions of the rows that the folds hold out."""
        return MeanOfFolds.from_folds(self.task, self.folds)

    def bin_features(self, vectors: np.ndarray) -> Features:
        """Bin the vectors that a layer adds, of shape (n_samples, n_added)."""
        vectors = self.known_vectors(vectors)
        bins = find_bins(vectors, sample_weight=self.weights.row, n_jobs=self.n_jobs)
        return Features(apply_bins(vectors, bins, n_jobs=self.n_jobs), bins)

    def put_into_table(self, features: Features) -> np.ndarray:
        """Put the features of the layer before into the table; returns all its columns."""
        self.table.replace_codes(self.n_features, features.codes, features.bins)
        return np.arange(self.n_features + features.codes.shape[1], dtype=np.int32)

    def columns_for(
        self, member: ForestMember, columns: np.ndarray, train: np.ndarray
    ) -> np.ndarray:
        """Input columns of a forest: in wide tables, named regressors get the best ones.

        They look at all columns for each split, which takes long if these outnumber the rows.
        """
        is_named_regressor = member.role is not None and isinstance(self.task, RegressionTask)
        if not (is_named_regressor and is_wide(len(train), len(columns))):
            return columns
        min_samples_leaf = int(member.model.min_samples_leaf)
        gains = self._feature_gains(train, min_samples_leaf)
        added = columns[self.n_features :]
        if len(added):
            gains = np.append(gains, *self._split_gains(train, added, [min_samples_leaf]))
        return columns[best_columns(gains, len(train))]

    def _feature_gains(self, train: np.ndarray, min_samples_leaf: int) -> np.ndarray:
        """Gain of the best split of each feature; one sort serves all forests of a fold."""
        known = self._known_gains.setdefault(train.tobytes(), {})
        if min_samples_leaf not in known:
            leaf_sizes = sorted({min_samples_leaf, *_SCREENED_LEAF_SIZES} - known.keys())
            gains = self._split_gains(train, self.feature_columns, leaf_sizes)
            known.update(zip(leaf_sizes, gains, strict=True))
        return known[min_samples_leaf]

    def _split_gains(
        self, train: np.ndarray, columns: np.ndarray, leaf_sizes: Sequence[int]
    ) -> list[np.ndarray]:
        weight = None if self.weights.row is None else self.weights.row[train]
        codes = self.table.codes[train][:, columns]
        return split_gains(codes, self.task.target[train], weight, leaf_sizes)

    @cached_property
    def _known_gains(self) -> dict[bytes, dict[int, np.ndarray]]:
        """Gains by the training rows of a fold, and by the least size of a leaf."""
        return {}


def is_large_table(task: Task) -> bool:
    """Whether members take so long that losers must be found early."""
    return len(task.target) > _MAX_ROWS_OF_MEDIUM_TABLE
