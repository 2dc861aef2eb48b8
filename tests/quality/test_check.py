"""Findings about tables with known faults."""

import datetime
import time

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris, load_wine

from mddf import check

N = 400


def clean_table(n=N, seed=0):
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(
        {
            "size": rng.normal(size=n),
            "age": rng.integers(20, 70, n),
            "city": rng.choice(["Bonn", "Köln", "Trier"], n),
            "member": rng.random(n) < 0.5,
        }
    )
    y = X["size"].to_numpy() + rng.normal(size=n) > 0.8
    return X, y


def kinds(findings):
    return {(finding.column, finding.finding) for finding in findings}


def test_nothing_is_found_in_clean_tables():
    X, y = clean_table()
    assert kinds(check(X, y)) == set()
    assert str(check(X, y)) == "nothing found"
    assert check(X, y).to_frame().columns.tolist() == ["column", "finding", "evidence", "advice"]
    for load in (load_iris, load_wine, load_breast_cancer, load_diabetes):
        assert kinds(check(*load(return_X_y=True))) == set()


def test_columns_that_equal_the_target():
    for name in ["equal", "renamed", "negated", "number", "category"]:
        X, y = clean_table()
        labels = np.where(y, "yes", "no")
        X["column"] = {
            "equal": labels,
            "renamed": np.where(y, "x", "z"),
            "negated": ~y,
            "number": 3.5 * y - 1,
            "category": pd.Categorical(labels),
        }[name]
        (finding,) = check(X, labels)
        assert (finding.column, finding.finding) == ("column", "equals the target")
        assert finding.evidence == f"one value for each of the 2 classes in {N} rows"
        assert finding.is_leak


def test_columns_that_reveal_a_numeric_target():
    for values, kind in [
        (lambda y: y, "equals the target"),
        (lambda y: 100 * y.round(6) + 7, "equals the target"),
        (np.exp, "predicts the target nearly alone"),
        (lambda y: pd.to_datetime("2020-01-01") + pd.to_timedelta(y, "D"), "equals the target"),
        (lambda y: [str(round(v, 1)) for v in y], "equals the target"),
        (lambda y: np.where(np.arange(2000) % 10 < 5, np.nan, y), "equals the target"),
        (lambda y: pd.cut(y, [0, 18, 20, 21, 40]).astype(str), "equals the target"),
        (lambda y: np.where(np.arange(2000) % 3, np.nan, np.exp(y)), "predicts the target"),
        (lambda y: [f"sold for {v} euros" for v in y], "contains the target as text"),
    ]:
        X, _ = clean_table(2000)
        y = np.random.default_rng(1).normal(size=2000).round(6) + 20
        X["column"] = values(y)
        leaks = [finding for finding in check(X, y) if finding.is_leak]
        assert [finding.column for finding in leaks] == ["column"]
        assert leaks[0].finding.startswith(kind)


def test_a_column_for_a_rare_class():
    X, _ = clean_table(5000)
    rng = np.random.default_rng(1)
    y = (rng.random(5000) < 0.01).astype(int)
    X["calls"] = np.where(y == 1, 5 + rng.random(5000), rng.random(5000) * 4.9)
    assert kinds(check(X, y)) == {("calls", "predicts the target nearly alone")}


def test_a_column_that_dominates():
    X, _ = clean_table(2000)
    rng = np.random.default_rng(1)
    y = rng.random(2000) < 0.4
    X["reminders"] = np.where(y, rng.poisson(6, 2000), rng.poisson(0.5, 2000))
    (finding,) = check(X, y)
    assert (finding.column, finding.finding) == ("reminders", "dominates all other columns")
    assert "the next column explains 0.0" in finding.evidence
    # A column that explains a quarter as much, or as much, is a sign of an easy problem.
    noise = rng.normal(size=2000)
    for shift, is_alone in ((1.0, True), (1.3, False)):
        assert bool(check(X.assign(second=noise + shift * y), y)) == is_alone
    X["twin"] = np.where(y, rng.poisson(6, 2000), rng.poisson(0.5, 2000))
    assert kinds(check(X, y)) == set()


def test_missing_values_that_reveal_the_class():
    X, _ = clean_table(2000)
    rng = np.random.default_rng(1)
    died = rng.random(2000) < 0.6
    X["body"] = np.where(died & (rng.random(2000) < 0.1), rng.random(2000), np.nan)
    X["closed"] = np.where(died & (rng.random(2000) < 0.2), None, "2020-01-01")
    findings = check(X, np.where(died, "died", "lived"))
    assert ("body", "is present for one class only") in kinds(findings)
    assert ("closed", "is missing for one class only") in kinds(findings)
    assert "cells are of died" in findings[0].evidence


