"""Few columns that keep the geometry of a forest's kernel."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.random import RandomState
from scipy import sparse
from scipy.linalg import eigh
from scipy.sparse.csgraph import connected_components
from scipy.sparse.linalg import LinearOperator, eigsh
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin
from sklearn.utils.validation import _num_samples, check_is_fitted

from mddf._base.docstrings import describes_parameters
from mddf._base.validation import Within, unchanged_on_failure
from mddf.representation._forest_transformer import SHARED, LeafTransformer

# Eigenvalues that differ by less than this count as equal. Rounding moves an eigenvector by about
# 1e-15 divided by the difference, which is 1e-8 at this limit. All eigenvalues are at most 1.
_EQUAL = 1e-7
# Smaller eigenvalues count as 0: their eigenvectors could not be told from those of 0.
_LEAST_EIGENVALUE = _EQUAL
# Up to this number of rows, the kernel is a dense matrix, whose eigenvectors LAPACK computes. This
# takes 0.05 s for 1000 rows and 0.5 s for 2000.
_MOST_DENSE_ROWS = 1000


@describes_parameters(SHARED)
class ForestKernelEmbedding(ClassNamePrefixFeaturesOutMixin, LeafTransformer):
    """Leading eigenvectors of a forest's kernel, with extension to new rows.

    The kernel of two rows is the mean over the trees of 1 divided by the number of training rows
    in their leaf, if they share it. Its rows sum to 1, so that it is a random walk between the
    training rows. Its eigenvectors, scaled by powers of the eigenvalues, are a diffusion map.
    New rows get columns by Nyström's formula [1]_, and training rows their own columns.

    Parameters
    ----------
    n_components : int, default=2
        Number of columns.
    steps : float, default=1.0
        Steps of the walk: the exponent of the eigenvalues. More steps shrink columns of fine
        structure.

    Attributes
    ----------
    eigenvalues_ : ndarray of shape (n_components,)
        Eigenvalues of the kernel without the constant eigenvector, which has eigenvalue 1.
    embedding_ : ndarray of shape (n_samples, n_components)
        Columns of the training rows.

    Notes
    -----
    Eigenvalues that differ by less than 1e-7 count as equal, and smaller ones as 0, with columns
    of 0. If eigenvalues are equal, for example because no tree joins two clusters, any rotation of
    their eigenvectors is as good. The rotation and all signs are chosen by random numbers of the
    leaves, so that columns agree to about 1e-7 between fits, machines and orders of the rows.

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
        **LeafTransformer._parameter_constraints,
        "n_components": [Within(Integral, 1, None, closed="left")],
        "steps": [Within(Real, 0, None, closed="left")],
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
        with unchanged_on_failure(self):
            leaves = self._fit_columns(X, y)
            n_rows = np.bincount(self._columns.numbers(leaves)[0].ravel())
            # The kernel is S S', where S has the roots of the weights of a row's leaves.
            self._roots = 1 / np.sqrt(n_rows * self._columns.n_trees)
            roots = self._columns.one_hot(leaves, self._roots)
            # Columns beyond the rank of the kernel are 0.
            self.eigenvalues_ = np.zeros(self.n_components)
            self._projection = np.zeros((roots.shape[1], self.n_components))
            eigenvalues, vectors = _leading_eigenvectors(roots, self.n_components)
            self.eigenvalues_[: len(eigenvalues)] = eigenvalues
            factors = np.sqrt(len(leaves)) * eigenvalues ** (self.steps - 1)
            self._projection[:, : len(eigenvalues)] = roots.T @ vectors * factors
            self.embedding_ = roots @ self._projection
            self._n_features_out = self.n_components
        return self

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
        roots = self._columns.one_hot(self._leaves(X), self._roots)
        embedded: np.ndarray = roots @ self._projection
        return embedded


def _leading_eigenvectors(
    roots: sparse.csr_matrix, n_components: int
) -> tuple[np.ndarray, np.ndarray]:
    """Leading eigenvalues and eigenvectors of the kernel S S' without the constant vector.

    There are fewer than `n_components` if the rank of the kernel is smaller. Eigenvectors of equal
    eigenvalues, and all signs, are chosen by fixed vectors: their projections on the eigenspace,
    made orthogonal one after the other, are its basis. Rounding cannot choose another one. The
    fixed vectors are sums over the leaves of a row, so that the order of rows has no influence.
    """
    n_rows, n_leaves = roots.shape
    fixed = roots @ np.random.default_rng(0).normal(size=(n_leaves, n_components))
    # 1. If no tree joins two parts of the rows, 1 is an eigenvalue once more. Its eigenvectors are
    # constant on each part, so that they need no numerical method.
    parts = _indicators_of_parts(roots)
    constant = np.asarray(parts.sum(axis=0)).ravel() / np.sqrt(n_rows)
    coordinates = parts.T @ fixed
    coordinates -= constant[:, None] * (constant @ coordinates)
    n_ones = min(len(constant) - 1, n_components)
    values = np.ones(n_ones)
    vectors = parts @ _orthonormal(coordinates[:, :n_ones])
    if n_ones == n_components:
        return values, vectors
    # 2. The other eigenvectors have a sum of 0 in each part.
    eigenspaces = _dense_eigenspaces if n_rows <= _MOST_DENSE_ROWS else _sparse_eigenspaces
    other_values, other_vectors = eigenspaces(roots, parts, n_components - n_ones)
    start = 0
    while start < len(other_values) and len(values) < n_components:
        end = _end_of_eigenspace(other_values, start)
        n_vectors = min(end - start, n_components - len(values))
        space = other_vectors[:, start:end]
        basis = space @ _orthonormal(space.T @ fixed[:, :n_vectors])
        values = np.append(values, np.full(n_vectors, other_values[start:end].mean()))
        vectors = np.hstack([vectors, basis])
        start = end
    return values, vectors


