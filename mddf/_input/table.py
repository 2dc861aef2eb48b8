"""Tables that are read column by column: arrays and sparse matrices; see `frame` and `chunked`.

Cells of a column may be text, times or other objects.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.utils.validation import assert_all_finite

from mddf._input.cell_values import (
    NUMBER,
    NUMERIC_DTYPES,
    are_times,
    checked_numbers,
    kind_of_values,
    missing_cells,
)

# Size of a block of columns that are converted to numbers together, as double precision. It bounds
# the memory for a table that is never in memory as a whole. Not tuned.
_BLOCK_BYTES = 2**26
# Blocks of sparse matrices that store a larger share of their cells are made dense: they then save
# little memory, and dense columns are binned faster. A round figure that was not tuned.
_MAX_SPARSE_SHARE = 0.25


class Cells(NamedTuple):
    """Cells of a column, NaN where missing, and a mask of the missing ones."""

    values: np.ndarray
    missing: np.ndarray

    @classmethod
    def from_values(cls, values: np.ndarray) -> Cells:
        """Find the missing ones among numbers, times or objects, in an array of any shape."""
        missing = missing_cells(values.ravel()).reshape(values.shape)
        if values.dtype.kind == "O" and missing.any():
            values = np.where(missing, np.nan, values)
        return cls(values, missing)

    @property
    def distinct(self) -> np.ndarray:
        """All values of the column, each at least once."""
        return self.values


class Factors(NamedTuple):
    """Cells of a column as indices of its distinct values, of which the last is NaN.

    Missing cells have index -1.
    """

    indices: np.ndarray
    distinct: np.ndarray

    @property
    def values(self) -> np.ndarray:
        return self.distinct[self.indices]

    @property
    def missing(self) -> np.ndarray:
        return self.indices < 0


@dataclass(frozen=True)
class ObjectBlock:
    """Columns of a small data frame whose types are not numeric, read together.

    To read them one by one took 0.85 ms instead of 0.2 ms for a row of 21 columns.

    `values`, with NaN for missing cells, and `missing` have the shape (n_block_columns, n_rows).
    `places` maps the number of a column in the table to its row in them. `kinds` holds the kind of
    each column's values, None without values.
    """

    places: dict[int, int]
    values: np.ndarray
    missing: np.ndarray
    kinds: list[str | None]

    @classmethod
    def from_objects(cls, columns: Sequence[int], objects: np.ndarray) -> ObjectBlock:
        """Find the missing cells and the kinds of some columns."""
        values, missing = Cells.from_values(objects)
        kinds: list[str | None] = ["text"] * len(columns)
        if not set(map(type, values[~missing])) <= {str}:
            kinds = [*map(kind_of_values, values)]
        for place in np.flatnonzero(missing.all(axis=1)).tolist():
            kinds[place] = None
        return cls({c: place for place, c in enumerate(columns)}, values, missing, kinds)


class ColumnType(NamedTuple):
    """Facts about a column that its type implies; None where only the values can tell.

    `kind` is "number" or the name of a type of times. `is_categorical` tells whether the column
    holds categories, strings or the like rather than numbers. `is_plain_text` tells whether it
    holds text or objects rather than values of a categorical type. `is_simple` tells whether cells
    of a data frame are the same objects if all columns are read together.
    """

    kind: str | None = None
    is_categorical: bool | None = None
    is_plain_text: bool = False
    is_simple: bool = True


NUMBERS = ColumnType(NUMBER, False)
OBJECTS = ColumnType(None, None, True)
TEXT = ColumnType(None, True, True)


class Column:
    """A column whose cells are read when they are first used.

    `place` is its name in messages. `read` returns the cells, or their factors if that is faster.
    `kind` is the kind of the values, if it is known already.
    """

    def __init__(
        self,
        place: str,
        read: Callable[[], Cells | Factors],
        type_: ColumnType,
        kind: str | None = None,
    ) -> None:
        self.place = place
        self.type = type_
        self._read = read
        self._cells: Cells | Factors | None = None
        self._kind = kind or type_.kind

    @property
    def cells(self) -> Cells | Factors:
        if self._cells is None:
            self._cells = self._read()
        return self._cells

    @property
    def values(self) -> np.ndarray:
        """The cells, NaN where missing: shape (n_rows,)."""
        return self.cells.values

    @property
    def missing(self) -> np.ndarray:
        return self.cells.missing

    @property
    def is_empty(self) -> bool:
        return bool(self.missing.all())

    @property
    def kind(self) -> str | None:
        """Kind by the type or else the values: "number", "text", ...; None without values."""
        if self._kind is None:
            self._kind = kind_of_values(self.cells.distinct)
        return self._kind

    @cached_property
    def is_categorical(self) -> bool:
        """Whether the column holds categories, strings or the like rather than numbers.

        A column of objects is not categorical if all its values are numbers, or all are times.
        """
        if self.type.is_categorical is not None:
            return self.type.is_categorical
        return self.kind != NUMBER and not are_times(self.cells.distinct)

    def release(self) -> None:
        """Free the memory of the cells; they are read again if they are used again."""
        self._cells = None


class Table:
    """X by columns, as made by `read_table`."""

    shape: tuple[int, int]
    names: list[Any] | None = None  # of the columns, if X is a data frame
    head: Any = None  # the columns without rows, of tables that users make by `mddf.by_columns`
    codes_folder: str | None = None  # of a temporary file for the codes; None keeps them in memory
    has_rows = False  # whether `rows` returns some rows without reading all
    is_read_whole = False  # whether columns are read as a whole, so that to read twice is slow
    # Columns of dates by their names in messages, and functions that read the microseconds since
    # 1970; only in fit.
    dates: Mapping[str, Callable[[], np.ndarray]] = MappingProxyType({})
    date_parts: Collection[int] = ()  # columns that are parts of dates
    n_appended = 0  # number of columns on the right that hold other parts of dates
    # Place in the user's table of a column that only orders the rows, and is not in this one.
    left_out: int | None = None
    _keeps_cells = False
    _last_column: Column | None = None

    def place(self, c: int) -> str:
        """Name of column `c` in messages."""
        return f"{c}" if self.names is None else f"{c}, {self.names[c]!r}"

    def column(self, c: int) -> Column:
        """Column `c`, to be used before the next one is requested.

        Unless the table keeps cells, only the last column keeps its own.
        """
        column = self._columns.get(c)
        if column is None:
            column = self._columns[c] = self._column(c)
        if not self._keeps_cells and self._last_column is not column:
            if self._last_column is not None:
                self._last_column.release()
            self._last_column = column
        return column

    @cached_property
    def _columns(self) -> dict[int, Column]:
        return {}

    def release(self) -> None:
        """Forget the columns, so that the memory of the table is free as soon as it is not used.

        The columns refer to the table, which would otherwise live until cycles are collected.
        """
        vars(self).pop("_columns", None)
        self._last_column = None

    def _column(self, c: int) -> Column:
        return Column(self.place(c), lambda: Cells.from_values(self.numbers([c])[:, 0]), NUMBERS)

    @property
    def object_block(self) -> ObjectBlock | None:
        """Columns of a small data frame whose types are not numeric; None for other tables."""
        return None

    @cached_property
    def numeric_types(self) -> np.ndarray:
        """Mask of the columns whose type is numeric: bool of shape (n_columns,)."""
        return np.ones(self.shape[1], bool)

    @property
    def whole_types(self) -> dict[int, str]:
        """NumPy's names for the types of a data frame's columns of integers or booleans."""
        return {}

    def numbers(self, columns: Sequence[int]) -> np.ndarray:
        """Convert some columns to numbers, NaN where missing: shape (n_rows, n_chosen)."""
        raise NotImplementedError

    def stored(self, columns: range) -> sparse.csc_matrix | None:
        """Adjacent columns as a sparse matrix; None if that would save little."""
        return None

    def rows(self, first: int, end: int) -> Table:
        """Rows of a table that `has_rows`, as a view if possible."""
        raise NotImplementedError

    def blocks(self) -> list[range]:
        """Ranges of columns that are best read together."""
        return self.small_blocks()

    def small_blocks(self) -> list[range]:
        n_rows, n_columns = self.shape
        size = max(1, _BLOCK_BYTES // (8 * n_rows))
        return [range(i, min(i + size, n_columns)) for i in range(0, n_columns, size)]


class ArrayTable(Table):
    """An array of checked numbers, or of objects in which some columns are categories."""

    has_rows = True

    def __init__(self, X: np.ndarray) -> None:
        self.cells = X
        self.shape = X.shape

    @property
    def are_numbers(self) -> bool:
        """Whether the kernel can read the cells as they are."""
        return self.cells.dtype in NUMERIC_DTYPES

    def _column(self, c: int) -> Column:
        type_ = ColumnType(is_categorical=False)
        return Column(self.place(c), lambda: Cells.from_values(self.cells[:, c]), type_)

    @cached_property
    def numeric_types(self) -> np.ndarray:
        return np.full(self.shape[1], self.cells.dtype.kind in "biuf")

    def numbers(self, columns: Sequence[int]) -> np.ndarray:
        if self.are_numbers:
            # All columns together are not copied.
            return self.cells if len(columns) == self.shape[1] else self.cells[:, list(columns)]
        return checked_numbers(self.cells[:, list(columns)], lambda i: self.place(columns[i]))

    def rows(self, first: int, end: int) -> ArrayTable:
        return ArrayTable(self.cells[first:end])

    def blocks(self) -> list[range]:
        return [range(self.shape[1])]


class SparseTable(Table):
    """A sparse matrix, whose cells are 0 where it stores nothing."""

    has_rows = True

    def __init__(self, X: sparse.csc_matrix | sparse.csr_matrix) -> None:
        X = X.tocsc()
        # A matrix of our own, since `sum_duplicates` changes it in place.
        X = sparse.csc_matrix((X.data, X.indices, X.indptr), X.shape)
        X.check_format(full_check=True)
        if not X.has_canonical_format:
            # Cells that are stored several times count as their sum. The two conversions make a
            # copy with the cells in a fixed order.
            X = X.tocsr().tocsc()
            X.sum_duplicates()
            assert_all_finite(X.data, allow_nan=True, input_name="X")
        self.cells = X
        self.shape = X.shape

    @cached_property
    def _by_row(self) -> sparse.csr_matrix:
        return self.cells.tocsr()

    def rows(self, first: int, end: int) -> SparseTable:
        return SparseTable(self._by_row[first:end])

    def stored(self, columns: range) -> sparse.csc_matrix | None:
        n_stored = self.cells.indptr[columns.stop] - self.cells.indptr[columns.start]
        if n_stored / (self.shape[0] * len(columns)) > _MAX_SPARSE_SHARE:
            return None
        return self.cells[:, columns.start : columns.stop]

    def numbers(self, columns: Sequence[int]) -> np.ndarray:
        if isinstance(columns, range):
            return self.cells[:, columns.start : columns.stop].toarray()
        return self.cells[:, columns].toarray()
