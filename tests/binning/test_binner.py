"""Coding of any kind of table as one byte per cell."""

import pickle
import warnings
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from forest_cases import bin_table
from hypothesis import given, settings
from hypothesis import strategies as st
from mddf.baselines import GCForestClassifier
from scipy import sparse
from sklearn.base import clone
from table_cases import read

from mddf import (
    DeepForestClassifier,
    DeepForestRegressor,
    GradientBoostingClassifier,
    MDDFClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
)
from mddf._binning.binner import Binner
from mddf._binning.bins import find_bins
from mddf._input.table import Factors


@pytest.fixture
def frame():
    return pd.DataFrame(
        {
            "size": [1.5, np.nan, 3.0, 1.0],
            "color": pd.Categorical(["red", "blue", None, "red"]),
            "word": ["a", "b", "a", None],
            "count": [1, 2, 3, 4],
            "flag": [True, False, True, True],
        }
    )


def fitted(X, **options):
    binner = Binner(**{"categorical_features": "from_dtype", **options})
    binner.fit_transform(read(X, categorical_features=binner.categorical_features))
    return binner


def test_categories_become_codes(frame):
    binner = fitted(frame)
    expected = [
        [1.5, 1, 0, 1, 1],
        [np.nan, 0, 1, 2, 0],
        [3, np.nan, 0, 3, 1],
        [1, 1, np.nan, 4, 1],
    ]
    np.testing.assert_array_equal(binner.numbers(read(frame)), expected)
    assert np.diff(binner.bins_.start).tolist() == [3, 2, 2, 4, 2]
    assert binner.bins_.categorical.tolist() == [0, 1, 1, 0, 0]
    assert binner.kinds_ == ["number", "text", "text", "number", "number"]


@pytest.mark.parametrize("n_spare", [0, 3])
@pytest.mark.parametrize("shape", [(40, 5), (3000, 200)])
def test_numeric_columns_are_binned_the_same_in_any_table(shape, n_spare):
    X = np.random.default_rng(0).normal(size=shape)
    X[3, 1] = np.nan
    expected = bin_table(X, find_bins(X), n_spare=n_spare)
    binner = Binner()
    result = binner.fit_transform(read(X), n_spare=n_spare)
    np.testing.assert_array_equal(result.codes, expected.codes)
    assert (result.by_column is None) == (expected.by_column is None) == (shape[0] < 100)
    if result.by_column is not None:
        np.testing.assert_array_equal(result.by_column, result.codes.T)
    np.testing.assert_array_equal(result.bins.edges, expected.bins.edges)
    np.testing.assert_array_equal(binner.encode(read(X), n_spare=n_spare).codes, expected.codes)
    again = binner.recode(read(X))
    np.testing.assert_array_equal(again.codes, expected.codes[:, : shape[1]])
    assert (again.by_column is None) == (expected.by_column is None)


@settings(deadline=None, max_examples=25)
@given(st.integers(1, 40), st.integers(1, 9), st.integers(0, 2**32 - 1), st.integers(8, 2000))
def test_blocks_do_not_matter(n_rows, n_columns, seed, block_bytes):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 9, (n_rows, n_columns)).astype(float)
    weights = rng.integers(0, 3, n_rows) + 0.5
    expected = Binner(max_bins=4).fit_transform(read(X), weights)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("mddf._input.table._BLOCK_BYTES", block_bytes)
        for other in (sparse.csr_matrix(X), pd.DataFrame(X)):
            result = Binner("from_dtype", max_bins=4).fit_transform(read(other), weights)
            np.testing.assert_array_equal(result.codes, expected.codes)
            np.testing.assert_array_equal(result.bins.edges, expected.bins.edges)


def test_unseen_and_missing_categories(frame):
    new = frame.assign(color=["green", "blue", "red", None], word=["b", "zz", None, np.nan])
    codes = fitted(frame).numbers(read(new))
    np.testing.assert_array_equal(codes[:, 1], [np.nan, 0, 1, np.nan])
    np.testing.assert_array_equal(codes[:, 2], [1, np.nan, np.nan, np.nan])


def test_the_order_of_categories_in_the_dtype_does_not_matter(frame):
    binner = fitted(frame)
    new = frame.assign(color=frame["color"].cat.reorder_categories(["red", "blue"]))
    np.testing.assert_array_equal(binner.numbers(read(frame)), binner.numbers(read(new)))


def test_rare_categories_share_a_code():
    words = np.repeat([f"w{i:03d}" for i in range(300)], [2] * 9 + [1] * 291)
    X = np.array(words, dtype=object)[:, None]
    binner = fitted(X, categorical_features=[0], max_bins=10)
    assert np.diff(binner.bins_.start).tolist() == [10]
    codes = binner.numbers(read(X, categorical_features=[0])).ravel()
    assert sorted(np.bincount(codes.astype(int)).tolist()) == [*[2] * 9, 291]


