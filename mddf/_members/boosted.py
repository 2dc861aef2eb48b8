"""Gradient-boosted trees as members of layers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import repeat
from time import monotonic
from typing import Any

import numpy as np
from sklearn.base import clone

from mddf._base.elementary import class_probabilities
from mddf._base.serialization import register_serializable
from mddf._base.validation import MOST
from mddf._binning.binned_table import BinnedTable
from mddf._binning.encoded_rows import EncodedRows
from mddf._binning.high_cardinality import CategoryLevels
from mddf._core import BoostOptions
from mddf._fitted.fitted_model import StageMember
from mddf._gradient.base import GradientBoosting
from mddf._gradient.dataset import BoostingRows
from mddf._gradient.losses import Labels, Numbers
from mddf._gradient.options import kernel_options
from mddf._gradient.target_encoding import Encoding, TargetStatistics, with_statistics
from mddf._gradient.training import boost_folds
from mddf._gradient.trees import BoostedTrees
from mddf._members.screening import n_kept_columns
from mddf._targets.weights import rows_with_weight
from mddf._trees.grower import draw_seeds

# Most rounds of named boosted trees where columns outnumber rows by much. There 500 rounds fit the
# training rows; on tables of latent factors (50 to 200 rows, 1000 to 5000 columns), 2000 rounds
# took four times as long and lowered held-out squared errors by at most 0.12 %.
_MOST_ROUNDS_OF_WIDE = 500


@register_serializable("boosted member")
@dataclass(frozen=True)
class BoostedModel:
    """Boosted trees of one fold.

    Attributes
    ----------
    trees : list of BoostedTrees
        One entry; a regressor has one for each output, a classifier of several outputs one for
        each output with two or more classes. Empty if there is a single class.
    is_classifier : bool
    statistics : list of TargetStatistics or None
        Added to the features, one entry for each of `trees`; None if no column has many levels.
    widths : list of int or None, default=None
        Number of classes of each output of a classifier of several outputs.
    """

    trees: list[BoostedTrees]
    is_classifier: bool
    statistics: list[TargetStatistics] | None = None
    widths: list[int] | None = None

    @property
    def rounds(self) -> list[int]:
        """Number of rounds for each entry of `trees`."""
        return [trees.n_trees for trees in self.trees]

    def trees_with_statistics(self) -> Iterator[tuple[BoostedTrees, TargetStatistics | None]]:
        return zip(self.trees, self.statistics or repeat(None), strict=False)

    def finish(self, raw: list[np.ndarray], n_rows: int) -> np.ndarray:
        """Probabilities or numbers from the raw predictions of each entry of `trees`."""
        if self.widths is not None:
            raw_of_outputs = iter(raw)
            return np.hstack(
                [
                    class_probabilities(next(raw_of_outputs)) if n > 1 else np.ones((n_rows, 1))
                    for n in self.widths
                ]
            )
        if not raw:
            return np.ones((n_rows, 1))
        return class_probabilities(raw[0]) if self.is_classifier else np.hstack(raw)


@dataclass(frozen=True)
class BoostedFolds(StageMember):
    """Boosted trees of all folds, whose predictions are averaged."""

    @property
    def has_trees(self) -> bool:
        return False

    @property
    def reads_codes(self) -> bool:
        return True

    @property
    def blocks(self) -> list[BoostedTrees]:
        return [trees for model in self.models for trees in model.trees]

    @property
    def reads_levels(self) -> bool:
        return any(model.statistics is not None for model in self.models)

    @property
    def n_features(self) -> int:
        """Number of columns of the table that the trees were grown on, without statistics."""
        return max(
            (
                trees.n_columns - (0 if statistics is None else statistics.n_columns)
                for model in self.models
                for trees, statistics in model.trees_with_statistics()
            ),
            default=0,
        )

    def vectors(self, rows: EncodedRows, n_jobs: int | None) -> np.ndarray:
        rows = replace(rows, codes=np.ascontiguousarray(rows.codes[:, : self.n_features]))
        predictions = []
        for model in self.models:
            raw = []
            for trees, statistics in model.trees_with_statistics():
                raw.append(trees.raw(with_statistics(rows, statistics), n_jobs))
            predictions.append(model.finish(raw, len(rows.codes)))
        return np.mean(predictions, axis=0)


def boosting_options(
    model: GradientBoosting,
    table: BinnedTable,
    n_classes: int,
    encoding: Encoding | None = None,
    most_features: int = MOST,
) -> BoostOptions:
    """Options of the kernel; refuses parameters that this table or these targets forbid."""
    target: Labels | Numbers = Numbers("squared_error", 0)
    if n_classes:
        target = Labels("log_loss", np.arange(n_classes))
    model = clone(model)
    model.n_features_in_ = table.bins.n_columns  # constraints are checked against it
    categorical = table.bins.categorical > 0
    return kernel_options(model, table, target, categorical, encoding, most_features=most_features)


@dataclass(frozen=True)
class BoostingData:
    """Data on which boosted trees are trained.

    Attributes
    ----------
    table : BinnedTable
    task : ClassificationTask or RegressionTask
    weights : ndarray of shape (n_samples,) or None
        Weights from `boosting_weights`.
    keys : ndarray of uint64 of shape (n_samples,)
        Hashes of the rows, by which they are drawn.
    levels : CategoryLevels or None, default=None
        Levels of the columns with many categories, of which trees get target statistics.
    """

    table: BinnedTable
    task: Any
    weights: np.ndarray | None
    keys: np.ndarray
    levels: CategoryLevels | None = None


def boost_parts(
    model: GradientBoosting,
    data: BoostingData,
    parts: Sequence[tuple[np.ndarray, np.ndarray]],
    entropy: Sequence[int],
    rounds: Sequence[int] | None,
    *,
    n_jobs: int | None = None,
    screens: bool = True,
    until: float = np.inf,
    start_by: float = np.inf,
    whole: bool = False,
) -> list[tuple[BoostedModel, np.ndarray]]:
    """Boosted models of parts of the rows, each with its predictions for the held-out rows.

    Parameters
    ----------
    model : GradientBoostingClassifier or GradientBoostingRegressor
    data : BoostingData
    parts : list of (train, held out)
    entropy : sequence of int
        Seeds the random states.
    rounds : sequence of int or None
        Number of rounds of all models, for each output with two or more classes, or each number.
        None takes the number up to `max_iter` with the least loss over the held-out rows, or
        `max_iter` itself without early stopping.
    n_jobs : int or None, default=None
    screens : bool, default=True
        Whether splits of tables with far more columns than rows look at some columns only.
    until, start_by, whole
        Limits of time; see `boost_folds`.
    """
    table, task, weights = data.table, data.task, data.weights
    # An output with a single class needs no trees.
    outputs = [(i, y.astype(float), n) for i, (y, n) in enumerate(task.outputs) if n != 1]
    if not outputs:
        empty = BoostedModel([], True, None, task.n_classes_per_output)
        return [(empty, empty.finish([], len(rows))) for _, rows in parts]
    if weights is not None:
        parts = [(rows_with_weight(train, weights), held_out) for train, held_out in parts]
    if rounds is None and not model.early_stopping:
        rounds = [model.max_iter] * len(outputs)
    most_features = MOST
    if screens:
        most_features = min(n_kept_columns(len(train), table.bins.n_columns) for train, _ in parts)
    is_screened = most_features < table.bins.n_columns
    grown_by_output = []
    start = monotonic()
    for position, (output, y, n_classes) in enumerate(outputs):
        n_rounds = rounds[position] if rounds is not None else model.max_iter
        if rounds is None and is_screened:
            n_rounds = min(n_rounds, _MOST_ROUNDS_OF_WIDE)
        seed = (*entropy, output)
        encoding = None
        if data.levels is not None:
            encoding = Encoding.from_targets(data.levels, y, n_classes, seed, model.max_bins)
        # All outputs have equal shares of the time.
        time_share = (position + 1) / len(outputs)
        grown = boost_folds(
            BoostingRows.from_table(table, np.ascontiguousarray(y), weights),
            parts,
            boosting_options(model, table, n_classes, encoding, most_features),
            draw_seeds(seed, n_rounds),
            patience=int(model.n_iter_no_change) if rounds is None else 0,
            keys=data.keys,
            encoding=encoding,
            until=start + time_share * (until - start),
            start_by=start + time_share * (start_by - start),
            whole=whole,
            n_jobs=n_jobs,
        )
        grown_by_output.append(grown)
    is_classifier = outputs[0][2] > 0
    models = []
    for (_, held_out), *grown in zip(parts, *grown_by_output, strict=True):
        trees = [boosted.trees for boosted in grown]
        statistics = [boosted.statistics for boosted in grown if boosted.statistics is not None]
        part_model = BoostedModel(
            trees, is_classifier, statistics or None, task.n_classes_per_output
        )
        predictions = part_model.finish([boosted.raw for boosted in grown], len(held_out))
        models.append((part_model, predictions))
    return models
