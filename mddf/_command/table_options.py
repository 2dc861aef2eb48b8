"""Options for tables: the marks of their files and the kinds of their columns."""

from __future__ import annotations

import argparse
import codecs
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mddf._schema.format import PLAIN, Format

if TYPE_CHECKING:
    from mddf._schema.schema import Schema

# Seeds of NumPy's generators have 32 bits.
_MOST_SEED = 2**32 - 1


def add_model_and_table(parser: argparse.ArgumentParser) -> None:
    """Add the options of commands that apply a saved model to a table."""
    parser.add_argument("model", type=Path, help="model that `mddf fit` saved")
    parser.add_argument(
        "table",
        type=Path,
        help="CSV or Parquet file, or folder of Parquet files, with the columns of the model",
    )
    parser.add_argument("--overwrite", action="store_true", help="replace a file that exists")
    add_marks(parser.add_argument_group("the table"), "as in the fit")


def add_training_table(parser: argparse.ArgumentParser) -> None:
    """Add the options of commands that read a table with its target."""
    parser.add_argument(
        "table",
        type=Path,
        help="CSV (perhaps compressed) or Parquet file, or folder of Parquet files",
    )
    parser.add_argument("--target", required=True, metavar="COLUMN", help="column to predict")
    parser.add_argument(
        "--task", choices=("auto", "classification", "regression"), default="auto",
        help="task of the model (default: auto, which decides by the labels)",
    )  # fmt: skip
    parser.add_argument(
        "--drop", nargs="+", default=[], metavar="COLUMN", help="columns to leave out"
    )
    parser.add_argument(
        "--drop-unlabelled", action="store_true", help="leave out rows without a label"
    )
    parser.add_argument("--overwrite", action="store_true", help="replace files that exist")
    add_column_options(parser.add_argument_group("the table"))


def add_column_options(group: argparse.ArgumentParser | argparse._ArgumentGroup) -> None:
    """Add the options for the kinds of columns of a training table."""
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
        help="columns of dates, which become month, weekday, day of the year and hour",
    )  # fmt: skip
    group.add_argument(
        "--elapsed", nargs="+", default=[], metavar="COLUMN",
        help="columns of --dates whose days since 1970 are also a feature, such as days of birth; "
        "models cannot follow a trend to later rows by it",
    )  # fmt: skip
    group.add_argument(
        "--day-first", action="store_true",
        help="read 3/4/2024 as a day in April (default: in March; 3.4.2024 is always in April)",
    )  # fmt: skip


def add_marks(group: argparse.ArgumentParser | argparse._ArgumentGroup, default: str = "") -> None:
    """Add the options for the marks of a file; `default` replaces their defaults in help texts."""

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


def seed(text: str) -> int:
    """Parse a seed of NumPy's generators."""
    if not text.isdecimal() or int(text) > _MOST_SEED:
        raise argparse.ArgumentTypeError(
            f"must be a whole number from 0 to {_MOST_SEED}, got {text!r}"
        )
    return int(text)


def _mark(text: str) -> str:
    """Parse a single character, or a backslash and t for a tab."""
    text = "\t" if text == "\\t" else text
    if len(text) != 1:
        raise argparse.ArgumentTypeError(f"must be a single character, got {text!r}")
    return text


def _encoding(text: str) -> str:
    """Parse the name of an encoding that Python supports."""
    try:
        name = codecs.lookup(text).name
    except LookupError:
        raise argparse.ArgumentTypeError(f"must be an encoding, got {text!r}") from None
    return "utf-8" if name == "utf-8-sig" else name


def schema_for(options: argparse.Namespace, schema: Schema) -> Schema:
    """Replace the marks of a stored schema by the marks in the options."""
    return replace(schema, format=format_from(options, schema.format))


def format_from(options: argparse.Namespace, base: Format = PLAIN) -> Format:
    """Replace the parts of a format that the options give."""
    marks = ("sep", "decimal", "thousands", "encoding", "day_first")
    lists = ("missing", "text", "numbers", "dates", "elapsed")
    changes: dict[str, Any] = {name: getattr(options, name, None) for name in marks}
    changes |= {name: tuple(getattr(options, name, ())) for name in lists}
    table_format = replace(base, **{name: value for name, value in changes.items() if value})
    if table_format.thousands == table_format.decimal:
        raise SystemExit(
            f"--thousands must differ from --decimal, got {table_format.decimal!r} for both"
        )
    if absent := [name for name in table_format.elapsed if name not in table_format.dates]:
        raise SystemExit(f"--elapsed must name columns of --dates, got {absent[0]!r}")
    return table_format
