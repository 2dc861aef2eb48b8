"""From what users pass as X to a table of numbers and the columns that are categories."""

from __future__ import annotations

from contextlib import contextmanager
from decimal import Decimal
from numbers import Real
from typing import Any

import numpy as np
from sklearn.preprocessing import OrdinalEncoder
from sklearn.utils import check_array
from sklearn.utils._missing import is_pandas_na, is_scalar_nan
from sklearn.utils.validation import validate_data

from mddf._binning import NUMERIC_DTYPES


def is_frame(X) -> bool:
    """Whether X is a data frame of pandas' kind."""
    return hasattr(X, "iloc") and hasattr(X, "dtypes") and hasattr(X, "columns")


def _all_numbers(column) -> bool:
    """Whether what is there in a column of objects are numbers."""
    return all(isinstance(value, Real | Decimal | np.bool_) for value in column[column.notna()])


def holds_words(column) -> bool:
    """Whether a data frame's column holds categories, strings or the like rather than numbers.

    Parameters
    ----------
    column : Series
        One of objects holds numbers if something is there and all that is there are numbers.
    """
    if str(column.dtype) == "object":
        return not (column.notna().any() and _all_numbers(column))
    return getattr(column.dtype, "kind", "O") in "OUST"


def _objects_as_numbers(X, words):
    """A data frame whose columns of objects that are numbers have become so, the others as before.

    `words` are the columns that are categories.
    """
    columns = [
        c
        for c, dtype in enumerate(X.dtypes)
        if str(dtype) == "object" and not words[c] and _all_numbers(X.iloc[:, c])
    ]
    if columns:
        X = X.copy(deep=False)
    for c in columns:
        column = X.iloc[:, c]
        X.isetitem(c, column.where(column.notna(), np.nan).astype(np.float64))
    return X


def category_mask(X, categorical_features) -> np.ndarray:
    """Which columns are categories, from the parameter `categorical_features`.

    Parameters
    ----------
    X : array or DataFrame of shape (n_rows, n_columns)
    categorical_features : None, "from_dtype", or array of bool, int or str

    Returns
    -------
    ndarray of bool of shape (n_columns,)
    """
    n_columns = X.shape[1]
    mask = np.zeros(n_columns, dtype=bool)
    if categorical_features is None:
        return mask
    if isinstance(categorical_features, str):
        if categorical_features != "from_dtype":
            raise ValueError(
                "categorical_features must be None, 'from_dtype', or an array of bool, column "
                f"numbers or column names, got {categorical_features!r}"
            )
        if is_frame(X):
            mask[:] = [holds_words(X.iloc[:, c]) for c in range(n_columns)]
        return mask
    given = np.asarray(categorical_features)
    if given.ndim != 1:
        raise ValueError(
            f"categorical_features must have one dimension, got an array of shape {given.shape}"
        )
    if given.size == 0:
        return mask
    if given.dtype.kind == "b":
        if len(given) != n_columns:
            raise ValueError(
                f"categorical_features as a mask must have one entry for each of the {n_columns} "
                f"columns of X, got {len(given)}"
            )
        return given.copy()
    if given.dtype.kind in "iu":
        if given.min() < -n_columns or given.max() >= n_columns:
            raise ValueError(
                f"categorical_features as column numbers must lie below {n_columns}, the number "
                f"of columns of X, got {given.tolist()}"
            )
        mask[given] = True
        return mask
    if not is_frame(X):
        raise ValueError(
            "categorical_features can only name columns if X is a DataFrame, got "
            f"{given.tolist()} with X of type {type(X).__name__}"
        )
    names = [str(name) for name in X.columns]
    for name in given:
        if str(name) not in names:
            raise ValueError(
                f"categorical_features names {str(name)!r}, which is not a column of X; its "
                f"columns are {names}"
            )
        mask[names.index(str(name))] = True
    return mask


@contextmanager
def _naming_cell(X, columns=None):
    """Say which cell of X it is that scikit-learn refuses; `columns` are X's own numbers."""
    try:
        yield
    except (OverflowError, TypeError, ValueError) as error:
        if str(error).startswith(("X has ", "The feature names", "Complex data")):
            raise
        found = _refused_cell(X)
        if found is None:
            raise
        row, c, value = found
        number = c if columns is None else columns[c]
        name = f"{number}, {X.columns[c]!r}" if is_frame(X) else number
        kind = TypeError if isinstance(error, TypeError) else ValueError
        raise kind(
            "X must hold numbers, NaN where missing, in all columns that are not categories; got "
            f"{value!r} in row {row}, column {name}: {error}"
        ) from error


