"""What users pass as X, column by column."""

from datetime import datetime
from decimal import Decimal

import narwhals.stable.v1 as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from forest_cases import rows_of
from mddf.baselines import AdaBoostClassifier, MultiGrainedScanner
from scipy import sparse
from sklearn.base import clone

from mddf import RandomForestClassifier, by_columns
from mddf._data.category_mask import category_mask
from mddf._data.cells import missing_cells
from mddf._data.column import Cells
from mddf._data.frame import frame_table, is_frame
from mddf._data.reading import read_table
from mddf._data.table import ArrayTable

FRAMES = {
    "pandas": pd.DataFrame,
    "polars": lambda columns: pl.DataFrame(
        {k: v.tolist() if isinstance(v, np.ndarray) else v for k, v in columns.items()}
    ),
    "pyarrow": pa.table,
}
every_frame = pytest.mark.parametrize("make", FRAMES.values(), ids=FRAMES)


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


def read(X, **options):
    return read_table(RandomForestClassifier(), X, reset=True, **options)


# Data frames of every kind


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
    assert is_frame(X)
    table = read(X)
    assert table.shape == (3, 4)
    assert table.names == ["size", "word", "count", "flag"]
    assert category_mask(table, "from_dtype").tolist() == [False, True, False, False]
    expected = [[1.5, 1, 1], [np.nan, 2, np.nan], [3, 3, 0]]
    np.testing.assert_array_equal(table.numbers([0, 2, 3]), expected)
    assert table.column(1).values[[0, 2]].tolist() == ["a", "b"]
    assert missing_cells(table.column(1).values).tolist() == [False, True, False]
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
    found = RandomForestClassifier(9, random_state=0).fit(make(columns), y)
    assert found.feature_names_in_.tolist() == ["a", "b", "c"]
    probabilities = expected.predict_proba(pd.DataFrame(columns))
    np.testing.assert_array_equal(found.predict_proba(make(columns)), probabilities)
    np.testing.assert_array_equal(found.predict_proba(pd.DataFrame(columns)), probabilities)


@pytest.mark.parametrize("Model", [RandomForestClassifier, AdaBoostClassifier])
def test_batches_of_pyarrow_are_tables(Model):
    X = pa.table({"a": np.arange(60) % 7, "b": np.arange(60) % 11 / 2})
    y = np.arange(60) % 7 > 3
    batch = X.to_batches()[0]
    expected, found = (Model(5, random_state=0).fit(table, y) for table in (X, batch))
    assert found.feature_names_in_.tolist() == ["a", "b"]
    assert np.array_equal(found.predict_proba(batch), expected.predict_proba(X))


def test_batches_of_pyarrow_have_words():
    cells = [pa.array([1.5, 2.0, None]), pa.array(["x", None, "y"])]
    batch = pa.RecordBatch.from_arrays(cells, names=["a", "word"])
    table = read(batch)
    assert table.names == ["a", "word"]
    assert category_mask(table, "from_dtype").tolist() == [False, True]


@pytest.mark.parametrize(
    "model", [RandomForestClassifier(2), AdaBoostClassifier(2), MultiGrainedScanner()]
)
def test_lazy_frames_are_refused(model):
    X = pl.DataFrame({"a": [1.0, 2.0], "b": [2.0, 3.0]})
    for lazy in (X.lazy(), nw.from_native(X.lazy())):
        with pytest.raises(TypeError, match=r"X must be there .* LazyFrame: .*X\.collect\(\)"):
            model.fit(lazy, [0, 1])


