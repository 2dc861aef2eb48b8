"""Levels: a number for each category of a column, however many there are."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class CategoryLevels:
    """Numbers of the categories of some columns.

    Attributes
    ----------
    columns : list of int
        Their places in the table.
    numbers : ndarray of int64 of shape (n_rows, len(columns))
        From 0. A missing cell has the number of levels, and an unknown category one more.
    counts : ndarray of int64 of shape (len(columns),)
        Number of levels of each column in training.
    """

    columns: list[int]
    numbers: np.ndarray
    counts: np.ndarray

    def take(self, rows: np.ndarray | slice) -> CategoryLevels:
        """Levels of some rows."""
        return CategoryLevels(self.columns, self.numbers[rows], self.counts)

    def column(self, column: int) -> np.ndarray:
        """Level numbers of one column of the table."""
        return self.numbers[:, self.columns.index(column)]

    def among(self, columns: list[int]) -> CategoryLevels:
        """Levels of some of the columns of the table."""
        places = [self.columns.index(column) for column in columns]
        return CategoryLevels(columns, self.numbers[:, places], self.counts[places])

    def append(self, more: CategoryLevels) -> CategoryLevels:
        """Levels of these rows with more rows below."""
        return CategoryLevels(self.columns, np.vstack([self.numbers, more.numbers]), self.counts)

    def keys(self, places: list[int]) -> np.ndarray:
        """One number for each row that identifies its levels of one or several columns."""
        keys = np.zeros(len(self.numbers), np.int64)
        for place in places:
            keys = keys * (self.counts[place] + 2) + self.numbers[:, place]
        return keys
