"""run_deepboost.py, and what draws its figures."""

import csv
import json

import numpy as np
import pytest


def test_deepboost_grids_and_folds(script):
    module = script("run_deepboost")
    sizes = {
        (table, method): len(module.settings_of(table, method))
        for table, methods in module.METHODS.items()
        for method in methods
    }
    assert [sizes[1, m] for m in module.METHODS[1]] == [1, 1, 7, 42]
    assert [sizes[2, m] for m in module.METHODS[2]] == [6, 30, 150]
    assert [sizes[3, m] for m in module.METHODS[3]] == [6, 30, 150]
    assert len(module.settings_of(1, "DeepBoost", thin=2)) == 4 * 3
    thinned = module.settings_of(2, "DeepBoost", thin=2)
    assert sorted({p["max_depth"] for p in thinned}) == [2, 4, 6]
    assert len(thinned) == 3 * 3 * 3
    fold = module.folds_of(105, seed=0)
    assert sorted(np.bincount(fold)) == [10] * 5 + [11] * 5
    assert (fold != module.folds_of(105, seed=1)).any()


def test_deepboost_run_averages_ties(script):
    module = script("run_deepboost")
    rng = np.random.default_rng(0)
    X = rng.random((100, 2))
    y = (X[:, 0] > 0.5).astype(int)  # every depth makes no mistake
    grid = module.settings_of(2, "AdaBoost")
    result = module.one_run(3, grid, 2, 5, X, y, module.folds_of(100, 0))
    assert result["n_tied"] == result["n_settings"] == 6
    assert result["first_setting"] == grid[0]


@pytest.mark.usefixtures("no_data")
def test_quick_form_of_all_tables(script, tmp_path, capsys, monkeypatch):
    run, out = script("run_deepboost"), tmp_path / "results/deepboost_quick"
    monkeypatch.chdir(tmp_path)
    arguments = ["--quick", "--sets", "digits-49", "--rounds", "3"]
    run.main(arguments)
    assert capsys.readouterr().out.count("| digits-49 |") == 4 + 3 + 3
    with out.with_suffix(".csv").open() as file:
        rows = list(csv.DictReader(file))
    assert {(row["table"], row["method"]) for row in rows} == {
        (str(table), method) for table, methods in run.METHODS.items() for method in methods
    }
    for row in rows:
        assert 0 <= float(row["error"]) < 0.3
        assert 1 <= float(row["n_tied"]) <= float(row["n_settings"])
        assert int(row["n_runs"]) == 3
        assert (row["p_deepboost_better"] == "") or row["method"] != "DeepBoost"
    content = json.loads(out.with_suffix(".json").read_text())
    assert content["settings"] == {"rounds": 3, "seed": 0, "thin": 2}
    assert "scikit-learn" in content["origins"][0]["versions"]
    run.main(arguments)  # nothing is computed again
    assert json.loads(out.with_suffix(".json").read_text()) == content
    figures = tmp_path / "results/deepboost_quick_figures.json"
    drawn = json.loads(figures.read_text())["methods"]
    assert set(drawn) == set(run.METHODS[2])
    assert all((np.diff(method["margins"]) >= 0).all() for method in drawn.values())
    plot = script("plot_boosting")
    plot.main([str(figures), "--out", "pictures"])
    picture = tmp_path / "pictures/deepboost_quick_figures.png"
    assert picture.read_bytes().startswith(b"\x89PNG")
    setting = {"beta": 0.0, "lambda_": 1e-5, "max_depth": 3}
    assert plot.parameters(setting) == "lambda 1e-05, depth 3"
    with pytest.raises(SystemExit, match=r"comparison_quick\.json"):
        plot.main(["--quick"])  # draws what is there, and says what is not
    assert figures.with_suffix(".png").exists()


@pytest.mark.usefixtures("no_data")
def test_bundled_sets_stand_in(script, tmp_path, capsys):
    run = script("run_deepboost")
    arguments = ["--tables", "1", "--runs", "1", "--thin", "3", "--rounds", "2"]
    run.main([*arguments, "--out", str(tmp_path / "deep")])
    shown = capsys.readouterr().out
    assert "scikit-learn's bundled sets stand in" in shown
    assert all(f"| {name}" in shown for name in run.BUNDLED)


@pytest.mark.usefixtures("data_home")
def test_published_numbers_stand_beside(script, tmp_path, capsys):
    arguments = ["--tables", "2", "3", "--sets", "ionosphere", "--runs", "1", "--thin", "3"]
    arguments += ["--rounds", "2", "--out", str(tmp_path / "deep")]
    script("run_deepboost").main(arguments)
    shown = capsys.readouterr().out
    assert "5.01 ± 3.16" in shown
    assert "4.30 ± 1.88" in shown
