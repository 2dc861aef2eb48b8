"""Columns of dates in data frames, which become numeric columns before a fit and a prediction."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import narwhals.stable.v1 as nw
import numpy as np
import numpy.typing as npt

from mddf._base.messages import short
from mddf._input.cell_values import missing_cells
from mddf._input.times import are_dates, array_microseconds, holds_dates, series_microseconds
from mddf._schema.calendar import PARTS, calendar_parts, part_name

# Common types, which need no look at the column.
_OTHER_TYPES = (nw.Float64, nw.Int64, nw.Float32, nw.Int32, nw.String, nw.Categorical, nw.Boolean)


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
    if not columns or categorical_features is None or isinstance(categorical_features, str):
        return columns
    marked = np.asarray(categorical_features)
    if marked.dtype.kind == "b":
        return [c for c in columns if not (c < len(marked) and marked[c])]
    if marked.dtype.kind in "iu":
        numbers = {int(c) % len(names) for c in marked}
        return [c for c in columns if c not in numbers]
    return [c for c in columns if names[c] not in set(map(str, marked))]


def date_columns_of_fit(X: Any, names_at_fit: Sequence[str]) -> list[int]:
    """Numbers of the columns of a data frame that were dates in fit."""
    known = set(names_at_fit)
    names = nw.from_native(X, eager_only=True).columns
    first_part = PARTS[0]
    return [
        c
        for c, name in enumerate(names)
        if isinstance(name, str) and name not in known and part_name(name, first_part) in known
    ]


def check_dates_of_fit(names: Sequence[str], names_at_fit: Sequence[str]) -> None:
    """Refuse a data frame without a column that held dates in fit.

    scikit-learn's message would name the features that were made of the dates.
    """
    known = set(names_at_fit)
    present = set(names)
    suffix = part_name("", PARTS[0])
    for feature in names_at_fit:
        name = feature.removesuffix(suffix)
        parts = [part_name(name, part) for part in PARTS]
        if name != feature and known.issuperset(parts) and present.isdisjoint([name, *parts]):
            raise ValueError(f"X must have a column {name!r} of dates, as in fit")


def with_calendar(X: Any, columns: Sequence[int]) -> Any:
    """Replace columns of dates by their days since 1970, and append their other parts.

    All other columns keep their places, so that numbers of columns still name them.
    """
    frame = nw.from_native(X, eager_only=True)
    names = frame.columns
    if not all(isinstance(name, str) for name in names):
        raise ValueError(
            "X must have text as names of its columns if some hold dates, got "
            f"{short(next(name for name in names if not isinstance(name, str)))}"
        )
    days: list[nw.Series[Any]] = []
    other_parts: list[nw.Series[Any]] = []
    for c in columns:
        series = frame[:, c]
        for part, values in calendar_parts(_microseconds(series, c)).items():
            new_name = part_name(names[c], part)
            if new_name in names:
                raise ValueError(
                    f"X must not have a column {new_name!r}, which is the name of a feature that "
                    f"is made of the dates in {names[c]!r}"
                )
            new = nw.new_series(new_name, values, nw.Float64, backend=frame.implementation)
            if part == PARTS[0]:
                days.append(new.alias(names[c]))  # takes the place of the dates
            else:
                other_parts.append(new)
    new_names = {names[c]: part_name(names[c], PARTS[0]) for c in columns}
    return frame.with_columns(*days, *other_parts).rename(new_names).to_native()


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


def _microseconds(series: nw.Series[Any], c: int) -> np.ndarray:
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
