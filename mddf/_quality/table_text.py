"""Plain-text tables from rows of named cells, and their conversion to data frames."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from textwrap import wrap

# Longer cells are broken into lines, so that tables of four columns fit on a wide screen.
_MAX_WIDTH = 44


def as_text(rows: Sequence[Mapping[str, object]]) -> str:
    """Lay rows out below their headings; long cells take several lines."""
    headings = list(rows[0])
    cells = [[_lines(row[heading]) for heading in headings] for row in rows]
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


def _lines(cell: object) -> list[str]:
    text = f"{cell:.4g}" if isinstance(cell, float) else str(cell)
    return wrap(text, _MAX_WIDTH) or [""]


def as_frame(rows: Sequence[Mapping[str, object]], headings: Sequence[str]) -> object:
    """Convert rows to a data frame of pandas."""
    try:
        import pandas
    except ImportError:
        raise ImportError('to_frame needs pandas: pip install "mddf[data]"') from None
    return pandas.DataFrame(rows, columns=list(headings))
