"""Reading X of any kind, and refused input."""

from datetime import date, datetime, time
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pytest
from mddf.baselines import AdaBoostClassifier, MultiGrainedScanner
from scipy import sparse
from sklearn.base import clone
from table_cases import read

from mddf import RandomForestClassifier, by_columns, drift


def frame_with(**columns):
    return pd.DataFrame({"size": [1.5, np.nan], **columns})


def test_refused_cells_are_named():
    for X, mask, error, message in [
        (np.array([[1, 2, 3], [4, 5, np.inf]]), [0], ValueError, "got inf in row 1, column 2: "),
        (frame_with(b=[1, np.inf]), None, ValueError, "got inf in row 1, column 1, 'b': "),
        (frame_with(b=[1, {}]), None, TypeError, "got {} in row 1, column 1, 'b': "),
        (frame_with(b=[1, {}]), "from_dtype", TypeError, "got dict and number in column 1, 'b'"),
        (np.array([[1, 10**400]] * 2, dtype=object), None, ValueError, "in row 0, column 1: "),
        (frame_with(b=["a", 1.0]), "from_dtype", TypeError, "got number and text in column 1"),
        (frame_with(b=[1j, 2j]), "from_dtype", ValueError, "Complex data not supported.*'b'"),
        (np.zeros((2, 2), complex), None, ValueError, "Complex data not supported"),
        (frame_with().iloc[:0], None, ValueError, r"0 sample\(s\) \(shape=\(0, 1\)\)"),
        (frame_with()[[]], None, ValueError, r"0 feature\(s\) \(shape=\(2, 0\)\)"),
        (sparse.csr_matrix([[1, np.inf]] * 2), None, ValueError, "X contains infinity"),
        (np.array([["1", "a"]] * 2), None, ValueError, r"got 'a' in row 0, column 1.*set_output"),
        ([["a", 1], ["b", 2]], None, ValueError, "in row 0, column 0.*categorical_features"),
        ([[1], [2, 3]], None, ValueError, "inhomogeneous"),
    ]:
        with pytest.raises(error, match=message):
            RandomForestClassifier(2, categorical_features=mask).fit(X, [0, 1])


NOW = datetime(2020, 1, 1)


ONE_LINE = [RandomForestClassifier(2), AdaBoostClassifier(2), MultiGrainedScanner([1], cv=2)]


