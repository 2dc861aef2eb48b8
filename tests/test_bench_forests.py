"""bench_forest.py and bench_cascade.py."""

import pandas as pd
import pytest


def test_forest(script, tmp_path):
    arguments = ["--quick", "--datasets", "breast_cancer", "--repeats", "1", "--n-estimators", "5"]
    script("bench_forest").main([*arguments, "--out", str(tmp_path)])
    rows = pd.read_csv(tmp_path / "forest.csv")
    assert rows["forest"].tolist() == ["random", "completely random"]
    ratio = rows["sklearn's fit s"] / rows["fit s"]
    assert rows["fit ratio"].tolist() == pytest.approx(ratio.tolist())
    assert rows["accuracy %"].between(80, 100).all()
    assert rows["bytes per node"].gt(7).all()


def test_regressors(script):
    bench = script("bench_forest")
    X, y, X_test, y_test = script("_lab.measure").load("curves", None)
    data = X[:500], y[:500], X_test[:500], y_test[:500]
    row = bench.compare("curves", "random", data, 1, 1, 5)
    assert 20 < row["accuracy %"] < 90
    assert row["fit aim"] == 8


def test_one_row_and_threads(script):
    bench = script("bench_forest")
    data = script("_lab.measure").load("digits", None)
    times = bench.bench_single_row(data, 2)["random"]
    assert times["predict_proba_us"] > 0
    assert set(bench.bench_threads(data, 2)) == set(bench.KINDS)


def test_cascade_and_its_peer(script, tmp_path):
    bench = script("bench_cascade")
    for side in ("mddf", "peer"):
        found = bench.measure_side(side, "breast_cancer", None, 200, 2, 2, 0, 1)
        assert found["shape"] == [200, 30]
        assert found["accuracy"] > 0.8
        assert found["fit_seconds"] > 0
    assert bench.measure_side("mddf", "titanic", str(tmp_path), None, 1, 1, 0, 1) is None


def test_measures(script):
    measure = script("_lab.measure")
    used, result = measure.cpu_seconds(sum, range(1000))
    assert 0 < used < 0.05
    assert result == sum(range(1000))
    result, times = measure.timed(sum, [1, 2])
    assert result == 3
    assert set(times) == {"wall_s", "cpu_s"}
    assert measure.least_seconds(lambda: sum(range(10**5)), 3) > 0
    assert measure.peak_bytes() > 10**7