def test_other_things_are_no_frames(frame):
    for X in (frame.to_numpy(), [[1]], frame["size"], None):
        assert not is_frame(X)


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
    assert category_mask(table, "from_dtype").tolist() == words
    numbers = table.numbers([2, 3, 4, 5, 6, 8])
    nan = np.nan
    np.testing.assert_array_equal(numbers, [[1, 1, 1, 0, 1.5, nan], [nan, nan, 2, 2, nan, 3]])


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
    at_once = frame_table(X)
    monkeypatch.setattr("mddf._data.frame._FEW_CELLS", 0)
    by_column = frame_table(X)
    for c, name in enumerate(at_once.names):
        assert at_once.column(c).kind == by_column.column(c).kind, name
        assert at_once.column(c).is_categorical == by_column.column(c).is_categorical, name
        values, expected = at_once.column(c).values, by_column.column(c).values
        assert [type(v) for v in values] == [type(v) for v in expected], name
        same = (values == expected) | (missing_cells(values) & missing_cells(expected))
        assert np.asarray(same, bool).all(), name
        if not by_column.column(c).is_categorical and "when" not in name:
            np.testing.assert_array_equal(at_once.numbers([c]), by_column.numbers([c]), name)


def test_factors_are_the_values(monkeypatch):
    X = next(_mixed_frames())
    in_memory = frame_table(X)
    assert all(isinstance(in_memory.column(c).cells, Cells) for c in range(X.shape[1]))
    monkeypatch.setattr("mddf._data.frame._FEW_CELLS", 0)
    table = frame_table(X)
    for c, name in enumerate(table.names):
        numbers, different = table.column(c).cells
        values, expected = different[numbers], in_memory.column(c).values
        same = (values == expected) | (missing_cells(values) & missing_cells(expected))
        assert np.asarray(same, bool).all(), name
    lists = pd.DataFrame({"lists": [[1], [2]]})
    assert isinstance(frame_table(lists).column(0).cells, Cells)


def test_names_may_be_equal_or_numbers():
    X = np.arange(6.0).reshape(3, 2)
    for names in (["a", "a"], [0, 1], ["b", 1]):
        frame = pd.DataFrame(X)
        frame.columns = names
        np.testing.assert_array_equal(frame_table(frame).numbers(range(2)), X)


def test_objects_that_are_numbers():
    X = np.random.default_rng(0).random((200, 2))
    X[::7, 1] = np.nan
    y = X[:, 0] > 0.5
    objects = pd.DataFrame(X).astype(object)
    assert not category_mask(read(objects), "from_dtype").any()
    words = category_mask(frame_table(objects.assign(word="a")), "from_dtype")
    assert words.tolist() == [False, False, True]
    forest = RandomForestClassifier(5, random_state=0).fit(X, y)
    of_objects = RandomForestClassifier(5, random_state=0).fit(objects, y)
    assert np.array_equal(forest.apply(X), of_objects.apply(objects))
    with_na = objects.where(objects.notna(), pd.NA)
    assert np.array_equal(forest.apply(X), of_objects.apply(with_na))
    again = RandomForestClassifier(5, random_state=0).fit(with_na, y)
    assert np.array_equal(forest.apply(X), again.apply(with_na.iloc[:, :]))
    assert with_na.iloc[0, 1] is pd.NA  # the user's frame is as it was


# Arrays and sparse matrices


def test_numbers_are_passed_on():
    for dtype in ("f8", "f4", "i8", "i4", "u1"):
        X = np.arange(6).reshape(3, 2).astype(dtype)
        assert read(X).numbers(range(2)) is X
    assert read(np.array([[True], [False]])).numbers(range(1)).tolist() == [[1], [0]]
    assert read(np.arange(4, dtype=np.int16)[:, None]).numbers(range(1)).dtype == np.float64


