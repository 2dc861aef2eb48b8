"""From what users pass as X to a table of numbers and the columns that are categories."""

from __future__ import annotations

from contextlib import contextmanager

import numpy as np
from sklearn.preprocessing import OrdinalEncoder
from sklearn.utils import check_array
from sklearn.utils.validation import validate_data

from mddf.binning import NUMERIC_DTYPES


def is_frame(X) -> bool:
    """Whether X is a data frame of pandas' kind."""
    return hasattr(X, "iloc") and hasattr(X, "dtypes") and hasattr(X, "columns")


def _holds_categories(dtype) -> bool:
    """Whether a data frame's column of this type holds words or categories rather than numbers."""
    kind = getattr(dtype, "kind", "O")
    return str(dtype) == "category" or (kind in "OUST" and str(dtype) != "complex")


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
            mask[:] = [_holds_categories(dtype) for dtype in X.dtypes]
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
def _naming_infinity(X):
    """Say where the infinity is that scikit-learn refuses."""
    try:
        yield
    except ValueError as error:
        if "infinity" not in str(error):
            raise
        cells = np.asarray(X, dtype=np.float64)
        where = np.argwhere(np.isinf(cells))
        if len(where) == 0:
            raise
        row, column = where[0]
        name = repr(X.columns[column]) if is_frame(X) else column
        raise ValueError(
            "Input X contains infinity, which is neither a number nor missing (NaN): "
            f"got {cells[row, column]} in row {row}, column {name}"
        ) from error


def _numbers(X, estimator) -> np.ndarray:
    with _naming_infinity(X):
        return check_array(
            X,
            dtype=list(NUMERIC_DTYPES),
            ensure_all_finite="allow-nan",
            estimator=estimator,
            input_name="X",
        )


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
            table[:, numeric] = _numbers(part, estimator)
        for c, encoder in self.encoders.items():
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
    n = sum(not _is_missing(category) for category in categories)
    infrequent = encoder.infrequent_categories_[0]
    if infrequent is not None:
        n -= len(infrequent) - 1
    return n


def _is_missing(value) -> bool:
    return value is None or (isinstance(value, float) and np.isnan(value))


def check_table(estimator, X, *, reset: bool):
    """Check shape and names of X against the estimator; leaves the cells alone.

    Returns
    -------
    X : ndarray or DataFrame
        A DataFrame only if some of its columns may be categories.
    """
    if _wants_categories(estimator, reset):
        given = X
        if isinstance(X, list | tuple) and not isinstance(estimator.categorical_features, str):
            given = np.asarray(X, dtype=object)
        if (
            (is_frame(given) or isinstance(given, np.ndarray))
            and given.ndim == 2
            and 0 not in given.shape
            and _has_categories(estimator, given, reset)
        ):
            validate_data(estimator, given, skip_check_array=True, reset=reset)
            return given
    with _naming_infinity(X):
        return validate_data(
            estimator,
            X,
            dtype=list(NUMERIC_DTYPES),
            ensure_all_finite="allow-nan",
            reset=reset,
        )


def _wants_categories(estimator, reset: bool) -> bool:
    """Whether it is worth a look if X has categories."""
    if not reset:
        return bool(estimator._reader.encoders)
    return estimator.categorical_features is not None


def _has_categories(estimator, X, reset: bool) -> bool:
    return not reset or bool(category_mask(X, estimator.categorical_features).any())
