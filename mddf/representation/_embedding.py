"""Leaf embedding: one column for each leaf of a forest."""

from __future__ import annotations

from numbers import Integral
from typing import Any, ClassVar, Protocol, Self

import numpy as np
import numpy.typing as npt
from numpy.random import RandomState
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.utils import Tags, check_random_state
from sklearn.utils.validation import (
    _check_feature_names_in,
    _num_samples,
    check_is_fitted,
    validate_data,
)

from mddf._base.serialization import Saved
from mddf._base.validation import Within
from mddf._forest.regressors import CompletelyRandomForestRegressor
from mddf.representation._leaves import LeafColumns, leaf_indices


class HasForest(Protocol):
    """Parameters of an estimator that fits a forest, of its own or of the user."""

    estimator: BaseEstimator | None
    n_estimators: int
    max_depth: int | None
    n_jobs: int | None
    random_state: int | RandomState | None


def fit_forest(model: HasForest, X: Any, y: Any) -> Any:
    """Fit a clone of the user's estimator, or completely-random trees that see no target."""
    if model.estimator is not None:
        return clone(model.estimator).fit(X, y)
    forest = CompletelyRandomForestRegressor(
        model.n_estimators,
        max_depth=model.max_depth,
        n_jobs=model.n_jobs,
        random_state=model.random_state,
    )
    # Completely-random trees do not use the target; it only must not be constant in a node.
    target = check_random_state(model.random_state).uniform(size=_num_samples(X))
    return forest.fit(X, target)


def with_tags_of_forests(tags: Tags) -> Tags:
    """Set the kinds of input that forests read."""
    tags.input_tags.sparse = True
    tags.input_tags.allow_nan = True
    tags.input_tags.categorical = True
    assert tags.transformer_tags is not None
    tags.transformer_tags.preserves_dtype = []
    return tags


class LeafEmbedding(Saved, TransformerMixin, BaseEstimator):
    """One-hot encoding of the leaves that rows end in.

    Each row has a one in the column of the leaf that it ends in, for each tree. A linear model on
    these columns weighs regions of the feature space. Without an estimator, completely-random
    trees of limited depth make an unsupervised embedding, as scikit-learn's
    `RandomTreesEmbedding` does.

    Parameters
    ----------
    estimator : forest, gradient boosting, cascade or deep forest of mddf, default=None
        Not fitted; a clone is fitted. None means completely-random trees that see no target.
    n_estimators : int, default=100
        Number of trees without an estimator.
    max_depth : int or None, default=5
        Largest depth of the trees without an estimator.
    layer, forest : int, default=None
        Layer and forest of a cascade, as in `leaf_indices`.
    sparse_output : bool, default=True
        Whether `transform` returns a sparse matrix.
    n_jobs : int, default=None
        Threads of the trees without an estimator.
    random_state : int, RandomState or None, default=None
        Seed of the trees without an estimator.

    Attributes
    ----------
    estimator_ : estimator
        The fitted forest.
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        Only if X has string column names.

    See Also
    --------
    ForestKernelEmbedding : Few dense columns instead of many sparse ones.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.pipeline import make_pipeline
    >>> from mddf import RandomForestClassifier
    >>> from mddf.representation import LeafEmbedding
    >>> X, y = load_iris(return_X_y=True)
    >>> embedding = LeafEmbedding(RandomForestClassifier(10, max_depth=3, random_state=0))
    >>> model = make_pipeline(embedding, LogisticRegression()).fit(X[::2], y[::2])
    >>> bool(model.score(X[1::2], y[1::2]) > 0.9)
    True
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "estimator": [BaseEstimator, None],
        "n_estimators": [Within(Integral, 1, None, closed="left")],
        "max_depth": [Within(Integral, 1, None, closed="left"), None],
        "layer": [Integral, None],
        "forest": [Integral, None],
        "sparse_output": ["boolean"],
        "n_jobs": [Integral, None],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        estimator: BaseEstimator | None = None,
        *,
        n_estimators: int = 100,
        max_depth: int | None = 5,
        layer: int | None = None,
        forest: int | None = None,
        sparse_output: bool = True,
        n_jobs: int | None = None,
        random_state: int | RandomState | None = None,
    ) -> None:
        self.estimator = estimator
        self.n_estimators = n_estimators
        self.max_depth = max_depth
        self.layer = layer
        self.forest = forest
        self.sparse_output = sparse_output
        self.n_jobs = n_jobs
        self.random_state = random_state

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "estimator_")

    def __sklearn_tags__(self) -> Tags:
        return with_tags_of_forests(super().__sklearn_tags__())

    def fit(self, X: Any, y: Any = None) -> Self:
        """Fit the forest.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_samples, n_features)
        y : array of shape (n_samples,), default=None
            Target of the estimator; not used without one.

        Returns
        -------
        LeafEmbedding
        """
        self._fit(X, y)
        return self

    def fit_transform(self, X: Any, y: Any = None) -> Any:
        """Fit the forest, and return the encoding of the same rows.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_samples, n_features)
        y : array of shape (n_samples,), default=None
            Target of the estimator; not used without one.

        Returns
        -------
        csr_matrix or ndarray of shape (n_samples, n_leaves)
            As `transform` returns it.
        """
        return self._encode(self._fit(X, y))

    def _fit(self, X: Any, y: Any) -> np.ndarray:
        """Fit the forest, and return the leaves of the training rows."""
        self._validate_params()
        self.estimator_ = fit_forest(self, X, y)
        validate_data(self, X, reset=True, skip_check_array=True)
        leaves = leaf_indices(self.estimator_, X, layer=self.layer, forest=self.forest)
        self._columns = LeafColumns.from_leaves(leaves)
        return leaves

    def transform(self, X: Any) -> sparse.csr_matrix | np.ndarray:
        """Encode rows.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_samples, n_features)

        Returns
        -------
        csr_matrix or ndarray of shape (n_samples, n_leaves)
            Ones and zeros.
        """
        check_is_fitted(self)
        return self._encode(leaf_indices(self.estimator_, X, layer=self.layer, forest=self.forest))

    def _encode(self, leaves: np.ndarray) -> sparse.csr_matrix | np.ndarray:
        encoded = self._columns.one_hot(leaves)
        if not self.sparse_output:
            return encoded.toarray()
        encoded.eliminate_zeros()
        return encoded

    def get_feature_names_out(self, input_features: npt.ArrayLike | None = None) -> np.ndarray:
        """Names of the columns: "tree3_leaf5" is the sixth leaf of the fourth tree.

        Parameters
        ----------
        input_features : array of str, default=None
            Only compared with ``feature_names_in_``.

        Returns
        -------
        ndarray of str
        """
        check_is_fitted(self)
        _check_feature_names_in(self, input_features)
        names = [
            f"tree{tree}_leaf{leaf}"
            for tree, leaves in enumerate(self._columns.leaves)
            for leaf in range(len(leaves))
        ]
        return np.array(names, object)
