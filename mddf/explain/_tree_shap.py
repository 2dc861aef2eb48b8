"""Shapley values of trees, numerically stable for paths of any length."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from mddf._gradient.trees import BoostedTrees
from mddf._trees.arrays import TreeBlock
from mddf._trees.nodes import LEAF, Nodes

from ._decoding import decode
from ._paths import node_values, rows_at_leaves, zero_contributions

# Numbers in the largest array of a block of rows: 4 MB of doubles. The value was not tuned.
_BLOCK_SIZE = 2**19


def tree_contributions(
    blocks: Sequence[TreeBlock | BoostedTrees],
    codes: np.ndarray,
    background: np.ndarray | None,
    shap_groups: np.ndarray | None = None,
    *,
    n_jobs: int | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Shapley values of the mean class distribution over trees (path-dependent [1]_).

    If only the columns in a set S are known, a row reaches a leaf with a weight that is a product
    of factors, one for each column on the path. For a column in S the factor is o: 1 if the row's
    value leads to the leaf, else 0. For another column it is z, the share of the background rows
    that its splits send to the leaf. If each column is known with probability t instead, the
    factor is ``f = t o + (1 - t) z``, and the Shapley value of a column is the integral over t
    from 0 to 1 of ``(o - z)`` times the product of the other columns' factors [2]_. The integrand
    is a polynomial, so that Gauss-Legendre quadrature is exact. All factors are positive, so that
    no digits are lost.

    Parameters and results are as for `path_contributions`.

    References
    ----------
    .. [1] S. Lundberg et al., "From local explanations to global understanding with explainable
       AI for trees", Nature Machine Intelligence 2, 2020.
    .. [2] G. Owen, "Multilinear extensions of games", Management Science 18, 1972.
    """
    contributions, bias = zero_contributions(blocks, codes)
    n_columns = codes.shape[1]
    for block in (block for block in blocks if block.n_trees):
        nodes = decode(block)
        reached = rows_at_leaves(nodes, block, background, n_jobs)
        bias += node_values(nodes, reached)[nodes.start[:-1]].sum(axis=0)
        group = nodes.column if shap_groups is None else shap_groups[nodes.column]
        factors = _Factors.from_nodes(nodes, reached, group)
        sum_edges = _edges_to_groups(nodes, group, n_columns)
        size_per_row = nodes.value.size * len(factors.weights)
        n_rows = max(1, _BLOCK_SIZE // size_per_row)
        for first in range(0, len(codes), n_rows):
            rows = slice(first, first + n_rows)
            of_edges = _edge_contributions(nodes, factors, nodes.leads(codes[rows]))
            sums = sum_edges @ of_edges.reshape(len(of_edges), -1)
            contributions[rows] += sums.reshape(n_columns, *of_edges.shape[1:]).swapaxes(0, 1)
    n_trees = max(1, sum(block.n_trees for block in blocks))
    return contributions / n_trees, bias / n_trees


@dataclass(frozen=True)
class _Factors:
    """Factors of the edges into nodes, at each t of the integral.

    If several edges on a path split by one group of columns, the last of them multiplies by the
    factor of all of them and divides by the factor of the edges before it. The tables `ratio` and
    `slope` of shape (3, n_nodes, n_steps) have an entry for each of three cases: the row's values
    lead along all of these edges, along all but the last, or leave the path before.
    """

    weights: np.ndarray  # of the quadrature
    before: np.ndarray  # the nearest edge above that splits by the same group, LEAF if none
    ratio: np.ndarray  # f divided by the factor of the edge before
    slope: np.ndarray  # (o - z) / f minus the same term of the edge before

    @classmethod
    def from_nodes(cls, nodes: Nodes, reached: np.ndarray, group: np.ndarray) -> _Factors:
        share = _shares(nodes, reached)
        before = _edges_before(nodes, group)
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
        return cls(weights / 2, before, np.stack(ratio), np.stack(slope))


def _shares(nodes: Nodes, reached: np.ndarray) -> np.ndarray:
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


def _edge_contributions(nodes: Nodes, factors: _Factors, leads: np.ndarray) -> np.ndarray:
    """Contribution of each edge to each row, shape (n_nodes, n_rows, n_classes).

    `leads` says whether a row's value leads along an edge, and is overwritten.
    """
    # 1. Find the case of each edge and row: see `_Factors`.
    leads_before = np.ones_like(leads)
    for level in nodes.levels:
        for child in (nodes.left[level], nodes.left[level] + 1):
            before = factors.before[child]
            again = (before != LEAF)[:, None]
            leads_before[child] = np.where(again, leads[before], True)
            leads[child] &= leads_before[child]
    case = 2 - leads.astype(np.int8) - leads_before
    # 2. Go down the trees, and keep the products of factors at the leaves.
    n_roots = int(np.sum(nodes.left[nodes.start[:-1]] != LEAF))
    product = np.broadcast_to(factors.weights, (n_roots, leads.shape[1], len(factors.weights)))
    products = []
    for level in nodes.levels:
        child = np.concatenate([nodes.left[level], nodes.left[level] + 1])
        product = np.concatenate([product, product])
        product *= factors.ratio[case[child], child[:, None]]
        leaf = nodes.left[child] == LEAF
        products.append((child, leaf, product[leaf]))
        product = product[~leaf]
    # 3. Go up again. An edge contributes its slope times the sum over the leaves below it.
    contributions = np.zeros((*leads.shape, nodes.value.shape[1]))
    below = np.empty(0)
    for child, leaf, product in reversed(products):
        # Sums over the leaves below each node of the products times the values.
        sums = np.empty((nodes.value.shape[1], len(child), *product.shape[1:]))
        sums[:, leaf] = nodes.value[child[leaf]].T[:, :, None, None] * product
        if not leaf.all():
            sums[:, ~leaf] = below
        slope = factors.slope[case[child], child[:, None]]
        contributions[child] = np.einsum("cnrt,nrt->nrc", sums, slope)
        below = sums[:, : len(child) // 2] + sums[:, len(child) // 2 :]
    return contributions


def _edges_to_groups(nodes: Nodes, group: np.ndarray, n_columns: int) -> sparse.csr_array:
    """Matrix that adds up edges by the group that they split by."""
    edges = np.flatnonzero(nodes.parent != LEAF)
    places = (group[nodes.parent[edges]], edges)
    return sparse.csr_array((np.ones(len(edges)), places), shape=(n_columns, len(nodes.left)))
