"""Which columns of a wide table members look at: those that split best on their own."""

from __future__ import annotations

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
    weight = np.ones(n_rows) if weight is None else weight
    block = max(1, _CELLS // (n_rows * targets.shape[1]))
    gains = [
        _gains(X[:, first : first + block], targets, weight, least)
        for first in range(0, n_columns, block)
    ]
    best = np.argsort(-np.concatenate(gains), kind="stable")
    return np.sort(best[: most_columns(n_rows, n_columns)])


def _gains(X: np.ndarray, targets: np.ndarray, weight: np.ndarray, least: int) -> np.ndarray:
    """Of each column: by how much its best split lowers the sum of squared errors."""
    order = np.argsort(X, axis=0, kind="stable")
    values = np.take_along_axis(X, order, axis=0)
    weights = np.cumsum(weight[order], axis=0)
    sums = np.cumsum((weight[:, None] * targets)[order], axis=0)  # (rows, columns, targets)
    left, right = weights[:-1], weights[-1] - weights[:-1]
    with np.errstate(divide="ignore", invalid="ignore"):
        of_left = np.square(sums[:-1]).sum(axis=2) / left
        of_right = np.square(sums[-1] - sums[:-1]).sum(axis=2) / right
        gains = of_left + of_right - np.square(sums[-1]).sum(axis=1) / weights[-1]
    splits = values[:-1] < values[1:]  # false beside NaN
    splits |= np.isnan(values[1:]) & ~np.isnan(values[:-1])
    splits[: least - 1] = splits[max(0, len(X) - least) :] = False
    return np.where(splits & (left > 0) & (right > 0), gains, 0).max(axis=0, initial=0)
