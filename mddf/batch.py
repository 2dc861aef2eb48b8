"""Prediction of tables in files that need not fit into memory."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from numbers import Real
from pathlib import Path
from typing import TYPE_CHECKING

from sklearn.base import BaseEstimator, is_classifier
from sklearn.utils.validation import check_is_fitted

from mddf._base.messages import nearest, short
from mddf._base.serialization import publish
from mddf._input.date_columns import with_days
from mddf._input.described_columns import days_of_dates
from mddf._input.parquet import open_parquet, refuse_unreadable
from mddf._schema.source import BLOCK_ROWS, PARQUET

if TYPE_CHECKING:
    import pandas as pd
    from pyarrow.dataset import Dataset

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
        A Parquet file or a folder of Parquet files, since CSV has no types. Columns are found by
        name; others are ignored.
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
        blocks = _ModelOfRows(table_path, model, list(keep)).predictions(coverage)
        return files.write_tables(out_path, blocks)


def _path(name: str, value: object) -> Path:
    """Convert the parameter `name` to a path; a TypeError refuses other objects."""
    if not isinstance(value, str | os.PathLike):
        raise TypeError(f"{name} must be a path, got {short(value)}")
    return Path(value)


@contextmanager
def _value_errors() -> Iterator[None]:
    """Turn the messages by which functions of commands end the process into errors."""
    try:
        yield
    except SystemExit as stop:
        if isinstance(stop.code, str):
            raise ValueError(stop.code) from stop
        raise


@dataclass(frozen=True)
class _ModelOfRows:
    """A Parquet file, or a folder of Parquet files, and the model of its rows."""

    path: Path
    model: BaseEstimator
    keep: list[str]

    def predictions(self, coverage: float | None) -> Iterator[pd.DataFrame]:
        """Predict block after block."""
        import pyarrow as pa

        from mddf._command import predict, rows

        _check_coverage(self.model, coverage)
        dataset, unreadable = self._open()
        features = self._features()
        # Days since 1970 follow from the dates.
        days = {
            name: date
            for name, date in days_of_dates(getattr(self.model, "input_columns_", ())).items()
            if name not in dataset.schema.names
        }
        read = [name for name in features if name not in days]
        columns = list(dict.fromkeys([*read, *self.keep]))
        self._check_columns(columns, dataset.schema.names)
        refuse_unreadable(columns, unreadable)
        n_rows = 0
        for batch in dataset.to_batches(columns=columns, batch_size=BLOCK_ROWS):
            if not batch.num_rows:
                continue
            n_rows += batch.num_rows
            X = pa.Table.from_batches([batch]).select(read).to_pandas()
            X = with_days(X, days)[features] if days else X
            block = predict.predictions(self.model, X, "predicted", coverage=coverage)
            for position, name in enumerate(self.keep):
                rows.insert_column(block, position, name, batch.column(name))
            yield block
        if n_rows == 0:
            raise ValueError(f"{self.path} must have rows, got none")

    def _open(self) -> tuple[Dataset, dict[str, str]]:
        import pyarrow as pa

        if not self.path.exists():
            raise ValueError(f"table must be an existing file or folder, got {self.path}")
        if self.path.is_file() and self.path.suffix.lower() not in PARQUET:
            raise ValueError(
                f"table must be Parquet, got {self.path}: CSV has no types. The command mddf "
                "predict reads CSV"
            )
        try:
            return open_parquet(self.path)
        except pa.ArrowInvalid as error:
            raise ValueError(f"{self.path} cannot be read as Parquet: {error}") from error

    def _features(self) -> list[str]:
        """Columns of the table that the model needs, in the order of its fit."""
        check_is_fitted(self.model)
        names = getattr(self.model, "feature_names_in_", None)
        if names is None:
            raise ValueError(
                "model must be fitted to a data frame, so that columns are found by name; got a "
                f"{type(self.model).__name__} that was fitted to an array"
            )
        columns: list[str] = names.tolist()
        return columns

    def _check_columns(self, columns: list[str], names: list[str]) -> None:
        from mddf._command import rows

        rows.check_names(f"keep must be a column of {self.path}:", self.keep, names)
        for name in columns:
            if name not in names:
                raise ValueError(
                    f"{self.path} must have a column {name!r}, as in fit; got "
                    f"{short(names)}{nearest(name, names)}"
                )


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
