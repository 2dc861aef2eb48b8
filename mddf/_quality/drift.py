"""Drift: how the columns of later rows differ from the training rows, `mddf.drift`."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any
from zlib import crc32

import numpy as np
from scipy.special import bdtr, bdtrc, chdtrc, erfc

from mddf._base.elementary import log
from mddf._base.messages import short
from mddf._quality.columns import (
    DataColumn,
    Kind,
    names_of_columns,
    read_column,
    read_columns,
    read_tables,
    with_infinities,
)
from mddf._quality.table_text import RecordTable

# Probability that a batch without drift has a column with a verdict other than "stable". Batches
# are often compared every day; one false alarm in three years is bearable. With 0.01 it would be
# one in three months. The chi-squared distribution is only approximate in its tail.
_FALSE_ALARMS = 0.001
# A significant change is "drift" from this population stability index (PSI) on. It is about a
# shift of the mean by 0.15 standard deviations, or of a share from 20 % to 26 %. Not tuned; the
# usual limits of 0.1 and 0.25 would leave out a shift of 0.3 standard deviations (0.08).
_DRIFT = 0.02
# Numbers are compared by ten bins with equally many training rows, as is usual for the PSI.
_N_BINS = 10
# Categories with a share of their own; all rarer ones share a bin, so that rare categories do not
# add noise.
_MAX_SHARES = 20
# Categories that are remembered with their counts. With more, a column names rows, and its
# categories are compared in groups by a hash of their texts.
_MAX_LEVELS = 10_000
# Least expected rows of a bin in both tables. With 5, which is usual for the chi-squared test,
# rare values caused 6 false alarms in 800 batches of 50 and 200 rows.
_MIN_EXPECTED = 10
# With two bins, the binomial test of one bin is the better one: it is not approximate.
_MIN_BINS = 3
_CELLS_OF_KIND = {"number": "numbers", "date": "dates", "category": "text or categories"}
_VERDICTS = ("stable", "some drift", "drift")


@dataclass(frozen=True)
class ColumnDrift:
    """A column of later rows, compared with the training rows.

    Attributes
    ----------
    column : str
    psi : float
        Population stability index, the size of the change: the sum over bins of (new share -
        training share) times the logarithm of their ratio. Missing cells are a bin.
    p_value : float
        Probability of a change of this size in any column of the table without drift.
    verdict : {"stable", "some drift", "drift"}
        "stable" unless the p-value is below 0.001; then "drift" from a PSI of 0.02 on. A column
        with infinite values that had none in training has "drift".
    missing_in_training, missing : float
        Shares of missing cells.
    unknown : float
        Share of categories that are not in the training rows, NaN for numeric columns and for
        columns of more than 10 000 categories, which are not kept.
    infinite : float
        Share of infinite values, which models refuse.

    Examples
    --------
    >>> from mddf import ColumnDrift
    >>> ColumnDrift("age", 0.02, 0.7, "stable", 0.0, 0.0, float("nan"), 0.0).verdict
    'stable'
    """

    column: str
    psi: float
    p_value: float
    verdict: str
    missing_in_training: float
    missing: float
    unknown: float
    infinite: float


class DriftTable(RecordTable[ColumnDrift]):
    """Drift of each column, the most serious first. ``print`` shows it as a table.

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
        super().__init__(
            sorted(columns, key=lambda column: (-_VERDICTS.index(column.verdict), -column.psi))
        )

    @property
    def drifted(self) -> list[str]:
        """Names of the columns whose verdict is "drift"."""
        return [column.column for column in self if column.verdict == "drift"]


@dataclass(frozen=True)
class _Counts:
    """Rows by bin: bins in an order, cells that no bin has, infinite and missing cells."""

    bins: np.ndarray
    n_other: int = 0
    n_infinite: int = 0
    n_missing: int = 0

    @property
    def all_bins(self) -> np.ndarray:
        return np.append(self.bins, [self.n_other, self.n_infinite, self.n_missing])


