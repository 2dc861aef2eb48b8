"""Drift: how the columns of later rows differ from the training rows, `mddf.drift`."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from typing import TYPE_CHECKING, Any

import numpy as np

from mddf._base.elementary import log
from mddf._base.messages import short
from mddf._quality.columns import DataColumn, column_names, read_column, read_columns, read_tables
from mddf._quality.table_text import as_frame, as_text

if TYPE_CHECKING:
    import pandas

# Usual limits of the population stability index (PSI): below 0.1 a column is stable, and from 0.25
# on it has changed.
_SOME_DRIFT = 0.1
_DRIFT = 0.25
# Numbers are compared by ten bins with equally many training rows, as is usual for the PSI.
_N_BINS = 10
# Categories with a share of their own; all rarer ones share a bin, so that rare categories do not
# add noise.
_MAX_SHARES = 20
# Categories that are remembered, to count unknown ones. With more, a column names rows.
_MAX_LEVELS = 10_000
# A PSI is noise below this many standard deviations above its mean without drift.
_DEVIATIONS = 4.0


@dataclass(frozen=True)
class ColumnDrift:
    """A column of later rows, compared with the training rows.

    Attributes
    ----------
    column : str
    psi : float
        Population stability index: the sum over bins of (new share - training share) times the
        logarithm of their ratio. Missing cells and unknown categories are bins.
    verdict : {"stable", "some drift", "drift"}
        By the limits 0.1 and 0.25, which are raised for few rows, whose PSI is large by chance.
    missing_in_training, missing : float
        Shares of missing cells.
    unknown : float
        Share of categories that are not in the training rows, NaN for numeric columns.

    Examples
    --------
    >>> from mddf import ColumnDrift
    >>> ColumnDrift("age", 0.02, "stable", 0.0, 0.0, float("nan")).verdict
    'stable'
    """

    column: str
    psi: float
    verdict: str
    missing_in_training: float
    missing: float
    unknown: float


class DriftTable(Sequence[ColumnDrift]):
    """Drift of each column, the largest first. ``print`` shows it as a table.

    Parameters
    ----------
    columns : sequence of ColumnDrift

    Examples
    --------
    >>> import numpy as np
    >>> from mddf import drift
    >>> X = np.random.default_rng(0).normal(size=(500, 2))
    >>> [row.verdict for row in drift(X, X + [0, 2])]
    ['drift', 'stable']
    """

    def __init__(self, columns: Sequence[ColumnDrift]) -> None:
        self._columns = tuple(sorted(columns, key=lambda column: -column.psi))

    def __len__(self) -> int:
        """Return the number of columns."""
        return len(self._columns)

    def __getitem__(self, place):  # type: ignore[no-untyped-def]
        """Return a column, or some of them for a slice."""
        if isinstance(place, slice):
            return DriftTable(self._columns[place])
        return self._columns[place]

    def __repr__(self) -> str:
        """Show the columns as a table."""
        return str(self)

    def __str__(self) -> str:
        """Show the columns as a table."""
        return as_text(self.to_dicts()) if self._columns else "no columns"

    @property
    def drifted(self) -> list[str]:
        """Names of the columns whose verdict is "drift"."""
        return [column.column for column in self._columns if column.verdict == "drift"]

    def to_dicts(self) -> list[dict[str, object]]:
        """Convert the columns to dictionaries, one for each row of the table."""
        return [asdict(column) for column in self._columns]

    def to_frame(self) -> pandas.DataFrame:
        """Convert the table to a data frame of pandas."""
        return as_frame(self.to_dicts(), [field.name for field in fields(ColumnDrift)])


@dataclass(frozen=True)
class _ColumnReference:
    """Shares of a column's bins in the training rows.

    `limits` are the upper limits of the bins of numbers, None for categories. `frequent` are the
    categories with a bin of their own, and `levels` all categories, None if there are too many.
    `counts` are the training rows by bin: these bins, rarer categories, unknown ones, missing.
    """

    name: str
    counts: tuple[int, ...]
    limits: tuple[float, ...] | None = None
    frequent: tuple[str, ...] = ()
    levels: tuple[str, ...] | None = ()

    @classmethod
    def from_column(cls, column: DataColumn) -> _ColumnReference:
        if column.numbers is not None:
            present = column.numbers[~column.missing]
            limits: tuple[float, ...] = ()
            if len(present):
                quantiles = np.quantile(
                    present, np.arange(1, _N_BINS) / _N_BINS, method="inverted_cdf"
                )
                # The last limit is the largest value: without it, a constant column has no limit.
                limits = tuple(np.unique([*quantiles, present.max()]).tolist())
            reference = cls(column.name, (), limits=limits)
        else:
            assert column.codes is not None
            counts = np.bincount(column.codes[column.codes >= 0], minlength=len(column.levels))
            texts = [str(level) for level in column.levels]
            # Equally frequent categories are sorted by name.
            order = sorted(range(len(texts)), key=lambda code: (-counts[code], texts[code]))
            levels = tuple(sorted(texts)) if len(texts) <= _MAX_LEVELS else None
            frequent = tuple(texts[code] for code in order[:_MAX_SHARES])
            reference = cls(column.name, (), frequent=frequent, levels=levels)
        counts = np.bincount(reference.bins(column), minlength=reference.n_bins)
        return cls(
            column.name, tuple(counts.tolist()), reference.limits, reference.frequent,
            reference.levels,
        )  # fmt: skip

    @property
    def n_bins(self) -> int:
        n_own = len(self.frequent) if self.limits is None else len(self.limits)
        return n_own + 3

    def bins(self, column: DataColumn) -> np.ndarray:
        """Bin of each row: own bins, rarer categories or larger numbers, unknown, missing."""
        rarer = self.n_bins - 3
        if self.limits is not None:
            if column.numbers is None:
                # Text in the place of numbers is unknown.
                return np.where(column.missing, rarer + 2, rarer + 1)
            places = np.searchsorted(np.array(self.limits), column.numbers, side="left")
            return np.where(column.missing, rarer + 2, places)
        texts = column.levels
        codes = column.codes
        if codes is None:
            assert column.numbers is not None
            present = column.numbers[~column.missing]
            numbers, inverse = np.unique(present, return_inverse=True)
            known_texts = {*self.frequent, *(self.levels or ())}
            texts = tuple(_category_of(number, known_texts) for number in numbers.tolist())
            codes = np.full(len(column.numbers), -1)
            codes[~column.missing] = inverse
        place_of = {text: place for place, text in enumerate(self.frequent)}
        known = None if self.levels is None else set(self.levels)
        bin_of_level = [
            place_of.get(str(text), rarer if known is None or str(text) in known else rarer + 1)
            for text in texts
        ]
        return np.array([*bin_of_level, rarer + 2], dtype=np.int64)[codes]

    def compare(self, column: DataColumn) -> ColumnDrift:
        """Compare a column of later rows."""
        counts = np.bincount(self.bins(column), minlength=self.n_bins)
        training = np.array(self.counts)
        n_training = int(training.sum())
        n_rows = int(counts.sum())
        psi, noise = _psi(training, counts)
        verdict = "stable"
        for name, limit in (("some drift", _SOME_DRIFT), ("drift", _DRIFT)):
            if psi >= max(limit, noise):
                verdict = name
        is_category = self.limits is None and self.levels is not None
        return ColumnDrift(
            self.name,
            psi,
            verdict,
            missing_in_training=self.counts[-1] / n_training,
            missing=int(counts[-1]) / n_rows,
            unknown=int(counts[-2]) / n_rows if is_category else float("nan"),
        )


def _category_of(number: float, known_texts: set[str]) -> str:
    """Category that a number stands for: "7.0" if it is known, else "7"."""
    text = str(number)
    is_whole = text not in known_texts and number.is_integer()
    return str(int(number)) if is_whole else text


def _column_from_state(state: dict[str, Any]) -> _ColumnReference:
    """Make a column from JSON, which has lists in place of tuples."""
    limits = state["limits"]
    levels = state["levels"]
    return _ColumnReference(
        state["name"],
        tuple(state["counts"]),
        limits=None if limits is None else tuple(limits),
        frequent=tuple(state["frequent"]),
        levels=None if levels is None else tuple(levels),
    )


def _psi(training: np.ndarray, later: np.ndarray) -> tuple[float, float]:
    """Population stability index of counts, and the largest one that chance explains."""
    occurs = (training > 0) | (later > 0)
    # Half a row in each bin keeps the logarithm finite where a bin is empty in one table.
    p = (training[occurs] + 0.5) / (training.sum() + 0.5 * occurs.sum())
    q = (later[occurs] + 0.5) / (later.sum() + 0.5 * occurs.sum())
    psi = float(((q - p) * (log(q) - log(p))).sum())
    # Without drift, PSI divided by 1/n + 1/m is about chi-squared, whose mean is the number of
    # free bins and whose variance is twice that.
    n_free = max(1, int(occurs.sum()) - 1)
    scale = 1 / training.sum() + 1 / later.sum()
    return psi, float(scale * (n_free + _DEVIATIONS * np.sqrt(2.0 * n_free)))


class DriftReference:
    """Summary of training rows, with which later rows are compared.

    It is small, holds no rows, and can be stored next to the model as text. It holds the
    categories and ten quantiles of each numeric column.

    Parameters
    ----------
    columns : sequence
        Made by :meth:`from_table` or :meth:`from_json`.

    Examples
    --------
    >>> import numpy as np
    >>> from mddf import DriftReference
    >>> X = np.random.default_rng(0).normal(size=(500, 2))
    >>> text = DriftReference.from_table(X).to_json()
    >>> DriftReference.from_json(text).compare(X + [0, 2]).drifted
    ['1']
    """

    def __init__(self, columns: Sequence[_ColumnReference]) -> None:
        self._columns = tuple(columns)

    @classmethod
    def from_table(cls, X: Any) -> DriftReference:
        """Summarise the training rows.

        Parameters
        ----------
        X : array or data frame of shape (n_rows, n_columns)
        """
        table, _ = read_tables(X)
        return cls([_ColumnReference.from_column(column) for column in read_columns(table)])

    def compare(self, X: Any) -> DriftTable:
        """Compare later rows, by the names of the columns, or by their order in an array.

        Parameters
        ----------
        X : array or data frame of shape (n_rows, n_columns)
            Data frames may have further columns.

        Returns
        -------
        DriftTable
        """
        table, _ = read_tables(X)
        names = column_names(table)
        expected = [reference.name for reference in self._columns]
        if absent := [name for name in expected if name not in names]:
            raise ValueError(
                "X must have the columns of the training rows, got none named "
                f"{absent[0]!r} among {short(names)}"
            )
        reference_of = {reference.name: reference for reference in self._columns}
        return DriftTable(
            [
                reference_of[name].compare(read_column(table, c, name))
                for c, name in enumerate(names)
                if name in reference_of
            ]
        )

    def to_json(self) -> str:
        """Convert the summary to text."""
        return json.dumps({"version": 1, "columns": [asdict(column) for column in self._columns]})

    @classmethod
    def from_json(cls, text: str) -> DriftReference:
        """Read the text of :meth:`to_json`.

        Parameters
        ----------
        text : str
        """
        try:
            state = json.loads(text)
            if state["version"] > 1:
                raise ValueError(f"a later version of mddf wrote it, {state['version']}")
            columns = [_column_from_state(column) for column in state["columns"]]
        except (KeyError, TypeError, ValueError) as error:
            raise ValueError(f"text must be written by DriftReference.to_json: {error}") from error
        return cls(columns)


def drift(X_train: Any, X: Any) -> DriftTable:
    """Compare the columns of later rows with the columns of the training rows.

    Each column gets its population stability index (PSI), its shares of missing cells, and its
    share of unknown categories. No labels are needed. Drift of a column does not always lower the
    accuracy, but calls for a look.

    Parameters
    ----------
    X_train : array or data frame of shape (n_train, n_columns)
        Training rows. :class:`DriftReference` keeps a summary of them in their place.
    X : array or data frame of shape (n_rows, n_columns)
        Later rows, such as the rows of one day.

    Returns
    -------
    DriftTable
        The columns with the largest PSI first.

    Notes
    -----
    Numbers and dates are compared by ten bins with equally many training rows, categories by the
    20 most frequent ones and all others together. A column is stable below a PSI of 0.1 and has
    drifted from 0.25 on. With few rows, a PSI is large by chance; the limits are then raised to
    four standard deviations above the mean of a PSI without drift.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> from mddf import drift
    >>> rng = np.random.default_rng(0)
    >>> city = rng.choice(["Rome", "Oslo"], 500)
    >>> X = pd.DataFrame({"age": rng.normal(40, 9, 500), "city": city})
    >>> later = X.assign(city="Bonn")
    >>> [(row.column, row.verdict, row.unknown) for row in drift(X, later)][0]
    ('city', 'drift', 1.0)
    """
    return DriftReference.from_table(X_train).compare(X)