def test_a_target_of_another_row():
    X, _ = clean_table()
    y = np.random.default_rng(1).normal(size=N).cumsum()
    X["tomorrow"] = np.append(y[1:], np.nan)
    X["two days ago"] = np.append([np.nan, np.nan], y[:-2])
    findings = {finding.column: finding for finding in check(X, y)}
    for name, evidence in (
        ("tomorrow", "the target 1 row later"), ("two days ago", "the target 2 rows earlier"),
    ):  # fmt: skip
        finding = findings[name]
        # A slow series is also predicted by its neighbours.
        if finding.finding == "equals the target of another row":
            assert finding.evidence.startswith(evidence)
        else:
            assert finding.finding == "predicts the target nearly alone"
    shuffled = np.random.default_rng(2).permutation(y)
    X["tomorrow"] = np.append(shuffled[1:], np.nan)
    X["two days ago"] = np.append([np.nan, np.nan], shuffled[:-2])
    assert kinds(check(X, shuffled)) == {
        ("tomorrow", "equals the target of another row"),
        ("two days ago", "equals the target of another row"),
    }


def test_shifts():
    for shift in [-3, -1, 1, 2]:
        for change in [
            lambda y: y,
            lambda y: y.round(2),
            lambda y: 100 * y - 3,
            lambda y: np.where(np.arange(N) % 7, y, np.nan),
            lambda y: np.searchsorted([-1, 0, 1], y),
        ]:
            rng = np.random.default_rng(1)
            y = rng.normal(size=N)
            X = np.column_stack([change(np.roll(y, -shift)), rng.normal(size=N)])
            (finding,) = check(X, y)
            plural = "s" if abs(shift) > 1 else ""
            direction = "later" if shift > 0 else "earlier"
            assert finding.evidence.startswith(f"the target {abs(shift)} row{plural} {direction}")


def test_shifted_classes():
    rng = np.random.default_rng(1)
    y = rng.choice(["a", "b", "c"], N)
    X = pd.DataFrame({"last": np.roll(y, 1), "x": rng.normal(size=N)})
    X["last"] = X["last"].map({"a": 3, "b": 1, "c": 2}).where(rng.random(N) < 0.8)
    assert kinds(check(X, y)) == {("last", "equals the target of another row")}


def test_copies_of_few_rows():
    for n in [40, 100, 250, 257, 1000]:
        rng = np.random.default_rng(1)
        y = rng.normal(size=n)
        X = pd.DataFrame(
            {
                "copy": y,
                "cents": (100 * y).round(),
                "gaps": np.where(rng.random(n) < 0.3, np.nan, y),
                "day": pd.Timestamp("2020-01-01") + pd.to_timedelta(y, "D"),
                "half": y > 0,
                "noise": rng.normal(size=n),
                "honest": y + 2 * rng.normal(size=n),
            }
        )
        names = ["copy", "cents", "gaps", "day", "half"]
        expected = {(name, "equals the target") for name in names}
        assert kinds(check(X, y)) == expected
        X["exp"] = np.exp(y)
        assert ("exp", "predicts the target nearly alone") in kinds(check(X, y))
        label = y > 0.3
        (finding,) = check(X[["copy", "noise"]], label)
        assert finding.finding == "predicts the target nearly alone"


def test_leaks_do_not_hide_each_other():
    X, _ = clean_table(2000)
    rng = np.random.default_rng(1)
    y = rng.choice(["paid", "late", "default"], 2000, p=[0.6, 0.2, 0.2])
    is_default = y == "default"
    X["reminders"] = np.where(is_default, rng.poisson(9, 2000), rng.poisson(0.5, 2000))
    X["recovered"] = np.where(is_default & (rng.random(2000) < 0.6), rng.gamma(2, 5, 2000), 0)
    X["state"] = np.where(rng.random(2000) < 0.1, None, y)
    leaks = kinds(check(X, is_default))
    assert ("recovered", "has one value for all classes but one") in leaks
    assert ("reminders", "dominates all other columns") in leaks
    assert kinds(check(X, y)) == {
        ("recovered", "has one value for all classes but one"), ("state", "equals the target"),
    }  # fmt: skip


def test_coarse_and_fine_grades():
    X, _ = clean_table(3000)
    rng = np.random.default_rng(1)
    rate = rng.gamma(9, 1.4, 3000) + 5
    fine = np.digitize(
        rate + rng.normal(size=3000) * 0.3, np.quantile(rate, np.arange(1, 35) / 35)
    )
    X["sub_grade"] = [f"{'ABCDEFG'[number // 5]}{number % 5}" for number in fine]
    X["grade"] = X["sub_grade"].str[0]
    assert {finding.column for finding in check(X, rate)} == {"grade", "sub_grade"}