@dataclass(frozen=True)
class _ColumnReference:
    """Counts of the training rows of a column.

    `limits` are the upper limits of the bins of numbers, None for categories; there is a bin above
    the last one. `levels` are the categories by bin, None if there are too many: bins are then
    groups by a hash.
    """

    name: str
    kind: Kind
    counts: tuple[int, ...] = ()
    n_infinite: int = 0
    n_missing: int = 0
    limits: tuple[float, ...] | None = None
    levels: tuple[str, ...] | None = None

    @classmethod
    def from_column(cls, column: DataColumn) -> _ColumnReference:
        if column.numbers is not None:
            finite = column.numbers[np.isfinite(column.numbers)]
            reference = cls(column.name, column.kind, limits=_limits_of_bins(finite))
        else:
            texts = tuple(sorted(map(str, column.levels)))
            levels = texts if len(texts) <= _MAX_LEVELS else None
            reference = cls(column.name, column.kind, levels=levels)
        counts = reference._count(column, reference.levels or ())
        return replace(
            reference,
            counts=tuple(counts.bins.tolist()),
            n_infinite=counts.n_infinite,
            n_missing=counts.n_missing,
        )

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> _ColumnReference:
        """Make a column from JSON, which has lists in place of tuples."""
        fields: dict[str, Any] = {
            name: tuple(value) if isinstance(value, list) else value
            for name, value in state.items()
        }
        return cls(**fields)

    def _count(self, column: DataColumn, levels: Sequence[str]) -> _Counts:
        """Count the cells of a column by bin; `levels` are the categories with a bin."""
        n_missing = int(np.count_nonzero(column.missing))
        if self.limits is not None:
            n_bins = len(self.limits) + 1
            if column.numbers is None:  # text in the place of numbers
                return _Counts(np.zeros(n_bins, int), column.n_present, 0, n_missing)
            finite = column.numbers[np.isfinite(column.numbers)]
            places = np.searchsorted(np.array(self.limits), finite, side="left")
            n_infinite = int(np.count_nonzero(np.isinf(column.numbers)))
            bins = np.bincount(places, minlength=n_bins)
            return _Counts(bins, n_infinite=n_infinite, n_missing=n_missing)
        texts = self._texts(column)
        counts = np.bincount(column.value_codes[~column.missing], minlength=len(texts))
        if self.levels is None:
            groups = np.array([crc32(text.encode()) % _MAX_SHARES for text in texts], int)
            bins = np.bincount(groups, counts, minlength=_MAX_SHARES).astype(int)
            return _Counts(bins, n_missing=n_missing)
        place_of = {text: place for place, text in enumerate(levels)}
        bins = np.zeros(len(levels), int)
        for text, count in zip(texts, counts.tolist(), strict=True):
            bins[place_of[text]] += count
        return _Counts(bins, n_missing=n_missing)

    def _texts(self, column: DataColumn) -> list[str]:
        """Texts of the different values of a column of categories, by their codes."""
        if column.codes is not None:
            return [str(level) for level in column.levels]
        assert column.numbers is not None
        known_texts = set(self.levels or ())
        # NaN is the last value, and is counted as missing.
        return [_category_of(number, known_texts) for number in np.unique(column.numbers).tolist()]

    def compare(self, column: DataColumn, n_columns: int) -> ColumnDrift:
        """Compare a column of later rows, one of `n_columns`."""
        self._check_dates(column)
        training = _Counts(np.array(self.counts, int), 0, self.n_infinite, self.n_missing)
        unknown = float("nan")
        if self.levels is None:
            later = self._count(column, ())
        else:
            new = sorted({*self._present_texts(column)} - {*self.levels})
            texts = [*self.levels, *new]
            later = self._count(column, texts)
            n_rows = max(1, int(later.all_bins.sum()))
            unknown = float(later.bins[len(self.levels) :].sum()) / n_rows
            training, later = _with_shares_of_the_most_frequent(training, later, texts)
        psi = _psi(training.all_bins, later.all_bins)
        are_ordered = self.limits is not None
        p_value = min(1.0, n_columns * _p_value(training, later, are_ordered=are_ordered))
        verdict = "stable"
        if p_value < _FALSE_ALARMS:
            verdict = "drift" if psi >= _DRIFT else "some drift"
        if later.n_infinite and not training.n_infinite:
            verdict = "drift"
        n_training, n_rows = training.all_bins.sum(), later.all_bins.sum()
        return ColumnDrift(
            self.name,
            psi,
            p_value,
            verdict,
            missing_in_training=float(training.n_missing / n_training),
            missing=float(later.n_missing / n_rows),
            unknown=unknown,
            infinite=float(later.n_infinite / n_rows),
        )

    def _check_dates(self, column: DataColumn) -> None:
        """Refuse dates in the place of other cells, and other cells in the place of dates.

        Numbers in the place of categories are compared, and columns without values fit any kind.
        """
        has_values = any(self.counts) and column.n_present
        if has_values and self.kind != column.kind and "date" in (self.kind, column.kind):
            raise ValueError(
                f"X must hold {_CELLS_OF_KIND[self.kind]} in column {self.name!r}, as in the "
                f"training rows; got {_CELLS_OF_KIND[column.kind]}"
            )

    def _present_texts(self, column: DataColumn) -> list[str]:
        texts = self._texts(column)
        return [texts[code] for code in np.unique(column.value_codes[~column.missing])]