def _refused_cell(X) -> tuple[int, int, Any] | None:
    """Row, column and value of a cell that is no finite or missing number, if there is one."""
    if is_frame(X):
        parts = ((c, X.iloc[:, c].to_numpy()) for c in range(X.shape[1]))
    else:
        X = np.asarray(X)
        if X.ndim != 2:
            return None
        parts = ((c, X[:, c]) for c in range(X.shape[1]))
    for c, cells in parts:
        if cells.dtype.kind in "mM" and len(cells):
            return 0, c, cells[0]
        if cells.dtype.kind == "f" and np.isinf(cells).any():
            row = int(np.isinf(cells).argmax())
            return row, c, float(cells[row])
        if cells.dtype.kind not in "fiub":
            for row, value in enumerate(cells):
                try:
                    if not (is_missing(value) or np.isfinite(float(value))):
                        return row, c, value
                except (OverflowError, TypeError, ValueError):
                    return row, c, value
    return None


def _numbers(X, estimator, columns=None) -> np.ndarray:
    with _naming_cell(X, columns):
        return check_array(
            X,
            dtype=list(NUMERIC_DTYPES),
            ensure_all_finite="allow-nan",
            estimator=estimator,
            input_name="X",
        )


@contextmanager
def _naming_category(X, c):
    """Say which column of categories it is that the encoder refuses."""
    try:
        yield
    except TypeError as error:
        name = repr(X.columns[c]) if is_frame(X) else c
        kinds = {type(value).__name__ for value in _column_as_objects(X, c).ravel()}
        raise TypeError(
            "the categories of a column must be all strings or all numbers, of the kind that fit "
            f"saw; got {sorted(kinds)} in column {name}"
        ) from error


def _column_as_objects(X, c) -> np.ndarray:
    """A column with None, NaN and the like all turned to NaN."""
    if not is_frame(X):
        return np.asarray(X[:, [c]])
    column = X.iloc[:, c]
    return column.astype(object).where(column.notna(), np.nan).to_numpy().reshape(-1, 1)


class TableReader:
    """Reads X at fit and again at prediction.

    Attributes
    ----------
    categorical : ndarray of bool of shape (n_columns,)
    encoders : dict of int to OrdinalEncoder
        For the categorical columns. A category that was not seen at fit becomes NaN; of more than
        `max_categories`, the rarest share one code.
    """

    def __init__(self, categorical: np.ndarray, max_categories: int):
        self.categorical = categorical
        self.max_categories = max_categories
        self.encoders: dict[int, OrdinalEncoder] = {}

    def fit_read(self, X, estimator) -> np.ndarray:
        """Learn the categories and read."""
        if not self.categorical.any():
            return _numbers(X, estimator)
        for c in np.flatnonzero(self.categorical):
            encoder = OrdinalEncoder(
                handle_unknown="use_encoded_value",
                unknown_value=np.nan,
                encoded_missing_value=np.nan,
                max_categories=self.max_categories,
            )
            with _naming_category(X, c):
                self.encoders[int(c)] = encoder.fit(_column_as_objects(X, c))
        return self.read(X, estimator)

    def read(self, X, estimator) -> np.ndarray:
        """The table as numbers: codes for categories, NaN for what is missing."""
        if not self.encoders:
            return _numbers(X, estimator)
        table = np.empty(X.shape, dtype=np.float64)
        numeric = np.flatnonzero(~self.categorical)
        if len(numeric):
            part = X.iloc[:, numeric] if is_frame(X) else X[:, numeric]
            table[:, numeric] = _numbers(part, estimator, numeric)
        for c, encoder in self.encoders.items():
            with _naming_category(X, c):
                table[:, c] = encoder.transform(_column_as_objects(X, c)).ravel()
        return table

    def n_categories(self) -> np.ndarray:
        """Number of codes of each column; 0 for a numeric one."""
        counts = np.zeros(len(self.categorical), dtype=np.int64)
        for c, encoder in self.encoders.items():
            counts[c] = _n_codes(encoder)
        return counts


def _n_codes(encoder: OrdinalEncoder) -> int:
    categories = encoder.categories_[0]
    n = sum(not is_missing(category) for category in categories)
    infrequent = encoder.infrequent_categories_[0]
    if infrequent is not None:
        n -= len(infrequent) - 1
    return n


def is_missing(value) -> bool:
    """Whether a cell is None, NaN or pandas' NA."""
    return value is None or is_scalar_nan(value) or is_pandas_na(value)


def check_table(estimator, X, *, reset: bool):
    """Check shape and names of X against the estimator; leaves the cells alone.

    Returns
    -------
    X : ndarray or DataFrame
        A DataFrame only if some of its columns may be categories.
    """
    chosen = estimator.categorical_features
    table = X
    if isinstance(X, list | tuple) and not (chosen is None or isinstance(chosen, str)):
        table = np.asarray(X, dtype=object)
    if (
        (is_frame(table) or isinstance(table, np.ndarray))
        and table.ndim == 2
        and 0 not in table.shape
    ):
        mask = category_mask(table, chosen) if reset else estimator._reader.categorical
        if is_frame(table) and len(mask) == table.shape[1]:
            X = table = _objects_as_numbers(table, mask)
        if mask.any():
            validate_data(estimator, table, skip_check_array=True, reset=reset)
            return table
    with _naming_cell(X):
        return validate_data(
            estimator,
            X,
            dtype=list(NUMERIC_DTYPES),
            ensure_all_finite="allow-nan",
            reset=reset,
        )
