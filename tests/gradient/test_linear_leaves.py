"""Gradient boosting with linear leaves."""

import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from mddf import (
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    cost,
)
from mddf.explain import importances, shap_values
from mddf.export import to_onnx, to_treelite

FAST = {"max_iter": 30, "learning_rate": 0.3, "random_state": 0}
POLICIES = ["symmetric", "leaf-wise"]


def smooth_table(n_rows=400, seed=0, *, missing=True):
    """Numbers with missing values and categories, and a target that is smooth in the numbers."""
    rng = np.random.default_rng(seed)
    numbers = rng.normal(size=(n_rows, 3))
    group = rng.choice(["a", "b", "c"], n_rows)
    y = 3 * numbers[:, 0] - 2 * numbers[:, 1] + numbers[:, 0] * numbers[:, 2] + (group == "a")
    if missing:
        numbers[rng.random(n_rows) < 0.1, 1] = np.nan
    return pd.DataFrame(numbers, columns=list("xyz")).assign(group=pd.Categorical(group)), y


@pytest.mark.parametrize("policy", POLICIES)
def test_a_smooth_target_is_fitted_better(policy):
    X, y = smooth_table(1200)
    errors = []
    for linear in (False, True):
        model = GradientBoostingRegressor(
            linear_leaves=linear, grow_policy=policy, max_depth=3, early_stopping=False, **FAST
        ).fit(X[:800], y[:800])
        assert model.linear_leaves_ is linear
        errors.append(np.mean((model.predict(X[800:]) - y[800:]) ** 2))
    assert errors[1] < 0.8 * errors[0]


@pytest.mark.parametrize("policy", POLICIES)
def test_models_are_stored_staged_and_continued(policy):
    for task in ["numbers", "two classes", "classes", "outputs"]:
        X, y = smooth_table()
        Model = GradientBoostingRegressor
        if "class" in task:
            Model = GradientBoostingClassifier
            y = np.digitize(y, [0] if task == "two classes" else [-2, 2]).astype(str)
        elif task == "outputs":
            y = np.column_stack([y, -(y**2)])
        options = {**FAST, "grow_policy": policy, "max_depth": 3, "early_stopping": False}
        model = Model(linear_leaves=True, **options).fit(X, y)
        raw = "decision_function" if Model is GradientBoostingClassifier else "predict"
        expected = getattr(model, raw)(X)
        assert np.array_equal(getattr(pickle.loads(pickle.dumps(model)), raw)(X), expected)
        staged = "staged_" + raw
        if hasattr(model, staged):
            *_, last = getattr(model, staged)(X)
            assert np.array_equal(last, expected)
        assert np.array_equal(
            getattr(clone(model).set_params(n_jobs=2).fit(X, y), raw)(X), expected
        )
        # A warm start continues with the same leaves, and refuses others.
        half = Model(linear_leaves=True, warm_start=True, **{**options, "max_iter": 15}).fit(X, y)
        half.set_params(max_iter=30, linear_leaves="auto").fit(X, y)
        assert np.array_equal(getattr(half, raw)(X), expected)
        with pytest.raises(
            ValueError, match="linear_leaves must be the same as in the fit before"
        ):
            half.set_params(max_iter=40, linear_leaves=False).fit(X, y)
        assert model.apply(X).shape == (len(X), 30)
        assert cost(model).n_trees == 30


@pytest.mark.parametrize("loss", ["poisson", "gamma"])
def test_the_training_score_does_not_fall_with_heavy_tails(loss):
    # Without shortening, the first steps of some leaves multiply predictions by up to e^400.
    rng = np.random.default_rng(2)
    X = rng.normal(size=(1000, 3))
    y = np.exp(4 * X[:, 0] + 0.5 * X[:, 1])
    model = GradientBoostingRegressor(
        loss,
        linear_leaves=True,
        early_stopping=False,
        subsample=1.0,
        max_depth=4,
        learning_rate=1.0,
        max_iter=5,
        random_state=0,
    ).fit(X, y)
    assert np.all(np.diff(model.train_score_) >= -1e-12)


def test_held_out_samples_choose():
    X, y = smooth_table(900)
    steps = np.digitize(X["x"], [-1, 0, 1]).astype(float)
    options = {**FAST, "max_depth": 2, "l2_regularization": 0.1, "max_features": 1.0}
    auto = GradientBoostingRegressor(linear_leaves="auto", **options)
    for target in (y, steps):
        models = [
            clone(auto)
            .set_params(linear_leaves=linear)
            .fit(X[:600], target[:600], X_val=X[600:], y_val=target[600:])
            for linear in (False, True, "auto")
        ]
        scores = [model.validation_score_.max() for model in models]
        assert models[2].linear_leaves_ == (scores[1] > scores[0])
        better = models[models[2].linear_leaves_]
        assert np.array_equal(better.predict(X), models[2].predict(X))
    assert clone(auto).fit(X, y).linear_leaves_
    assert clone(auto).set_params(early_stopping=True).fit(X, y).linear_leaves_
    assert not clone(auto).set_params(early_stopping=False).fit(X, y).linear_leaves_


@pytest.mark.parametrize(
    "options",
    [
        {"loss": "absolute_error"},
        {"loss": "quantile", "quantile": 0.3},
        {"monotonic_cst": [1, 0, 0, 0]},
    ],
)
def test_parameters_that_need_constants_are_refused(options):
    X, y = smooth_table(100)
    with pytest.raises(ValueError, match=r"linear_leaves must be False or 'auto'.*got True"):
        GradientBoostingRegressor(linear_leaves=True, **FAST, **options).fit(X, y)
    model = GradientBoostingRegressor(linear_leaves="auto", **FAST, **options).fit(X, y)
    assert not model.linear_leaves_


def test_readers_of_trees_refuse_them():
    X, y = smooth_table(100)
    X = X[["x", "y"]]
    model = GradientBoostingRegressor(linear_leaves=True, early_stopping=False, **FAST).fit(X, y)
    with pytest.raises(TypeError, match="linear_leaves"):
        shap_values(model, X, method="tree")
    with pytest.raises(TypeError, match="linear_leaves"):
        to_onnx(model, dtype=np.float64)
    with pytest.raises(TypeError, match="linear_leaves"):
        to_treelite(model)
    shares = shap_values(model, X[:3], method="permutation", random_state=0)
    assert shares is not None
    assert importances(model, X, y, random_state=0).importances_mean[0] > 0
