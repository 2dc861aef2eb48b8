"""Leaves that rows end in, and their one-hot columns."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import islice, pairwise

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.utils import gen_batches

from mddf._base.messages import short
from mddf._base.serialization import register_serializable
from mddf._base.validation import check_position
from mddf._binning.encoded_rows import EncodedRows
from mddf._fitted.fitted_model import FittedMember
from mddf._forest.base import Forest
from mddf._gradient.base import GradientBoosting
from mddf._gradient.decoding import decode
from mddf._gradient.target_statistics import with_statistics
from mddf._gradient.trees import BoostedTrees
from mddf._inspection.stages import coded_stages, fitted_stages
from mddf._members.boosted import BoostedFolds
from mddf._trees import predictor


def leaf_indices(
    model: BaseEstimator,
    X: npt.ArrayLike,
    *,
    layer: int | None = None,
    forest: int | None = None,
) -> np.ndarray:
    """Return the leaf of every tree that each row ends in.

    Parameters
    ----------
    model : forest, gradient boosting, cascade or deep forest of mddf
        Fitted. Members of a layer that have no trees, such as networks, are left out. Late
        trees of gradient boosting divide the rows by the residuals of earlier trees, but count as
        much as the first ones.
    X : array, sparse matrix or data frame of shape (n_samples, n_features)
    layer : int, default=None
        Position of a cascade's layer: 0 is the first layer and -1 the last one; None is the last
        one. Must be None for a forest.
    forest : int, default=None
        Position of the forest in the layer; None means all forests, one after the other.

    Returns
    -------
    ndarray of int64 of shape (n_samples, n_trees)
        Numbers that are distinct within a tree.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from mddf import RandomForestClassifier
    >>> from mddf.representation import leaf_indices
    >>> X, y = load_iris(return_X_y=True)
    >>> leaf_indices(RandomForestClassifier(5, random_state=0).fit(X, y), X).shape
    (150, 5)
    """
    fitted = fitted_stages(model)
    if not fitted.has_layers and layer is not None:
        raise ValueError(f"layer must be None for a forest, got {short(layer)}")
    if not fitted.has_layers and forest is not None:
        raise ValueError(f"forest must be None for a forest, got {short(forest)}")
    if isinstance(model, Forest):
        return model.apply(X)
    if isinstance(model, GradientBoosting):
        return _leaf_nodes(model._trees, model.apply(X))
    n_layers = len(fitted.stages)
    position = n_layers - 1 if layer is None else check_position("layer", layer, n_layers)
    members = fitted.stages[position].members
    if forest is not None:
        members = [members[check_position("forest", forest, len(members))]]
    rows = next(islice(coded_stages(model, X), position, None))
    leaves = [
        block_leaves
        for member in members
        for block_leaves in _member_leaves(member, rows, model.n_jobs)
    ]
    if not leaves:
        names = ", ".join(member.name or type(member.models[0]).__name__ for member in members)
        raise ValueError(
            f"layer {position} of the {type(model).__name__} must have a member with trees, got "
            f"{names}; fit a RandomForestClassifier or a RandomForestRegressor instead"
        )
    return np.concatenate(leaves, axis=1).astype(np.int64, copy=False)


def _member_leaves(
    member: FittedMember, rows: EncodedRows, n_jobs: int | None
) -> Iterator[np.ndarray]:
    """Leaves of the trees of a member of a layer; nothing if it has no trees."""
    if member.has_trees:
        yield predictor.forest_leaves(member.models, member.tree_codes(rows), n_jobs=n_jobs)
    elif isinstance(member, BoostedFolds):
        codes = np.ascontiguousarray(rows.codes[:, : member.n_features])
        features = replace(rows, codes=codes)
        for model in member.models:
            for trees, statistics in model.trees_with_statistics():
                yield _leaf_nodes(trees, trees.leaves(with_statistics(features, statistics)))


def _leaf_nodes(trees: BoostedTrees, leaves: np.ndarray) -> np.ndarray:
    """Nodes of leaves: several leaves of a symmetric tree can be the same node."""
    nodes: np.ndarray = decode(trees, reads_values=False).leaves(leaves)
    return nodes.astype(np.int64, copy=False)


def _starts(lengths: npt.ArrayLike) -> np.ndarray:
    """Starts of consecutive parts of some lengths, and the end of the last one."""
    return np.concatenate([[0], np.cumsum(lengths)])


def _row_batches(leaves: np.ndarray) -> Iterator[slice]:
    """Batches of rows with about 2**15 leaves, whose copies stay in the processor's cache."""
    n_rows, n_trees = leaves.shape
    return gen_batches(n_rows, max(1, 2**15 // n_trees))


@register_serializable("leaf columns")
@dataclass
class LeafColumns:
    """Numbers of the leaves of each tree as columns of a table."""

    leaves: list[np.ndarray]  # of each tree, leaves of training rows, ascending

    @classmethod
    def from_leaves(cls, leaves: np.ndarray) -> LeafColumns:
        # Leaves of a tree have small numbers close together, so that counting beats sorting. One
        # count for all trees takes 0.7 times as long as one for each, which needs a transpose.
        lowest = leaves.min(axis=0)
        starts = _starts(leaves.max(axis=0) - lowest + 1)
        is_leaf = np.zeros(starts[-1], bool)
        for rows in _row_batches(leaves):
            is_leaf[leaves[rows] + (starts[:-1] - lowest)] = True
        return cls(
            [
                tree_lowest + np.flatnonzero(is_leaf[start:end])
                for tree_lowest, (start, end) in zip(lowest, pairwise(starts), strict=True)
            ]
        )

    @property
    def n_trees(self) -> int:
        return len(self.leaves)

    @property
    def starts(self) -> np.ndarray:
        """First column of each tree, and the number of all columns."""
        return _starts([len(tree) for tree in self.leaves])

    def numbers(self, leaves: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Columns of leaves, and a mask of leaves that no training row ended in."""
        lowest = np.array([known[0] for known in self.leaves])
        # A table has the column of each leaf. The last entry of a tree is for leaves beyond the
        # known ones.
        n_entries = np.array([known[-1] - known[0] + 2 for known in self.leaves])
        starts = _starts(n_entries)
        table = np.full(starts[-1], -1, np.int32)
        entries = np.concatenate(
            [known + (start - known[0]) for known, start in zip(self.leaves, starts, strict=False)]
        )
        table[entries] = np.arange(len(entries), dtype=np.int32)
        last_entries = (n_entries - 1).astype(np.uint64)
        columns = np.empty(leaves.shape, np.int32)
        for rows in _row_batches(leaves):
            # Unsigned, leaves below the known ones become large numbers.
            places = (leaves[rows] - lowest).view(np.uint64)
            np.minimum(places, last_entries, out=places)
            columns[rows] = table[places.view(np.int64) + starts[:-1]]
        is_new = columns < 0
        columns[is_new] = 0
        return columns, is_new

    def one_hot(self, leaves: np.ndarray, values: np.ndarray | None = None) -> sparse.csr_matrix:
        """Sparse rows with a one, or a value by column, in the column of each tree's leaf."""
        columns, is_new = self.numbers(leaves)
        n_rows = len(leaves)
        data = np.ones(columns.size) if values is None else values[columns.ravel()]
        if is_new.any():
            data[is_new.ravel()] = 0.0
        index_type = np.int32 if columns.size <= np.iinfo(np.int32).max else np.int64
        row_starts = np.arange(n_rows + 1, dtype=index_type) * self.n_trees
        shape = (n_rows, int(self.starts[-1]))
        return sparse.csr_matrix((data, columns.ravel(), row_starts), shape=shape)
