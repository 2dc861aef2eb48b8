"""Parser of delimited text into numbers and codes of categories, as a `Table` describes it."""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np

from .._errors import DataFileError
from .parsed import Block, Parsed, encode_labels
from .spec import Spec, Table

# Place of a row, for messages: file name and number of the line.
Place: TypeAlias = tuple[str, int]


def parse(spec: Spec, content: dict[str, bytes]) -> Parsed:
    """Read all files of a set as one table with common categories.

    A DataFileError names the file and the line that is not in the format.
    """
    table = spec.format
    assert isinstance(table, Table)
    rows: list[list[str]] = []
    places: list[Place] = []
    sizes = []
    label_at = table.columns.index(table.label)
    for file in spec.files:
        before = len(rows)
        for line, row in read_rows(content[file.name], file.name, table):
            if not (table.skip_unlabelled and row[label_at] == table.missing):
                rows.append(row)
                places.append((file.name, line))
        sizes.append(len(rows) - before)
        if not sizes[-1]:
            raise DataFileError(f"{file.name}: must hold rows, got none")
    cells = dict(zip(table.columns, zip(*rows, strict=True), strict=True))
    X, categories = _encode(cells, places, table)
    cuts = np.cumsum(sizes)[:-1]
    labels = [label.removesuffix(table.label_suffix) for label in cells[table.label]]
    if spec.task == "regression":
        y = _numbers(labels, places, table, table.label)
    else:
        y = encode_labels(labels, spec, lambda row: _describe(places[row]))
    blocks = [Block(x, t) for x, t in zip(np.split(X, cuts), np.split(y, cuts), strict=True)]
    ordered = tuple(name for name in categories if name in table.levels)
    return Parsed(blocks, table.features, categories, ordered)


def read_rows(content: bytes, name: str, table: Table) -> list[tuple[int, list[str]]]:
    """Split a file into rows: the number of the line, and its fields without blanks around them.

    Empty lines, comments and the header are left out.
    """
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise DataFileError(f"{name}: must be text in UTF-8, but: {error}") from error
    rows = []
    for line, fields in _split_lines(text.lower() if table.lower else text, name, table):
        fields = list(map(str.strip, fields))
        if len(fields) != len(table.columns):
            raise DataFileError(
                f"{name}, line {line}: must have {len(table.columns)} columns, got {len(fields)}"
            )
        rows.append((line, fields))
    if table.header:
        if not rows or rows[0][1] != list(table.columns):
            raise DataFileError(
                f"{name}: the first line must name the columns {', '.join(table.columns)},"
                f" got {', '.join(rows[0][1]) if rows else 'an empty file'}"
            )
        rows = rows[1:]
    return rows


def _split_lines(text: str, name: str, table: Table) -> list[tuple[int, list[str]]]:
    """Cut text into lines, drop empty ones and comments, join broken records, cut into fields."""
    lines: list[tuple[int, str]] = []
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip() or (table.comment and line.startswith(table.comment)):
            continue
        # Only a line that ends in a delimiter and is too short can continue in the next line.
        if table.rejoin and lines and _is_broken(lines[-1][1], table):
            lines[-1] = (lines[-1][0], lines[-1][1] + line)
        else:
            lines.append((number, line))
    if table.delimiter is None:
        return [(number, _fields(line)) for number, line in lines]
    reader = csv.reader(
        (line for _, line in lines), delimiter=table.delimiter, skipinitialspace=True, strict=True
    )
    try:
        return [(lines[reader.line_num - 1][0], fields) for fields in reader]
    except csv.Error as error:
        number = lines[min(reader.line_num, len(lines)) - 1][0]
        raise DataFileError(f"{name}, line {number}: {error}") from error


def _fields(line: str) -> list[str]:
    """Split a line at blanks outside double quotes."""
    if '"' not in line:
        return line.split()
    return [quoted or cell for quoted, cell in re.findall(r'"([^"]*)"|(\S+)', line)]


def _describe(place: Place) -> str:
    file, line = place
    return f"{file}, line {line}"


def _is_broken(line: str, table: Table) -> bool:
    delimiter = table.delimiter or " "
    return line.endswith(delimiter) and line.count(delimiter) < len(table.columns) - 1


def _encode(
    cells: dict[str, tuple[str, ...]], places: Sequence[Place], table: Table
) -> tuple[np.ndarray, dict[str, tuple[Any, ...]]]:
    """Convert the feature columns to numbers; also return the categories by column."""
    X = np.empty((len(places), table.n_features))
    categories: dict[str, tuple[Any, ...]] = {}
    for j, name in enumerate(table.features):
        if name in table.categorical:
            X[:, j], categories[name] = _codes(cells[name], places, table, name)
        else:
            X[:, j] = _numbers(cells[name], places, table, name)
            if name in table.zero_missing:
                X[X[:, j] == 0, j] = np.nan
    return X, categories


def _numbers(cells: Sequence[str], places: Sequence[Place], table: Table, name: str) -> np.ndarray:
    """Convert cells to numbers, and missing cells to NaN."""

    def number(cell: str) -> float:
        return np.nan if cell == table.missing else float(cell)

    return _convert(cells, number, places, f"column {name!r} must be a number")


def _codes(
    cells: Sequence[str], places: Sequence[Place], table: Table, name: str
) -> tuple[np.ndarray, tuple[Any, ...]]:
    """Convert cells to positions among the categories, and missing cells to NaN."""
    levels = table.levels.get(name) or natural_order(set(cells) - {table.missing})
    code: dict[str | None, float] = {level: float(i) for i, level in enumerate(levels)}
    code[table.missing] = np.nan
    expected = f"column {name!r} must be one of {', '.join(levels)}"
    return _convert(cells, code.__getitem__, places, expected), as_integers(levels)


def _convert(
    cells: Sequence[str], convert: Callable[[str], float], places: Sequence[Place], expected: str
) -> np.ndarray:
    """Convert each cell of a column; an error names the place of the first wrong cell."""
    values: list[float] = []
    try:
        # extend keeps the cells converted before an error, and is faster than a loop.
        values.extend(map(convert, cells))
    except (ValueError, KeyError):
        at = len(values)
        raise DataFileError(
            f"{_describe(places[at])}: {expected}, got {cells[at][:40]!r}"
        ) from None
    return np.array(values)


def natural_order(names: set[str]) -> tuple[str, ...]:
    """Sort names by the numbers they begin with, then names without: 5-9 precedes 10-14."""

    def key(name: str) -> tuple[float, str]:
        number = re.match(r"-?\d+(\.\d+)?", name, flags=re.ASCII)
        return (float(number[0]) if number else float("inf"), name)

    return tuple(sorted(names, key=key))


def as_integers(levels: Sequence[str]) -> tuple[Any, ...]:
    """Convert categories to integers if all of them are integers, written as 2 or 2.0.

    They stay text if two would become equal.
    """
    if not all(re.fullmatch(r"-?\d+(\.0*)?", level, flags=re.ASCII) for level in levels):
        return tuple(levels)
    integers = tuple(int(level.split(".")[0]) for level in levels)
    return integers if len(set(integers)) == len(integers) else tuple(levels)
