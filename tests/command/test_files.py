"""Files of commands: copied cells, interrupted writes, and models of former versions."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from decimal import Decimal

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from command_line import run

import mddf
from mddf import RandomForestClassifier

pytest.importorskip("matplotlib", reason='needs "mddf[plots]"')
FOREST = ["--estimator", "random-forest", "--set", "n_estimators=3", "--n-jobs", "1"]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write_table(path="t.csv", n=20, **columns):
    rng = np.random.default_rng(0)
    size = rng.normal(size=n).round(2)
    table = pd.DataFrame({"size": size, "kind": np.where(size > 0, "a", "b"), **columns})
    table.to_csv(path, index=False)
    return table


@pytest.fixture(scope="module")
def once_fitted(tmp_path_factory):
    """A folder with a table and a model fitted on it."""
    path = tmp_path_factory.mktemp("fitted")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(path)
        write_table()
        run("fit", "t.csv", "--target", "kind", *FOREST, "--out", "m.mddf", "--missing", "?")
    return path


@pytest.fixture
def fitted(folder, once_fitted):
    """A copy of the fitted folder."""
    shutil.copytree(once_fitted, folder, dirs_exist_ok=True)
    return folder


def test_kept_cells_equal_the_file(fitted):
    cells = ["00123", "9007199254740993", "1e5", "NA", " x ", 'say "hi"', "1,5", "a\nb", "", "?"]
    later = pd.DataFrame({"key": cells, "size": [1.50] * 9 + ["?"]}, dtype=str)
    later.to_csv("later.csv", index=False)
    run("predict", "m.mddf", "later.csv", "--keep", "key", "size", "--out", "p.csv")
    kept = pd.read_csv("p.csv", dtype=str, keep_default_na=False)
    assert kept["key"].tolist() == cells
    assert kept["size"].tolist() == later["size"].tolist()
    assert list(kept)[2:] == ["predicted kind", "p(a)", "p(b)"]
    run("predict", "m.mddf", "later.csv", "--keep", "key", "--out", "p.parquet")
    assert pq.read_table("p.parquet")["key"].to_pylist() == cells


def test_kept_cells_of_parquet_keep_their_types(fitted):
    columns = {
        "big": pa.array([2**53 + 1, None, 2**63 - 1]),
        "price": pa.array([Decimal("1.10"), None, Decimal("2.00")]),
        "day": pa.array([0, None, 1], pa.date32()),
        "flag": pa.array([True, None, False]),
        "text": pa.array(["007", None, "NA"]),
        "category": pa.array(["u", None, "v"]).dictionary_encode(),
        "list": pa.array([[1], None, [2, 3]]),
    }
    pq.write_table(pa.table({**columns, "size": [1, 2, 3]}), "later.pq")
    run("predict", "m.mddf", "later.pq", "--keep", *columns, "--out", "p.PARQUET")
    kept = pq.read_table("p.PARQUET")
    for name, cells in columns.items():
        assert kept[name].to_pylist() == cells.to_pylist()
        assert kept[name].type == cells.type
    assert pd.read_parquet("p.PARQUET")["category"].dtype == "category"
    run("predict", "m.mddf", "later.pq", "--keep", "big", "price", "day", "--out", "p.csv")
    text = (fitted / "p.csv").read_text().splitlines()
    assert [line.rsplit(",", 3)[0] for line in text[1:]] == [
        "9007199254740993,1.10,1970-01-01", ",,", "9223372036854775807,2.00,1970-01-02",
    ]  # fmt: skip


def test_the_same_predictions_by_csv_and_by_parquet(folder):
    n = 60
    rng = np.random.default_rng(1)
    columns = {
        "code": pa.array([None if i % 7 == 0 else i % 5 for i in range(n)], pa.int64()),
        "price": pa.array([Decimal(i % 11) / 4 for i in range(n)]),
        "flag": pa.array([None if i % 9 == 0 else i % 2 == 0 for i in range(n)]),
        "nines": pa.array([-999 if i % 3 == 0 else i for i in range(n)]),
        "day": pa.array(range(n), pa.date32()),
        "words": pa.array(["x", "y", None] * (n // 3)).dictionary_encode(),
        "y": pa.array(np.round(rng.random(n), 3)),
    }
    table = pa.table(columns)
    pq.write_table(table, "t.parquet")
    pd.DataFrame({k: v.to_pylist() for k, v in columns.items()}, dtype=object).to_csv(
        "t.csv", index=False
    )
    (folder / "t.folder").mkdir()
    for part in range(3):
        pq.write_table(table[20 * part : 20 * part + 20], f"t.folder/{part}.parquet")
    for name in ("csv", "parquet", "folder"):
        run("fit", f"t.{name}", "--target", "y", *FOREST, "--text", "code", "--dates", "day",
            "--elapsed", "day",
            "--missing", "-999", "--out", f"{name}.mddf")  # fmt: skip
        for other in ("csv", "parquet", "folder"):
            run("predict", f"{name}.mddf", f"t.{other}", "--out", f"{name}-{other}.csv")
    outputs = {path.read_text() for path in folder.glob("*-*.csv")}
    assert len(outputs) == 1
    assert "predicted y" in outputs.pop()
    # The model in the file knows its columns, and reads rows of JSON by them.
    model = mddf.load("csv.mddf")
    rows = json.loads(pd.read_csv("t.csv").to_json(orient="records"))
    codes = [None if row["code"] is None else str(int(row["code"])) for row in rows]
    rows = [row | {"code": code} for row, code in zip(rows, codes, strict=True)]
    rows = [row | {"nines": None if row["nines"] == -999 else row["nines"]} for row in rows]
    kinds = ["category", "number", "boolean", "number", "date", "category", "number"]
    assert [column.kind for column in model.input_columns_] == kinds
    predictions = model.predict(mddf.read_records(model, rows))
    assert predictions.tolist() == pd.read_csv("csv-csv.csv")["predicted y"].tolist()


def test_links_stay_links_and_permissions_stay(fitted):
    (fitted / "there").mkdir()
    (fitted / "p.csv").symlink_to("there/real.csv")  # which is not there yet
    run("predict", "m.mddf", "t.csv", "--out", "p.csv")
    real = fitted / "there/real.csv"
    assert (fitted / "p.csv").is_symlink()
    assert real.read_text().startswith("predicted kind")
    real.write_text("old")
    real.chmod(0o600)
    run("predict", "m.mddf", "t.csv", "--out", "p.csv", "--overwrite")
    assert (fitted / "p.csv").is_symlink()
    assert real.stat().st_mode & 0o777 == 0o600
    assert real.read_text().startswith("predicted kind")
    assert [path.name for path in (fitted / "there").iterdir()] == ["real.csv"]


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such signals")
@pytest.mark.parametrize("name", ["SIGTERM", "SIGHUP"])
def test_a_terminated_process_leaves_no_partial_file(fitted, monkeypatch, name):
    number = getattr(signal, name)

    def terminate(*_):
        os.kill(os.getpid(), number)
        time.sleep(60)

    monkeypatch.setattr(RandomForestClassifier, "predict_proba", terminate)
    files = sorted(fitted.iterdir())
    before = signal.signal(number, signal.SIG_DFL)  # a parent such as nohup may ignore it
    try:
        with pytest.raises(SystemExit) as ended:
            run("predict", "m.mddf", "t.csv", "--out", "p.csv")
        assert signal.getsignal(number) == signal.SIG_DFL
    finally:
        signal.signal(number, before)
    assert ended.value.code == 128 + number
    assert sorted(fitted.iterdir()) == files


def test_a_closed_pipe_is_no_error(fitted):
    write_table("many.csv", n=20_000)
    process = subprocess.Popen(
        [sys.executable, "-m", "mddf", "predict", "m.mddf", "many.csv"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    assert process.stdout.readline().startswith(b"predicted kind")
    process.stdout.close()
    assert process.stderr.read() == b""
    process.stderr.close()
    assert process.wait(timeout=20) == 141


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["predict", "m.mddf", "t.csv", "--keep", "siz"], "--keep must be .*did you mean 'siz"),
        (["predict", "m.mddf", "l.parquet"], "column 'size' of l.parquet .* got list<"),
        (["predict", "m.mddf", "h.csv"], "h.csv must have rows, got none"),
        (
            ["predict", "m.mddf", "n.csv"],
            r"a column 'size', as in training; got \['kind'\]",
        ),
        (["predict", "m.mddf", "b.csv"], "b.csv, line 4: column 'size' must hold numbers, got"),
        (["predict", "m.mddf", "t.csv", "--out", "no/p.csv"], "in an existing folder"),
    ],
)
def test_tables_that_do_not_fit_leave_no_file(fitted, arguments, message):
    pq.write_table(pa.table({"size": [[1], [2]]}), "l.parquet")
    (fitted / "h.csv").write_text("size\n")
    (fitted / "n.csv").write_text("kind\na\n")
    (fitted / "b.csv").write_text("size\n1\n2\nyes\n")
    before = sorted(fitted.iterdir())
    out = [] if "--out" in arguments else ["--out", "p.csv"]
    with pytest.raises(SystemExit, match=message):
        run(*arguments, *out)
    assert sorted(fitted.iterdir()) == before