def test_groups_are_not_divided():
    rng = np.random.default_rng(0)
    group = np.repeat(np.arange(30), 8)
    y = (rng.random(30) < 0.5)[group]
    X = pd.DataFrame({"birth": rng.normal(size=30)[group], "x": rng.normal(size=240)})
    assert ("birth", "predicts the target nearly alone") in kinds(check(X, y))
    assert kinds(check(X, y, groups=group)) == set()
    X.loc[::2, "x"] = np.nan
    assert kinds(check(X, y, groups=group)) == set()
    X["flag"] = np.where(y, "a", "b")
    assert kinds(check(X, y, groups=[f"p{k}" for k in group])) == {("flag", "equals the target")}


def test_noise_is_no_leak():
    for seed in range(8):
        rng = np.random.default_rng(seed)
        n = int(rng.choice([20, 40, 250, 400]))
        X = pd.DataFrame(rng.normal(size=(n, 40)))
        X[list(range(10))] = rng.integers(0, 4, (n, 10))
        X[list(range(10, 20))] *= rng.random((n, 10)) < 0.1
        X = X.mask(rng.random(X.shape) < 0.3).rename(columns=str)
        for y in (rng.normal(size=n), rng.integers(0, 3, n), rng.random(n) < 0.1):
            assert not any(finding.is_leak for finding in check(X, y))


def test_words_of_texts():
    X, y = clean_table(1000)
    rng = np.random.default_rng(0)
    words = rng.choice(["we", "they", "came", "went", "soon", "late", "often"], (1000, 5))
    labels = np.where(y, "fraud", "honest")
    texts = [" ".join(row) for row in words]
    X["note"] = [f"{text} {i}" for i, text in enumerate(texts)]
    assert kinds(check(X, labels)) == {("note", "free text")}
    X["note"] = [
        f"{text} {i} {'refunded' if is_fraud else ''}"
        for i, (text, is_fraud) in enumerate(zip(texts, y, strict=True))
    ]
    findings = check(X, labels)
    assert kinds(findings) == {
        ("note", "free text"), ("note", "predicts the target nearly alone"),
    }  # fmt: skip
    assert "'refunded'" in findings[0].evidence


