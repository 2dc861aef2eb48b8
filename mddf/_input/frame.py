"""Data frames of pandas, polars, pyarrow and others that narwhals knows, read column by column."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from functools import cached_property
from typing import Any

import narwhals.stable.v1 as nw
import numpy as np

from mddf._input.cell_values import NO_TIMES, NUMBER, checked_numbers, no_number, parsed_numbers
from mddf._input.table import (
    NUMBERS,
    OBJECTS,
    TEXT,
    Cells,
    Column,
    Columns,
    ColumnType,
    Factors,
    Table,
    TogetherCells,
)

# Frames of so few cells are read as a whole, where the types of columns are simple: of a few rows,
# reading column after column takes far longer.
_FEW_CELLS = 2**17
_SIMPLE = (nw.Boolean, nw.String, nw.Categorical, nw.Enum, nw.Object)


def is_frame(X: Any) -> bool:
    """Whether X is a data frame: pandas', polars', pyarrow's or another that narwhals knows."""
    return not isinstance(X, np.ndarray) and bool(nw.dependencies.is_into_dataframe(X))


def frame_table(X: Any, numbered: Sequence[int] | None = None) -> FrameTable:
    """The table of a data frame, whose columns may be called by others' numbers in messages."""
    table = PandasTable(X) if nw.dependencies.is_pandas_dataframe(X) else FrameTable(X)
    table.numbered = numbered
    return table


class FrameTable(Table):
    """A data frame."""

    has_rows = True
    is_read_whole = True
    numbered: Sequence[int] | None = None

    def __init__(self, X: Any) -> None:
        self.names = list(X.column_names if hasattr(X, "column_names") else X.columns)
        self.native = X
        self.shape = self._frame.shape

    def place(self, c: int) -> str:
        """See Table."""
        assert self.names is not None
        return f"{c if self.numbered is None else self.numbered[c]}, {self.names[c]!r}"

    @cached_property
    def _frame(self) -> nw.DataFrame[Any]:
        return nw.from_native(self.native, eager_only=True)

    @cached_property
    def _columns(self) -> Columns:
        return Columns(self._column, keep=self._is_small)

    @property
    def _is_small(self) -> bool:
        return self.shape[0] * self.shape[1] <= _FEW_CELLS

    @cached_property
    def _schema(self) -> list[Any]:
        return list(self._frame.schema.values())

    @cached_property
    def _types(self) -> list[tuple[ColumnType, bool]]:
        """Of each column, and whether all cells read at once are the same objects."""
        known: dict[int, tuple[ColumnType, bool]] = {}  # types of narwhals compare slowly
        found = []
        for c, dtype in enumerate(self._schema):
            if id(dtype) in known:
                found.append(known[id(dtype)])
            elif dtype == nw.Unknown:
                found.append(_type_of(dtype, getattr(self._native(c), "dtype", None)))
            else:
                found.append(known.setdefault(id(dtype), _type_of(dtype)))
        return found

    @property
    def types(self) -> list[ColumnType]:
        """What the type of each column says."""
        return [type_ for type_, _ in self._types]

    @cached_property
    def hold_numbers(self) -> np.ndarray:
        """See Table."""
        return np.array([type_.kind == NUMBER for type_, _ in self._types])

    @property
    def whole_types(self) -> dict[int, str]:
        """See Table."""
        return {
            c: "bool"
            if dtype == nw.Boolean
            else "uint64"
            if dtype.is_unsigned_integer()
            else "int64"
            for c, dtype in enumerate(self._schema)
            if dtype == nw.Boolean or dtype.is_integer()
        }

    def _column(self, c: int) -> Column:
        type_ = self._types[c][0]
        at = None if self.together is None else self.together.places.get(c)
        if self.together is None or at is None:
            return Column(self.place(c), lambda: self._read(c), type_)
        cells = Cells(self.together.values[at], self.together.missing[at])
        return Column(self.place(c), lambda: cells, type_, self.together.kinds[at])

    def _native(self, c: int) -> Any:
        return self._frame[:, c].to_native()

    def _read(self, c: int) -> Cells | Factors:
        return Cells.of(np.fromiter(self._frame[:, c].to_list(), object, self.shape[0]))

    @cached_property
    def together(self) -> TogetherCells | None:
        """See Table."""
        if not self._is_small:
            return None
        chosen = [
            c for c, (type_, at_once) in enumerate(self._types) if type_ != NUMBERS and at_once
        ]
        return TogetherCells.of(chosen, self._objects(chosen)) if chosen else None

    def _objects(self, columns: list[int]) -> np.ndarray:
        """Some columns as rows of an array of objects."""
        return np.array(self._frame.rows(), dtype=object).T[columns]

    def rows(self, first: int, end: int) -> FrameTable:
        """See Table."""
        part = copy(self)
        for name in ("_columns", "together", "_arrays"):
            part.__dict__.pop(name, None)
        part._frame = self._frame[first:end]
        part.native, part.shape = part._frame.to_native(), part._frame.shape
        return part

    def numbers(self, columns: Sequence[int]) -> np.ndarray:
        """See Table."""
        by_polars = self._is_small and self._frame.implementation.is_polars()
        if by_polars and all(self._schema[c].is_numeric() for c in columns):
            block = self._frame.select(nw.nth(*columns).cast(nw.Float64)).to_numpy()
        else:
            block = np.empty((self.shape[0], len(columns)), order="F")
            for i, c in enumerate(columns):
                block[:, i] = self._numbers(c)
        return checked_numbers(block, lambda i: self.place(columns[i]))

    def _numbers(self, c: int) -> np.ndarray:
        column = self.column(c)
        if column.type.kind != NUMBER:
            if column.type.kind is not None and not column.is_empty:
                first = self._frame[:, c].to_list()[0]
                raise no_number(first, 0, column.place, TypeError(NO_TIMES))
            return parsed_numbers(column.values, column.place)
        series = self._frame[:, c]
        dtype = series.dtype
        if dtype.is_integer() and self._frame.implementation.is_pyarrow():
            # pyarrow casts no integer that would be rounded unless it is set to.
            return np.asarray(series.to_native().cast("double", safe=False).to_numpy())
        if dtype != nw.Unknown:
            return series.cast(nw.Float64).to_numpy()
        cells = np.asarray(series.to_native())
        if cells.dtype.kind == "c":
            raise ValueError(f"Complex data not supported: X has some in column {column.place}")
        return cells


