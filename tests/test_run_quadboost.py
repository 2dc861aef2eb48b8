"""run_quadboost.py."""

import json

import numpy as np
import pandas as pd
import pytest


def test_protocol(script):
    module = script("run_quadboost")
    rng = np.random.default_rng(0)
    X, y = rng.normal(3, 5, size=(1200, 2)), rng.integers(0, 2, 1200)
    train, _, test, _ = module.split(X, y, seed=0)
    assert (len(train), len(test)) == (500, 700)
    np.testing.assert_allclose(np.arctanh(train).mean(axis=0), 0, atol=1e-9)
    assert len(module.split(X[:41], y[:41], seed=0)[0]) == 21
    grids = {name: (len(v), len(t)) for name, (v, t, _) in module.algorithms(False).items()}
    assert grids["QuadBoost-L2"] == grids["QuadBoost-Linf"] == (10, 10)
    assert grids["AdaBoost"] == grids["QuadBoost"] == (1, 10)


def test_pairs(script):
    right = {"A": "1111", "B": "1000"}
    rows = [{"set": s, "method": m, "right": right[m]} for s in "xyz" for m in "AB"]
    found = script("run_quadboost").pairs(pd.DataFrame(rows))
    found = found.set_index(["row_algorithm", "column_algorithm"])
    assert found.loc[("A", "B"), "wins"] == 3
    assert found.loc[("A", "B"), "sign_test_p"] == 0.125
    both = found["prob_row_better"]["A", "B"] + found["prob_row_better"]["B", "A"]
    assert both == pytest.approx(1)
    assert found["prob_row_better"]["A", "A"] == 0.5
    alone = script("run_quadboost").pairs(pd.DataFrame(rows[:1] + rows[3:4]))
    assert alone.empty  # no set has both


@pytest.mark.usefixtures("no_data")
def test_quick_form_on_a_bundled_set(script, tmp_path, capsys, monkeypatch):
    run = script("run_quadboost")
    monkeypatch.setattr(run, "STAND_INS", ("wine",))
    assert run.main(["--quick", "--out", str(tmp_path)]) == 0
    shown = capsys.readouterr().out
    assert "scikit-learn's bundled sets stand in" in shown
    assert "(0.045)" in shown  # a published risk on wine
    methods = list(run.algorithms(quick=True))
    one = pd.read_csv(tmp_path / "table1.csv").set_index("set")
    assert one.loc["wine", methods].between(0, 0.3).all()
    assert len(pd.read_csv(tmp_path / "table2.csv")) == len(methods) ** 2
    cells = [json.loads(path.read_text())["result"] for path in (tmp_path / "cells").iterdir()]
    assert all(len(cell["right"]) == 89 for cell in cells)
    assert all(0 < cell["fit_seconds"] <= cell["seconds"] for cell in cells)
    monkeypatch.setattr(run, "tune_and_test", lambda *_: pytest.fail("computed twice"))
    run.main(["--quick", "--datasets", "wine", "--out", str(tmp_path)])


def test_an_unfinished_table(script):
    rows = [{"set": "wine", "method": "LPBoost", "risk": 0.1, "right": "1", "seconds": 1.0}]
    rows.append({**rows[0], "set": "vote", "method": "AdaBoost"})
    (one,) = script("run_quadboost").report(pd.DataFrame(rows).assign(fit_seconds=1.0))
    assert one.shown.loc["wine", "AdaBoost"] == ""


def test_adaboost_can_be_cut(script):
    algorithms = script("run_quadboost").algorithms
    whole, cut = (algorithms(False, most)["AdaBoost"][1] for most in (10**6, 50_000))
    np.testing.assert_array_equal(cut, whole[whole <= 50_000])
    assert (whole[0], whole[-1], cut[-1]) == (100, 10**6, 46416)
