"""Rows to predict, in the form that members read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from mddf._binning.categories import CategoryEncoder
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
    encoders : dict of int to CategoryEncoder
        Categories that the numbers of a column stand for, by column.
    offset : ndarray of shape (n_rows, n_scores) or None
        Known parts of the raw predictions of boosted trees.
    """

    codes: np.ndarray
    numbers: np.ndarray | None = None
    levels: CategoryLevels | None = None
    encoders: Mapping[int, CategoryEncoder] = field(default_factory=dict)
    offset: np.ndarray | None = None

    def take(self, rows: np.ndarray | slice) -> EncodedRows:
        """Some of the rows; views if `rows` is a slice."""
        return replace(
            self,
            codes=self.codes[rows],
            numbers=None if self.numbers is None else self.numbers[rows],
            levels=None if self.levels is None else self.levels.take(rows),
            offset=None if self.offset is None else self.offset[rows],
        )