class PandasTable(FrameTable):
    """A data frame of pandas, whose numbers are read together, and few rows by their arrays."""

    def __init__(self, X: Any) -> None:
        self.names = X.columns.tolist()
        if len(set(self.names)) < len(self.names):
            X = X.set_axis(range(len(self.names)), axis=1)
        self.native, self.shape = X, X.shape

    @cached_property
    def _dtypes(self) -> list[Any]:
        return self.native.dtypes.tolist()

    @cached_property
    def _types(self) -> list[tuple[ColumnType, bool]]:
        types: list[tuple[ColumnType, bool]] = []
        others: dict[Any, tuple[ColumnType, bool]] = {}
        for c, (dtype, known) in enumerate(zip(self._dtypes, self._known, strict=True)):
            found = known or others.get(dtype)
            if found is None:  # narwhals is asked once for each type: it takes long to say
                series = nw.from_native(self._native(c), series_only=True)
                found = others[dtype] = _type_of(series.dtype, dtype)
            types.append(found)
        return types

    @cached_property
    def _known(self) -> list[tuple[ColumnType, bool] | None]:
        """Types of pandas', None where narwhals has to be asked."""
        known: dict[Any, tuple[ColumnType, bool] | None] = {}
        found = []
        for dtype in self._dtypes:
            # Classes of pandas' own types say enough, and have a hash that takes no time.
            key = dtype if isinstance(dtype, np.dtype) else type(dtype)
            if key not in known:
                known[key] = _known_type(dtype)
            found.append(known[key])
        return found

    @cached_property
    def _are_plain(self) -> np.ndarray:
        """Which columns pandas makes numbers of as narwhals does."""
        return np.array([known is not None and known[0] is NUMBERS for known in self._known])

    def _native(self, c: int) -> Any:
        return self.native.iloc[:, c]

    @cached_property
    def _arrays(self) -> list[Any]:
        """The array of each column."""
        # pandas' own iterator takes a tenth of the time of `items`, which makes a Series of each.
        own = getattr(self.native, "_iter_column_arrays", None)
        if own is not None:
            return list(own())
        numbered = self.native.set_axis(range(self.shape[1]), axis=1)
        return [series.array for _, series in numbered.items()]

    def _objects(self, columns: list[int]) -> np.ndarray:
        found = np.empty((len(columns), self.shape[0]), object)
        if self.shape[0] == 1:
            found[:, 0] = np.fromiter((self._arrays[c][0] for c in columns), object, len(columns))
        else:
            for at, c in enumerate(columns):
                found[at] = _objects_of(self._arrays[c])
        return found

    def _read(self, c: int) -> Cells | Factors:
        if self._is_small:
            return super()._read(c)
        try:
            numbers, different = self._native(c).factorize()
        except (TypeError, ArithmeticError):  # something that has no hash, or signals
            return super()._read(c)
        return Factors(numbers, np.append(np.asarray(different, dtype=object), np.nan))

    def numbers(self, columns: Sequence[int]) -> np.ndarray:
        """See Table."""
        chosen = np.asarray(columns)
        plain = self._are_plain[chosen]
        if not plain.any():
            return super().numbers(columns)
        whole = plain.all() and len(chosen) == self.shape[1]
        if whole and all(isinstance(dtype, np.dtype) for dtype in self._dtypes):
            block = self.native.to_numpy(dtype=np.float64)
        else:
            block = np.empty((self.shape[0], len(chosen)), order="F")
            for i, c in enumerate(chosen.tolist()):
                block[:, i] = _numbers_of(self._arrays[c]) if plain[i] else self._numbers(c)
        return checked_numbers(block, lambda i: self.place(columns[i]))


