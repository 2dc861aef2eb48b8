"""Gradient-boosted trees of this package as members of layers."""

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
from mddf._fitted.fitted_model import StageMember
from mddf._gradient.dataset import BoostingRows
from mddf._gradient.losses import Labels, Numbers
from mddf._gradient.options import kernel_options
from mddf._gradient.target_encoding import Encoding, TargetStatistics, with_statistics
from mddf._gradient.training import boost_folds
from mddf._gradient.trees import BoostedTrees
from mddf._members.screening import most_columns
from mddf._resampling.sampling import rows_with_weight
from mddf._trees.grower import draw_seeds

# Rounds of named boosted trees where columns outnumber rows by much. There 500 rounds fit the
# training rows; on tables of latent factors (50 to 200 rows, 1000 to 5000 columns), 2000 rounds
# took four times as long and lowered held-out squared errors by at most 0.12 %.
_MOST_ROUNDS_OF_WIDE = 500


@register_serializable("boosted member")
@dataclass(frozen=True)
class BoostedModel:
    """What was boosted on the rows of a fold.

    Attributes
    ----------
    trees : list of BoostedTrees
        One; of a regressor, one for each output; of a single class, none.
    is_classifier : bool
    statistics : list of TargetStatistics or None
        Of each output, which the trees see beside the features; None if no column has many levels.
    widths : list of int or None, default=None
        Of a classifier of several outputs, the classes of each; there are trees for those with
        two or more.
    """

    trees: list[BoostedTrees]
    is_classifier: bool
    statistics: list[TargetStatistics] | None = None
    widths: list[int] | None = None

    @property
    def rounds(self) -> list[int]:
        """Trees of each output that is learnt."""
        return [trees.n_trees for trees in self.trees]

    def vectors(self, rows: EncodedRows, n_jobs: Any = None) -> np.ndarray:
        """Probabilities of classes, or numbers, of rows whose codes are those of the features."""
        raw = [
            trees.raw(with_statistics(rows, statistics), n_jobs)
            for trees, statistics in self.outputs()
        ]
        return self.finish(raw, len(rows.codes))

    def outputs(self) -> Iterator[tuple[BoostedTrees, TargetStatistics | None]]:
        """The trees of each output, and what they see beside the features."""
        return zip(self.trees, self.statistics or repeat(None), strict=False)

    def finish(self, raw: list[np.ndarray], n_rows: int) -> np.ndarray:
        """The same from raw predictions."""
        if self.widths is not None:
            each = iter(raw)
            return np.hstack(
                [
                    class_probabilities(next(each)) if n > 1 else np.ones((n_rows, 1))
                    for n in self.widths
                ]
            )
        if not raw:
            return np.ones((n_rows, 1))
        return class_probabilities(raw[0]) if self.is_classifier else np.hstack(raw)


@dataclass(frozen=True)
class BoostedFolds(StageMember):
    """Boosted trees, the mean over the models of all folds."""

    @property
    def has_trees(self) -> bool:
        """See StageMember."""
        return False

    @property
    def sees_codes(self) -> bool:
        """See StageMember."""
        return True

    @property
    def blocks(self) -> list[BoostedTrees]:
        """See StageMember."""
        return [trees for one in self.models for trees in one.trees]

    @property
    def sees_levels(self) -> bool:
        """See StageMember."""
        return any(one.statistics is not None for one in self.models)

    @property
    def n_features(self) -> int:
        """How many columns of the table the trees see."""
        return max(
            (
                trees.n_columns - (0 if statistics is None else statistics.n_columns)
                for one in self.models
                for trees, statistics in one.outputs()
            ),
            default=0,
        )

    def vectors(self, rows: EncodedRows, n_jobs: Any) -> np.ndarray:
        """See StageMember."""
        own = replace(rows, codes=np.ascontiguousarray(rows.codes[:, : self.n_features]))
        return np.mean([one.vectors(own, n_jobs) for one in self.models], axis=0)


