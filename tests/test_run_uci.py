"""run_uci.py: the comparison of methods on real data."""

import csv
import json
import re

import numpy as np
import pytest
from mddf.datasets import DataFileError, DataFileNotFoundError

SMALL = ["--n-estimators", "2", "--n-layers", "2", "--seeds", "2", "--n-jobs", "1"]


@pytest.fixture
def run(script):
    return script("run_uci")


def cells(out):
    with (out / "cells.csv").open(newline="") as file:
        return list(csv.DictReader(file))


def test_results_on_screen_and_in_files(run, tmp_path, capsys):
    arguments = ["--datasets", "iris,wine", "--methods", "rf,gcforest,mddf", *SMALL]
    assert run.main([*arguments, "--out", str(tmp_path)]) == 0
    shown = capsys.readouterr().out
    assert "RandomForest 40 trees" in shown
    assert "mean rank" in shown
    rows = cells(tmp_path)
    assert len(rows) == 2 * 3 * 2
    assert all(0.7 < float(row["accuracy"]) <= 1 for row in rows)
    assert {row["n_test"] for row in rows} == {"45", "54"}
    about = json.loads((tmp_path / "run.json").read_text())
    assert about["command"].startswith("python scripts/run_uci.py --datasets iris,wine")
    assert about["seeds"] == {"iris": 2, "wine": 2}
    assert {"mddf", "numpy", "scikit-learn"} <= set(about["versions"])
    assert not about["failures"]
    with (tmp_path / "summary.csv").open(newline="") as file:
        summary = {(r["dataset"], r["method"]): r for r in csv.DictReader(file)}
    mine = [float(r["accuracy"]) for r in rows if (r["dataset"], r["method"]) == ("wine", "mddf")]
    assert float(summary["wine", "mddf"]["accuracy"]) == pytest.approx(np.mean(mine))
    assert "| `wine` |" in (tmp_path / "table.md").read_text()


def test_interrupted_run_goes_on(run, script, tmp_path, capsys, monkeypatch):
    uci_run = script("_uci_run")
    compute = uci_run.run_cell
    done = []

    def stop_at_third(*arguments):
        if len(done) == 2:
            raise KeyboardInterrupt
        done.append(arguments[:3])
        return compute(*arguments)

    arguments = ["--datasets", "iris", "--methods", "rf,mddf", *SMALL, "--out", str(tmp_path)]
    monkeypatch.setattr(uci_run, "run_cell", stop_at_third)
    assert run.main(arguments) == 130
    assert "the same command goes on from here" in capsys.readouterr().out
    assert len(cells(tmp_path)) == 2
    again = []
    monkeypatch.setattr(uci_run, "run_cell", lambda *a: again.append(a[:3]) or compute(*a))
    assert run.main(arguments) == 0
    assert "2 of 4 results were there from earlier runs" in capsys.readouterr().out
    assert len(cells(tmp_path)) == 4
    assert not set(done) & set(again)
    # Seeds fix everything: the results are those of a run in one go.
    fresh = tmp_path / "fresh"
    run.main([*arguments[:-1], str(fresh)])
    key = ("dataset", "method", "seed", "accuracy")
    assert [[r[k] for k in key] for r in cells(tmp_path)] == [
        [r[k] for k in key] for r in cells(fresh)
    ]


def test_results_of_other_settings_are_refused(run, tmp_path):
    arguments = ["--datasets", "iris", "--methods", "rf", *SMALL, "--out", str(tmp_path)]
    run.main(arguments)
    before = (tmp_path / "results.json").read_text()
    with pytest.raises(SystemExit, match="holds results of other settings"):
        run.main([*arguments, "--n-estimators", "3"])
    assert (tmp_path / "results.json").read_text() == before


def test_failing_cell_is_reported_and_the_rest_goes_on(run, script, tmp_path, capsys, monkeypatch):
    uci_run = script("_uci_run")
    compute = uci_run.run_cell

    def fail_once(name, method, seed, split, budget):
        if (name, method, seed) == ("iris", "mddf", 0):
            raise RuntimeError("no memory left\nnone at all")
        return compute(name, method, seed, split, budget)

    monkeypatch.setattr(uci_run, "run_cell", fail_once)
    arguments = ["--datasets", "iris,wine", "--methods", "rf,mddf", *SMALL]
    assert run.main([*arguments, "--out", str(tmp_path)]) == 1
    shown = capsys.readouterr().out
    assert "FAILED: iris, mdDF, seed 0: RuntimeError('no memory left" in shown
    assert len(cells(tmp_path)) == 7
    (failure,) = json.loads((tmp_path / "run.json").read_text())["failures"]
    assert "fail_once" in failure["traceback"]


