"""Columns of a data frame whose rows are divided among several processes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import narwhals.stable.v1 as nw
import numpy as np
import numpy.typing as npt

from mddf._clusters.communication import Communicator
from mddf._input.cell_values import parsed_numbers, with_nan
from mddf._input.date_columns import marked_columns
from mddf._input.described_columns import (
    MAX_LEVELS,
    ColumnDescription,
    Kind,
    describe_frame,
    sorted_levels,
)


def with_common_kinds(
    X: Any, categorical_features: npt.ArrayLike | None, communicator: Communicator
) -> tuple[Any, tuple[ColumnDescription, ...] | None]:
    """Give the columns of a shard the kinds that they have in the whole table.

    A column may have no value in a shard, or true and false with gaps in one shard and without
    them in another one. Also returns the description of the whole table; None if the shards have
    different names, which is refused later.
    """
    names = list(nw.from_native(X, eager_only=True).columns)
    own = describe_frame(X, marked_columns(names, categorical_features))
    shards = communicator.gather((own, len(X)))
    if any([column.name for column in columns] != names for columns, _ in shards):
        return X, None
    n_rows = [n for _, n in shards]
    joined = tuple(
        _joined_column(c, [columns[c] for columns, _ in shards], n_rows) for c in range(len(names))
    )
    for c, column in enumerate(joined):
        X = _with_kind(X, c, own[c].kind, column.kind)
    return X, joined


def _joined_column(
    c: int, columns: Sequence[ColumnDescription], n_rows: Sequence[int]
) -> ColumnDescription:
    name = columns[0].name
    # Whole numbers of cells give the share of one machine to the last bit.
    shares = [column.missing_share for column in columns]
    n_missing = sum(round(share * n) for share, n in zip(shares, n_rows, strict=True))
    missing_share = n_missing / sum(n_rows)
    kinds: set[Kind] = {column.kind for column in columns if column.kind != "empty"}
    if kinds == {"number", "boolean"}:
        kinds = {"number"}
    if len(kinds) > 1:
        raise TypeError(
            f"column {c}, {name!r} of X must have the same type in all partitions, got "
            f"{' and '.join(sorted(kinds))}"
        )
    kind: Kind = min(kinds, default="empty")
    if kind != "category":
        return ColumnDescription(name, kind, missing_share=missing_share)
    levels_of_shards = [column.levels for column in columns if column.kind == "category"]
    if None in levels_of_shards:
        return ColumnDescription(name, kind, missing_share=missing_share)
    levels = {level for shard in levels_of_shards for level in shard or ()}
    if len(levels) <= MAX_LEVELS or set(map(type, levels)) != {str}:
        return ColumnDescription(name, kind, sorted_levels(levels), missing_share)
    return ColumnDescription(name, kind, missing_share=missing_share)


def _with_kind(X: Any, c: int, own: Kind, kind: Kind) -> Any:
    """Convert a column of pandas that has another type than columns of this kind."""
    series = X.iloc[:, c]
    is_object = series.dtype == object
    if own == "empty" and kind in ("category", "date") and not is_object:
        cells: Any = np.full(len(X), None, object)
        if str(series.dtype) == "category" or series.dtype.kind == "M":
            return X
    elif own == "empty" and kind in ("number", "boolean") and series.dtype.kind not in "biuf":
        cells = np.full(len(X), np.nan)
    elif kind in ("number", "boolean") and is_object:
        cells = parsed_numbers(with_nan(series.to_numpy()), f"{c}, {X.columns[c]!r}")
    else:
        return X
    X = X.copy(deep=False)
    X.isetitem(c, cells)
    return X
