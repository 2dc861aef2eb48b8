"""Groups of columns that are shuffled together."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from numbers import Integral
from typing import Any, TypeAlias

import narwhals.stable.v1 as nw
import numpy as np
from sklearn.base import BaseEstimator

from mddf._base.messages import nearest, short
from mddf._base.validation import is_boolean
from mddf._input.frame import is_frame

# Names of groups, each with the names or the positions of its columns.
ColumnGroups: TypeAlias = "Mapping[str, Sequence[str | int]]"


def column_numbers(groups: ColumnGroups, names: Sequence[str]) -> list[np.ndarray]:
    """Positions of the columns of each group; a ValueError refuses other columns.

    `names` are the names of all columns. Groups may share columns.
    """
    if not isinstance(groups, Mapping) or not groups:
        raise ValueError(
            "column_groups must be a dict from names to lists of columns, with at least one, got "
            + short(groups)
        )
    return [_numbers_of_group(name, columns, names) for name, columns in groups.items()]


def _numbers_of_group(name: str, columns: Any, names: Sequence[str]) -> np.ndarray:
    is_list = isinstance(columns, Iterable) and not isinstance(columns, str | bytes | Mapping)
    members = list(columns) if is_list else []
    if not members:
        raise ValueError(
            f"column_groups[{short(name)}] must be a list of columns, with at least one, got "
            + short(columns)
        )
    numbers = [_column_number(name, column, names) for column in members]
    if len(set(numbers)) < len(numbers):
        raise ValueError(
            f"column_groups[{short(name)}] must name each column once, got {short(members)}"
        )
    return np.array(numbers)


def _column_number(group: str, column: Any, names: Sequence[str]) -> int:
    if isinstance(column, Integral) and not is_boolean(column):
        number = int(column)
        if 0 <= number < len(names):
            return number
    elif isinstance(column, str) and names.count(column) == 1:
        return names.index(column)
    raise ValueError(
        f"column_groups[{short(group)}] must have names of columns or positions from 0 to "
        f"{len(names) - 1}, got {short(column)}{nearest(str(column), names)}"
    )


def names_of_features(model: BaseEstimator, X: Any) -> list[str]:
    """Names of the columns of X; without names, "x0" and so on."""
    if is_frame(X):
        return [str(name) for name in nw.from_native(X, eager_only=True).columns]
    names = getattr(model, "feature_names_in_", None)
    if names is not None and len(names) == X.shape[1]:
        return [str(name) for name in names]
    return [f"x{number}" for number in range(X.shape[1])]


def by_row_numbers(
    X: Any, groups: Sequence[np.ndarray], scorer: Callable[..., Any]
) -> tuple[np.ndarray, Callable[..., Any]]:
    """Make an array of row numbers with a column for each group, and a scorer of such arrays.

    scikit-learn shuffles a column of the array, and the scorer takes the columns of the group from
    these rows. A frame keeps the types of its columns.
    """
    all_rows = np.arange(X.shape[0])

    def score(model: BaseEstimator, row_numbers: np.ndarray, y: Any, **weights: Any) -> Any:
        shuffled = X
        is_shuffled = (row_numbers != all_rows[:, None]).any(axis=0)
        for group in np.flatnonzero(is_shuffled).tolist():
            shuffled = _with_columns_of_rows(shuffled, groups[group], row_numbers[:, group])
        return scorer(model, shuffled, y, **weights)

    return np.repeat(all_rows[:, None], len(groups), axis=1), score


def _with_columns_of_rows(X: Any, columns: np.ndarray, rows: np.ndarray) -> Any:
    """Replace the cells of some columns by the cells of other rows."""
    if not is_frame(X):
        shuffled = X.copy()
        shuffled[:, columns] = X[rows[:, None], columns]
        return shuffled
    frame = nw.from_native(X, eager_only=True)
    return frame.with_columns(*(frame[:, c][rows] for c in columns.tolist())).to_native()
