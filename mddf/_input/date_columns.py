"""Columns of dates in data frames, which become numeric columns before a fit and a prediction."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, NamedTuple

import narwhals.stable.v1 as nw
import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator

from mddf._base.messages import short
from mddf._input.calendar import (
    DAYS,
    HOUR,
    MICROSECONDS_PER_DAY,
    PARTS,
    are_dates,
    array_microseconds,
    calendar_parts,
    have_hours,
    holds_dates,
    part_name,
    series_microseconds,
)
from mddf._input.cell_values import missing_cells
from mddf._input.table import Table

# Common types, which need no look at the column.
_OTHER_TYPES = (nw.Float64, nw.Int64, nw.Float32, nw.Int32, nw.String, nw.Categorical, nw.Boolean)
# Columns of dates by name, and the parts of their dates that are features.
Dates = Mapping[str, Sequence[str]]
# Fitted attribute with the columns of dates, if there are any.
DATES = "_dates"


class TimeColumn(NamedTuple):
    """Name or number of the column of times that orders the rows of a fit; it may be a feature."""

    column: str | int
    is_feature: bool

    def name_in(self, names: Sequence[Any]) -> Any:
        """Name of the column among the names of a data frame; None without such a column."""
        if isinstance(self.column, str):
            return self.column if self.column in names else None
        is_place = -len(names) <= self.column < len(names)
        return names[self.column] if is_place else None


def date_columns(X: Any, categorical_features: npt.ArrayLike | None) -> list[int]:
    """Numbers of the columns of a data frame that hold dates and are not marked as categories.

    A column without any date stays what it is: a column without values.
    """
    frame = nw.from_native(X, eager_only=True)
    schema = frame.schema
    if len(schema) < frame.shape[1]:  # equal names, which are refused later
        return []
    columns = [
        c
        for c, dtype in enumerate(schema.values())
        if dtype not in _OTHER_TYPES and _has_dates(frame[:, c])
    ]
    return _not_marked(columns, list(schema), categorical_features)


def columns_of_date_types(head: Any, categorical_features: npt.ArrayLike | None) -> list[int]:
    """Numbers of the columns whose type is one of dates and that are not marked as categories.

    `head` is a data frame, which needs no rows.
    """
    frame = nw.from_native(head, eager_only=True)
    columns = [c for c in range(frame.shape[1]) if holds_dates(frame[:, c])]
    return _not_marked(columns, frame.columns, categorical_features)


def _not_marked(
    columns: list[int], names: list[str], categorical_features: npt.ArrayLike | None
) -> list[int]:
    """Leave out the columns that are marked as categories."""
    if not columns:
        return columns
    marked = marked_columns(names, categorical_features)
    return [c for c in columns if c not in marked]


def marked_columns(names: Sequence[Any], categorical_features: npt.ArrayLike | None) -> set[int]:
    """Numbers of the columns that are marked as categories."""
    if categorical_features is None or isinstance(categorical_features, str):
        return set()
    marked = np.asarray(categorical_features)
    if marked.dtype.kind == "b":
        return set(np.flatnonzero(marked).tolist())
    if marked.dtype.kind in "iu":
        return {int(c) % len(names) for c in marked}
    return {c for c, name in enumerate(names) if name in set(map(str, marked))}


def dates_of_frame(
    X: Any,
    columns: Sequence[int],
    elapsed: Collection[str] = (),
    join: Callable[[list[str]], Collection[str]] | None = None,
) -> Dates:
    """Columns of dates of a data frame in fit, and the parts that are features.

    The days since 1970 are features of the columns `elapsed` only. `join` returns the parts in all
    shards of a table from the parts in this one.
    """
    frame = nw.from_native(X, eager_only=True)
    names = frame.columns
    features = []
    for c in columns:
        absent = set() if names[c] in elapsed else {DAYS}
        absent |= set() if have_hours(_column_microseconds(frame[:, c], c)) else {HOUR}
        features += [part_name(names[c], part) for part in PARTS if part not in absent]
    known = features if join is None else join(features)
    parts = {name: [part for part in PARTS if part_name(name, part) in known] for name in names}
    return {name: parts_of_date for name, parts_of_date in parts.items() if parts_of_date}


def mark_dates(table: Table, dates: Dates) -> None:
    """Note which columns of a table are parts of dates."""
    features = {part_name(name, part) for name, parts in dates.items() for part in parts}
    table.date_parts = {c for c, name in enumerate(table.names or ()) if name in features}
    table.n_appended = len(features) - len(dates)


def with_calendar(X: Any, dates: Dates) -> Any:
    """Replace columns of dates by their first parts, and append their other parts.

    All other columns keep their places, so that numbers of columns still name them.
    """
    frame = nw.from_native(X, eager_only=True)
    names = frame.columns
    check_names_of_dates(names)
    first_parts: list[nw.Series[Any]] = []
    other_parts: list[nw.Series[Any]] = []
    new_names: dict[str, str] = {}
    for name, parts in dates.items():
        c = names.index(name)
        values = calendar_parts(_column_microseconds(frame[:, c], c))
        for part in parts:
            new_name = part_name(name, part)
            if new_name in names:
                raise ValueError(
                    f"X must not have a column {new_name!r}, which is the name of a feature that "
                    f"is made of the dates in {name!r}"
                )
            new = nw.new_series(new_name, values[part], nw.Float64, backend=frame.implementation)
            if part == parts[0]:
                first_parts.append(new.alias(name))  # takes the place of the dates
                new_names[name] = new_name
            else:
                other_parts.append(new)
    return frame.with_columns(*first_parts, *other_parts).rename(new_names).to_native()


def dates_of_fit(estimator: BaseEstimator) -> Dates:
    """Columns of dates of the fit, which become several columns of the table."""
    dates: Dates = getattr(estimator, DATES, {})
    return dates


def table_names(estimator: BaseEstimator) -> list[str] | None:
    """Names of the columns of the table that an estimator was fitted to; None without names.

    The first part of a date stands in the place of its column, and the others at the end.
    """
    names = getattr(estimator, "feature_names_in_", None)
    if names is None:
        return None
    dates = dates_of_fit(estimator)
    first = [part_name(name, dates[name][0]) if name in dates else name for name in names.tolist()]
    return first + [part_name(name, part) for name, parts in dates.items() for part in parts[1:]]


def column_sources(estimator: BaseEstimator) -> np.ndarray:
    """Feature of X that each column of the table of a fit is made of."""
    sources = list(range(estimator.n_features_in_))
    dates = dates_of_fit(estimator)
    if dates:
        names = estimator.feature_names_in_.tolist()
        sources += [names.index(name) for name, parts in dates.items() for _ in parts[1:]]
    return np.array(sources)


def sums_by_feature(estimator: BaseEstimator, amounts: np.ndarray) -> np.ndarray:
    """Sum amounts of the columns of the table by feature of X."""
    if not dates_of_fit(estimator):
        return amounts
    return np.bincount(column_sources(estimator), amounts, minlength=estimator.n_features_in_)


def check_names_of_dates(names: Sequence[Any]) -> None:
    """Refuse a table with dates whose columns have other names than text."""
    if not all(isinstance(name, str) for name in names):
        raise ValueError(
            "X must have text as names of its columns if some hold dates, got "
            f"{short(next(name for name in names if not isinstance(name, str)))}"
        )


def microseconds_of(X: Any, name: str) -> np.ndarray:
    """Microseconds since 1970 of a column of dates in a data frame, NaN where missing."""
    frame = nw.from_native(X, eager_only=True)
    return _column_microseconds(frame[name], frame.columns.index(name))


def with_days(X: Any, days: Mapping[str, str]) -> Any:
    """Add the days since 1970 of columns of dates to a data frame of pandas.

    `days` maps the names of the new columns to the names of the dates.
    """
    return X.assign(
        **{name: microseconds_of(X, date) / MICROSECONDS_PER_DAY for name, date in days.items()}
    )


def _has_dates(series: nw.Series[Any]) -> bool:
    """Whether a column holds dates; of objects, the first present cell nearly always decides."""
    if holds_dates(series):
        return not series.is_null().all()
    if series.dtype != nw.Object:
        return False
    values = np.fromiter(series.to_list(), object, len(series))
    present = np.flatnonzero(~missing_cells(values[:100]))
    if len(present) and not are_dates(values[present[:1]]):
        return False
    return are_dates(values)


def _column_microseconds(series: nw.Series[Any], c: int) -> np.ndarray:
    if holds_dates(series):
        return series_microseconds(series)
    values = np.fromiter(series.to_list(), object, len(series))
    missing = missing_cells(values)
    if missing.all():
        return np.full(len(values), np.nan)
    if not are_dates(values):
        row = int((~missing).argmax())
        raise ValueError(
            f"X must hold dates in column {c}, {series.name!r}, as in fit; got "
            f"{short(values[row])} in row {row}"
        )
    return array_microseconds(values)
