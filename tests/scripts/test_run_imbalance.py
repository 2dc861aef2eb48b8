"""report/imbalance.py: thresholds, leaves and weights for rare classes."""

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import f1_score


@pytest.fixture
def run(script):
    return script("report.imbalance")


def test_threshold_is_the_best_of_all(run):
    rng = np.random.default_rng(0)
    y, scores = rng.integers(0, 2, 60), rng.random(60).round(1)
    best = max(f1_score(y, scores >= t) for t in np.unique(scores))
    assert f1_score(y, scores >= run.best_threshold(y, scores)) == pytest.approx(best)


def test_two_classes(run):
    options = run.parse(["--datasets", "breast_cancer,iris", "--n-estimators", "20"])
    result = run.cell(options, "breast_cancer", 0, "forest 5 balanced")
    assert result["AUC"] > 0.9
    assert result["F1"] > 0.8
    with pytest.raises(ValueError, match="iris must have two classes, got 3"):
        run.cell(options, "iris", 0, "mdDF")


def test_own_methods_and_tables(run, own_table, tmp_path):
    rows = ["--csv", str(own_table), "--target", "kind", "--quick", "--seeds", "1"]
    method = ["--method", "nb=sklearn.naive_bayes:GaussianNB", "priors=None"]
    out = ["--n-jobs", "1", "--out", str(tmp_path / "out")]
    assert run.main([*rows, *method, "--methods", "forest 5", "nb", *out]) == 0
    result = pd.read_csv(tmp_path / "out/cells.csv")
    assert result["method"].tolist() == ["forest 5", "nb"]
    assert set(result["set"]) == {"own"}
    other = ["--method", "nb=sklearn.naive_bayes:GaussianNB", "var_smoothing=1.0"]
    with pytest.raises(SystemExit, match=r"holds results of other settings: .*nb.*there"):
        run.main([*rows, *other, "--methods", "nb", *out])
    for name in ("mdDF", "mddf", "rf", "forest"):
        taken = [*rows, "--method", f"{name}=sklearn.naive_bayes:GaussianNB", *out]
        if name == "forest":  # none of the names that are there
            assert "forest" in run.parse(taken).methods
            continue
        with pytest.raises(SystemExit, match=f"--method: {name} is a method of these scripts"):
            run.parse(taken)
