"""Boosted trees on the columns of a table and on columns that are made from them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils import check_random_state

from mddf._base.serialization import register_serializable
from mddf._binning.binned_table import BinnedTable, coded_table, spare_bins
from mddf._binning.bins import Bins, apply_bins, find_bins, join_bins
from mddf._binning.encoded_rows import EncodedRows
from mddf._binning.high_cardinality import CategoryLevels
from mddf._gradient.base import GradientBoosting
from mddf._gradient.classifier import GradientBoostingClassifier
from mddf._gradient.dataset import BoostingRows
from mddf._gradient.regressor import GradientBoostingRegressor
from mddf._gradient.target_encoding import Encoding, TargetStatistics
from mddf._gradient.training import boost
from mddf._gradient.trees import BoostedTrees
from mddf._gradient.weights import boosting_weights
from mddf._members.boosted import (
    BoostedFolds,
    BoostedModel,
    BoostingData,
    boost_parts,
    boosting_options,
)
from mddf._members.crosses import DIFFERENCE, PRODUCT, Crosses
from mddf._members.one_per_output import OnePerOutput
from mddf._members.screening import screened
from mddf._trees.grower import draw_seeds

# Rows on which a model is trained at most, which bounds the time of a fit. Set by hand.
_MOST_ROWS = 50_000
# Fewest rows on each side of the splits by which columns of wide tables are chosen. Not tuned.
_MIN_SAMPLES_LEAF = 5
# Numbers that are crossed with each other: those whose splits gain most.
_N_LEADING = 6
_OPERATIONS = (DIFFERENCE, PRODUCT)
# Numbers and categories of which differences from group means are made.
_N_GROUPED_NUMBERS = 3
_N_GROUPS = 2
# Categories that have target statistics, each alone and in pairs, and the fewest codes that such
# a category has. Not tuned.
_N_ENCODED = 6
_FEWEST_CODES = 3
# Parameters of the trees: those of the member "boosted".
_BOOSTING: dict[str, Any] = {
    "learning_rate": 0.1,
    "max_iter": 2000,
    "max_depth": 6,
    "l2_regularization": 3.0,
    "max_features": 1.0,
    "subsample": 0.8,
}
# Parameters and number of the trees by whose gains leading columns are chosen. Not tuned.
_SCREENING: dict[str, Any] = {"learning_rate": 0.2, "max_depth": 4, "subsample": 1.0}
_SCREENING_ROUNDS = 30
# Several outputs of a regression are screened up to this number. Not tuned.
_MOST_SCREENED_OUTPUTS = 8
# Folds of the cross-validation that chooses the number of rounds. With many rows, one of the folds
# is enough. Set by hand.
_N_FOLDS = 3
_MOST_ROWS_OF_ALL_FOLDS = 5000
# Rounds without a choice, if rows are too few for folds. Not tuned.
_DEFAULT_ROUNDS = 100
# Streams of random numbers of a fit.
_SCREENING_STREAM = 0
_GROWTH_STREAM = 1


@dataclass(frozen=True)
class _Targets:
    """Targets in the form in which `boost_parts` reads them."""

    outputs: list[tuple[np.ndarray, int]]  # labels or numbers, and the number of classes or 0
    n_classes_per_output: list[int] | None = None

    def take(self, rows: np.ndarray) -> _Targets:
        return _Targets([(y[rows], n_classes) for y, n_classes in self.outputs])

    @property
    def grown(self) -> list[tuple[int, np.ndarray, int]]:
        """Numbers, targets and classes of the outputs that need trees."""
        return [
            (number, np.ascontiguousarray(y, float), n_classes)
            for number, (y, n_classes) in enumerate(self.outputs)
            if n_classes != 1
        ]

    @property
    def columns(self) -> np.ndarray:
        """Indicators of classes or numbers, shape (n_rows, n_columns)."""
        return np.column_stack(
            [
                (y[:, None] == np.arange(n_classes) if n_classes else y[:, None]).astype(float)
                for y, n_classes in self.outputs
            ]
        )


class BoostedCrosses(BaseEstimator):
    """Base class of the classifier and the regressor.

    A few boosted trees choose leading columns by their gains. Columns are made from these: see
    `Crosses`, and target statistics of categories and of their pairs. Symmetric boosted trees are
    grown on the given and the made columns. All of this is learned from the training rows alone.

    Parameters
    ----------
    categorical : ndarray of bool of shape (n_features,)
        Columns that hold codes of categories, below 256.
    n_rounds : list of int or None, default=None
        Number of rounds for each output that needs trees. None chooses it by cross-validation.
    random_state : int, RandomState or None, default=None
        Seeds the trees and the orders of target statistics.

    Attributes
    ----------
    n_rounds_ : list of int
    columns_ : ndarray of int
        Input columns: all columns, or the columns of a wide table whose splits gain most. The
        positions in other attributes count these columns.
    crosses_ : Crosses
    level_columns_ : ndarray of int
        Columns of categories with target statistics.
    bins_ : Bins
        Bins of the input columns, of the made columns, and of a column without values for each of
        `level_columns_`, in whose place target statistics are computed.
    model_ : BoostedModel
    feature_importances_ : ndarray of shape (n_features,)
        Gains of the splits, with sum 1. The gain of a made column is divided equally between the
        columns that it is made from.
    """

    _Boosting: ClassVar[type[GradientBoosting]]
    n_rounds_: list[int]

    def __init__(
        self,
        categorical: npt.ArrayLike,
        n_rounds: list[int] | None = None,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.categorical = categorical
        self.n_rounds = n_rounds
        self.random_state = random_state

    def chosen(self) -> dict[str, list[int]]:
        """Parameters that were chosen, for fits on other rows."""
        return {"n_rounds": self.n_rounds_}

    def _learn(self, X: np.ndarray, targets: _Targets, sample_weight: np.ndarray | None) -> None:
        # 1. Draw rows, and choose columns of wide tables.
        self.n_features_in_ = X.shape[1]
        random = check_random_state(self.random_state)
        entropy = int(random.randint(2**32, dtype=np.uint64))
        if len(X) > _MOST_ROWS:
            rows = np.sort(random.permutation(len(X))[:_MOST_ROWS])
            X = X[rows]
            targets = targets.take(rows)
            sample_weight = None if sample_weight is None else sample_weight[rows]
        weights = boosting_weights(sample_weight, None)
        leaf = min(_MIN_SAMPLES_LEAF, 1 + len(X) // 4)
        self.columns_ = screened(X, targets.columns, sample_weight, leaf)
        X = X[:, self.columns_]
        # 2. Make columns of the columns whose splits gain most.
        is_category = np.asarray(self.categorical, bool)[self.columns_]
        bins = find_bins(X, n_categories=_n_codes(X, is_category), sample_weight=weights)
        gains = self._gains(coded_table(bins, apply_bins(X, bins)), targets, weights, entropy)
        self._make_columns(X, bins, gains, weights)
        # 3. Choose the number of rounds.
        encoded = self._encode(X)
        table = coded_table(self.bins_, encoded.codes)
        first_target = targets.outputs[0][0].astype(float)
        rows_of_table = BoostingRows.from_table(table, first_target, weights)
        data = BoostingData(table, targets, weights, rows_of_table.keys, encoded.levels)
        if self.n_rounds is None:
            self.n_rounds_ = self._choose_rounds(data, rows_of_table, entropy)
        else:
            self.n_rounds_ = self.n_rounds
        # 4. Grow the trees.
        self._grow(data, entropy)

    def _gains(
        self, table: BinnedTable, targets: _Targets, weights: np.ndarray | None, entropy: int
    ) -> np.ndarray:
        """Gains of the columns in a few trees, shape (n_columns,)."""
        model = self._Boosting(**_BOOSTING | _SCREENING)
        seeds = draw_seeds((entropy, _SCREENING_STREAM), _SCREENING_ROUNDS)
        gains = np.zeros(table.bins.n_columns)
        for _, y, n_classes in targets.grown[:_MOST_SCREENED_OUTPUTS]:
            rows = BoostingRows.from_table(table, y, weights)
            options = boosting_options(model, table, n_classes)
            gains += boost(rows, options, seeds, n_jobs=1).trees.importances()
        return gains

    def _make_columns(
        self, X: np.ndarray, bins: Bins, gains: np.ndarray, weights: np.ndarray | None
    ) -> None:
        """Learn the made columns and their bins."""
        order = np.argsort(-gains, kind="stable")
        leading = order[gains[order] > 0].tolist()
        n_codes = np.where(bins.categorical > 0, np.diff(bins.start), 0)
        numbers = [column for column in leading if not bins.categorical[column]]
        categories = [column for column in leading if n_codes[column] >= _FEWEST_CODES]
        self.crosses_ = Crosses.from_rows(
            X,
            operations=_OPERATIONS,
            numbers=sorted(numbers[:_N_LEADING]),
            grouped_numbers=sorted(numbers[:_N_GROUPED_NUMBERS]),
            categories=sorted(categories[:_N_GROUPS]),
            sample_weight=weights,
        )
        self.level_columns_ = np.sort(categories[:_N_ENCODED]).astype(np.int32)
        made_bins = find_bins(self.crosses_.transform(X), sample_weight=weights)
        self.bins_ = join_bins(bins, made_bins, spare_bins(len(self.level_columns_)))

    @property
    def n_codes_(self) -> np.ndarray:
        """Number of codes of each input column that holds categories; 0 for numbers."""
        bins = self.bins_.columns(0, len(self.columns_))
        return np.where(bins.categorical > 0, np.diff(bins.start), 0)

    def _encode(self, X: np.ndarray) -> EncodedRows:
        """Codes and levels of rows, from the input columns."""
        # Categories that were absent in training count as missing.
        limits = np.where(self.n_codes_ > 0, self.n_codes_, np.inf)
        X = np.where(limits <= X, np.nan, X)
        n_levels = len(self.level_columns_)
        n_cells = self.bins_.n_columns - n_levels
        codes = np.zeros((len(X), self.bins_.n_columns), np.uint8)
        numbers = np.hstack([X, self.crosses_.transform(X)])
        apply_bins(numbers, self.bins_.columns(0, n_cells), out=codes, n_jobs=1)
        if not n_levels:
            return EncodedRows(codes)
        counts = self.n_codes_[self.level_columns_]
        categories = X[:, self.level_columns_]
        levels = np.where(np.isnan(categories), counts, categories).astype(np.int64)
        columns = list(range(n_cells, n_cells + n_levels))
        return EncodedRows(codes, None, CategoryLevels(columns, levels, counts))

    def _choose_rounds(self, data: BoostingData, rows: BoostingRows, entropy: int) -> list[int]:
        """Number of rounds for each output with the least cross-validated loss."""
        outputs = data.task.outputs
        folds = None
        if len(rows.train) >= 2 * _N_FOLDS:
            folds = rows.folds(_N_FOLDS, labels=outputs[0][1] > 0)
        if folds is None:
            return [_DEFAULT_ROUNDS for _ in data.task.grown]
        if len(rows.train) > _MOST_ROWS_OF_ALL_FOLDS:
            folds = folds[:1]
        model = self._Boosting(**_BOOSTING)
        stream = (entropy, _GROWTH_STREAM)
        fits = boost_parts(model, data, folds, stream, None, n_jobs=1, screens=False)
        first_model, _ = fits[0]
        return first_model.rounds

    def _grow(self, data: BoostingData, entropy: int) -> None:
        """Grow the trees on all rows, and set the importances."""
        model = self._Boosting(**_BOOSTING)
        all_trees = []
        all_statistics = []
        importances = np.zeros(self.n_features_in_)
        for n_rounds, (number, y, n_classes) in zip(self.n_rounds_, data.task.grown, strict=True):
            stream = (entropy, _GROWTH_STREAM, number)
            rows = BoostingRows.from_table(data.table, y, data.weights)
            encoding = None
            statistics = None
            if data.levels is not None:
                encoding = Encoding.from_targets(data.levels, y, n_classes, stream, model.max_bins)
                rows, statistics = rows.ordered(encoding)
                all_statistics.append(statistics)
            options = boosting_options(model, data.table, n_classes, encoding)
            trees = boost(rows, options, draw_seeds(stream, n_rounds), n_jobs=1).trees
            importances += self._source_importances(trees, statistics)
            all_trees.append(trees.compact())
        is_classifier = data.task.outputs[0][1] > 0
        self.model_ = BoostedModel(all_trees, is_classifier, all_statistics or None)
        total = importances.sum()
        self.feature_importances_ = importances / total if total > 0 else importances

    def _source_importances(
        self, trees: BoostedTrees, statistics: TargetStatistics | None
    ) -> np.ndarray:
        """Gains of the features, with the gains of made columns divided among their sources."""
        amounts = trees.importances().astype(float)  # whole numbers if there are no splits
        if statistics is not None:
            amounts = statistics.shared(amounts)
        n_columns = len(self.columns_)
        n_made = self.crosses_.n_columns
        gains = amounts[:n_columns].copy()
        halves = amounts[n_columns : n_columns + n_made] / 2
        for sources in self.crosses_.sources.T:
            np.add.at(gains, sources, halves)
        gains[self.level_columns_] += amounts[n_columns + n_made :]
        importances = np.zeros(self.n_features_in_)
        importances[self.columns_] = gains
        return importances

    def _predict(self, X: np.ndarray) -> np.ndarray:
        rows = self._encode(X[:, self.columns_])
        return BoostedFolds([self.model_], 0).vectors(rows, 1)


@register_serializable("boosted crosses classifier")
class BoostedCrossesClassifier(ClassifierMixin, BoostedCrosses):
    """Boosted trees of classes on given and made columns; `classes_` are the labels."""

    _Boosting = GradientBoostingClassifier

    def fit(self, X: np.ndarray, y: np.ndarray, sample_weight: np.ndarray | None = None) -> Self:
        """Fit labels of shape (n_samples,)."""
        self.classes_, labels = np.unique(y, return_inverse=True)
        self._learn(X, _Targets([(labels, len(self.classes_))]), sample_weight)
        return self

    def predict_proba(self, X: np.ndarray) -> np.ndarray:
        """Probabilities of the classes, shape (n_rows, n_classes)."""
        return self._predict(X)

    def predict(self, X: np.ndarray) -> np.ndarray:
        """The most probable classes."""
        return self.classes_[self.predict_proba(X).argmax(axis=1)]


@register_serializable("boosted crosses regressor")
class BoostedCrossesRegressor(RegressorMixin, BoostedCrosses):
    """Boosted trees of numbers on given and made columns; each output has trees of its own."""

    _Boosting = GradientBoostingRegressor

    def fit(self, X: np.ndarray, y: np.ndarray, sample_weight: np.ndarray | None = None) -> Self:
        """Fit numbers, of shape (n_samples,) or (n_samples, n_outputs)."""
        values = np.reshape(y, (len(X), -1)).astype(np.float64)
        self._learn(X, _Targets([(column, 0) for column in values.T]), sample_weight)
        return self

    def predict(self, X: np.ndarray) -> np.ndarray:
        """Numbers of shape (n_rows, n_outputs)."""
        return self._predict(X)


def gains_of_features(models: Sequence[object]) -> np.ndarray | None:
    """Sum of the importances of fitted models of this module; None for other models."""
    total = None
    for model in models:
        parts = model.models if isinstance(model, OnePerOutput) else [model]
        for part in parts:
            if not isinstance(part, BoostedCrosses):
                return None
            importances = part.feature_importances_
            total = importances if total is None else total + importances
    return total


def _n_codes(X: np.ndarray, is_category: np.ndarray) -> np.ndarray:
    """Number of codes of each column of categories; -1 for numbers."""
    n_codes = np.full(X.shape[1], -1)
    codes = X[:, is_category]
    n_codes[is_category] = 1 + np.where(np.isnan(codes), 0, codes).max(axis=0, initial=0)
    return n_codes
