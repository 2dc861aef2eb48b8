"""Description of the columns of a data frame."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Any, Literal

import narwhals.stable.v1 as nw
import numpy as np

from mddf._base.serialization import register_serializable
from mddf._input.calendar import DAYS, are_dates, holds_dates, part_name
from mddf._input.cell_values import missing_cells

Kind = Literal["number", "boolean", "category", "date", "empty"]

# Columns with more texts are names or free text, whose list would outweigh the model. Not tuned.
MAX_LEVELS = 10_000


@register_serializable("column")
@dataclass(frozen=True)
class ColumnDescription:
    """Description of a column of the training table.

    Parameters
    ----------
    name : str
        Name of the column.
    kind : {"number", "boolean", "category", "date", "empty"}
        Kind of its cells. A column that was empty in training stays empty, whatever it holds
        later.
    levels : tuple or None
        Sorted categories in training; None for other kinds, and in estimators also for texts with
        more than 10 000 different values.
    missing_share : float
        Share of missing cells in training.
    """

    name: Any
    kind: Kind
    levels: tuple[Any, ...] | None = None
    missing_share: float = 0.0


def days_of_dates(columns: Collection[ColumnDescription]) -> dict[str, str]:
    """Columns with the days since 1970 of another column, by the names of both.

    ``mddf fit --elapsed`` makes them; later tables need only have the dates.
    """
    names = {column.name for column in columns}
    dates = [column.name for column in columns if column.kind == "date"]
    return {part_name(date, DAYS): date for date in dates if part_name(date, DAYS) in names}


def describe_frame(X: Any, marked: Collection[int]) -> tuple[ColumnDescription, ...]:
    """Describe the columns of a data frame; columns with numbers in `marked` are categories."""
    frame = nw.from_native(X, eager_only=True)
    return tuple(
        _describe(frame[:, c], name, is_marked=c in marked) for c, name in enumerate(frame.columns)
    )


def _describe(series: nw.Series[Any], name: Any, *, is_marked: bool) -> ColumnDescription:
    is_missing = _missing(series)
    share = float(is_missing.mean())
    if share == 1.0:
        return ColumnDescription(name, "empty", missing_share=share)
    kind: Kind = "category" if is_marked else _kind_of_series(series, is_missing)
    if kind != "category":
        return ColumnDescription(name, kind, missing_share=share)
    levels = _distinct_values(series, is_missing)
    if levels is None:
        return ColumnDescription(name, kind, missing_share=share)
    if len(levels) > MAX_LEVELS and all(type(level) is str for level in levels):
        return ColumnDescription(name, kind, missing_share=share)
    return ColumnDescription(name, kind, sorted_levels(levels), share)


def _missing(series: nw.Series[Any]) -> np.ndarray:
    if series.dtype == nw.Object:
        return missing_cells(np.fromiter(series.to_list(), object, len(series)))
    is_missing = series.is_null()
    if series.dtype.is_float():
        is_missing = is_missing | series.is_nan().fill_null(True)
    return is_missing.to_numpy().astype(bool)


def _distinct_values(series: nw.Series[Any], is_missing: np.ndarray) -> set[Any] | None:
    """Different values of a column; None if they cannot be compared, as lists and dicts."""
    try:
        if series.dtype == nw.Object:
            values = np.fromiter(series.to_list(), object, len(series))
            return set(values[~is_missing].tolist())
        return set(series.drop_nulls().unique().to_list())
    except UnicodeError:  # Arrow refuses text that is not UTF-8
        return {value for value in series.to_list() if value is not None}
    except TypeError:
        return None


def _kind_of_series(series: nw.Series[Any], is_missing: np.ndarray) -> Kind:
    if series.dtype == nw.Boolean:
        return "boolean"
    if series.dtype.is_numeric() or series.dtype == nw.Duration:
        return "number"
    if holds_dates(series):
        return "date"
    if series.dtype != nw.Object:
        return "category"
    present = np.fromiter(series.to_list(), object, len(series))[~is_missing]
    if are_dates(present):
        return "date"
    types = set(map(type, present))
    if all(issubclass(kind, bool | np.bool_) for kind in types):
        return "boolean"
    if all(hasattr(kind, "__float__") and not issubclass(kind, str) for kind in types):
        return "number"
    return "category"


def sorted_levels(levels: Iterable[Any]) -> tuple[Any, ...]:
    """Sort categories, which may have different types."""
    return tuple(sorted(levels, key=_by_type))


def _by_type(value: Any) -> tuple[bool, Any]:
    """Sort numbers before texts, and other categories by their text."""
    is_number = isinstance(value, bool | int | float)
    return (not is_number, value if is_number else str(value))
