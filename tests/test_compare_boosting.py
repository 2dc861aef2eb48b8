"""compare_boosting.py, and what draws its curves."""

import csv
import json

import numpy as np
import pytest


def rows_of(path):
    with path.open() as file:
        return {(row["set"], row["method"]): row for row in csv.DictReader(file)}


@pytest.mark.usefixtures("no_data")
def test_quick_form_on_bundled_sets(script, tmp_path, capsys):
    run, out = script("compare_boosting"), tmp_path / "comparison"
    run.main(["--quick", "--rounds", "10", "--out", str(out)])
    assert "scikit-learn's bundled sets stand in" in capsys.readouterr().out
    rows = rows_of(out.with_suffix(".csv"))
    assert set(rows) == {(name, m) for name in run.BUNDLED for m in run.methods(1)}
    results = json.loads(out.with_suffix(".json").read_text())["results"]
    for (name, method), row in rows.items():
        result = results[f"{name}/{method}/0"]
        rise, run_ = result["roc_true_positive"], result["roc_false_positive"]
        assert (np.diff(rise) >= 0).all()
        assert (run_[0], run_[-1], rise[-1]) == (0, 1, 1)
        assert np.trapezoid(rise, run_) == pytest.approx(float(row["auc"]), abs=0.01)
        assert float(row["auc"]) > 0.9
        assert float(row["fit_seconds"]) > 0
    picture = out.with_suffix(".png")
    script("plot_boosting").main([str(out.with_suffix(".json"))])
    assert picture.read_bytes().startswith(b"\x89PNG")


@pytest.mark.usefixtures("data_home")
def test_length_of_the_call_leaks(script, tmp_path, capsys):
    out = tmp_path / "comparison"
    arguments = ["--quick", "--sets", "bank", "bank without duration", "--rounds", "10"]
    script("compare_boosting").main([*arguments, "--out", str(out)])
    assert "| 0.85 " in capsys.readouterr().out  # the published AUC on bank
    rows = rows_of(out.with_suffix(".csv"))
    for method in ("AdaBoost", "DeepBoost"):
        with_it, without = (
            float(rows[name, method]["auc"]) for name in ("bank", "bank without duration")
        )
        assert with_it > without + 0.05
