"""Rows that a model is asked about."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mddf._binning.high_cardinality import CategoryLevels


@dataclass(frozen=True)
class EncodedRows:
    """Rows as members see them.

    Attributes
    ----------
    codes : ndarray of uint8 of shape (n_rows, n_columns)
        The features, and columns for what stages add.
    numbers : ndarray of shape (n_rows, n_features) or None
        For members that are no trees.
    levels : CategoryLevels or None
        Of the columns of many categories, for members that have target statistics.
    """

    codes: np.ndarray
    numbers: np.ndarray | None = None
    levels: CategoryLevels | None = None
