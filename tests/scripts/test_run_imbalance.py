"""report/imbalance.py: thresholds, leaves and weights where a class is rare."""

import numpy as np
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
    options = run.parse(["--quick", "--n-estimators", "20"])
    found = run.cell(options, "breast_cancer", 0, "forest 5 balanced")
    assert found["AUC"] > 0.9
    assert found["F1"] > 0.8
    with pytest.raises(ValueError, match="iris must have two classes, got 3"):
        run.cell(options, "iris", 0, "mdDF")
