"""Prediction of files in blocks, compared with one prediction of all rows."""

import tracemalloc
from functools import partial

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import parquet
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import mddf.batch
from mddf import GradientBoostingClassifier, GradientBoostingRegressor, RandomForestRegressor
from mddf.batch import predict_file


@pytest.fixture
def table():
    rng = np.random.default_rng(0)
    n = 300
    return pd.DataFrame(
        {
            "key": [f"{number:04d}" for number in range(n)],
            "x": np.where(rng.random(n) < 0.1, np.nan, rng.normal(size=n)),
            "day": rng.permutation(pd.date_range("2023-12-01", periods=n)),
            "kind": pd.Categorical(rng.choice(list("abc"), n)),
            "whole": rng.integers(0, 9, n),
        }
    )


@pytest.fixture
def small_blocks(monkeypatch):
    read = partial(mddf.batch.read_blocks, block_rows=32, block_bytes=2000)
    monkeypatch.setattr(mddf.batch, "read_blocks", read)


FEATURES = ["whole", "day", "x", "kind"]
ONE_COLUMN = pd.DataFrame({"whole": [0, 1]})


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("read", ["csv", "csv.gz", "parquet"])
@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_blocks_predict_as_one_table(table, tmp_path, suffix, read):
    y = np.where(table["x"].fillna(0) > 0, "up", "down")
    model = GradientBoostingClassifier(max_iter=10, random_state=0).fit(table[FEATURES], y)
    path = tmp_path / f"in.{read}"
    table.to_parquet(path) if read == "parquet" else table.to_csv(path, index=False)
    out = tmp_path / f"out.{suffix}"
    assert predict_file(model, path, out, keep=["key", "day"]) == len(table)
    result = pd.read_parquet(out) if suffix == "parquet" else pd.read_csv(out, dtype={"key": str})
    assert result.columns.tolist() == ["key", "day", "predicted", "p(down)", "p(up)"]
    assert result["key"].tolist() == table["key"].tolist()
    assert pd.to_datetime(result["day"]).tolist() == table["day"].tolist()
    assert result["predicted"].tolist() == model.predict(table[FEATURES]).tolist()
    expected = model.predict_proba(table[FEATURES])[:, 1]
    np.testing.assert_allclose(
        result["p(up)"], expected, rtol=1e-15 if suffix == "parquet" else 1e-12
    )


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("name", ["t.csv", "t.parquet", "text.parquet"])
def test_cells_are_what_they_were_in_the_fit(table, tmp_path, name):
    rng = np.random.default_rng(1)
    n = len(table)
    y = table["whole"] + rng.normal(size=n)
    X = pd.DataFrame(
        {
            "number": table["x"],
            "day": table["day"].where(rng.random(n) < 0.9),
            "flag": pd.array(np.where(rng.random(n) < 0.1, None, y > 4), "boolean"),
            "country": pd.Series(rng.choice(["DE", "FR", "NA", None], n), dtype=object),
            "grade": pd.Categorical(np.where(rng.random(n) < 0.1, None, table["whole"])),
            "short": rng.normal(size=n).astype(np.float32),
        }
    )
    y = y + 3 * (X["country"] == "NA") + X["day"].dt.month.fillna(0)
    model = RandomForestRegressor(20, random_state=0).fit(X[::2], y[::2])
    texts = X.assign(day=X["day"].dt.strftime("%Y-%m-%d"), number=X["number"].map(str))
    path = tmp_path / name
    if path.suffix == ".csv":
        X.drop(columns="short").assign(short=X["short"].astype(float)).to_csv(path, index=False)
    else:
        (texts if name.startswith("text") else X).to_parquet(path)
    predict_file(model, path, tmp_path / "out.parquet")
    predicted = pd.read_parquet(tmp_path / "out.parquet")["predicted"]
    np.testing.assert_array_equal(predicted, model.predict(X))


def test_dates_as_categories(table, tmp_path):
    X = pd.DataFrame({"month": pd.Categorical(table["day"].dt.to_period("M").dt.to_timestamp())})
    model = RandomForestRegressor(5, random_state=0).fit(X, table["whole"])
    X.to_parquet(tmp_path / "t.parquet")
    X.to_csv(tmp_path / "t.csv")
    predict_file(model, tmp_path / "t.parquet", tmp_path / "out.parquet")
    predicted = pd.read_parquet(tmp_path / "out.parquet")["predicted"]
    np.testing.assert_array_equal(predicted, model.predict(X))
    with pytest.raises(ValueError, match=r"been text or numbers .* CSV, got Timestamp"):
        predict_file(model, tmp_path / "t.csv", tmp_path / "out.csv")


@pytest.mark.parametrize(
    ("column", "cell", "message"),
    [
        ("x", "1,5", "t.csv, line 280: column 'x' must hold numbers, got '1,5'$"),
        ("member", "no", "t.csv, line 280: column 'member' must hold true or false, got 'no'$"),
        ("x", "inf", "t.csv, line 280: column 'x' must be finite, got inf$"),
        ("day", "25/4/2024", "line 280: column 'day' must hold dates, the month first, got '25/4"),
        ("day", "soon", "t.csv, line 280: column 'day' must hold dates, got 'soon'$"),
        (
            "whole",
            "many",
            "'whole' of t.csv must hold categories of the type int, .*'many'$",
        ),
    ],
)
@pytest.mark.usefixtures("small_blocks")
def test_a_bad_cell_in_a_late_block(table, tmp_path, monkeypatch, column, cell, message):
    monkeypatch.chdir(tmp_path)
    X = table[FEATURES].assign(whole=pd.Categorical(table["whole"]), member=table["whole"] > 4)
    model = RandomForestRegressor(5, random_state=0).fit(X, table["whole"])
    cells = X.astype(object)
    cells.loc[278, column] = cell
    cells.to_csv("t.csv", index=False)
    with pytest.raises(ValueError, match=message):
        predict_file(model, "t.csv", "out.csv")
    assert [path.name for path in tmp_path.iterdir()] == ["t.csv"]


