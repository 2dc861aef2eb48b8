"""run_deepboost.py, and what draws its figures."""

from argparse import Namespace

import numpy as np
import pandas as pd
import pytest


def test_grids_and_folds(script):
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


def test_a_run_averages_ties(script):
    module = script("run_deepboost")
    X = np.random.default_rng(0).random((100, 2))
    y = (X[:, 0] > 0.5).astype(int)  # every depth makes no mistake
    options = Namespace(rounds=5, thin=1, seed=0, n_jobs=1, sets={"made": (X, y)})
    result = module.one_run(options, "made", 2, "AdaBoost", 3)
    assert result["n_tied"] == result["n_settings"] == 6
    assert result["first_setting"] == module.settings_of(2, "AdaBoost")[0]
    assert "margins" not in result
    margins = module.one_run(options, "made", 2, "AdaBoost", 0)["margins"]
    assert len(margins) == 80
    assert (np.diff(margins) >= 0).all()


@pytest.mark.usefixtures("no_data")
def test_quick_form_of_all_tables(script, tmp_path, capsys, monkeypatch):
    run = script("run_deepboost")
    monkeypatch.chdir(tmp_path)
    arguments = ["--quick", "--datasets", "digits-49", "--rounds", "3", "--n-jobs", "1"]
    assert run.main(arguments) == 0
    folder = tmp_path / "results/deepboost-quick"
    for number, methods in run.METHODS.items():
        rows = pd.read_csv(folder / f"table{number}.csv")
        assert rows["method"].tolist() == list(methods)
        assert rows["test"].between(0, 0.3).all()
        assert (rows["n_seeds"] == 3).all()
        assert (rows["n_tied"].ge(1) & (rows["n_tied"] <= rows["n_settings"])).all()
        assert rows.set_index("method")["p"].isna()["DeepBoost"]
    monkeypatch.setattr(run, "one_run", lambda *_: pytest.fail("computed twice"))
    run.main([*arguments, "--tables", "1"])
    plot = script("plot_boosting")
    plot.main(["--quick", "--out", "pictures", "--format", "png"])
    picture = tmp_path / "pictures/deepboost-digits-49.png"
    assert picture.read_bytes().startswith(b"\x89PNG")
    setting = {"beta": 0.0, "lambda_": 1e-5, "max_depth": 3}
    assert plot.parameters(setting) == "lambda 1e-05, depth 3"


@pytest.mark.usefixtures("no_data")
def test_bundled_sets_stand_in(script, tmp_path, capsys):
    run = script("run_deepboost")
    arguments = ["--tables", "1", "--runs", "1", "--thin", "3", "--rounds", "2", "--n-jobs", "1"]
    run.main([*arguments, "--out", str(tmp_path)])
    assert "scikit-learn's bundled sets stand in" in capsys.readouterr().out
    assert set(pd.read_csv(tmp_path / "cells.csv")["set"]) == set(run.STAND_INS)
    with pytest.raises(SystemExit, match=r"no run 0 of Table 2: python scripts/run_deepboost.py"):
        script("plot_boosting").main([str(tmp_path)])


@pytest.mark.usefixtures("data_home")
def test_published_numbers_stand_beside(script, tmp_path, capsys):
    arguments = ["--tables", "2", "3", "--datasets", "ionosphere", "--runs", "1", "--thin", "3"]
    arguments += ["--rounds", "2", "--n-jobs", "1", "--out", str(tmp_path)]
    script("run_deepboost").main(arguments)
    assert "5.01±3.16" in capsys.readouterr().out
    assert "4.30 ± 1.88" in (tmp_path / "table3.md").read_text()