def objects(*cells):
    column = np.empty(6, object)
    column[:] = [*cells] * (6 // len(cells))
    return column


@pytest.mark.parametrize("model", ONE_LINE, ids=lambda model: type(model).__name__)
def test_nonnumeric_columns_are_refused_in_one_line(model):
    for cells, message in [
        (pd.Series(pd.period_range("2020", periods=6)), "Period.* in row 0, .*dates and times"),
        (objects(NOW, None), "2020.* in row 0, .*dates and times"),
        (objects(NOW.date()), "datetime.date.* in row 0, column 1.*dates and times"),
        (pd.Series([NOW] * 6).dt.tz_localize("UTC"), "2020-01-01.* in row 0, .*dates and times"),
        (objects(np.complex128(1j), 2), "complex"),
        (objects(10**400), r"got 1000.*\.\.\..*000 in row 0, column 1.*too large"),
    ]:
        if isinstance(cells, np.ndarray):  # which pandas would take for what they look like
            cells = pd.Series(cells, dtype=object)
        frame = pd.DataFrame({"a": np.arange(6.0), "b": cells})
        of_frame = [] if isinstance(cells[0], date) else [frame]  # dates of frames are understood
        for X in (*of_frame, frame.to_numpy(object)):
            with pytest.raises((ValueError, TypeError), match=message) as refused:
                clone(model).fit(X, [0, 1] * 3)
            assert "\n" not in str(refused.value)
            assert len(str(refused.value)) < 400


def test_objects_that_are_missing():
    for cell in [None, pd.NA, Decimal("NaN"), Decimal("sNaN"), np.float32("nan")]:
        X = np.column_stack([objects(1.5, 2, True), objects(Decimal(3), cell)])
        expected = [[1.5, 3], [2, np.nan], [1, 3]] * 2
        for table in (read(X), read(X.tolist()), read(pd.DataFrame(X)), read(pd.DataFrame(X[:3]))):
            result = table.numbers(range(2))
            assert np.array_equal(result[0:3:2, 0], [1.5, 1])
            assert np.isnan(result[1, 1])
        assert np.array_equal(read(X).numbers(range(2))[:, 0], np.array(expected)[:, 0])
        frame = pd.DataFrame({"c": ["a", cell] * 150})
        forest = RandomForestClassifier(3, random_state=0).fit(frame, [0, 1] * 150)
        assert forest.score(frame, [0, 1] * 150) == 1


def test_categories_that_have_no_order_are_refused():
    for cells in [
        objects((1, 2), (3, 4)),
        objects(frozenset("a"), frozenset("b")),
        objects([1], [2]),
    ]:
        for times in [1, 40]:
            frame = pd.DataFrame({"b": list(cells) * times})
            message = (
                "the categories of a column must be all strings or all numbers; got .* in column 0"
            )
            for X in (
                frame,
                frame.astype("category") if not isinstance(cells[0], list) else frame,
            ):
                with pytest.raises(TypeError, match=message):
                    RandomForestClassifier(2).fit(X, [0, 1] * 3 * times)
            with pytest.raises(TypeError, match=message):
                RandomForestClassifier(2, categorical_features=[0]).fit(
                    frame.to_numpy(), [0, 1] * 3 * times
                )


@pytest.mark.parametrize("model", ONE_LINE[:2], ids=lambda model: type(model).__name__)
def test_objects_that_are_not_tables_are_refused_in_one_line(model):
    for X, message in [
        (np.zeros(30), r"X must be a 2D array, got an array of shape \(30,\). Reshape your data"),
        (3.0, r"X must be a 2D array, got 3\.0\. Reshape"),
        ({"a": 1}, "X must be a 2D array, got {'a': 1}. Reshape"),
        ("abc", "X must be a 2D array, got 'abc'. Reshape"),
        (pd.Series(np.zeros(30)), r"X must be a 2D array, got an array of shape \(30,\)"),
        (pl.Series(np.zeros(30)), r"X must be a 2D array, got an array of shape \(30,\)"),
        (np.zeros((30, 2), complex), "X must hold real numbers, got complex128"),
    ]:
        with pytest.raises((ValueError, TypeError), match=message) as refused:
            clone(model).fit(X, [0, 1] * 15)
        assert "\n" not in str(refused.value)


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


SPANS = pd.DataFrame(
    {
        "wait": pd.to_timedelta([90, None, 7200.5, 0.000001] * 10, "s"),
        "clock": [time(1, 2), time(0, 0, 0, 500), None, time(23, 59)] * 10,
    }
)


@pytest.mark.parametrize("kind", ["pandas", "objects", "polars", "pyarrow", "parquet", "array"])
def test_durations_and_times_of_day_are_their_seconds(kind, tmp_path):
    numbers = np.array([[90, 3720], [np.nan, 0.0005], [7200.5, np.nan], [1e-6, 86340]] * 10)
    X = SPANS
    if kind == "objects":
        X = pd.DataFrame({"wait": X["wait"].astype(object), "clock": X["clock"]})
    elif kind == "polars":
        X = pl.from_pandas(X)
    elif kind == "pyarrow":
        X = pl.from_pandas(X).to_arrow()
    elif kind == "parquet":
        X.to_parquet(tmp_path / "spans.parquet")
        X = by_columns(tmp_path / "spans.parquet")
    elif kind == "array":
        X = X.astype(object).to_numpy()
    forest = RandomForestClassifier(5, random_state=0)
    y = [0, 1, 1, 0] * 10
    probabilities = clone(forest).fit(numbers, y).predict_proba(numbers)
    np.testing.assert_array_equal(forest.fit(X, y).predict_proba(X), probabilities)
    if kind not in ("parquet", "array"):
        assert [row.psi for row in drift(X, SPANS)] == [0, 0]
