"""Rows that depend on each other: groups, and rows in the order of time."""

from __future__ import annotations

import argparse
import re
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.model_selection import GroupShuffleSplit

from mddf._quality.columns import read_columns, read_tables
from mddf._quality.copies import groups_of_copies
from mddf._resampling.time_order import TimeOrder, time_before
from mddf._schema import calendar

from . import rows
from .rows import TrainingTable
from .table_options import format_from

_GAP = re.compile(r"\s*(\d+(?:\.\d+)?)\s*(?:d|days?)?\s*")


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of `mddf fit`."""
    parser.add_argument(
        "--groups", metavar="COLUMN",
        help="column of subjects, whose rows are held out together; it is not a feature",
    )  # fmt: skip
    parser.add_argument(
        "--time", metavar="COLUMN",
        help="column of times, a number or one of --dates: the last rows are held out, and models "
        "are compared on rows that follow their training rows",
    )  # fmt: skip
    parser.add_argument(
        "--gap", type=_gap, default=0.0, metavar="DAYS",
        help="time left out before the rows that are held out, in days for --dates, else in the "
        "unit of the column (default: 0)",
    )  # fmt: skip


def _gap(text: str) -> float:
    match = _GAP.fullmatch(text)
    if match is None:
        raise argparse.ArgumentTypeError(f"must be a number of days from 0, got {text!r}")
    return float(match[1])


def check_options(options: argparse.Namespace) -> None:
    """End the command if options exclude each other."""
    if options.groups is not None and options.time is not None:
        raise SystemExit("--groups and --time cannot be used together")
    if options.gap and options.time is None:
        raise SystemExit("--gap needs --time")
    if options.groups is not None and options.groups == options.target:
        raise SystemExit(f"--groups must not be the target, got {options.groups!r}")


@dataclass(frozen=True)
class DependentRows:
    """Groups of the rows of a table, or the name of the feature that holds their times."""

    groups: np.ndarray | None = None
    name_of_groups: str = ""  # for texts, such as "groups of 'patient'"
    time_feature: str | None = None
    gap: float = 0.0

    @classmethod
    def from_options(
        cls, options: argparse.Namespace, table: TrainingTable, groups: np.ndarray | None
    ) -> DependentRows:
        """Find the feature of the times."""
        if options.time is None and groups is None:
            return INDEPENDENT if options.test is not None else cls._from_copies(table)
        if options.time is None:
            return cls(groups, f"groups of {options.groups!r}")
        name = options.time
        feature = calendar.part_name(name, "days") if name in options.dates else name
        if feature not in table.X:
            rows.check_names(
                f"--time must be a column of features of {options.table}:",
                [name],
                table.schema.names,
            )
        if feature not in table.X or table.X[feature].dtype.kind != "f":
            raise SystemExit(
                f"--time must be a column of numbers, or one of --dates, got {name!r}: "
                f"--dates {name!r} reads dates"
            )
        if table.X[feature].isna().any():
            row = int(table.X[feature].isna().to_numpy().argmax())
            raise SystemExit(f"--time must be known in every row, got none in row {row + 1}")
        return cls(time_feature=feature, gap=options.gap)

    @classmethod
    def _from_copies(cls, table: TrainingTable) -> DependentRows:
        """Groups of rows that are copies or near-copies of each other, if there are many."""
        columns = read_columns(read_tables(table.schema.columns_to_check(table.X), None)[0])
        groups = groups_of_copies([column for column in columns if not column.identifies_rows])
        if groups is None:
            return INDEPENDENT
        n_copies = len(groups) - len(np.unique(groups))
        warnings.warn(
            f"{n_copies} of {len(groups)} rows equal an earlier row, in all columns or all but "
            "one. They are held out together with that row, so that the scores are of rows that "
            "have no copy in training",
            UserWarning,
            stacklevel=2,
        )
        return cls(groups, "groups of copies")

    @property
    def n_groups(self) -> int | None:
        """Number of groups; None without groups."""
        return None if self.groups is None else len(np.unique(self.groups))

    @property
    def are_dependent(self) -> bool:
        """Whether rows depend on each other."""
        return self.groups is not None or self.time_feature is not None

    def set_folds(self, model: BaseEstimator) -> None:
        """Set the folds of a model to time order, if it has folds and rows have times."""
        if self.time_feature is not None and "cv" in model.get_params(deep=False):
            model.set_params(cv=TimeOrder(self.time_feature, gap=self.gap))

    def fit_arguments(self, X: Any) -> dict[str, np.ndarray]:
        """Arguments of fit for rows of the table, which keep their numbers as labels."""
        return {} if self.groups is None else {"groups": self.groups[X.index.to_numpy()]}

    def split(self, X: Any, share: float, seed: int) -> tuple[np.ndarray, np.ndarray]:
        """Training rows, and rows that are held out: whole groups, or the last rows in time."""
        if self.groups is not None:
            splitter = GroupShuffleSplit(1, test_size=share, random_state=seed)
            try:
                return next(splitter.split(X, groups=self.groups))
            except ValueError as error:
                raise SystemExit(f"--groups must leave groups to hold out: {error}") from None
        times = X[self.time_feature].to_numpy()
        start = time_before(times, share)
        train = np.flatnonzero(start - times > self.gap)
        if not len(train):
            raise SystemExit(f"--gap must leave rows to train on, got {self.gap:g}")
        return train, np.flatnonzero(times >= start)


INDEPENDENT = DependentRows()


def read_groups(options: argparse.Namespace) -> np.ndarray | None:
    """Read the column of the groups; None without this option."""
    from mddf._schema import cells

    name = options.groups
    if name is None:
        return None
    form = format_from(options)
    source = rows.read(options.table, form, [name])
    rows.check_names(f"--groups must be a column of {options.table}:", [name], source.names)
    values = cells.unpacked(source.cells[name])
    if values is None:
        raise SystemExit(f"--groups must be a column of texts, numbers or dates, got {name!r}")
    values = cells.without_missing(values, form)
    if values.null_count:
        row = int(np.asarray(values.is_null()).argmax())
        raise SystemExit(f"{source.place(row)}: --groups {name!r} must not be missing")
    return np.array(cells.as_texts(values).to_pylist(), dtype=object)
