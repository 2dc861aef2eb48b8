"""The categorical columns of a table, according to the parameter `categorical_features`."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from mddf._base.messages import short
from mddf._input.table import Table


def category_mask(table: Table, categorical_features: npt.ArrayLike | None) -> np.ndarray:
    """Mark the categorical columns of a table: bool of shape (n_columns,).

    `categorical_features` is None, "from_dtype", or an array of bool, column numbers or names.
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
        for c in np.flatnonzero(~table.numeric_types).tolist():
            mask[c] = table.column(c).is_categorical
        return mask
    try:
        chosen = np.asarray(categorical_features)
    except ValueError as error:
        raise ValueError(
            f"categorical_features must be a flat list, got {short(categorical_features)}"
        ) from error
    if chosen.ndim != 1:
        raise ValueError(
            f"categorical_features must have one dimension, got an array of shape {chosen.shape}"
        )
    if chosen.size == 0:
        return mask
    n_of_user = n_columns - table.n_appended + (table.left_out is not None)
    if chosen.dtype.kind == "b":
        if len(chosen) != n_of_user:
            raise ValueError(
                f"categorical_features as a mask must have one entry for each of the {n_of_user} "
                f"columns of X, got {len(chosen)}"
            )
        return _mask_of_table(table, chosen)
    if chosen.dtype.kind in "iu":
        if chosen.min() < -n_of_user or chosen.max() >= n_of_user:
            raise ValueError(
                f"categorical_features as column numbers must lie from {-n_of_user} to "
                f"{n_of_user - 1} for the {n_of_user} columns of X, got {short(chosen.tolist())}"
            )
        mask_of_user = np.zeros(n_of_user, dtype=bool)
        mask_of_user[chosen] = True
        return _mask_of_table(table, mask_of_user)
    if table.names is None:
        raise ValueError(
            "categorical_features can only name columns if X is a data frame, got "
            f"{short(chosen.tolist())} with an array"
        )
    names = [str(name) for name in table.names]
    for name in map(str, chosen):
        if name not in names:
            raise ValueError(
                f"categorical_features names {name!r}, which is not a column of X; its columns "
                f"are {short(names)}"
            )
        mask[names.index(name)] = True
    return mask


def _mask_of_table(table: Table, mask_of_user: np.ndarray) -> np.ndarray:
    """Convert a mask of the user's columns to one of the table's columns."""
    if table.left_out is not None:
        mask_of_user = np.delete(mask_of_user, table.left_out)
    return np.append(mask_of_user, np.zeros(table.n_appended, dtype=bool))