@settings(deadline=None, max_examples=30)
@given(st.integers(0, 2**32 - 1), st.integers(2, 9))
def test_weight_k_is_k_copies_of_a_category(seed, max_bins):
    rng = np.random.default_rng(seed)
    X = rng.choice(["a", "b", "c", "d", "e", "f", "g", None], (40, 1)).astype(object)
    weights = rng.integers(0, 5, 40).astype(float)
    weights[0] = 1
    copies = np.repeat(X, weights.astype(int), axis=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        weighted, repeated = Binner([0], max_bins), Binner([0], max_bins)
        weighted.fit_transform(read(X, categorical_features=[0]), weights)
        repeated.fit_transform(read(copies, categorical_features=[0]))
    table = read(X, categorical_features=[0])
    np.testing.assert_array_equal(weighted.numbers(table), repeated.numbers(table))
    assert weighted.bins_.start.tolist() == repeated.bins_.start.tolist()


@settings(deadline=None, max_examples=30)
@given(st.integers(0, 2**32 - 1), st.integers(2, 12), st.booleans())
def test_categories_of_a_frame_and_cell_by_cell(seed, max_bins, weighted):
    """Categories are looked up once, or cell by cell for frames of polars and for few cells."""
    rng = np.random.default_rng(seed)
    words = rng.choice([*"abcdefgh", None], (150, 2), p=[0.3, 0.2, 0.1, *[0.08] * 4, 0.05, 0.03])
    weights = rng.integers(0, 3, 150) + 0.0 if weighted else None
    columns = {"category": pd.Categorical(words[:, 0]), "text": words[:, 1]}
    new = pd.DataFrame(columns | {"text": np.where(words[:, 1] == "a", "new", words[:, 1])})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        result, expected = Binner("from_dtype", max_bins), Binner("from_dtype", max_bins)
        expected.fit_transform(read(pd.DataFrame(columns)), weights)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("mddf._input.frame._FEW_CELLS", 0)
            result.fit_transform(read(pd.DataFrame(columns)), weights)
            codes = result.numbers(read(new))
            assert isinstance(read(new).column(1).cells, Factors)
    np.testing.assert_array_equal(codes, expected.numbers(read(new)))
    assert result.kinds_ == expected.kinds_
    for c in (0, 1):
        assert list(result.encoders_[c].categories) == list(expected.encoders_[c].categories)


def test_arrays_with_categories():
    X = np.array([["a", 1.5], ["b", None], ["a", "nan"]], dtype=object)
    binner = fitted(X, categorical_features=[0])
    numbers = binner.numbers(read(X, categorical_features=[0]))
    np.testing.assert_array_equal(numbers, [[0, 1.5], [1, np.nan], [0, np.nan]])
    numbers = np.array([[3.0, 1.5], [7.0, np.nan], [3.0, 2.0]])
    binner = fitted(numbers, categorical_features=[0, 1])
    codes = binner.numbers(read(np.array([[7, 2], [8, np.nan]])))
    np.testing.assert_array_equal(codes, [[1, 1], [np.nan, np.nan]])


# Tables that changed


@pytest.fixture
def models(frame):
    X, y = pd.concat([frame] * 6), np.arange(24) % 2
    forest = RandomForestClassifier(3, random_state=0).fit(X, y)
    cascade = MDDFClassifier(2, n_estimators=2, cv=2, random_state=0).fit(X, y)
    return [forest, cascade]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"size": "big"}, "column 0, 'size' of X must hold numbers as in fit, got text"),
        ({"word": 3}, "column 2, 'word' of X must hold texts as in fit, got number"),
        ({"color": 1.5}, "column 1, 'color' of X must hold texts as in fit, got number"),
        ({"count": pd.Timestamp("2020-01-01")}, "column 3.*numbers as in fit, got [dD]atetime"),
    ],
)
def test_columns_of_another_kind_are_refused(frame, models, changes, message):
    for model in models:
        with pytest.raises(TypeError, match=message):
            model.predict(frame.assign(**changes))


