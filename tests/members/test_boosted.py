"""Boosted trees as members of deep forests, against boosting each fold alone."""

import numpy as np
import pytest
from counting import CountsRows
from made_tasks import classification_task, outputs_task
from sklearn.metrics import log_loss
from sklearn.model_selection import GridSearchCV

from mddf import (
    DeepForestClassifier,
    DeepForestRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
)
from mddf._binning.binner import Binner
from mddf._binning.encoded_rows import EncodedRows
from mddf._input.table import ArrayTable
from mddf._members import members
from mddf._members.boosted import BoostedFolds, BoostedModel, BoostingData, boost_parts
from mddf._members.members import grows_on_codes

GIVEN = {"n_estimators": 5, "random_state": 0}


def vectors_of(model, codes):
    return BoostedFolds([model], 0).vectors(EncodedRows(codes), None)


def problem(n, n_classes=2):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 5))
    X[rng.random(X.shape) < 0.05] = np.nan
    score = np.nan_to_num(X[:, 0] * X[:, 1] + np.sin(2 * X[:, 2])) + 0.3 * rng.normal(size=n)
    cuts = np.quantile(score, np.arange(1, n_classes) / n_classes)
    return X, score if n_classes == 1 else np.digitize(score, cuts)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_deep_forest_of_boosted_trees_is_the_mean_of_the_folds(n_classes):
    X, y = problem(200, n_classes)
    rows = np.arange(200)
    folds = [(rows[rows % 3 != i], rows[rows % 3 == i]) for i in range(3)]
    model = DeepForestClassifier(1, members=["boosted"], cv=folds, calibrate=False, **GIVEN)
    model.fit(X, y)
    (row,) = model.leaderboard_
    models = model._layers[0].members[0].models
    assert len(models) == 3
    assert len({sum(fold_model.rounds) for fold_model in models}) == 1
    assert 0 < sum(models[0].rounds) < 1000
    codes = Binner(None, 255, None).fit_transform(ArrayTable(X), None).codes
    mean = np.mean([vectors_of(fold_model, codes) for fold_model in models], axis=0)
    np.testing.assert_allclose(model.predict_proba(X), mean, rtol=1e-9)
    held_out = np.concatenate(
        [
            vectors_of(fold_model, codes[rows])
            for fold_model, (_, rows) in zip(models, folds, strict=True)
        ]
    )
    order = np.concatenate([rows for _, rows in folds])
    assert np.isclose(row["log_loss"], log_loss(y[order], held_out))
    assert row["log_loss"] < np.log(n_classes) * 0.9


def test_many_rounds_are_cut_to_the_best():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(120, 4)), rng.integers(0, 2, 120)
    model = DeepForestClassifier(1, members=["boosted"], **GIVEN).fit(X, y)
    (member,) = model._layers[0].members
    assert {sum(fold_model.rounds) for fold_model in member.models} == {
        sum(member.models[0].rounds)
    }
    assert sum(member.models[0].rounds) < 20  # there is nothing to be learnt


@pytest.mark.parametrize("n_outputs", [1, 2])
def test_numbers(n_outputs, monkeypatch):
    for name, value in {"learning_rate": 0.2, "max_iter": 60, "subsample": 1.0}.items():
        monkeypatch.setitem(members._BOOSTING, name, value)
    X, y = problem(300, 1)
    y = y if n_outputs == 1 else np.column_stack([y, -3 * y])
    model = DeepForestRegressor(1, members=["boosted"], **GIVEN).fit(X, y)
    predicted = model.predict(X)
    assert predicted.shape == y.shape
    assert np.corrcoef(predicted.ravel(), y.ravel())[0, 1] > 0.9
    if n_outputs == 2:
        np.testing.assert_allclose(predicted[:, 1], -3 * predicted[:, 0], atol=1e-6)


@pytest.mark.parametrize("Model", [DeepForestClassifier, DeepForestRegressor])
def test_the_same_for_any_number_of_jobs_and_rows(Model):
    X, y = problem(150)
    sequential, two = (
        Model(1, members=["boosted"], n_jobs=n_jobs, **GIVEN).fit(X, y) for n_jobs in (1, 2)
    )
    method = "predict_proba" if Model is DeepForestClassifier else "predict"
    together = getattr(sequential, method)(X)
    np.testing.assert_array_equal(getattr(two, method)(X), together)
    for rows in (slice(0, 1), slice(3, 40)):
        np.testing.assert_array_equal(getattr(sequential, method)(X[rows]), together[rows])


@pytest.mark.parametrize(("n_classes", "expected"), [(2, 240), (3, 160), (4, 120)])
def test_rounds_of_many_classes_are_fewer(n_classes, expected, monkeypatch):
    for name, value in {"learning_rate": 0.001, "max_iter": 240}.items():
        monkeypatch.setitem(members._BOOSTING, name, value)
    X, y = problem(150, n_classes)
    model = DeepForestClassifier(1, members=["boosted"], cv=2, **GIVEN).fit(X, y)
    assert model._layers[0].members[0].models[0].rounds == [expected]


