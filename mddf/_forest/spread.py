"""How much the trees of a forest that regresses differ, and how sure that makes their mean."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from mddf._base.messages import short
from mddf._trees import predictor
from mddf._trees.arrays import ValueTrees

KINDS = ("trees", "jackknife")
# Numbers that are held at once.
_AT_ONCE = 2**22


def check_kind(return_std: Any) -> str | None:
    """Which standard deviation is wanted; None if none is."""
    if isinstance(return_std, bool | np.bool_):
        return "trees" if return_std else None
    if isinstance(return_std, str) and return_std in KINDS:
        return return_std
    raise ValueError(f"return_std must be True, False, or one of {KINDS}, got {short(return_std)}")


def tree_values(trees: list[ValueTrees], codes: np.ndarray, n_jobs: int | None) -> np.ndarray:
    """What each tree predicts, of shape (n_rows, n_trees, n_outputs), in the unit of leaves."""
    leaves = predictor.leaf_indices(trees, codes, n_jobs=n_jobs)
    found, first = [], 0
    for block in trees:
        here = leaves[:, first : first + block.n_trees] + block.tree_start[:-1]
        rows = (block.nodes[here] & np.uint64(2**32 - 1)).astype(np.int64)
        found.append(block.leaf_value.reshape(-1, block.width)[rows])
        first += block.n_trees
    return np.concatenate(found, axis=1)


def between_trees(values: np.ndarray) -> np.ndarray:
    """Standard deviation of the trees' predictions, of shape (n_rows, n_outputs)."""
    return values.std(axis=1)


def jackknife(values: np.ndarray, counts: Iterable[np.ndarray]) -> np.ndarray:
    """Standard errors of means by the infinitesimal jackknife, corrected for few trees.

    The variance is the sum over training rows of the squared covariance of how often trees drew
    the row and what they predict, less what it would be on average if there were none.

    Parameters
    ----------
    values : ndarray of shape (n_rows, n_trees, n_outputs)
    counts : iterable of ndarray of shape (n_training_rows,)
        How often each tree drew each row.

    Returns
    -------
    ndarray of shape (n_rows, n_outputs)
        0 where the correction leaves nothing.
    """
    n_trees = values.shape[1]
    away = (values - values.mean(axis=1, keepdims=True)).transpose(0, 2, 1)
    drawn = np.array(list(counts), np.float32)
    variance, noise = np.zeros(away.shape[:2]), 0.0
    step = max(1, _AT_ONCE // max(n_trees, away.shape[0] * away.shape[1]))
    for first in range(0, drawn.shape[1], step):
        part = drawn[:, first : first + step].astype(float)
        part -= part.mean(axis=0)
        variance += np.square(away @ part / n_trees).sum(axis=2)
        noise += np.square(part).sum() / n_trees
    variance -= noise * np.square(away).sum(axis=2) / n_trees**2
    return np.sqrt(np.maximum(0, variance))