@pytest.mark.usefixtures("small_blocks")
def test_a_folder_of_files_and_a_pipeline(table, tmp_path):
    X = table[["x", "whole"]].fillna(0)
    model = make_pipeline(StandardScaler(), LinearRegression()).fit(X, X["x"])
    folder = tmp_path / "parts"
    folder.mkdir()
    for number, part in enumerate(np.array_split(np.arange(len(X)), 3)):
        X.iloc[part].to_parquet(folder / f"part-{number}.parquet")
    predict_file(model, folder, tmp_path / "out.parquet")
    result = pd.read_parquet(tmp_path / "out.parquet")["predicted"]
    np.testing.assert_allclose(result, model.predict(X), rtol=1e-12)


def test_intervals(table, tmp_path):
    from mddf import DeepForestRegressor

    X = table[["whole"]]
    model = DeepForestRegressor(n_layers=1, n_estimators=5, members=["random"], random_state=0)
    model.fit(X, X["whole"] + np.arange(len(X)) % 5)
    X.to_parquet(tmp_path / "in.parquet")
    predict_file(model, tmp_path / "in.parquet", tmp_path / "out.parquet", coverage=0.8)
    result = pd.read_parquet(tmp_path / "out.parquet")
    np.testing.assert_array_equal(result[["low", "high"]], model.predict_interval(X, coverage=0.8))
    for coverage in ("0.8", 1.0, np.nan):
        with pytest.raises(ValueError, match="coverage must be between 0 and 1, got"):
            predict_file(model, tmp_path / "in.parquet", tmp_path / "n.csv", coverage=coverage)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"keep": ["kex"]}, "keep must be a column of .*: key, .*; got 'kex'"),
        ({"keep": "key"}, "keep must be a list of names, got the text 'key'"),
        ({"keep": None}, "keep must be a list of names, got None"),
        (
            {"keep": ["key", "key"], "out": "out.parquet"},
            "columns of Parquet must have different names, got 'key' twice: write CSV",
        ),
        ({"model": 3}, "model must be a fitted estimator, got 3"),
        ({"table": 3}, "table must be a path, got 3"),
        ({"out": 3}, "out must be a path, got 3"),
        ({"coverage": 0.9}, "coverage is for regressors with predict_interval, got a Random"),
        ({"table": "none.parquet"}, "table must be an existing file or folder, got none.parquet"),
        (
            {"table": "table.csv", "model": LinearRegression().fit(ONE_COLUMN, [0, 1])},
            "table must be Parquet, got table.csv: CSV has no types, and a LinearRegression has",
        ),
        ({"table": "broken.parquet"}, "broken.parquet cannot be read as a table: "),
        ({"table": "other.parquet"}, "must have a column 'whole', as in training; got"),
        ({"table": "other.csv"}, "must have a column 'whole', as in training; got"),
        ({"table": "ragged.csv"}, "ragged.csv, line 3: must have 2 cells as the header, got 1$"),
        ({"table": "empty.parquet"}, "must have rows, got none"),
        ({"out": "out.xls"}, r"out must end in \.csv or \.parquet"),
        ({"out": "no/out.csv"}, "out must be in an existing folder"),
        ({"out": "table.csv"}, "out: table.csv exists: overwrite=True replaces it"),
    ],
)
def test_bad_arguments_leave_no_file(table, tmp_path, monkeypatch, change, message):
    monkeypatch.chdir(tmp_path)
    table.to_csv("table.csv")
    table.to_parquet("in.parquet")
    table[["key"]].to_parquet("other.parquet")
    table[["key"]].to_csv("other.csv")
    (tmp_path / "ragged.csv").write_text("whole,x\n1,2\n3\n")
    table[:0].to_parquet("empty.parquet")
    (tmp_path / "broken.parquet").write_text("no table")
    before = sorted(tmp_path.iterdir())
    model = RandomForestRegressor(5, random_state=0).fit(table[["whole"]], table["whole"])
    arguments = {"model": model, "table": "in.parquet", "out": "out.csv"} | change
    with pytest.raises((TypeError, ValueError), match=message):
        predict_file(**arguments)
    assert sorted(tmp_path.iterdir()) == before


@pytest.mark.slow
def test_memory_does_not_grow_with_rows(tmp_path):
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(1000, 10)), columns=list("abcdefghij"))
    model = GradientBoostingRegressor(max_iter=5, random_state=0).fit(X, X["a"])
    peaks = []
    for n_blocks in (1, 8):
        path = tmp_path / f"{n_blocks}.parquet"
        block = pa.Table.from_pandas(pd.concat([X] * 100, ignore_index=True))
        with parquet.ParquetWriter(path, block.schema) as writer:
            for _ in range(n_blocks):
                writer.write_table(block)
        tracemalloc.start()
        predict_file(model, path, tmp_path / f"{n_blocks}-out.parquet")
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < 1.5 * peaks[0]
