"""Proximities of rows by the leaves that they share: nearest rows and outliers."""

from __future__ import annotations

from typing import Literal

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.utils import gen_batches

from mddf._base.messages import short
from mddf._base.validation import check_lengths, check_whole
from mddf._forest.base import Forest
from mddf._targets.target_validation import encode_labels
from mddf.representation._leaves import LeafColumns, leaf_indices

Weighting = Literal["all", "leaf-size", "out-of-bag", "in-bag"]
_WEIGHTINGS = ("all", "leaf-size", "out-of-bag", "in-bag")
# Rows whose dense proximities are held at a time: 256 rows against 10^5 take 200 MB.
_BLOCK_ROWS = 256


def proximities(
    model: BaseEstimator,
    X: npt.ArrayLike,
    Y: npt.ArrayLike | None = None,
    *,
    weighting: Weighting = "all",
    layer: int | None = None,
    forest: int | None = None,
    sparse_output: bool = False,
) -> np.ndarray | sparse.csr_matrix:
    """Compute how often rows end in the same leaf.

    Parameters
    ----------
    model : forest, gradient boosting, cascade or deep forest of mddf
        Fitted.
    X : array or data frame of shape (n_samples, n_features)
    Y : array or data frame of shape (n_others, n_features), default=None
        Rows to compare with; None means the rows of X.
    weighting : {"all", "leaf-size", "out-of-bag", "in-bag"}, default="all"
        "all": share of the trees in which both rows end in the same leaf. "leaf-size": each tree
        counts 1 divided by the number of rows of Y in the leaf, so that the proximities of a row
        sum to 1, if a row of Y is in each of its leaves. "out-of-bag" and "in-bag": shares of the
        trees that drew neither of both rows, or both. These are for training rows of a forest,
        need ``Y=None``, and are 0 where no tree counts.
    layer, forest : int, default=None
        Layer and forest of a cascade, as in `leaf_indices`.
    sparse_output : bool, default=False
        Whether to return a sparse matrix.

    Returns
    -------
    ndarray or csr_matrix of shape (n_samples, n_others)
        Numbers from 0 to 1.

    Raises
    ------
    ValueError
        If `weighting` has no such value, or does not fit the model or Y.

    References
    ----------
    .. [1] L. Breiman and A. Cutler, "Random forests", manual, 2004.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from mddf import RandomForestClassifier
    >>> from mddf.representation import proximities
    >>> X, y = load_iris(return_X_y=True)
    >>> forest = RandomForestClassifier(100, random_state=0).fit(X, y)
    >>> near = proximities(forest, X)
    >>> near.shape, float(near[0, 0])
    ((150, 150), 1.0)
    """
    if weighting not in _WEIGHTINGS:
        raise ValueError(f"weighting must be one of {_WEIGHTINGS}, got {short(weighting)}")
    leaves = leaf_indices(model, X, layer=layer, forest=forest)
    if weighting in ("out-of-bag", "in-bag"):
        shares = _bag_proximities(model, leaves, Y, is_drawn=weighting == "in-bag")
        return shares if sparse_output else shares.toarray()
    other_leaves = leaves if Y is None else leaf_indices(model, Y, layer=layer, forest=forest)
    columns = LeafColumns.from_leaves(other_leaves)
    if weighting == "leaf-size":
        sums = _sums_by_leaf_size(columns, leaves, other_leaves)
    else:
        sums = _count_matrix(columns, leaves) @ _count_matrix(columns, other_leaves).T.tocsr()
    if not sparse_output:
        return sums.toarray() / columns.n_trees
    sums.data = sums.data / columns.n_trees
    return sums


def _count_matrix(columns: LeafColumns, leaves: np.ndarray) -> sparse.csr_matrix:
    """One-hot columns as integers that can count trees: products take 0.8 times as long."""
    encoded = columns.one_hot(leaves)
    encoded.eliminate_zeros()
    return encoded.astype(np.int16 if columns.n_trees <= np.iinfo(np.int16).max else np.int32)


def _sums_by_leaf_size(
    columns: LeafColumns, leaves: np.ndarray, other_leaves: np.ndarray
) -> sparse.csr_matrix:
    """Sums over the trees of 1 divided by the number of other rows in a shared leaf."""
    right = columns.one_hot(other_leaves)
    left = columns.one_hot(leaves, 1.0 / np.asarray(right.sum(axis=0)).ravel())
    left.eliminate_zeros()
    return left @ right.T.tocsr()


def _bag_proximities(
    model: BaseEstimator, leaves: np.ndarray, Y: npt.ArrayLike | None, *, is_drawn: bool
) -> sparse.csr_matrix:
    if not isinstance(model, Forest) or Y is not None:
        raise ValueError(
            "weighting 'out-of-bag' and 'in-bag' are for training rows of a forest and Y=None, "
            f"got {short(model)} and Y={short(Y)}"
        )
    counts = np.stack(list(model._sample_counts()), axis=1)
    if counts.shape != leaves.shape:
        raise ValueError(
            f"X must have the {len(counts)} training rows, in their order, got {len(leaves)} rows"
        )
    counted = (counts > 0) == is_drawn
    columns = LeafColumns.from_leaves(leaves)
    encoded = columns.one_hot(leaves)
    encoded.data *= counted.ravel()
    encoded.eliminate_zeros()
    shared = (encoded @ encoded.T).tocoo()
    mask = counted.astype(np.float64)
    n_trees = np.einsum("ij,ij->i", mask[shared.row], mask[shared.col])
    shared.data /= n_trees
    return shared.tocsr()


