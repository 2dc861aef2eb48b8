"""Nodes and leaves of trees of all kinds."""

from __future__ import annotations

import numpy as np

from mddf._gradient.trees import BoostedTrees
from mddf._trees import predictor
from mddf._trees.arrays import TreeBlock
from mddf._trees.decoding import decode_forest
from mddf._trees.nodes import Nodes

from ._boosted_nodes import decode_boosted


def leaf_indices(
    block: TreeBlock | BoostedTrees, codes: np.ndarray, n_jobs: int | None = None
) -> np.ndarray:
    """Find the leaf of each row in each tree of a block: see `Nodes.leaves`."""
    if isinstance(block, BoostedTrees):
        return block.leaves(codes)
    return predictor.leaf_indices([block], codes, n_jobs=n_jobs)


def decode(trees: TreeBlock | BoostedTrees) -> Nodes:
    """Unpack a block of trees."""
    return decode_boosted(trees) if isinstance(trees, BoostedTrees) else decode_forest(trees)
