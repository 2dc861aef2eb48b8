"""Linear leaves by dense matrices: one ridge regression for each leaf and output."""

from __future__ import annotations

import numpy as np


def ridge_slopes(x, gradient, hessian, penalty):
    """Slopes that minimise the quadratic approximation of the loss around its best constant."""
    mean = hessian @ x / hessian.sum()
    centered = x - mean
    matrix = centered.T @ (hessian[:, None] * centered) + penalty * np.eye(x.shape[1])
    return np.linalg.solve(matrix, centered.T @ gradient), mean


def path_columns(arrays, tree, symmetric, categorical):
    """Numeric columns on the path to each leaf, from the root down, at most seven."""
    first, last = arrays["first_split"][tree : tree + 2]
    columns = arrays["column"][first:last].tolist()
    n_leaves = int(np.diff(arrays["first_leaf"])[tree])

    def slope_columns(path):
        distinct = dict.fromkeys(column for column in path if not categorical[column])
        return list(distinct)[:7]

    if symmetric:
        return [slope_columns(columns)] * n_leaves
    paths = {0: []} if columns else {-1: []}
    for split, column in enumerate(columns):
        for child in (arrays["left"][first + split], arrays["right"][first + split]):
            paths[int(child)] = [*paths[split], column]
    return [slope_columns(paths[-1 - leaf]) for leaf in range(n_leaves)]


def slopes_of(arrays, leaf):
    """Columns and slopes of a leaf, by its number among the leaves of all trees."""
    first, last = arrays["first_slope"][leaf : leaf + 2]
    return arrays["slope_column"][first:last].tolist(), arrays["slopes"][first:last]


def raw_after(arrays, positions, codes, leaves, raw, tree):
    """Raw predictions after a tree, from those before it and the leaf of each row."""
    after = raw.copy()
    for row, leaf in enumerate(leaves + arrays["first_leaf"][tree]):
        after[row] += arrays["values"][leaf]
        columns, slopes = slopes_of(arrays, leaf)
        for column, slope in zip(columns, slopes, strict=True):
            after[row] += slope * positions[column, codes[row, column]]
    return after
