"""Rows of JSON as a table for a model."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from datetime import datetime
from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from mddf._base.messages import short
from mddf._input.date_columns import with_days
from mddf._input.described_columns import ColumnDescription, days_of_dates

if TYPE_CHECKING:
    import pandas


def read_records(
    model: BaseEstimator,
    rows: Sequence[Mapping[str, Any]],
    *,
    absent: Literal["error", "missing"] = "error",
) -> pandas.DataFrame:
    """Turn rows of JSON into a table that a model predicts.

    The columns of the fit, ``model.input_columns_``, decide the kind of each cell: numbers, true
    or false, texts of ISO 8601 for dates, and the types of the categories. null is missing
    everywhere. A text is never read as a number. Unknown keys are ignored, so the memory grows
    with the rows times the columns of the fit.

    Parameters
    ----------
    model : estimator
        Fitted to a data frame. It needs the attribute ``input_columns_``.
    rows : sequence of dict
        A dict for each row, as ``json.loads`` returns them.
    absent : {"error", "missing"}, default="error"
        Whether a key that a row does not have is refused, or counts as missing.

    Returns
    -------
    DataFrame
        Columns in the order of the fit.

    Examples
    --------
    >>> import pandas as pd
    >>> import mddf
    >>> days = pd.date_range("2024-01-01", periods=40)
    >>> X = pd.DataFrame({"day": days, "paid": [True, False] * 20})
    >>> forest = mddf.RandomForestClassifier(5, random_state=0).fit(X, X["paid"])
    >>> rows = [{"day": "2024-02-29", "paid": True, "note": "ignored"}]
    >>> forest.predict(mddf.read_records(forest, rows))
    array([ True])
    """
    check_is_fitted(model)
    columns: tuple[ColumnDescription, ...] | None = getattr(model, "input_columns_", None)
    if columns is None:
        raise ValueError(
            "model must be fitted to a data frame in memory, so that its columns are known; got a "
            f"{type(model).__name__} without the attribute input_columns_"
        )
    if absent not in ("error", "missing"):
        raise ValueError(f"absent must be 'error' or 'missing', got {absent!r}")
    if not isinstance(rows, Sequence) or isinstance(rows, str | bytes):
        raise TypeError(f"rows must be a list of dicts, got {short(rows)}")
    for number, row in enumerate(rows):
        if not isinstance(row, Mapping):
            raise TypeError(f"rows must be a list of dicts, got {short(row)} in row {number}")
    # Days since 1970 follow from the dates.
    days = {
        name: date
        for name, date in days_of_dates(columns).items()
        if not any(name in row for row in rows)
    }
    read = [column for column in columns if column.name not in days]
    for number, row in enumerate(rows):
        if absent == "error":
            for column in read:
                if column.name not in row:
                    raise ValueError(f"row {number} must have the key {column.name!r}")
    pandas = import_module("pandas")
    table = {column.name: _cells(column, rows) for column in read}
    frame = pandas.DataFrame(table, index=pandas.RangeIndex(len(rows)))
    if days:
        frame = with_days(frame, days)[[column.name for column in columns]]
    return frame


def _cells(column: ColumnDescription, rows: Sequence[Mapping[str, Any]]) -> Any:
    cells = np.empty(len(rows), dtype=object)
    if column.kind == "empty":
        return cells.astype(float)
    read = {
        "number": _number, "boolean": _boolean, "date": _date, "category": _category,
    }[column.kind]  # fmt: skip
    for number, row in enumerate(rows):
        cell = row.get(column.name)
        if cell is None:
            continue
        try:
            cells[number] = read(cell, column)
        except (ValueError, TypeError) as error:
            raise ValueError(
                f"row {number}: {column.name!r} must be {error}, got {short(cell)}"
            ) from None
    pandas = import_module("pandas")
    if column.kind == "date":
        return pandas.to_datetime(pandas.Series(cells, dtype=object), utc=True)
    # The types are those of the fit, so that a model can be fitted to the table.
    if column.kind == "category":
        # A list of texts is a column of categories without more work.
        are_texts = set(map(type, column.levels or ("",))) == {str}
        return cells if are_texts else pandas.Categorical(cells)
    if column.kind == "boolean":
        return pandas.array(cells, dtype="boolean" if None in cells else "bool")
    return cells.astype(float)


def _number(cell: Any, column: ColumnDescription) -> float:
    is_number = isinstance(cell, int | float) and not isinstance(cell, bool)
    if not is_number or abs(cell) > sys.float_info.max:
        raise ValueError("a finite number")
    return float(cell)


def _boolean(cell: Any, column: ColumnDescription) -> bool:
    if not isinstance(cell, bool):
        raise ValueError("true or false")
    return cell


def _date(cell: Any, column: ColumnDescription) -> datetime:
    try:
        return datetime.fromisoformat(cell)
    except (ValueError, TypeError):
        raise ValueError("a date such as '2024-03-31' or '2024-03-31T12:30:00Z'") from None


def _category(cell: Any, column: ColumnDescription) -> Any:
    kinds = {type(level) for level in column.levels or ("",)}
    if type(cell) is str:
        try:
            cell.encode()
        except UnicodeEncodeError:  # JSON can hold halves of surrogate pairs
            raise ValueError("a text that UTF-8 can encode") from None
    if type(cell) in kinds or (type(cell) is int and float in kinds):
        return cell
    names = sorted(kind.__name__ for kind in kinds)
    raise ValueError(f"a category of type {' or '.join(names)}")
