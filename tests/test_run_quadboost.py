"""run_quadboost.py."""

import csv
import json

import numpy as np
import pytest


def test_quadboost_protocol(script):
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
    right = {"A": "1111", "B": "1000"}
    results = {f"{s}/{m}": {"right": right[m]} for s in "xyz" for m in "AB"}
    rows = {(r["row_algorithm"], r["column_algorithm"]): r
            for r in module.table_two(results, "xyz", ["A", "B"])}  # fmt: skip
    assert rows["A", "B"]["wins"] == 3
    assert rows["A", "B"]["sign_test_p"] == 0.125
    both = [rows[pair]["prob_row_better"] for pair in (("A", "B"), ("B", "A"))]
    assert sum(both) == pytest.approx(1)
    assert rows["A", "A"]["prob_row_better"] == 0.5


@pytest.mark.usefixtures("no_data")
def test_quick_form_on_a_bundled_set(script, tmp_path, capsys, monkeypatch):
    run, out = script("run_quadboost"), tmp_path / "quad"
    monkeypatch.setattr(run, "BUNDLED", {"wine": "wine"})
    monkeypatch.setattr(run, "QUICK_SETS", ("heart", "vote"))
    run.main(["--quick", "--out", str(out)])
    shown = capsys.readouterr().out
    assert "scikit-learn's bundled sets stand in" in shown
    assert "(0.045)" in shown  # a published risk on wine
    methods = list(run.algorithms(quick=True))
    with (tmp_path / "quad_table1.csv").open() as file:
        one = list(csv.DictReader(file))
    assert [row["set"] for row in one] == ["wine", "mean_running_time_s", "mean_fit_time_s"]
    assert all(0 <= float(one[0][method]) < 0.3 for method in methods)
    assert all(0 < float(one[2][method]) <= float(one[1][method]) for method in methods)
    with (tmp_path / "quad_table2.csv").open() as file:
        assert len(list(csv.DictReader(file))) == len(methods) ** 2
    content = json.loads(out.with_suffix(".json").read_text())
    assert set(content["results"]) == {f"wine/{method}" for method in methods}
    assert all(len(result["right"]) == 89 for result in content["results"].values())
    run.main(["--quick", "--sets", "wine", "--out", str(out)])  # nothing is computed again
    assert json.loads(out.with_suffix(".json").read_text()) == content


def test_adaboost_can_be_cut(script):
    algorithms = script("run_quadboost").algorithms
    whole, cut = (algorithms(False, most)["AdaBoost"][1] for most in (10**6, 50_000))
    np.testing.assert_array_equal(cut, whole[whole <= 50_000])
    assert (whole[0], whole[-1], cut[-1]) == (100, 10**6, 46416)
