"""Categories as numbers of their own, however many there are."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mddf._data.binner import Binner
from mddf._data.table import Table


@dataclass(frozen=True)
class Levels:
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

    def of_rows(self, rows: np.ndarray | slice) -> Levels:
        """Those of some rows."""
        return Levels(self.columns, self.numbers[rows], self.counts)

    def and_others(self, others: Levels) -> Levels:
        """Those of more rows, below."""
        return Levels(self.columns, np.vstack([self.numbers, others.numbers]), self.counts)

    def keys(self, places: list[int]) -> np.ndarray:
        """One number for each row that says its levels of one column, or of several."""
        found = np.zeros(len(self.numbers), np.int64)
        for place in places:
            found = found * (self.counts[place] + 2) + self.numbers[:, place]
        return found


def levels_of(binner: Binner, table: Table, columns: list[int]) -> Levels:
    """The levels of some columns of categories, by the numbers that fit gave them."""
    numbers = np.empty((table.shape[0], len(columns)), np.int64)
    counts = np.array([len(binner.encoders_[c].categories) for c in columns], np.int64)
    for at, c in enumerate(columns):
        column = table.column(c)
        missing = binner.is_missing(column, c)
        numbers[:, at] = counts[at] if missing else binner.encoders_[c].levels(column)
    return Levels(columns, numbers, counts)


def many_levels(binner: Binner, fewest: int) -> list[int]:
    """The columns in which fit saw at least so many categories."""
    return [c for c, encoder in binner.encoders_.items() if len(encoder.categories) >= fewest]
