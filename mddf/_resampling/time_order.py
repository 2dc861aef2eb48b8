"""Folds in time order: forward chaining with a gap."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from datetime import timedelta
from numbers import Integral, Real
from typing import Any

import narwhals.stable.v1 as nw
import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.model_selection import BaseCrossValidator

from mddf._base.messages import nearest, short
from mddf._base.validation import Within, finite, is_boolean
from mddf._input.calendar import (
    are_dates,
    array_microseconds,
    holds_dates,
    series_microseconds,
)
from mddf._input.cell_values import missing_cells
from mddf._input.chunked import ChunkedFrame
from mddf._input.date_columns import TimeColumn
from mddf._input.table import Table
from mddf._resampling.folds import check_groups, is_splitter
from mddf._targets.target_validation import plain_array

_SPLITS = Within(Integral, 2, None, closed="left")
_GAP = finite()
_DURATION = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([a-z]+)\s*", re.IGNORECASE)
_WORDS_BY_SECONDS = {
    1: ("s", "sec", "secs", "second", "seconds"),
    60: ("min", "mins", "minute", "minutes"),
    3600: ("h", "hr", "hrs", "hour", "hours"),
    86_400: ("d", "day", "days"),
    604_800: ("w", "wk", "wks", "week", "weeks"),
}
_SECONDS = {word: seconds for seconds, words in _WORDS_BY_SECONDS.items() for word in words}
_NO_UNITS = ("generic", "M", "Y")


# Time of each sample as a number, and whether these are dates, in microseconds.
_Times = tuple[np.ndarray, bool]


class TimeOrder(BaseCrossValidator):
    """Splits in time order: each trains on the past and holds out later samples.

    The samples are cut by their times into ``n_splits + 1`` blocks of about equal size. Each block
    but the first is held out once, and the samples before it are its training samples (forward
    chaining). Samples of equal time stay together. If it is the `cv` of an estimator of this
    package, all decisions and out-of-fold scores of the fit come from models of the past.

    Parameters
    ----------
    time : str, int, array of shape (n_samples,) or None, default=None
        Name of a column of X if X is a data frame, number of a column of X, or the times
        themselves: numbers, or dates and times. None: the samples are in the order of time.
    n_splits : int, default=5
        Number of splits, at least 2.
    gap : float, timedelta or str, default=0
        The time between training samples and held-out samples is longer than this. For dates, a
        timedelta or text such as ``"7 days"``, ``"12h"`` or ``"30min"``, in seconds, minutes,
        hours, days or weeks; for numbers, a number. If `time` is None, the number of samples that
        are left out between the two.
    as_feature : bool, default=False
        Whether the column `time` is also a feature of estimators of this package. False: it only
        orders the samples. Data frames to predict then need not have it; in an array, its cells
        count as missing.

    See Also
    --------
    sklearn.model_selection.TimeSeriesSplit : Splits of samples that are in order already.

    Notes
    -----
    The first block has no past, so that its samples have no out-of-fold prediction. Estimators
    leave them out of all losses, weights, calibrations and conformal scores, and still train the
    final models on them. Their out-of-fold predictions are NaN.

    Dates in other columns, and in `time` if it is a feature, become their month, weekday, day of
    the year and hour. If boosted trees predict the held-out samples better with the days since
    1970, these are also a feature.

    If groups are passed to `split`, samples of groups that are held out are not trained on.

    Examples
    --------
    >>> import numpy as np
    >>> from mddf import TimeOrder
    >>> X = np.array([[3], [1], [2], [1], [4], [6], [5]])
    >>> for train, held_out in TimeOrder(time=0, n_splits=2).split(X):
    ...     print(train, held_out)
    [1 3] [0 2 4]
    [0 1 2 3 4] [5 6]
    """

    def __init__(
        self,
        time: str | int | npt.ArrayLike | None = None,
        n_splits: int = 5,
        *,
        gap: float | timedelta | np.timedelta64 | str = 0,
        as_feature: bool = False,
    ) -> None:
        self.time = time
        self.n_splits = n_splits
        self.gap = gap
        self.as_feature = as_feature

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:
        """Return the number of splits; the arguments are not used."""
        return self.n_splits

    def split(
        self, X: Any, y: Any = None, groups: npt.ArrayLike | None = None
    ) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield training rows and held-out rows, the earliest split first.

        Parameters
        ----------
        X : array or data frame of shape (n_samples, n_features)
        y : object, default=None
            Not used.
        groups : array of shape (n_samples,), default=None
            Samples of groups that are held out are not trained on.

        Yields
        ------
        train, held_out : ndarray of int
        """
        if self.n_splits not in _SPLITS:
            raise ValueError(f"n_splits must be 2 or more, got {short(self.n_splits)}")
        times, has_dates = self._times(X)
        gap = self._gap_in_units(has_dates=has_dates)
        group_of_row = None
        if groups is not None:
            _, group_of_row = check_groups(groups, times)
        starts = block_starts(times, self.n_splits)
        ends = [*starts[1:], np.inf]
        for start, end in zip(starts, ends, strict=True):
            held_out = (times >= start) & (times < end)
            # For a gap of 0, equal times are not the past. Differences of the largest doubles may
            # be infinite.
            with np.errstate(over="ignore"):
                train = start - times > gap
            if group_of_row is not None:
                train &= ~np.isin(group_of_row, group_of_row[held_out])
            if not train.any():
                raise ValueError(
                    f"TimeOrder must leave samples to train on in every split, got gap="
                    f"{short(self.gap)} and n_splits={self.n_splits}, which leave none before "
                    f"the first {np.count_nonzero(held_out)} samples that are held out"
                )
            yield np.flatnonzero(train), np.flatnonzero(held_out)

    def _times(self, X: Any) -> _Times:
        n_samples = X.shape[0] if hasattr(X, "shape") else len(X)
        if is_boolean(self.time):
            raise ValueError(f"time must be a column of X, or the times, got {self.time!r}")
        if self.time is None:
            return np.arange(n_samples, dtype=float), False
        if isinstance(self.time, str | Integral):
            column = self.time if isinstance(self.time, str) else int(self.time)
            times, has_dates = _times_of_column(X, column)
        else:
            times, has_dates = _times_of_array(plain_array(self.time, "time"))
        if times.shape != (n_samples,):
            raise ValueError(
                f"time must have one entry for each of the {n_samples} samples, got shape "
                f"{times.shape}"
            )
        is_missing = ~np.isfinite(times)
        if is_missing.any():
            raise ValueError(
                f"time must be known for every sample, got {is_missing.sum()} missing or "
                f"infinite ones, the first in row {is_missing.argmax()}"
            )
        return times, has_dates

    def _gap_in_units(self, *, has_dates: bool) -> float:
        """The gap in the unit of the times."""
        gap = self.gap
        if isinstance(gap, Real) and not isinstance(gap, np.timedelta64):
            if gap in _GAP and (gap == 0 or not has_dates):
                return float(gap)
        elif has_dates:
            if isinstance(gap, str):
                match = _DURATION.fullmatch(gap)
                if match is not None and match[2].lower() in _SECONDS:
                    return float(match[1]) * _SECONDS[match[2].lower()] * 1e6
            if isinstance(gap, timedelta):
                gap = np.timedelta64(gap)
            # Months have no fixed length, and a number without a unit could mean anything.
            if isinstance(gap, np.timedelta64) and np.datetime_data(gap.dtype)[0] not in _NO_UNITS:
                microseconds = float(gap / np.timedelta64(1, "us"))
                if microseconds >= 0:
                    return microseconds
        allowed = (
            "a timedelta in weeks or shorter units, or text such as '7 days',"
            if has_dates
            else "a number from 0"
        )
        raise ValueError(f"gap must be {allowed} for these times, got {short(self.gap)}")