def test_columns_of_times_keep_their_unit():
    days = pd.to_datetime(["2020-01-01", "2020-01-02"] * 4)
    X = pd.DataFrame({"day": days.as_unit("ns")})
    forest = RandomForestClassifier(3, categorical_features=["day"]).fit(X, [0, 1] * 4)
    assert forest.score(X, [0, 1] * 4) == 1
    with pytest.raises(TypeError, match=r"'day' of X must hold .*ns.* as in fit, got .*'s'"):
        forest.predict(pd.DataFrame({"day": days.as_unit("s")}))
    array = np.array([["2020-01-01"], ["2020-01-02"]] * 4, dtype="datetime64[D]")
    forest = RandomForestClassifier(3, categorical_features=[0]).fit(array, [0, 1] * 4)
    assert forest.score(array, [0, 1] * 4) == 1
    with pytest.raises(TypeError, match=r"datetime64\[D\]s as in fit, got datetime64\[h\]"):
        forest.predict(array.astype("datetime64[h]"))


def test_columns_without_anything_are_of_any_kind(frame, models):
    missing = frame.assign(word=pd.Series([None] * 4, dtype=frame["word"].dtype), size=np.nan)
    for model in models:
        result = model.predict_proba(frame.assign(word=None, size=None))
        assert np.array_equal(result, model.predict_proba(missing))


# Columns without a value, of every type that a table may give them.
WITHOUT = {
    "float": pd.Series([np.nan] * 2),
    "objects": pd.Series([None, np.nan], dtype=object),
    "decimals": pd.Series([Decimal("NaN"), None], dtype=object),
    "Float64": pd.Series([pd.NA] * 2, dtype="Float64"),
    "Int64": pd.Series([pd.NA] * 2, dtype="Int64"),
    "boolean": pd.Series([pd.NA] * 2, dtype="boolean"),
    "string": pd.Series([pd.NA] * 2, dtype="string"),
    "category": pd.Series(pd.Categorical([None] * 2)),
    "sparse": pd.Series(pd.arrays.SparseArray([np.nan] * 2)),
    "times": pd.Series([pd.NaT] * 2, dtype="datetime64[ns]"),
    "times of a zone": pd.Series([pd.NaT] * 2, dtype="datetime64[ns, UTC]"),
    "differences": pd.Series([pd.NaT] * 2, dtype="timedelta64[ns]"),
    "periods": pd.Series([pd.NaT] * 2, dtype="period[D]"),
    "arrow": pd.Series([None] * 2, dtype=pd.ArrowDtype(pa.timestamp("s"))),
    "polars": pl.Series([None, float("nan")], dtype=pl.Float64),
    "nothing of polars": pl.Series([None] * 2, dtype=pl.Null),
    "dates of polars": pl.Series([None] * 2, dtype=pl.Date),
    "lists of polars": pl.Series([None] * 2, dtype=pl.List(pl.Int64)),
}
VALUES = {
    "text": ["oslo", "rome"] * 60,
    "category": pd.Categorical(["oslo", "rome"] * 60),
    "number category": pd.Categorical([1, 2] * 60),
    "number": [1.0, 2.0] * 60,
}
MODELS = [
    RandomForestClassifier(3, random_state=0),
    RandomForestRegressor(3, random_state=0),
    MDDFClassifier(1, n_estimators=2, cv=2, random_state=0),
    GCForestClassifier(1, n_estimators=2, cv=2, random_state=0),
    DeepForestClassifier(1, n_estimators=2, members=["random", "linear"], cv=2, random_state=0),
    DeepForestRegressor(1, n_estimators=2, members=["random", "linear"], cv=2, random_state=0),
]


def of_type(kind, **columns):
    return (pl if isinstance(kind, pl.Series) else pd).DataFrame(columns)


@pytest.mark.parametrize("before", [*VALUES, "objects", "float", "times"])
@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
def test_a_column_without_a_value_is_missing_whatever_its_type(model, before):
    age = np.linspace(-1, 1, 120)
    column = VALUES.get(
        before, pd.Series([None] * 120, dtype=getattr(WITHOUT.get(before), "dtype", None))
    )
    model = clone(model).fit(pd.DataFrame({"age": age, "city": column}), (age > 0).astype(int))
    expected = model.predict(pd.DataFrame({"age": [0.3, -1], "city": [None, None]}))
    for kind, cells in WITHOUT.items():
        result = model.predict(of_type(cells, age=[0.3, -1], city=cells))
        assert np.array_equal(result, expected), kind


