"""Data frames of pandas, polars, pyarrow and others that narwhals knows, read column by column."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from functools import cached_property
from typing import Any

import narwhals.stable.v1 as nw
import numpy as np

from mddf._data.cells import NO_TIMES, NUMBER, checked_numbers, no_number, parsed_numbers
from mddf._data.table import NUMBERS, OBJECTS, Cells, Column, Columns, ColumnType, Factors, Table

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
    def _types(self) -> list[tuple[ColumnType, bool]]:
        """Of each column, and whether all cells read at once are the same objects."""
        return [
            _type_of(dtype, getattr(self._native(c), "dtype", None))
            for c, dtype in enumerate(self._frame.schema.values())
        ]

    @property
    def types(self) -> list[ColumnType]:
        """What the type of each column says."""
        return [type_ for type_, _ in self._types]

    @cached_property
    def hold_numbers(self) -> np.ndarray:
        """See Table."""
        return np.array([type_.kind == NUMBER for type_ in self.types])

    @property
    def whole_types(self) -> dict[int, str]:
        """See Table."""
        types = enumerate(self._frame.schema.values())
        return {
            c: "bool"
            if dtype == nw.Boolean
            else "uint64"
            if dtype.is_unsigned_integer()
            else "int64"
            for c, dtype in types
            if dtype == nw.Boolean or dtype.is_integer()
        }

    def _column(self, c: int) -> Column:
        type_ = self._types[c][0]
        if not self._is_small or c not in self._together:
            return Column(self.place(c), lambda: self._read(c), type_)
        cells, kind = self._together[c]
        return Column(self.place(c), lambda: cells, type_._replace(kind=kind) if kind else type_)

    def _native(self, c: int) -> Any:
        return self._frame[:, c].to_native()

    def _read(self, c: int) -> Cells | Factors:
        return Cells.of(np.fromiter(self._frame[:, c].to_list(), object, self.shape[0]))

    @cached_property
    def _together(self) -> dict[int, tuple[Cells, str | None]]:
        """Columns of a small frame that are no numbers and can be read at once: cells, kinds."""
        chosen = [
            c for c, (type_, at_once) in enumerate(self._types) if type_ != NUMBERS and at_once
        ]
        if not chosen:
            return {}
        values, missing = Cells.of(self._objects()[:, chosen])
        kind = "text" if set(map(type, values[~missing])) == {str} else None
        kinds = [None if empty else kind for empty in np.all(missing, axis=0).tolist()]
        return {c: (Cells(values[:, i], missing[:, i]), kinds[i]) for i, c in enumerate(chosen)}

    def _objects(self) -> np.ndarray:
        return np.array(self._frame.rows(), dtype=object)

    def rows(self, first: int, end: int) -> FrameTable:
        """See Table."""
        part = copy(self)
        for name in ("_columns", "_together"):
            part.__dict__.pop(name, None)
        part._frame = self._frame[first:end]
        part.native, part.shape = part._frame.to_native(), part._frame.shape
        return part

    def numbers(self, columns: Sequence[int]) -> np.ndarray:
        """See Table."""
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
    """A data frame of pandas, whose numbers are read together."""

    def __init__(self, X: Any) -> None:
        self.names = X.columns.tolist()
        if len(set(self.names)) < len(self.names):
            X = X.set_axis(range(len(self.names)), axis=1)
        self.native, self.shape = X, X.shape

    @cached_property
    def _types(self) -> list[tuple[ColumnType, bool]]:
        types: list[tuple[ColumnType, bool]] = []
        others: dict[Any, tuple[ColumnType, bool]] = {}
        for c, dtype in enumerate(self.native.dtypes.tolist()):
            found = _plain_type(dtype) or others.get(dtype)
            if found is None:  # narwhals is asked once for each type: it takes long to say
                series = nw.from_native(self._native(c), series_only=True)
                found = others[dtype] = _type_of(series.dtype, dtype)
            types.append(found)
        return types

    @cached_property
    def _are_plain(self) -> np.ndarray:
        """Which columns pandas makes numbers of as narwhals does."""
        return np.array([_is_plain(dtype) for dtype in self.native.dtypes.tolist()])

    def _native(self, c: int) -> Any:
        return self.native.iloc[:, c]

    def _objects(self) -> np.ndarray:
        if self.shape[0] == 1:  # a row takes pandas a quarter of the time of columns of one cell
            row = self.native.iloc[0]
            if row.dtype.kind == "O":  # else numbers of several types are rounded to one
                return np.asarray(row.to_numpy(dtype=object)).reshape(1, -1)
        return np.asarray(self.native.to_numpy(dtype=object))

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
        part = self.native if whole else self.native.iloc[:, chosen[plain]]
        block = part.to_numpy(dtype=np.float64, na_value=np.nan)
        if not plain.all():
            together, block = block, np.empty((self.shape[0], len(chosen)), order="F")
            block[:, plain] = together
            for i in np.flatnonzero(~plain):
                block[:, i] = self._numbers(int(chosen[i]))
        return checked_numbers(block, lambda i: self.place(columns[i]))


def _plain_type(dtype: Any) -> tuple[ColumnType, bool] | None:
    """What a type of pandas' says, None if narwhals has to be asked, which takes longer."""
    if isinstance(dtype, np.dtype):
        if dtype.kind in "biuf":
            return NUMBERS, True
        return (OBJECTS, True) if dtype.kind == "O" else None
    return (ColumnType(None, True), True) if dtype.name == "category" else None


def _is_plain(dtype: Any) -> bool:
    if isinstance(dtype, np.dtype):
        return dtype.kind in "biuf"
    masked = hasattr(dtype, "numpy_dtype") and not hasattr(dtype, "pyarrow_dtype")
    return masked and dtype.kind in "biuf"


def _type_of(dtype: Any, native: Any) -> tuple[ColumnType, bool]:
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
