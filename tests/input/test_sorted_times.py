"""Columns by which the rows are sorted."""

import warnings
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mddf import (
    DeepForestClassifier,
    GradientBoostingClassifier,
    MDDFClassifier,
    RandomForestClassifier,
    TimeOrder,
)
from mddf._input import table
from mddf._input.sorted_times import follow_dates, is_sorted_by

DEEP = {"members": ["random"], "n_estimators": 2, "random_state": 0}
SORTED = "the rows are sorted by column 1, .*TimeOrder"
RNG = np.random.default_rng(0)


def measured(dates=False):
    gaps = RNG.integers(1, 20, 90)
    week = np.cumsum(gaps)
    frame = pd.DataFrame({"x": RNG.normal(size=90), "week": week})
    if dates:
        frame["week"] = pd.date_range("2024-01-01", periods=90)
    return frame, RNG.integers(0, 2, 90)


@pytest.mark.parametrize("dates", [False, True])
@pytest.mark.parametrize(
    "model",
    [
        DeepForestClassifier(1, cv=2, **DEEP),
        MDDFClassifier(1, n_estimators=2),
        GradientBoostingClassifier(max_iter=2),
    ],
    ids=lambda model: type(model).__name__,
)
def test_rows_in_order_are_named(model, dates):
    X, y = measured(dates)
    with pytest.warns(UserWarning, match=SORTED):
        model.fit(X, y)
    shuffled = X.sample(frac=1, random_state=0)
    model.fit(shuffled, y)


def test_one_warning_for_several_blocks_of_columns(monkeypatch):
    X, y = measured()
    monkeypatch.setattr(table, "_BLOCK_BYTES", 8 * len(X))  # a column
    with pytest.warns(UserWarning, match=SORTED) as record:
        GradientBoostingClassifier(max_iter=2).fit(X.assign(later=X["week"] ** 2.0), y)
    assert len(record) == 1


def test_no_warning_if_rows_are_not_held_out_at_random():
    X, y = measured()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        RandomForestClassifier(2).fit(X, y)
        GradientBoostingClassifier(max_iter=2, early_stopping=False).fit(X, y)
        GradientBoostingClassifier(max_iter=2, cv=TimeOrder("week")).fit(X, y)
        DeepForestClassifier(1, cv=TimeOrder("week"), **DEEP).fit(X, y)
        DeepForestClassifier(1, **DEEP).fit(X, y, groups=np.arange(90) // 3)


@settings(deadline=None)
@given(
    st.lists(st.integers(0, 100), min_size=1, max_size=80),
    st.data(),
)
def test_twin(values, data):
    values = data.draw(st.sampled_from([values, sorted(values), sorted(values)[::-1]]))
    column = np.array(values, float)
    n = len(values)
    in_order = values in (sorted(values), sorted(values, reverse=True))
    has_steps = len({b - a for a, b in pairwise(values)}) > 1
    expected = n >= 40 and in_order and len(set(values)) >= 20 and has_steps
    assert not expected or is_sorted_by(column)
    n_descents = min(sum(a > b for a, b in pairwise(v)) for v in (values, values[::-1]))
    if n_descents > 1 and n < 100:
        assert not is_sorted_by(column)


def test_rows_that_follow_dates_nearly_and_with_gaps():
    times = 1e15 + np.arange(200.0) * 86_400e6
    times[[7, 50]] = np.nan
    times[100] = times[20]  # entered late
    assert follow_dates(times)
    assert follow_dates(times[::-1])
    assert not follow_dates(times[:30])
    assert not follow_dates(RNG.permutation(times))
    assert not follow_dates(np.repeat(times, 50)[:500])


@pytest.mark.parametrize("start", [0, 1, 0.5, -7])
def test_row_numbers_are_no_times(start):
    assert not is_sorted_by(start + np.arange(100.0))
    assert not is_sorted_by(np.linspace(0, 1, 100))
    assert is_sorted_by(np.sort(RNG.normal(size=100)))
    assert is_sorted_by(np.append(np.sort(RNG.normal(size=100)), np.nan))
    for odd in (np.nan, 1e6, -1e6):
        numbers = start + np.arange(100.0)
        numbers[50] = odd
        assert not is_sorted_by(numbers)


@pytest.mark.parametrize("dtype", [np.uint8, np.int64, np.float32, np.float64])
def test_extreme_numbers_of_all_types(dtype):
    ends = np.iinfo(dtype) if np.dtype(dtype).kind in "iu" else np.finfo(dtype)
    shuffled = np.array([ends.min, ends.max] * 50, dtype)
    assert not is_sorted_by(shuffled)
    assert not is_sorted_by(np.tile(np.arange(25, dtype=dtype), 4))
    in_order = np.append(np.arange(99), ends.max).astype(dtype)
    assert is_sorted_by(in_order)
    assert is_sorted_by(in_order[::-1])
    assert is_sorted_by(np.append(ends.min, in_order))


def test_bytes_in_any_order_cause_no_warning():
    X = RNG.integers(0, 255, (100, 2), np.uint8)
    GradientBoostingClassifier(max_iter=2).fit(X, X[:, 0] > 100)
