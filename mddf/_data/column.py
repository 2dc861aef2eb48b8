"""One column of a table, some of whose cells may be text, times or other objects."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import NamedTuple

import numpy as np

from mddf._data.cells import NUMBER, are_times, kind_of_values, missing_cells


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


class Column:
    """A column that is read when it is first looked at.

    Parameters
    ----------
    place : str
        How it is called in messages.
    read : callable
        Gives the cells, or their factors if that is quicker.
    type_ : ColumnType
    """

    def __init__(self, place: str, read: Callable[[], Cells | Factors], type_: ColumnType) -> None:
        self.place, self.type, self._read = place, type_, read
        self._cells: Cells | Factors | None = None
        self._kind = type_.kind

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
