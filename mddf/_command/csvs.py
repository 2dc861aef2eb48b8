"""CSV files: how they are written, and tables of them with the lines that rows came from."""

from __future__ import annotations

import argparse
import codecs
import csv
import re
import warnings
from dataclasses import dataclass, replace
from importlib import import_module
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Format:
    """How a CSV file is written, and what columns hold where that cannot be seen."""

    sep: str = ","
    decimal: str = "."
    missing: tuple[str, ...] = ()
    text: tuple[str, ...] = ()
    numbers: tuple[str, ...] = ()
    dates: tuple[str, ...] = ()
    thousands: str = ""
    encoding: str = "utf-8-sig"  # with a byte order mark or without
    day_first: bool = False


PLAIN = Format()
_CODE = re.compile(r"\s*0\d+\s*")  # of countries, districts, articles
_FIRST = 1000  # rows, enough to meet such a code
_SHEETS = (".xlsx", ".xls", ".xlsm", ".ods")


def need(module: str, extra: str) -> Any:
    """A module that only an extra installs; an error of one line without it."""
    try:
        return import_module(module)
    except ImportError:
        raise SystemExit(
            f'{module.split(".")[0]} is not installed: pip install "mddf[{extra}]"'
        ) from None


def add_options(group: Any) -> None:
    """The options of all commands that read CSV files to learn from."""
    add_marks(group)
    holds = {"text": "categories", "numbers": "numbers, or the file is refused", "dates": "dates"}
    for name, hold in holds.items():
        group.add_argument(
            f"--{name}", nargs="+", default=[], metavar="COLUMN", help=f"columns that hold {hold}"
        )
    group.add_argument(
        "--day-first", action="store_true",
        help="3/4/2024 is in April (3.4.2024 always is; default: in March)",
    )  # fmt: skip


def add_marks(group: Any, default: str = "") -> None:
    """Options of how a CSV file is written; `default` says what counts without them."""
    of = {"sep": ",", "decimal": ".", "thousands": "none", "encoding": "UTF-8"}
    shown = {name: f"(default: {default or mark})" for name, mark in of.items()}
    group.add_argument("--sep", type=_mark, help=f"between cells {shown['sep']}")
    group.add_argument("--decimal", type=_mark, help=f"decimal mark {shown['decimal']}")
    group.add_argument("--thousands", type=_mark, help=f"their mark {shown['thousands']}")
    group.add_argument(
        "--encoding", type=_encoding, help=f"such as cp1252 of Windows {shown['encoding']}"
    )
    group.add_argument(
        "--missing", nargs="+", default=[],
        help=f"cells that are missing, such as ? {shown['sep'] if default else ''}",
    )  # fmt: skip


def _mark(text: str) -> str:
    """One character, or what stands for a tab."""
    text = "\t" if text == "\\t" else text
    if len(text) != 1:
        raise ValueError
    return text


_mark.__name__ = "character"  # argparse names it


def _encoding(text: str) -> str:
    """The name of an encoding that Python knows."""
    try:
        found = codecs.lookup(text).name
    except LookupError:
        raise ValueError from None
    return PLAIN.encoding if found == "utf-8" else found


_encoding.__name__ = "encoding"


def format_of(options: argparse.Namespace, base: Format = PLAIN) -> Format:
    """The format that the options of a command say, for the rest that of another file."""
    marks = {n: getattr(options, n, None) for n in ("sep", "decimal", "thousands", "encoding")}
    lists = {n: tuple(getattr(options, n, ())) for n in ("missing", "text", "numbers", "dates")}
    given: dict[str, Any] = {name: value for name, value in (marks | lists).items() if value}
    if getattr(options, "day_first", False):
        given["day_first"] = True
    found = replace(base, **given)
    if found.thousands == found.decimal:
        raise SystemExit(f"--thousands must differ from --decimal, got {found.decimal!r} for both")
    return found


