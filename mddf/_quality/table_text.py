"""Plain-text tables from rows of named cells, and their conversion to data frames."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, fields
from textwrap import wrap
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeVar, overload

if TYPE_CHECKING:
    import pandas

# Longer cells are broken into lines, so that tables of four columns fit on a wide screen.
_MAX_WIDTH = 44


def as_text(rows: Sequence[Mapping[str, object]]) -> str:
    """Lay rows out below their headings; long cells take several lines."""
    headings = list(rows[0])
    cells = [[_lines_of_cell(row[heading]) for heading in headings] for row in rows]
    cells.insert(0, [[heading] for heading in headings])
    widths = [
        max(len(line) for row in cells for line in row[place]) for place in range(len(headings))
    ]
    lines = []
    for row in cells:
        for number in range(max(map(len, row))):
            parts = [
                (column[number] if number < len(column) else "").ljust(width)
                for column, width in zip(row, widths, strict=True)
            ]
            lines.append("  ".join(parts).rstrip())
    return "\n".join(lines)


def _lines_of_cell(cell: object) -> list[str]:
    text = f"{cell:.4g}" if isinstance(cell, float) else str(cell)
    return wrap(text, _MAX_WIDTH) or [""]


def as_frame(rows: Sequence[Mapping[str, object]], headings: Sequence[str]) -> object:
    """Convert rows to a data frame of pandas."""
    try:
        import pandas
    except ImportError:
        raise ImportError('to_frame needs pandas: pip install "mddf[data]"') from None
    return pandas.DataFrame(rows, columns=list(headings))


RecordT = TypeVar("RecordT")


class RecordTable(Sequence[RecordT]):
    """A sequence of dataclasses that prints as a table."""

    _record_type: ClassVar[Any]
    _empty_text: ClassVar[str]

    def __init__(self, records: Sequence[RecordT] = ()) -> None:
        self._records = tuple(records)

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self._records)

    @overload
    def __getitem__(self, place: int) -> RecordT: ...
    @overload
    def __getitem__(self, place: slice) -> Self: ...
    def __getitem__(self, place: int | slice) -> RecordT | Self:
        """Return a row, or a table of some rows for a slice."""
        if isinstance(place, slice):
            return type(self)(self._records[place])
        return self._records[place]

    def __repr__(self) -> str:
        """Show the table."""
        return str(self)

    def __str__(self) -> str:
        """Show the table."""
        return as_text(self.to_dicts()) if self._records else self._empty_text

    def to_dicts(self) -> list[dict[str, object]]:
        """Convert the rows to dictionaries."""
        return [asdict(record) for record in self._records]  # type: ignore[call-overload]

    def to_frame(self) -> pandas.DataFrame:
        """Convert the table to a data frame of pandas."""
        names = [field.name for field in fields(self._record_type)]
        return as_frame(self.to_dicts(), names)
