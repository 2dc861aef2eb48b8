"""Warnings about columns whose kind may be misjudged."""

from __future__ import annotations

import re
import warnings
from pathlib import Path

import numpy as np
import pyarrow.compute as pc

from mddf._quality.columns import DataColumn, are_many_texts
from mddf._quality.texts import spellings
from mddf._schema import cells, dates
from mddf._schema.schema import Schema
from mddf._schema.source import Source

from .rows import place_in_file

# Numbers that begin with a zero are likely codes of districts or articles. A column of codes is
# expected to have such a number in its first 1000 rows. Not tuned.
_CODE = r"^\s*0\d+\s*$"
_ROWS_FOR_CODES = 1000


def warn_of_text(source: Source, schema: Schema) -> None:
    """Warn of categories that look like numbers, dates or keys.

    The target is not checked for dates and keys.
    """
    for column in (*schema.columns, schema.target):
        name = column.name
        if column.kind != "category" or name in schema.format.text:
            continue
        levels = column.levels or ()
        values = cells.without_missing(cells.unpacked(source.cells[name]), schema.format)
        n_rows = len(values) - values.null_count
        is_target = name == schema.target.name
        subject = f"{source.path}: column {name!r} is text and taken as categories, but"
        n_numbers = sum(map(_is_number, levels))
        if 2 * sum(map(dates.looks_like_date, levels)) > len(levels):
            if not is_target:
                _warn(f"{subject} looks like dates: --dates {name!r} makes numbers of them")
        elif 2 * n_numbers > len(levels):
            texts = cells.as_texts(values)
            _, is_text = cells.as_numbers(texts, schema.format)
            row = int(np.asarray(is_text.fill_null(False)).argmax())
            cell = texts[row].as_py()
            remedy = "name missing cells by --missing and the marks by --decimal and --thousands"
            if cell.strip().endswith("%"):
                remedy = "take the percent signs out of the file"
            _warn(
                f"{subject} {n_numbers} of its {len(levels)} values look like numbers; "
                f"{place_in_file(source, row)} has {cell!r}. If it holds numbers, "
                f"{remedy}; else --text {name!r}"
            )
        elif not is_target and are_many_texts(len(levels), n_rows):
            _warn(
                f"{subject} has {len(levels)} different values in {n_rows} rows, from which "
                f"little can be learned: --drop {name!r} if it is a key or free text, or make "
                f"numbers of its words in Python (TfidfVectorizer); else --text {name!r}"
            )


def warn_of_target(path: Path, target: str, y: np.ndarray) -> None:
    """Warn of whole numbers that name the rows, which no feature can predict."""
    if y.dtype.kind in "iuf" and DataColumn(target, "number", y.astype(float)).identifies_rows:
        _warn(
            f"{path}: the target {target!r} looks like an identifier of the rows, since its whole "
            "numbers are all different: is another column to be predicted?"
        )


def warn_of_codes(source: Source, schema: Schema) -> None:
    """Warn of numeric columns with numbers that begin with a zero, as codes do."""
    for column in schema.columns:
        texts = source.cells[column.name]
        if column.kind != "number" or column.name in schema.format.numbers:
            continue
        if not cells.is_text(texts):
            continue
        is_code = pc.match_substring_regex(texts.slice(0, _ROWS_FOR_CODES), pattern=_CODE)
        row = pc.index(is_code, True).as_py()
        if row >= 0:
            _warn(
                f"{source.path}: column {column.name!r} is taken as numbers, but "
                f"{place_in_file(source, row)} has {texts[row].as_py().strip()!r}, "
                f"which looks like a code: --text {column.name!r} makes categories of them; else "
                f"--numbers {column.name!r}"
            )


def warn_of_spellings(source: Source, schema: Schema) -> None:
    """Warn of categories that differ only by blanks and upper case."""
    for column in (*schema.columns, schema.target):
        levels = column.levels or ()
        if are_many_texts(len(levels), source.n_rows):
            continue
        if groups := spellings(levels):
            one, other, *_ = groups[0]
            _warn(
                f"{source.path}: column {column.name!r} has {one!r} and {other!r}: these are "
                "different categories, but differ only by blanks and upper case"
            )


def _is_number(text: str) -> bool:
    """Whether a text is a number, perhaps with decimal, thousands or percent marks."""
    digits = re.sub(r"[,.]", "", text.strip().removesuffix("%"))
    try:
        float(digits)
    except ValueError:
        return False
    return True


def _warn(message: str) -> None:
    warnings.warn(message, UserWarning, stacklevel=3)
