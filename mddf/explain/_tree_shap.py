"""Shapley values of trees, numerically stable for paths of any length."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mddf._base.parallel import in_threads
from mddf._core import Cancel, add_shapley_values
from mddf._gradient.decoding import decode
from mddf._gradient.trees import BoostedTrees
from mddf._trees.arrays import TreeBlock
from mddf._trees.nodes import LEAF, Nodes

from ._paths import node_values, rows_at_leaves, zero_contributions

# Nodes times rows of a piece of work: 16 MB for the paths of the rows. The value was not tuned.
_BLOCK_SIZE = 2**24


def shapley_values(
    blocks: Sequence[TreeBlock | BoostedTrees],
    codes: np.ndarray,
    background: np.ndarray | None,
    shap_groups: np.ndarray | None = None,
    *,
    with_interactions: bool = False,
    n_jobs: int | None = None,
) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
    """Shapley values of the mean class distribution over trees (path-dependent [1]_).

    If only the columns in a set S are known, a row reaches a leaf with a weight that is a product
    of factors, one for each column on the path. For a column in S the factor is o: 1 if the row's
    value leads to the leaf, else 0. For another column it is z, the share of the background rows
    that its splits send to the leaf. If each column is known with probability t instead, the
    factor is ``f = t o + (1 - t) z``, and the Shapley value of a column is the integral over t
    from 0 to 1 of ``(o - z)`` times the product of the other columns' factors [2]_. The integrand
    is a polynomial, so that Gauss-Legendre quadrature is exact. All factors are positive, so that
    no digits are lost.

    The interaction value of two columns is half of their Shapley interaction index: the integral
    over t of ``(o - z)`` of both columns times the product of the other columns' factors. The
    value of a column with itself is the rest of its Shapley value.

    Columns with the same entry in `shap_groups` are known or unknown together. Returns values and
    a bias as `path_contributions` does, and interaction values of shape (n_rows, n_columns,
    n_columns, n_classes) or None.

    References
    ----------
    .. [1] S. Lundberg et al., "From local explanations to global understanding with explainable
       AI for trees", Nature Machine Intelligence 2, 2020.
    .. [2] G. Owen, "Multilinear extensions of games", Management Science 18, 1972.
    """
    contributions, bias = zero_contributions(blocks, codes)
    n_columns = codes.shape[1]
    indices = None
    if with_interactions:
        indices = np.zeros((len(codes), n_columns, n_columns, len(bias)))
    for block in (block for block in blocks if block.n_trees):
        nodes = decode(block)
        reached = rows_at_leaves(nodes, block, background, n_jobs)
        bias += node_values(nodes, reached)[nodes.start[:-1]].sum(axis=0)
        column_group = nodes.column if shap_groups is None else shap_groups[nodes.column]
        factors = _edge_factors(nodes, reached, column_group)
        _add_block(nodes, factors, codes, contributions, indices, n_jobs=n_jobs)
    n_trees = max(1, sum(block.n_trees for block in blocks))
    contributions /= n_trees
    interactions = None
    if indices is not None:
        # Each index is divided over both orders of its columns.
        interactions = (indices + indices.swapaxes(1, 2)) / (2 * n_trees)
        diagonal = np.arange(n_columns)
        interactions[:, diagonal, diagonal] = contributions - interactions.sum(axis=2)
    return contributions, bias / n_trees, interactions


def _add_block(
    nodes: Nodes,
    factors: dict[str, np.ndarray],
    codes: np.ndarray,
    contributions: np.ndarray,
    indices: np.ndarray | None,
    *,
    n_jobs: int | None,
) -> None:
    """Add the values of the trees of a block to the arrays, in threads."""
    start = np.ascontiguousarray(nodes.start, np.int64)
    left = np.ascontiguousarray(nodes.left, np.int64)
    value = np.ascontiguousarray(nodes.value, float)

    def add_rows(*, first: int, last: int, cancel: Cancel | None) -> None:
        leads = np.ascontiguousarray(nodes.leads(codes[first:last]).T).view(np.uint8)
        add_shapley_values(
            start=start, left=left, value=value, **factors,
            leads=leads, contributions=contributions[first:last],
            interactions=None if indices is None else indices[first:last], cancel=cancel,
        )  # fmt: skip

    n_rows = max(1, _BLOCK_SIZE // len(nodes.left))
    starts = range(0, len(codes), n_rows)
    ranges = [(first, min(first + n_rows, len(codes))) for first in starts]
    if ranges:
        in_threads(add_rows, ranges, n_jobs)


def _edge_factors(
    nodes: Nodes, reached: np.ndarray, column_group: np.ndarray
) -> dict[str, np.ndarray]:
    """Factors of the edges into nodes, at each t of the integral, as the kernel reads them.

    If several edges on a path split by one group of columns, the last of them multiplies by the
    factor of all of them and divides by the factor of the edges before it. The tables `ratio` (f
    divided by the factor of the edge before) and `slope` ((o - z) / f minus the same term of the
    edge before) of shape (3, n_nodes, n_steps) have an entry for each of three cases: the row's
    values lead along all of these edges, along all but the last, or leave the path before.
    `weights` are of the quadrature, `group` is of the edge into each node, and `before` is the
    nearest edge above that splits by the same group. `column_group` has the group of the column
    of each split.
    """
    share = _shares_of_rows(nodes, reached)
    before = _edges_before(nodes, column_group)
    group = column_group[nodes.parent]
    joint_share = np.ones(len(share))  # z: the product over the edges of the same group
    n_groups = np.zeros(len(share), int)  # on the path to each node
    for level in nodes.levels:
        for child in (nodes.left[level], nodes.left[level] + 1):
            again = before[child] != LEAF
            joint_share[child] = share[child] * np.where(again, joint_share[before[child]], 1)
            n_groups[child] = n_groups[level] + ~again
    # n points are exact up to degree 2 n - 1. The integrand is the product of the factors of
    # all groups on a path but one.
    point, weights = np.polynomial.legendre.leggauss(max(1, -(-n_groups.max() // 2)))
    t = (1 + point) / 2
    z = joint_share[:, None]
    z_before = np.where(before == LEAF, 1, joint_share[before])[:, None]
    known = t + (1 - t) * z  # f for o = 1
    known_before = t + (1 - t) * z_before
    slope_before = (1 - z_before) / known_before
    ratio = [
        known / known_before,
        (1 - t) * z / known_before,
        np.divide(z, z_before, out=np.zeros_like(z_before), where=z_before > 0) + 0 * t,
    ]
    slope = [
        (1 - z) / known - slope_before,
        np.where(z > 0, -1 / (1 - t), 0) - slope_before,
        np.zeros_like(known),
    ]
    return {
        "weights": weights / 2,
        "group": np.ascontiguousarray(group, np.int64),
        "before": np.ascontiguousarray(before, np.int64),
        "ratio": np.stack(ratio),
        "slope": np.stack(slope),
    }


def _shares_of_rows(nodes: Nodes, reached: np.ndarray) -> np.ndarray:
    """Share of a parent's rows at each node, or of its leaves if no row reaches the parent."""
    parent = nodes.parent
    rows = nodes.gather(reached)
    n_leaves = nodes.gather((nodes.left == LEAF).astype(int))
    any_rows = rows[parent] > 0
    share_of_rows = rows / np.where(any_rows, rows[parent], 1)
    return np.where(any_rows, share_of_rows, n_leaves / n_leaves[parent])


def _edges_before(nodes: Nodes, group: np.ndarray) -> np.ndarray:
    """Find the nearest edge above that splits by the same group, by the node it leads to."""
    parent = nodes.parent
    split_group = group[parent]
    before = parent.copy()
    searching = np.flatnonzero(before != LEAF)
    while len(searching):
        at_root = parent[before[searching]] == LEAF
        before[searching[at_root]] = LEAF  # no edge leads to a root
        searching = searching[~at_root]
        searching = searching[split_group[before[searching]] != split_group[searching]]
        before[searching] = parent[before[searching]]
    return before
