"""Columns of a table as numbers or as codes of categories, for checks of data."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import narwhals.stable.v1 as nw
import numpy as np
from sklearn.base import BaseEstimator

from mddf._base.messages import short
from mddf._base.validation import naming
from mddf._input.calendar import are_dates, array_microseconds, holds_dates, series_microseconds
from mddf._input.cell_values import parsed_numbers, with_nan
from mddf._input.date_columns import date_columns
from mddf._input.frame import is_frame
from mddf._input.reading import read_table, whole_frame
from mddf._input.subjects import nearly_all
from mddf._input.table import Column as TableColumn
from mddf._input.table import Factors, Table

Kind = Literal["number", "date", "category"]

# Share of different values among the present ones, above which little can be learned from a text:
# the values of most rows are unique. Tables with few rows always have such columns.
_MANY_VALUES = 0.5
_MIN_VALUES = 10
# From this number of different texts on, a column needs a decision even if each has several rows.
_THOUSANDS = 1000
# Share of different values from which a text names rows: a few rows may be repeated.
_NEARLY_ALL = 0.99
# Fewer whole numbers may all differ by chance. More of them name rows if they are sorted, or if
# their range is at most twice their number; measured numbers have larger gaps.
_MIN_ROWS_OF_NUMBERS = 50
_MAX_GAPS = 2


@dataclass(frozen=True)
class DataColumn:
    """A numeric column, a date column, or a categorical column.

    Attributes
    ----------
    name : str
        Name in a data frame, else the number of the column.
    kind : {"number", "date", "category"}
    numbers : ndarray of shape (n_rows,) or None
        Numbers, or dates as seconds since 1970; NaN where missing. None for categories.
    codes : ndarray of shape (n_rows,) or None
        Codes of categories, -1 where missing. None for numeric columns.
    levels : tuple
        The categories by code. All of them occur.
    """

    name: str
    kind: Kind
    numbers: np.ndarray | None = None
    codes: np.ndarray | None = None
    levels: tuple[object, ...] = ()

    @cached_property
    def missing(self) -> np.ndarray:
        """Mask of the missing cells."""
        if self.numbers is not None:
            return np.isnan(self.numbers)
        assert self.codes is not None
        return self.codes < 0

    @cached_property
    def n_present(self) -> int:
        """Number of cells that are not missing."""
        return len(self.missing) - int(np.count_nonzero(self.missing))

    def take(self, rows: Any) -> DataColumn:
        """Some rows; levels keep their codes, even if they do not occur any more."""
        numbers = None if self.numbers is None else self.numbers[rows]
        codes = None if self.codes is None else self.codes[rows]
        return DataColumn(self.name, self.kind, numbers, codes, self.levels)

    @cached_property
    def as_numbers(self) -> np.ndarray | None:
        """The cells as numbers, also if they are texts of numbers; None for other texts."""
        if self.codes is None:
            return self.numbers
        try:
            levels = [float(str(level)) for level in self.levels]
        except ValueError:
            return None
        numbers = np.array([*levels, np.nan])[self.codes]
        return numbers if np.isfinite(numbers[~self.missing]).all() else None

    @property
    def as_block(self) -> np.ndarray:
        """Numbers, or codes of categories as numbers; NaN where missing."""
        if self.numbers is not None:
            return self.numbers
        assert self.codes is not None
        return np.where(self.missing, np.nan, self.codes)

    @cached_property
    def value_codes(self) -> np.ndarray:
        """Codes of the different values; codes of missing cells mean nothing."""
        if self.codes is not None:
            return self.codes
        assert self.numbers is not None
        return np.unique(self.numbers, return_inverse=True)[1]

    @property
    def is_usual(self) -> np.ndarray:
        """Mark the cells with the value that half of the present cells or more have, if any has.

        It is the median of numbers.
        """
        present = ~self.missing
        values = self.codes if self.numbers is None else self.numbers
        assert values is not None
        if not self.n_present:
            return present
        if self.codes is not None:
            return values == np.bincount(values[present]).argmax()
        middle = self.n_present // 2
        return np.asarray(values == np.partition(values[present], middle)[middle])

    def value_at(self, row: int) -> object:
        """The value of a present cell, as a message shows it."""
        if self.codes is not None:
            return self.levels[self.codes[row]]
        assert self.numbers is not None
        return f"{self.numbers[row]:g}"

    @cached_property
    def has_many_texts(self) -> bool:
        """Whether there are so many different texts that little can be learned from them."""
        is_many = are_many_texts(len(self.levels), self.n_present)
        return is_many and set(map(type, self.levels)) == {str}

    @cached_property
    def identifies_rows(self) -> bool:
        """Whether values name rows: nearly all differ, and they are no measured numbers."""
        if self.kind == "category":
            return self.n_present > _MIN_VALUES and len(self.levels) > _NEARLY_ALL * self.n_present
        if self.kind != "number" or self.n_present < _MIN_ROWS_OF_NUMBERS:
            return False
        assert self.numbers is not None
        values = self.numbers[~self.missing]
        # The first rows nearly always decide.
        for part in (values[:_MIN_ROWS_OF_NUMBERS], values):
            n_repeats = len(part) - len(np.unique(part))
            if not nearly_all(part == np.rint(part)) or n_repeats > max(1, len(part) // 100):
                return False
        ends = np.quantile(values, [0.01, 0.99])
        is_dense = np.ptp(ends) <= _MAX_GAPS * self.n_present
        steps = np.diff(values)
        return bool(is_dense or nearly_all(steps > 0) or nearly_all(steps < 0))


def are_many_texts(n_different: int, n_present: int) -> bool:
    """Whether a column has so many different texts that little can be learned from them."""
    limit = max(_MIN_VALUES, _MANY_VALUES * n_present)
    return n_different > limit or n_different >= _THOUSANDS


class TableReader(BaseEstimator):
    """Estimator that reads tables: it remembers the names and the number of columns."""


def read_tables(X: Any, X_test: Any = None) -> tuple[Table, Table | None]:
    """Read a table, and another one with the same columns."""
    reader = TableReader()
    X = _not_empty(X)
    # Columns of dates that count as categories are kept whole, instead of one column for each part
    # of a date. With a list of categorical features, even an empty one, arrays may hold text.
    categorical_features = date_columns(X, None) if is_frame(X) and 0 not in X.shape else ()
    table = read_table(reader, X, reset=True, categorical_features=categorical_features)
    if X_test is None:
        return table, None
    with naming("X_test"):
        test_table = read_table(
            reader,
            _columns_of(X, _not_empty(X_test)),
            reset=False,
            categorical_features=categorical_features,
        )
    return table, test_table


def _columns_of(X: Any, X_test: Any) -> Any:
    """The columns of X_test that X has, in the order of X, if both have names."""
    if not (is_frame(X) and is_frame(X_test)):
        return X_test
    frame = nw.from_native(X_test, eager_only=True)
    names = nw.from_native(X, eager_only=True).columns
    if absent := [name for name in names if name not in frame.columns]:
        raise ValueError(
            f"X_test must have the columns of X, got none named {absent[0]!r} among "
            f"{short(frame.columns)}"
        )
    return frame[:, [frame.columns.index(name) for name in names]].to_native()


def _not_empty(X: Any) -> Any:
    """The table as a whole frame or as it is; tables without rows or columns are refused."""
    X = whole_frame(X)
    shape = getattr(X, "shape", ())
    if 0 in shape:
        raise ValueError(f"X must not be empty, got shape {tuple(shape)}")
    return X


def names_of_columns(table: Table) -> list[str]:
    """Names of a data frame's columns, or the numbers of an array's columns."""
    names = range(table.shape[1]) if table.names is None else table.names
    return [str(name) for name in names]


def with_infinities(X: Any) -> Any:
    """Let an array with infinities be read cell by cell; other tables stay as they are."""
    if isinstance(X, np.ndarray) and X.dtype.kind == "f" and np.isinf(X).any():
        return X.astype(object)
    return X


def read_columns(table: Table, *, allow_infinite: bool = False) -> Iterator[DataColumn]:
    """Read one column after the other."""
    for c, name in enumerate(names_of_columns(table)):
        yield read_column(table, c, name, allow_infinite=allow_infinite)


def read_column(table: Table, c: int, name: str, *, allow_infinite: bool = False) -> DataColumn:
    """Read a column of a table."""
    if table.numeric_types[c]:
        return DataColumn(name, "number", _doubles(table, c, allow_infinite=allow_infinite))
    native = getattr(table, "native", None)
    if native is not None:
        series = nw.from_native(native, eager_only=True)[:, c]
        if holds_dates(series):
            return DataColumn(name, "date", series_microseconds(series) / 1e6)
    column = table.column(c)
    if column.is_empty:
        return DataColumn(name, "category", codes=np.full(table.shape[0], -1))
    if not column.is_categorical:
        if column.kind == "number":
            return DataColumn(name, "number", _doubles(table, c, allow_infinite=allow_infinite))
        if are_dates(column.values):
            return DataColumn(name, "date", array_microseconds(column.values) / 1e6)
    return _categories(column, name)


def _doubles(table: Table, c: int, *, allow_infinite: bool) -> np.ndarray:
    try:
        return np.asarray(table.numbers([c])[:, 0], dtype=np.float64)
    except ValueError:
        if not allow_infinite:
            raise
        column = table.column(c)
        return parsed_numbers(with_nan(column.values), column.place)


def _categories(column: TableColumn, name: str) -> DataColumn:
    """Codes of a column of categories, in the order of first occurrence."""
    cells = column.cells
    if isinstance(cells, Factors):
        indices = np.asarray(cells.indices, dtype=np.int64)
        counts = np.bincount(indices[indices >= 0], minlength=len(cells.distinct) - 1)
        occurs = counts > 0
        new_code = np.append(np.cumsum(occurs) - 1, -1)
        levels = np.asarray(cells.distinct[:-1], dtype=object)[occurs].tolist()
        return DataColumn(name, "category", codes=new_code[indices], levels=tuple(levels))
    code_of: dict[object, int] = {}
    codes = np.full(len(cells.values), -1, dtype=np.int64)
    present = ~cells.missing
    try:
        codes[present] = [
            code_of.setdefault(value, len(code_of)) for value in cells.values[present].tolist()
        ]
    except TypeError as error:
        raise TypeError(
            "X must hold numbers, text, categories, booleans or dates, got "
            f"{column.kind} in column {column.place}"
        ) from error
    return DataColumn(name, "category", codes=codes, levels=tuple(code_of))