def read(path: Any, form: Format = PLAIN, text: Any = ()) -> tuple[Any, np.ndarray]:
    """A table with a header, and the line of the file where each row begins.

    Columns of `text` stay as they are. A file that does not do ends the command with one line:
    one whose rows have other numbers of cells than the header, above all. Rows that all have one
    cell more begin with names, as R writes them, or end in a delimiter. Of Parquet, which a
    name's end says, lines are numbers of rows from 1. What has marks of thousands elsewhere than
    between groups of digits (4.10.2024) is text: pandas would leave them out.
    """
    pd = need("pandas", "data")
    if Path(path).suffix.lower() in _SHEETS:
        raise SystemExit(f"{path} cannot be read as a table: save the sheet as CSV")
    try:
        if Path(path).suffix == ".parquet":
            return _read_parquet(path, form, text)
        header, lines, index, broken = _outline(path, form)
        with warnings.catch_warnings():  # of cells after the last delimiter, which are empty
            warnings.simplefilter("ignore", pd.errors.ParserWarning)
            found = pd.read_csv(
                path, sep=form.sep, decimal=form.decimal, thousands=form.thousands or None,
                na_values=list(form.missing), encoding=form.encoding, index_col=index,
                dtype=dict.fromkeys([*text, *form.text, *form.dates, *broken], str),
            )  # fmt: skip
    except SystemExit:
        raise
    except Exception as error:  # of the file, its compression, or the reader
        raise SystemExit(f"{path} cannot be read as a table: {_why(path, form, error)}") from None
    found = found.reset_index(drop=True)
    last = found.columns[-1] if len(header) else None
    if last is not None and not header[-1].strip() and found[last].isna().all():
        found = found.drop(columns=last)  # all lines end in a delimiter, the header too
    return found, np.array(lines[: len(found)], int)


def _why(path: Any, form: Format, error: Exception) -> str:
    """Why a file cannot be read, in a line."""
    if isinstance(error, OSError) and error.strerror:
        return error.strerror[0].lower() + error.strerror[1:]
    if not isinstance(error, UnicodeError):
        return " ".join(str(error).split())
    with Path(path).open("rb") as file:
        marked = file.read(2) in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
    other = "utf-16" if marked else "cp1252 (Windows, Western Europe) or another one"
    return f"its text is not {form.encoding.removesuffix('-sig')}: say --encoding {other}"


def _read_parquet(path: Any, form: Format, text: Any) -> tuple[Any, np.ndarray]:
    need("pyarrow", "parquet")
    found = need("pandas", "data").read_parquet(path).reset_index(drop=True)
    found.columns = [str(name) for name in found]
    if form.missing:
        found = found.replace(list(form.missing), np.nan)
    _differ(path, list(found))
    for name in {*text, *form.text} & {*found}:
        found[name] = found[name].astype(str).where(found[name].notna())
    return found, np.arange(1, len(found) + 1)


