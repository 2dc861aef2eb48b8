"""Methods and attributes of fitted gradient boosting that both estimators share."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import check_is_fitted

from mddf._binning.binner import Binner
from mddf._binning.new_rows import NewRows
from mddf._fitted.batching import Conversion, in_blocks
from mddf._fitted.fitted_model import FittedStages, one_stage
from mddf._gradient.fitted_trees import FittedBoosting
from mddf._gradient.losses import Target
from mddf._gradient.offsets import read_offset
from mddf._gradient.options import NEWTON, PLAIN, BoostingParameters, value_of
from mddf._gradient.target_encoding import TargetStatistics, with_statistics
from mddf._gradient.trees import BoostedTrees
from mddf._input.reading import read_table


class BoostedPredictions(BoostingParameters):
    """Base class that predicts by the boosted trees of fit.

    Subclasses set `_binner`, `_trees` and `_target` in fit, and `_statistics` if a column has many
    categories.
    """

    _binner: Binner
    _trees: BoostedTrees
    _target: Target
    _statistics: TargetStatistics | None = None
    _chosen: dict[str, Any] | None = None  # models of earlier releases lack it
    _split_score: str = NEWTON  # models of earlier releases lack it
    _fixed: dict[str, Any]

    def _new_rows(self, X: Any) -> NewRows:
        """Prepare X for encoding by blocks of rows."""
        check_is_fitted(self, "_trees")
        table = read_table(self, X, reset=False, categorical_features=self.categorical_features)
        levels = [] if self._statistics is None else self._statistics.columns
        return NewRows(self._binner, table, levels=levels)

    def _predict_in_blocks(
        self,
        X: Any,
        convert: Conversion | None = None,
        *,
        finish: bool = True,
        offset: npt.ArrayLike | None = None,
    ) -> np.ndarray:
        """Predictions for all rows of X, each block of which is converted.

        With `finish` false, they are raw predictions.
        """
        rows = self._new_rows(X)
        offsets = self._offsets(offset, rows)
        # A byte for each code; a raw prediction, its converted form and temporary copies of both.
        row_bytes = self._trees.n_columns + 4 * 8 * self._trees.n_scores

        def predict(first: int, end: int) -> list[np.ndarray]:
            codes = with_statistics(rows.block(first, end), self._statistics)
            predictions = self._trees.raw(codes, self.n_jobs)
            if offsets is not None:
                predictions += offsets[first:end]
            return [self._target.predicted(predictions) if finish else predictions]

        (predictions,) = in_blocks(rows.n_rows, row_bytes, predict, convert)
        return predictions

    def _staged_raw(self, X: Any, offset: npt.ArrayLike | None = None) -> Iterator[np.ndarray]:
        """Yield raw predictions after each tree; the arrays are used again for the next tree."""
        rows = self._new_rows(X)
        offsets = self._offsets(offset, rows)
        codes = with_statistics(rows.block(0, rows.n_rows), self._statistics)
        staged = self._trees.staged(codes, self.n_jobs)
        return staged if offsets is None else (raw + offsets for raw in staged)

    def _offsets(self, offset: npt.ArrayLike | None, rows: NewRows) -> np.ndarray | None:
        if offset is None:
            return None
        return read_offset(offset, np.empty((rows.n_rows, 0)), self._target)

    def apply(self, X: Any) -> np.ndarray:
        """Find the leaf of each tree that each sample ends in.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_samples, n_features)

        Returns
        -------
        ndarray of int32 of shape (n_samples, n_iter_)
            Leaf numbers, which are distinct within a tree. The number of a leaf of a symmetric
            tree has one bit for each level, 1 for right. Several numbers may denote one leaf,
            because the split of a level can leave a node undivided.
        """
        rows = self._new_rows(X)
        # A byte for each code, and the leaves (int32) with a temporary copy.
        row_bytes = self._trees.n_columns + 2 * 4 * self._trees.n_trees

        def leaves(first: int, end: int) -> list[np.ndarray]:
            codes = with_statistics(rows.block(first, end), self._statistics)
            return [self._trees.leaves(codes)]

        (leaves_of_rows,) = in_blocks(rows.n_rows, row_bytes, leaves)
        return leaves_of_rows

    @property
    def max_depth_(self) -> int | None:
        """Depth of the deepest symmetric tree; None for leaf-wise trees."""
        check_is_fitted(self, "_trees")
        levels = np.diff(self._trees.arrays["first_split"])
        return int(levels.max(initial=0)) if self._trees.symmetric else None

    @property
    def split_score_(self) -> str:
        """Score of the splits: "newton" or "gradient"."""
        check_is_fitted(self, "_trees")
        return self._split_score

    @property
    def linear_leaves_(self) -> bool:
        """Whether the leaves are linear functions."""
        check_is_fitted(self, "_trees")
        return self._trees.has_linear_leaves

    @property
    def chosen_(self) -> dict[str, Any]:
        """Values of `max_features`, `l2_regularization` and `subsample` that fit used."""
        check_is_fitted(self, "_trees")
        return dict(self._chosen or {name: value_of(self, name, 0) for name in PLAIN})

    @property
    def feature_importances_(self) -> np.ndarray:
        """Gain of the splits of each feature, scaled to sum 1; zeros without splits."""
        check_is_fitted(self, "_trees")
        gains = self._trees.importances()
        return gains if self._statistics is None else self._statistics.shared(gains)

    def _fitted_stages(self) -> FittedStages:
        check_is_fitted(self, "_trees")
        member = FittedBoosting.from_trees(self._trees, self._target.unit, self._statistics)
        return one_stage(self._binner, member, self._target.link)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_trees")

    def _counts(self) -> Iterator[tuple[str, int, int]]:
        n_statistics = 0 if self._statistics is None else self._statistics.n_columns
        yield "n_features_in_", self.n_features_in_, self._binner.bins_.n_columns
        yield "width of trees", self._trees.n_scores, self._target.n_scores
        yield "columns of trees", self._trees.n_columns, self.n_features_in_ + n_statistics
