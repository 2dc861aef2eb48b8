"""Description of a column of a table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from mddf._base.serialization import register_serializable

Kind = Literal["number", "boolean", "category", "date", "empty"]


@register_serializable("column")
@dataclass(frozen=True)
class Column:
    """A column of the training table.

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
