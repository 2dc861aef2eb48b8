"""Folds in time order."""

import datetime as dt

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import TimeSeriesSplit, cross_val_score

from mddf import TimeOrder

DAYS = pd.date_range("2024-03-25", periods=24, freq="D", tz="Europe/Berlin")


@settings(deadline=None)
@given(
    times=st.lists(st.integers(0, 30), min_size=8, max_size=60),
    n_splits=st.integers(2, 5),
    gap=st.integers(0, 2),
)
def test_splits_are_forward_and_equal_times_stay_together(times, n_splits, gap):
    n_distinct = len(set(times))
    splitter = TimeOrder(times, n_splits, gap=gap)
    X = np.zeros((len(times), 1))
    if n_distinct <= n_splits:
        with pytest.raises(ValueError, match=f"more than n_splits={n_splits} different values"):
            list(splitter.split(X))
        return
    times = np.array(times)
    blocks = [times[held_out].min() for _, held_out in TimeOrder(times, n_splits).split(X)]
    if blocks[0] - times.min() <= gap:
        with pytest.raises(ValueError, match="must leave samples to train on in every split"):
            list(splitter.split(X))
        return
    splits = list(splitter.split(X))
    assert len(splits) == n_splits
    for (train, held_out), later in zip(splits, [*splits[1:], None], strict=True):
        start = times[held_out].min()
        end = np.inf if later is None else times[later[1]].min()
        assert train.tolist() == np.flatnonzero(start - times > gap).tolist()
        assert held_out.tolist() == np.flatnonzero((start <= times) & (times < end)).tolist()


def test_blocks_are_of_even_size():
    for times, starts in (
        (np.arange(60), [10, 20, 30, 40, 50]),
        # A long day takes the place of its neighbours.
        (np.repeat(np.arange(4), [2, 50, 2, 2]), [1, 2, 3]),
    ):
        splits = TimeOrder(times, len(starts)).split(np.zeros((len(times), 1)))
        assert [times[held_out].min() for _, held_out in splits] == starts


def test_dates_of_all_kinds():
    for make in [
        lambda days: pd.DataFrame({"day": days}),
        lambda days: pd.DataFrame({"day": days.tz_localize(None)}),
        lambda days: pd.DataFrame({"day": [day.date() for day in days]}),
        lambda days: pd.DataFrame({"day": days}).astype(object),
        lambda days: pl.DataFrame({"day": days.to_pydatetime().tolist()}),
        lambda days: pl.DataFrame({"day": [day.date() for day in days]}),
        lambda days: pd.DataFrame({"day": days}).convert_dtypes(dtype_backend="pyarrow"),
    ]:
        for gap in ["3 days", dt.timedelta(days=3), np.timedelta64(3, "D")]:
            X = make(DAYS)
            splits = list(TimeOrder("day", 3, gap=gap).split(X))
            for (train, held_out), first in zip(splits, (6, 12, 18), strict=True):
                assert held_out.tolist() == list(range(first, first + 6))
                assert train.max() == first - 4
            assert len(list(TimeOrder(0, 3).split(X))) == 3


@pytest.mark.parametrize("gap", [0, 2])
def test_rows_in_order_are_split_as_scikit_learn_does(gap):
    X = np.zeros((24, 1))
    ours = [(a.tolist(), b.tolist()) for a, b in TimeOrder(n_splits=5, gap=gap).split(X)]
    theirs = [(a.tolist(), b.tolist()) for a, b in TimeSeriesSplit(5, gap=gap).split(X)]
    assert ours == theirs


def test_groups_that_are_held_out_are_not_trained_on():
    groups = np.arange(24)
    groups[-4:] = [1, 21, 22, 5]
    *_, (train, held_out) = TimeOrder(n_splits=5).split(np.zeros((24, 1)), groups=groups)
    assert held_out.tolist() == [20, 21, 22, 23]
    assert train.tolist() == [row for row in range(20) if row not in (1, 5)]
    with pytest.raises(ValueError, match="must leave samples to train on in every split"):
        list(TimeOrder(n_splits=5).split(np.zeros((24, 1)), groups=np.zeros(24)))


