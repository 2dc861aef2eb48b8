"""Drift: how the columns of later rows differ from the training rows, `mddf.drift`."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from mddf._base.elementary import log
from mddf._base.messages import short
from mddf._quality.columns import (
    DataColumn,
    names_of_columns,
    read_column,
    read_columns,
    read_tables,
)
from mddf._quality.table_text import RecordTable

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


class DriftTable(RecordTable[ColumnDrift]):
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

    _record_type = ColumnDrift
    _empty_text = "no columns"

    def __init__(self, columns: Sequence[ColumnDrift]) -> None:
        super().__init__(sorted(columns, key=lambda column: -column.psi))

    @property
    def drifted(self) -> list[str]:
        """Names of the columns whose verdict is "drift"."""
        return [column.column for column in self if column.verdict == "drift"]


@dataclass(frozen=True)
class _ColumnReference:
    """Shares of a column's bins in the training rows.

    `limits` are the upper limits of the bins of numbers, None for categories; the first bin is
    below all numbers of training. `frequent` are the categories with a bin of their own, and
    `levels` all categories, None if there are too many. `counts` are the training rows by bin:
    these bins, rarer categories or larger numbers, unknown ones, missing. `n_alone` of the rarer
    categories have one training row.
    """

    name: str
    counts: tuple[int, ...]
    limits: tuple[float, ...] | None = None
    frequent: tuple[str, ...] = ()
    levels: tuple[str, ...] | None = ()
    n_alone: int = 0

    @classmethod
    def from_column(cls, column: DataColumn) -> _ColumnReference:
        if column.numbers is not None:
            limits = _limits_of_bins(
                np.unique(column.numbers[~column.missing], return_counts=True)
            )
            reference = cls(column.name, (), limits=limits)
        else:
            assert column.codes is not None
            counts = np.bincount(column.codes[~column.missing], minlength=len(column.levels))
            texts = [str(level) for level in column.levels]
            # Equally frequent categories are sorted by name.
            order = sorted(range(len(texts)), key=lambda code: (-counts[code], texts[code]))
            levels = tuple(sorted(texts)) if len(texts) <= _MAX_LEVELS else None
            frequent = tuple(texts[code] for code in order[:_MAX_SHARES] if counts[code] > 1)
            n_alone = 0 if levels is None else int(np.count_nonzero(counts == 1))
            reference = cls(column.name, (), None, frequent, levels, n_alone)
        counts = np.bincount(reference.bins(column), minlength=reference.n_bins)
        return replace(reference, counts=tuple(counts.tolist()))

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> _ColumnReference:
        """Make a column from JSON, which has lists in place of tuples."""
        fields: dict[str, Any] = {
            name: tuple(value) if isinstance(value, list) else value
            for name, value in state.items()
        }
        return cls(**fields)

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
        known_texts = {*self.frequent, *(self.levels or ())}
        if column.codes is not None:
            texts = [str(level) for level in column.levels]
        else:
            assert column.numbers is not None
            numbers = np.unique(column.numbers[~column.missing])
            texts = [_category_of(number, known_texts) for number in numbers.tolist()]
        place_of = {text: place for place, text in enumerate(self.frequent)}
        # Categories that are not remembered may be rare ones.
        other = rarer if self.levels is None else rarer + 1
        known = dict.fromkeys(known_texts, rarer) | place_of
        bin_of_level = np.array([*(known.get(text, other) for text in texts), rarer + 2])
        return bin_of_level[np.where(column.missing, -1, column.value_codes)]

    def compare(self, column: DataColumn) -> ColumnDrift:
        """Compare a column of later rows."""
        counts = np.bincount(self.bins(column), minlength=self.n_bins)
        training = np.array(self.counts)
        n_training = int(training.sum())
        n_rows = int(counts.sum())
        # As many later rows have an unknown category as training rows are alone with theirs (Good,
        # 1953). Fewer are no drift: later rows may be training rows.
        n_expected = min(self.n_alone, round(n_training * counts[-2] / n_rows))
        training[-3] -= n_expected
        training[-2] += n_expected
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


def _limits_of_bins(values_and_counts: tuple[np.ndarray, np.ndarray]) -> tuple[float, ...]:
    """Limits of bins of numbers: below the smallest one, between quantiles, above the largest one.

    As the limits of a model's bins, they lie halfway between two numbers. Numbers in single
    precision are therefore in the bins of the doubles they were made of.
    """
    values, counts = values_and_counts
    if not len(values):
        return ()
    ranks = np.arange(1, _N_BINS) / _N_BINS * counts.sum()
    places = np.searchsorted(np.cumsum(counts), ranks, side="left")
    places = np.unique(places[places < len(values) - 1])
    middle = values[places] + (values[places + 1] - values[places]) / 2
    margin = np.finfo(np.float32).eps * np.abs(values[[0, -1]])
    return tuple(np.unique([values[0] - margin[0], *middle, values[-1] + margin[1]]).tolist())


def _category_of(number: float, known_texts: set[str]) -> str:
    """Category that a number stands for: "7.0" if it is known, else "7"."""
    text = str(number)
    is_whole = text not in known_texts and number.is_integer()
    return str(int(number)) if is_whole else text


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
        names = names_of_columns(table)
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
        return json.dumps({"columns": [asdict(column) for column in self._columns]})

    @classmethod
    def from_json(cls, text: str) -> DriftReference:
        """Read the text of :meth:`to_json`.

        Parameters
        ----------
        text : str
        """
        try:
            columns = [
                _ColumnReference.from_state(column) for column in json.loads(text)["columns"]
            ]
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
    Numbers and dates are compared by ten bins with equally many training rows and two bins outside
    of their range, categories by the 20 most frequent ones and all others together. Unknown
    categories are expected as often as training rows are alone with theirs. A column is stable
    below a PSI of 0.1 and has drifted from 0.25 on. With few rows, a PSI is large by chance; the
    limits are then raised to four standard deviations above the mean of a PSI without drift.

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
