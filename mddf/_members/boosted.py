"""Gradient-boosted trees of this package as members of layers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import repeat
from typing import Any

import numpy as np
from sklearn.base import clone

from mddf._base.elementary import class_probabilities
from mddf._base.serialization import register_serializable
from mddf._data.asked import AskedRows
from mddf._data.binned_table import BinnedTable
from mddf._data.levels import Levels
from mddf._data.sampling import rows_with_weight
from mddf._data.validation import MOST
from mddf._ensemble.stages import StageMember
from mddf._gradient.growing import boost_folds
from mddf._gradient.losses import Labels, Numbers
from mddf._gradient.options import kernel_options
from mddf._gradient.rows import within_range
from mddf._gradient.statistics import Encoding, TargetStatistics, with_statistics
from mddf._gradient.trees import BoostedTrees
from mddf._members.screening import most_columns
from mddf._members.tasks import ClassificationTask
from mddf._trees.grower import draw_seeds


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
    """

    trees: list[BoostedTrees]
    is_classifier: bool
    statistics: list[TargetStatistics] | None = None

    @property
    def n_rounds(self) -> int:
        """Trees of an output."""
        return self.trees[0].n_trees if self.trees else 0

    def vectors(self, rows: AskedRows, n_jobs: Any = None) -> np.ndarray:
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

    def vectors(self, rows: AskedRows, n_jobs: Any) -> np.ndarray:
        """See StageMember."""
        own = replace(rows, codes=np.ascontiguousarray(rows.codes[:, : self.n_features]))
        return np.mean([one.vectors(own, n_jobs) for one in self.models], axis=0)


def boosting_options(
    model: Any,
    table: BinnedTable,
    task: Any,
    encoding: Encoding | None = None,
    most_features: int = MOST,
) -> Any:
    """What the kernel boosts by; values that this table or these targets forbid are refused."""
    target: Any = Numbers("squared_error", 0)
    if isinstance(task, ClassificationTask):
        target = Labels("log_loss", np.arange(task.n_columns))
    model = clone(model)
    model.n_features_in_ = table.bins.n_columns  # which constraints are checked against
    categorical = table.bins.categorical > 0
    return kernel_options(model, table, target, categorical, encoding, most_features)


def boost_parts(
    model: Any,
    table: BinnedTable,
    task: Any,
    weights: np.ndarray | None,
    parts: Any,
    keys: np.ndarray,
    entropy: Any,
    n_rounds: int | None,
    n_jobs: Any,
    *,
    screens: bool = True,
    until: float = np.inf,
    start_by: float = np.inf,
    whole: bool = False,
    levels: Levels | None = None,
) -> list[tuple[BoostedModel, np.ndarray]]:
    """Boosted models of parts of the rows, and what they predict of the rows held out.

    Parameters
    ----------
    model : GradientBoostingClassifier or GradientBoostingRegressor
    table : BinnedTable
    task : ClassificationTask or RegressionTask
    weights : ndarray of shape (n_samples,) or None
    parts : list of (train, held out)
    keys : ndarray of uint64 of shape (n_samples,)
        By which rows are drawn.
    entropy : sequence of int
        Of the random states.
    n_rounds : int or None
        Rounds of all models; None takes the number, up to `max_iter`, with the least loss over
        the rows held out, or `max_iter` itself without early stopping.
    n_jobs : int or None
    until, start_by, whole
        When to stop in any case; see `boost_folds`.
    screens : bool, default=True
        Whether a split looks at some columns only of tables that have far more than rows.
    levels : Levels or None, default=None
        Of the columns of many categories, which trees then see target statistics of.
    """
    is_classifier = isinstance(task, ClassificationTask)
    if is_classifier and task.n_columns == 1:
        return [(BoostedModel([], True), np.ones((len(rows), 1))) for _, rows in parts]
    if weights is not None:
        parts = [(rows_with_weight(train, weights), held_out) for train, held_out in parts]
        weights = within_range(weights)
    outputs = [task.target.astype(float)] if is_classifier else list(task.target.T)
    if n_rounds is None and not model.early_stopping:
        n_rounds = model.max_iter
    most = MOST
    if screens:
        most = min(most_columns(len(train), table.bins.n_columns) for train, _ in parts)
    n_classes = task.n_columns if is_classifier else 0
    encodings = [
        None
        if levels is None
        else Encoding.of(levels, y, n_classes, (*entropy, number), model.max_bins)
        for number, y in enumerate(outputs)
    ]
    options = boosting_options(model, table, task, encodings[0], most)
    of_outputs = [
        boost_folds(
            table,
            np.ascontiguousarray(y),
            weights,
            parts,
            options,
            draw_seeds((*entropy, number), model.max_iter if n_rounds is None else n_rounds),
            patience=int(model.n_iter_no_change) if n_rounds is None else 0,
            keys=keys,
            encoding=encodings[number],
            until=until,
            start_by=start_by,
            whole=whole,
            n_jobs=n_jobs,
        )
        for number, y in enumerate(outputs)
    ]
    found = []
    for number, (_, held_out) in enumerate(parts):
        of_part = [of_output[number] for of_output in of_outputs]
        known = [grown.statistics for grown in of_part if grown.statistics is not None]
        one = BoostedModel([grown.trees for grown in of_part], is_classifier, known or None)
        found.append((one, one.finish([grown.raw for grown in of_part], len(held_out))))
    return found
