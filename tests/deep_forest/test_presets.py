"""Presets."""

import re
from dataclasses import replace

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_diabetes

from mddf import DeepForestClassifier, DeepForestRegressor
from mddf._deep_forest.presets import PRESETS

pytestmark = pytest.mark.usefixtures("few_rounds")

BOTH = pytest.mark.parametrize(
    ("Model", "load"),
    [(DeepForestClassifier, load_breast_cancer), (DeepForestRegressor, load_diabetes)],
)


def members_of(model):
    return {row["member"] for row in model.leaderboard_ if row["layer"] == 1}


@BOTH
def test_the_fast_preset_has_fewer_members_and_one_layer(Model, load):
    X, y = load(return_X_y=True)
    model = Model(preset="fast", random_state=0).fit(X, y)
    assert model.n_layers_ == 1
    assert {"boosted", "linear", "random"} <= members_of(model)
    assert not members_of(model) & set(PRESETS["fast"].without)
    assert model.score(X, y) > 0.5


@pytest.mark.parametrize("Model", [DeepForestClassifier, DeepForestRegressor])
def test_the_best_preset_has_more_of_all(Model, monkeypatch):
    default, best = PRESETS["default"], PRESETS["best"]
    assert best.n_estimators > default.n_estimators
    assert set(best.depths) > set(default.depths)
    small = replace(best, n_estimators=8, boosting={"max_iter": 20, "learning_rate": 0.3})
    monkeypatch.setitem(PRESETS, "best", small)
    X, y = load_breast_cancer(return_X_y=True)
    model = Model(1, preset="best", random_state=0).fit(X[:200], y[:200])
    default_model = Model(1, n_estimators=8, random_state=0).fit(X[:200], y[:200])
    assert members_of(model) == members_of(default_model)
    for one, depths in ((model, best.depths), (default_model, default.depths)):
        tried = [r for r in one.fit_report_ if (r["step"], r["member"]) == ("options", "boosted")]
        found = [int(re.match("max_depth=([0-9]+)", row["candidate"])[1]) for row in tried]
        assert tuple(found[:-1]) == depths  # last, the best one on half of the features
        assert found[-1] in depths


def test_parameters_that_are_given_beat_the_preset():
    X, y = load_breast_cancer(return_X_y=True)
    given = {"n_estimators": 7, "members": ["random", "completely-random"], "cv": 3}
    model = DeepForestClassifier(2, preset="best", random_state=0, **given).fit(X, y)
    other = DeepForestClassifier(2, random_state=0, **given).fit(X, y)
    np.testing.assert_array_equal(model.predict_proba(X), other.predict_proba(X))
    assert clone(model).get_params() == model.get_params()
    default = DeepForestClassifier(random_state=0, **given).fit(X, y)
    np.testing.assert_array_equal(default.predict_proba(X), other.predict_proba(X))


@pytest.mark.parametrize(
    ("preset", "hint"),
    [
        ("fats", r"got 'fats' \(did you mean 'fast'\?\)$"),
        ("Best", r"got 'Best' \(did you mean 'best'\?\)$"),
        ("slow", "got 'slow'$"),
        (None, "got None$"),
        (3, "got 3$"),
        (["best"], r"got \['best'\]$"),
    ],
)
def test_a_preset_that_there_is_not(preset, hint):
    message = rf"^preset must be one of \('default', 'fast', 'best'\), {hint}"
    with pytest.raises(ValueError, match=message):
        DeepForestClassifier(preset=preset).fit([[0], [1]], [0, 1])
