"""Which columns are categories, by the parameter `categorical_features`."""

from __future__ import annotations

from typing import Any

import numpy as np

from mddf._base.messages import short
from mddf._input.table import Table


def category_mask(table: Table, categorical_features: Any) -> np.ndarray:
    """Which columns are categories, from the parameter `categorical_features`.

    Parameters
    ----------
    table : Table
    categorical_features : None, "from_dtype", or array of bool, int or str

    Returns
    -------
    ndarray of bool of shape (n_columns,)
    """
    n_columns = table.shape[1]
    mask = np.zeros(n_columns, dtype=bool)
    if categorical_features is None:
        return mask
    if isinstance(categorical_features, str):
        if categorical_features != "from_dtype":
            raise ValueError(
                "categorical_features must be None, 'from_dtype', or an array of bool, column "
                f"numbers or column names, got {short(categorical_features)}"
            )
        for c in np.flatnonzero(~table.hold_numbers).tolist():
            mask[c] = table.column(c).is_categorical
        return mask
    try:
        given = np.asarray(categorical_features)
    except ValueError as error:
        raise ValueError(
            f"categorical_features must be a flat list, got {short(categorical_features)}"
        ) from error
    if given.ndim != 1:
        raise ValueError(
            f"categorical_features must have one dimension, got an array of shape {given.shape}"
        )
    if given.size == 0:
        return mask
    if given.dtype.kind == "b":
        if len(given) != n_columns:
            raise ValueError(
                f"categorical_features as a mask must have one entry for each of the {n_columns} "
                f"columns of X, got {len(given)}"
            )
        return given.copy()
    if given.dtype.kind in "iu":
        if given.min() < -n_columns or given.max() >= n_columns:
            raise ValueError(
                f"categorical_features as column numbers must lie below {n_columns}, the number "
                f"of columns of X, got {short(given.tolist())}"
            )
        mask[given] = True
        return mask
    if table.names is None:
        raise ValueError(
            "categorical_features can only name columns if X is a data frame, got "
            f"{short(given.tolist())} with an array"
        )
    names = [str(name) for name in table.names]
    for name in given:
        if str(name) not in names:
            raise ValueError(
                f"categorical_features names {str(name)!r}, which is not a column of X; its "
                f"columns are {short(names)}"
            )
        mask[names.index(str(name))] = True
    return mask
