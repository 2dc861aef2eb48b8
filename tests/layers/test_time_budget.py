"""Time limits."""

import time
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes

from mddf import DeepForestClassifier, DeepForestRegressor

BOTH = pytest.mark.parametrize(
    ("Model", "load"),
    [(DeepForestClassifier, load_breast_cancer), (DeepForestRegressor, load_diabetes)],
)


def weights_of(model):
    return {row["member"]: row["weight"] for row in model.leaderboard_ if row["layer"] == 1}


def cuts_of(model):
    rows = [row for row in model.fit_report_ if row["step"] == "time limit"]
    return {(row["candidate"], row["decision"]) for row in rows}


def test_unlimited_time():
    for limit in [0, -1.0, np.nan, "1", [1]]:
        with pytest.raises(ValueError, match="time_limit"):
            DeepForestRegressor(time_limit=limit).fit([[0], [1]], [0, 1])


@BOTH
def test_a_short_time_limit_gives_a_small_forest_with_a_warning(Model, load):
    X, y = load(return_X_y=True)
    with pytest.warns(UserWarning, match="time_limit=1e-06 is too short"):
        model = Model(time_limit=1e-6, random_state=0).fit(X, y)
    left_out = {name for name, weight in weights_of(model).items() if weight == 0}
    assert left_out >= {"boosted", "kernel", "linear", "network"}
    assert weights_of(model)["random"] == 1
    assert model.score(X, y) > 0.3
    assert cuts_of(model) >= {("random", "1 tree"), ("boosted", "left out")}
    assert model.stop_reason_ == "time_limit has no time for a later layer"


@BOTH
def test_a_long_time_limit_changes_little(Model, load):
    X, y = load(return_X_y=True)
    members = ["random", "boosted", "linear"]
    parameters = {"members": members, "n_estimators": 10, "random_state": 0}
    limited = Model(time_limit=1000.0, **parameters).fit(X, y)
    assert set(weights_of(limited)) == set(members)
    assert {row["step"] for row in limited.fit_report_} >= {"options", "layer 1", "kept"}
    assert limited.score(X, y) == pytest.approx(
        Model(**parameters).fit(X, y).score(X, y), abs=0.05
    )


def large(kind):
    """A table that takes far longer than two seconds."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(6000, 12))
    if kind == "levels":
        X = pd.DataFrame(rng.integers(0, 900, size=(6000, 6)).astype(str)).astype("category")
        return DeepForestClassifier, X, rng.integers(0, 2, 6000)
    signal = X[:, 0] * X[:, 1] + np.sin(3 * X[:, 2]) + 0.3 * rng.normal(size=6000)
    if kind == "numbers":
        return DeepForestRegressor, X, signal
    return DeepForestClassifier, X, np.digitize(signal, np.quantile(signal, [0.25, 0.5, 0.75]))


@pytest.mark.parametrize("kind", ["numbers", "classes", "levels"])
def test_work_ends_in_the_middle(kind):
    Model, X, y = large(kind)
    start = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of few trees
        model = Model(time_limit=1.0, random_state=0, n_jobs=2).fit(X, y)
    assert time.process_time() - start < 4  # two threads for little more than a second
    assert cuts_of(model)
    assert sum(weights_of(model).values()) == pytest.approx(1)
    assert np.isfinite(model.predict(X[:100])).all()


@BOTH
def test_a_single_boosted_member_is_fitted_with_any_limit(Model, load):
    X, y = load(return_X_y=True)
    model = Model(time_limit=1e-6, members=["boosted"], random_state=0).fit(X, y)
    assert weights_of(model) == {"boosted": 1.0}
    assert cuts_of(model) >= {("boosted", "1 round")}
    assert np.isfinite(model.predict(X)).all()
