"""CSV files: how they are written, and tables of them with the lines that rows came from."""

from __future__ import annotations

import argparse
import csv
import warnings
from dataclasses import dataclass
from importlib import import_module
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


PLAIN = Format()


def need(module: str, extra: str) -> Any:
    """A module that only an extra installs; an error of one line without it."""
    try:
        return import_module(module)
    except ImportError:
        raise SystemExit(
            f'{module.split(".")[0]} is not installed: pip install "mddf[{extra}]"'
        ) from None


def add_options(group: Any) -> None:
    """The options of all commands that read CSV files."""
    group.add_argument("--sep", default=",", type=_mark, help="between cells (default: ,)")
    group.add_argument("--decimal", default=".", type=_mark, help="decimal mark (default: .)")
    group.add_argument(
        "--missing", nargs="+", default=[], help="cells that are missing, such as ?"
    )
    holds = {"text": "categories", "numbers": "numbers, or the file is refused", "dates": "dates"}
    for name, hold in holds.items():
        group.add_argument(
            f"--{name}", nargs="+", default=[], metavar="COLUMN", help=f"columns that hold {hold}"
        )


def _mark(text: str) -> str:
    """One character, or what stands for a tab."""
    text = "\t" if text == "\\t" else text
    if len(text) != 1:
        raise ValueError
    return text


_mark.__name__ = "character"  # argparse names it


def format_of(options: argparse.Namespace) -> Format:
    """The format that the options of a command say."""
    lists = {n: tuple(getattr(options, n, ())) for n in ("missing", "text", "numbers", "dates")}
    return Format(getattr(options, "sep", ","), getattr(options, "decimal", "."), **lists)


def read(path: Any, form: Format = PLAIN, text: Any = ()) -> tuple[Any, np.ndarray]:
    """A table with a header, and the line of the file where each row begins.

    Columns of `text` stay as they are. A file that does not do ends the command with one line:
    one whose rows have other numbers of cells than the header, above all. Rows that all have one
    cell more begin with names, as R writes them, or end in a delimiter. Of Parquet, which a
    name's end says, lines are numbers of rows from 1.
    """
    pd = need("pandas", "data")
    try:
        if Path(path).suffix == ".parquet":
            return _read_parquet(path, form, text)
        header, lines, index = _outline(path, form)
        with warnings.catch_warnings():  # of cells after the last delimiter, which are empty
            warnings.simplefilter("ignore", pd.errors.ParserWarning)
            found = pd.read_csv(
                path, sep=form.sep, decimal=form.decimal, na_values=list(form.missing),
                dtype=dict.fromkeys([*text, *form.text], str), index_col=index,
            )  # fmt: skip
    except SystemExit:
        raise
    except Exception as error:  # of the file, its compression, or the reader
        raise SystemExit(f"{path} cannot be read as a table: {error}") from None
    found = found.reset_index(drop=True)
    last = found.columns[-1] if len(header) else None
    if last is not None and not header[-1].strip() and found[last].isna().all():
        found = found.drop(columns=last)  # all lines end in a delimiter, the header too
    return found, np.array(lines[: len(found)], int)


def _read_parquet(path: Any, form: Format, text: Any) -> tuple[Any, np.ndarray]:
    need("pyarrow", "parquet")
    found = need("pandas", "data").read_parquet(path).reset_index(drop=True)
    found.columns = [str(name) for name in found]
    if form.missing:
        found = found.replace(list(form.missing), np.nan)
    for name in {*text, *form.text} & {*found}:
        found[name] = found[name].astype(str).where(found[name].notna())
    return found, np.arange(1, len(found) + 1)


def _outline(path: Any, form: Format) -> tuple[list[str], list[int], Any]:
    """The header, the line where each row begins, and pandas' `index_col` for the file."""
    from pandas.io.common import get_handle

    header: list[str] | None = None
    lines: list[int] = []
    sizes: list[int] = []
    ends_empty, end = True, 0
    with get_handle(path, "r", compression="infer", encoding="utf-8") as handle:
        reader = csv.reader(handle.handle, delimiter=form.sep)
        for cells in reader:
            start, end = end + 1, reader.line_num
            if not cells or (len(cells) == 1 and not cells[0].strip()):
                continue
            if header is None:
                header = cells
                if len(header) == 1 and (seen := [sep for sep in ";\t|" if sep in header[0]]):
                    raise SystemExit(
                        f"{path} must have {form.sep!r} between columns, got {header[0]!r}: say "
                        f"--sep {seen[0]!r}"
                    )
                continue
            lines.append(start)
            sizes.append(len(cells))
            ends_empty &= not cells[-1].strip()
    n = len(header or ())
    more = bool(sizes) and min(sizes) == max(sizes) == n + 1
    if not more and (wrong := [i for i, size in enumerate(sizes) if size != n]):
        first = wrong[0]
        raise SystemExit(
            f"{path}, line {lines[first]}: must have {n} cells as the header, got {sizes[first]}"
        )
    return header or [], lines, (False if ends_empty else 0) if more else None


def check(path: Any, table: Any, lines: np.ndarray, form: Format) -> None:
    """End the command if columns of numbers hold others, or infinite ones; say which line."""
    for name in form.numbers:
        if name in table and table[name].dtype.kind not in "iufb":
            row = _first_text(table[name])
            raise SystemExit(
                f"{path}, line {lines[row]}: column {name!r} must hold numbers, got "
                f"{table[name].iloc[row]!r}: say what is missing by --missing, or --decimal"
            )
    for name in table.select_dtypes("number"):
        if (wrong := np.isinf(table[name].to_numpy(float))).any():
            row = wrong.argmax()
            raise SystemExit(
                f"{path}, line {lines[row]}: column {name!r} must be finite, got "
                f"{table[name].iloc[row]}"
            )


def warn_of_numbers(path: Any, table: Any, lines: np.ndarray, form: Format) -> None:
    """Warn of columns of text that mostly look like numbers; they are taken as categories."""
    for name in table.select_dtypes(exclude=["number", "bool"]):
        if name in form.text:
            continue
        cells = table[name].dropna().astype(str)
        there = cells.unique()
        numbers = sum(map(looks_like_number, there))
        if 2 * numbers > len(there):
            row = _first_text(table[name])
            warnings.warn(
                f"{path}: column {name!r} is text and taken as categories, but {numbers} of its "
                f"{len(there)} values look like numbers; line {lines[row]} has "
                f"{table[name].iloc[row]!r}. If it holds numbers, name missing cells by "
                f"--missing and the decimal mark by --decimal; else --text {name!r}",
                UserWarning,
                stacklevel=2,
            )


def warn_of_blanks(path: Any, table: Any, lines: np.ndarray) -> None:
    """Warn of words that differ from others of their column by blanks at their ends alone."""
    for name in table.select_dtypes(exclude=["number", "bool"]):
        words = {word for word in table[name].dropna().unique() if isinstance(word, str)}
        if odd := sorted(word for word in words if word.strip() in words - {word}):
            row = int((table[name] == odd[0]).to_numpy().argmax())
            warnings.warn(
                f"{path}, line {lines[row]}: column {name!r} has {odd[0]!r} besides "
                f"{odd[0].strip()!r}, which are different words, but differ by blanks alone",
                UserWarning,
                stacklevel=2,
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


def _first_text(column: Any) -> int:
    """The first row whose cell no number is, as pandas reads them."""
    pd = need("pandas", "data")
    wrong = column.notna() & pd.to_numeric(column.astype(str), errors="coerce").isna()
    return int(wrong.to_numpy().argmax())
