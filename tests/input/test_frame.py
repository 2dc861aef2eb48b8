"""Data frames of every kind, column by column."""

import warnings
from datetime import datetime
from decimal import Decimal

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
from mddf._binning.binner import Binner
from mddf._input.frame import frame_table

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


def test_batches_of_pyarrow_have_words():
    cells = [pa.array([1.5, 2.0, None]), pa.array(["x", None, "y"])]
    batch = pa.RecordBatch.from_arrays(cells, names=["a", "word"])
    table = read(batch)
    assert table.names == ["a", "word"]
    assert are_words(table) == [False, True]


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


ARROW_NUMBERS = [
    *(pa.int8(), pa.int16(), pa.int32(), pa.int64()),
    *(pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64()),
    *(pa.float16(), pa.float32(), pa.float64(), pa.bool_()),
]


@pytest.mark.parametrize("n_rows", [1, 5])
@pytest.mark.parametrize("has_missing", [False, True])
@pytest.mark.parametrize("type_", ARROW_NUMBERS, ids=str)
def test_numbers_of_pyarrow_in_pandas(type_, has_missing, n_rows):
    dtype = np.dtype(type_.to_pandas_dtype())
    largest = np.iinfo(dtype).max if dtype.kind in "iu" else 1
    cells = [*np.array([largest, 0, 1, 0, 1], dtype)[:n_rows]]
    if has_missing:
        cells[-1] = None
    X = pd.DataFrame({"number": pd.array(pa.array(cells, type_), pd.ArrowDtype(type_))})
    expected = [[np.nan if cell is None else float(cell)] for cell in cells]
    np.testing.assert_array_equal(frame_table(X).numbers([0]), expected)
    assert not are_words(frame_table(X))[0]


def _mixed_frames():
    when = pd.to_datetime(["2020-01-01", None, "2020-01-03"])
    yield pd.DataFrame(
        {
            "float": [1.5, np.nan, 1e300],
            "single": np.array([0.1, 2, 3], np.float32),
            "large": [2**53 + 1, 2**60 + 1, 3],
            "small": np.array([1, 2, 255], np.uint8),
            "nullable": pd.array([1, None, 3], "Int64"),
            "flag": [True, False, True],
            "maybe": pd.array([True, None, False], "boolean"),
            "word": ["a", None, "b"],
            "category": pd.Categorical(["x", None, "x"]),
            "number category": pd.Categorical([3, None, 5]),
            "object": np.array(["a", 1, None], object),
            "decimal": [Decimal("1.5"), None, Decimal(2)],
            "when": when,
            "whens": pd.Series([when[0], pd.NaT, "z"], dtype=object),
            "sparse": pd.arrays.SparseArray([0.0, 1.0, np.nan]),
            "nothing": np.array([None, None, None], object),
        }
    )
    columns = {
        "float": [1.5, None, np.nan],
        "large": [2**53 + 1, None, 3],
        "word": ["a", None, ""],
    }
    columns |= {"flag": [True, None, False], "when": [datetime(2020, 1, 1), None, None]}
    yield pl.DataFrame(columns, strict=False)
    yield pl.DataFrame({"category": pl.Series(["x", None, "y"], dtype=pl.Categorical)})
    yield pa.table(columns)
    yield pa.table({"category": pa.array(["x", None, "y"]).dictionary_encode()})


@pytest.mark.parametrize("X", list(_mixed_frames()), ids=lambda X: type(X).__module__)
def test_few_rows_are_read_at_once_like_many(X, monkeypatch):
    at_once = read(X)
    monkeypatch.setattr("mddf._input.frame._FEW_CELLS", 0)
    by_column = read(X)
    for c, name in enumerate(at_once.names):
        assert at_once.column(c).kind == by_column.column(c).kind, name
        assert at_once.column(c).is_categorical == by_column.column(c).is_categorical, name
        values, expected = at_once.column(c).values, by_column.column(c).values
        assert [type(v) for v in values] == [type(v) for v in expected], name
        assert_same(values, expected, name)
        if not by_column.column(c).is_categorical and "when" not in name:
            np.testing.assert_array_equal(at_once.numbers([c]), by_column.numbers([c]), name)