def boosting_options(
    model: Any,
    table: BinnedTable,
    n_classes: int,
    encoding: Encoding | None = None,
    most_features: int = MOST,
) -> Any:
    """What the kernel boosts by; values that this table or these targets forbid are refused."""
    target: Any = Numbers("squared_error", 0)
    if n_classes:
        target = Labels("log_loss", np.arange(n_classes))
    model = clone(model)
    model.n_features_in_ = table.bins.n_columns  # which constraints are checked against
    categorical = table.bins.categorical > 0
    return kernel_options(model, table, target, categorical, encoding, most_features=most_features)


@dataclass(frozen=True)
class BoostingData:
    """What boosted trees are trained on, whatever the parts.

    Attributes
    ----------
    table : BinnedTable
    task : ClassificationTask or RegressionTask
    weights : ndarray of shape (n_samples,) or None
        As `boosting_weights` makes them.
    keys : ndarray of uint64 of shape (n_samples,)
        By which rows are drawn.
    levels : CategoryLevels or None, default=None
        Of the columns of many categories, which trees then see target statistics of.
    """

    table: BinnedTable
    task: Any
    weights: np.ndarray | None
    keys: np.ndarray
    levels: CategoryLevels | None = None


def boost_parts(
    model: Any,
    data: BoostingData,
    parts: Any,
    entropy: Any,
    rounds: Sequence[int] | None,
    n_jobs: Any,
    *,
    screens: bool = True,
    until: float = np.inf,
    start_by: float = np.inf,
    whole: bool = False,
) -> list[tuple[BoostedModel, np.ndarray]]:
    """Boosted models of parts of the rows, and what they predict of the rows held out.

    Parameters
    ----------
    model : GradientBoostingClassifier or GradientBoostingRegressor
    data : BoostingData
    parts : list of (train, held out)
    entropy : sequence of int
        Of the random states.
    rounds : sequence of int or None
        Those of all models, for each output that is learnt; None takes the number, up to
        `max_iter`, with the least loss over the rows held out, or `max_iter` itself without early
        stopping.
    n_jobs : int or None
    until, start_by, whole
        When to stop in any case; see `boost_folds`.
    screens : bool, default=True
        Whether a split looks at some columns only of tables that have far more than rows.
    """
    table, task, weights = data.table, data.task, data.weights
    # A single class is not to be learnt.
    outputs = [(i, y.astype(float), n) for i, (y, n) in enumerate(task.outputs) if n != 1]
    if not outputs:
        empty = BoostedModel([], True, None, task.widths)
        return [(empty, empty.finish([], len(rows))) for _, rows in parts]
    if weights is not None:
        parts = [(rows_with_weight(train, weights), held_out) for train, held_out in parts]
    if rounds is None and not model.early_stopping:
        rounds = [model.max_iter] * len(outputs)
    most = MOST
    if screens:
        most = min(most_columns(len(train), table.bins.n_columns) for train, _ in parts)
    is_looked_at_in_part = most < table.bins.n_columns
    of_outputs, start = [], monotonic()
    for place, (number, y, n_classes) in enumerate(outputs):
        n_rounds = rounds[place] if rounds is not None else model.max_iter
        if rounds is None and is_looked_at_in_part:
            n_rounds = min(n_rounds, _MOST_ROUNDS_OF_WIDE)
        encoding = None
        if data.levels is not None:
            encoding = Encoding.from_targets(
                data.levels, y, n_classes, (*entropy, number), model.max_bins
            )
        share = (place + 1) / len(outputs)  # of the time, which all outputs have alike
        grown = boost_folds(
            BoostingRows.from_table(table, np.ascontiguousarray(y), weights),
            parts,
            boosting_options(model, table, n_classes, encoding, most),
            draw_seeds((*entropy, number), n_rounds),
            patience=int(model.n_iter_no_change) if rounds is None else 0,
            keys=data.keys,
            encoding=encoding,
            until=start + share * (until - start),
            start_by=start + share * (start_by - start),
            whole=whole,
            n_jobs=n_jobs,
        )
        of_outputs.append(grown)
    found = []
    for number, (_, held_out) in enumerate(parts):
        of_part = [of_output[number] for of_output in of_outputs]
        known = [grown.statistics for grown in of_part if grown.statistics is not None]
        trees, is_classifier = [grown.trees for grown in of_part], outputs[0][2] > 0
        one = BoostedModel(trees, is_classifier, known or None, task.widths)
        found.append((one, one.finish([grown.raw for grown in of_part], len(held_out))))
    return found
