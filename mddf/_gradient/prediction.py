"""Asking boosted trees: predictions, leaves, importances, and the trees as a stage."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from mddf._binning.binner import Binner, NewRows
from mddf._fitted.batching import by_blocks
from mddf._fitted.fitted_model import FittedStages, one_stage
from mddf._gradient.fitted_trees import BoostedMember
from mddf._gradient.options import PLAIN, value_of
from mddf._gradient.target_encoding import TargetStatistics, with_statistics
from mddf._gradient.trees import BoostedTrees
from mddf._input.reading import read_table
from mddf._input.table import Table


class AsksBoostedTrees:
    """Has boosted trees and what makes codes of X, once it is fitted."""

    _binner: Binner
    _trees: BoostedTrees
    _statistics: TargetStatistics | None = None
    _chosen: dict[str, Any] | None = None  # of fits of earlier releases, which had no choice
    _target: Any  # Labels or Numbers
    categorical_features: Any
    n_jobs: Any
    n_features_in_: int

    def _read_rows(self, X: Any, read: Callable[[np.ndarray], np.ndarray], row_bytes: int) -> Any:
        """What `read` makes of the codes of X, one block of rows after the other."""
        check_is_fitted(self, "_trees")
        table = read_table(self, X, reset=False, categorical_features=self.categorical_features)
        rows = self._new_rows(table)

        def read_block(first: int, end: int) -> Any:
            return [read(with_statistics(rows.block(first, end), self._statistics))]

        (found,) = by_blocks(read_block, table.shape[0], self._trees.n_columns + row_bytes)
        return found

    def _read_raw(self, X: Any, read: Callable[[np.ndarray], np.ndarray]) -> Any:
        """The same of raw predictions."""
        check_is_fitted(self, "_trees")
        return self._read_rows(
            X,
            lambda codes: read(self._trees.raw(codes, self.n_jobs)),
            32 * self._trees.n_scores,
        )

    def _new_rows(self, table: Table) -> NewRows:
        levels = [] if self._statistics is None else self._statistics.columns
        return NewRows(self._binner, table, levels=levels)

    def _staged_raw(self, X: Any) -> Iterator[np.ndarray]:
        check_is_fitted(self, "_trees")
        table = read_table(self, X, reset=False, categorical_features=self.categorical_features)
        rows = self._new_rows(table).block(0, table.shape[0])
        return self._trees.staged(with_statistics(rows, self._statistics), self.n_jobs)

    def apply(self, X: Any) -> np.ndarray:
        """The leaf of each tree that each sample ends in.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_samples, n_features)

        Returns
        -------
        ndarray of int32 of shape (n_samples, n_iter_)
            Numbers of leaves, which are distinct within a tree. Of a symmetric tree, each has a
            bit for each level, 1 for right, and several may stand for one leaf: the splits of
            some levels leave it as it is.
        """
        check_is_fitted(self, "_trees")
        return self._read_rows(X, self._trees.leaves, 8 * self._trees.n_trees)

    @property
    def max_depth_(self) -> int | None:
        """CategoryLevels of the deepest symmetric tree; None of others."""
        check_is_fitted(self, "_trees")
        levels = np.diff(self._trees.arrays["first_split"])
        return int(levels.max(initial=0)) if self._trees.symmetric else None

    @property
    def chosen_(self) -> dict[str, Any]:
        """`max_features`, `l2_regularization` and `subsample` by which trees were grown."""
        check_is_fitted(self, "_trees")
        return dict(self._chosen or {name: value_of(self, name) for name in PLAIN})

    @property
    def feature_importances_(self) -> Any:
        """What the splits of each feature improved, scaled to sum 1; zeros without splits."""
        check_is_fitted(self, "_trees")
        found = self._trees.importances()
        return found if self._statistics is None else self._statistics.shared(found)

    def _fitted_stages(self) -> FittedStages:
        """The trees as a stage."""
        check_is_fitted(self, "_trees")
        member = BoostedMember.of(self._trees, self._target.unit, self._statistics)
        return one_stage(self._binner, member, self._target.link)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_trees")

    def _counts(self) -> Iterator[tuple[str, int, int]]:
        n_statistics = 0 if self._statistics is None else self._statistics.n_columns
        yield "n_features_in_", self.n_features_in_, self._binner.bins_.n_columns
        yield "width of trees", self._trees.n_scores, self._target.n_scores
        yield "columns of trees", self._trees.n_columns, self.n_features_in_ + n_statistics