@pytest.mark.parametrize("kind", [sparse.csr_matrix, sparse.csc_array, sparse.coo_matrix])
def test_sparse_matrices(kind):
    dense = np.random.default_rng(0).normal(size=(50, 30))
    dense[np.random.default_rng(1).random(dense.shape) < 0.8] = 0
    dense[3, 4] = np.nan
    table = read(kind(dense))
    np.testing.assert_array_equal(table.numbers(range(3, 9)), dense[:, 3:9])
    np.testing.assert_array_equal(table.numbers([5, 2]), dense[:, [5, 2]])
    np.testing.assert_array_equal(table.column(7).values, dense[:, 7])
    y = dense[:, 0] > 0
    forest = RandomForestClassifier(9, random_state=0).fit(kind(dense), y)
    expected = RandomForestClassifier(9, random_state=0).fit(dense, y)
    np.testing.assert_array_equal(forest.predict_proba(kind(dense)), expected.predict_proba(dense))


@pytest.mark.parametrize("n_rows", [60, 600])
def test_sparse_matrices_with_categories(n_rows):
    rng = np.random.default_rng(0)
    dense = rng.choice([0, 3, 7, 300], (n_rows, 5), p=[0.82, 0.06, 0.06, 0.06]).astype(float)
    y = np.isin(dense[:, 0], [3, 300]).astype(int)
    model = RandomForestClassifier(5, categorical_features=[0, 3], random_state=0)
    of_sparse, of_dense = (clone(model).fit(X, y) for X in (sparse.csr_matrix(dense), dense))
    assert of_sparse._binner.bins_.categorical.tolist() == [1, 0, 0, 1, 0]
    codes = (
        rows_of(of_sparse, sparse.csr_matrix(dense), coded=True),
        rows_of(of_dense, dense, coded=True),
    )
    assert np.array_equal(*codes)
    assert np.array_equal(of_sparse.predict_proba(dense), of_dense.predict_proba(dense))


def test_cells_that_are_stored_twice_count_as_their_sum():
    stored = np.array([1.0, 4, 2, 3]), np.array([1, 0, 1, 0]), np.array([0, 3, 4])
    X = sparse.csc_matrix(stored, (2, 2))
    assert np.array_equal(read(X).numbers(range(2)), [[4, 3], [3, 0]])
    assert np.array_equal(X.data, stored[0])  # the user's matrix stays what it is
    y = [0, 1]
    model = RandomForestClassifier(3, random_state=0)
    X = sparse.csc_matrix((*stored[:2], np.append(stored[2], [4] * 18)), (2, 20))  # stays sparse
    codes = [rows_of(model.fit(table, y), table, coded=True) for table in (X, X.toarray())]
    assert np.array_equal(*codes)
    # Sums of many are rounded, in the order in which they stand.
    rng = np.random.default_rng(0)
    rows, stored = (
        rng.integers(0, 20, 400),
        rng.normal(size=400) * 10.0 ** rng.integers(-9, 9, 400),
    )
    X = sparse.csc_matrix((stored, rows, [0, 200, 400]), (20, 2))
    assert np.array_equal(read(X).numbers(range(2)), X.toarray())


def test_sparse_matrices_that_are_none():
    X = sparse.csc_matrix(([1.7e308, 1.7e308, 1.0], [0, 0, 1], [0, 2, 3]), (2, 2))
    with pytest.raises(ValueError, match="X contains infinity"):
        read(X)
    for row in (-1, 2, 2**31 - 2):
        X = sparse.csc_matrix(([1.0], [0], [0, 0, 1]), (2, 2))
        X.indices[0] = row
        with pytest.raises(ValueError, match="indices"):
            read(X)


def test_sparse_matrices_are_made_dense_in_blocks(monkeypatch):
    monkeypatch.setattr("mddf._data.table._BLOCK_BYTES", 1000)
    dense = np.random.default_rng(0).integers(0, 2, (25, 12)).astype(float)
    y = dense[:, 0]
    table = read(sparse.csr_matrix(dense))
    assert [len(block) for block in table.blocks()] == [5, 5, 2]
    forest = RandomForestClassifier(5, random_state=0).fit(sparse.csr_matrix(dense), y)
    expected = RandomForestClassifier(5, random_state=0).fit(dense, y)
    assert np.array_equal(forest.apply(sparse.csr_matrix(dense)), expected.apply(dense))


