"""Data frames of pandas, polars, pyarrow and others that narwhals supports."""

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
    ColumnType,
    Factors,
    ObjectBlock,
    Table,
)

# Frames with at most this many cells are read as a whole, as far as the types of columns allow it:
# with few rows, reading column after column takes far longer. A round figure that was not tuned.
_FEW_CELLS = 2**17
# Types whose cells are the same objects whether they are read by columns or by rows.
_SIMPLE_TYPES = (nw.Boolean, nw.String, nw.Categorical, nw.Enum, nw.Object)


def is_frame(X: Any) -> bool:
    """Whether X is a data frame that narwhals supports, such as one of pandas or polars."""
    return not isinstance(X, np.ndarray) and bool(nw.dependencies.is_into_dataframe(X))


def frame_table(X: Any, column_numbers: Sequence[int] | None = None) -> FrameTable:
    """Make the table of a data frame.

    If the frame is a part of a larger one, `column_numbers` are the places of its columns there,
    by which messages name them.
    """
    table = PandasTable(X) if nw.dependencies.is_pandas_dataframe(X) else FrameTable(X)
    table.column_numbers = column_numbers
    return table


class FrameTable(Table):
    """A data frame."""

    has_rows = True
    is_read_whole = True
    column_numbers: Sequence[int] | None = None

    def __init__(self, X: Any) -> None:
        self.names = list(X.column_names if hasattr(X, "column_names") else X.columns)
        self.native = X
        self.shape = self._frame.shape

    def place(self, c: int) -> str:
        assert self.names is not None
        number = c if self.column_numbers is None else self.column_numbers[c]
        return f"{number}, {self.names[c]!r}"

    @cached_property
    def _frame(self) -> nw.DataFrame[Any]:
        return nw.from_native(self.native, eager_only=True)

    @property
    def _keeps_cells(self) -> bool:  # type: ignore[override]
        return self._is_small

    @property
    def _is_small(self) -> bool:
        return self.shape[0] * self.shape[1] <= _FEW_CELLS

    @cached_property
    def _schema(self) -> list[Any]:
        return list(self._frame.schema.values())

    @cached_property
    def types(self) -> list[ColumnType]:
        known: dict[int, ColumnType] = {}  # by identity, since types of narwhals compare slowly
        types = []
        for c, dtype in enumerate(self._schema):
            if id(dtype) in known:
                types.append(known[id(dtype)])
            elif dtype == nw.Unknown:
                types.append(_type_of(dtype, getattr(self._native(c), "dtype", None)))
            else:
                types.append(known.setdefault(id(dtype), _type_of(dtype)))
        return types

    @cached_property
    def numeric_types(self) -> np.ndarray:
        return np.array([type_.kind == NUMBER for type_ in self.types])

    @property
    def whole_types(self) -> dict[int, str]:
        names = {}
        for c, dtype in enumerate(self._schema):
            if dtype == nw.Boolean:
                names[c] = "bool"
            elif dtype.is_integer():
                names[c] = "uint64" if dtype.is_unsigned_integer() else "int64"
        return names

    def _column(self, c: int) -> Column:
        type_ = self.types[c]
        block = self.object_block
        place = None if block is None else block.places.get(c)
        if block is None or place is None:
            return Column(self.place(c), lambda: self._read(c), type_)
        cells = Cells(block.values[place], block.missing[place])
        return Column(self.place(c), lambda: cells, type_, block.kinds[place])

    def _native(self, c: int) -> Any:
        return self._frame[:, c].to_native()

    def _read(self, c: int) -> Cells | Factors:
        return Cells.from_values(np.fromiter(self._frame[:, c].to_list(), object, self.shape[0]))

    @cached_property
    def object_block(self) -> ObjectBlock | None:
        if not self._is_small:
            return None
        chosen = [
            c for c, type_ in enumerate(self.types) if type_.is_simple and type_.kind != NUMBER
        ]
        return ObjectBlock.from_objects(chosen, self._objects(chosen)) if chosen else None

    def _objects(self, columns: list[int]) -> np.ndarray:
        """Read some columns as rows of an array of objects."""
        return np.array(self._frame.rows(), dtype=object).T[columns]

    def rows(self, first: int, end: int) -> FrameTable:
        part = copy(self)
        for name in ("_columns", "_last_column", "object_block", "_arrays"):
            part.__dict__.pop(name, None)
        part._frame = self._frame[first:end]
        part.native = part._frame.to_native()
        part.shape = part._frame.shape
        return part

    def numbers(self, columns: Sequence[int]) -> np.ndarray:
        is_small_polars = self._is_small and self._frame.implementation.is_polars()
        if is_small_polars and all(self._schema[c].is_numeric() for c in columns):
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
            # By default, pyarrow refuses to cast integers that doubles would round.
            return np.asarray(series.to_native().cast("double", safe=False).to_numpy())
        if dtype != nw.Unknown:
            return series.cast(nw.Float64).to_numpy()
        cells = np.asarray(series.to_native())
        if cells.dtype.kind == "c":
            raise ValueError(f"Complex data not supported: X has some in column {column.place}")
        return cells


