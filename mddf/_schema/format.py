"""Marks of a file, and columns whose content the user declares."""

from __future__ import annotations

from dataclasses import dataclass


class TableError(ValueError):
    """A table that cannot be used; the message names the file and the place in it."""


@dataclass(frozen=True)
class Format:
    """Marks of a file, and columns whose content the user declares.

    Parameters
    ----------
    sep : str
        Character between the cells of a CSV file; it is detected if this is empty.
    decimal, thousands : str
        Marks within numbers that are written as text.
    missing : tuple of str
        Cells that count as missing, in addition to those of `cells.MISSING`.
    text, numbers, dates : tuple of str
        Names of columns that hold categories, numbers or dates.
    encoding : str
        Encoding of a CSV file.
    day_first : bool
        Whether 3/4/2024 is in April.
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


PLAIN = Format()
