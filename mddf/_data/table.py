"""What users pass as X, read column by column: arrays, sparse matrices, data frames."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from copy import copy
from functools import cached_property
from typing import Any

import narwhals.stable.v1 as nw
import numpy as np
from scipy import sparse
from sklearn.utils import check_array
from sklearn.utils.validation import assert_all_finite, validate_data

from mddf._data.binning import NUMERIC_DTYPES
from mddf._data.cells import (
    ENCODE,
    NUMBER,
    are_times,
    array_of_numbers,
    checked_numbers,
    filled,
    kind_of_values,
    missing_cells,
    no_number,
    parsed_numbers,
    with_nan,
)
from mddf._data.plain import NO_TIMES

# What a block of columns that are turned into numbers together may take.
_BLOCK_BYTES = 2**26
# Frames of so few rows are read as a whole, where the types of columns are simple.
_FEW_ROWS = 100
_SIMPLE = (nw.Boolean, nw.String, nw.Categorical, nw.Enum)


def is_frame(X) -> bool:
    """Whether X is a data frame: pandas', polars', pyarrow's or another that narwhals knows."""
    return not isinstance(X, np.ndarray) and nw.dependencies.is_into_dataframe(X)


def whole_frame(X):
    """X, or the table of a batch of pyarrow's; frames whose cells are yet to come are refused.

    Masked cells of an array have become NaN, or None among objects.
    """
    if isinstance(X, list | tuple) and any(isinstance(row, np.ma.MaskedArray) for row in X):
        X = np.ma.stack(X)
    if isinstance(X, np.ma.MaskedArray):
        return filled(X)
    if nw.dependencies.is_polars_lazyframe(X) or isinstance(X, nw.LazyFrame):
        raise TypeError("X must be there as a whole, got a LazyFrame: pass what X.collect() gives")
    pyarrow = nw.dependencies.get_pyarrow()
    if pyarrow is not None and isinstance(X, pyarrow.RecordBatch):
        return pyarrow.Table.from_batches([X])
    return X


class Table:
    """X by columns; made by :func:`read_table`.

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
    """

    shape: tuple[int, int]
    names: list | None = None
    head: Any = None
    bin_rows: int | None = None
    has_rows = False

    def place(self, c: int) -> str:
        """How column `c` is called in messages."""
        return f"{c}" if self.names is None else f"{c}, {self.names[c]!r}"

    def kind(self, c: int) -> str | None:
        """What column `c` holds by its type or values: "number", "text", ...; None if nothing."""
        raise NotImplementedError

    def is_categorical(self, c: int) -> bool:
        """Whether the type of column `c` says that it holds categories."""
        return False

    def is_plain_text(self, c: int) -> bool:
        """Whether the type of column `c` says text rather than categories."""
        return False

    def values(self, c: int) -> np.ndarray:
        """Column `c` as it is, NaN where something is missing: shape (n_rows,)."""
        raise NotImplementedError

    def is_empty(self, c: int) -> bool:
        """Whether all cells of column `c` are missing, whatever its type."""
        return bool(missing_cells(self.values(c)).all())

    def factors(self, c: int) -> tuple[np.ndarray, np.ndarray] | None:
        """Column `c` as numbers of its different values and these, the last one NaN.

        Number -1 stands for what is missing, so that ``different[numbers]`` is `values`. None
        where that would not be quicker.
        """
        return None

    def numbers(self, columns: Sequence[int] | slice) -> np.ndarray:
        """Some columns as numbers, NaN where missing: shape (n_rows, n_chosen)."""
        raise NotImplementedError

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

    def __init__(self, X: np.ndarray):
        self.cells = X
        self.shape = X.shape

    def kind(self, c):
        """See Table."""
        return kind_of_values(self.values(c))

    def values(self, c):
        """See Table."""
        values = self.cells[:, c]
        return with_nan(values) if values.dtype.kind == "O" else values

    def numbers(self, columns):
        """See Table."""
        if self.cells.dtype in NUMERIC_DTYPES:
            # All of them are not copied.
            return self.cells if len(columns) == self.shape[1] else self.cells[:, list(columns)]
        return checked_numbers(self.cells[:, list(columns)], [self.place(c) for c in columns])

    def rows(self, first, end):
        """See Table."""
        return ArrayTable(self.cells[first:end])

    def blocks(self):
        """See Table."""
        return [range(self.shape[1])]