class PandasTable(FrameTable):
    """A data frame of pandas, whose arrays are read directly.

    With narwhals, a forest of 20 trees took 2.9 ms instead of 0.22 ms for a row of 21 columns, six
    of them categories, and 45 ms instead of 21 ms for 50 000 rows.
    """

    def __init__(self, X: Any) -> None:
        self.names = X.columns.tolist()
        if len(set(self.names)) < len(self.names):
            X = X.set_axis(range(len(self.names)), axis=1)
        self.native = X
        self.shape = X.shape

    @cached_property
    def _dtypes(self) -> list[Any]:
        # `dtypes` makes a Series, which takes most of its time.
        get_dtypes = getattr(getattr(self.native, "_mgr", None), "get_dtypes", None)
        dtypes = self.native.dtypes if get_dtypes is None else get_dtypes()
        return list(dtypes)

    @cached_property
    def types(self) -> list[ColumnType]:
        types = []
        slow: dict[Any, ColumnType] = {}  # narwhals takes long: it gets each type once
        for c, (dtype, type_) in enumerate(zip(self._dtypes, self._fast_types, strict=True)):
            if type_ is None and dtype not in slow:
                series = nw.from_native(self._native(c), series_only=True)
                slow[dtype] = _type_of(series.dtype, dtype)
            types.append(slow[dtype] if type_ is None else type_)
        return types

    @cached_property
    def _fast_types(self) -> list[ColumnType | None]:
        """Types that are known without narwhals; None for others."""
        known: dict[Any, ColumnType | None] = {}
        types = []
        for dtype in self._dtypes:
            # Classes of other types have one type of number each, and a faster hash.
            has_kinds = isinstance(dtype, np.dtype) or hasattr(dtype, "pyarrow_dtype")
            key = dtype if has_kinds else type(dtype)
            if key not in known:
                known[key] = _fast_type(dtype)
            types.append(known[key])
        return types

    @cached_property
    def _are_plain(self) -> np.ndarray:
        """Mask of the columns whose arrays convert to numbers as narwhals does."""
        return np.array([type_ is _PLAIN_NUMBERS for type_ in self._fast_types])

    def _native(self, c: int) -> Any:
        return self.native.iloc[:, c]

    @cached_property
    def _arrays(self) -> list[Any]:
        # This iterator takes a tenth of the time of `items`, which makes a Series of each column.
        iterate = getattr(self.native, "_iter_column_arrays", None)
        if iterate is not None:
            return list(iterate())
        frame = self.native.set_axis(range(self.shape[1]), axis=1)
        return [series.array for _, series in frame.items()]

    def _objects(self, columns: list[int]) -> np.ndarray:
        objects = np.empty((len(columns), self.shape[0]), object)
        if self.shape[0] == 1:
            cells = (self._arrays[c][0] for c in columns)
            objects[:, 0] = np.fromiter(cells, object, len(columns))
        else:
            for place, c in enumerate(columns):
                objects[place] = _array_of_objects(self._arrays[c])
        return objects

    def _read(self, c: int) -> Cells | Factors:
        if self._is_small:
            return super()._read(c)
        try:
            indices, distinct = self._native(c).factorize()
        # Some values have no hash, or are signalling NaN.
        except (TypeError, ArithmeticError):
            return super()._read(c)
        return Factors(indices, np.append(np.asarray(distinct, dtype=object), np.nan))

    def numbers(self, columns: Sequence[int]) -> np.ndarray:
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
                block[:, i] = _array_of_numbers(self._arrays[c]) if plain[i] else self._numbers(c)
        return checked_numbers(block, lambda i: self.place(columns[i]))


# The object itself marks columns of pandas whose arrays are converted without narwhals.
_PLAIN_NUMBERS = ColumnType(NUMBER, False)
_TYPES_BY_CLASS = {"CategoricalDtype": ColumnType(None, True), "StringDtype": TEXT}


def _fast_type(dtype: Any) -> ColumnType | None:
    """Type of a column of pandas; None if narwhals, which takes longer, has to find it."""
    if isinstance(dtype, np.dtype):
        if dtype.kind in "biuf":
            return _PLAIN_NUMBERS
        return OBJECTS if dtype.kind == "O" else None
    if hasattr(dtype, "numpy_dtype"):  # nullable types, and types of pyarrow
        return _PLAIN_NUMBERS if dtype.kind in "biuf" else None
    return _TYPES_BY_CLASS.get(type(dtype).__name__)


def _array_of_numbers(array: Any) -> Any:
    """Numbers of an array of pandas, NaN where missing."""
    if isinstance(array.dtype, np.dtype):
        return array
    if len(array) == 1:
        # A single cell is read faster than an array.
        cell = array[0]
        return np.nan if cell is array.dtype.na_value else cell
    return array.to_numpy(dtype=np.float64, na_value=np.nan)


def _array_of_objects(array: Any) -> np.ndarray:
    """Cells of an array of pandas; each category is converted once, not in every cell."""
    if getattr(array.dtype, "name", "") != "category":
        return np.asarray(array, dtype=object)
    return np.append(np.asarray(array.categories, dtype=object), np.nan)[array.codes]


def _type_of(dtype: Any, native: Any = None) -> ColumnType:
    """Type of a column from its type in narwhals, and the native type if that is unknown."""
    if dtype.is_numeric() or dtype == nw.Boolean:
        return NUMBERS
    if dtype == nw.Unknown:
        # Sparse columns of pandas, for example.
        is_numeric = getattr(native, "kind", "O") in "biufc"
        return (NUMBERS if is_numeric else ColumnType())._replace(is_simple=False)
    if dtype in (nw.Duration, nw.Time):
        return ColumnType(None, False, is_simple=False)
    if dtype.is_temporal():
        return ColumnType(str(dtype), False, is_simple=False)
    if dtype == nw.Object:
        return OBJECTS
    return ColumnType(None, True, dtype == nw.String, dtype in _SIMPLE_TYPES)
