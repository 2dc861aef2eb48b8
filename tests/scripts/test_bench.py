"""Comparisons of the benchmarks, in addition to the checks in test_commands.py."""

import numpy as np
import pytest
from sklearn.datasets import make_moons


def test_cascade_and_its_peer(script):
    bench = script("bench.cascade")
    options = bench.parse(["--n-estimators", "2", "--rows", "200"])
    for side in ("mddf", "peer"):
        assert bench.measure(side, options, "breast_cancer", 0)["accuracy"] > 80


@pytest.mark.parametrize("kind", ["random", "completely random"])
@pytest.mark.parametrize("task", ["classification", "regression"])
def test_forests_of_libraries(script, kind, task):
    bench, libraries = script("bench.forest"), script("_lab.libraries")
    (X, y), split = make_moons(300, noise=0.1, random_state=0), script("_lab.data").Split
    split = bench.alike(split(X[:200], y[:200] + 5, X[200:], y[200:] + 5), task)
    plan, missing = libraries.Plan(10, 200, 2, task), []
    for name, method in libraries.FORESTS[kind].items():
        if why := method.missing(task):
            missing.append(why)
            continue
        result = bench.library(method, split, plan, 0)
        assert result["accuracy"] > 80, name
        assert 1e3 < result["pickle_bytes"] < 1e7, name
        assert ("log_loss" in result) == (task == "classification")
        if task == "classification":
            assert result["log_loss"] < 0.5, name
        if name == "oneDAL":  # it hands what it cannot do to scikit-learn
            model = script("_lab.models").build(method, 0, task=task, budget=plan)
            assert hasattr(model.fit(split.X, split.y), "_onedal_estimator")
    if missing:
        pytest.skip("; ".join(missing))


def test_sides_by_side(script):
    sides = {
        "a": lambda seed: {"s": None, "n": 3, "t_s": 2.0},
        "b": lambda seed: {"t_s": 1 + seed},
    }
    result = script("_lab.bench").side_by_side(sides, 3)
    assert result["a"] == {"n": 3, "t_s": 2, "t_s_ratio": 1}
    assert result["b"] == {"t_s": 2, "t_s_ratio": 1}


def test_columns_that_all_libraries_try(script):
    plan = script("_lab.libraries").Plan
    for n_columns in range(1, 800):
        result = plan(10, 100, n_columns)
        assert int(np.float32(result.share) * np.float32(n_columns)) == result.n_tried
        assert round(result.share * n_columns) == result.n_tried == int(n_columns**0.5)
        assert plan(10, 100, n_columns, "regression").share == 1