def test_one_class():
    X, _ = problem(60)
    model = DeepForestClassifier(members=["boosted"], **GIVEN).fit(X, np.full(60, "a"))
    np.testing.assert_array_equal(model.predict_proba(X), np.ones((60, 1)))


def test_a_class_missing_from_a_fold():
    X, y = problem(80, 2)
    y[0] = 2
    model = DeepForestClassifier(1, members=["boosted"], **GIVEN).fit(X, y)
    predicted = model.predict_proba(X)
    np.testing.assert_allclose(predicted.sum(axis=1), 1)
    assert (predicted > 0).all()


def test_wide_tables():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 3, (60, 400)).astype(float)
    y = (X[:, 399] + X[:, 210] > 2).astype(int)
    model = DeepForestClassifier(1, members=["boosted"], **GIVEN).fit(X, y)
    assert (model.predict(X) == y).mean() > 0.9


@pytest.mark.parametrize("n_rounds", [0, 3])
def test_the_requested_number_of_rounds(n_rounds):
    X, y = problem(60)
    table = Binner(None).fit_transform(ArrayTable(X))
    task = classification_task(y, calibrate=False)
    rows = np.arange(60)
    folds = [(rows[:40], rows[40:]), (rows[20:], rows[:20])]
    keys = rows.astype(np.uint64)
    boosting = GradientBoostingClassifier(max_iter=50)
    data = BoostingData(table, task, None, keys)
    fitted = boost_parts(boosting, data, folds, (1,), [n_rounds])
    for (model, predicted), (train, held_out) in zip(fitted, folds, strict=True):
        assert model.rounds == [n_rounds]
        np.testing.assert_array_equal(predicted, vectors_of(model, table.codes[held_out]))
        if n_rounds == 0:  # the shares of the classes
            np.testing.assert_allclose(predicted[:, 1], y[train].mean())


def test_boosting_of_a_user_keeps_its_loss():
    X, y = problem(200, 1)
    parameters = {"subsample": 1.0, "max_features": 1.0, "early_stopping": False}
    boosting = GradientBoostingRegressor("absolute_error", max_iter=20, **parameters)
    model = DeepForestRegressor(1, members=[("median", boosting)], **GIVEN).fit(X, y)
    np.testing.assert_allclose(model.predict(X), boosting.fit(X, y).predict(X), atol=1e-6)


def kept_models(model):
    return model._layers[0].members[0].models


@pytest.mark.parametrize("n_classes", [1, 2, 3])
def test_boosting_of_a_user_grows_on_the_folds_with_its_parameters(n_classes):
    """The same as the named member with these parameters."""
    X, y = problem(200, n_classes)
    Deep, Boosting = DeepForestClassifier, GradientBoostingClassifier
    if n_classes == 1:
        Deep, Boosting = DeepForestRegressor, GradientBoostingRegressor
    parameters = {"learning_rate": 0.3, "max_iter": 40, "n_iter_no_change": 5, "max_features": 2}
    boosting = Boosting(grow_policy="leaf-wise", max_leaf_nodes=4, random_state=7, **parameters)
    model = Deep(1, members=[("mine", boosting)], **GIVEN).fit(X, y)
    assert [row["member"] for row in model.leaderboard_] == ["mine"]
    models = kept_models(model)
    assert len(models) == (3 if n_classes == 1 else 5)
    assert all(isinstance(fold_model, BoostedModel) for fold_model in models)
    assert {sum(fold_model.rounds) for fold_model in models} == {sum(models[0].rounds)}
    assert 0 < sum(models[0].rounds) <= 40
    assert not any(trees.symmetric for fold_model in models for trees in fold_model.trees)
    assert not hasattr(boosting, "n_features_in_")
    score = {1: 0.6, 2: 0.8, 3: 0.65}[n_classes]
    assert model.score(X, y) > score


def test_all_rounds_are_grown_without_early_stopping():
    X, y = problem(120)
    boosting = GradientBoostingClassifier(max_iter=30, early_stopping=False)
    model = DeepForestClassifier(1, members=[boosting], **GIVEN).fit(X, y)
    assert {sum(fold_model.rounds) for fold_model in kept_models(model)} == {30}


OTHERWISE = {
    "loss": {"loss": "exponential"},
    "bins": {"max_bins": 32},
    "categories": {"categorical_features": [0]},
    "mask": {"categorical_features": np.array([True, False])},
    "scorer": {"scoring": "accuracy"},
    "callable": {"scoring": len},
    "rows of its own": {"early_stopping": True},
    "tolerance": {"tol": 1e-3},
    "warm start": {"warm_start": True},
    "class weights": {"class_weight": "balanced"},
    "names": {"monotonic_cst": {"a": 1}},
}


