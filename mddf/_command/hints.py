"""Warnings of tables that read well, but may not hold what they seem to."""

from __future__ import annotations

import re
import warnings
from typing import Any

import numpy as np

from .csvs import Format, begin_with_zero, first_text

# Day and month or the other way round, a mark between them, and the year; groups of a pattern that
# begins with it.
SHORT_DATE = r"(\d{1,2})([-/.])(\d{1,2})\2(\d{4}|\d\d)(?!\d)"
_DATE = re.compile(rf"\s*(?:{SHORT_DATE}|\d{{4}}[-/.]\d{{1,2}}[-/.]\d{{1,2}}(?!\d))")
_FEW = 10  # values of text, too few to judge by


def warn_of_text(path: Any, table: Any, lines: np.ndarray, form: Format, target: str = "") -> None:
    """Warn of columns of text that look like numbers, dates or keys; they are categories.

    Labels, in the column `target`, may be dates or keys: their classes are counted elsewhere.
    """
    for name in table.select_dtypes(exclude=["number", "bool"]):
        if name in form.text:
            continue
        column = table[name].dropna().astype(str)
        there = column.unique()
        if 2 * sum(bool(_DATE.match(text)) for text in there) > len(there):
            if name != target:
                _warn(
                    f"{path}: column {name!r} is text and taken as categories, but looks like "
                    f"dates: --dates {name!r} makes numbers of them"
                )
        elif 2 * (n := sum(map(looks_like_number, there))) > len(there):
            row = first_text(table[name])
            cell = str(table[name].iloc[row])
            remedy = "name missing cells by --missing and the marks by --decimal and --thousands"
            if cell.strip().endswith("%"):
                remedy = "take the percent signs out of the file"
            _warn(
                f"{path}: column {name!r} is text and taken as categories, but {n} of its "
                f"{len(there)} values look like numbers; line {lines[row]} has {cell!r}. If it "
                f"holds numbers, {remedy}; else --text {name!r}"
            )
        elif name != target and len(there) > _FEW and 2 * len(there) > len(column):
            _warn(
                f"{path}: column {name!r} is text and taken as categories, but has {len(there)} "
                f"different values in {len(column)} rows, from which little can be learned: "
                f"--drop {name!r} if it is a key; else --text {name!r}"
            )


def warn_of_codes(path: Any, table: Any, form: Format, target: str = "") -> None:
    """Warn of columns of numbers some of which begin with a zero, as codes of places do."""
    if str(path).endswith(".parquet"):
        return
    whole = [name for name in table.select_dtypes("number") if name not in (target, *form.numbers)]
    for name, (line, cell) in begin_with_zero(path, form, whole).items():
        _warn(
            f"{path}: column {name!r} is taken as numbers, but line {line} has {cell!r}, which "
            f"looks like a code: --text {name!r} makes categories of them; else --numbers {name!r}"
        )


def warn_of_blanks(path: Any, table: Any, lines: np.ndarray) -> None:
    """Warn of words that differ from others of their column by blanks at their ends alone."""
    for name in table.select_dtypes(exclude=["number", "bool"]):
        words = {word for word in table[name].dropna().unique() if isinstance(word, str)}
        if odd := sorted(word for word in words if word.strip() in words - {word}):
            row = int((table[name] == odd[0]).to_numpy().argmax())
            _warn(
                f"{path}, line {lines[row]}: column {name!r} has {odd[0]!r} besides "
                f"{odd[0].strip()!r}, which are different words, but differ by blanks alone"
            )


def looks_like_number(text: str) -> bool:
    """Whether a text is a number, perhaps with marks of decimals, thousands or percent."""
    for plain in (text, text.replace(",", "."), text.replace(",", ""), text.replace(".", "")):
        try:
            float(plain.strip().removesuffix("%").replace(",", "."))
        except ValueError:
            continue
        return True
    return False


def _warn(message: str) -> None:
    warnings.warn(message, UserWarning, stacklevel=3)
