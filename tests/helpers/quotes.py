"""Reading tables of pages, and sentences that quote their figures.

A quote is a sentence of a page with `{}` in the place of each figure, and the values that today's
tables give. Figures may be numbers or words up to sixteen. They have to agree with the values as
far as they are written: 1.6 with 1.61. The files quoted_*.py list the quotes.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from math import prod
from pathlib import Path

ROOT = Path(__file__).parents[2]
WORDS = [
    *("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"),
    *("eleven", "twelve", "thirteen", "fourteen", "fifteen", "sixteen"),
]
NUMBER = r"[-+]?(?:\d+(?: \d{3})*(?:\.\d+)?(?:e[+-]\d+)?)"
FIGURE = rf"({NUMBER}|{'|'.join(WORDS[1:])})"


@dataclass(frozen=True)
class Quote:
    """A sentence of a page and its expected figures."""

    text: str
    values: tuple[float, ...]


def quote(text: str, *values: float) -> Quote:
    """A sentence with as many places as there are values."""
    assert text.count("{}") == len(values), text
    return Quote(text, values)


@cache
def read(page: str) -> str:
    """The text of a page; pages of results are named without their folder."""
    return (ROOT / page).read_text(encoding="utf-8")


def pattern(text: str) -> str:
    """A regular expression for a sentence with any line breaks."""
    parts = [r"\s+".join(map(re.escape, re.split(r"\s+", part))) for part in text.split("{}")]
    return FIGURE.join(parts)


def figures(page: str, text: str) -> list[str]:
    """The figures of a sentence as written on a page, which must have it exactly once."""
    matches = re.findall(pattern(text), read(page))
    assert len(matches) == 1, f"{page} has {len(matches)} times: {text}"
    return [matches[0]] if isinstance(matches[0], str) else list(matches[0])


def value(figure: str) -> float:
    """A figure as a number."""
    plain = figure.replace(" ", "")
    return float(WORDS.index(plain)) if plain in WORDS else float(plain)


def agrees(figure: str, exact: float) -> bool:
    """Whether a figure is the rounded value, with a tolerance for ratios of rounded cells."""
    decimals = len(figure.partition(".")[2])
    return abs(value(figure) - exact) <= 0.5 * 10.0**-decimals * 1.02


@dataclass(frozen=True)
class Table:
    """A table of a page, as text."""

    columns: list[str]
    rows: list[list[str]]

    def row(self, *labels: str) -> list[str]:
        """The row that begins with these labels."""
        (row,) = [r for r in self.rows if tuple(r[: len(labels)]) == labels]
        return row

    def at(self, *labels_and_column: str) -> float:
        """The first number of a cell: labels of the row, then the column."""
        *labels, column = labels_and_column
        return number(self.row(*labels)[self.columns.index(column)])

    def numbers(self, column: str, *labels: str) -> list[float]:
        """The numbers of a column, of rows that begin with the labels if any are passed."""
        place = self.columns.index(column)
        rows = [r for r in self.rows if tuple(r[: len(labels)]) == labels]
        return [number(row[place]) for row in rows if re.match(NUMBER, row[place])]

    def without(self, *labels: str) -> "Table":
        """The table without rows whose label begins with one of these texts."""
        return Table(self.columns, [row for row in self.rows if not row[0].startswith(labels)])


def number(cell: str) -> float:
    """The first number of a cell."""
    match = re.match(NUMBER, cell)
    assert match, f"no number in the cell {cell!r}"
    return float(match[0].replace(" ", ""))


def table(page: str, after: str = "", place: int = 0) -> Table:
    """The table of a page of results, the first one after some text or a later one."""
    text = read(f"docs/results/{page}" if "/" not in page and page != "README.md" else page)
    text = text[text.index(after) :]
    lines = re.findall(r"(?:^\|.*\n)+", text, flags=re.MULTILINE)[place].splitlines()
    cells = [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines]
    return Table(cells[0], cells[2:])


def geometric_mean(ratios: list[float]) -> float:
    """The geometric mean."""
    return prod(ratios) ** (1 / len(ratios))


def percent_above(figure: float, base: float) -> float:
    """Percentage by which a figure exceeds another one."""
    return 100 * (figure / base - 1)


def over_best(scores: Table, method: str) -> dict[str, float]:
    """Loss of a method divided by the best loss, for sets on which it is not the best."""
    ratios = {}
    for name, *cells in scores.without("mean rank").rows:
        losses = dict(zip(scores.columns[1:], map(number, cells), strict=True))
        best = min(losses.values())
        if losses[method] > best:
            ratios[name] = losses[method] / best
    return ratios


def below_best(scores: Table, method: str) -> dict[str, float]:
    """Gap to the highest score, for sets on which a method is not the best."""
    gaps = {}
    for name, *cells in scores.without("mean rank").rows:
        values = dict(zip(scores.columns[1:], map(number, cells), strict=True))
        if values[method] < max(values.values()):
            gaps[name] = max(values.values()) - values[method]
    return gaps


@dataclass(frozen=True)
class Copy:
    """A table of a page that repeats columns of a measured table; `columns` maps their names."""

    page: str
    after: str
    source: Callable[[], list[Table]]
    columns: dict[str, str]
    labels: int = 1
    prefix: tuple[str, ...] = ()
