"""Empirical Rademacher complexity of finite sets, stumps, trees and fitted forests."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from scipy.special import gammaln
from sklearn.utils import check_random_state

from mddf import _core
from mddf.analysis._checks import check_count, finite_numbers

# All sign vectors are tried up to this number of samples: 2^20 of them take some seconds.
_MOST_EXACT = 20
# Sign vectors of a batch times samples or hypotheses, which bounds memory to some 32 MB.
_BATCH_CELLS = 2**22
# The kernel counts the levels of a tree in 32 bits.
_MOST_LEVELS = 2**30


@dataclass(frozen=True)
class ComplexityEstimate:
    """An empirical Rademacher complexity.

    Attributes
    ----------
    value : float
        The complexity, or the mean over random sign vectors.
    standard_error : float
        Standard error of the mean; 0 if all sign vectors were tried.
    n_draws : int
        Number of sign vectors.

    Examples
    --------
    >>> from mddf.analysis import ComplexityEstimate
    >>> ComplexityEstimate(value=0.1, standard_error=0.01, n_draws=1000).upper
    0.12000000000000001
    """

    value: float
    standard_error: float
    n_draws: int

    @property
    def upper(self) -> float:
        """The value plus two standard errors."""
        return self.value + 2 * self.standard_error


def rademacher_complexity(
    values: ArrayLike,
    *,
    symmetric: bool = False,
    n_draws: int | None = 1000,
    random_state: int | np.random.RandomState | None = None,
) -> ComplexityEstimate:
    """Compute the empirical Rademacher complexity of a finite set of hypotheses.

    R_S(H) = E_sigma max_h (1 / m) sum_i sigma_i h(x_i), with independent signs sigma_i that are
    +1 or -1 with equal probability. The complexity of all convex combinations is the same.

    Parameters
    ----------
    values : array-like of shape (n_hypotheses, n_samples)
        h(x_i).
    symmetric : bool, default=False
        Whether the negative of every hypothesis also belongs to the set.
    n_draws : int or None, default=1000
        Number of random sign vectors. None tries all 2^m of them, for at most 20 samples.
    random_state : int, RandomState instance or None, default=None
        Draws the signs.

    Returns
    -------
    ComplexityEstimate
        The value with its standard error.

    Examples
    --------
    >>> from mddf.analysis import rademacher_complexity
    >>> both_signs = rademacher_complexity([[1.0, 1.0]], symmetric=True, n_draws=None)
    >>> both_signs.value, both_signs.n_draws
    (0.5, 4)
    """
    matrix = finite_numbers("values", values)
    if matrix.ndim != 2 or matrix.size == 0:
        raise ValueError(
            "values must have shape (n_hypotheses, n_samples) with at least one entry; "
            f"got {matrix.shape}"
        )
    n_hypotheses, n_samples = matrix.shape
    suprema = []
    for signs in _sign_batches(n_samples, n_draws, random_state, width=n_hypotheses):
        with np.errstate(over="ignore", invalid="ignore"):
            sums = signs @ matrix.T / n_samples
        if not np.isfinite(sums).all():
            raise ValueError(
                "values must have sums over the samples that are finite; got values up to "
                f"{np.abs(matrix).max():.3g}"
            )
        suprema.append((np.abs(sums) if symmetric else sums).max(axis=1))
    return _estimate(np.concatenate(suprema), is_exact=n_draws is None)


def tree_rademacher_complexity(
    X: ArrayLike,
    *,
    max_depth: int = 1,
    n_draws: int | None = 200,
    random_state: int | np.random.RandomState | None = None,
) -> ComplexityEstimate:
    """Compute the empirical Rademacher complexity of decision trees with labels in {-1, +1}.

    For each sign vector, the best tree of the given depth is searched. Stumps and constants, of
    depth 1, are searched exhaustively, so that the supremum is exact. Deeper trees are found layer
    by layer, as the boosting baselines do; the value is then a lower estimate.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Rows of finite numbers.
    max_depth : int, default=1
        Largest depth of a tree.
    n_draws : int or None, default=200
        Number of random sign vectors. None tries all 2^m of them, for at most 20 samples.
    random_state : int, RandomState instance or None, default=None
        Draws the signs.

    Returns
    -------
    ComplexityEstimate
        The value with its standard error.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from mddf.analysis import tree_rademacher_complexity
    >>> X, _ = load_iris(return_X_y=True)
    >>> stumps = tree_rademacher_complexity(X, random_state=0)
    >>> trees = tree_rademacher_complexity(X, max_depth=3, random_state=0)
    >>> 0 < stumps.value < trees.value < 1
    True
    """
    rows = finite_numbers("X", X)
    if rows.ndim != 2 or rows.size == 0:
        raise ValueError(
            f"X must have shape (n_samples, n_features) with at least one entry; got {rows.shape}"
        )
    check_count("max_depth", max_depth, 1)
    n_samples = len(rows)
    features = _core.RankedFeatures(np.ascontiguousarray(rows))
    no_penalty = np.zeros(1)
    suprema = []
    for signs in _sign_batches(n_samples, n_draws, random_state, width=n_samples):
        for sigma in signs:
            *_, edge = features.search(
                sigma / n_samples, no_penalty, 1.0, min(int(max_depth), _MOST_LEVELS), "layerwise"
            )
            suprema.append(edge)
    return _estimate(np.array(suprema), is_exact=n_draws is None)


def leaf_rademacher_complexity(
    leaves: ArrayLike,
    *,
    n_draws: int | None = 1000,
    random_state: int | np.random.RandomState | None = None,
) -> ComplexityEstimate:
    """Compute the empirical Rademacher complexity of a fitted forest with free leaf values.

    The class contains every function that is constant on the leaves of one of the forest's trees,
    with values in [-1, 1]. By convexity, it has the same complexity as the votes of all trees with
    any such values. The splits are fixed: the complexity of choosing them is not included, and
    the value is a lower estimate for the class of all trees of that shape.

    Parameters
    ----------
    leaves : array-like of int of shape (n_samples, n_trees)
        Leaf of each sample in each tree, as ``forest.apply(X)`` returns it.
    n_draws : int or None, default=1000
        Number of random sign vectors. None tries all 2^m of them, for at most 20 samples.
    random_state : int, RandomState instance or None, default=None
        Draws the signs.

    Returns
    -------
    ComplexityEstimate
        The value with its standard error.

    See Also
    --------
    partition_complexity : Closed form for a single tree.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from mddf import RandomForestClassifier
    >>> from mddf.analysis import leaf_rademacher_complexity
    >>> X, y = load_iris(return_X_y=True)
    >>> shallow = RandomForestClassifier(20, max_depth=2, random_state=0).fit(X, y)
    >>> deep = RandomForestClassifier(20, random_state=0).fit(X, y)
    >>> low, high = (
    ...     leaf_rademacher_complexity(forest.apply(X), random_state=0)
    ...     for forest in (shallow, deep)
    ... )
    >>> 0 < low.value < high.value < 1
    True
    """
    codes = _leaf_matrix(leaves)
    n_samples, n_trees = codes.shape
    compact = np.empty(codes.shape, np.int64)
    first_leaf = np.zeros(n_trees, np.int64)
    n_leaves = 0
    for t in range(n_trees):
        first_leaf[t] = n_leaves
        present, positions = np.unique(codes[:, t], return_inverse=True)
        compact[:, t] = n_leaves + positions
        n_leaves += len(present)
    rows = np.repeat(np.arange(n_samples), n_trees)
    ones = np.ones(codes.size)
    membership = sparse.csr_array((ones, (rows, compact.ravel())), shape=(n_samples, n_leaves))
    suprema = []
    for signs in _sign_batches(n_samples, n_draws, random_state, width=n_leaves):
        # The best value of a leaf is the sign of its sum; sums of signs are exact.
        leaf_sums = np.abs(signs @ membership)
        tree_sums = np.add.reduceat(leaf_sums, first_leaf, axis=1)
        suprema.append(tree_sums.max(axis=1) / n_samples)
    return _estimate(np.concatenate(suprema), is_exact=n_draws is None)


def partition_complexity(leaves: ArrayLike) -> NDArray[np.float64]:
    """Compute the Rademacher complexity of each tree's partition into leaves, in closed form.

    The class of a tree contains the functions that are constant on its leaves, with values in
    [-1, 1]. A leaf of n samples contributes E abs(sigma_1 + ... + sigma_n) / m, with ::

        E abs(sigma_1 + ... + sigma_n) = n binom(n - 1, floor((n - 1) / 2)) / 2^(n - 1).

    Parameters
    ----------
    leaves : array-like of int of shape (n_samples, n_trees)
        Leaf of each sample in each tree, as ``forest.apply(X)`` returns it.

    Returns
    -------
    array of shape (n_trees,)
        1 for a tree with a leaf for each sample. Their maximum is a lower bound for
        :func:`leaf_rademacher_complexity`.

    Examples
    --------
    >>> from mddf.analysis import partition_complexity
    >>> partition_complexity([[0, 0], [0, 1], [1, 2], [1, 3]]).tolist()
    [0.5, 1.0]
    """
    codes = _leaf_matrix(leaves)
    n_samples = len(codes)
    counts = [np.unique(column, return_counts=True)[1] for column in codes.T]
    return np.array([_expected_size(sizes).sum() / n_samples for sizes in counts])


def kernel_rademacher_bounds(kernel: ArrayLike) -> tuple[float, float]:
    """Compute bounds on the empirical Rademacher complexity of the unit ball of a kernel.

    The complexity is E_sigma sqrt(sigma' K sigma) / m. DeepBoost gives sqrt(tr K) / m as an upper
    bound, by Jensen's inequality, and sqrt(tr K / 2) / m as a lower one, by Khintchine's.

    Parameters
    ----------
    kernel : array-like of shape (n_samples, n_samples)
        Positive semi-definite matrix of the kernel, such as proximities of a forest.

    Returns
    -------
    lower, upper : float
        Both bounds.

    Examples
    --------
    >>> from mddf.analysis import kernel_rademacher_bounds
    >>> lower, upper = kernel_rademacher_bounds([[1.0, 0.5], [0.5, 1.0]])
    >>> round(lower, 3), round(upper, 3)
    (0.5, 0.707)
    """
    matrix = finite_numbers("kernel", kernel)
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or matrix.size == 0:
        raise ValueError(f"kernel must be a square matrix; got shape {matrix.shape}")
    diagonal = finite_numbers("the diagonal of kernel", np.diag(matrix), 0)
    upper = float(np.sqrt(diagonal.sum())) / len(matrix)
    return upper / float(np.sqrt(2)), upper


def _leaf_matrix(leaves: ArrayLike) -> NDArray[np.int64]:
    codes = np.asarray(leaves)
    if codes.ndim != 2 or codes.size == 0 or codes.dtype.kind not in "iu":
        raise ValueError(
            "leaves must be integers of shape (n_samples, n_trees) with at least one entry; "
            f"got shape {codes.shape} of {codes.dtype}"
        )
    return codes


def _expected_size(n: NDArray[np.int64]) -> NDArray[np.float64]:
    """Expected absolute sum of n independent signs."""
    below = n - 1
    half = below // 2
    log_binomial = gammaln(below + 1) - gammaln(half + 1) - gammaln(below - half + 1)
    return n * np.exp(log_binomial - below * np.log(2.0))


def _sign_batches(
    n_samples: int,
    n_draws: int | None,
    random_state: int | np.random.RandomState | None,
    *,
    width: int,
) -> Iterator[NDArray[np.float64]]:
    """Yield sign vectors as rows; `width` is the size of what is computed for each."""
    batch = max(1, _BATCH_CELLS // max(n_samples, width))
    if n_draws is None:
        if n_samples > _MOST_EXACT:
            raise ValueError(
                f"n_draws must be a number for more than {_MOST_EXACT} samples; "
                f"got None with {n_samples} samples"
            )
        bits = np.arange(n_samples)
        for first in range(0, 2**n_samples, batch):
            numbers = np.arange(first, min(first + batch, 2**n_samples))
            yield _as_signs((numbers[:, None] >> bits) & 1)
        return
    # The standard error needs two draws.
    check_count("n_draws", n_draws, 2)
    random = check_random_state(random_state)
    for first in range(0, int(n_draws), batch):
        size = min(batch, int(n_draws) - first)
        yield _as_signs(random.randint(0, 2, size=(size, n_samples)))


def _as_signs(bits: NDArray[np.int64]) -> NDArray[np.float64]:
    return np.asarray(2 * bits - 1, np.float64)


def _estimate(suprema: NDArray[np.float64], *, is_exact: bool) -> ComplexityEstimate:
    n_draws = len(suprema)
    error = 0.0 if is_exact else float(suprema.std(ddof=1) / np.sqrt(n_draws))
    return ComplexityEstimate(float(suprema.mean()), error, n_draws)
