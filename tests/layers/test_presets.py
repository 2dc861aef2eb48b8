"""Presets of deep forests."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from mddf import DeepForestClassifier, DeepForestRegressor
from mddf._layers.member import BoostedMember
from mddf._layers.presets import PRESETS

MAX_CELLS_OF_SMALL_TABLE = "mddf._layers.named_boosting._MAX_CELLS_OF_SMALL_TABLE"

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


def test_explicit_parameters_override_the_preset():
    X, y = load_breast_cancer(return_X_y=True)
    parameters = {"n_estimators": 7, "members": ["random", "completely-random"], "cv": 3}
    model = DeepForestClassifier(2, preset="fast", random_state=0, **parameters).fit(X, y)
    other = DeepForestClassifier(2, random_state=0, **parameters).fit(X, y)
    np.testing.assert_array_equal(model.predict_proba(X), other.predict_proba(X))
    assert clone(model).get_params() == model.get_params()
    default = DeepForestClassifier(random_state=0, **parameters).fit(X, y)
    np.testing.assert_array_equal(default.predict_proba(X), other.predict_proba(X))


@pytest.mark.parametrize(
    ("preset", "hint"),
    [
        ("fats", r"got 'fats' \(did you mean 'fast'\?\)$"),
        ("Default", r"got 'Default' \(did you mean 'default'\?\)$"),
        ("slow", "got 'slow'$"),
        (None, "got None$"),
        (3, "got 3$"),
        (["fast"], r"got \['fast'\]$"),
    ],
)
def test_unknown_preset(preset, hint):
    message = rf"^preset must be one of \('default', 'fast'\), {hint}"
    with pytest.raises(ValueError, match=message):
        DeepForestClassifier(preset=preset).fit([[0], [1]], [0, 1])


def n_models(Model, fit_options=None, **options):
    """Number of boosted models, each fitted on its own fold."""
    X, y = load_breast_cancer(return_X_y=True)
    rows = slice(options.pop("n_rows", 120))
    model = Model(1, n_estimators=3, members=["boosted"], random_state=0, **options)
    model.fit(X[rows], y[rows], **(fit_options or {}))
    return len(model._fitted.stages[0].members[0].models)


def test_boosted_classifiers_use_ten_folds(monkeypatch):
    Model = DeepForestClassifier
    assert n_models(Model) == 10
    assert n_models(Model, preset="fast") == 5
    assert n_models(Model, cv=3) == 3
    assert n_models(Model, {"groups": np.arange(120) // 4}) == 5
    assert n_models(DeepForestRegressor, refit=False) == 10  # as many as the layer has
    assert n_models(DeepForestRegressor) == 3  # fitted again on all samples
    default = PRESETS["default"]
    monkeypatch.setitem(PRESETS, "default", replace(default, repeats=3, number_repeats=2))
    assert n_models(Model) == 30
    assert n_models(DeepForestRegressor, refit=False) == 20
    monkeypatch.setitem(PRESETS, "default", default)
    monkeypatch.setattr(MAX_CELLS_OF_SMALL_TABLE, 0)  # every table is large
    assert n_models(Model) == 5
    assert n_models(Model, n_rows=40) == 10


@pytest.mark.parametrize("repeats", [1, 2])
def test_out_of_fold_predictions_of_boosted_trees_come_from_models_without_the_row(
    repeats, monkeypatch
):
    calls = []
    boost = BoostedMember.boost

    def watched(self, trainer, parts, *arguments, **options):
        fitted = boost(self, trainer, parts, *arguments, **options)
        calls.append((parts, fitted))
        return fitted

    monkeypatch.setattr(BoostedMember, "boost", watched)
    monkeypatch.setitem(PRESETS, "default", replace(PRESETS["default"], repeats=repeats))
    X, y = load_breast_cancer(return_X_y=True)
    X, y = X[:150], y[:150]
    model = DeepForestClassifier(1, members=["boosted-leaf-wise"], calibrate=False, random_state=0)
    features = model.fit_transform(X, y)
    # Further calls are for figures of few rows.
    parts, fitted = next(call for call in calls if len(call[0]) == 10 * repeats)
    total, times = np.zeros((150, 2)), np.zeros(150)
    for part, fit in zip(parts, fitted, strict=True):
        assert not np.intersect1d(part.train, part.held_out).size
        total[part.held_out] += fit.vectors
        times[part.held_out] += 1
    assert np.all(times == repeats)
    np.testing.assert_allclose(features, total / repeats, atol=1e-12)
    two = clone(model).set_params(n_jobs=2).fit(X, y)
    assert np.array_equal(two.predict_proba(X), model.predict_proba(X))
    assert np.array_equal(two.oof_probabilities_, model.oof_probabilities_)


def test_leaf_wise_trees_of_large_tables_have_fewer_rounds(monkeypatch):
    X, y = load_breast_cancer(return_X_y=True)
    rates = []
    check = BoostedMember.check

    def watched(self, trainer):
        rates.append(self.model.learning_rate)
        check(self, trainer)

    monkeypatch.setattr(BoostedMember, "check", watched)
    model = DeepForestClassifier(1, members=["boosted-leaf-wise"], random_state=0)
    model.fit(X[:60], y[:60])
    monkeypatch.setattr(MAX_CELLS_OF_SMALL_TABLE, 0)
    model.fit(X[:60], y[:60])
    assert rates == [0.05, 0.1]


@BOTH
@pytest.mark.parametrize("preset", ["default", "fast"])
def test_auto_in_a_list_stands_for_all_automatic_members(Model, load, preset):
    X, y = load(return_X_y=True)
    parameters = {"preset": preset, "n_estimators": 3, "cv": 2, "random_state": 0}
    automatic = Model(1, **parameters).fit(X[:100], y[:100])
    alone = Model(1, members=["auto"], **parameters).fit(X[:100], y[:100])
    assert np.array_equal(alone.predict(X), automatic.predict(X))
    own = DecisionTreeRegressor if Model is DeepForestRegressor else DecisionTreeClassifier
    model = Model(1, members=["auto", ("mine", own(max_depth=3))], **parameters)
    model.set_params(mine__max_depth=2).fit(X[:100], y[:100])
    assert members_of(model) == {*members_of(automatic), "mine"}
    assert clone(model).members[0] == "auto"
