"""Warnings about the training table of a fit: categories, dependent rows, copies of the target."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy import sparse

from mddf._base.messages import warn
from mddf._input.sorted_times import follow_dates, is_sorted_by, warn_of_sorted_times
from mddf._input.subjects import Key, find_subjects, warn_of_subjects
from mddf._input.table import Column, Table
from mddf._input.target_copies import TargetCopies, warn_of_copy

# A warning that the values of a column hardly ever repeat needs this many rows and more than this
# share of distinct values, as the finding "free text" of `check` does: most rows are then alone.
_MANY_ROWS = 100
_MANY_VALUES = 0.5


class TableWarnings:
    """Warnings about a training table, whose columns it sees while they are binned.

    Columns that `copies` finds cause warnings. Unless the user passed groups (`has_groups`),
    columns that look like repeated subjects cause one, and otherwise, with `warns_of_time`, the
    first column by which the rows are sorted, for fits that hold rows out at random. Rows of
    weight 0 count only where copies of the target are searched.
    """

    def __init__(
        self,
        table: Table,
        weights: np.ndarray | None,
        copies: TargetCopies,
        *,
        has_groups: bool,
        warns_of_time: bool = False,
    ) -> None:
        self._table = table
        self._counted = slice(None) if weights is None or weights.all() else weights > 0
        self._copies = copies
        self._has_groups = has_groups
        self._warns_of_time = warns_of_time and not has_groups
        self._keys: dict[int, Key] = {}  # columns of categories that may be subjects

    def see_categories(
        self,
        c: int,
        column: Column,
        categories: np.ndarray,
        levels: np.ndarray,
        *,
        max_codes: int | None,
        by_type: bool,
    ) -> None:
        """Look at a column of categories.

        `levels` are the places of the counted rows among the categories; larger ones are missing.
        `max_codes` is the number of codes, None if there are enough, and `by_type` tells whether
        the column is categorical by its type.
        """
        n = len(categories)
        is_present = levels < n
        n_present = int(np.count_nonzero(is_present))
        if n_present >= _MANY_ROWS and n > _MANY_VALUES * n_present:
            warn(
                f"column {column.place} has {n} categories in {n_present} rows: trees learn "
                "little from values that hardly ever repeat; leave the column out, or turn its "
                "words into numbers in a pipeline, such as TfidfVectorizer and TruncatedSVD",
                kind=f"categories that hardly ever repeat in column {column.place}",
            )
        elif max_codes is not None and n > max_codes:
            warn(
                f"column {column.place} has {n} categories, more than max_bins={max_codes}: "
                "the rarest of them share a bin",
                kind=f"more categories than bins in column {column.place}",
            )
        n_numbers = sum(map(_reads_as_number, map(str, categories)))
        if by_type and column.type.is_plain_text and 2 * n_numbers > n:
            warn(
                f"column {column.place} is text and taken as categories, but {n_numbers} of "
                f"its {n} values are numbers: turn it into numbers or, if they are names, into a "
                "categorical type",
                kind=f"text that is mostly numbers in column {column.place}",
            )
        key = Key.from_codes(np.where(is_present, levels, -1))
        if key is not None:
            self._keys[c] = key

    def see_block(
        self, columns: range, block: np.ndarray | sparse.csc_matrix, is_numeric: np.ndarray
    ) -> None:
        """Look at a block of columns as numbers; `is_numeric` marks those without categories."""
        if columns.start == 0 and self._warns_of_time:
            self._warn_of_sorted_dates()
        for i, n_present in self._copies.find(block):
            warn_of_copy(self._table.place(columns[i]), n_present)
        if self._has_groups or not isinstance(block, np.ndarray):
            return
        numeric = [
            i
            for i in np.flatnonzero(is_numeric).tolist()
            if columns[i] not in self._table.date_parts
        ]
        if self._warn_of_subjects(columns, block[self._counted], numeric):
            self._warns_of_time = False
        elif self._warns_of_time:
            self._warn_of_sorted_rows(columns, block, numeric)

    def _warn_of_sorted_dates(self) -> None:
        for place, read in self._table.dates.items():
            if follow_dates(read()):
                warn_of_sorted_times(place)
                self._warns_of_time = False
                return

    def _warn_of_subjects(self, columns: range, block: np.ndarray, numeric: Sequence[int]) -> bool:
        names = ["" if self._table.names is None else self._table.names[c] for c in columns]
        candidates: dict[int, Key | None] = {
            i: Key.from_numbers(block[:, i], names[i]) for i in numeric
        }
        candidates |= {i: self._keys[c] for i, c in enumerate(columns) if c in self._keys}
        subjects = find_subjects(block, candidates, names)
        for i, key in subjects.items():
            warn_of_subjects(self._table.place(columns[i]), key)
        return bool(subjects)

    def _warn_of_sorted_rows(
        self, columns: range, block: np.ndarray, numeric: Sequence[int]
    ) -> None:
        for i in numeric:
            if is_sorted_by(block[:, i]):
                warn_of_sorted_times(self._table.place(columns[i]))
                self._warns_of_time = False
                return


def _reads_as_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
