"""Rows that depend on each other: groups, and rows in the order of time."""

from __future__ import annotations

import argparse
import re
import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.model_selection import GroupShuffleSplit
from sklearn.utils.validation import has_fit_parameter

from mddf._quality.columns import read_columns, read_tables
from mddf._quality.copies import groups_of_copies
from mddf._resampling.time_order import TimeOrder, last_split

from . import rows
from .rows import LabelledRows
from .table_options import format_from

if TYPE_CHECKING:
    import pandas as pd

_GAP = re.compile(r"\s*(\d+(?:\.\d+)?)\s*(?:d|days?)?\s*")


def add_groups_option(parser: argparse.ArgumentParser, use: str) -> None:
    """Add the option for groups; `use` says what they are for."""
    parser.add_argument(
        "--groups", metavar="COLUMN", help=f"column of subjects, {use}; it is not a feature"
    )


def add_dependence_options(parser: argparse.ArgumentParser) -> None:
    """Add the options for groups and times."""
    add_groups_option(parser, "whose rows are held out together")
    parser.add_argument(
        "--time", metavar="COLUMN",
        help="column of times, a number or one of --dates, which is not a feature: the last rows "
        "are held out, and models are compared on rows that follow their training rows",
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


def _check_is_not_target(options: argparse.Namespace, option: str) -> None:
    if options.target is not None and getattr(options, option) == options.target:
        raise SystemExit(f"--{option} must not be the target, got {options.target!r}")


def gap(options: argparse.Namespace) -> float | str:
    """The gap as `TimeOrder` takes it."""
    return f"{options.gap} days" if options.gap and options.time in options.dates else options.gap


@dataclass(frozen=True)
class DependentRows:
    """Groups of the rows of a table, or their times, whose column is not a feature."""

    groups: np.ndarray | None = None
    times: pd.Series | None = None
    time_name: str | None = None
    gap: float | str = 0.0
    name_of_groups: str = ""  # for texts, such as "groups of 'patient'"

    @classmethod
    def from_options(
        cls,
        options: argparse.Namespace,
        groups: np.ndarray | None,
        times: pd.Series | None,
        kept: np.ndarray,  # numbers of the rows that the table keeps
    ) -> DependentRows:
        """The groups or times that options name, of the rows of a table."""
        return cls(
            None if groups is None else groups[kept],
            None if times is None else times.iloc[kept].reset_index(drop=True),
            options.time,
            gap(options),
            f"groups of {options.groups!r}",
        )

    @classmethod
    def from_copies(cls, X: pd.DataFrame) -> DependentRows:
        """Groups of rows that are copies or near-copies of each other, if there are many."""
        columns = read_columns(read_tables(X, None)[0])
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
        return cls(groups, name_of_groups="groups of copies")

    @property
    def n_groups(self) -> int | None:
        """Number of groups; None without groups."""
        return None if self.groups is None else len(np.unique(self.groups))

    @property
    def are_dependent(self) -> bool:
        """Whether rows depend on each other."""
        return self.groups is not None or self.times is not None

    def set_folds(self, model: BaseEstimator, settings: Iterable[tuple[str, Any]]) -> None:
        """Set the folds of a model to time order, unless the settings from --set have folds."""
        if "cv" in dict(settings):
            return
        if self.times is not None and "cv" in model.get_params(deep=False):
            model.set_params(cv=TimeOrder(self.time_name, gap=self.gap))

    def fit(self, model: BaseEstimator, rows: LabelledRows) -> BaseEstimator:
        """Fit a model to rows of the table, which keep their numbers as labels."""
        numbers = rows.X.index.to_numpy()
        # Models of other packages take no groups.
        if self.groups is not None and has_fit_parameter(model, "groups"):
            return model.fit(rows.X, rows.y, groups=self.groups[numbers])
        if self.times is None or not isinstance(model.get_params(deep=False).get("cv"), TimeOrder):
            return model.fit(rows.X, rows.y)
        # The model orders the rows by the column, and needs it in no later table.
        assert self.time_name is not None
        return model.fit(rows.X.assign(**{self.time_name: self.times[numbers]}), rows.y)

    def split(self, X: Any, share: float, seed: int) -> tuple[np.ndarray, np.ndarray]:
        """Training rows, and rows that are held out: whole groups, or the last rows in time."""
        if self.groups is not None:
            splitter = GroupShuffleSplit(1, test_size=share, random_state=seed)
            try:
                return next(splitter.split(X, groups=self.groups))
            except ValueError as error:
                raise SystemExit(f"--groups must leave groups to hold out: {error}") from None
        order = TimeOrder(self.times, gap=self.gap)
        train, held_out = last_split(order, X, share)
        if not len(train):
            raise SystemExit(f"--gap must leave rows to train on, got {self.gap}")
        return train, held_out


INDEPENDENT = DependentRows()


def read_groups(options: argparse.Namespace) -> np.ndarray | None:
    """Read the column of the groups; None without this option."""
    name = options.groups
    if name is None:
        return None
    _check_is_not_target(options, "groups")
    form = format_from(options)
    source = rows.read(options.table, form, [name])
    rows.check_names(f"--groups must be a column of {options.table}:", [name], source.names)
    from mddf._schema import cells

    values = cells.unpacked(source.cells[name])
    if values is None:
        raise SystemExit(f"--groups must be a column of texts, numbers or dates, got {name!r}")
    values = cells.without_missing(values, form)
    if values.null_count:
        row = int(np.asarray(values.is_null()).argmax())
        raise SystemExit(f"{source.place(row)}: --groups {name!r} must not be missing")
    return np.array(cells.as_texts(values).to_pylist(), dtype=object)


def read_times(options: argparse.Namespace) -> pd.Series | None:
    """Read the column of the times, numbers or dates; None without this option."""
    name = options.time
    if name is None:
        return None
    _check_is_not_target(options, "time")
    form = format_from(options)
    source = rows.read(options.table, form, [name])
    rows.check_names(f"--time must be a column of {options.table}:", [name], source.names)
    from mddf._schema.schema import describe

    with rows.exit_on_table_errors():
        times = describe(source, [name], name, form).features(source)[name]
    if times.dtype.kind not in "fM":
        raise SystemExit(
            f"--time must be a column of numbers, or one of --dates, got {name!r}: "
            f"--dates {name!r} reads dates"
        )
    if times.isna().any():
        place = source.place(int(times.isna().to_numpy().argmax()))
        raise SystemExit(f"{place}: --time {name!r} must not be missing")
    return times
