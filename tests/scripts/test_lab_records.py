"""Result files: one complete file per cell, or none."""

import json
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


def test_similar_keys_have_separate_files(records, tmp_path):
    store = records.Store(tmp_path, {})
    keys = [{"set": "a-b", "seed": 1}, {"set": "a", "seed": "b-1"}, {"set": "a/b", "seed": 1}]
    assert len({store.path(key) for key in keys}) == 3
    assert all(store.path(key).parent == tmp_path / "cells" for key in keys)


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


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "cannot be read: .*; remove it"),
        ("[]", "is no result of these scripts"),
        ('{"settings": {}}', "is no result of these scripts"),
        ('{"format": "mddf cell 1", "key": {}}', "is damaged: it must have key, settings"),
        (
            '{"format": "mddf cell 1", "key": {}, "settings": {}, "result": {}, '
            '"provenance": {"versions": {}}}',
            "is damaged",
        ),
        (
            '{"format": "mddf cell 1", "key": {"set": 1}, "settings": {}, "result": {}, '
            '"provenance": {}}',
            "is damaged",
        ),
    ],
)
def test_damaged_and_foreign_files_are_named(records, tmp_path, content, message):
    (tmp_path / "cells").mkdir()
    (tmp_path / "cells" / "x.json").write_text(content)
    for ask in (lambda: records.Store(tmp_path, {}), lambda: records.read_cells(tmp_path)):
        with pytest.raises(SystemExit, match=message) as caught:
            ask()
        assert "\n" not in str(caught.value)


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


def test_tables_are_made_again_if_others_added_results_meanwhile(script, records, tmp_path):
    study = script("_lab.study")
    store = records.Store(tmp_path, {})
    store.save(KEY, {"x": 1})
    row_counts = []

    def report(frame):
        row_counts.append(len(frame))
        if len(row_counts) == 1:
            store.save({**KEY, "seed": 1}, {"x": 2})
        return []

    assert study.publish(store, [], report) == []
    assert row_counts == [1, 2]
    assert len(pd.read_csv(tmp_path / "cells.csv")) == 2


def test_different_versions_are_reported(script, records, tmp_path):
    store = records.Store(tmp_path, {})
    store.save(KEY, {"x": 1})
    cell = json.loads(store.path(KEY).read_text())
    cell["provenance"]["versions"]["numpy"] = "0.1"
    remarks = script("_lab.study").about_versions([*store.cells(), cell])
    assert remarks == [f"results of numpy 0.1 and {records.versions()['numpy']}"]


def test_tables_state_how_they_were_measured(script):
    records = script("_lab.records")
    cells = [
        {"provenance": {"versions": {"mddf": "0.1.0"}, "revision": revision, "time": time}}
        for revision, time in (("abc1234", "2026-11-26T10:00:00"), ("def5678", "2026-11-27T01:00"))
    ]
    assert records.stamp(cells[:1], "python scripts/run_uci.py") == (
        "Measured at commit abc1234 on 2026-11-26 by `python scripts/run_uci.py`, with mddf 0.1.0."
    )
    both = records.stamp(cells, "python scripts/run_uci.py")
    assert "at commits abc1234, def5678 on 2026-11-26 to 2026-11-27 by" in both


def test_commands_are_shown_without_places_of_files(script):
    records = script("_lab.records")
    program = str(records.SCRIPTS / "report" / "compare.py")
    options = ["--out", "results/a", "--seeds", "2", "--data-home=data", "--set", "a b"]
    output = records.command([program, *options])
    assert output == "python scripts/report/compare.py --seeds 2 --set 'a b'"