def test_factors_are_the_values(monkeypatch):
    X = next(_mixed_frames())
    in_memory = read(X)
    monkeypatch.setattr("mddf._input.frame._FEW_CELLS", 0)
    table = read(X)
    for c, name in enumerate(table.names):
        numbers, different = table.column(c).cells
        values, expected = different[numbers], in_memory.column(c).values
        assert_same(values, expected, name)
    lists = pd.DataFrame({"lists": [[1], [2]]})
    assert read(lists).column(0).values.tolist() == [[1], [2]]


def test_names_may_be_equal_or_numbers():
    X = np.arange(6.0).reshape(3, 2)
    for names in (["a", "a"], [0, 1], ["b", 1]):
        frame = pd.DataFrame(X)
        frame.columns = names
        np.testing.assert_array_equal(read_frame(frame).numbers(range(2)), X)


def test_objects_that_are_numbers():
    X = np.random.default_rng(0).random((200, 2))
    X[::7, 1] = np.nan
    y = X[:, 0] > 0.5
    objects = pd.DataFrame(X).astype(object)
    assert are_words(read(objects)) == [False, False]
    assert are_words(read_frame(objects.assign(word="a"))) == [False, False, True]
    forest = RandomForestClassifier(5, random_state=0).fit(X, y)
    of_objects = RandomForestClassifier(5, random_state=0).fit(objects, y)
    assert np.array_equal(forest.apply(X), of_objects.apply(objects))
    with_na = objects.where(objects.notna(), pd.NA)
    assert np.array_equal(forest.apply(X), of_objects.apply(with_na))
    again = RandomForestClassifier(5, random_state=0).fit(with_na, y)
    assert np.array_equal(forest.apply(X), again.apply(with_na.iloc[:, :]))
    assert with_na.iloc[0, 1] is pd.NA  # the user's frame is as it was


def test_sparse_columns_of_pandas_are_numbers_for_all():
    dense = np.arange(60.0) % 3
    X, y = pd.DataFrame({"a": pd.arrays.SparseArray(dense), "b": dense[::-1]}), dense > 1
    result = AdaBoostClassifier(2).fit(X, y).predict(X)
    assert np.array_equal(result, AdaBoostClassifier(2).fit(X.to_numpy(), y).predict(X.to_numpy()))


def _odd_frames():
    n = 6
    numbers = np.array([2**60 + 1, 3, 2**60 + 1, 5, 3, 3])
    words = np.array(["a", "b", None, "a", "c", "b"], object)
    category = pd.Series(words).astype("category")
    large = pd.Series(numbers).astype("category")
    when = pd.Series(pd.date_range("2020-01-01", periods=n))
    return {
        "text": pd.DataFrame({"a": words, "b": words[::-1]}),
        "strings": pd.DataFrame({"a": pd.array(words, "string"), "b": pd.array(words, "string")}),
        "categories": pd.DataFrame({"a": category, "b": category}),
        "other categories": pd.DataFrame({"a": category, "b": category[::-1].to_numpy(object)}),
        "categories of numbers": pd.DataFrame({"a": large, "b": np.linspace(0, 1, n)}),
        "large and broken numbers": pd.DataFrame(
            {"a": large, "b": pd.Series(np.arange(n) / 2).astype("category")}
        ),
        "a bit of all": pd.DataFrame(
            {
                "a": words, "b": category, "c": large, "d": np.arange(n), "e": words == "a",
                "f": pd.array([1, None] * 3, "Int64"), "g": when.astype("category"),
                "h": pd.array(words, "string"), "i": np.linspace(0, 1, n, dtype=np.float32),
            }
        ),
        "names that are equal": pd.DataFrame(np.array([words, words]).T, columns=["a", "a"]),
    }  # fmt: skip


