"""Conversion of the user's X to a table."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection
from typing import Any

import narwhals.stable.v1 as nw
import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.utils import check_array
from sklearn.utils.validation import validate_data

from mddf._input.cell_values import ENCODE, computed, fill_masked, read_numeric_array
from mddf._input.chunked import ChunkedFrame
from mddf._input.date_columns import (
    check_dates_of_fit,
    date_columns,
    date_columns_of_fit,
    with_calendar,
)
from mddf._input.frame import FrameTable, frame_table, is_frame
from mddf._input.table import ArrayTable, SparseTable, Table
from mddf._schema.calendar import PARTS


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
) -> Table:
    """Convert X to a table; cells are converted at once only if they are numbers.

    In fit (`reset`), ``n_features_in_`` and ``feature_names_in_`` of the estimator are set, and
    otherwise compared. Columns of arrays that are categories by `categorical_features` may hold
    any objects. If X is one shard of a table, `join_dates` gets the names of its columns of dates
    and returns those of all shards: in one shard all dates of a column may be missing.
    """
    if isinstance(X, Table):
        _refuse_empty(X)
        if isinstance(X, ChunkedFrame):
            X = _with_dates(estimator, X, reset, categorical_features)
        _check_features(estimator, X.head, reset)
        return X
    X = whole_frame(X)
    if is_frame(X):
        return _read_frame(estimator, X, reset, categorical_features, join_dates)
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


def _with_dates(
    estimator: BaseEstimator,
    X: ChunkedFrame,
    reset: bool,
    categorical_features: npt.ArrayLike | None,
) -> ChunkedFrame:
    """Replace the columns of dates of a table that is read by columns."""
    if reset:
        return X.with_dates(categorical_features)
    names = getattr(estimator, "feature_names_in_", None)
    return X if names is None else X.with_dates_of_fit(names.tolist())


def _check_features(estimator: BaseEstimator, X: Any, reset: bool) -> None:
    validate_data(estimator, X, skip_check_array=True, reset=reset)


def _refuse_empty(X: Any) -> None:
    if 0 in X.shape:
        axis = "sample(s)" if X.shape[0] == 0 else "feature(s)"
        raise ValueError(f"X must not be empty, got 0 {axis} (shape={X.shape})")


def _read_frame(
    estimator: BaseEstimator,
    X: Any,
    reset: bool,
    categorical_features: npt.ArrayLike | None,
    join_dates: Callable[[list[str]], Collection[str]] | None,
) -> FrameTable:
    _refuse_empty(X)
    table = frame_table(X)
    if reset:
        dates = date_columns(X, categorical_features)
        if join_dates is not None:
            own_names = table.names or []
            joined = join_dates([own_names[c] for c in dates])
            dates = [c for c, name in enumerate(own_names) if name in joined]
    else:
        names_at_fit = getattr(estimator, "feature_names_in_", None)
        names = None if names_at_fit is None else names_at_fit.tolist()
        # scikit-learn's comparison of equal names takes longer.
        if names is not None and names == table.names:
            return table
        dates = []
        if names is not None and table.names is not None:
            check_dates_of_fit(table.names, names)
            dates = date_columns_of_fit(X, names)
    if dates:
        X = with_calendar(X, dates)
        table = frame_table(X)
        table.n_appended = len(dates) * (len(PARTS) - 1)
        table.date_columns = dates
    try:
        _check_features(estimator, X, reset)
    except ValueError as error:
        # Some releases of scikit-learn refuse equal names, in less helpful words.
        (name, n_times), *_ = Counter(table.names).most_common(1)
        if n_times == 1:
            raise
        raise ValueError(
            f"X must have different names for all columns, got {name!r} {n_times} times"
        ) from error
    return table


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
