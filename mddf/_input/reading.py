"""Conversion of the user's X to a table."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Sequence
from functools import partial
from typing import Any

import narwhals.stable.v1 as nw
import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.utils import check_array
from sklearn.utils.validation import validate_data

from mddf._base.messages import short
from mddf._input.cell_values import ENCODE, computed, fill_masked, read_numeric_array
from mddf._input.chunked import ChunkedArray, ChunkedFrame, WholeArray, without_values
from mddf._input.date_columns import (
    DATES,
    Dates,
    TimeColumn,
    check_names_of_dates,
    date_columns,
    dates_of_fit,
    dates_of_frame,
    mark_dates,
    marked_columns,
    microseconds_of,
    table_names,
    with_calendar,
)
from mddf._input.described_columns import describe_frame
from mddf._input.frame import FrameTable, frame_table, is_frame
from mddf._input.table import ArrayTable, SparseTable, Table

# Fitted attribute with the name, or in an array the number, of a column that only orders the rows.
_ORDER = "_order_column"

# Fitted attribute with the columns of a data frame, as the user gave them.
_COLUMNS = "input_columns_"


def whole_frame(X: Any) -> Any:
    """Fill masked cells, compute arrays of Dask, convert record batches, refuse lazy frames."""
    X = computed(X)
    if isinstance(X, list | tuple) and any(isinstance(row, np.ma.MaskedArray) for row in X):
        X = np.ma.stack(X)
    if isinstance(X, np.ma.MaskedArray):
        return fill_masked(X)
    if nw.dependencies.is_polars_lazyframe(X) or isinstance(X, nw.LazyFrame):
        raise TypeError("X must be in memory as a whole, got a LazyFrame: pass X.collect()")
    pyarrow = nw.dependencies.get_pyarrow()
    if pyarrow is not None and isinstance(X, pyarrow.RecordBatch):
        return pyarrow.Table.from_batches([X])
    return X


def read_table(
    estimator: BaseEstimator,
    X: Any,
    *,
    reset: bool,
    categorical_features: npt.ArrayLike | None = None,
    join_dates: Callable[[list[str]], Collection[str]] | None = None,
    time: TimeColumn | None = None,
    elapsed: Collection[str] = (),
) -> Table:
    """Convert X to a table; cells are converted at once only if they are numbers.

    In fit (`reset`), ``n_features_in_`` and ``feature_names_in_`` of the estimator are set, and
    otherwise compared. They count and name the columns of X, without one that only orders the
    rows; a column of dates becomes several columns of the table. Columns of arrays that are
    categories by `categorical_features` may hold any objects. If X is one shard of a table,
    `join_dates` gets the names of the columns that are made of its dates and returns the names in
    all shards: in one shard all dates of a column may be missing.

    In fit, a column of times (`time`) that is not a feature is left out of a data frame; later
    frames need not have it. In an array it stays a column, whose cells count as missing. The days
    since 1970 of the columns of dates `elapsed` are features.
    """
    if reset:
        for attribute in (_ORDER, _COLUMNS, DATES):
            vars(estimator).pop(attribute, None)
        if time is not None and not time.is_feature:
            setattr(estimator, _ORDER, time.column)
    if isinstance(X, Table):
        _refuse_empty(X)
        if isinstance(X, ChunkedFrame):
            return _read_by_columns(estimator, X, reset, categorical_features, elapsed)
        if isinstance(order := getattr(estimator, _ORDER, None), int):
            assert isinstance(X, ChunkedArray | WholeArray)
            X = without_values(X, order)
        _check_features(estimator, X.head, reset)
        return X
    X = whole_frame(X)
    if is_frame(X):
        return _read_frame(
            estimator,
            X,
            reset=reset,
            categorical_features=categorical_features,
            join_dates=join_dates,
            elapsed=elapsed,
        )
    if isinstance(order := getattr(estimator, _ORDER, None), int):
        X = _with_missing_column(X, order)
    if sparse.issparse(X):
        # The check adds the cells up, among which may be infinities.
        with np.errstate(invalid="ignore"):
            X = check_array(
                X,
                accept_sparse="csc",
                dtype=(np.float64, np.float32),
                ensure_all_finite="allow-nan",
                input_name="X",
            )
        _check_features(estimator, X, reset)
        return SparseTable(X)
    if not (categorical_features is None or isinstance(categorical_features, str)):
        if isinstance(X, list | tuple):
            X = np.asarray(X, dtype=object)
        if isinstance(X, np.ndarray) and X.dtype.kind not in "biufc" and X.ndim == 2 and X.size:
            _check_features(estimator, X, reset)
            return ArrayTable(X)
    cells = read_numeric_array(estimator, X)
    _check_features(estimator, X if hasattr(X, "shape") else cells, reset)
    return ArrayTable(cells)


def _read_by_columns(
    estimator: BaseEstimator,
    X: ChunkedFrame,
    reset: bool,
    categorical_features: npt.ArrayLike | None,
    elapsed: Collection[str],
) -> ChunkedFrame:
    assert X.names is not None
    order = _order_in(estimator, X.names, reset)
    dates: Dates = dates_of_fit(estimator)
    if reset:
        found = X.find_dates(categorical_features, elapsed)
        dates = {name: parts for name, parts in found.items() if name != order}
    left_out = None if order is None else X.names.index(order)
    if order is not None:
        X = X.without(order)
    _check_features(estimator, X.head, reset)
    _store_dates(estimator, dates)
    X = X.with_dates(dates)
    X.left_out = left_out
    return X


def _store_dates(estimator: BaseEstimator, dates: Dates) -> None:
    if dates:
        setattr(estimator, DATES, {name: list(parts) for name, parts in dates.items()})


def _order_in(estimator: BaseEstimator, names: Sequence[Any], reset: bool) -> Any:
    """Name of the column that only orders the rows, if a data frame has it; else None.

    The name is stored in fit, where the column may be given by its number.
    """
    order = getattr(estimator, _ORDER, None)
    if order is None:
        return None
    if reset:
        order = TimeColumn(order, False).name_in(names)
        setattr(estimator, _ORDER, order)
    return order if order in names else None


def _with_missing_column(X: Any, c: int) -> Any:
    """Copy an array or a sparse matrix, with a column whose cells are all missing, or all zero."""
    if sparse.issparse(X):
        if not -X.shape[1] <= c < X.shape[1]:
            return X
        X = X.tocsc(copy=True)
        c %= X.shape[1]
        X.data[X.indptr[c] : X.indptr[c + 1]] = 0
        return X
    cells = np.array(X)
    if cells.ndim != 2 or not -cells.shape[1] <= c < cells.shape[1]:
        return X  # refused later
    if cells.dtype.kind in "biuMm":
        cells = cells.astype(object if cells.dtype.kind in "Mm" else float)
    cells[:, c] = None if cells.dtype.kind == "O" else np.nan
    return cells


def _check_features(estimator: BaseEstimator, X: Any, reset: bool) -> None:
    dates = None if reset else getattr(estimator, DATES, None)
    if dates and not (hasattr(X, "columns") or is_frame(X)):
        raise ValueError(
            f"X must be a data frame with the dates {short(list(dates))}, as in fit, got "
            f"{type(X).__name__}"
        )
    validate_data(estimator, X, skip_check_array=True, reset=reset)


def _refuse_empty(X: Any) -> None:
    if 0 in X.shape:
        axis = "sample(s)" if X.shape[0] == 0 else "feature(s)"
        raise ValueError(f"X must not be empty, got 0 {axis} (shape={X.shape})")


def _read_frame(
    estimator: BaseEstimator,
    X: Any,
    *,
    reset: bool,
    categorical_features: npt.ArrayLike | None,
    join_dates: Callable[[list[str]], Collection[str]] | None,
    elapsed: Collection[str],
) -> FrameTable:
    _refuse_empty(X)
    table = frame_table(X)
    names = table.names or []
    dates = {} if reset else dates_of_fit(estimator)
    # Scikit-learn's comparison of equal names takes longer. Parts in place of dates are as good.
    if not reset and names == table_names(estimator):
        return table
    # 1. Leave the column out that only orders the rows.
    original = X
    order = _order_in(estimator, names, reset)
    if order is not None:
        X = nw.from_native(X, eager_only=True).drop([order]).to_native()
    _check_names(estimator, X, names, reset)
    # 2. Find the columns of dates, and replace them.
    if reset:
        columns = [c for c in date_columns(original, categorical_features) if names[c] != order]
        if columns:
            check_names_of_dates(names)
        dates = dates_of_frame(original, columns, elapsed, join_dates)
        _store_dates(estimator, dates)
    if order is not None or dates:
        table = frame_table(with_calendar(X, dates) if dates else X)
        if order is not None:
            table.left_out = names.index(order)
            table.column_numbers = np.delete(
                np.arange(len(names) + len(table.names or ())), table.left_out
            ).tolist()
        mark_dates(table, dates)
        table.dates = {
            f"{names.index(name)}, {name!r}": partial(microseconds_of, original, name)
            for name in dates
        }
    if reset and join_dates is None:  # one shard does not know the categories of the others
        described = describe_frame(original, marked_columns(names, categorical_features))
        columns_of_features = tuple(column for column in described if column.name != order)
        setattr(estimator, _COLUMNS, columns_of_features)
    return table


def _check_names(estimator: BaseEstimator, X: Any, names: list[Any], reset: bool) -> None:
    try:
        _check_features(estimator, X, reset)
    except ValueError as error:
        # Some releases of scikit-learn refuse equal names, in less helpful words.
        (name, n_times), *_ = Counter(names).most_common(1)
        if n_times == 1:
            raise
        raise ValueError(
            f"X must have different names for all columns, got {name!r} {n_times} times"
        ) from error


def read_numbers(estimator: BaseEstimator, X: Any, *, reset: bool) -> np.ndarray:
    """Convert X for an estimator of numeric features: an array, NaN where missing.

    A TypeError or ValueError refuses sparse matrices, categories and text.
    """
    if sparse.issparse(X):
        raise TypeError(
            "Sparse data was passed for X, but dense data is required: pass X.toarray()"
        )
    table = read_table(estimator, X, reset=reset)
    not_numeric = map(table.column, np.flatnonzero(~table.numeric_types).tolist())
    refused = [
        (column.kind, column.place)
        for column in not_numeric
        if column.is_categorical and not column.is_empty
    ]
    if refused:
        kind, place = refused[0]
        raise ValueError(
            f"X must hold numbers, {type(estimator).__name__} takes numeric features only; got "
            f"{kind} in column {place}, and {len(refused)} "
            f"columns that are not numbers in all{ENCODE}"
        )
    return np.ascontiguousarray(table.numbers(range(table.shape[1])))
