"""What users pass as X, as a table."""

from __future__ import annotations

from collections import Counter
from typing import Any

import narwhals.stable.v1 as nw
import numpy as np
from scipy import sparse
from sklearn.utils import check_array
from sklearn.utils.validation import validate_data

from mddf._input.cell_values import ENCODE, array_of_numbers, filled
from mddf._input.frame import frame_table, is_frame
from mddf._input.table import ArrayTable, SparseTable, Table


def whole_frame(X: Any) -> Any:
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


def read_table(estimator: Any, X: Any, *, reset: bool, categorical_features: Any = None) -> Table:
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

    def compare(columns: Any) -> None:
        validate_data(estimator, columns, skip_check_array=True, reset=reset)

    if isinstance(X, Table):
        _refuse_empty(X)
        compare(X.head)
        return X
    X = whole_frame(X)
    if is_frame(X):
        _refuse_empty(X)
        table = frame_table(X)
        if not reset and _has_names(table, estimator):
            return table
        try:
            compare(X)
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
        compare(X)
        return SparseTable(X)
    if not (categorical_features is None or isinstance(categorical_features, str)):
        if isinstance(X, list | tuple):
            X = np.asarray(X, dtype=object)
        if isinstance(X, np.ndarray) and X.dtype.kind not in "biufc" and X.ndim == 2 and X.size:
            compare(X)
            return ArrayTable(X)
    cells = array_of_numbers(estimator, X)
    compare(X if hasattr(X, "shape") else cells)
    return ArrayTable(cells)


def read_numbers(estimator: Any, X: Any, *, reset: bool) -> np.ndarray:
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
    others = map(table.column, np.flatnonzero(~table.hold_numbers).tolist())
    refused = [
        (column.kind, column.place)
        for column in others
        if column.is_categorical and not column.is_empty
    ]
    if refused:
        kind, place = refused[0]
        raise ValueError(
            f"X must hold numbers, {type(estimator).__name__} takes numeric features only; got "
            f"{kind} in column {place}, and {len(refused)} "
            f"columns that are no numbers in all{ENCODE}"
        )
    return np.ascontiguousarray(table.numbers(range(table.shape[1])))


def _has_names(table: Table, estimator: Any) -> bool:
    """Whether columns are called as in fit, all of them: scikit-learn takes longer to say so."""
    seen = getattr(estimator, "feature_names_in_", None)
    return seen is not None and seen.tolist() == table.names


def _refuse_empty(X: Any) -> None:
    if 0 in X.shape:
        what = "sample(s)" if X.shape[0] == 0 else "feature(s)"
        raise ValueError(f"X must not be empty, got 0 {what} (shape={X.shape})")
