"""Drift of columns, compared with the formula, and tables without drift."""

import math

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mddf import DriftReference, drift


def table(n, seed=0):
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(
        {
            "age": rng.normal(40, 9, n),
            "count": rng.poisson(1, n),
            "city": rng.choice(["Bonn", "Köln", "Trier"], n, p=[0.6, 0.3, 0.1]),
            "day": pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 300, n), "D"),
            "flag": rng.random(n) < 0.2,
        }
    )
    X.loc[rng.random(n) < 0.1, "age"] = np.nan
    return X


@pytest.mark.parametrize("n", [5, 50, 1000])
def test_rows_of_the_same_kind_do_not_drift(n):
    n_alarms = 0
    for seed in range(20):
        verdicts = [row.verdict for row in drift(table(500), table(n, seed + 1))]
        n_alarms += sum(verdict != "stable" for verdict in verdicts)
    assert n_alarms <= 2  # of 100


def test_each_kind_of_drift_is_found():
    X = table(1000)
    later = table(300, 1)
    changes = {
        "age": later["age"] + 10,
        "count": later["count"] + 1,
        "city": ["Wien"] * 300,
        "day": later["day"] + pd.Timedelta(days=200),
        "flag": ~later["flag"],
    }
    for name, values in changes.items():
        result = drift(X, later.assign(**{name: values}))
        assert result.drifted == [name]
        assert result[0].column == name
    rows = {row.column: row for row in drift(X, later.assign(city=["Wien"] * 300))}
    assert rows["city"].unknown == 1
    assert math.isnan(rows["age"].unknown)
    assert rows["age"].missing == later["age"].isna().mean()
    assert rows["age"].missing_in_training == X["age"].isna().mean()
    assert drift(X, later.assign(age=np.nan)).drifted == ["age"]


@given(
    st.lists(st.sampled_from(["a", "b", "c", None]), min_size=3, max_size=30),
    st.lists(st.sampled_from(["a", "b", "c", "d", None]), min_size=1, max_size=30),
)
def test_the_index_is_the_formula(train, later):
    (row,) = drift(
        pd.DataFrame({"x": train}, dtype=object), pd.DataFrame({"x": later}, dtype=object)
    )
    known = {value for value in train if value is not None}
    frequent = {value for value in known if train.count(value) > 1}
    bins = [*sorted(frequent), "rarer", "unknown", "missing"]

    def bin_of(value):
        if value is None:
            return "missing"
        return value if value in frequent else "rarer" if value in known else "unknown"

    n_later = [sum(bin_of(v) == name for v in later) for name in bins]
    n_train = [sum(bin_of(v) == name for v in train) for name in bins]
    # A value that one training row has stands for a value that is not known.
    n_moved = min(n_train[-3], round(len(train) * n_later[-2] / len(later)))
    n_train[-3] -= n_moved
    n_train[-2] += n_moved
    counts = [pair for pair in zip(n_train, n_later, strict=True) if sum(pair)]
    psi = 0.0
    for trained, seen_later in counts:
        p = (trained + 0.5) / (len(train) + 0.5 * len(counts))
        q = (seen_later + 0.5) / (len(later) + 0.5 * len(counts))
        psi += (q - p) * math.log(q / p)
    assert row.psi == pytest.approx(psi, abs=1e-12)
    assert row.unknown == np.mean([bin_of(v) == "unknown" for v in later])


@given(st.lists(st.integers(-5, 5), min_size=1, max_size=40))
def test_a_table_does_not_drift_from_itself(values):
    X = np.array(values, float).reshape(-1, 1)
    (row,) = drift(X, X)
    assert row.psi == 0
    assert row.verdict == "stable"


def test_a_summary_is_small_and_gives_the_same_table():
    X = table(2000)
    X["key"] = [f"k{i}" for i in range(2000)]
    later = table(100, 1).assign(key="x")
    reference = DriftReference.from_table(X)
    again = DriftReference.from_json(reference.to_json())
    assert str(again.compare(later)) == str(reference.compare(later)) == str(drift(X, later))
    assert len(reference.to_json()) < 40_000
    reordered = later[later.columns[::-1]].assign(other=1)
    assert str(reference.compare(reordered)) == str(drift(X, later))
    assert str(reference.compare(pl.from_pandas(later))) == str(drift(X, later))
    assert list(drift(X, later).to_frame()) == [
        "column", "psi", "verdict", "missing_in_training", "missing", "unknown",
    ]  # fmt: skip