def _known_type(dtype: Any) -> tuple[ColumnType, bool] | None:
    """What a type of pandas' says, None if narwhals has to be asked, which takes longer."""
    if isinstance(dtype, np.dtype):
        if dtype.kind in "biuf":
            return NUMBERS, True
        return (OBJECTS, True) if dtype.kind == "O" else None
    if hasattr(dtype, "pyarrow_dtype"):
        return None
    if hasattr(dtype, "numpy_dtype"):
        return (NUMBERS, True) if dtype.kind in "biuf" else None
    known = {"CategoricalDtype": ColumnType(None, True), "StringDtype": TEXT}
    found = known.get(type(dtype).__name__)
    return None if found is None else (found, True)


def _numbers_of(array: Any) -> Any:
    """Numbers of an array of pandas', NaN where one is missing."""
    if isinstance(array.dtype, np.dtype):
        return array
    if len(array) == 1:  # a cell takes less than an array of one
        cell = array[0]
        return np.nan if cell is array.dtype.na_value else cell
    return array.to_numpy(dtype=np.float64, na_value=np.nan)


def _objects_of(array: Any) -> np.ndarray:
    """Cells of an array of pandas'; categories are read once, which takes less than each cell."""
    if getattr(array.dtype, "name", "") != "category":
        return np.asarray(array, dtype=object)
    return np.append(np.asarray(array.categories, dtype=object), np.nan)[array.codes]


def _type_of(dtype: Any, native: Any = None) -> tuple[ColumnType, bool]:
    """What a type of narwhals' says of a column, and of pandas' where it has none of its own."""
    if dtype.is_numeric() or dtype == nw.Boolean:
        return NUMBERS, True
    if dtype == nw.Unknown:  # as pandas' sparse columns are
        return NUMBERS if getattr(native, "kind", "O") in "biufc" else ColumnType(), False
    if dtype.is_temporal():
        return ColumnType(str(dtype), False), False
    if dtype == nw.Object:
        return OBJECTS, True
    return ColumnType(None, True, dtype == nw.String), dtype in _SIMPLE
