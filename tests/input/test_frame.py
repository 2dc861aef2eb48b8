"""Data frames of every kind, column by column."""

from decimal import Decimal

import limits
import narwhals.stable.v1 as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mddf.baselines import AdaBoostClassifier, MultiGrainedScanner
from table_cases import read, read_frame

from mddf import RandomForestClassifier

FRAMES = {
    "pandas": pd.DataFrame,
    "polars": lambda columns: pl.DataFrame(
        {k: v.tolist() if isinstance(v, np.ndarray) else v for k, v in columns.items()}
    ),
    "pyarrow": pa.table,
}
every_frame = pytest.mark.parametrize("make", FRAMES.values(), ids=FRAMES)


def are_words(table):
    """Mask of the columns that are categories by default."""
    return [table.column(c).is_categorical for c in range(table.shape[1])]


def assert_same(values, expected, name):
    """Check that cells are equal, or missing in both."""
    missing, also = pd.isna(values), pd.isna(expected)
    np.testing.assert_array_equal(missing, also, name)
    assert all(a == b for a, b in zip(values[~missing], expected[~missing], strict=True)), name


@every_frame
def test_columns_of_a_frame(make):
    X = make(
        {
            "size": np.array([1.5, np.nan, 3.0]),
            "word": ["a", None, "b"],
            "count": np.array([1, 2, 3]),
            "flag": [True, None, False],
        }
    )
    table = read(X)
    assert table.shape == (3, 4)
    assert table.names == ["size", "word", "count", "flag"]
    assert are_words(table) == [False, True, False, False]
    expected = [[1.5, 1, 1], [np.nan, 2, np.nan], [3, 3, 0]]
    np.testing.assert_array_equal(table.numbers([0, 2, 3]), expected)
    assert table.column(1).values[[0, 2]].tolist() == ["a", "b"]
    assert table.column(1).missing.tolist() == [False, True, False]
    assert [table.column(c).kind for c in range(4)] == ["number", "text", "number", "number"]


@every_frame
def test_forests_take_frames_of_every_kind(make):
    rng = np.random.default_rng(0)
    columns = {
        "a": np.where(rng.random(90) < 0.1, np.nan, rng.normal(size=90)),
        "b": rng.integers(0, 9, 90),
        "c": rng.choice(["x", "y", "z"], 90).tolist(),
    }
    y = (columns["b"] > 4) ^ (np.array(columns["c"]) == "x")
    expected = RandomForestClassifier(9, random_state=0).fit(pd.DataFrame(columns), y)
    result = RandomForestClassifier(9, random_state=0).fit(make(columns), y)
    assert result.feature_names_in_.tolist() == ["a", "b", "c"]
    probabilities = expected.predict_proba(pd.DataFrame(columns))
    np.testing.assert_array_equal(result.predict_proba(make(columns)), probabilities)
    np.testing.assert_array_equal(result.predict_proba(pd.DataFrame(columns)), probabilities)


@pytest.mark.parametrize("Model", [RandomForestClassifier, AdaBoostClassifier])
def test_batches_of_pyarrow_are_tables(Model):
    X = pa.table({"a": np.arange(60) % 7, "b": np.arange(60) % 11 / 2})
    y = np.arange(60) % 7 > 3
    batch = X.to_batches()[0]
    expected, result = (Model(5, random_state=0).fit(table, y) for table in (X, batch))
    assert result.feature_names_in_.tolist() == ["a", "b"]
    assert np.array_equal(result.predict_proba(batch), expected.predict_proba(X))


@pytest.mark.parametrize(
    "model", [RandomForestClassifier(2), AdaBoostClassifier(2), MultiGrainedScanner()]
)
def test_lazy_frames_are_refused(model):
    X = pl.DataFrame({"a": [1.0, 2.0], "b": [2.0, 3.0]})
    for lazy in (X.lazy(), nw.from_native(X.lazy())):
        with pytest.raises(TypeError, match=r"X must be in memory .* LazyFrame: .*X\.collect\(\)"):
            model.fit(lazy, [0, 1])


def test_types_of_pandas():
    frame = pd.DataFrame(
        {
            "object": pd.Series(["x", "y"], dtype=object),
            "string": pd.Series(["x", pd.NA], dtype="string"),
            "integer": pd.Series([1, None], dtype="Int64"),
            "boolean": pd.Series([True, None], dtype="boolean"),
            "small": pd.Series([1, 2], dtype="int8"),
            "sparse": pd.arrays.SparseArray([0.0, 2.0]),
            "arrow": pd.array([1.5, None], dtype="float64[pyarrow]"),
            "period": pd.period_range("2020", periods=2, freq="D"),
            "decimal": pd.Series([pd.NA, 3], dtype=object),
        }
    )
    words = [True, True, False, False, False, False, False, False, False]
    table = read(frame)
    assert are_words(table) == words
    numbers = table.numbers([2, 3, 4, 5, 6, 8])
    nan = np.nan
    np.testing.assert_array_equal(numbers, [[1, 1, 1, 0, 1.5, nan], [nan, nan, 2, 2, nan, 3]])