@pytest.mark.parametrize("n_rows", [2, 202])
@pytest.mark.parametrize("before", ["objects", "float", "times", "category"])
def test_columns_empty_in_fit_accept_any_type(before, n_rows):
    age, empty = np.linspace(-1, 1, 120), pd.Series([None] * 120, dtype=WITHOUT[before].dtype)
    model = RandomForestClassifier(3, random_state=0)
    model.fit(pd.DataFrame({"age": age, "city": empty}), age > 0)
    age = np.tile([0.3, -1], n_rows // 2)
    for city in (["oslo", 2], [1, 2], [True, False], pd.period_range("2020", periods=2), [{}, []]):
        new = pd.DataFrame({"age": age, "city": list(city) * (n_rows // 2)})
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "most rows hold categories")
            assert model.predict(new).tolist() == [True, False] * (n_rows // 2)
    with pytest.raises(ValueError, match="got inf in row 0"):
        model.predict(new.assign(age=np.inf))


def test_columns_of_arrays_without_a_value_are_missing():
    X = np.array([["a", 1.5], ["b", 2.5]] * 30, dtype=object)
    forest = RandomForestClassifier(3, categorical_features=[0], random_state=0)
    forest.fit(X, [0, 1] * 30)
    expected = forest.predict_proba(pd.DataFrame({0: [None], 1: [2.5]}).to_numpy(object))
    for nothing in (np.nan, pd.NA, Decimal("NaN")):
        result = forest.predict_proba(np.array([[nothing, 2.5]], object))
        assert np.array_equal(result, expected)
    assert np.array_equal(forest.predict_proba(np.array([[np.nan, 2.5]])), expected)
    with pytest.raises(TypeError, match="column 0 of X must hold texts as in fit, got number"):
        forest.predict(np.array([[3.0, 2.5]]))


def test_columns_with_one_category_keep_their_type():
    model = RandomForestClassifier(3).fit(pd.DataFrame({"city": ["oslo", None] * 30}), [0, 1] * 30)
    with pytest.raises(TypeError, match="must hold texts as in fit, got number"):
        model.predict(pd.DataFrame({"city": [np.nan] * 200 + [1.0]}))


def test_categories_unseen_in_fit_are_reported(frame, models):
    new = frame.assign(word=frame["word"].str.upper())
    with pytest.warns(UserWarning, match=r"column 2, 'word': 75% of the rows, such as 'A', 'B'"):
        models[0].predict_proba(new)


@pytest.mark.parametrize("n_rows", [2, 60])
def test_a_model_warns_of_unseen_categories_of_a_column_once(n_rows):
    frame = pd.DataFrame({"a": ["x", "y"] * 30, "b": pd.Categorical(["v", "w"] * 30)})
    forest = RandomForestClassifier(3, random_state=0).fit(frame, [0, 1] * 30)
    new = frame[:n_rows]
    with pytest.warns(UserWarning, match=r"column 0, 'a': 100% of the rows, such as 'z'"):
        forest.predict(new.assign(a="z"))
    forest.predict(new.assign(a="zz"))
    forest.predict(new.assign(a="zz")[:1])
    with pytest.warns(UserWarning, match=r"column 1, 'b': 100% of the rows, such as 'z'"):
        forest.predict(new.assign(a="z", b="z"))
    restored = pickle.loads(pickle.dumps(forest))
    with pytest.warns(UserWarning, match="did not see"):
        restored.predict(new.assign(a="z"))


def test_text_that_is_mostly_numbers_is_reported():
    y = np.arange(60) % 2
    text = [str(i % 7) if i % 9 else "?" for i in range(60)]
    with pytest.warns(UserWarning, match=r"'n' is text .* 7 of its 8 values are numbers"):
        RandomForestClassifier(2).fit(pd.DataFrame({"n": text}), y)
    # Those who say that these are categories know it.
    RandomForestClassifier(2).fit(pd.DataFrame({"n": pd.Categorical(text)}), y)
    RandomForestClassifier(2, categorical_features=["n"]).fit(pd.DataFrame({"n": text}), y)


@pytest.mark.parametrize("n_values", [70, 120, 400])
@pytest.mark.parametrize("Model", [RandomForestClassifier, GradientBoostingClassifier])
def test_categories_that_hardly_repeat_warn(Model, n_values):
    n = max(120, n_values)
    frame = pd.DataFrame({"name": [f"customer {i % n_values}" for i in range(n)]})
    with pytest.warns(UserWarning, match=f"'name' has {n_values} categories in {n} rows"):
        Model().fit(frame, np.arange(n) % 2)


@pytest.mark.parametrize("n_rows", [100, 101, 300])
def test_numbers_that_were_categories_of_a_frame_may_come_as_an_array(n_rows):
    k = np.arange(300) % 5
    frame = pd.DataFrame({"c": pd.Categorical(k), "d": np.arange(300.0)})
    cells = frame.astype(float).to_numpy()
    for X, options in (
        (frame, {}),
        (cells.astype(object), {"categorical_features": [0]}),
    ):
        forest = RandomForestClassifier(5, random_state=0, **options).fit(X, k % 2)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of names that an array has not
            result = forest.predict_proba(cells[:n_rows])
        assert np.array_equal(result, forest.predict_proba(X[:n_rows]))