def _with_shares_of_the_most_frequent(
    training: _Counts, later: _Counts, texts: Sequence[str]
) -> tuple[_Counts, _Counts]:
    """Join the bins of rare categories.

    Frequent ones are chosen by the counts of both tables together, and by a hash of their texts if
    these are equal. The most frequent categories of one table alone would be less frequent in the
    other one by chance.
    """
    n_new = len(later.bins) - len(training.bins)
    bins = [np.append(training.bins, np.zeros(n_new, int)), later.bins]
    hashes = [crc32(text.encode()) for text in texts]
    order = np.lexsort([hashes, -(bins[0] + bins[1])])
    frequent, rare = order[:_MAX_SHARES], order[_MAX_SHARES:]
    joined = [np.append(counts[frequent], counts[rare].sum()) for counts in bins]
    return (
        _Counts(joined[0], training.n_other, training.n_infinite, training.n_missing),
        _Counts(joined[1], later.n_other, later.n_infinite, later.n_missing),
    )


def _limits_of_bins(numbers: np.ndarray) -> tuple[float, ...]:
    """Limits of bins of numbers: below the smallest one, between quantiles, above the largest one.

    As the limits of a model's bins, they lie halfway between two numbers. Numbers in single
    precision are therefore in the bins of the doubles they were made of.
    """
    if not len(numbers):
        return ()
    values, counts = np.unique(numbers, return_counts=True)
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


def _psi(training: np.ndarray, later: np.ndarray) -> float:
    """Population stability index of counts."""
    occurs = (training > 0) | (later > 0)
    # Half a row in each bin keeps the logarithm finite where a bin is empty in one table.
    p = (training[occurs] + 0.5) / (training.sum() + 0.5 * occurs.sum())
    q = (later[occurs] + 0.5) / (later.sum() + 0.5 * occurs.sum())
    return float(((q - p) * (log(q) - log(p))).sum())


def _p_value(training: _Counts, later: _Counts, *, are_ordered: bool) -> float:
    """Probability of counts that differ as much, if both tables have the same distribution.

    Each of the tests finds another change, and gets an equal share of the probability of a false
    alarm.
    """
    counts = np.stack([training.all_bins, later.all_bins])
    counts = counts[:, counts.any(axis=0)]
    p_values = [_p_value_of_one_bin(counts), _p_value_of_all_bins(counts)]
    if are_ordered:
        p_values.append(_p_value_of_a_shift(np.stack([training.bins, later.bins])))
    return min(1.0, len(p_values) * min(p_values))


def _p_value_of_one_bin(counts: np.ndarray) -> float:
    """Binomial test of each bin, which also holds for few rows.

    Given the sum of a bin, its later rows have a hypergeometric distribution, whose tails are
    lighter.
    """
    both = counts.sum(axis=0)
    later = counts[1]
    share = later.sum() / both.sum()
    lower = bdtr(later, both, share)
    upper = np.where(later == 0, 1.0, bdtrc(np.maximum(later, 1) - 1, both, share))
    return 2.0 * len(both) * float(np.minimum(lower, upper).min())