def test_changed_types_are_drift():
    X = table(500)
    assert drift(X, X.assign(age=X["city"])).drifted == ["age"]
    assert drift(X, X.assign(city=np.arange(500.0))).drifted == ["city"]
    numbers = pd.DataFrame({"code": ["1", "2"] * 200})
    assert drift(numbers, pd.DataFrame({"code": [1, 2] * 200})).drifted == []
    assert drift(X.assign(age=np.nan), X).drifted == ["age"]


def test_numbers_in_the_place_of_categories_keep_all_digits():
    """Text or categories in training, numbers later; seven digits and more are not rounded."""
    for numbers in [[1234560, 7654321], [0.5, 1234567.5], [10**15, 3]]:
        for as_text in [str, float]:
            categories = pd.Series([as_text(number) for number in numbers] * 50, dtype="category")
            (row,) = drift(
                pd.DataFrame({"code": categories}), pd.DataFrame({"code": numbers * 50})
            )
            assert row.unknown == 0
            assert row.psi == 0
            later = pd.DataFrame({"code": [number + 1 for number in numbers] * 50})
            (row,) = drift(pd.DataFrame({"code": categories}), later)
            assert row.unknown == 1


def test_other_texts_are_refused():
    for text in ["", "{}", "[]", '{"rows": []}']:
        with pytest.raises(ValueError, match=r"text must be written by DriftReference\.to_json"):
            DriftReference.from_json(text)


def test_missing_columns_are_refused():
    with pytest.raises(ValueError, match="got none named 'age' among"):
        drift(table(50), table(50).drop(columns="age"))
    with pytest.raises(ValueError, match="must not be empty"):
        drift(table(50), table(0))


def test_other_columns_of_later_rows_may_hold_anything():
    X = pd.DataFrame({"a": np.arange(50.0), "day": pd.date_range("2024-01-01", periods=50)})
    reference = DriftReference.from_table(X)
    later = X.assign(lists=[[1]] * 50, objects=[object()] * 50)[["lists", "day", "objects", "a"]]
    assert {column.column: column.psi for column in reference.compare(later)} == {"a": 0, "day": 0}


def test_values_outside_of_the_training_range_are_drift():
    for train, later in [
        ([True] * 1000, [False] * 1000),
        ([False] * 1000, [True] * 1000),
        ([5.0] * 100, [4.0] * 100),
        (np.arange(100.0), np.arange(100.0) - 100),
        (pd.to_timedelta(np.arange(100), "s"), pd.to_timedelta(-np.arange(1, 100), "s")),
    ]:
        train, later = pd.DataFrame({"x": train}), pd.DataFrame({"x": later})
        assert drift(train, later).drifted == drift(later, train).drifted == ["x"]
        assert drift(train, train)[0].psi == 0


@pytest.mark.parametrize("exponent", [1.1, 1.5, 2.0])
def test_categories_that_are_often_new_are_no_drift(exponent):
    rng = np.random.default_rng(0)
    words = pd.DataFrame({"word": rng.zipf(exponent, 4000).astype(str)})
    assert drift(words[:2000], words[2000:])[0].verdict == "stable"
    assert drift(words[:2000], words[:300])[0].verdict == "stable"
    texts = pd.DataFrame({"text": [f"text {number}" for number in rng.permutation(2000)]})
    assert drift(texts[:1000], texts[1000:])[0].verdict == "stable"
    city = pd.DataFrame({"city": rng.choice(["a", "b", "c"], 1000)})
    assert drift(city, city.where(rng.random((1000, 1)) < 0.6, "new")).drifted == ["city"]


def test_single_precision_is_no_drift():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.choice([0.1, 0.2, 0.3, 0.6], 1000), rng.normal(size=1000)])
    for train, later in ((X, X.astype(np.float32)), (X.astype(np.float32), X)):
        assert [row.psi for row in drift(train, later)] == [0, 0]