def _outline(path: Any, form: Format) -> tuple[list[str], list[int], Any, list[str]]:
    """The header, the line where each row begins, pandas' `index_col`, and broken columns.

    These have marks of thousands where none can be.
    """
    from pandas.io.common import get_handle

    header: list[str] | None = None
    lines: list[int] = []
    sizes: list[int] = []
    ends_empty, end, first_row = True, 0, ""
    grouped = _grouped(form)
    broken: set[int] = set()
    with get_handle(path, "r", compression="infer", encoding=form.encoding) as handle:
        reader = csv.reader(handle.handle, delimiter=form.sep)
        for cells in reader:
            start, end = end + 1, reader.line_num
            if not cells or (len(cells) == 1 and not cells[0].strip()):
                continue
            if header is None:
                header = cells
                continue
            first_row = first_row or cells[0]
            lines.append(start)
            sizes.append(len(cells))
            ends_empty &= not cells[-1].strip()
            if grouped is not None:
                marked = [i for i, cell in enumerate(cells) if form.thousands in cell]
                broken.update(i for i in marked if not grouped.fullmatch(cells[i]))
    if header is None:
        raise SystemExit(f"{path} must have a header and rows, got an empty file")
    seen = [sep for sep in ",;\t|" if sep in header[0] and (sep in first_row or not lines)]
    if len(header) == 1 and seen:
        raise SystemExit(
            f"{path} must have {form.sep!r} between columns, got {header[0]!r}: say "
            f"--sep {seen[0]!r}"
        )
    _differ(path, header)
    n = len(header)
    more = bool(sizes) and min(sizes) == max(sizes) == n + 1
    if not more and (wrong := [i for i, size in enumerate(sizes) if size != n]):
        first = wrong[0]
        raise SystemExit(
            f"{path}, line {lines[first]}: must have {n} cells as the header, got {sizes[first]}"
        )
    index = (False if ends_empty else 0) if more else None
    first = int(more and not ends_empty)  # the cell that the header's first name is of
    return header, lines, index, [header[i - first] for i in broken if 0 <= i - first < n]


def _grouped(form: Format) -> re.Pattern[str] | None:
    """What numbers with marks of thousands look like; India's groups have two digits."""
    if not form.thousands:
        return None
    mark, point = re.escape(form.thousands), re.escape(form.decimal)
    return re.compile(rf"\s*[-+]?\d{{1,3}}({mark}\d{{2,3}})*{mark}\d{{3}}({point}\d*)?\s*")


def begin_with_zero(path: Any, form: Format, names: Any) -> dict[str, tuple[int, str]]:
    """Columns of a CSV file some of whose cells are whole numbers after a zero; lines and cells.

    Of the first rows.
    """
    from pandas.io.common import get_handle

    found: dict[str, tuple[int, str]] = {}
    with get_handle(path, "r", compression="infer", encoding=form.encoding) as handle:
        reader = csv.reader(handle.handle, delimiter=form.sep)
        header = next((cells for cells in reader if any(map(str.strip, cells))), [])
        for cells in islice(reader, _FIRST):
            more = len(cells) > len(header) and cells[-1].strip() != ""
            for name, cell in zip(header, cells[1:] if more else cells, strict=False):
                if name in names and name not in found and _CODE.fullmatch(cell):
                    found[name] = reader.line_num, cell.strip()
    return found


def _differ(path: Any, names: list[str]) -> None:
    """End the command if two columns have one name; those without are others' to judge."""
    if twice := [name for name in dict.fromkeys(names) if name.strip() and names.count(name) > 1]:
        places = [str(place) for place, name in enumerate(names, 1) if name == twice[0]]
        raise SystemExit(
            f"the columns of {path} must have different names, got {twice[0]!r} for columns "
            f"{', '.join(places[:-1])} and {places[-1]}"
        )


def check(path: Any, table: Any, lines: np.ndarray, form: Format) -> None:
    """End the command if columns of numbers hold others, or infinite ones; say which line."""
    for name in form.numbers:
        if name in table and table[name].dtype.kind not in "iufb":
            row = first_text(table[name])
            raise SystemExit(
                f"{path}, line {lines[row]}: column {name!r} must hold numbers, got "
                f"{table[name].iloc[row]!r}: name missing cells by "
                "--missing and the marks by --decimal and --thousands"
            )
    for name in table.select_dtypes("number"):
        if (wrong := np.isinf(table[name].to_numpy(float))).any():
            row = wrong.argmax()
            raise SystemExit(
                f"{path}, line {lines[row]}: column {name!r} must be finite, got "
                f"{table[name].iloc[row]}"
            )


def first_text(column: Any) -> int:
    """The first row whose cell no number is, as pandas reads them."""
    pd = need("pandas", "data")
    wrong = column.notna() & pd.to_numeric(column.astype(str), errors="coerce").isna()
    return int(wrong.to_numpy().argmax())
