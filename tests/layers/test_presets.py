"""Presets of deep forests."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_diabetes

from mddf import DeepForestClassifier, DeepForestRegressor

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
    assert not members_of(model) & {"kernel", "kernel-logistic", "network"}
    assert model.score(X, y) > 0.5


def test_explicit_parameters_override_the_preset():
    X, y = load_breast_cancer(return_X_y=True)
    parameters = {"n_estimators": 7, "members": ["random", "completely-random"], "cv": 3}
    model = DeepForestClassifier(2, preset="fast", random_state=0, **parameters).fit(X, y)
    other = DeepForestClassifier(2, random_state=0, **parameters).fit(X, y)
    np.testing.assert_array_equal(model.predict_proba(X), other.predict_proba(X))
    assert clone(model).get_params() == model.get_params()
    default = DeepForestClassifier(random_state=0, **parameters).fit(X, y)
    np.testing.assert_array_equal(default.predict_proba(X), other.predict_proba(X))


def test_unknown_preset():
    for preset, hint in [
        ("fats", r"got 'fats' \(did you mean 'fast'\?\)$"),
        ("Default", r"got 'Default' \(did you mean 'default'\?\)$"),
        ("slow", "got 'slow'$"),
        (None, "got None$"),
        (3, "got 3$"),
        (["fast"], r"got \['fast'\]$"),
    ]:
        message = rf"^preset must be one of \('default', 'fast'\), {hint}"
        with pytest.raises(ValueError, match=message):
            DeepForestClassifier(preset=preset).fit([[0], [1]], [0, 1])
