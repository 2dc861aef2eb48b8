"""Prediction of tables in files that need not fit into memory."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from numbers import Real
from pathlib import Path
from typing import TYPE_CHECKING

from sklearn.base import BaseEstimator, is_classifier
from sklearn.utils.validation import check_is_fitted

from mddf._base.messages import short
from mddf._base.serialization import publish
from mddf._input.described_columns import days_of_dates
from mddf._schema.format import PLAIN, TableError
from mddf._schema.source import Source, read_blocks

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

__all__ = ["predict_file"]


def predict_file(
    model: BaseEstimator,
    table: str | os.PathLike[str],
    out: str | os.PathLike[str],
    *,
    keep: Sequence[str] = (),
    coverage: float | None = None,
    overwrite: bool = False,
) -> int:
    """Predict the rows of a file, and write the predictions to another file.

    Rows are read, predicted and written in blocks and in their order, so memory does not grow with
    the number of rows. The predictions of a block use the threads of the model (`n_jobs`).

    Parameters
    ----------
    model : estimator
        Fitted to a data frame. ``mddf predict`` does the same with files that ``mddf fit`` wrote.
    table : path
        CSV file, perhaps compressed, Parquet file, or folder of Parquet files. Columns are found
        by name; others are ignored. The columns of the fit, ``model.input_columns_``, decide what
        a cell is: a number, true or false, a category, or a date, also if it is written as text.
        Numbers in text have a decimal point. Dates in text are best written as 2024-03-31; of
        3/4/2024 the month is first, and of 3.4.2024 the day. Models without ``input_columns_``,
        such as pipelines, need the types of Parquet.
    out : path
        ``.csv`` or ``.parquet`` file, which is written whole or not at all. A row has the kept
        columns, the prediction, and the probability ``p(class)`` of each class, or the interval
        (``low``, ``high``). The column of predictions is ``predicted``.
    keep : sequence of str, default=()
        Columns of the table to copy unchanged, such as its key.
    coverage : float, default=None
        Share of new targets that intervals contain, between 0 and 1; for regressors with
        ``predict_interval``. None writes no intervals.
    overwrite : bool, default=False
        Whether `out` may replace a file.

    Returns
    -------
    int
        Number of rows.

    Raises
    ------
    ValueError
        If the table has no rows, lacks a column, or cannot be read; if `out` exists or has another
        suffix; if `out` is Parquet and two columns would have the same name.
    TypeError
        If `model`, `table` or `out` has another type.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import pandas as pd
    >>> from mddf import RandomForestRegressor
    >>> from mddf.batch import predict_file
    >>> X = pd.DataFrame({"id": range(200), "size": range(200)})
    >>> model = RandomForestRegressor(random_state=0).fit(X[["size"]], 10 * X["size"])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     table, out = Path(folder, "flats.parquet"), Path(folder, "predicted.parquet")
    ...     X.to_parquet(table)
    ...     n_rows = predict_file(model, table, out, keep=["id"])
    ...     names = pd.read_parquet(out).columns.tolist()
    >>> n_rows, names
    (200, ['id', 'predicted'])
    """
    from mddf._command import files

    if isinstance(keep, str):
        raise ValueError(f"keep must be a list of names, got the text {keep!r}")
    if not isinstance(keep, Iterable):
        raise ValueError(f"keep must be a list of names, got {short(keep)}")
    table_path = _path("table", table)
    out_path = _path("out", out)
    if not isinstance(model, BaseEstimator):
        raise TypeError(f"model must be a fitted estimator, got {short(model)}")
    with _value_errors():
        files.check_output(
            "out", out_path, files.TABLES, overwrite, overwrite_option="overwrite=True"
        )
        blocks = _predictions(model, table_path, list(keep), coverage)
        return files.write_tables(out_path, blocks)


def _path(name: str, value: object) -> Path:
    """Convert the parameter `name` to a path; a TypeError refuses other objects."""
    if not isinstance(value, str | os.PathLike):
        raise TypeError(f"{name} must be a path, got {short(value)}")
    return Path(value)


@contextmanager
def _value_errors() -> Iterator[None]:
    """Turn errors of functions of commands into errors without advice about options."""
    try:
        yield
    except TableError as error:
        raise ValueError(error.problem) from error
    except SystemExit as stop:
        if isinstance(stop.code, str):
            raise ValueError(stop.code) from stop
        raise


def _predictions(
    model: BaseEstimator, path: Path, keep: Sequence[str], coverage: float | None
) -> Iterator[pd.DataFrame]:
    """Predict a file block after block."""
    from mddf._command import predict, rows

    _check_coverage(model, coverage)
    if not path.exists():
        raise ValueError(f"table must be an existing file or folder, got {path}")
    features = _features(model)
    has_rows = False
    for source in read_blocks(path, PLAIN, {*features, *keep}):
        rows.check_names(f"keep must be a column of {path}:", keep, source.names)
        X = _features_of(source, model, features)
        if not source.n_rows:
            continue
        has_rows = True
        block = predict.predictions(model, X, "predicted", coverage=coverage)
        rows.insert_cells(block, source, keep)
        yield block
    if not has_rows:
        raise ValueError(f"{path} must have rows, got none")


def _features(model: BaseEstimator) -> list[str]:
    """Columns of the table that the model needs, in the order of its fit."""
    check_is_fitted(model)
    names = getattr(model, "feature_names_in_", None)
    if names is None:
        raise ValueError(
            "model must be fitted to a data frame, so that columns are found by name; got a "
            f"{type(model).__name__} that was fitted to an array"
        )
    columns: list[str] = names.tolist()
    return columns


def _features_of(source: Source, model: BaseEstimator, features: list[str]) -> pd.DataFrame:
    """Columns of the fit, read as what they were there; models of others get those of the file."""
    import pyarrow as pa

    from mddf._schema.schema import check_column, features_of

    columns = getattr(model, "input_columns_", None)
    if columns is None:
        for name in features:
            check_column(source, name)
        if source.layout is not None:
            raise ValueError(
                f"table must be Parquet, got {source.path}: CSV has no types, and a "
                f"{type(model).__name__} has no attribute input_columns_ that tells them"
            )
        return pa.table({name: source.cells[name] for name in features}).to_pandas()
    # Days since 1970 follow from the dates.
    days = {
        name: date for name, date in days_of_dates(columns).items() if name not in source.names
    }
    read = [column for column in columns if column.name not in days]
    cells = {name: _exact(column) for name, column in source.cells.items()}
    form = replace(PLAIN, elapsed=tuple(days.values()))
    return features_of(replace(source, cells=cells), read, form)[features]


def _exact(cells: pa.Array) -> pa.Array:
    """Floats as doubles of the same value, as a model reads them from a table in memory."""
    import pyarrow as pa

    is_short = pa.types.is_float16(cells.type) or pa.types.is_float32(cells.type)
    return cells.cast(pa.float64()) if is_short else cells


def _check_coverage(model: BaseEstimator, coverage: float | None) -> None:
    if coverage is None:
        return
    if is_classifier(model) or not hasattr(model, "predict_interval"):
        raise ValueError(
            "coverage is for regressors with predict_interval, got a "
            f"{type(model).__name__}: leave coverage out"
        )
    if not (isinstance(coverage, Real) and 0 < coverage < 1):
        raise ValueError(f"coverage must be between 0 and 1, got {coverage!r}")


publish(globals())