def test_it_is_a_splitter_of_scikit_learn():
    splitter = TimeOrder(0, 3, gap=1)
    assert splitter.get_n_splits() == 3
    expected = "TimeOrder(as_feature=False, gap=1, n_splits=3, time=0)"
    assert repr(clone(splitter, safe=False)) == expected
    X = np.arange(40.0)[:, None]
    assert len(cross_val_score(LinearRegression(), X, X[:, 0], cv=splitter)) == 3


@pytest.mark.filterwarnings("ignore:The 'generic' unit:DeprecationWarning")  # NumPy 2.5
def test_data_that_cannot_be_split():
    for parameters, message in [
        ({"n_splits": 1}, "n_splits must be 2 or more, got 1"),
        ({"n_splits": True}, "n_splits must be 2 or more, got True"),
        ({"time": "days"}, "time must be a column of X, got 'days' .did you mean 'day'"),
        ({"time": 2}, "time must be a column of X, which has 2 columns, got 2"),
        ({"time": [1.0, 2.0]}, "one entry for each of the 24 samples, got shape"),
        ({"time": "text"}, "time must hold numbers, or dates and times"),
        ({"time": [np.nan, *range(23)]}, "1 missing or infinite ones, the first in row 0"),
        ({"gap": -1}, "gap must be a number from 0 for these times, got -1"),
        ({"gap": "3 days"}, "gap must be a number from 0 for these times, got '3 days'"),
        ({"time": "day", "gap": 3}, "gap must be a timedelta in weeks or .*, or text such"),
        ({"time": "day", "gap": "soon"}, "for these times, got 'soon'"),
        ({"time": "day", "gap": "3 decades"}, "for these times, got '3 decades'"),
        ({"time": "day", "gap": "3 hundred"}, "for these times, got '3 hundred'"),
        ({"time": True}, "time must be a column of X, or the times, got True"),
        (
            {"time": np.array(["NaT", *range(23)], "m8[D]")},
            "1 missing or infinite ones, the first in row 0",
        ),
        ({"time": "day", "gap": dt.timedelta(-1)}, "gap must be a timedelta"),
        ({"time": "day", "gap": np.timedelta64(1, "M")}, "gap must be a timedelta in weeks or"),
        ({"time": "day", "gap": np.timedelta64(7)}, "gap must be a timedelta in weeks or"),
    ]:
        X = pd.DataFrame({"day": DAYS, "text": ["a"] * 24})
        with pytest.raises(ValueError, match=message):
            list(TimeOrder(**parameters).split(X))


def test_text_of_gaps():
    for text, hours in [
        ("36h", 36),
        ("36 HOURS", 36),
        ("1.5 d", 36),
        ("2 weeks", 336),
        ("90 min", 1.5),
    ]:
        days = np.arange("2024-01-01", "2024-03-01", dtype="M8[D]")
        X = np.zeros((len(days), 1))
        as_text = list(TimeOrder(days, 3, gap=text).split(X))
        as_duration = list(TimeOrder(days, 3, gap=dt.timedelta(hours=hours)).split(X))
        for (train, held_out), (expected_train, expected_held_out) in zip(
            as_text, as_duration, strict=True
        ):
            assert np.array_equal(train, expected_train)
            assert np.array_equal(held_out, expected_held_out)


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        ([1, 2], "groups cannot be used: .*inconsistent"),
        ([np.nan] * 24, "groups must have .* got nan in row 0"),
    ],
)
def test_groups_that_cannot_be_used(groups, message):
    with pytest.raises(ValueError, match=message):
        list(TimeOrder().split(np.zeros((24, 1)), groups=groups))


def test_times_at_the_ends_of_the_range_of_doubles():
    times = 1.7e308 * np.linspace(-1, 1, 24)
    splits = list(TimeOrder(times).split(np.zeros((24, 1))))
    assert [len(train) for train, _ in splits] == [4, 8, 12, 16, 20]


def test_names_need_a_data_frame():
    with pytest.raises(ValueError, match="number of a column if X is not a data frame"):
        list(TimeOrder("day").split(np.zeros((24, 1))))
