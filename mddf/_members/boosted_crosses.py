"""Boosted trees on the columns of a table and on columns that are made from them.

In each fold, a few boosted trees on its training rows choose the leading columns, and all that the
made columns need is learned from these rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.base import clone

from mddf._base.serialization import register_serializable
from mddf._binning.binned_table import BinnedTable, coded_table, spare_bins
from mddf._binning.bins import Bins, apply_bins, find_bins, join_bins
from mddf._binning.encoded_rows import EncodedRows
from mddf._fitted.fitted_model import StageMember
from mddf._gradient.base import GradientBoosting
from mddf._gradient.dataset import BoostingRows
from mddf._gradient.training import boost
from mddf._members.boosted import (
    BoostedFolds,
    BoostedModel,
    BoostingData,
    boost_parts,
    boosting_options,
)
from mddf._members.crosses import Crosses
from mddf._targets.weights import rows_with_weight
from mddf._trees.grower import draw_seeds

# Leading numbers, of which all differences and products are made. Not tuned.
_N_NUMBERS = 6
# Leading numbers and categories of which differences from group means are made, and the fewest
# codes of such a category. Not tuned.
_N_GROUPED_NUMBERS = 3
_N_GROUPS = 2
_FEWEST_CODES = 3
# Parameters and number of the trees by whose gains leading columns are chosen. There are fewer
# trees if a round costs more, but at least this number. Not tuned.
_SCREENING: dict[str, Any] = {
    "learning_rate": 0.2,
    "max_depth": 4,
    "max_features": 1.0,
    "subsample": 1.0,
}
_SCREENING_ROUNDS = 30
_FEWEST_SCREENING_ROUNDS = 10
# Number that is appended to the entropy of a fold's screening.
_SCREENING_STREAM = 3


@register_serializable("columns made in a fold")
@dataclass(frozen=True)
class MadeColumns:
    """Columns that are made from other columns, and their bins.

    `bins` may have constant columns behind the made ones, so that all folds have as many columns.
    """

    crosses: Crosses
    bins: Bins

    @classmethod
    def from_rows(cls, numbers: np.ndarray, gains: np.ndarray, data: BoostingData) -> MadeColumns:
        """Learn columns from training rows; `data` has their table and weights.

        Parameters
        ----------
        numbers : ndarray of shape (n_rows, n_features)
            Numbers and codes of categories.
        gains : ndarray of shape (n_features,)
            Gains of the features, of which the largest ones lead.
        data : BoostingData
        """
        bins = data.table.bins
        order = np.argsort(-gains, kind="stable")
        leading = order[gains[order] > 0].tolist()
        n_codes = np.where(bins.categorical > 0, np.diff(bins.start), 0)
        leading_numbers = [column for column in leading if not bins.categorical[column]]
        categories = [column for column in leading if n_codes[column] >= _FEWEST_CODES]
        crosses = Crosses.from_rows(
            numbers,
            numbers=sorted(leading_numbers[:_N_NUMBERS]),
            grouped_numbers=sorted(leading_numbers[:_N_GROUPED_NUMBERS]),
            categories=sorted(categories[:_N_GROUPS]),
            sample_weight=data.weights,
        )
        made_bins = find_bins(crosses.transform(numbers), sample_weight=data.weights)
        return cls(crosses, made_bins)

    def padded(self, n_columns: int) -> MadeColumns:
        """Append constant columns up to a number of columns."""
        n_missing = n_columns - self.bins.n_columns
        return replace(self, bins=join_bins(self.bins, spare_bins(n_missing)))

    def codes(self, numbers: np.ndarray, n_jobs: int | None = None) -> np.ndarray:
        """Codes of the made columns of rows, shape (n_rows, n_columns)."""
        codes = np.zeros((len(numbers), self.bins.n_columns), np.uint8)
        n_made = self.crosses.n_columns
        made = self.crosses.transform(numbers)
        apply_bins(made, self.bins.columns(0, n_made), out=codes, n_jobs=n_jobs)
        return codes

    def table(self, table: BinnedTable, numbers: np.ndarray) -> BinnedTable:
        """A table with the made columns on the right."""
        codes = np.hstack([table.codes, self.codes(numbers)])
        return coded_table(join_bins(table.bins, self.bins), codes)


@register_serializable("boosted member on made columns")
@dataclass(frozen=True)
class CrossedModel:
    """Boosted trees of one fold, and the columns that were made in it."""

    boosted: BoostedModel
    made: MadeColumns

    @property
    def rounds(self) -> list[int]:
        """Number of rounds for each output that needs trees."""
        return self.boosted.rounds


@dataclass(frozen=True)
class CrossedFolds(StageMember):
    """Boosted trees on made columns of all folds, whose predictions are averaged."""

    @property
    def has_trees(self) -> bool:
        return False

    @property
    def n_features(self) -> int:
        """Number of columns of the table, without the made columns."""
        model = self.models[0]
        trees = BoostedFolds([model.boosted], self.n_columns)
        return max(0, trees.n_features - model.made.bins.n_columns)

    @property
    def reads_levels(self) -> bool:
        return any(model.boosted.statistics is not None for model in self.models)

    def vectors(self, rows: EncodedRows, n_jobs: int | None) -> np.ndarray:
        numbers = rows.numbers
        assert numbers is not None
        codes = rows.codes[:, : numbers.shape[1]]
        predictions = []
        for model in self.models:
            made = np.hstack([codes, model.made.codes(numbers, n_jobs)])
            trees = BoostedFolds([model.boosted], self.n_columns)
            predictions.append(trees.vectors(replace(rows, codes=made), n_jobs))
        return np.mean(predictions, axis=0)


def boost_crosses(
    model: GradientBoosting,
    data: BoostingData,
    numbers: np.ndarray,
    parts: Sequence[tuple[np.ndarray, np.ndarray]],
    entropy: Sequence[int],
    *,
    rounds: Sequence[int] | None,
    n_jobs: int | None = None,
    **limits: Any,
) -> list[tuple[CrossedModel, np.ndarray]]:
    """Train a boosted model on made columns for each part, and predict the held-out rows.

    Parameters
    ----------
    model, data, parts, entropy, rounds, n_jobs, **limits
        As in `boost_parts`.
    numbers : ndarray of shape (n_rows, n_features)
        The table as numbers.
    """
    columns_of_parts = []
    for train, _ in parts:
        rows = train if data.weights is None else rows_with_weight(train, data.weights)
        gains = _gains(model, data, rows, (*entropy, _SCREENING_STREAM), n_jobs)
        weights = None if data.weights is None else data.weights[rows]
        columns_of_parts.append(
            MadeColumns.from_rows(numbers[rows], gains, replace(data, weights=weights))
        )
    n_columns = max(made.bins.n_columns for made in columns_of_parts)
    columns_of_parts = [made.padded(n_columns) for made in columns_of_parts]
    tables = [made.table(data.table, numbers) for made in columns_of_parts]
    fits = boost_parts(
        model,
        replace(data, table=tables[0], table_of_part=tables),
        parts,
        entropy,
        rounds,
        n_jobs=n_jobs,
        **limits,
    )
    return [
        (CrossedModel(boosted, made), vectors)
        for (boosted, vectors), made in zip(fits, columns_of_parts, strict=True)
    ]


def _gains(
    model: GradientBoosting,
    data: BoostingData,
    train: np.ndarray,
    entropy: Sequence[int],
    n_jobs: int | None,
) -> np.ndarray:
    """Gains of the columns in a few trees on training rows, shape (n_columns,)."""
    n_rounds = int(_SCREENING_ROUNDS / data.task.boosting_cost)
    seeds = draw_seeds(entropy, max(_FEWEST_SCREENING_ROUNDS, n_rounds))
    small = clone(model).set_params(**_SCREENING)
    gains = np.zeros(data.table.bins.n_columns)
    for y, n_classes in data.task.outputs:
        if n_classes == 1:
            continue
        target = np.ascontiguousarray(y, float)
        rows = BoostingRows.from_table(data.table, target, data.weights)
        rows = replace(rows, train=train.astype(np.int32))
        options = boosting_options(small, data.table, n_classes)
        trees = boost(rows, options, seeds, keys=data.keys, n_jobs=n_jobs).trees
        gains += trees.importances()
    return gains
