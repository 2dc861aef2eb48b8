"""Few columns that keep the geometry of a forest's kernel."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.random import RandomState
from scipy import sparse
from scipy.sparse.linalg import LinearOperator, svds
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import Tags
from sklearn.utils.validation import _num_samples, check_is_fitted, validate_data

from mddf._base.serialization import Saved
from mddf._base.validation import Within
from mddf.representation._embedding import fit_forest, with_tags_of_forests
from mddf.representation._leaves import LeafColumns, leaf_indices

# Eigenvalues below this share of the largest one are rounding, and have no direction.
_LEAST_EIGENVALUE = 1e-10


class ForestKernelEmbedding(
    Saved, ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator
):
    """Leading eigenvectors of a forest's kernel, with extension to new rows.

    The kernel of two rows is the mean over the trees of 1 divided by the number of training rows
    in their leaf, if they share it. Its rows sum to 1, so that it is a random walk between the
    training rows. Its eigenvectors, scaled by powers of the eigenvalues, are a diffusion map.
    New rows get columns by Nyström's formula [1]_.

    Parameters
    ----------
    estimator : forest, gradient boosting, cascade or deep forest of mddf, default=None
        Not fitted; a clone is fitted. None means completely-random trees that see no target.
    n_components : int, default=2
        Number of columns.
    steps : float, default=1.0
        Steps of the walk: the exponent of the eigenvalues. More steps shrink columns of fine
        structure.
    n_estimators : int, default=100
        Number of trees without an estimator.
    max_depth : int or None, default=5
        Largest depth of the trees without an estimator.
    layer, forest : int, default=None
        Layer and forest of a cascade, as in `leaf_indices`.
    n_jobs : int, default=None
        Threads of the trees without an estimator.
    random_state : int, RandomState or None, default=None
        Seed of the trees without an estimator.

    Attributes
    ----------
    estimator_ : estimator
        The fitted forest.
    eigenvalues_ : ndarray of shape (n_components,)
        Eigenvalues of the kernel without the constant eigenvector, which has eigenvalue 1.
    embedding_ : ndarray of shape (n_samples, n_components)
        Columns of the training rows.
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        Only if X has string column names.

    References
    ----------
    .. [1] B. D. Vu, J. Kapar, M. Wright and D. S. Watson, "Autoencoding random forests",
       arXiv:2505.21441.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from mddf import RandomForestClassifier
    >>> from mddf.representation import ForestKernelEmbedding
    >>> X, y = load_iris(return_X_y=True)
    >>> embedding = ForestKernelEmbedding(RandomForestClassifier(50, random_state=0))
    >>> embedding.fit_transform(X, y).shape
    (150, 2)
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "estimator": [BaseEstimator, None],
        "n_components": [Within(Integral, 1, None, closed="left")],
        "steps": [Within(Real, 0, None, closed="left")],
        "n_estimators": [Within(Integral, 1, None, closed="left")],
        "max_depth": [Within(Integral, 1, None, closed="left"), None],
        "layer": [Integral, None],
        "forest": [Integral, None],
        "n_jobs": [Integral, None],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        estimator: BaseEstimator | None = None,
        *,
        n_components: int = 2,
        steps: float = 1.0,
        n_estimators: int = 100,
        max_depth: int | None = 5,
        layer: int | None = None,
        forest: int | None = None,
        n_jobs: int | None = None,
        random_state: int | RandomState | None = None,
    ) -> None:
        self.estimator = estimator
        self.n_components = n_components
        self.steps = steps
        self.n_estimators = n_estimators
        self.max_depth = max_depth
        self.layer = layer
        self.forest = forest
        self.n_jobs = n_jobs
        self.random_state = random_state

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "estimator_")

    def __sklearn_tags__(self) -> Tags:
        return with_tags_of_forests(super().__sklearn_tags__())

    def fit(self, X: Any, y: Any = None) -> Self:
        """Fit the forest, and compute the eigenvectors of its kernel.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_samples, n_features)
            At least `n_components` + 2 rows.
        y : array of shape (n_samples,), default=None
            Target of the estimator; not used without one.

        Returns
        -------
        ForestKernelEmbedding
        """
        self._validate_params()
        if (n_samples := _num_samples(X)) < self.n_components + 2:
            raise ValueError(
                f"X must have at least n_components + 2 = {self.n_components + 2} rows, "
                f"got n_samples={n_samples}"
            )
        self.estimator_ = fit_forest(self, X, y)
        validate_data(self, X, reset=True, skip_check_array=True)
        leaves = leaf_indices(self.estimator_, X, layer=self.layer, forest=self.forest)
        self._columns = LeafColumns.from_leaves(leaves)
        n_rows = np.bincount(self._columns.numbers(leaves)[0].ravel())
        # The kernel is S S', where S has the roots of the weights of a row's leaves.
        self._roots = 1 / np.sqrt(n_rows * self._columns.n_trees)
        roots = self._columns.one_hot(leaves, self._roots)
        if self.n_components >= min(roots.shape):
            raise ValueError(
                f"n_components must be below {min(roots.shape)}, the smaller number of rows and "
                f"leaves, got n_components={self.n_components}"
            )
        if roots.shape[1] == self._columns.n_trees:
            # No tree has a split: the kernel has no direction but the constant one.
            left = np.zeros((len(leaves), self.n_components))
            singular_values = np.zeros(self.n_components)
            right = np.zeros((self.n_components, roots.shape[1]))
        else:
            left, singular_values, right = _decompose(roots, self.n_components)
        self.eigenvalues_ = singular_values**2
        scale = np.sqrt(len(leaves)) * self.eigenvalues_**self.steps
        kept = self.eigenvalues_ > _LEAST_EIGENVALUE
        self.embedding_ = np.where(kept, left * scale, 0.0)
        factors = np.where(kept, scale / np.where(kept, singular_values, 1.0), 0.0)
        self._projection = right.T * factors
        self._n_features_out = self.n_components
        return self

    def fit_transform(self, X: Any, y: Any = None) -> np.ndarray:
        """Fit, and return `embedding_`.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_samples, n_features)
            At least `n_components` + 2 rows.
        y : array of shape (n_samples,), default=None
            Target of the estimator; not used without one.

        Returns
        -------
        ndarray of shape (n_samples, n_components)
        """
        return self.fit(X, y).embedding_

    def transform(self, X: Any) -> np.ndarray:
        """Embed rows by Nyström's formula; training rows get their own columns.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_components)
        """
        check_is_fitted(self)
        leaves = leaf_indices(self.estimator_, X, layer=self.layer, forest=self.forest)
        embedded: np.ndarray = self._columns.one_hot(leaves, self._roots) @ self._projection
        return embedded


def _decompose(
    roots: sparse.csr_matrix, n_components: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Leading singular vectors of the roots without the constant direction.

    A constant vector is an eigenvector of the kernel. Its direction is removed first, since other
    vectors have the same eigenvalue 1 if no tree joins two parts of the rows.
    """
    centred = LinearOperator(
        roots.shape,
        matvec=lambda vector: roots @ vector - (roots @ vector).mean(),
        rmatvec=lambda vector: roots.T @ (vector - vector.mean()),
        dtype=np.float64,
    )
    # The start is fixed, so that a fit always has the same bits.
    start = np.random.default_rng(0).normal(size=min(roots.shape))
    left, singular_values, right = svds(centred, k=n_components, v0=start, solver="arpack")
    order = np.argsort(-singular_values)
    left, singular_values, right = left[:, order], singular_values[order], right[order]
    # Signs are arbitrary: the largest entry of each vector is positive.
    largest = np.abs(left).argmax(axis=0)
    signs = np.sign(left[largest, np.arange(n_components)])
    return left * signs, singular_values, right * signs[:, None]
