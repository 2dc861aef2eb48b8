"""Time limits."""

import time
import warnings
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes

from mddf import DeepForestClassifier, DeepForestRegressor
from mddf._base.deadline import Clock, TimeIsUp
from mddf._layers import first_layer, member
from mddf._layers.later_layers import LaterLayers
from mddf._layers.member import EstimatorMember

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


@pytest.mark.parametrize(
    ("n_rows", "n_columns", "n_codes", "n_outputs", "seconds"),
    [
        (1000, 20, 0, 0, 1000 * 3e-4),
        (20_000, 20, 0, 0, 10_000 * 3e-4),  # of which kernels and networks see no more
        (1000, 1500, 0, 0, 1.5e-6 * 1000 * 1500),
        (1000, 20, 250, 0, 1.5e-6 * 1000 * (20 + 250)),
        (5000, 20_000, 0, 0, 1.5e-6 * 2**21),
        (1000, 20, 0, 7, 7 * 1000 * 3e-4),
    ],
)
def test_estimated_times_of_members_grow_with_columns_and_outputs(
    n_rows, n_columns, n_codes, n_outputs, seconds
):
    """For numeric columns, and with a category in addition, which has a column per level."""
    sizes = np.array([3] * n_columns + [n_codes] * (n_codes > 0))
    bins = SimpleNamespace(start=np.r_[0, sizes.cumsum()], categorical=np.uint8(sizes == n_codes))
    table = SimpleNamespace(bins=SimpleNamespace(columns=lambda first, last: bins))
    task = SimpleNamespace(n_classes_per_output=[2] * n_outputs or None)
    trainer = SimpleNamespace(
        table=table,
        n_features=len(sizes),
        n_samples=n_rows,
        task=task,
        clock=SimpleNamespace(pace=1.0),
    )
    one_by_one = EstimatorMember("one by one", SimpleNamespace())
    assert one_by_one.expected_seconds(trainer, 1, 0.0) == pytest.approx(seconds)
    # All at once, as kernels do.
    at_once = EstimatorMember("at once", SimpleNamespace(_learns_outputs=True))
    once = seconds / max(1, n_outputs)
    assert at_once.expected_seconds(trainer, 1, 0.0) == pytest.approx(once)


def test_limits_of_any_type_end_at_the_same_time():
    for kind in [np.float16, np.float32, np.longdouble, np.int8, Fraction, int]:
        result = Clock(kind(40)).end
        assert type(result) is float
        assert result == pytest.approx(Clock(40.0).end, abs=5)


def test_the_clock():
    clock = Clock()
    assert not clock.runs
    assert clock.left == np.inf
    assert clock.allows(1e9)
    clock = Clock(50.0)
    assert 40 < clock.left <= 47.5
    assert clock.allows(20, share=0.5)
    assert not clock.allows(30, share=0.5)
    assert clock.until(0.5) <= time.monotonic() + 25
    assert clock.pace >= 1
    assert Clock(1e-9).left < 0
    with clock.cut(0.5, whole=True):
        assert 20 < clock.left <= 24
        assert clock.whole
    with clock.kept_back(10.0):
        assert clock.left < 40
    with clock.kept_back(1e6):
        assert 20 < clock.left < 24
    assert clock.left > 40
    assert not clock.whole
    clock = Clock()
    with clock.cut(0.5, whole=True):
        assert clock.left == np.inf
        assert not clock.whole


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


@BOTH
def test_the_report_lists_abandoned_steps(Model, load, monkeypatch):
    """Without time, depths and options have their defaults; refit and later layers are skipped."""

    def is_up(*parameters, **options):
        raise TimeIsUp

    monkeypatch.setattr("mddf._layers.member_options._try_boosting", is_up)
    monkeypatch.setattr("mddf._layers.deep_forest.choose_forest_options", is_up)
    monkeypatch.setattr(LaterLayers, "optimistic_layer", is_up)
    monkeypatch.setattr("mddf._layers.refit._refitted", is_up)
    X, y = load(return_X_y=True)
    parameters = {"n_estimators": 10, "random_state": 0}
    boosted = Model(members=["boosted"], time_limit=1000.0, **parameters).fit(X, y)
    assert cuts_of(boosted) == {
        ("depths", "not all tried"),
        ("layer 1", "not fitted again on all samples"),
    }
    parameters["members"] = ["random"]
    model = Model(time_limit=1000.0, **parameters).fit(X, y)
    assert cuts_of(model) == {
        ("options", "not all tried"),
        ("layer 2", "not kept"),
        ("layer 1", "not fitted again on all samples"),
    }
    assert model.stop_reason_ == "time_limit ended the trial of layer 2"
    assert model.n_layers_ == 1
    plain = Model(1, refit=False, **parameters).fit(X, y)
    assert model.score(X, y) == pytest.approx(plain.score(X, y), abs=0.05)


def test_estimators_get_the_time_that_other_members_leave(monkeypatch):
    """A member that has no time at first is finished if the others leave some."""
    X, y = load_breast_cancer(return_X_y=True)
    members = ["random", "kernel-logistic", "linear"]
    parameters = {"members": members, "n_estimators": 5, "time_limit": 1000.0, "random_state": 0}
    monkeypatch.setattr(member, "_SHARE_WITHOUT_CHOICE", 1e6)
    model = DeepForestClassifier(1, **parameters).fit(X, y)
    assert cuts_of(model) == {("kernel-logistic", "left out")}
    monkeypatch.setattr(first_layer, "_LAST_SHARE", 1e9)
    model = DeepForestClassifier(1, **parameters).fit(X, y)
    assert cuts_of(model) == set()
