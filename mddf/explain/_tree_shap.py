"""Shapley values of trees, stable however many columns a path asks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from mddf._trees.nodes import LEAF, Nodes

from ._decoding import decode
from ._paths import node_values, nothing, rows_at_leaves

# Numbers that are worked on at once.
_AT_ONCE = 2**19


def tree_contributions(
    blocks: Sequence[Any],
    codes: np.ndarray,
    background: np.ndarray | None,
    players: np.ndarray | None = None,
    *,
    n_jobs: int | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Shapley values of the mean class distribution over trees (path-dependent [1]_).

    A row of which only the features in S are known gets to a leaf with the product of a factor for
    each column on the path: for those in S 1 or 0, whether the row's value leads there; for all
    others z, the share of the background that its splits lead there. If instead each column is
    known with probability t, the factor is ``f = t o + (1 - t) z``, and the Shapley value of a
    column is the integral over t from 0 to 1 of ``(o - z)`` times the product of the other
    columns' factors [2]_. That is a polynomial, which Gauss and Legendre's nodes integrate
    exactly; all factors are positive, so that no digits are lost.

    The parameters and results are those of `path_contributions`.

    References
    ----------
    .. [1] S. Lundberg et al., "From local explanations to global understanding with explainable
       AI for trees", Nature Machine Intelligence 2, 2020.
    .. [2] G. Owen, "Multilinear extensions of games", Management Science 18, 1972.
    """
    contributions, bias = nothing(blocks, codes)
    for block in (block for block in blocks if block.n_trees):
        nodes = decode(block)
        reached = rows_at_leaves(nodes, block, background, n_jobs)
        bias += node_values(nodes, reached)[nodes.start[:-1]].sum(axis=0)
        player = nodes.column if players is None else players[nodes.column]
        factors = _Factors.of(nodes, reached, player)
        to_columns = _to_columns(nodes, player, codes.shape[1])
        size = nodes.value.size * len(factors.weights)
        step = max(1, _AT_ONCE // size)
        for first in range(0, len(codes), step):
            rows = slice(first, first + step)
            found = _of_edges(nodes, factors, nodes.leads(codes[rows]))
            sums = to_columns @ found.reshape(len(found), -1)
            contributions[rows] += sums.reshape(codes.shape[1], *found.shape[1:]).swapaxes(0, 1)
    n_trees = max(1, sum(block.n_trees for block in blocks))
    return contributions / n_trees, bias / n_trees


@dataclass(frozen=True)
class _Factors:
    """What the edges into nodes multiply a row's weight by, at each t of the integral.

    If several edges on a path ask one column, the last has the factor of all of them, and takes
    back that of the one before it. Tables have one entry for each of three cases: the row's value
    leads along all of these edges, along all but the last, or not even along those before.

    Attributes
    ----------
    weights : ndarray of shape (n_steps,)
        Of the integral.
    before : ndarray of int of shape (n_nodes,)
        The edge above that asks the same column, LEAF if there is none.
    ratio : ndarray of shape (3, n_nodes, n_steps)
        The factor over that of the edge before.
    slope : ndarray of shape (3, n_nodes, n_steps)
        ``(o - z) / f``, less the same of the edge before.
    """

    weights: np.ndarray
    before: np.ndarray
    ratio: np.ndarray
    slope: np.ndarray

    @classmethod
    def of(cls, nodes: Nodes, reached: np.ndarray, player: np.ndarray) -> _Factors:
        """Factors for a background of which so much gets to each leaf."""
        share, before = _shares(nodes, reached), _edges_before(nodes, player)
        together, n_columns = np.ones(len(share)), np.zeros(len(share), int)
        for level in nodes.levels:
            for child in (nodes.left[level], nodes.left[level] + 1):
                again = before[child] != LEAF
                together[child] = share[child] * np.where(again, together[before[child]], 1)
                n_columns[child] = n_columns[level] + ~again
        # n nodes are exact up to degree 2 n - 1: the product of all columns' factors but one.
        place, weights = np.polynomial.legendre.leggauss(max(1, -(-n_columns.max() // 2)))
        t = (1 + place) / 2
        z = together[:, None]
        z_before = np.where(before == LEAF, 1, together[before])[:, None]
        known, known_before = t + (1 - t) * z, t + (1 - t) * z_before
        slope_before = (1 - z_before) / known_before
        nothing_before = np.zeros_like(z_before)
        ratio = [
            known / known_before,
            (1 - t) * z / known_before,
            np.divide(z, z_before, out=nothing_before, where=z_before > 0) + 0 * t,
        ]
        slope = [
            (1 - z) / known - slope_before,
            np.where(z > 0, -1 / (1 - t), 0) - slope_before,
            np.zeros_like(known),
        ]
        return cls(weights / 2, before, np.stack(ratio), np.stack(slope))


def _shares(nodes: Nodes, reached: np.ndarray) -> np.ndarray:
    """Share of a parent's rows that get to each node; of its leaves where no row gets to."""
    leaf = nodes.left == LEAF
    rows, leaves, parent = nodes.gather(reached), nodes.gather(leaf.astype(int)), nodes.parent
    at_all = rows[parent] > 0
    return np.where(at_all, rows / np.where(at_all, rows[parent], 1), leaves / leaves[parent])


def _edges_before(nodes: Nodes, player: np.ndarray) -> np.ndarray:
    """The nearest edge above that asks the same player, by the node it leads to."""
    parent, split_column = nodes.parent, player[nodes.parent]
    before = parent.copy()
    open_ = np.flatnonzero(before != LEAF)
    while len(open_):
        before[open_[parent[before[open_]] == LEAF]] = LEAF  # the root, which no edge leads to
        open_ = open_[before[open_] != LEAF]
        open_ = open_[split_column[before[open_]] != split_column[open_]]
        before[open_] = parent[before[open_]]
    return before


def _of_edges(nodes: Nodes, factors: _Factors, leads: np.ndarray) -> np.ndarray:
    """What each edge contributes to each row, shape (n_nodes, n_rows, n_classes)."""
    leads_before = np.ones_like(leads)
    for level in nodes.levels:
        for child in (nodes.left[level], nodes.left[level] + 1):
            before = factors.before[child]
            again = (before != LEAF)[:, None]
            leads_before[child] = np.where(again, leads[before], True)
            leads[child] &= leads_before[child]
    case = 2 - leads.astype(np.int8) - leads_before
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
    found = np.zeros((*leads.shape, nodes.value.shape[1]))
    below = np.empty(0)
    for child, leaf, product in reversed(products):
        # Of the leaves below each node the products times the values.
        sums = np.empty((nodes.value.shape[1], len(child), *product.shape[1:]))
        sums[:, leaf] = nodes.value[child[leaf]].T[:, :, None, None] * product
        if not leaf.all():
            sums[:, ~leaf] = below
        slope = factors.slope[case[child], child[:, None]]
        found[child] = np.einsum("cnrt,nrt->nrc", sums, slope)
        below = sums[:, : len(child) // 2] + sums[:, len(child) // 2 :]
    return found


def _to_columns(nodes: Nodes, player: np.ndarray, n_columns: int) -> sparse.csr_array:
    """A matrix that adds up edges by the players that they ask."""
    edges = np.flatnonzero(nodes.parent != LEAF)
    places = player[nodes.parent[edges]], edges
    return sparse.csr_array((np.ones(len(edges)), places), shape=(n_columns, len(nodes.left)))
