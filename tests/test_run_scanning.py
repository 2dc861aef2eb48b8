"""run_scanning.py: what scanning adds."""

import numpy as np
import pandas as pd
import pytest


@pytest.fixture
def run(script):
    return script("run_scanning")


def test_quick_run(run, monkeypatch, tmp_path, capsys):
    arguments = ["--quick", "--models", "forest", "--train", "150", "--trees", "5"]
    arguments += ["--scanner-trees", "2", "--n-jobs", "1", "--out", str(tmp_path)]
    assert run.main(arguments) == 0
    assert "peak memory, GiB" in capsys.readouterr().out
    rows = pd.read_csv(tmp_path / "accuracy.csv")
    assert rows[["model", "input"]].to_numpy().tolist() == [
        ["forest", "pixels"],
        ["forest", "all grains"],
    ]
    assert rows["accuracy"].between(0.5, 1).all()
    assert (rows["n_seeds"] == 2).all()
    cells = pd.read_csv(tmp_path / "cells.csv")
    assert set(cells["n_train"]) == {150}
    monkeypatch.setattr(run, "one_seed", lambda *_: pytest.fail("computed twice"))
    run.main(arguments)


def test_quick_changes_defaults_only(run):
    options = run.parse(["--quick", "--windows", "9", "--train", "5"])
    assert (options.windows, options.train, options.stride) == ([9], 5, 1)
    assert run.parse([]).windows == [7, 10, 13]


def test_the_estimate(run):
    times = {"wall_s": 50.0, "cpu_s": 36.0}
    cell = {"set": "made", "seed": 0, "n_train": 100, "n_all": 10_000}
    cell["scanner"] = {"fit": times, "transform": times, "peak_gb": 1.0}
    cell["models"] = {"forest/pixels": {"accuracy": 0.9, **times}}
    accuracy, scanner = run.report(pd.DataFrame([cell]))
    # 100 times as many, twice the logarithm
    assert accuracy.shown["all rows, h"].tolist() == ["2.00"]
    assert accuracy.shown["minus pixels"].tolist() == ["0.00"]
    assert scanner.shown.loc["made", "peak memory, GiB"] == "1.00"


def test_published_claims_stand_in_the_title(run):
    times = {"wall_s": 1.0, "cpu_s": 1.0}
    part = {"fit": times, "transform": times, "peak_gb": 1.0}
    table = run.scanner_table(pd.DataFrame([{"set": "mnist", "scanner": part}]))
    assert "cascade alone 98.02 %" in table.title
    assert np.isfinite(float(table.shown.iloc[0, 0]))