class SparseTable(Table):
    """A sparse matrix; what it does not store is 0."""

    has_rows = True

    def __init__(self, X):
        X = X.tocsc()
        X = sparse.csc_matrix((X.data, X.indices, X.indptr), X.shape)  # not the user's: it changes
        X.check_format(full_check=True)
        if not X.has_canonical_format:  # some cells are there twice: they count as their sum
            X = X.tocsr().tocsc()  # a copy, in the order in which they stand
            X.sum_duplicates()
            assert_all_finite(X.data, allow_nan=True, input_name="X")
        self.cells = X
        self.shape = X.shape

    def kind(self, c):
        """See Table."""
        return NUMBER

    def values(self, c):
        """See Table."""
        return self.numbers([c])[:, 0]

    @cached_property
    def _by_row(self):
        return self.cells.tocsr()

    def rows(self, first, end):
        """See Table."""
        return SparseTable(self._by_row[first:end])

    def share_stored(self, columns: range) -> float:
        """Share of the cells of some columns that are stored."""
        n_stored = self.cells.indptr[columns.stop] - self.cells.indptr[columns.start]
        return n_stored / (self.shape[0] * len(columns))

    def stored(self, columns: range):
        """Some columns that lie side by side, still sparse."""
        return self.cells[:, columns.start : columns.stop]

    def numbers(self, columns):
        """See Table."""
        if isinstance(columns, range):
            return self.stored(columns).toarray()
        return self.cells[:, columns].toarray()


class FrameTable(Table):
    """A data frame."""

    has_rows = True

    def __init__(self, X):
        self.names = list(X.column_names if hasattr(X, "column_names") else X.columns)
        if hasattr(X, "set_axis") and len(set(self.names)) < len(self.names):
            X = X.set_axis(range(len(self.names)), axis=1)
        self.cells = nw.from_native(X, eager_only=True)
        self.shape = self.cells.shape
        self._dtypes = list(self.cells.schema.values())
        self._forget()

    def _forget(self) -> None:
        """Nothing has been read of the cells."""
        self.__dict__.pop("_objects", None)
        self._values: dict[int, np.ndarray] = {}
        self._factors: dict[int, tuple[np.ndarray, np.ndarray]] = {}
        self._columns: dict[int, Any] = {}

    def _series(self, c):
        if c not in self._columns:
            self._columns[c] = self.cells[:, c]
        return self._columns[c]

    @cached_property
    def _objects(self) -> np.ndarray:
        """All cells at once: of a few rows, reading column after column takes far longer."""
        if self.cells.implementation.is_pandas():
            return self.cells.to_native().to_numpy(dtype=object)
        return np.array(self.cells.rows(), dtype=object)

    def rows(self, first, end):
        """See Table."""
        part = copy(self)
        part.cells = self.cells[first:end]
        part.shape = part.cells.shape
        part._forget()
        return part

    def _is_read_at_once(self, c) -> bool:
        dtype = self._dtypes[c]
        return self.shape[0] <= _FEW_ROWS and (dtype.is_numeric() or dtype in _SIMPLE)

    def _is_numeric(self, c) -> bool:
        dtype = self._dtypes[c]
        if dtype.is_numeric() or dtype == nw.Boolean:
            return True
        if dtype != nw.Unknown:
            return False
        # pandas' sparse columns have no type of their own in narwhals.
        return getattr(getattr(self._series(c).to_native(), "dtype", None), "kind", "O") in "biufc"

    def kind(self, c):
        """See Table."""
        if self._is_numeric(c):
            return NUMBER
        if self._dtypes[c].is_temporal():
            return str(self._dtypes[c])
        return kind_of_values(self._different(c))

    def _different(self, c) -> np.ndarray:
        """Values of which there is at least one of each."""
        factors = self.factors(c)
        return self.values(c) if factors is None else factors[1]

    def is_categorical(self, c):
        """Whether a column holds categories, strings or the like rather than numbers.

        One of objects holds numbers, or times, if something is there and all that is there are.
        """
        if self._is_numeric(c) or self._dtypes[c].is_temporal():
            return False
        if self._dtypes[c] not in (nw.Object, nw.Unknown):
            return True
        values = self._different(c)
        return kind_of_values(values) != NUMBER and not are_times(values)

    def is_plain_text(self, c):
        """See Table."""
        return self._dtypes[c] in (nw.String, nw.Object)

    def factors(self, c):
        """See Table."""
        if self.shape[0] <= _FEW_ROWS or not self.cells.implementation.is_pandas():
            return None
        if c not in self._factors:
            self._factors.clear()
            try:
                numbers, different = self._series(c).to_native().factorize()
            except (TypeError, ArithmeticError):  # something that has no hash, or signals
                return None
            self._factors[c] = numbers, np.append(np.asarray(different, dtype=object), np.nan)
        return self._factors[c]

    def values(self, c):
        """See Table."""
        if c not in self._values:
            if self._is_read_at_once(c):
                values = with_nan(self._objects[:, c])
            else:
                series = self._series(c)
                values = with_nan(np.fromiter(series.to_list(), object, self.shape[0]))
            if self.shape[0] > _FEW_ROWS:  # objects are large: only the last column's are kept
                self._values.clear()
            self._values[c] = values
        return self._values[c]

    def numbers(self, columns):
        """See Table."""
        block = np.empty((self.shape[0], len(columns)), order="F")
        for i, c in enumerate(columns):
            block[:, i] = self._column_of_numbers(c)
        return checked_numbers(block, [self.place(c) for c in columns])

    def _column_of_numbers(self, c):
        dtype = self._dtypes[c]
        if not self._is_numeric(c):
            if dtype.is_temporal() and not self.is_empty(c):
                error = TypeError(NO_TIMES)
                raise no_number(self._series(c).to_list()[0], 0, self.place(c), error)
            return parsed_numbers(self.values(c), self.place(c))
        if self._is_read_at_once(c):
            return self.values(c).astype(np.float64)
        if dtype.is_integer() and self.cells.implementation.is_pyarrow():
            # pyarrow casts no integer that would be rounded unless it is set to.
            return self._series(c).to_native().cast("double", safe=False).to_numpy()
        if dtype != nw.Unknown:
            return self._series(c).cast(nw.Float64).to_numpy()
        column = np.asarray(self._series(c).to_native())
        if column.dtype.kind == "c":
            raise ValueError(f"Complex data not supported: X has some in column {self.place(c)}")
        return column


