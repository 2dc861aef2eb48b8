"""Regions of the leaves that rows fall into, as intervals of the features."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from mddf._base.messages import short
from mddf._base.validation import naming
from mddf._binning.bins import Bins
from mddf._trees import predictor
from mddf._trees.arrays import TreeBlock
from mddf._trees.decoding import thresholds
from mddf._trees.nodes import LEAF, Nodes

# Lower and upper bounds of the features, each of shape (n_rows, n_features).
Region = tuple[np.ndarray, np.ndarray]


def leaf_regions(
    blocks: Sequence[TreeBlock],
    nodes_of_blocks: Sequence[Nodes],  # the same blocks, decoded
    codes: np.ndarray,
    bins: Bins,  # of all columns that the trees may split
    n_features: int,  # the first columns, of which bounds are found
) -> Iterator[Region]:
    """Region of each row's leaf, tree by tree.

    Values above the lower and up to the upper bound are inside. Splits of categories, and splits
    that only separate missing values, give no bound.
    """
    for trees, nodes in zip(blocks, nodes_of_blocks, strict=True):
        leaves = nodes.leaves(predictor.forest_leaves([trees], codes))
        limit = thresholds(nodes, bins)
        gives_bound = np.isfinite(limit) & (nodes.column < n_features)
        for number in range(nodes.n_trees):
            first, end = nodes.start[number : number + 2]
            lower = np.full((end - first, n_features), -np.inf)
            upper = np.full((end - first, n_features), np.inf)
            level = np.array([first])
            while len(level := level[nodes.left[level] != LEAF]):
                left = nodes.left[level]
                for child in (left, left + 1):
                    lower[child - first] = lower[level - first]
                    upper[child - first] = upper[level - first]
                bounded = level[gives_bound[level]]
                left, column = nodes.left[bounded] - first, nodes.column[bounded]
                # A split within the region of its node is inside the bounds so far.
                upper[left, column] = limit[bounded]
                lower[left + 1, column] = limit[bounded]
                level = np.concatenate([nodes.left[level], nodes.left[level] + 1])
            rows = leaves[:, number] - first
            yield lower[rows], upper[rows]


def region_columns(
    augmentation: Callable[[Iterator[Region]], object],
    regions: Iterator[Region],
    n_rows: int,
    n_columns: int | None = None,  # None: any number
) -> np.ndarray:
    """Columns that a user's function makes of regions; ValueError if it returns others."""
    with naming("augmentation"):
        returned = augmentation(regions)
    try:
        columns = np.asarray(returned, np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"augmentation must return numbers, got {short(returned)}") from error
    is_right = columns.ndim == 2 and len(columns) == n_rows and columns.shape[1] > 0
    if not is_right or n_columns not in (None, columns.shape[1]):
        expected = "at least one column" if n_columns is None else f"{n_columns} columns"
        raise ValueError(
            f"augmentation must return an array of {n_rows} rows and {expected}, got the shape "
            f"{columns.shape}"
        )
    return columns


def n_region_columns(augmentation: Callable[[Iterator[Region]], object], n_features: int) -> int:
    """Number of columns that a user's function makes, tried on a tree without splits."""
    everywhere = np.full((2, n_features), -np.inf), np.full((2, n_features), np.inf)
    return region_columns(augmentation, iter([everywhere]), 2).shape[1]
