"""compare_boosting.py, and what draws its curves."""

import json

import numpy as np
import pandas as pd
import pytest


@pytest.mark.usefixtures("no_data")
def test_quick_form_on_bundled_sets(script, tmp_path, capsys):
    run = script("compare_boosting")
    assert run.main(["--quick", "--rounds", "10", "--out", str(tmp_path)]) == 0
    assert "scikit-learn's bundled sets stand in" in capsys.readouterr().out
    cells = [json.loads(path.read_text()) for path in (tmp_path / "cells").iterdir()]
    found = {(cell["key"]["set"], cell["key"]["method"]): cell["result"] for cell in cells}
    assert set(found) == {(name, m) for name in run.STAND_INS for m in run.methods(1)}
    for result in found.values():
        rise, fall = result["roc_true_positive"], result["roc_false_positive"]
        assert (np.diff(rise) >= 0).all()
        assert (fall[0], fall[-1], rise[-1]) == (0, 1, 1)
        assert np.trapezoid(rise, fall) == pytest.approx(result["auc"], abs=0.01)
        assert result["auc"] > 0.9
        assert result["fit_seconds"] > 0
    script("plot_boosting").main([str(tmp_path), "--format", "png"])
    assert (tmp_path / "roc.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.usefixtures("data_home")
def test_length_of_the_call_leaks(script, tmp_path, capsys):
    arguments = ["--quick", "--datasets", "bank", "bank-no-duration", "--rounds", "10"]
    script("compare_boosting").main([*arguments, "--out", str(tmp_path)])
    assert " 0.85 " in capsys.readouterr().out  # the published AUC on bank
    rows = pd.read_csv(tmp_path / "comparison.csv").set_index(["set", "method"])["auc"]
    for method in ("AdaBoost", "DeepBoost"):
        assert rows["bank", method] > rows["bank-no-duration", method] + 0.05