def _indicators_of_parts(roots: sparse.csr_matrix) -> sparse.csr_matrix:
    """Orthonormal indicators, shape (n_rows, n_parts), of parts of the rows that share no leaf."""
    n_rows = roots.shape[0]
    graph = sparse.bmat([[None, roots], [roots.T, None]], format="csr")
    part = connected_components(graph, directed=False)[1][:n_rows]
    sizes = np.bincount(part)
    return sparse.csr_matrix((1 / np.sqrt(sizes[part]), part, np.arange(n_rows + 1)))


def _orthonormal(columns: np.ndarray) -> np.ndarray:
    """Orthogonalise columns one after the other. No column changes its side."""
    basis, triangle = np.linalg.qr(columns)
    return basis * np.sign(np.diag(triangle))


def _end_of_eigenspace(values: np.ndarray, place: int) -> int:
    """Number of descending eigenvalues up to the last one that equals the one at the place."""
    is_gap = values[place:-1] - values[place + 1 :] > _EQUAL
    return place + 1 + int(is_gap.argmax()) if is_gap.any() else len(values)


def _dense_eigenspaces(
    roots: sparse.csr_matrix, parts: sparse.csr_matrix, n_components: int
) -> tuple[np.ndarray, np.ndarray]:
    """Eigenvalues below 1, descending, and eigenvectors. The last eigenspace is complete."""
    kernel = (roots @ roots.T).toarray() - parts @ parts.T.toarray()
    n_rows = len(kernel)
    n_wanted = n_components + 1
    while True:
        first = max(0, n_rows - n_wanted)
        values, vectors = eigh(kernel, subset_by_index=[first, n_rows - 1])
        values = values[::-1]
        vectors = vectors[:, ::-1]
        n_sound = int(np.count_nonzero(values > _LEAST_EIGENVALUE))
        end = min(n_sound, _end_of_eigenspace(values, n_components - 1))
        if end < len(values) or first == 0:
            return values[:end], vectors[:, :end]
        n_wanted *= 4


def _sparse_eigenspaces(
    roots: sparse.csr_matrix, parts: sparse.csr_matrix, n_components: int
) -> tuple[np.ndarray, np.ndarray]:
    """Like `_dense_eigenspaces`, without a matrix of the kernel.

    ARPACK may miss copies of equal eigenvalues. It is called again on the space that is orthogonal
    to the known eigenvectors, until the eigenvalues that it finds are too small. Each call has a
    start of its own, because the missed eigenvectors are orthogonal to the previous one.
    """
    n_rows = roots.shape[0]
    rng = np.random.default_rng(0)
    values = np.empty(0)
    vectors = np.empty((n_rows, 0))

    def project(vector: np.ndarray) -> np.ndarray:
        vector = vector - parts @ (parts.T @ vector)
        remainder: np.ndarray = vector - vectors @ (vectors.T @ vector)
        return remainder

    def multiply(vector: np.ndarray) -> np.ndarray:
        return project(roots @ (roots.T @ project(vector)))

    operator = LinearOperator((n_rows, n_rows), matvec=multiply, dtype=np.float64)
    least = _LEAST_EIGENVALUE
    while True:
        start = rng.normal(size=n_rows)
        # ARPACK fails if the operator is 0.
        if np.linalg.norm(multiply(start)) < 1e-3 * _LEAST_EIGENVALUE:
            break
        n_wanted = max(1, n_components - len(values))
        new_values, new_vectors = eigsh(operator, k=n_wanted, v0=start)
        if new_values.max() < least:
            break
        is_sound = new_values > _LEAST_EIGENVALUE
        values = np.append(values, new_values[is_sound])
        vectors = np.hstack([vectors, new_vectors[:, is_sound]])
        order = np.argsort(-values)
        values = values[order]
        vectors = vectors[:, order]
        if len(values) >= n_components:
            least = values[_end_of_eigenspace(values, n_components - 1) - 1] - _EQUAL
    end = _end_of_eigenspace(values, min(n_components, len(values)) - 1) if len(values) else 0
    return values[:end], vectors[:, :end]
