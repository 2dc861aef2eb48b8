"""Rows to predict, in the form that members read."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mddf._binning.high_cardinality import CategoryLevels


@dataclass(frozen=True)
class EncodedRows:
    """Rows to predict, in the form that members read.

    Attributes
    ----------
    codes : ndarray of uint8 of shape (n_rows, n_columns)
        Codes of the features, and columns that are reserved for the outputs of stages.
    numbers : ndarray of shape (n_rows, n_features) or None
        Features as numbers, for members other than trees.
    levels : CategoryLevels or None
        Levels of the columns with many categories, for members with target statistics.
    """

    codes: np.ndarray
    numbers: np.ndarray | None = None
    levels: CategoryLevels | None = None

    def take(self, rows: np.ndarray | slice) -> EncodedRows:
        """Some of the rows; views if `rows` is a slice."""
        return EncodedRows(
            self.codes[rows],
            None if self.numbers is None else self.numbers[rows],
            None if self.levels is None else self.levels.take(rows),
        )
