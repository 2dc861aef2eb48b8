"""Base class of transformers that fit a forest."""

from __future__ import annotations

from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from numpy.random import RandomState
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.utils import Tags, check_random_state
from sklearn.utils.validation import _num_samples, validate_data

from mddf._base.serialization import Saved
from mddf._base.validation import Within
from mddf._forest.regressors import CompletelyRandomForestRegressor
from mddf.representation._leaves import LeafColumns, leaf_indices

SHARED = """
estimator : forest, gradient boosting, cascade or deep forest of mddf
    Not fitted; a clone is fitted. None means completely-random trees that see no target.
n_estimators : int
    Number of trees without an estimator.
max_depth : int or None
    Largest depth of the trees without an estimator.
layer : int or None
    Layer of a cascade, as in `leaf_indices`.
forest : int or None
    Forest of the layer, as in `leaf_indices`.
n_jobs : int or None
    Threads of the trees without an estimator.
random_state : int, RandomState or None
    Seed of the trees without an estimator.

Attributes
----------
estimator_ : estimator
    The fitted forest.
n_features_in_ : int
feature_names_in_ : ndarray of str
    Only if X has string column names.
"""


class ForestTransformer(Saved, TransformerMixin, BaseEstimator):
    """Base class of transformers that fit a forest, of their own or of the user."""

    estimator: BaseEstimator | None
    n_estimators: int
    max_depth: int | None
    n_jobs: int | None
    random_state: int | RandomState | None

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "estimator": [BaseEstimator, None],
        "n_estimators": [Within(Integral, 1, None, closed="left")],
        "max_depth": [Within(Integral, 1, None, closed="left"), None],
        "n_jobs": [Integral, None],
        "random_state": ["random_state"],
    }

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "estimator_")

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        assert tags.transformer_tags is not None
        tags.transformer_tags.preserves_dtype = []
        return tags

    def _fit_forest(self, X: Any, y: Any) -> None:
        """Fit a clone of the user's estimator, or completely-random trees that see no target."""
        if self.estimator is not None:
            self.estimator_ = clone(self.estimator).fit(X, y)
            return
        forest = CompletelyRandomForestRegressor(
            self.n_estimators,
            max_depth=self.max_depth,
            n_jobs=self.n_jobs,
            random_state=self.random_state,
        )
        # Completely-random trees do not use the target; it only must not be constant in a node.
        target = check_random_state(self.random_state).uniform(size=_num_samples(X))
        self.estimator_ = forest.fit(X, target)


class LeafTransformer(ForestTransformer):
    """Base class of embeddings, which read the leaves of any model with trees."""

    layer: int | None
    forest: int | None

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **ForestTransformer._parameter_constraints,
        "layer": [Integral, None],
        "forest": [Integral, None],
    }

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        return tags

    def _fit_columns(self, X: Any, y: Any) -> np.ndarray:
        """Fit the forest and give its leaves columns; return the leaves of the rows."""
        self._fit_forest(X, y)
        validate_data(self, X, reset=True, skip_check_array=True)
        leaves = self._leaves(X)
        self._columns = LeafColumns.from_leaves(leaves)
        return leaves

    def _leaves(self, X: Any) -> np.ndarray:
        return leaf_indices(self.estimator_, X, layer=self.layer, forest=self.forest)
