"""Leaf embedding: one column for each leaf of a forest."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
from numpy.random import RandomState
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.utils.validation import _check_feature_names_in, check_is_fitted

from mddf._base.docstrings import describes_parameters
from mddf._base.validation import unchanged_on_failure
from mddf.representation._forest_transformer import SHARED, LeafTransformer


@describes_parameters(SHARED)
class LeafEmbedding(LeafTransformer):
    """One-hot encoding of the leaves that rows end in.

    Each row has a one in the column of the leaf that it ends in, for each tree. A linear model on
    these columns weighs regions of the feature space. Without an estimator, completely-random
    trees of limited depth make an unsupervised embedding, as scikit-learn's
    `RandomTreesEmbedding` does.

    Parameters
    ----------
    sparse_output : bool, default=True
        Whether `transform` returns a sparse matrix.

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
        **LeafTransformer._parameter_constraints,
        "sparse_output": ["boolean"],
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
        self._validate_params()
        with unchanged_on_failure(self):
            self._fit_columns(X, y)
        return self

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
        encoded = self._columns.one_hot(self._leaves(X))
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
