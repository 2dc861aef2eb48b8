"""run_imbalance.py: thresholds, leaves and weights where a class is rare."""

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import f1_score


@pytest.fixture
def run(script):
    return script("run_imbalance")


def test_threshold_is_the_best_of_all(run):
    rng = np.random.default_rng(0)
    y, scores = rng.integers(0, 2, 60), rng.random(60).round(1)
    best = max(f1_score(y, scores >= t) for t in np.unique(scores))
    assert f1_score(y, scores >= run.best_threshold(y, scores)) == pytest.approx(best)


def test_table(run, tmp_path, monkeypatch):
    forest = run.RandomForestClassifier(20, random_state=0)
    monkeypatch.setattr(run, "models", lambda *_: {"forest": forest})
    run.main(["--quick", "--out", str(tmp_path)])
    (row,) = pd.read_csv(tmp_path / "imbalance.csv").to_dict("records")
    assert row["AUC"] > 0.9
    assert row["F1"] > 0.8
    with pytest.raises(SystemExit, match="iris must have two classes, got 3"):
        run.main(["--quick", "--datasets", "iris", "--out", str(tmp_path)])
