"""The script that measures what scanning adds."""

import csv
import json

import numpy as np
import pytest


@pytest.fixture
def script(script):
    return script("run_scanning")


def test_quick_run(script, monkeypatch, tmp_path, capsys):
    X, y, X_test, y_test = script.load_images(quick=True)
    assert (X.shape, X.dtype, X_test.shape) == ((900, 8, 8), np.uint8, (897, 8, 8))
    few = (X[:150], y[:150], X_test[:100], y_test[:100])
    monkeypatch.setattr(script, "load_images", lambda quick: few)
    arguments = ["--quick", "--models", "forest", "--out", str(tmp_path / "found")]
    script.main(arguments)
    assert "peak memory" in capsys.readouterr().out
    with (tmp_path / "found.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [(row["model"], row["input"]) for row in rows] == [
        ("forest", "pixels"),
        ("forest", "all grains"),
    ]
    assert all(60 < float(row["accuracy"]) <= 100 and row["seeds"] == "2" for row in rows)
    kept = json.loads((tmp_path / "found.json").read_text())
    assert list(kept["results"]) == ["0", "1"]
    assert kept["origins"][0]["versions"]["mddf"]
    monkeypatch.setattr(script, "one_seed", lambda *_: pytest.fail("computed twice"))
    script.main(arguments)


def test_quick_changes_defaults_only(script):
    options = script.parse(["--quick", "--windows", "9", "--train", "5"])
    assert (options.windows, options.train, options.stride) == ([9], 5, 1)
    assert script.parse([]).windows == [7, 10, 13]


def test_subsets_are_stratified_and_seeded(script):
    y = np.repeat(np.arange(5), [10, 20, 30, 40, 100])
    rows = script.subset(y, 40, seed=0)
    assert np.bincount(y[rows]).tolist() == [2, 4, 6, 8, 20]
    assert np.array_equal(rows, script.subset(y, 40, seed=0))
    assert not np.array_equal(rows, script.subset(y, 40, seed=1))
    assert np.array_equal(script.subset(y, 200, seed=0), np.arange(200))


def test_the_estimate(script, capsys):
    times = {"wall_s": 50.0, "cpu_s": 100.0}
    model = {"accuracy": 0.9, "wall_s": 10.0, "cpu_s": 36.0}
    results = {
        "0": {
            "n_train": 100,
            "scanner": {"fit": times, "transform": times},
            "models": {"forest/pixels": model},
        }
    }
    script.estimate(script.summary(results), results, 10_000)
    shown = capsys.readouterr().out  # 100 times as many, twice the logarithm
    assert f"scanning {(100 * 200 + 100 * 2) / 3600:.2f} CPU hours" in shown
    assert "forest on pixels: 2.00 CPU hours" in shown
    script.estimate([], results, 100)
    assert capsys.readouterr().out == ""
