"""Tables that are read column by column: arrays and sparse matrices; see `frame` and `chunked`.

Cells of a column may be text, times or other objects.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
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

# What a block of columns that are turned into numbers together may take.
_BLOCK_BYTES = 2**26
# The share of cells that a sparse matrix stores at most where it is not better made dense.
_SPARSE = 0.25


class Cells(NamedTuple):
    """The cells of a column, NaN where one is missing, and where that is."""

    values: np.ndarray
    missing: np.ndarray

    @classmethod
    def of(cls, values: np.ndarray) -> Cells:
        """Of numbers, times or objects; shape does not matter."""
        missing = missing_cells(values.ravel()).reshape(values.shape)
        if values.dtype.kind == "O" and missing.any():
            values = np.where(missing, np.nan, values)
        return cls(values, missing)

    @property
    def different(self) -> np.ndarray:
        """Values of which there is at least one of each."""
        return self.values


class Factors(NamedTuple):
    """The cells of a column as numbers of its different values, -1 where one is missing.

    The last of the different values is NaN.
    """

    numbers: np.ndarray
    different: np.ndarray

    @property
    def values(self) -> np.ndarray:
        """The cells, NaN where one is missing."""
        return self.different[self.numbers]

    @property
    def missing(self) -> np.ndarray:
        """Which cells are missing."""
        return self.numbers < 0


class TogetherCells(NamedTuple):
    """Cells of some columns of a small table, which are no numbers by their types.

    Attributes
    ----------
    places : dict of int to int
        From the number of a column to its place among these.
    values : ndarray of object of shape (n_chosen, n_rows)
        NaN where a cell is missing.
    missing : ndarray of bool of shape (n_chosen, n_rows)
    kinds : list of str or None
        What each column holds, None if nothing is there.
    """

    places: dict[int, int]
    values: np.ndarray
    missing: np.ndarray
    kinds: list[str | None]

    @classmethod
    def of(cls, columns: Sequence[int], objects: np.ndarray) -> TogetherCells:
        """Of the objects of some columns, None or the like where one is missing."""
        values, missing = Cells.of(objects)
        is_text = set(map(type, values[~missing])) <= {str}
        kinds: list[str | None] = ["text"] * len(columns)
        if not is_text:
            kinds = [*map(kind_of_values, values)]
        for at in np.flatnonzero(missing.all(axis=1)).tolist():
            kinds[at] = None
        return cls(dict(zip(columns, range(len(columns)), strict=True)), values, missing, kinds)


class ColumnType(NamedTuple):
    """What the type of a column says of it; None where that takes a look at its values.

    Attributes
    ----------
    kind : str or None
        What the column holds: "number", or what its times are called.
    is_categorical : bool or None
        Whether it holds categories, strings or the like rather than numbers.
    is_plain_text : bool
        Whether it is text, or objects, rather than categories.
    """

    kind: str | None = None
    is_categorical: bool | None = None
    is_plain_text: bool = False


NUMBERS = ColumnType(NUMBER, False)
OBJECTS = ColumnType(None, None, True)
TEXT = ColumnType(None, True, True)


class Column:
    """A column that is read when it is first looked at.

    Parameters
    ----------
    place : str
        How it is called in messages.
    read : callable
        Gives the cells, or their factors if that is quicker.
    type_ : ColumnType
    kind : str, default=None
        What it holds, where that is known.
    """

    def __init__(
        self,
        place: str,
        read: Callable[[], Cells | Factors],
        type_: ColumnType,
        kind: str | None = None,
    ) -> None:
        self.place, self.type, self._read = place, type_, read
        self._cells: Cells | Factors | None = None
        self._kind = kind or type_.kind

    @property
    def cells(self) -> Cells | Factors:
        """What is read."""
        if self._cells is None:
            self._cells = self._read()
        return self._cells

    @property
    def values(self) -> np.ndarray:
        """The cells, NaN where something is missing: shape (n_rows,)."""
        return self.cells.values

    @property
    def missing(self) -> np.ndarray:
        """Which cells are missing: bool of shape (n_rows,)."""
        return self.cells.missing

    @property
    def is_empty(self) -> bool:
        """Whether all cells are missing, whatever the type."""
        return bool(self.missing.all())

    @property
    def kind(self) -> str | None:
        """What the column holds by its type or values: "number", "text", ...; None if nothing."""
        if self._kind is None:
            self._kind = kind_of_values(self.cells.different)
        return self._kind

    @cached_property
    def is_categorical(self) -> bool:
        """Whether it holds categories, strings or the like rather than numbers.

        One of objects holds numbers, or times, if something is there and all that is there are.
        """
        if self.type.is_categorical is not None:
            return self.type.is_categorical
        return self.kind != NUMBER and not are_times(self.cells.different)

    def release(self) -> None:
        """Let go of the cells, which may be large; they are read again if need be."""
        self._cells = None


class Columns:
    """Columns of a table by number: of those made so far, perhaps only the last has its cells.

    Parameters
    ----------
    make : callable
        From the number of a column to the column.
    keep : bool
        Whether all columns may keep their cells.
    """

    def __init__(self, make: Callable[[int], Column], *, keep: bool) -> None:
        self._make, self._keep = make, keep
        self._made: dict[int, Column] = {}
        self._last: Column | None = None

    def __getitem__(self, c: int) -> Column:
        column = self._made.get(c)
        if column is None:
            column = self._made[c] = self._make(c)
        if not self._keep and self._last is not column:
            if self._last is not None:
                self._last.release()
            self._last = column
        return column


class Table:
    """X by columns; made by `read_table`.

    Attributes
    ----------
    shape : tuple of (int, int)
    names : list or None
        Of the columns, if X is a data frame.
    head : data frame or ndarray
        No rows, but the columns, of tables that users make themselves, by `mddf.by_columns`.
    bin_rows : int or None
        So many rows are enough to find the bins of numbers.
    has_rows : bool
        Whether `rows` gives some of them without reading all.
    is_read_whole : bool
        Whether columns are read whole, so that they are better not read twice.
    """

    shape: tuple[int, int]
    names: list[Any] | None = None
    head: Any = None
    bin_rows: int | None = None
    has_rows = False
    is_read_whole = False

    def place(self, c: int) -> str:
        """How column `c` is called in messages."""
        return f"{c}" if self.names is None else f"{c}, {self.names[c]!r}"

    def column(self, c: int) -> Column:
        """Column `c`, to be looked at before the next one is asked for."""
        return self._columns[c]

    @cached_property
    def _columns(self) -> Columns:
        return Columns(self._column, keep=False)

    def _column(self, c: int) -> Column:
        return Column(self.place(c), lambda: Cells.of(self.numbers([c])[:, 0]), NUMBERS)

    @property
    def together(self) -> TogetherCells | None:
        """Columns that are no numbers, of a small data frame that has some."""
        return None

    @cached_property
    def hold_numbers(self) -> np.ndarray:
        """Which columns hold numbers by their type: bool of shape (n_columns,)."""
        return np.ones(self.shape[1], bool)

    @property
    def whole_types(self) -> dict[int, str]:
        """What numpy calls the types of a data frame's columns of whole numbers or booleans."""
        return {}

    def numbers(self, columns: Sequence[int]) -> np.ndarray:
        """Some columns as numbers, NaN where missing: shape (n_rows, n_chosen)."""
        raise NotImplementedError

    def stored(self, columns: range) -> sparse.csc_matrix | None:
        """Some columns that lie side by side, sparse; None where that would not save much."""
        return None

    def rows(self, first: int, end: int) -> Table:
        """Rows of a table that `has_rows`, not copied where that can be."""
        raise NotImplementedError

    def blocks(self) -> list[range]:
        """Columns that are best read together."""
        n_rows, n_columns = self.shape
        size = max(1, _BLOCK_BYTES // (8 * n_rows))
        return [range(i, min(i + size, n_columns)) for i in range(0, n_columns, size)]


class ArrayTable(Table):
    """An array: numbers that are checked already, or objects some of which are categories."""

    has_rows = True

    def __init__(self, X: np.ndarray) -> None:
        self.cells = X
        self.shape = X.shape

    @property
    def are_numbers(self) -> bool:
        """Whether the cells are numbers that the kernel reads."""
        return self.cells.dtype in NUMERIC_DTYPES

    def _column(self, c: int) -> Column:
        type_ = ColumnType(is_categorical=False)
        return Column(self.place(c), lambda: Cells.of(self.cells[:, c]), type_)

    @cached_property
    def hold_numbers(self) -> np.ndarray:
        """See Table."""
        return np.full(self.shape[1], self.cells.dtype.kind in "biuf")

    def numbers(self, columns: Sequence[int]) -> np.ndarray:
        """See Table."""
        if self.are_numbers:
            # All of them are not copied.
            return self.cells if len(columns) == self.shape[1] else self.cells[:, list(columns)]
        return checked_numbers(self.cells[:, list(columns)], lambda i: self.place(columns[i]))

    def rows(self, first: int, end: int) -> ArrayTable:
        """See Table."""
        return ArrayTable(self.cells[first:end])

    def blocks(self) -> list[range]:
        """See Table."""
        return [range(self.shape[1])]


class SparseTable(Table):
    """A sparse matrix; what it does not store is 0."""

    has_rows = True

    def __init__(self, X: sparse.csc_matrix | sparse.csr_matrix) -> None:
        X = X.tocsc()
        X = sparse.csc_matrix((X.data, X.indices, X.indptr), X.shape)  # not the user's: it changes
        X.check_format(full_check=True)
        if not X.has_canonical_format:  # some cells are there twice: they count as their sum
            X = X.tocsr().tocsc()  # a copy, in the order in which they stand
            X.sum_duplicates()
            assert_all_finite(X.data, allow_nan=True, input_name="X")
        self.cells = X
        self.shape = X.shape

    @cached_property
    def _by_row(self) -> sparse.csr_matrix:
        return self.cells.tocsr()

    def rows(self, first: int, end: int) -> SparseTable:
        """See Table."""
        return SparseTable(self._by_row[first:end])

    def stored(self, columns: range) -> sparse.csc_matrix | None:
        """See Table."""
        start, stop = columns.start, columns.stop
        n_stored = self.cells.indptr[stop] - self.cells.indptr[start]
        few = n_stored / (self.shape[0] * len(columns)) <= _SPARSE
        return self.cells[:, start:stop] if few else None

    def numbers(self, columns: Sequence[int]) -> np.ndarray:
        """See Table."""
        if isinstance(columns, range):
            return self.cells[:, columns.start : columns.stop].toarray()
        return self.cells[:, columns].toarray()
