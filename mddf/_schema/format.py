"""Format of a file, and columns whose content the user declares."""

from __future__ import annotations

from dataclasses import dataclass


class TableError(ValueError):
    """Error about an unusable table; its message names the file and the place in it.

    `problem` is the message without the advice, which names options of commands.
    """

    def __init__(self, problem: str, advice: str = "") -> None:
        super().__init__(f"{problem}: {advice}" if advice else problem)
        self.problem = problem


@dataclass(frozen=True)
class Format:
    """Format of a file, and columns whose content the user declares.

    Parameters
    ----------
    sep : str
        Character between the cells of a CSV file; detected if empty.
    decimal, thousands : str
        Marks within numbers that are written as text.
    missing : tuple of str
        Texts of missing cells, in addition to `cells.MISSING`.
    text, numbers, dates : tuple of str
        Names of columns that hold categories, numbers or dates.
    encoding : str
        Encoding of a CSV file.
    day_first : bool
        Whether 3/4/2024 is in April.
    elapsed : tuple of str
        Names of columns of dates whose days since 1970 are also a feature.
    """

    sep: str = ""
    decimal: str = "."
    missing: tuple[str, ...] = ()
    text: tuple[str, ...] = ()
    numbers: tuple[str, ...] = ()
    dates: tuple[str, ...] = ()
    thousands: str = ""
    encoding: str = "utf-8"
    day_first: bool = False
    elapsed: tuple[str, ...] = ()


PLAIN = Format()
