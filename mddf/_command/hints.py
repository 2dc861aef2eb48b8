"""Warnings of columns that read well, but may hold something else than they seem to."""

from __future__ import annotations

import re
import warnings

import numpy as np
import pyarrow.compute as pc

from mddf._schema import cells, dates
from mddf._schema.schema import Column, Schema
from mddf._schema.source import Source

# Codes of countries, districts or articles begin with a zero. So many rows are enough to meet one.
_CODE = r"^\s*0\d+\s*$"
_FIRST_ROWS = 1000
# Fewer different texts are too few to judge by.
_FEW_LEVELS = 10


def _undeclared_categories(schema: Schema) -> list[Column]:
    columns = [*schema.columns, schema.target]
    return [c for c in columns if c.kind == "category" and c.name not in schema.format.text]


def warn_of_text(source: Source, schema: Schema) -> None:
    """Warn of categories that look like numbers, dates or keys.

    Labels may be dates or keys: their classes are counted elsewhere.
    """
    for column in _undeclared_categories(schema):
        name = column.name
        levels = column.levels or ()
        values = cells.without_missing(cells.unpacked(source.cells[name]), schema.format)
        n_rows = len(values) - values.null_count
        is_target = name == schema.target.name
        begin = f"{source.path}: column {name!r} is text and taken as categories, but"
        n_numbers = sum(map(looks_like_number, levels))
        if 2 * sum(map(dates.looks_like_date, levels)) > len(levels):
            if not is_target:
                _warn(f"{begin} looks like dates: --dates {name!r} makes numbers of them")
        elif 2 * n_numbers > len(levels):
            texts = cells.as_texts(values)
            _, is_text = cells.as_numbers(texts, schema.format)
            row = int(np.asarray(is_text.fill_null(False)).argmax())
            cell = texts[row].as_py()
            remedy = "name missing cells by --missing and the marks by --decimal and --thousands"
            if cell.strip().endswith("%"):
                remedy = "take the percent signs out of the file"
            _warn(
                f"{begin} {n_numbers} of its {len(levels)} values look like numbers; "
                f"{source.place(row).rpartition(', ')[2]} has {cell!r}. If it holds numbers, "
                f"{remedy}; else --text {name!r}"
            )
        elif not is_target and len(levels) > _FEW_LEVELS and 2 * len(levels) > n_rows:
            _warn(
                f"{begin} has {len(levels)} different values in {n_rows} rows, from which little "
                f"can be learned: --drop {name!r} if it is a key; else --text {name!r}"
            )


def warn_of_codes(source: Source, schema: Schema) -> None:
    """Warn of columns of numbers some of which begin with a zero, as codes of places do."""
    for column in schema.columns:
        texts = source.cells[column.name]
        if column.kind != "number" or column.name in schema.format.numbers:
            continue
        if not cells.is_text(texts):
            continue
        is_code = pc.match_substring_regex(texts.slice(0, _FIRST_ROWS), pattern=_CODE)
        row = pc.index(is_code, True).as_py()
        if row >= 0:
            _warn(
                f"{source.path}: column {column.name!r} is taken as numbers, but "
                f"{source.place(row).rpartition(', ')[2]} has {texts[row].as_py().strip()!r}, "
                f"which looks like a code: --text {column.name!r} makes categories of them; else "
                f"--numbers {column.name!r}"
            )


def warn_of_blanks(source: Source, schema: Schema) -> None:
    """Warn of words that differ from others of their column by blanks at their ends alone."""
    for column in (*schema.columns, schema.target):
        levels = set(column.levels or ())
        odd = sorted(word for word in levels if word.strip() in levels - {word})
        if odd:
            texts = cells.as_texts(cells.unpacked(source.cells[column.name]))
            row = pc.index(texts, odd[0]).as_py()
            _warn(
                f"{source.place(row)}: column {column.name!r} has {odd[0]!r} besides "
                f"{odd[0].strip()!r}, which are different words, but differ by blanks alone"
            )


def looks_like_number(text: str) -> bool:
    """Whether a text is a number, perhaps with marks of decimals, thousands or percent."""
    digits = re.sub(r"[,.]", "", text.strip().removesuffix("%"))
    try:
        float(digits)
    except ValueError:
        return False
    return True


def _warn(message: str) -> None:
    warnings.warn(message, UserWarning, stacklevel=3)