def time_column(cv: Any) -> TimeColumn | None:
    """Column of X that orders the samples of a fit, if `cv` is a TimeOrder with a column."""
    if not isinstance(cv, TimeOrder):
        return None
    if not is_boolean(cv.as_feature):
        raise ValueError(f"as_feature must be True or False, got {short(cv.as_feature)}")
    if is_boolean(cv.time) or not isinstance(cv.time, str | Integral):
        return None
    column = cv.time if isinstance(cv.time, str) else int(cv.time)
    return TimeColumn(column, bool(cv.as_feature))


def X_for_splitter(X: Any, cv: Any, numbers: Callable[[], np.ndarray]) -> Any:
    """X as a splitter can read it: `TimeOrder` reads its column of a table of `by_columns`."""
    is_unreadable = isinstance(X, Table) and is_splitter(cv) and not isinstance(cv, TimeOrder)
    return numbers() if is_unreadable else X


def _times_of_column(X: Any, column: str | int) -> _Times:
    if isinstance(X, Table):
        name = TimeColumn(column, False).name_in(X.names or ())
        if isinstance(X, ChunkedFrame) and name is not None:
            return _times_of_column(X.native_column(name), 0)
        if isinstance(column, int):
            return _times_of_array(X.numbers([_column_place(column, X.shape[1])])[:, 0])
        raise ValueError(f"time must be a column of X, got {column!r}")
    if nw.dependencies.is_into_dataframe(X):
        frame = nw.from_native(X, eager_only=True)
        names = frame.columns
        if isinstance(column, str):
            if column not in names:
                raise ValueError(
                    f"time must be a column of X, got {column!r}{nearest(column, names)}"
                )
            series = frame[column]
        else:
            series = frame[:, _column_place(column, len(names))]
        if holds_dates(series):
            return series_microseconds(series), True
        return _times_of_array(plain_array(series.to_native(), "time"))
    if isinstance(column, str):
        raise ValueError(
            f"time must be the number of a column if X is not a data frame, got {column!r}"
        )
    if sparse.issparse(X):
        return _times_of_array(X[:, [_column_place(column, X.shape[1])]].toarray()[:, 0])
    cells = np.asarray(X)
    return _times_of_array(cells[:, _column_place(column, cells.shape[1])])


