"""Rows that a model is asked about."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mddf._data.levels import Levels


@dataclass(frozen=True)
class AskedRows:
    """Rows as members see them.

    Attributes
    ----------
    codes : ndarray of uint8 of shape (n_rows, n_columns)
        The features, and columns for what stages add.
    numbers : ndarray of shape (n_rows, n_features) or None
        For members that are no trees.
    levels : Levels or None
        Of the columns of many categories, for members that have target statistics.
    """

    codes: np.ndarray
    numbers: np.ndarray | None = None
    levels: Levels | None = None
