"""The columns of the fit as part of the model, and rows of JSON read by them."""

import datetime
import json
import pickle

import numpy as np
import pytest
from sklearn.base import clone

import mddf
from mddf import GradientBoostingClassifier, RandomForestClassifier, read_records

pd = pytest.importorskip("pandas")


def table():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(
        {
            "size": rng.normal(size=60).round(3),
            "color": pd.Categorical(rng.choice(["red", "blue"], 60)),
            "bought": rng.permutation(pd.date_range("2024-01-01", periods=60, freq="7h")),
            "paid": rng.integers(0, 2, 60).astype(bool),
            "grade": pd.Categorical(rng.integers(1, 4, 60)),
            "nothing": np.nan,
        }
    )
    X.loc[:2, "size"] = np.nan
    return X


Y = np.arange(60) % 2


@pytest.fixture(scope="module")
def model():
    return RandomForestClassifier(3, random_state=0).fit(table(), Y)


def test_columns_of_the_fit(model):
    found = {column.name: column for column in model.input_columns_}
    assert list(found) == list(table())
    kinds = ["number", "category", "date", "boolean", "category", "empty"]
    assert [column.kind for column in found.values()] == kinds
    assert found["color"].levels == ("blue", "red")
    assert found["grade"].levels == (1, 2, 3)
    assert found["size"].missing_share == 3 / 60
    assert pickle.loads(pickle.dumps(model)).input_columns_ == model.input_columns_
    polars = pytest.importorskip("polars")
    frame = polars.from_pandas(table().drop(columns="grade"))
    other = RandomForestClassifier(1).fit(frame, Y).input_columns_
    assert [column.kind for column in other] == [*kinds[:4], "empty"]


def test_arrays_have_no_columns(model):
    again = RandomForestClassifier(1).fit(table()[["size"]], Y)
    again.fit(table()[["size"]].to_numpy(), Y)
    assert not hasattr(again, "input_columns_")
    with pytest.raises(ValueError, match="must be fitted to a data frame"):
        read_records(again, [{"size": 1}])


@pytest.mark.parametrize("Model", [RandomForestClassifier, GradientBoostingClassifier])
def test_rows_of_json_are_predicted_as_the_table(Model, tmp_path):
    X = table()
    model = Model(random_state=0).fit(X, Y)
    mddf.save(model, tmp_path / "model.mddf")
    loaded = mddf.load(tmp_path / "model.mddf")
    rows = json.loads(X.to_json(orient="records", date_format="iso"))
    rows = [{"other": [1, 2], **dict(reversed(row.items()))} for row in rows]
    read = read_records(loaded, rows)
    assert list(read) == list(X)
    assert np.array_equal(loaded.predict_proba(read), model.predict_proba(X))
    assert clone(model).fit(read, Y).input_columns_ == model.input_columns_


def test_bad_cells_are_refused(model):
    good = json.loads(table()[5:6].to_json(orient="records", date_format="iso"))[0]
    for name, cell, message in [
        ("size", "1.5", "row 1: 'size' must be a finite number, got '1.5'"),
        ("size", True, "must be a finite number, got True"),
        ("size", float("inf"), "must be a finite number"),
        ("size", 10**400, "row 1: 'size' must be a finite number, got 1000"),
        ("color", "red\ud800", "row 1: 'color' must be a text that UTF-8 can encode, got 'red"),
        ("paid", 1, "'paid' must be true or false, got 1"),
        ("bought", "3/4/2024", "'bought' must be a date such as"),
        ("bought", 20240304, "'bought' must be a date such as"),
        ("color", 7, "'color' must be a category of type str, got 7"),
        ("color", ["red"], "'color' must be a category of type str"),
        ("grade", "1", "'grade' must be a category of type int, got '1'"),
    ]:
        with pytest.raises(ValueError, match=message):
            read_records(model, [good, {**good, name: cell}])
    with pytest.raises(TypeError, match="got 3 in row 1"):
        read_records(model, [good, 3])
    with pytest.raises(TypeError, match="rows must be a list of dicts"):
        read_records(model, good)
    read = read_records(model, [{**good, "color": "green", "bought": "2024-02-03T04:05:06+02:00"}])
    assert read["color"][0] == "green"
    hour = datetime.datetime(2024, 2, 3, 2, 5, 6, tzinfo=datetime.UTC)
    assert read["bought"][0].to_pydatetime() == hour


def test_absent_keys(model):
    with pytest.raises(ValueError, match="row 0 must have the key 'size'"):
        read_records(model, [{}])
    read = read_records(model, [{}, {"paid": False}], absent="missing")
    assert read.shape == (2, 6)
    assert model.predict(read).shape == (2,)
    with pytest.raises(ValueError, match="absent must be 'error' or 'missing'"):
        read_records(model, [{}], absent="no")
