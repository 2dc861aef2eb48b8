"""Coding of any kind of table as one byte per cell."""

import pickle
import warnings
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from mddf.baselines import GCForestClassifier
from sklearn.base import clone

from mddf import (
    DeepForestClassifier,
    DeepForestRegressor,
    GradientBoostingClassifier,
    MDDFClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
)

# Tables that changed


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


@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
def test_a_column_without_a_value_is_missing_whatever_its_type(model):
    for before in [*VALUES, "objects", "float", "times"]:
        age = np.linspace(-1, 1, 120)
        column = VALUES.get(
            before, pd.Series([None] * 120, dtype=getattr(WITHOUT.get(before), "dtype", None))
        )
        model = clone(model).fit(pd.DataFrame({"age": age, "city": column}), (age > 0).astype(int))
        expected = model.predict(pd.DataFrame({"age": [0.3, -1], "city": [None, None]}))
        for kind, cells in WITHOUT.items():
            result = model.predict(of_type(cells, age=[0.3, -1], city=cells))
            assert np.array_equal(result, expected), kind


def test_columns_empty_in_fit_accept_any_type():
    for n_rows in [2, 202]:
        for before in ["objects", "float", "times", "category"]:
            age, empty = (
                np.linspace(-1, 1, 120),
                pd.Series([None] * 120, dtype=WITHOUT[before].dtype),
            )
            model = RandomForestClassifier(3, random_state=0)
            model.fit(pd.DataFrame({"age": age, "city": empty}), age > 0)
            age = np.tile([0.3, -1], n_rows // 2)
            for city in (
                ["oslo", 2],
                [1, 2],
                [True, False],
                pd.period_range("2020", periods=2),
                [{}, []],
            ):
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


@pytest.mark.parametrize("Model", [RandomForestClassifier, GradientBoostingClassifier])
def test_categories_that_hardly_repeat_warn(Model):
    for n_values in [70, 120, 400]:
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
