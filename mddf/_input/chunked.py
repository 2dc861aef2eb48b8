"""Tables that are never in memory as a whole: columns are read a few at a time."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import narwhals.stable.v1 as nw
import numpy as np
import numpy.typing as npt
from sklearn.utils import check_array

from mddf._base.messages import nearest, short
from mddf._input.calendar import part_name
from mddf._input.cell_values import NUMBER, NUMERIC_DTYPES, checked_numbers, computed, fill_masked
from mddf._input.date_columns import (
    Dates,
    columns_of_date_types,
    date_columns,
    dates_of_frame,
    mark_dates,
    microseconds_of,
    with_calendar,
)
from mddf._input.frame import frame_table
from mddf._input.parquet import open_parquet, refuse_unreadable
from mddf._input.table import ArrayTable, Cells, Column, Factors, Table


class SourceTable(Table):
    """A table that users make by `by_columns`, pickled as that call with its `source`."""

    source: Any = None
    columns: list[Any] | None = None

    def _copy_options(self, table: SourceTable) -> None:
        for name in ("source", "columns", "codes_folder"):
            setattr(self, name, getattr(table, name))

    def __reduce__(self) -> tuple[Any, ...]:
        call = partial(by_columns, codes_folder=self.codes_folder)
        return call, (self.source, self.columns)


class ChunkedFrame(SourceTable):
    """Columns with names and types; `fetch` reads the columns of some names."""

    is_read_whole = True

    def __init__(self, head: Any, n_rows: int, fetch: Callable[[list[Any]], Any]) -> None:
        self.head = head
        self._fetch = fetch
        empty_table = frame_table(head)
        self.names = names = list(empty_table.names or ())
        if len(set(names)) < len(names):
            raise ValueError(f"by_columns needs different names for all columns, got {names}")
        self.shape = (n_rows, len(names))
        self._types = empty_table.types

    @cached_property
    def numeric_types(self) -> np.ndarray:
        return np.array([type_.kind == NUMBER for type_ in self._types])

    def native_column(self, name: Any) -> Any:
        """Read a column as a data frame."""
        return self._fetch([name])

    def without(self, name: Any) -> ChunkedFrame:
        """Leave a column out."""
        assert self.names is not None
        return self.only([other for other in self.names if other != name])

    def only(self, names: Sequence[Any]) -> ChunkedFrame:
        """Keep the columns of some names, in this order."""
        head = nw.from_native(self.head, eager_only=True).select(list(names)).to_native()
        table = ChunkedFrame(head, self.shape[0], self._fetch)
        table._copy_options(self)
        table.columns = list(names)
        return table

    def find_dates(
        self, categorical_features: npt.ArrayLike | None, elapsed: Collection[str]
    ) -> dict[str, Sequence[str]]:
        """Columns of dates in fit, unless they are categories or have no date, and their parts."""
        assert self.names is not None
        dates: dict[str, Sequence[str]] = {}
        for c in columns_of_date_types(self.head, categorical_features):
            column = self._fetch([self.names[c]])
            dates |= dates_of_frame(column, date_columns(column, None), elapsed)
        return dates

    def with_dates(self, dates: Dates) -> ChunkedFrame:
        """Replace columns of dates by their parts."""
        return DatedFrame(self, dates) if dates else self

    def _read(self, columns: Sequence[int]) -> Table:
        assert self.names is not None
        part = frame_table(self._fetch([self.names[c] for c in columns]), columns)
        if part.shape[0] != self.shape[0]:
            raise ValueError(
                f"the source of by_columns had {self.shape[0]} rows, and now has {part.shape[0]}"
            )
        return part

    def _column(self, c: int) -> Column:
        if self._types[c].kind == NUMBER:
            return super()._column(c)
        return Column(self.place(c), lambda: self._cells(c), self._types[c])

    def _cells(self, c: int) -> Cells | Factors:
        part = self._read([c])
        cells = part.column(0).cells
        part.release()
        return cells

    def numbers(self, columns: Sequence[int]) -> np.ndarray:
        part = self._read(columns)
        numbers = part.numbers(range(len(columns)))
        part.release()
        return numbers


class DatedFrame(ChunkedFrame):
    """Columns with names and types, some of which were columns of dates.

    As in `with_calendar`, the first part of a date stands in the place of its column, and its
    other parts at the end.
    """

    def __init__(self, whole: ChunkedFrame, dates: Dates) -> None:
        assert whole.names is not None
        head = with_calendar(whole.head, dates)
        source_of = {name: name for name in whole.names}
        source_of |= {part_name(name, part): name for name in dates for part in dates[name]}

        def fetch(names: list[Any]) -> Any:
            sources = list(dict.fromkeys(source_of[name] for name in names))
            part = whole._fetch(sources)
            part = with_calendar(part, {name: dates[name] for name in sources if name in dates})
            return nw.from_native(part, eager_only=True).select(names).to_native()

        super().__init__(head, whole.shape[0], fetch)
        self._whole = whole
        self._parts = dates
        mark_dates(self, dates)
        self.dates = {
            whole.place(whole.names.index(name)): partial(self._microseconds, name)
            for name in dates
        }
        self._copy_options(whole)

    def _microseconds(self, name: str) -> np.ndarray:
        return microseconds_of(self._whole.native_column(name), name)

    def __reduce__(self) -> tuple[Any, ...]:
        return DatedFrame, (self._whole, self._parts)


class ChunkedArray(SourceTable):
    """Numeric columns of an array that is read in parts; one of them may count as missing."""

    def __init__(self, array: Any, missing_column: int | None = None) -> None:
        self._array = array
        self._missing_column = missing_column
        self.shape = array.shape
        self.head = np.empty((0, self.shape[1]))

    def numbers(self, columns: Sequence[int]) -> np.ndarray:
        part = computed(self._array[:, list(columns)])
        part = fill_masked(part) if isinstance(part, np.ma.MaskedArray) else np.asarray(part)
        block = checked_numbers(part, lambda i: self.place(columns[i]))
        is_missing = np.asarray(columns) == self._missing_column
        if is_missing.any():
            block = np.array(block, np.result_type(block, np.float32))
            block[:, is_missing] = np.nan
        return block


class WholeArray(SourceTable, ArrayTable):
    """Numeric columns of an array in memory, or mapped into memory, which is not copied."""

    def __init__(self, cells: np.ndarray) -> None:
        super().__init__(cells)
        self.head = np.empty((0, cells.shape[1]))


def without_values(table: ChunkedArray | WholeArray, c: int) -> ChunkedArray:
    """Return a table in which column `c` counts as missing."""
    array = table.cells if isinstance(table, WholeArray) else table._array
    other_table = ChunkedArray(array, c % table.shape[1])
    other_table._copy_options(table)
    return other_table


def by_columns(
    source: Any,
    columns: Sequence[str] | None = None,
    drop: Sequence[str] | None = None,
    *,
    codes_folder: str | Path | None = None,
) -> Table:
    """Use a table on disk or on a cluster as X, without reading it into memory as a whole.

    Columns are read in blocks of up to 64 MB in double precision, and stored in one byte per cell.
    The fitted model has the same bits as with the table in memory.

    Parameters
    ----------
    source : str, path, pyarrow.dataset.Dataset, dask.dataframe.DataFrame, dask.array.Array or \
            ndarray
        A Parquet file or a folder of Parquet files (needs pyarrow), which must all have the
        columns that are read. Folders within it with names such as key=value add a column.
        Collections of Dask are computed again for each block of
        columns: persist them, or read them from Parquet. A numeric array, which may be mapped
        into memory, is not copied. Columns whose type is one of dates become calendar features,
        as in a data frame, unless they are marked as categories.
    columns : sequence of str, default=None
        Names of the columns to read. None reads all columns except `drop`. A file with
        features often also holds the target and keys of the rows, which must be left out.
    drop : sequence of str, default=None
        Names of the columns to leave out, given instead of `columns`.
    codes_folder : str or path, default=None
        Folder on a disk for the codes of the table, if they do not fit in memory. `fit` of
        GradientBoostingClassifier and GradientBoostingRegressor then writes them to a temporary
        file of one byte per cell, which it reads for each tree, and grows the same trees. The
        file has no name, and its room is free again when `fit` ends or fails. A validation set,
        or target statistics of categories, are added in a second file. Other estimators refuse a
        `codes_folder` in `fit`. `predict` does not use it. None keeps the codes in memory.

    Returns
    -------
    object
        Table that forests, cascades, deep forests and gradient boosting accept as X.

    Examples
    --------
    >>> import numpy as np, pyarrow, pyarrow.parquet, tempfile
    >>> from mddf import RandomForestClassifier, by_columns
    >>> x = np.random.default_rng(0).normal(size=400)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     table = pyarrow.table({"x": x, "noise": x[::-1], "y": x > 0})
    ...     pyarrow.parquet.write_table(table, f"{folder}/rows.parquet", row_group_size=100)
    ...     X = by_columns(f"{folder}/rows.parquet", drop=["y"])
    ...     forest = RandomForestClassifier(10, random_state=0).fit(X, x > 0)
    ...     forest.score(X, x > 0)
    1.0
    """
    table = _table_of_source(source, columns, drop)
    table.source = source
    table.codes_folder = None if codes_folder is None else _folder(codes_folder)
    return table


def _folder(codes_folder: Any) -> str:
    """Absolute path, which does not depend on later changes of the working directory."""
    if not isinstance(codes_folder, str | Path) or not Path(codes_folder).is_dir():
        raise ValueError(
            f"codes_folder must be None or the path of a folder, got {short(codes_folder)}"
        )
    return str(Path(codes_folder).absolute())


def _table_of_source(
    source: Any, columns: Sequence[str] | None, drop: Sequence[str] | None
) -> SourceTable:
    """Make the table of some columns of a source."""
    unreadable: dict[str, str] = {}
    if isinstance(source, str | Path):
        if not Path(source).exists():
            raise FileNotFoundError(f"source must be an existing file or folder, got {source!r}")
        source, unreadable = open_parquet(Path(source))
    table = _whole_table(source)
    if columns is not None or drop is not None:
        if not isinstance(table, ChunkedFrame):
            raise ValueError(
                "columns and drop must be None for arrays, whose columns lack names, got "
                f"columns={short(columns)}, drop={short(drop)}"
            )
        table = table.only(_chosen_names(table.names or (), columns, drop))
    refuse_unreadable(table.names or (), unreadable)  # a file may lack a column that is not read
    return table


def _chosen_names(
    names: Sequence[str], columns: Sequence[str] | None, drop: Sequence[str] | None
) -> list[str]:
    """Names of the columns to read, in the order of `columns`, or all but `drop`."""
    if columns is not None and drop is not None:
        raise ValueError(
            "columns and drop must not be given both: columns names all that is read; got "
            f"columns={short(columns)}, drop={short(drop)}"
        )
    parameter, chosen = ("drop", drop) if columns is None else ("columns", columns)
    if isinstance(chosen, str) or not isinstance(chosen, Iterable):
        raise ValueError(f"{parameter} must be a list of names, got {short(chosen)}")
    chosen = list(dict.fromkeys(chosen))
    for name in chosen:
        if name not in names:
            raise ValueError(
                f"{parameter} must name columns of the source, {short(list(names))}; got "
                f"{short(name)}{nearest(str(name), [*map(str, names)])}"
            )
    left = [name for name in names if name not in chosen] if columns is None else chosen
    if not left:
        raise ValueError(f"{parameter} must leave a column to read, got {short(chosen)}")
    return left


def _whole_table(source: Any) -> SourceTable:
    if isinstance(source, np.ma.MaskedArray):
        source = fill_masked(source)
    if isinstance(source, np.ndarray):
        if source.ndim == 2 and source.dtype.kind in "biuf" and source.dtype not in NUMERIC_DTYPES:
            # Only a block of columns at a time is converted to double precision.
            return ChunkedArray(source)
        # The check adds the cells up, among which may be infinities.
        with np.errstate(invalid="ignore"):
            cells = check_array(
                source,
                dtype=list(NUMERIC_DTYPES),
                ensure_all_finite="allow-nan",
                input_name="by_columns",
            )
        return WholeArray(cells)
    kinds = {(kind.__module__.split(".")[0], kind.__name__) for kind in type(source).__mro__}
    if ("pyarrow", "Dataset") in kinds:
        return ChunkedFrame(
            source.schema.empty_table(),
            source.count_rows(),
            lambda columns: source.to_table(columns=columns),
        )
    if ("dask", "DataFrame") in kinds:
        return ChunkedFrame(source._meta, len(source), lambda columns: source[columns].compute())
    if ("dask", "Array") in kinds and source.ndim == 2:
        if np.isnan(source.shape).any():
            raise ValueError(
                "by_columns needs an array with known numbers of rows and columns, got shape "
                f"{source.shape}: call its compute_chunk_sizes() first"
            )
        if source.dtype.kind == "c":
            raise ValueError(f"Complex data not supported: by_columns got {source.dtype}")
        return ChunkedArray(source)
    raise TypeError(
        "by_columns needs the path of a Parquet file or folder, a pyarrow Dataset, a DataFrame or "
        f"two-dimensional Array of Dask, or an array of numbers, got {type(source).__name__}"
    )