def test_sets_that_cannot_be_had_are_named(run, script, tmp_path, capsys, monkeypatch):
    uci_data = script("_uci_data")
    load = uci_data.datasets.load

    def missing(name, **options):
        if name == "har":
            raise DataFileNotFoundError("har: no file uci_har.zip in ...\nget it from ...")
        if name == "sensit":
            raise DataFileError("sensit: combined.bz2 is damaged")
        return load(name, **options)

    monkeypatch.setattr(uci_data.datasets, "load", missing)
    arguments = ["--datasets", "har,sensit,iris", "--methods", "rf", *SMALL]
    assert run.main([*arguments, "--out", str(tmp_path)]) == 1  # damage is a failure
    shown = capsys.readouterr().out
    assert "har left out: har: no file uci_har.zip" in shown
    assert "FAILED: sensit: DataFileError" in shown
    assert {row["dataset"] for row in cells(tmp_path)} == {"iris"}
    about = json.loads((tmp_path / "run.json").read_text())
    assert "get it from" in about["left_out"]["har"]
    assert run.main(["--datasets", "har", "--methods", "rf", "--out", str(tmp_path / "none")]) == 1
    assert not (tmp_path / "none" / "cells.csv").exists()
    assert "no results\n\nhar: no file" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["--datasets", "iris,nonesuch"],
            "argument --datasets: name must be one of .*, got 'nonesuch'",
        ),
        (["--methods", "svm"], "argument --methods: must be among mlp, rf, .*, got 'svm'"),
        (["--seeds", "0"], "must be a whole number of at least 1, got '0'"),
        (["--suite", "paper", "--datasets", "iris"], "not allowed with"),
    ],
)
def test_wrong_arguments(run, arguments, message, capsys):
    with pytest.raises(SystemExit):
        run.parse(arguments)
    assert re.search(message, capsys.readouterr().err)


def test_defaults(run):
    options = run.parse([])
    assert (options.suite, options.out) == ("bundled", "results/uci-bundled")
    assert options.methods == ["mlp", "rf", "xgboost", "gcforest", "mddf"]
    options = run.parse(["--suite", "paper", "--ablations"])
    assert options.methods[-3:] == ["mddf-sf", "mddf-st", "mddf-np"]
    budget = run.budget_of(options)
    assert (budget.n_estimators, budget.n_folds, budget.n_trees) == (100, 5, 2000)


def test_all_methods_have_the_same_budget(script):
    methods = script("_uci_methods")
    budget = methods.Budget(n_estimators=7, n_layers=3, n_folds=4)
    X = np.zeros((10, 2))
    made = {name: method.make(budget, X, 0) for name, method in methods.ALL_METHODS.items()}
    assert made["rf"].n_estimators == made["xgboost"].n_estimators == 4 * 7 * 4
    for name in ("gcforest", "mddf", "mddf-sf", "mddf-st", "mddf-np"):
        assert (made[name].n_estimators, made[name].cv, made[name].n_layers) == (7, 4, 3)
        assert len(made[name].forests) == 4


def test_depth_is_chosen_on_training_rows(run, tmp_path):
    arguments = ["--datasets", "iris", "--methods", "mddf-c", *SMALL, "--out", str(tmp_path)]
    assert run.main(arguments) == 0
    for row in cells(tmp_path):
        assert re.fullmatch(r"c = (2|4|8|16|None), \d of 2 layers kept", row["details"])
        assert row["layers"] in ("1", "2")


def test_perceptron_is_chosen_on_held_out_training_rows(run, tmp_path):
    arguments = ["--datasets", "iris", "--methods", "mlp", "--quick"]
    assert run.main([*arguments, "--out", str(tmp_path)]) == 0
    (row,) = cells(tmp_path)
    assert float(row["accuracy"]) > 0.7
    assert "epochs" in row["details"]


def test_method_that_is_not_installed_is_named(run, script, tmp_path, capsys, monkeypatch):
    methods = script("_uci_methods")
    monkeypatch.setattr(methods.importlib.util, "find_spec", lambda name: None)
    arguments = ["--datasets", "iris", "--methods", "rf,xgboost", *SMALL]
    assert run.main([*arguments, "--out", str(tmp_path)]) == 0
    assert "XGBoost left out: xgboost is not installed" in capsys.readouterr().out


def test_tables(script):
    tables = script("_uci_tables")

    def cell(dataset, method, accuracy, layers=None):
        times = {"fit_seconds": 2.0, "predict_seconds": 1.0}
        return {"dataset": dataset, "method": method, "accuracy": accuracy, **times} | {
            "layers": layers
        }

    summary = tables.summarise(
        [
            cell("letter", "rf", 0.96),
            cell("letter", "rf", 0.98),
            cell("letter", "mddf", 0.98, 3),
            cell("letter", "mddf", 0.98, 5),
            cell("iris", "rf", 0.9),
        ]
    )
    assert summary[0]["accuracy_std"] == pytest.approx(0.01 * 2**0.5)
    assert summary[0]["published"] == pytest.approx(0.96575)
    grid = tables.Grid.of(summary, ["rf", "xgboost", "mddf"])
    assert grid.methods == ["rf", "mddf"]
    assert grid.mean_ranks("accuracy") == ([2, 1], 1)
    markdown = tables.markdown_table(grid)
    assert "| `letter` | 97.00 ± 1.41 (96.58) | 98.00 ± 0.00 (97.50) | 3 to 5 |" in markdown
    assert "| `iris` | 90.00 | - |  |" in markdown
    assert "  published" in tables.text_table(grid)


def test_standard_split_and_random_splits(script, data_home):
    uci_data = script("_uci_data")
    (_, first), (_, second) = uci_data.splits("yeast", [0, 1], data_home)
    assert (len(first.y), len(first.y_test)) == (1038, 446)
    assert not np.array_equal(first.y_test, second.y_test)
    (_, first), (_, second) = uci_data.splits("satimage", [0, 1], data_home)
    assert (len(first.y), len(first.y_test)) == (4435, 2000)
    assert np.array_equal(first.y_test, second.y_test)
