"""run_small_sample.py, its subsets, and its picture."""

import json
import re

import numpy as np
import pytest


def test_subsets(script):
    nested_subsets = script("_subsets").nested_subsets
    y = np.repeat(["a", "b", "c"], [100, 60, 3])
    found = nested_subsets(y, [0.01, 0.1, 0.5, 1.0], seed=0)
    counts = [[int(np.sum(y[rows] == label)) for label in "abc"] for rows in found.values()]
    assert counts == [[1, 1, 1], [10, 6, 1], [50, 30, 2], [100, 60, 3]]
    for smaller, larger in zip(found.values(), list(found.values())[1:], strict=False):
        assert set(smaller) < set(larger)
    again = nested_subsets(y, [0.1], seed=0)[0.1]
    assert np.array_equal(again, found[0.1])
    assert not np.array_equal(nested_subsets(y, [0.1], seed=1)[0.1], again)
    with pytest.raises(ValueError, match=r"fractions must lie in \(0, 1\], got \[0\]"):
        nested_subsets(y, [0.5, 0], seed=0)


def test_quick_run_and_picture(script, tmp_path, capsys, monkeypatch):
    run, plot = script("run_small_sample"), script("plot_small_sample")
    arguments = ["--quick", "--datasets", "iris", "--methods", "rf", "gcforest", "mddf"]
    arguments += ["--fractions", "0.1", "1", "--out", str(tmp_path)]
    run.main(arguments)
    assert "| iris | 10% | 12 | 2 |" in capsys.readouterr().out
    results = json.loads((tmp_path / "results.json").read_text())["results"]
    assert len(results) == 2 * 2 * 3
    assert {cell["n_train"] for cell in results.values()} == {12, 105}
    assert {cell["n_test"] for cell in results.values()} == {45}
    budgets = json.loads((tmp_path / "run.json").read_text())["budgets"]
    assert budgets["rf"]["n_estimators"] == budgets["mddf"]["n_estimators"] == 5
    monkeypatch.setattr(run, "run_cell", lambda *_: pytest.fail("computed twice"))
    run.main(arguments)
    plot.main([str(tmp_path)])
    assert (tmp_path / "figure.png").read_bytes().startswith(b"\x89PNG")


def test_tables_have_what_was_asked_for(script, tmp_path, capsys):
    run = script("run_small_sample")
    arguments = ["--quick", "--datasets", "iris", "--fractions", "1", "--out", str(tmp_path)]
    run.main([*arguments, "--methods", "rf", "gcforest"])
    capsys.readouterr()
    run.main([*arguments, "--methods", "rf", "--seeds", "1"])
    assert "| set | share | rows | seeds | RandomForest |\n" in capsys.readouterr().out
    content = json.loads((tmp_path / "results.json").read_text())
    assert len(content["results"]) == 4
    assert "scikit-learn" in content["settings"]["versions"]
    assert content["origins"][0]["arguments"]["methods"] == ["rf", "gcforest"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--fractions", "2"], r"must lie in \(0, 1\], got 2"),
        (["--datasets", "digits", "satimag"], "got 'satimag'; did you mean 'satimage'"),
        (["--seeds", "0"], "whole number of at least 1, got '0'"),
    ],
)
def test_wrong_options(script, arguments, message, capsys):
    with pytest.raises(SystemExit):
        script("run_small_sample").parse(arguments)
    assert re.search(message, capsys.readouterr().err)


def test_xgboost_has_its_rounds(script):
    run = script("run_small_sample")
    options = run.parse(["--quick"])
    assert options.datasets == ["digits"]
    options.methods = ["mddf", "xgboost"]  # installed or not
    budgets = run.budgets(options)
    assert budgets["xgboost"].n_trees == options.rounds != budgets["mddf"].n_trees


def test_seeds_that_all_methods_have_are_drawn(script):
    plot = script("plot_small_sample")
    cells = {
        f"{seed}{method}{share}": {
            "dataset": "iris",
            "seed": seed,
            "method": method,
            "fraction": share,
            "accuracy": (seed + share) / 100,
        }
        for seed in (0, 1)
        for method in ("rf", "mddf")
        for share in (0.1, 1.0)
    }
    found = plot.accuracies(cells)["iris"]
    assert list(found) == ["mddf", "rf"]
    assert {share: values.tolist() for share, values in found["rf"].items()} == {
        0.1: [0.1, 1.1],
        1.0: [1.0, 2.0],
    }
    assert plot.seeds_of(found) == "2"
    del cells["1mddf1.0"]
    found = plot.accuracies(cells)["iris"]
    assert found["rf"][1.0].tolist() == [1.0]
    assert plot.seeds_of(found) == "1 to 2"
    del cells["0mddf1.0"]
    assert list(plot.accuracies(cells)["iris"]["rf"]) == [0.1]
    del cells["0mddf0.1"], cells["1mddf0.1"]
    assert list(plot.accuracies(cells)["iris"]) == ["rf"]


def test_differences_are_paired(script):
    def cell(method, seed, accuracy):
        return {"dataset": "iris", "seed": seed, "fraction": 0.5} | {
            "method": method,
            "accuracy": accuracy,
        }

    cells = [cell("mddf", 0, 0.9), cell("mddf", 1, 0.8), cell("rf", 0, 0.8), cell("rf", 1, 0.8)]
    differences = script("run_small_sample").differences
    expected = "| mdDF minus | share | RandomForest |\n|---|--:|--:|\n| iris | 50% | "
    assert differences(dict(enumerate(cells))) == expected + "+5.00 ± 5.00 (1 of 2) |"
    assert differences(dict(enumerate(cells[::2]))) == expected + "+10.00 (1 of 1) |"
    assert differences(dict(enumerate(cells[1:3]))) == expected + " |"
