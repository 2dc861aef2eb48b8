"""Members that the preset "best" adds to the default ones."""

import pickle

import numpy as np
import pytest

from mddf import DeepForestClassifier, DeepForestRegressor, TimeOrder
from mddf._deep_forest import fold_trainer
from mddf._members.members import AUTO, AUTO_REGRESSORS, named_classifiers, named_regressors
from mddf._members.pool import POOL, POOL_REGRESSORS

pytestmark = pytest.mark.usefixtures("few_rounds")

CATEGORICAL = np.array([False, False, True])
KINDS = pytest.mark.parametrize(
    ("Model", "auto", "names"),
    [
        (DeepForestClassifier, AUTO, POOL),
        (DeepForestRegressor, AUTO_REGRESSORS, POOL_REGRESSORS),
    ],
)


def table(n, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    X[:, 2] = rng.integers(0, 4, n)
    X[::7, 0] = np.nan
    return X


def numbers(X):
    return np.sin(2 * np.nan_to_num(X[:, 0])) + X[:, 1] * (X[:, 2] == 1)


def target(Model, X):
    y = numbers(X)
    return y if Model is DeepForestRegressor else np.digitize(y, [-0.5, 0.5])


@KINDS
def test_members_of_the_pool_have_names_of_their_own(Model, auto, names):
    assert len({*auto, *names}) == len(auto) + len(names)


def test_members_of_the_pool_differ_from_each_other_and_from_the_default():
    """Except for the trees on made columns, which differ from "boosted" by their columns."""
    for makers in (named_classifiers(10, CATEGORICAL), named_regressors(10, CATEGORICAL)):
        del makers["boosted-crosses"]
        models = [repr((type(model), sorted(model.get_params().items(), key=str)))
                  for model in (make() for make in makers.values())]  # fmt: skip
        assert len(set(models)) == len(models)


@KINDS
def test_every_member_of_the_pool_learns(Model, auto, names):
    X = table(240)
    y = target(Model, X)
    model = Model(1, members=list(names), cv=2, random_state=0).fit(X[:160], y[:160])
    assert [row["member"] for row in model.leaderboard_] == list(names)
    for row in model.leaderboard_:
        if Model is DeepForestRegressor:
            assert row["r2"] > 0.15, row
        else:
            assert row["log_loss"] < 1.09, row  # log(3) without learning
    assert model.score(X[160:], y[160:]) > (0.6 if Model is DeepForestRegressor else 0.55)


@KINDS
def test_the_best_preset_adds_the_pool(Model, auto, names):
    X = table(100)
    y = target(Model, X)
    parameters = {"n_layers": 1, "n_estimators": 3, "cv": 2, "random_state": 0}
    best = Model(preset="best", **parameters).fit(X, y)
    assert [row["member"] for row in best.leaderboard_] == [*auto, *names]
    explicit = Model(preset="best", members=["random", "linear"], **parameters).fit(X, y)
    assert [row["member"] for row in explicit.leaderboard_] == ["random", "linear"]


@pytest.mark.parametrize(
    "kind",
    [
        "groups",
        "time order",
        "outputs",
        "targets",
        "weights",
        "class weights",
        "score",
        "no refit",
    ],
)
def test_the_best_preset_fits_problems_of_all_kinds(kind):
    X = table(90)
    y = numbers(X)
    labels = np.digitize(y, [-0.5, 0.5])
    parameters = {"preset": "best", "n_layers": 1, "n_estimators": 2, "cv": 2, "random_state": 0}
    options = {}
    target = labels
    Model = DeepForestClassifier
    if kind == "groups":
        options["groups"] = np.arange(90) // 3
    elif kind == "time order":
        parameters["cv"] = TimeOrder(np.arange(90), n_splits=3)
    elif kind == "outputs":
        target = np.column_stack([labels, labels > 1])
    elif kind == "targets":
        Model = DeepForestRegressor
        target = np.column_stack([y, X[:, 1]])
    elif kind == "class weights":
        parameters["class_weight"] = "balanced"
    elif kind == "score":
        parameters["scoring"] = "accuracy"
    elif kind == "no refit":
        parameters["refit"] = False
    else:
        options["sample_weight"] = np.arange(90) % 3 + 0.5
    model = Model(**parameters).fit(X, target, **options)
    weights = [row["weight"] for row in model.leaderboard_]
    assert sum(weights) == pytest.approx(1)
    new = table(40, seed=1)
    assert model.predict(new).shape == target[:40].shape
    assert np.array_equal(pickle.loads(pickle.dumps(model)).predict(new), model.predict(new))


@KINDS
def test_members_of_the_pool_race_on_large_tables_only(Model, auto, names, monkeypatch):
    """Boosted trees of the pool are trained on all folds, as no trial tells their loss."""
    X = table(420)
    y = target(Model, X)
    parameters = {"preset": "best", "n_layers": 1, "n_estimators": 3, "cv": 2, "random_state": 0}

    def racing():
        report = Model(**parameters).fit(X, y).fit_report_
        return {row["candidate"] for row in report if row["step"] == "race"}

    assert racing() == set()
    monkeypatch.setattr(fold_trainer, "_MAX_ROWS_OF_MEDIUM_TABLE", 400)
    is_boosted = {name for name in names if name.startswith("boosted-")} - {"boosted-leaf-wise"}
    assert racing() == {*auto, *names} - is_boosted