def _refuse_empty(X) -> None:
    if 0 in X.shape:
        what = "sample(s)" if X.shape[0] == 0 else "feature(s)"
        raise ValueError(f"X must not be empty, got 0 {what} (shape={X.shape})")


def read_table(estimator, X, *, reset: bool, categorical_features=None) -> Table:
    """Look at what a user passed as X: its shape, its names, and its cells if they are numbers.

    Parameters
    ----------
    estimator : estimator
        Whose ``n_features_in_`` and ``feature_names_in_`` are set, or compared.
    X : array, sparse matrix or data frame of shape (n_rows, n_columns)
    reset : bool
        True at fit.
    categorical_features : None, "from_dtype", or array of bool, int or str
        The parameter: columns that are categories by it may hold anything.

    Returns
    -------
    Table
    """
    if isinstance(X, Table):
        _refuse_empty(X)
        validate_data(estimator, X.head, skip_check_array=True, reset=reset)
        return X
    X = whole_frame(X)
    if is_frame(X):
        _refuse_empty(X)
        table = FrameTable(X)
        try:
            validate_data(estimator, X, skip_check_array=True, reset=reset)
        except ValueError as error:  # of releases of scikit-learn that refuse names that are equal
            (name, n_times), *_ = Counter(table.names).most_common(1)
            if n_times == 1:
                raise
            raise ValueError(
                f"X must have different names for all columns, got {name!r} {n_times} times"
            ) from error
        return table
    if sparse.issparse(X):
        with np.errstate(invalid="ignore"):  # of sums of infinities
            X = check_array(
                X,
                accept_sparse="csc",
                dtype=(np.float64, np.float32),
                ensure_all_finite="allow-nan",
                input_name="X",
            )
        validate_data(estimator, X, skip_check_array=True, reset=reset)
        return SparseTable(X)
    if not (categorical_features is None or isinstance(categorical_features, str)):
        if isinstance(X, list | tuple):
            X = np.asarray(X, dtype=object)
        if isinstance(X, np.ndarray) and X.dtype.kind not in "biufc" and X.ndim == 2 and X.size:
            validate_data(estimator, X, skip_check_array=True, reset=reset)
            return ArrayTable(X)
    cells = array_of_numbers(estimator, X)
    validate_data(
        estimator, X if hasattr(X, "shape") else cells, skip_check_array=True, reset=reset
    )
    return ArrayTable(cells)


def read_numbers(estimator, X, *, reset: bool) -> np.ndarray:
    """What a user passed as X to an estimator that takes numbers alone, NaN where missing.

    Raises
    ------
    TypeError or ValueError
        If X is sparse, or some columns hold categories or text.
    """
    if sparse.issparse(X):
        raise TypeError(
            "Sparse data was passed for X, but dense data is required: pass X.toarray()"
        )
    table = read_table(estimator, X, reset=reset)
    refused = [
        c for c in range(table.shape[1]) if table.is_categorical(c) and not table.is_empty(c)
    ]
    if refused:
        raise ValueError(
            f"X must hold numbers, {type(estimator).__name__} takes numeric features only; got "
            f"{table.kind(refused[0])} in column {table.place(refused[0])}, and {len(refused)} "
            f"columns that are no numbers in all{ENCODE}"
        )
    return np.ascontiguousarray(table.numbers(range(table.shape[1])))
