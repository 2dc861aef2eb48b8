"""Options that say how a table is written and what its columns hold."""

from __future__ import annotations

import argparse
import codecs
from dataclasses import replace
from typing import Any

from mddf._schema.format import PLAIN, Format


def add_options(group: Any) -> None:
    """Add the options of all commands that read tables to learn from."""
    add_marks(group)
    group.add_argument(
        "--text", nargs="+", default=[], metavar="COLUMN",
        help="columns whose cells are names of categories, even if they look like numbers",
    )  # fmt: skip
    group.add_argument(
        "--numbers", nargs="+", default=[], metavar="COLUMN",
        help="columns that must hold numbers; the table is refused if one does not",
    )  # fmt: skip
    group.add_argument(
        "--dates", nargs="+", default=[], metavar="COLUMN",
        help="columns of dates, which become days, month, weekday and hour",
    )  # fmt: skip
    group.add_argument(
        "--day-first", action="store_true",
        help="read 3/4/2024 as a day in April (default: in March; 3.4.2024 is always in April)",
    )  # fmt: skip


def add_marks(group: Any, default: str = "") -> None:
    """Add the options of how a table is written; `default` says what holds without them."""

    def with_default(text: str, mark: str) -> str:
        return f"{text} (default: {default or mark})"

    group.add_argument(
        "--sep", type=_mark, help=with_default("character between cells", "detected")
    )
    group.add_argument("--decimal", type=_mark, help=with_default("decimal mark", "."))
    group.add_argument(
        "--thousands", type=_mark, help=with_default("mark between groups of thousands", "none")
    )
    group.add_argument(
        "--encoding", type=_encoding,
        help=with_default("encoding of the file, such as cp1252 of Windows", "UTF-8"),
    )  # fmt: skip
    group.add_argument(
        "--missing", nargs="+", default=[], metavar="CELL",
        help=with_default("cells that are missing, such as ? or -999", "blank, NA, null, ..."),
    )  # fmt: skip


def _mark(text: str) -> str:
    """One character, or the escape that stands for a tab."""
    text = "\t" if text == "\\t" else text
    if len(text) != 1:
        raise ValueError
    return text


_mark.__name__ = "character"  # argparse names it


def _encoding(text: str) -> str:
    """The name of an encoding that Python knows."""
    try:
        name = codecs.lookup(text).name
    except LookupError:
        raise ValueError from None
    return "utf-8" if name == "utf-8-sig" else name


_encoding.__name__ = "encoding"


def format_from(options: argparse.Namespace, base: Format = PLAIN) -> Format:
    """The format that the options of a command give; `base` holds for all that they leave open."""
    marks = ("sep", "decimal", "thousands", "encoding", "day_first")
    lists = ("missing", "text", "numbers", "dates")
    changes: dict[str, Any] = {name: getattr(options, name, None) for name in marks}
    changes |= {name: tuple(getattr(options, name, ())) for name in lists}
    form = replace(base, **{name: value for name, value in changes.items() if value})
    if form.thousands == form.decimal:
        raise SystemExit(f"--thousands must differ from --decimal, got {form.decimal!r} for both")
    return form
