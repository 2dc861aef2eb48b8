"""Selection of the columns of a wide table whose best splits gain most."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

# A table is wide if it has more than 100 columns and more than twice as many columns as rows. It
# keeps as many columns as rows, and at least 50. Set by hand; such tables then took a tenth of
# the time.
_MAX_COLUMNS = 100
_MAX_COLUMNS_PER_ROW = 2
_MIN_KEPT = 50
# Cells of a block of columns, which bounds the memory of the sorted copies. Not tuned.
_BLOCK_CELLS = 2**20


def is_wide(n_rows: int, n_columns: int) -> bool:
    """Whether columns outnumber rows by so much that only some of them are used."""
    return n_columns > max(_MAX_COLUMNS, _MAX_COLUMNS_PER_ROW * n_rows)


def n_kept_columns(n_rows: int, n_columns: int) -> int:
    """Number of columns that are used: some columns of a wide table, else all."""
    return max(_MIN_KEPT, n_rows) if is_wide(n_rows, n_columns) else n_columns


def screened(
    X: np.ndarray, targets: np.ndarray, weight: np.ndarray | None, min_samples_leaf: int
) -> np.ndarray:
    """Columns of a wide table whose best split lowers the squared error most, else all columns.

    A tree chooses the best of many columns for each split. If there are far more columns than
    rows, a column with a bad split at the root is hardly ever chosen further down.

    Codes of categories in X count as numbers, and missing values are above all other values.
    `targets`, of shape (n_rows, n_targets), are class indicators or regression targets. A split
    leaves at least `min_samples_leaf` rows on either side.
    """
    n_rows, n_columns = X.shape
    if not is_wide(n_rows, n_columns):
        return np.arange(n_columns)
    (gains,) = split_gains(X, targets, weight, [min_samples_leaf])
    return best_columns(gains, n_rows)


def best_columns(gains: np.ndarray, n_rows: int) -> np.ndarray:
    """Columns with the largest gains that a wide table keeps, in ascending order."""
    best = np.argsort(-gains, kind="stable")
    return np.sort(best[: n_kept_columns(n_rows, len(gains))])


def split_gains(
    X: np.ndarray, targets: np.ndarray, weight: np.ndarray | None, leaf_sizes: Sequence[int]
) -> list[np.ndarray]:
    """Decrease of the sum of squared errors by the best split of each column.

    The parameters are as in `screened`. X may hold codes of one byte, which are sorted much
    faster. The result has an array of shape (n_columns,) for each of `leaf_sizes`.
    """
    n_rows, n_columns = X.shape
    n_block_columns = max(1, _BLOCK_CELLS // (n_rows * targets.shape[1]))
    blocks = [
        _gains_of_block(X[:, first : first + n_block_columns], targets, weight, leaf_sizes)
        for first in range(0, n_columns, n_block_columns)
    ]
    return [np.concatenate(gains) for gains in zip(*blocks, strict=True)]


def _gains_of_block(
    X: np.ndarray, targets: np.ndarray, weight: np.ndarray | None, leaf_sizes: Sequence[int]
) -> list[np.ndarray]:
    columns = np.ascontiguousarray(X.T)
    n_rows = columns.shape[1]
    order = np.argsort(columns, axis=1, kind="stable")
    values = np.take_along_axis(columns, order, axis=1)
    if weight is None:
        weights = np.arange(1.0, n_rows + 1)[None]
        weighted = targets
    else:
        weights = np.cumsum(weight[order], axis=1)
        weighted = weight[:, None] * targets
    sums = np.cumsum(weighted[order], axis=1)  # (columns, rows, targets)
    left = weights[:, :-1]
    right = weights[:, -1:] - left
    with np.errstate(divide="ignore", invalid="ignore"):
        left_terms = np.square(sums[:, :-1]).sum(axis=2) / left
        right_terms = np.square(sums[:, -1:] - sums[:, :-1]).sum(axis=2) / right
        root_terms = np.square(sums[:, -1]).sum(axis=1) / weights[:, -1]
        gains = left_terms + right_terms - root_terms[:, None]
    splits = values[:, :-1] < values[:, 1:]  # False next to NaN
    if columns.dtype.kind == "f":
        splits |= np.isnan(values[:, 1:]) & ~np.isnan(values[:, :-1])
    gains = np.where(splits & (left > 0) & (right > 0), gains, 0.0)
    return [gains[:, n - 1 : max(n - 1, n_rows - n)].max(axis=1, initial=0) for n in leaf_sizes]
