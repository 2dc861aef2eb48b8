"""Rows in the form that members read: codes, numbers, and levels of categories."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from mddf._binning.categories import CategoryEncoder


@dataclass(frozen=True)
class CategoryLevels:
    """Numbers of the categories of some columns."""

    columns: list[int]  # places in the table
    # (n_rows, len(columns)), int64, from 0. A missing cell has the number of levels, and an
    # unknown category one more.
    numbers: np.ndarray
    counts: np.ndarray  # (len(columns),), int64: number of levels of each column in training

    def take(self, rows: np.ndarray | slice) -> CategoryLevels:
        return CategoryLevels(self.columns, self.numbers[rows], self.counts)

    def column(self, column: int) -> np.ndarray:
        return self.numbers[:, self.columns.index(column)]

    def among(self, columns: list[int]) -> CategoryLevels:
        """Levels of some of the columns of the table."""
        places = [self.columns.index(column) for column in columns]
        return CategoryLevels(columns, self.numbers[:, places], self.counts[places])

    def append(self, more: CategoryLevels) -> CategoryLevels:
        return CategoryLevels(self.columns, np.vstack([self.numbers, more.numbers]), self.counts)

    def keys(self, places: list[int]) -> np.ndarray:
        """One number for each row that identifies its levels of one or several columns."""
        keys = np.zeros(len(self.numbers), np.int64)
        for place in places:
            keys = keys * (self.counts[place] + 2) + self.numbers[:, place]
        return keys


@dataclass(frozen=True)
class EncodedRows:
    """Rows to predict, in the form that members read."""

    # (n_rows, n_columns), uint8: codes of the features, and columns that are reserved for the
    # outputs of stages.
    codes: np.ndarray
    numbers: np.ndarray | None = None  # (n_rows, n_features), for members other than trees
    # Of the columns with many categories, for members with target statistics.
    levels: CategoryLevels | None = None
    # Categories that the numbers of a column stand for, by column.
    encoders: Mapping[int, CategoryEncoder] = field(default_factory=dict)
    offset: np.ndarray | None = None  # (n_rows, n_scores): known parts of raw predictions

    def take(self, rows: np.ndarray | slice) -> EncodedRows:
        """Some of the rows; views if `rows` is a slice."""
        return replace(
            self,
            codes=self.codes[rows],
            numbers=None if self.numbers is None else self.numbers[rows],
            levels=None if self.levels is None else self.levels.take(rows),
            offset=None if self.offset is None else self.offset[rows],
        )
