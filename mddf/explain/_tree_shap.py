"""Shapley values of trees, by the tree explainer of the package shap."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mddf import _growing
from mddf._binning import MISSING
from mddf._trees import Trees

from ._nodes import LEAF, Nodes, decode
from ._paths import nothing

# Weight of a leaf that no row of the background gets to: TreeSHAP divides by the nodes' weights.
_UNREACHED = 1e-6


def tree_contributions(
    blocks: Sequence[Trees], codes: np.ndarray, background: np.ndarray, *, n_jobs=None
) -> tuple[np.ndarray, np.ndarray]:
    """Shapley values of the mean class distribution over trees (path-dependent TreeSHAP).

    The trees ask for bins, which are small whole numbers, so that single and double precision
    are the same. Parameters and results are those of `path_contributions`.
    """
    contributions, bias = nothing(blocks, codes)
    cells = np.where(codes == MISSING, np.nan, codes)
    for block in blocks:
        nodes = decode(block)
        weight, of_block = _weights(nodes, block, background, n_jobs)
        bias += of_block
        contributions += _explain(nodes, weight, codes, cells)
    n_trees = sum(block.n_trees for block in blocks)
    return contributions / n_trees, bias / n_trees


def _weights(nodes: Nodes, block: Trees, background, n_jobs) -> tuple[np.ndarray, np.ndarray]:
    """The nodes' weights, and what the trees say on average by these."""
    leaf = nodes.left == LEAF
    leaves = nodes.leaves(_growing.leaf_indices([block], background, n_jobs=n_jobs))
    reached = np.bincount(leaves.ravel(), minlength=len(leaf))
    of_leaves = np.where(leaf, reached + _UNREACHED, 0)
    value = np.where(leaf[:, None], nodes.value, 0)
    roots = nodes.start[:-1]
    weight = nodes.gather(of_leaves)
    means = nodes.gather(of_leaves[:, None] * value)[roots] / weight[roots, None]
    return weight, means.sum(axis=0)


def _explain(nodes: Nodes, weight, codes, cells) -> np.ndarray:
    import shap

    trees = [
        _as_shap(nodes, weight, slice(*part))
        for part in zip(nodes.start[:-1], nodes.start[1:], strict=True)
    ]
    explainer = shap.TreeExplainer({"trees": trees}, feature_perturbation="tree_path_dependent")
    shape = (-1, codes.shape[1], nodes.value.shape[1])
    if not nodes.sets:
        return explainer.shap_values(cells, check_additivity=False).reshape(shape)
    # Shapley values of one row depend on a split only by the side that the row goes to. So rows
    # with the same categories are explained together, and their splits by sets are made splits
    # by order which send them, and all that is present, to the right side.
    asked = np.unique(nodes.column[list(nodes.sets)])
    kinds, kind_of = np.unique(codes[:, asked], axis=0, return_inverse=True)
    values = np.empty((*codes.shape, nodes.value.shape[1]))
    for number, kind in enumerate(kinds):
        code_of = dict(zip(asked.tolist(), kind.tolist(), strict=True))
        for node, left in nodes.sets.items():
            tree = np.searchsorted(nodes.start, node, side="right") - 1
            goes_left = code_of[int(nodes.column[node])] in left
            side = np.inf if goes_left else -np.inf
            explainer.model.thresholds[tree, node - nodes.start[tree]] = side
        rows = np.flatnonzero(kind_of.ravel() == number)
        found = explainer.shap_values(cells[rows], check_additivity=False)
        values[rows] = found.reshape(shape)
    return values


def _as_shap(nodes: Nodes, weight, part: slice) -> dict:
    leaf = nodes.left[part] == LEAF
    left = np.where(leaf, LEAF, nodes.left[part] - part.start)
    right = np.where(leaf, LEAF, left + 1)
    return {
        "children_left": left,
        "children_right": right,
        "children_default": np.where(nodes.missing_left[part], left, right),
        "features": nodes.column[part],
        "thresholds": nodes.highest[part].astype(float),
        "values": np.where(leaf[:, None], nodes.value[part], 0),
        "node_sample_weight": weight[part],
    }