def test_arrays_of_objects():
    X = np.array([["a", 1.5], [None, None], ["b", "2"]], dtype=object)
    table = read(X, categorical_features=[0])
    assert isinstance(table, ArrayTable)
    assert table.column(0).kind == "text"
    np.testing.assert_array_equal(table.numbers([1]), [[1.5], [np.nan], [2]])
    assert missing_cells(table.column(0).values).tolist() == [False, True, False]
    assert read(X.tolist(), categorical_features=[0]).column(0).values[2] == "b"
    assert (
        read(np.array([[1, "a"]] * 2, object), categorical_features=[1]).column(1).kind == "text"
    )


@pytest.mark.parametrize("dtype", [float, np.float32, int, bool, np.uint8])
def test_masked_cells_are_missing(dtype):
    rng = np.random.default_rng(0)
    X, mask = rng.integers(0, 5, (60, 4)).astype(dtype), rng.random((60, 4)) < 0.2
    masked, missing = np.ma.array(X, mask=mask), np.where(mask, np.nan, X)
    for table in (read(masked), read(list(masked)), by_columns(masked)):
        assert np.array_equal(table.numbers(range(4)), missing, equal_nan=True)
    y = np.arange(60) % 2
    for model in (
        RandomForestClassifier(3, random_state=0),
        MultiGrainedScanner([2], n_estimators=2, cv=2, random_state=0),
    ):
        found, expected = (clone(model).fit(cells, y) for cells in (masked, missing))
        ask = "transform" if isinstance(model, MultiGrainedScanner) else "predict_proba"
        answers = getattr(found, ask)(masked[1:]), getattr(expected, ask)(missing[1:])
        assert np.array_equal(*answers)
    with pytest.raises(ValueError, match="NaN"):
        AdaBoostClassifier(2).fit(masked, y)
    assert np.array_equal(masked.mask, mask)
    assert read(np.ma.array(X)).numbers(range(4)).dtype == read(X).numbers(range(4)).dtype


def test_masked_objects_are_missing():
    cells = np.array([["a", 1.5], ["b", 2]] * 3, object)
    table = read(np.ma.array(cells, mask=[[0, 1], [1, 0]] * 3), categorical_features=[0])
    assert missing_cells(table.column(0).values).tolist() == [False, True] * 3
    assert np.array_equal(table.numbers([1]), [[np.nan], [2]] * 3, equal_nan=True)


# Which columns are categories


def test_mask_given(frame):
    table = read(np.zeros((3, 5)))
    assert category_mask(table, [True, False, True, False, False]).tolist() == [1, 0, 1, 0, 0]
    assert category_mask(table, [0, -1]).tolist() == [1, 0, 0, 0, 1]
    assert category_mask(table, np.array([], int)).tolist() == [0] * 5
    assert category_mask(table, []).tolist() == [0] * 5
    assert not category_mask(table, None).any()
    assert not category_mask(table, "from_dtype").any()
    assert category_mask(read(frame), ["count", "size"]).tolist() == [1, 0, 0, 1, 0]
    assert not category_mask(read(frame), None).any()


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("auto", r"'from_dtype'.*got 'auto'"),
        ([[True]], r"one dimension, got an array of shape \(1, 1\)"),
        ([True, False], "each of the 5 columns of X, got 2"),
        ([5], r"below 5.*got \[5\]"),
        ([-6], r"below 5.*got \[-6\]"),
        (["shape"], "names 'shape', which is not a column of X"),
    ],
)
def test_masks_that_do_not_fit(frame, value, message):
    with pytest.raises(ValueError, match=f"categorical_features.*{message}"):
        category_mask(read(frame), value)


def test_names_need_a_frame():
    with pytest.raises(ValueError, match=r"categorical_features .* if X is a data frame.*array"):
        category_mask(read(np.zeros((2, 2))), ["a"])


# What is refused


