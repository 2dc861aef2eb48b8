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
    for seed in range(30):
        X, later = table(500, 2 * seed), table(n, 2 * seed + 1)
        for rows, first in ((X, 0), (later, 10**6)):
            rng = np.random.default_rng(seed + first)
            rows["key"] = [f"key {number}" for number in rng.integers(0, 10**9, len(rows))]
            rows["hundred"] = rng.integers(0, 100, len(rows)).astype(str)
            rows["rare"] = rng.random(len(rows)) < 0.003
        n_alarms += any(row.verdict != "stable" for row in drift(X, later))
    assert n_alarms == 0


@pytest.mark.parametrize("n", [2000, 20_000])
def test_moderate_drift_of_many_rows_is_found(n):
    rng = np.random.default_rng(0)
    X, later = (
        pd.DataFrame(
            {
                "shifted": rng.normal(shift, 1, n),
                "larger": factor * np.exp(1.5 * rng.normal(size=n)),
                "flag": rng.random(n) < share,
                "text": np.where(rng.random(n) < share, "yes", "no"),
                "same": rng.normal(size=n),
            }
        )
        for shift, factor, share in ((0, 1, 0.2), (0.3, 1.5, 0.4))
    )
    assert sorted(drift(X, later).drifted) == ["flag", "larger", "shifted", "text"]
    little = X.assign(shifted=X["shifted"] + 0.1)
    verdicts = {row.column: row.verdict for row in drift(X, little)}
    assert verdicts["shifted"] == ("some drift" if n == 20_000 else "stable")


@pytest.mark.parametrize("kind", ["pandas", "polars", "array", "float32"])
def test_infinite_values_are_drift(kind):
    X = np.random.default_rng(0).normal(size=(200, 2))
    later = X.copy()
    later[3, 1] = np.inf
    later[4, 1] = -np.inf
    if kind in ("pandas", "polars"):
        X, later = (pd.DataFrame(rows, columns=["a", "b"]) for rows in (X, later))
    if kind == "polars":
        X, later = pl.from_pandas(X), pl.from_pandas(later)
    if kind == "float32":
        X, later = X.astype(np.float32), later.astype(np.float32)
    bad, good = drift(X, later)
    assert (bad.verdict, bad.infinite, bad.missing) == ("drift", 0.01, 0)
    assert (good.verdict, good.infinite) == ("stable", 0)
    assert {row.verdict for row in drift(later, later)} == {"stable"}


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
    bins = {*train, *later}
    counts = [(sum(v == value for v in train), sum(v == value for v in later)) for value in bins]
    psi = 0.0
    for trained, seen_later in counts:
        p = (trained + 0.5) / (len(train) + 0.5 * len(counts))
        q = (seen_later + 0.5) / (len(later) + 0.5 * len(counts))
        psi += (q - p) * math.log(q / p)
    assert row.psi == pytest.approx(psi, abs=1e-12)
    assert row.unknown == np.mean([v is not None and v not in train for v in later])


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
        "column", "psi", "p_value", "verdict",
        "missing_in_training", "missing", "unknown", "infinite",
    ]  # fmt: skip


def test_changed_types_are_drift():
    X = table(500)
    assert drift(X, X.assign(age=X["city"])).drifted == ["age"]
    assert drift(X, X.assign(city=np.arange(500.0))).drifted == ["city"]
    numbers = pd.DataFrame({"code": ["1", "2"] * 200})
    assert drift(numbers, pd.DataFrame({"code": [1, 2] * 200})).drifted == []
    assert drift(X.assign(age=np.nan), X).drifted == ["age"]


def test_dates_and_other_cells_are_not_compared():
    X = table(100)
    texts = X.assign(day=X["day"].dt.strftime("%Y-%m-%d"))
    texts.loc[0, "day"] = None
    reference = DriftReference.from_json(DriftReference.from_table(X).to_json())
    with pytest.raises(
        ValueError, match=r"hold dates in column 'day', .*; got text or categories"
    ):
        reference.compare(texts)
    with pytest.raises(ValueError, match=r"must hold dates in column 'day', .*; got numbers"):
        reference.compare(X.assign(day=5))
    with pytest.raises(
        ValueError, match=r"hold text or categories in column 'day', .*; got dates"
    ):
        drift(texts, X)
    with pytest.raises(ValueError, match=r"must hold numbers in column 'age', .*; got dates"):
        reference.compare(X.assign(age=X["day"]))
    for empty in (None, np.nan, pd.NaT):
        missing = X.assign(day=empty)
        assert reference.compare(missing).drifted == drift(missing, X).drifted == ["day"]
        assert drift(missing, texts).drifted == ["day"]


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