def _p_value_of_all_bins(counts: np.ndarray) -> float:
    """Chi-squared test."""
    counts = _joined_to_expected(counts)
    if counts.shape[1] < _MIN_BINS:
        return 1.0
    expected = counts.sum(axis=0) * counts.sum(axis=1, keepdims=True) / counts.sum()
    statistic = float(((counts - expected) ** 2 / expected).sum())
    return float(chdtrc(counts.shape[1] - 1, statistic))


def _p_value_of_a_shift(counts: np.ndarray) -> float:
    """Test of the mean rank of the later rows, which finds smaller shifts of numbers.

    Numbers of one bin have equal ranks.
    """
    counts = _joined_to_expected(counts)
    if counts.shape[1] < _MIN_BINS:
        return 1.0
    both = counts.sum(axis=0)
    n_later, n_rows = counts[1].sum(), both.sum()
    ranks = np.cumsum(both) - (both - 1) / 2
    centered = ranks - (n_rows + 1) / 2
    spread = float(both @ centered**2) / (n_rows - 1)
    variance = n_later * (n_rows - n_later) / n_rows * spread
    return float(erfc(abs(float(counts[1] @ centered)) / np.sqrt(2 * variance)))


def _joined_to_expected(counts: np.ndarray) -> np.ndarray:
    """Join bins that follow each other until each has enough expected rows in both tables.

    Only the sums over both tables decide, so that the counts of one keep their distribution.
    """
    both = counts.sum(axis=0)
    # More rows than there are if one table has none, so that all bins are joined.
    least = _MIN_EXPECTED * both.sum() / max(counts.sum(axis=1).min(), 0.5)
    starts = [0]
    n_rows = 0
    for place, n in enumerate(both.tolist()):
        if n_rows >= least:
            starts.append(place)
            n_rows = 0
        n_rows += n
    if n_rows < least and len(starts) > 1:
        starts.pop()
    return np.add.reduceat(counts, starts, axis=1)


class DriftReference:
    """Summary of training rows, with which later rows are compared.

    It is small, holds no rows, and can be stored next to the model as text. It holds the
    categories with their counts, or counts of 20 groups of more than 10 000 categories, and ten
    quantiles of each numeric column.

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
        table, _ = read_tables(with_infinities(X))
        return cls(
            [
                _ColumnReference.from_column(column)
                for column in read_columns(table, allow_infinite=True)
            ]
        )

    def compare(self, X: Any) -> DriftTable:
        """Compare later rows, by the names of the columns, or by their order in an array.

        Parameters
        ----------
        X : array or data frame of shape (n_rows, n_columns)
            Data frames may have further columns. Columns of dates must hold dates, as in training.

        Returns
        -------
        DriftTable
        """
        table, _ = read_tables(with_infinities(X))
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
                reference_of[name].compare(
                    read_column(table, c, name, allow_infinite=True), len(expected)
                )
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

    Each column gets the size of its change, the population stability index (PSI), a p-value, and
    its shares of missing cells, unknown categories and infinite values. No labels are needed.
    Drift of a column does not always lower the accuracy, but calls for a look.

    Parameters
    ----------
    X_train : array or data frame of shape (n_train, n_columns)
        Training rows. :class:`DriftReference` keeps a summary of them in their place.
    X : array or data frame of shape (n_rows, n_columns)
        Later rows, such as the rows of one day.

    Returns
    -------
    DriftTable
        The columns with the most serious verdict and the largest PSI first.

    Notes
    -----
    Numbers and dates are compared by ten bins with equally many training rows and two bins outside
    of their range, categories by the 20 most frequent in both tables and all others together. More
    than 10 000 categories are compared in 20 groups by a hash of their texts.
    The p-value is the least of a chi-squared test of all bins, binomial tests of each bin and, for
    numbers, a test of the mean rank, times the number of tests and columns. A column is "stable"
    unless it is below 0.001, so that at most one of a thousand batches without drift has an alarm.
    A significant change is "drift" from a PSI of 0.02 on, which is about a shift by 0.15 standard
    deviations, and "some drift" below.

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