def frame_with(**columns):
    return pd.DataFrame({"size": [1.5, np.nan], **columns})


@pytest.mark.parametrize(
    ("X", "mask", "error", "message"),
    [
        (np.array([[1, 2, 3], [4, 5, np.inf]]), [0], ValueError, "got inf in row 1, column 2: "),
        (frame_with(b=[1, np.inf]), None, ValueError, "got inf in row 1, column 1, 'b': "),
        (frame_with(b=[1, {}]), None, TypeError, "got {} in row 1, column 1, 'b': "),
        (frame_with(b=[1, {}]), "from_dtype", TypeError, "got dict and number in column 1, 'b'"),
        (np.array([[1, 10**400]] * 2, dtype=object), None, ValueError, "in row 0, column 1: "),
        (frame_with(b=["a", 1.0]), "from_dtype", TypeError, "got number and text in column 1"),
        (
            frame_with(b=pd.to_datetime(["2020-01-01"] * 2)),
            "from_dtype",
            TypeError,
            "got .*2020-01-01.* in row 0, column 1, 'b': dates and times",
        ),
        (frame_with(b=[1j, 2j]), "from_dtype", ValueError, "Complex data not supported.*'b'"),
        (np.zeros((2, 2), complex), None, ValueError, "Complex data not supported"),
        (frame_with().iloc[:0], None, ValueError, r"0 sample\(s\) \(shape=\(0, 1\)\)"),
        (frame_with()[[]], None, ValueError, r"0 feature\(s\) \(shape=\(2, 0\)\)"),
        (sparse.csr_matrix([[1, np.inf]] * 2), None, ValueError, "X contains infinity"),
        (np.array([["1", "a"]] * 2), None, ValueError, r"got 'a' in row 0, column 1.*set_output"),
        ([["a", 1], ["b", 2]], None, ValueError, "in row 0, column 0.*categorical_features"),
        ([[1], [2, 3]], None, ValueError, "inhomogeneous"),
    ],
)
def test_refused_cells_are_named(X, mask, error, message):
    with pytest.raises(error, match=message):
        RandomForestClassifier(2, categorical_features=mask).fit(X, [0, 1])


NOW = datetime(2020, 1, 1)
ONE_LINE = [RandomForestClassifier(2), AdaBoostClassifier(2), MultiGrainedScanner([1], cv=2)]