def nearest_rows(
    model: BaseEstimator,
    X: npt.ArrayLike,
    X_train: npt.ArrayLike,
    *,
    n_neighbors: int = 5,
    layer: int | None = None,
    forest: int | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Find the rows that share most leaves with each row: the most similar cases.

    Parameters
    ----------
    model : forest, gradient boosting, cascade or deep forest of mddf
        Fitted.
    X : array or data frame of shape (n_samples, n_features)
    X_train : array or data frame of shape (n_train, n_features)
        Rows to choose from.
    n_neighbors : int, default=5
        Number of rows to find, at most `n_train`.
    layer, forest : int, default=None
        As in `leaf_indices`.

    Returns
    -------
    rows : ndarray of int of shape (n_samples, n_neighbors)
        Numbers of the rows of `X_train`, the nearest first; rows that are equally near come in
        their order.
    proximity : ndarray of shape (n_samples, n_neighbors)
        Shares of the trees in which both rows end in the same leaf.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from mddf import RandomForestClassifier
    >>> from mddf.representation import nearest_rows
    >>> X, y = load_iris(return_X_y=True)
    >>> forest = RandomForestClassifier(100, random_state=0).fit(X[::2], y[::2])
    >>> rows, near = nearest_rows(forest, X[1:2], X[::2], n_neighbors=3)
    >>> y[::2][rows].tolist()
    [[0, 0, 0]]
    """
    other_leaves = leaf_indices(model, X_train, layer=layer, forest=forest)
    n_train = len(other_leaves)
    check_whole("n_neighbors", n_neighbors, 1, n_train)
    leaves = leaf_indices(model, X, layer=layer, forest=forest)
    columns = LeafColumns.from_leaves(other_leaves)
    right = _count_matrix(columns, other_leaves).T.tocsr()
    rows = np.empty((len(leaves), n_neighbors), np.int64)
    near = np.empty((len(leaves), n_neighbors))
    for block in gen_batches(len(leaves), _BLOCK_ROWS):
        dense = (_count_matrix(columns, leaves[block]) @ right).toarray()
        order = np.argsort(-dense, axis=1, kind="stable")[:, :n_neighbors]
        rows[block] = order
        near[block] = np.take_along_axis(dense, order, axis=1) / columns.n_trees
    return rows, near


def outlier_scores(
    model: BaseEstimator,
    X: npt.ArrayLike,
    y: npt.ArrayLike | None = None,
    *,
    layer: int | None = None,
    forest: int | None = None,
) -> np.ndarray:
    """Score rows that are far from all other rows, or from other rows of their class.

    The raw score of a row is the number of rows divided by the sum of its squared proximities to
    the other rows of its class. It is centred by the median and scaled by the median absolute
    deviation of the class. Scores above 10 are usually outliers [1]_.

    Parameters
    ----------
    model : forest, gradient boosting, cascade or deep forest of mddf
        Fitted.
    X : array or data frame of shape (n_samples, n_features)
    y : array of shape (n_samples,), default=None
        Classes; None takes all rows as one class.
    layer, forest : int, default=None
        As in `leaf_indices`.

    Returns
    -------
    ndarray of shape (n_samples,)
        Infinite for a row that shares no leaf with another one of its class.

    References
    ----------
    .. [1] L. Breiman and A. Cutler, "Random forests", manual, 2004.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_iris
    >>> from mddf import RandomForestClassifier
    >>> from mddf.representation import outlier_scores
    >>> X, y = load_iris(return_X_y=True)
    >>> y[0] = 2  # a wrong label
    >>> forest = RandomForestClassifier(100, min_samples_leaf=3, random_state=0).fit(X, y)
    >>> int(np.argmax(outlier_scores(forest, X, y)))
    0
    """
    leaves = leaf_indices(model, X, layer=layer, forest=forest)
    labels = np.zeros(len(leaves), np.uint16)
    if y is not None:
        check_lengths(leaves, y=y)
        labels = encode_labels(y)[1]
    scores = np.empty(len(leaves))
    for label in np.unique(labels):
        rows = np.flatnonzero(labels == label)
        scores[rows] = _class_scores(leaves[rows], len(leaves))
    return scores


def _class_scores(leaves: np.ndarray, n_rows: int) -> np.ndarray:
    columns = LeafColumns.from_leaves(leaves)
    encoded = columns.one_hot(leaves)
    transposed = encoded.T.tocsr()
    sums = np.empty(len(leaves))
    for block in gen_batches(len(leaves), _BLOCK_ROWS):
        shared = (encoded[block] @ transposed).tocsr() / columns.n_trees
        sums[block] = np.asarray(shared.multiply(shared).sum(axis=1)).ravel()
    squares = sums - 1  # without the row itself, which is in all of its leaves
    with np.errstate(divide="ignore"):
        raw = np.where(squares > 1e-12, n_rows / np.maximum(squares, 1e-300), np.inf)
    finite = raw[np.isfinite(raw)]
    if not len(finite):
        return raw
    centre = np.median(finite)
    deviation = np.median(np.abs(finite - centre))
    scaled: np.ndarray = (raw - centre) / (deviation or 1.0)
    return scaled
