"""Standard deviations of the predictions of a regression forest."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from mddf._base.messages import short
from mddf._trees import predictor
from mddf._trees.arrays import TreeBlock, ValueTrees

KINDS = ("trees", "jackknife")
# Training rows are used in parts with at most this number of doubles (32 MB). Not tuned.
_MAX_DOUBLES = 2**22


def check_kind(return_std: object) -> str | None:
    """Return the kind of standard deviation that `return_std` selects, or None."""
    if isinstance(return_std, bool | np.bool_):
        return "trees" if return_std else None
    if isinstance(return_std, str) and return_std in KINDS:
        return return_std
    raise ValueError(f"return_std must be True, False, or one of {KINDS}, got {short(return_std)}")


def tree_values(trees: Sequence[TreeBlock], codes: np.ndarray, n_jobs: int | None) -> np.ndarray:
    """Predictions of each tree in the unit of leaves, of shape (n_rows, n_trees, n_outputs)."""
    leaves = predictor.forest_leaves(trees, codes, n_jobs=n_jobs)
    values = []
    first = 0
    for block in trees:
        assert isinstance(block, ValueTrees)
        words = leaves[:, first : first + block.n_trees] + block.tree_start[:-1]
        # The lower half of a leaf's word is the row of its value.
        value_rows = (block.nodes[words] & np.uint64(2**32 - 1)).astype(np.int64)
        values.append(block.leaf_value.reshape(-1, block.width)[value_rows])
        first += block.n_trees
    return np.concatenate(values, axis=1)


def jackknife(values: np.ndarray, counts: Iterable[np.ndarray]) -> np.ndarray:
    """Standard errors of means by the infinitesimal jackknife, corrected for few trees.

    The variance of the forest's prediction is estimated by a sum over the training rows. Its terms
    are squared covariances, over the trees, of the number of times that a tree drew the row and of
    the tree's prediction. A finite number of trees makes this sum too large on average; the
    expected excess is subtracted, down to 0 at least.

    The values have the shape (n_rows, n_trees, n_outputs). For each tree, there are the counts of
    how often it drew each training row.
    """
    n_trees = values.shape[1]
    deviations = (values - values.mean(axis=1, keepdims=True)).transpose(0, 2, 1)
    drawn = np.array(list(counts), np.float32)
    variance = np.zeros(deviations.shape[:2])
    drawn_variance = 0.0
    step = max(1, _MAX_DOUBLES // max(n_trees, deviations.shape[0] * deviations.shape[1]))
    for first in range(0, drawn.shape[1], step):
        part = drawn[:, first : first + step].astype(float)
        part -= part.mean(axis=0)
        variance += np.square(deviations @ part / n_trees).sum(axis=2)
        drawn_variance += np.square(part).sum() / n_trees
    variance -= drawn_variance * np.square(deviations).sum(axis=2) / n_trees**2
    return np.sqrt(np.maximum(0, variance))