def test_quality_of_columns():
    X, y = clean_table()
    rng = np.random.default_rng(0)
    is_changed = rng.random(N) < 0.3
    X["same"] = 1.5
    X["same text"] = "x"
    X["same or missing"] = np.where(is_changed, 3, np.nan)
    X["nothing"] = np.nan
    X["nothing at all"] = None
    X["few"] = np.where(is_changed, rng.normal(size=N), np.nan)
    X["number"] = np.arange(N)[::-1]
    X["key"] = [f"A-{i}" for i in rng.permutation(N)]
    X["shuffled"] = rng.permutation(N) + 1000
    X["street"] = [f"street {i}" for i in rng.integers(0, N, N)]
    X["patient"] = np.repeat(np.arange(N // 4), 4)
    X["price"] = (rng.lognormal(12, 1, N)).astype(int)
    X["town"] = rng.choice(["New  York", "new york ", "Oslo"], N)
    assert kinds(check(X, y)) == kinds(check(X)) == {
        ("town", "several spellings"),
        ("same", "constant"), ("same text", "constant"), ("same or missing", "constant"),
        ("nothing", "empty"), ("nothing at all", "empty"), ("few", "mostly missing"),
        ("number", "identifier"), ("key", "identifier"), ("shuffled", "identifier"),
        ("street", "many different texts"), ("patient", "identifier of subjects"),
    }  # fmt: skip


def test_copies_of_rows():
    X, y = clean_table()
    X["weight"] = np.random.default_rng(5).normal(size=N)
    X_test, _ = clean_table(seed=1)
    X_test["weight"] = np.random.default_rng(6).normal(size=N)
    assert kinds(check(X, y, X_test=X_test)) == set()
    X_test.iloc[:10] = X.iloc[100:110]
    near = X.iloc[200:207].copy()
    near["age"] += 1
    X_test.iloc[20:27] = near
    X["id"] = [f"k{i}" for i in range(N)]
    X_test["id"] = [f"m{i}" for i in range(N)]  # the names of rows are not compared
    findings = check(X, y, X_test=X_test.assign(more=0)[["more", *reversed(X.columns)]])
    assert ("(rows)", "copies in training and test") in kinds(findings)
    assert findings[0].evidence.startswith("10 (2.50%) of 400 test rows")
    assert findings[1].evidence.startswith("7 (1.75%) of 400 test rows")
    repeated = pd.concat(
        [X, X.iloc[:50].assign(id=[f"n{i}" for i in range(50)])], ignore_index=True
    )
    assert ("(rows)", "copies of rows") in kinds(check(repeated))
    # Rows of few different values repeat without being copies.
    assert kinds(check(X[["city", "member"]], y, X_test=X_test[["city", "member"]])) == set()


@given(
    st.integers(2, 8),
    st.integers(0, 2**32 - 1),
    st.lists(st.integers(0, 99), min_size=1, max_size=20, unique=True),
)
def test_duplicates_match_a_slow_search(n_columns, seed, copied):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(100, n_columns)).round(3)
    X_test = rng.normal(size=(60, n_columns)).round(3) + 10
    X_test[: len(copied)] = X[copied]
    n_equal = sum(any(np.array_equal(row, other) for other in X) for row in X_test)
    findings = {finding.finding: finding for finding in check(X, X_test=X_test)}
    assert findings["copies in training and test"].evidence.startswith(f"{n_equal} (")


def test_kinds_of_tables():
    for kind in ["pandas", "polars", "pyarrow", "array", "list", "text dtype"]:
        X, y = clean_table()
        X["day"] = pd.date_range("2020-01-01", periods=N)
        X["flag"] = np.where(y, "a", "b")
        X["same"] = datetime.date(2020, 1, 1)
        expected = {("flag", "equals the target"), ("same", "constant")}
        if kind == "polars":
            X = pl.from_pandas(X.astype({"same": "datetime64[s]"}))
            y = pl.Series(y)
        elif kind == "pyarrow":
            X = pl.from_pandas(X.astype({"same": "datetime64[s]"})).to_arrow()
        elif kind == "text dtype":
            X = X.astype({"city": "string", "flag": "category"}).convert_dtypes()
            y = pd.Series(y, dtype="boolean")
        elif kind != "pandas":
            X = X.to_numpy()
            X = X.tolist() if kind == "list" else X
            expected = {("5", "equals the target"), ("6", "constant")}
        assert kinds(check(X, y)) == expected


def test_bad_arguments():
    for arguments, message in [
        ({"y": [0, 1]}, "y must have a label for each of the 400 rows, got 2"),
        ({"y": np.zeros((N, 2))}, r"y must have one dimension, got an array of shape \(400, 2\)"),
        ({"y": [None] + [1] * (N - 1)}, "no missing labels, got 1, row 0 first"),
        ({"y": [np.inf] + [0.5] * (N - 1)}, "y must be finite, got inf"),
        ({"y": ["a"] * N, "task": "regression"}, "y must hold numbers for regression, got 'a'"),
        ({"y": np.arange(N), "task": "ranking"}, "task must be .* got 'ranking'"),
        (
            {"y": np.arange(N), "groups": [1, 2]},
            "groups must have a group for each of the 400",
        ),
        ({"X_test": np.zeros((2, 3))}, "X_test cannot be used: X has 3 features"),
        ({"X_test": np.zeros((0, 2))}, r"X_test cannot be used: .* empty, got shape \(0, 2\)"),
        ({"X": pd.DataFrame({"a": [[1], [2]]})}, "text, categories, booleans or dates, got list"),
        ({"X": np.array([[np.inf], [1.0]])}, "got inf in row 0"),
        ({"X": np.empty((0, 2))}, r"X must not be empty, got shape \(0, 2\)"),
        ({"X": pd.DataFrame(index=range(N))}, r"X must not be empty, got shape \(400, 0\)"),
        ({"X": [1, 2, 3]}, "X must be a 2D array"),
    ]:
        arguments = {"X": np.random.default_rng(0).normal(size=(N, 2)), **arguments}
        with pytest.raises((ValueError, TypeError), match=message):
            check(**arguments)


@pytest.mark.slow
def test_a_large_table_takes_a_second():
    rng = np.random.default_rng(0)
    n = 100_000
    X = pd.DataFrame({f"x{i}": rng.normal(size=n) for i in range(12)})
    for i in range(5):
        X[f"c{i}"] = rng.choice(list("abcdefgh"), n)
    X["id"] = np.arange(n)
    X["key"] = [f"k{i}" for i in range(n)]
    X["day"] = pd.date_range("2000-01-01", periods=n, freq="h")
    y = X["x0"] + rng.normal(size=n) > 2
    start = time.process_time()
    check(X, y)
    assert time.process_time() - start < 1