def objects(*cells):
    column = np.empty(6, object)
    column[:] = [*cells] * (6 // len(cells))
    return column


@pytest.mark.parametrize(
    ("cells", "message"),
    [
        (pd.Series(pd.period_range("2020", periods=6)), "Period.* in row 0, .*dates and times"),
        (objects(NOW, None), "2020.* in row 0, .*dates and times"),
        (objects(NOW.date()), "datetime.date.* in row 0, column 1.*dates and times"),
        (objects(NOW.time()), "datetime.time.* in row 0, column 1.*dates and times"),
        (objects(NOW - NOW), "(timedelta|Timedelta).* in row 0, column 1.*dates and times"),
        (pd.Series([NOW] * 6).dt.tz_localize("UTC"), "2020-01-01.* in row 0, .*dates and times"),
        (objects(np.complex128(1j), 2), "complex"),
        (objects(10**400), r"got 1000.*\.\.\..*000 in row 0, column 1.*too large"),
    ],
    ids=lambda value: None if isinstance(value, str) else str(type(value[0])),
)
@pytest.mark.parametrize("model", ONE_LINE, ids=lambda model: type(model).__name__)
def test_columns_of_no_numbers_are_refused_in_one_line(model, cells, message):
    if isinstance(cells, np.ndarray):  # which pandas would take for what they look like
        cells = pd.Series(cells, dtype=object)
    frame = pd.DataFrame({"a": np.arange(6.0), "b": cells})
    for X in (frame, frame.to_numpy(object)):
        with pytest.raises((ValueError, TypeError), match=message) as refused:
            clone(model).fit(X, [0, 1] * 3)
        assert "\n" not in str(refused.value)
        assert len(str(refused.value)) < 400


@pytest.mark.parametrize("cell", [None, pd.NA, Decimal("NaN"), Decimal("sNaN"), np.float32("nan")])
def test_objects_that_are_missing(cell):
    X = np.column_stack([objects(1.5, 2, True), objects(Decimal(3), cell)])
    expected = [[1.5, 3], [2, np.nan], [1, 3]] * 2
    for table in (read(X), read(X.tolist()), read(pd.DataFrame(X)), read(pd.DataFrame(X[:3]))):
        found = table.numbers(range(2))
        assert np.array_equal(found[0:3:2, 0], [1.5, 1])
        assert np.isnan(found[1, 1])
    assert np.array_equal(read(X).numbers(range(2))[:, 0], np.array(expected)[:, 0])
    frame = pd.DataFrame({"c": ["a", cell] * 150})
    forest = RandomForestClassifier(3, random_state=0).fit(frame, [0, 1] * 150)
    assert forest.score(frame, [0, 1] * 150) == 1


@pytest.mark.parametrize(
    "cells", [objects((1, 2), (3, 4)), objects(frozenset("a"), frozenset("b")), objects([1], [2])]
)
@pytest.mark.parametrize("times", [1, 40])
def test_categories_that_have_no_order_are_refused(cells, times):
    frame = pd.DataFrame({"b": list(cells) * times})
    message = "the categories of a column must be all strings or all numbers; got .* in column 0"
    for X in (frame, frame.astype("category") if not isinstance(cells[0], list) else frame):
        with pytest.raises(TypeError, match=message):
            RandomForestClassifier(2).fit(X, [0, 1] * 3 * times)
    with pytest.raises(TypeError, match=message):
        RandomForestClassifier(2, categorical_features=[0]).fit(
            frame.to_numpy(), [0, 1] * 3 * times
        )


@pytest.mark.parametrize(
    ("X", "message"),
    [
        (np.zeros(30), r"X must be a 2D array, got an array of shape \(30,\). Reshape your data"),
        (3.0, r"X must be a 2D array, got 3\.0\. Reshape"),
        ({"a": 1}, "X must be a 2D array, got {'a': 1}. Reshape"),
        ("abc", "X must be a 2D array, got 'abc'. Reshape"),
        (pd.Series(np.zeros(30)), r"X must be a 2D array, got an array of shape \(30,\)"),
        (pl.Series(np.zeros(30)), r"X must be a 2D array, got an array of shape \(30,\)"),
        (np.zeros((30, 2), complex), "X must hold real numbers, got complex128"),
    ],
)
@pytest.mark.parametrize("model", ONE_LINE[:2], ids=lambda model: type(model).__name__)
def test_what_is_no_table_is_refused_in_one_line(model, X, message):
    with pytest.raises((ValueError, TypeError), match=message) as refused:
        clone(model).fit(X, [0, 1] * 15)
    assert "\n" not in str(refused.value)


def test_sparse_columns_of_pandas_are_numbers_for_all():
    dense = np.arange(60.0) % 3
    X, y = pd.DataFrame({"a": pd.arrays.SparseArray(dense), "b": dense[::-1]}), dense > 1
    found = AdaBoostClassifier(2).fit(X, y).predict(X)
    assert np.array_equal(found, AdaBoostClassifier(2).fit(X.to_numpy(), y).predict(X.to_numpy()))


def test_refused_arrays():
    for X, message in [
        (np.zeros(3), "2D array"),
        (np.zeros((2, 2, 2)), "dim"),
        (np.zeros((0, 2)), "0 sample"),
        (np.zeros((2, 0)), "0 feature"),
        ([[1, np.inf]], "X contains infinity"),
        ([[1, "x"]], "convert string to float"),
    ]:
        with pytest.raises(ValueError, match=message):
            read(X)