@pytest.mark.parametrize("name", _odd_frames())
def test_a_row_has_the_cells_of_a_whole_frame(name):
    X = _odd_frames()[name]
    whole = frame_table(X)
    for row in range(len(X)):
        alone = frame_table(X.iloc[row : row + 1])
        for c in range(X.shape[1]):
            if whole.types[c].kind is None:
                result, expected = alone.column(c), whole.column(c)
                assert result.missing[0] == expected.missing[row]
                if not result.missing[0]:
                    assert result.values[0] == expected.values[row]
                    assert hash(result.values[0]) == hash(expected.values[row])


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


@settings(deadline=None, max_examples=40)
@given(st.integers(0, 2**32 - 1), st.sampled_from([1, 2, 7, 40]), st.booleans())
def test_small_frames_are_coded_like_long_ones(seed, n_rows, own_arrays):
    rng = np.random.default_rng(seed)
    columns, new = _odd_columns(rng, 60), _odd_columns(rng, n_rows)
    chosen = rng.permutation([name for name in columns if name != "any"])[: rng.integers(1, 24)]
    X, Z = (pd.DataFrame({name: made[name] for name in chosen}) for made in (columns, new))
    Z = Z.assign(**{name: "new" for name in chosen if name == "object" and seed % 2})
    results = []
    with pytest.MonkeyPatch.context() as patch:
        if not own_arrays:
            patch.delattr(pd.DataFrame, "_iter_column_arrays")
        for few_cells in (2**17, 0):
            patch.setattr("mddf._input.frame._FEW_CELLS", few_cells)
            try:
                # A recorder for each: warnings of a kind are shown once in the same place.
                with warnings.catch_warnings(record=True) as caught:
                    warnings.simplefilter("always")
                    binner = Binner("from_dtype")
                    binned = binner.fit_transform(read(X))
                    caught.clear()
                    codes = binner.encode(read(Z)).codes
                    messages = sorted(str(warning.message) for warning in caught)
                results.append((binned.codes, binner.numbers(read(Z)), codes, messages))
            except (TypeError, ValueError) as error:
                results.append((type(error), str(error)))
    at_once, by_column = results
    for result, expected in zip(at_once, by_column, strict=True):
        np.testing.assert_array_equal(result, expected)


@settings(deadline=None, max_examples=30)
@given(st.integers(0, 2**32 - 1), st.sampled_from([1, 2, 40]))
def test_small_frames_of_odd_columns_are_read_like_long_ones(seed, n_rows):
    X = pd.DataFrame(_odd_columns(np.random.default_rng(seed), n_rows))
    with pytest.MonkeyPatch.context() as patch:
        at_once = read(X)
        cells = [at_once.column(c).cells for c in range(X.shape[1])]
        patch.setattr("mddf._input.frame._FEW_CELLS", 0)
        by_column = read(X)
        for c, name in enumerate(X):
            assert at_once.column(c).kind == by_column.column(c).kind, name
            assert_same(cells[c].values, by_column.column(c).values, name)


@pytest.mark.parametrize("n_rows", [1, 30])
def test_small_frames_of_polars_are_numbers_at_once(n_rows, monkeypatch):
    rng = np.random.default_rng(0)
    numbers = rng.integers(-9, 9, n_rows)
    X = pl.DataFrame(
        {
            "whole": numbers,
            "missing": [None if number > 3 else float(number) for number in numbers],
            "single": pl.Series((numbers / 3).astype(np.float32)),
            "large": [2**60 + 1] * n_rows,
            "unsigned": pl.Series([2**64 - 1] * n_rows, dtype=pl.UInt64),
            "decimal": pl.Series([Decimal("1.25")] * n_rows, dtype=pl.Decimal(10, 2)),
            "flag": numbers > 0,
            "maybe": pl.Series([None] * n_rows, dtype=pl.Boolean),
        }
    )
    chosen = [[*range(6)], [*range(8)], [1], [6, 2], [7]]
    result = [read(X).numbers(columns) for columns in chosen]
    monkeypatch.setattr("mddf._input.frame._FEW_CELLS", 0)
    for columns, numbers in zip(chosen, result, strict=True):
        np.testing.assert_array_equal(numbers, read(X).numbers(columns))


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
