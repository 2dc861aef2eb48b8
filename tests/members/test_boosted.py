"""Boosted trees as members of deep forests, against boosting each fold alone."""

import numpy as np
import pytest
from counting import CountsRows
from sklearn.metrics import log_loss

from mddf import (
    DeepForestClassifier,
    DeepForestRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
)
from mddf._binning.binner import Binner
from mddf._binning.encoded_rows import EncodedRows
from mddf._input.table import ArrayTable
from mddf._layers.member_parsing import grows_on_codes
from mddf._members.boosted import BoostedFolds, BoostedModel

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
    models = model._fitted.stages[0].members[0].models
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
    # The figure has rounds that the fold did not choose.
    assert log_loss(y[order], held_out) <= row["log_loss"] < np.log(n_classes) * 0.9


def test_many_rounds_are_cut_to_the_best():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(120, 4)), rng.integers(0, 2, 120)
    model = DeepForestClassifier(1, members=["boosted"], **GIVEN).fit(X, y)
    (member,) = model._fitted.stages[0].members
    assert {sum(fold_model.rounds) for fold_model in member.models} == {
        sum(member.models[0].rounds)
    }
    assert sum(member.models[0].rounds) < 20  # there is nothing to be learnt


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


def test_boosting_of_a_user_keeps_its_loss():
    X, y = problem(200, 1)
    parameters = {"subsample": 1.0, "max_features": 1.0, "early_stopping": False}
    boosting = GradientBoostingRegressor("absolute_error", max_iter=20, **parameters)
    model = DeepForestRegressor(1, members=[("median", boosting)], **GIVEN).fit(X, y)
    np.testing.assert_allclose(model.predict(X), boosting.fit(X, y).predict(X), atol=1e-6)


def kept_models(model):
    return model._fitted.stages[0].members[0].models


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


def test_boosting_that_layers_cannot_grow_on_folds():
    for parameters in OTHERWISE.values():
        assert not grows_on_codes(GradientBoostingClassifier(**parameters), 255)
        assert grows_on_codes(GradientBoostingClassifier(max_bins=32), 32)
        assert not grows_on_codes(GradientBoostingRegressor("quantile"), 255)
        assert not grows_on_codes(DeepForestClassifier(), 255)


def test_wrong_parameters_of_boosting_are_found_before_any_work():
    for parameters, message in [
        ({"learning_rate": -1}, "The 'learning_rate' parameter of GradientBoostingClassifier"),
        ({"max_depth": 17}, "max_depth must be at most 16"),
        ({"monotonic_cst": [1, 0]}, r"monotonic_cst has shape \(2,\)"),
        ({"interaction_cst": [[0, 9]]}, "interaction_cst must have feature numbers"),
    ]:
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