@pytest.mark.parametrize("parameters", OTHERWISE.values(), ids=OTHERWISE)
def test_boosting_that_layers_cannot_grow_on_folds(parameters):
    assert not grows_on_codes(GradientBoostingClassifier(**parameters), 255)
    assert grows_on_codes(GradientBoostingClassifier(max_bins=32), 32)
    assert not grows_on_codes(GradientBoostingRegressor("quantile"), 255)
    assert not grows_on_codes(DeepForestClassifier(), 255)


def test_boosting_with_other_bins_is_fitted_by_itself():
    X, y = problem(120)
    boosting = GradientBoostingClassifier(max_bins=16, max_iter=5)
    model = DeepForestClassifier(1, members=[boosting], **GIVEN).fit(X, y)
    assert [type(kept) for kept in kept_models(model)] == [GradientBoostingClassifier]
    model.set_params(max_bins=16).fit(X, y)
    assert isinstance(kept_models(model)[0], BoostedModel)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"learning_rate": -1}, "The 'learning_rate' parameter of GradientBoostingClassifier"),
        ({"max_depth": 17}, "max_depth must be at most 16"),
        ({"monotonic_cst": [1, 0]}, r"monotonic_cst has shape \(2,\)"),
        ({"interaction_cst": [[0, 9]]}, "interaction_cst must have feature numbers"),
    ],
)
def test_wrong_parameters_of_boosting_are_found_before_any_work(parameters, message):
    X, y = problem(120)
    CountsRows.n_rows.clear()
    members = [CountsRows(), ("mine", GradientBoostingClassifier(**parameters))]
    with pytest.raises(ValueError, match=f"^the member 'mine' cannot be fitted: {message}"):
        DeepForestClassifier(members=members, **GIVEN).fit(np.nan_to_num(X), y)
    assert not CountsRows.n_rows


def test_monotonic_constraints_hold_in_a_layer():
    X, y = problem(200)
    boosting = GradientBoostingClassifier(max_iter=30, monotonic_cst=[1, 0, 0, 0, 0])
    model = DeepForestClassifier(1, members=[boosting], **GIVEN).fit(X, y)
    rows = np.tile(X[3], (50, 1))
    rows[:, 0] = np.linspace(-3, 3, 50)
    assert (np.diff(model.predict_proba(rows)[:, 1]) >= 0).all()


def test_searches_find_parameters_of_boosting_in_a_layer():
    X, y = problem(150)
    boosting = GradientBoostingClassifier(max_iter=20, early_stopping=False)
    model = DeepForestClassifier(1, members=["random", ("boosted", boosting)], **GIVEN)
    grid = {"boosted__learning_rate": [1e-6, 0.3], "boosted__max_depth": [1, 3]}
    search = GridSearchCV(model, grid, cv=2, error_score="raise").fit(X, y)
    assert search.best_params_["boosted__learning_rate"] == 0.3
    assert search.best_estimator_.get_params()["boosted__max_iter"] == 20


def test_several_outputs_are_boosted_one_by_one():
    X, y = problem(90, 3)
    y = np.stack([y, np.full(90, 4), (y > 0) ^ (X[:, 3] > 0)], axis=1)
    table = Binner(None).fit_transform(ArrayTable(X))
    rows = np.arange(90)
    folds = [(rows[:60], rows[60:]), (rows[30:], rows[:30])]
    keys = rows.astype(np.uint64)
    boosting = GradientBoostingClassifier(max_iter=40)

    def boosted(task, rounds=None):
        data = BoostingData(table, task, None, keys)
        return boost_parts(boosting, data, folds, (1,), rounds)

    result = boosted(outputs_task(y, calibrate=False))
    first = boosted(classification_task(y[:, 0], calibrate=False))
    assert len(result[0][0].rounds) == 2  # there is nothing to learn of a single class
    for (model, predicted), (alone_model, alone), (_, held_out) in zip(
        result, first, folds, strict=True
    ):
        assert model.rounds[0] == alone_model.rounds[0]
        np.testing.assert_array_equal(predicted[:, :3], alone)
        assert np.all(predicted[:, 3] == 1)
        np.testing.assert_allclose(predicted[:, 4:].sum(axis=1), 1)
        np.testing.assert_array_equal(predicted, vectors_of(model, table.codes[held_out]))
    again = boosted(outputs_task(y, calibrate=False), result[0][0].rounds)
    for (model, predicted), (alone_model, same) in zip(result, again, strict=True):
        assert model.rounds == alone_model.rounds
        np.testing.assert_allclose(predicted, same, atol=0.2)
