"""Result files: one complete file per cell, or none."""

import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

SCRIPTS = Path(__file__).parents[2] / "scripts"
KEY = {"set": "iris", "method": "mddf(a/b=1)", "seed": 0}


@pytest.fixture
def records(script):
    return script("_lab.records")


def test_cells_record_their_origin(records, tmp_path):
    store = records.Store(tmp_path, {"study": "uci", "trees": 2})
    assert not store.has(KEY)
    store.save(KEY, {"accuracy": 0.9, "layers": None})
    assert store.has(KEY)
    (cell,) = store.cells()
    assert (cell["key"], cell["settings"]) == (KEY, {"study": "uci", "trees": 2})
    assert {"mddf", "numpy", "scikit-learn"} <= set(cell["provenance"]["versions"])
    assert {"revision", "command", "time", "machine"} <= set(cell["provenance"])
    row = records.frame([cell]).iloc[0]
    assert (row["method"], row["accuracy"]) == ("mddf(a/b=1)", 0.9)


def test_a_write_that_fails_leaves_the_old_file(records, tmp_path, monkeypatch):
    records.write(tmp_path / "a.json", "old")

    def fail(*_):
        raise OSError("disk full")

    monkeypatch.setattr(records.os, "replace", fail)
    with pytest.raises(OSError, match="disk full"):
        records.write(tmp_path / "a.json", "new")
    assert [path.name for path in tmp_path.iterdir()] == ["a.json"]
    assert (tmp_path / "a.json").read_text() == "old"


def test_other_settings_are_refused(records, tmp_path):
    first = {"study": "uci", "trees": 2, "method": {"a": {"depth": 1}, "b": {}}}
    records.Store(tmp_path, first).save(KEY, {})
    records.Store(tmp_path, {**first, "method": {"b": {}, "c": {}}})  # no method differs
    for changed, message in (
        ({"trees": 3}, "trees 2 there, 3 here"),
        ({"study": "league"}, "study 'uci' there, 'league' here"),
        ({"method": {"a": {"depth": 2}}}, r"method\.a\.depth 1 there, 2 here"),
        ({"method": {"a": {}}}, r"method\.a\.depth 1 there, 'not given' here"),
        ({"method": {"b": {"c": 1}}}, r"method\.b\.c 'not given' there, 1 here"),
    ):
        with pytest.raises(SystemExit, match=rf"results of other settings: {message}; choose"):
            records.Store(tmp_path, {**first, **changed})


def test_reading_names_the_command_that_makes_it(records, tmp_path):
    with pytest.raises(
        SystemExit, match=r"no .*nowhere: python scripts/reproduce/tsne.py makes it"
    ):
        records.read_cells(tmp_path / "nowhere", "tsne", "python scripts/reproduce/tsne.py")
    with pytest.raises(
        SystemExit, match=r"has no results yet: python scripts/reproduce/layers.py"
    ):
        records.read_cells(tmp_path, "layers", "python scripts/reproduce/layers.py")
    store = records.Store(tmp_path, {"study": "uci"})
    store.save(KEY, {})
    with pytest.raises(SystemExit, match=r"of another kind, 'uci': python .*reproduce/layers\.py"):
        records.read_cells(tmp_path, "layers", "python scripts/reproduce/layers.py")
    assert records.read_cells(store.path(KEY)) == records.read_cells(tmp_path)


@pytest.mark.slow
def test_processes_with_one_folder_keep_all_results(tmp_path):
    common = [sys.executable, str(SCRIPTS / "run_uci.py"), "--datasets", "iris", "wine"]
    common += ["--n-estimators", "1", "--n-jobs", "1", "--seeds", "3", "--out", str(tmp_path)]
    running = [
        subprocess.Popen(
            [*common, "--methods", f"tree{n}",
             "--method", f"tree{n}=sklearn.tree:DecisionTreeClassifier", f"max_depth={n + 1}"],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        for n in range(2)
    ]  # fmt: skip
    for process in running:
        output, _ = process.communicate(timeout=120)
        assert process.returncode == 0, output
    assert len(list((tmp_path / "cells").iterdir())) == 2 * 2 * 3
    # Whoever came last wrote the tables, of all results.
    cells = pd.read_csv(tmp_path / "cells.csv")
    assert cells.groupby("method")["seed"].count().to_dict() == {f"tree{n}": 6 for n in range(2)}
    assert "| tree1 |" in (tmp_path / "accuracy.md").read_text()
    assert len(list((tmp_path / "runs").iterdir())) == 2