def test_names_may_be_equal_or_numbers():
    X = np.arange(6.0).reshape(3, 2)
    for names in (["a", "a"], [0, 1], ["b", 1]):
        frame = pd.DataFrame(X)
        frame.columns = names
        np.testing.assert_array_equal(read_frame(frame).numbers(range(2)), X)


def test_sparse_columns_of_pandas_are_numbers_for_all():
    dense = np.arange(60.0) % 3
    X, y = pd.DataFrame({"a": pd.arrays.SparseArray(dense), "b": dense[::-1]}), dense > 1
    result = AdaBoostClassifier(2).fit(X, y).predict(X)
    assert np.array_equal(result, AdaBoostClassifier(2).fit(X.to_numpy(), y).predict(X.to_numpy()))


def _odd_columns(rng, n_rows):
    """Columns of many pandas types with missing cells."""
    words = rng.choice(np.array(["a", "b", "c", None], object), n_rows)
    numbers = rng.integers(-3, 3, n_rows)
    times = pd.Series(pd.to_datetime("2020-01-01") + pd.to_timedelta(numbers, "D"))
    holes = rng.random(n_rows) < 0.3
    return {
        "object": words,
        "any": rng.choice(np.array(["a", 1, 2.5, None, pd.NA, (1, 2)], object), n_rows),
        "str": pd.Series(words).astype("str").mask(holes),
        "string": pd.array(words, "string"),
        "arrow string": pd.array(words, pd.ArrowDtype(pa.string())),
        "arrow number": pd.array(np.where(holes, None, numbers), pd.ArrowDtype(pa.int64())),
        "category": pd.Categorical(words, [*"cba", "unused"]),
        "category of strings": pd.Series(words).astype("string").astype("category"),
        "category of numbers": pd.Categorical(numbers),
        "category of floats": pd.Categorical(np.where(holes, np.nan, numbers / 2)),
        "category of flags": pd.Categorical(numbers > 0),
        "category of times": pd.Categorical(times.mask(holes)),
        "category of several": pd.Categorical(words, ["a", "b", "c", 7]),
        "whole": numbers,
        "small": numbers.astype(np.int8),
        "Int64": pd.array(np.where(holes, None, numbers), "Int64"),
        "Float32": pd.array(np.where(holes, None, numbers / 3), "Float32"),
        "flag": holes,
        "boolean": pd.array(np.where(rng.random(n_rows) < 0.3, None, holes), "boolean"),
        "number": np.where(holes, np.nan, numbers / 3),
        "single": (numbers / 3).astype(np.float32),
        "decimal": [None if hole else Decimal(2) for hole in holes],
        "sparse": pd.arrays.SparseArray(numbers.astype(float)),
        "empty": np.full(n_rows, None),
    }


@settings(deadline=None, max_examples=30)
@given(st.integers(0, 2**32 - 1), st.sampled_from([1, 2, 40]))
def test_small_frames_of_odd_columns_are_read_like_long_ones(seed, n_rows):
    X = pd.DataFrame(_odd_columns(np.random.default_rng(seed), n_rows))
    with pytest.MonkeyPatch.context() as patch:
        at_once = read(X)
        cells = [at_once.column(c).cells for c in range(X.shape[1])]
        limits.change(patch, cells_of_a_small_frame=0)
        by_column = read(X)
        for c, name in enumerate(X):
            assert at_once.column(c).kind == by_column.column(c).kind, name
            assert_same(cells[c].values, by_column.column(c).values, name)


@every_frame
def test_text_that_should_be_numbers_is_named_as_text(make):
    X = make({"size": [1.5, 2.0] * 10, "word": ["1", "x"] * 10})
    forest = RandomForestClassifier(2, categorical_features=None)
    with pytest.raises(ValueError, match=r"got 'x' in row 1, column 1, 'word': could not convert"):
        forest.fit(X, [0, 1] * 10)


def test_columns_under_other_names_are_refused_in_any_order():
    X = pd.DataFrame({"a": [1.0, 2.0] * 10, "b": [0.0, 1.0] * 10})
    forest = RandomForestClassifier(2, random_state=0).fit(X, [0, 1] * 10)
    for names in (["b", "a"], ["a", "c"]):
        with pytest.raises(ValueError, match="feature names"):
            forest.predict(X.set_axis(names, axis=1))
    with pytest.raises(ValueError, match="feature names"):
        forest.predict(X[["a"]])
