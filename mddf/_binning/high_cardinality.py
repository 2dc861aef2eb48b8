"""Categories as numbers of their own, however many there are."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class CategoryLevels:
    """Categories of some columns as numbers.

    Attributes
    ----------
    columns : list of int
        Which columns of the table these are.
    numbers : ndarray of int64 of shape (n_rows, len(columns))
        From 0 on; the number of levels for what is missing, one more for what fit did not see.
    counts : ndarray of int64 of shape (len(columns),)
        How many levels fit saw.
    """

    columns: list[int]
    numbers: np.ndarray
    counts: np.ndarray

    def of_rows(self, rows: np.ndarray | slice) -> CategoryLevels:
        """Those of some rows."""
        return CategoryLevels(self.columns, self.numbers[rows], self.counts)

    def of_column(self, column: int) -> np.ndarray:
        """Those of one column of the table."""
        return self.numbers[:, self.columns.index(column)]

    def and_others(self, others: CategoryLevels) -> CategoryLevels:
        """Those of more rows, below."""
        return CategoryLevels(self.columns, np.vstack([self.numbers, others.numbers]), self.counts)

    def keys(self, places: list[int]) -> np.ndarray:
        """One number for each row that says its levels of one column, or of several."""
        found = np.zeros(len(self.numbers), np.int64)
        for place in places:
            found = found * (self.counts[place] + 2) + self.numbers[:, place]
        return found