def _column_place(column: int, n_columns: int) -> int:
    if not -n_columns <= column < n_columns:
        raise ValueError(
            f"time must be a column of X, which has {n_columns} columns, got {column}"
        )
    return column


def _times_of_array(values: np.ndarray) -> _Times:
    if are_dates(values):
        return array_microseconds(values), True
    try:
        numbers = values.astype(float)
        # NumPy converts a missing date or duration to a number.
        numbers[missing_cells(values)] = np.nan
        return numbers, False
    except (TypeError, ValueError) as error:
        raise ValueError(
            "time must hold numbers, or dates and times, for every sample, got "
            f"{short(values[0] if len(values) else values)} first: {error}"
        ) from error


def last_split(order: TimeOrder, X: Any, share: float) -> tuple[np.ndarray, np.ndarray]:
    """Hold out about a share of the samples, the last ones, and train on those before the gap."""
    times, has_dates = order._times(X)
    distinct, counts = np.unique(times, return_counts=True)
    if len(distinct) < 2:
        raise ValueError("time must have different values, got a single one")
    n_before = np.cumsum(counts) - counts
    place = int(np.abs(n_before - (1 - share) * len(times)).argmin())
    start = float(distinct[max(place, 1)])
    train = start - times > order._gap_in_units(has_dates=has_dates)
    return np.flatnonzero(train), np.flatnonzero(times >= start)


def block_starts(times: np.ndarray, n_splits: int) -> list[float]:
    """Times at which the blocks that are held out begin.

    All blocks, the first one included, have about as many samples as each other, as far as samples
    of equal time allow it.
    """
    distinct, counts = np.unique(times, return_counts=True)
    if len(distinct) <= n_splits:
        raise ValueError(
            f"time must have more than n_splits={n_splits} different values, got {len(distinct)}"
        )
    n_before = np.cumsum(counts) - counts
    starts = []
    place = 0
    for number in range(1, n_splits + 1):
        target = number * len(times) / (n_splits + 1)
        nearest_place = int(np.abs(n_before - target).argmin())
        # Each block, and those that follow, have at least one time.
        place = min(max(nearest_place, place + 1), len(distinct) - 1 - n_splits + number)
        starts.append(float(distinct[place]))
    return starts
