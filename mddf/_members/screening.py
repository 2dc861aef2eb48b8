"""Which columns of a wide table members look at: those that split best on their own."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

# Fewer columns than this are all looked at, and so are up to so many times as many as rows.
_MOST_COLUMNS, _WIDE = 100, 2
# At least so many columns are kept, and as many as there are rows.
_FEWEST_KEPT = 50
_CELLS = 2**20  # of a block of columns


def is_wide(n_rows: int, n_columns: int) -> bool:
    """Whether columns outnumber rows by so much that not all of them are looked at."""
    return n_columns > max(_MOST_COLUMNS, _WIDE * n_rows)


def most_columns(n_rows: int, n_columns: int) -> int:
    """How many columns of a table are looked at: of a wide one some, else all."""
    return max(_FEWEST_KEPT, n_rows) if is_wide(n_rows, n_columns) else n_columns


def screened(
    X: np.ndarray, targets: np.ndarray, weight: np.ndarray | None, least: int
) -> np.ndarray:
    """Columns of a wide table whose best split lowers the squared error most; all of others.

    A tree takes the best of many columns for each split: where they outnumber rows by much, one
    that splits badly at the root is hardly ever worth its time further down.

    Parameters
    ----------
    X : ndarray of float64 of shape (n_rows, n_columns)
        Codes of categories are taken as numbers; missing values lie above all others.
    targets : ndarray of float64 of shape (n_rows, n_targets)
        Indicators of classes, or numbers.
    weight : ndarray of shape (n_rows,) or None
    least : int
        Rows that a split leaves on either side.

    Returns
    -------
    ndarray of int
        In ascending order.
    """
    n_rows, n_columns = X.shape
    if not is_wide(n_rows, n_columns):
        return np.arange(n_columns)
    (gains,) = split_gains(X, targets, weight, [least])
    return best_columns(gains, n_rows)


def best_columns(gains: np.ndarray, n_rows: int) -> np.ndarray:
    """The columns of the largest gains that a wide table keeps, in ascending order."""
    best = np.argsort(-gains, kind="stable")
    return np.sort(best[: most_columns(n_rows, len(gains))])


def split_gains(
    X: np.ndarray, targets: np.ndarray, weight: np.ndarray | None, least: Sequence[int]
) -> list[np.ndarray]:
    """Of each column, by how much its best split lowers the sum of squared errors.

    Parameters
    ----------
    X, targets, weight
        As of `screened`; X may hold codes of one byte, which are sorted much faster.
    least : sequence of int
        Rows that a split leaves on either side, for each array of gains.

    Returns
    -------
    list of ndarray of shape (n_columns,)
    """
    n_rows, n_columns = X.shape
    block = max(1, _CELLS // (n_rows * targets.shape[1]))
    parts = [
        _gains_of_block(X[:, first : first + block], targets, weight, least)
        for first in range(0, n_columns, block)
    ]
    return [np.concatenate(of_parts) for of_parts in zip(*parts, strict=True)]


def _gains_of_block(
    X: np.ndarray, targets: np.ndarray, weight: np.ndarray | None, least: Sequence[int]
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
        of_left = np.square(sums[:, :-1]).sum(axis=2) / left
        of_right = np.square(sums[:, -1:] - sums[:, :-1]).sum(axis=2) / right
        of_all = np.square(sums[:, -1]).sum(axis=1) / weights[:, -1]
        gains = of_left + of_right - of_all[:, None]
    splits = values[:, :-1] < values[:, 1:]  # false beside NaN
    if columns.dtype.kind == "f":
        splits |= np.isnan(values[:, 1:]) & ~np.isnan(values[:, :-1])
    gains = np.where(splits & (left > 0) & (right > 0), gains, 0.0)
    return [gains[:, n - 1 : max(n - 1, n_rows - n)].max(axis=1, initial=0) for n in least]
