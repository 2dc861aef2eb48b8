"""Gradient boosting estimators: changes that must not affect the result."""

import custom_losses as functions
import numpy as np
import pandas as pd
import pytest
from boosted_cases import answers, both, frame, growth, numbers, problem
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.metrics import log_loss
from sklearn_checks import WEIGHT_CHECKS, sklearn_checks

from mddf import CustomLoss, GradientBoostingClassifier, GradientBoostingRegressor

SQUARED = CustomLoss(functions.squared, functions.squared_losses, functions.weighted_mean)
FEW = {"max_iter": 30, "learning_rate": 0.3}


def failing_checks(model):
    """Checks that a model fails, with reasons."""
    if model.min_samples_leaf > 1:
        return dict.fromkeys(WEIGHT_CHECKS, "min_samples_leaf counts rows, whatever they weigh")
    if model.loss == "tweedie":
        return {"check_regressor_multioutput": "ignores the tag positive_only: y is negative"}
    return {}


@sklearn_checks(
    [
        GradientBoostingClassifier(max_iter=100),
        GradientBoostingClassifier(**FEW, grow_policy="leaf-wise", min_samples_leaf=5),
        GradientBoostingClassifier(**FEW, class_weight="balanced", subsample=0.8, n_jobs=2),
        GradientBoostingRegressor(),
        GradientBoostingRegressor(**FEW, grow_policy="leaf-wise", min_samples_leaf=5),
        GradientBoostingRegressor(**FEW, loss="quantile", quantile=0.4, max_features=0.5),
    ],
    failing_checks,
)
def test_sklearn_checks(estimator, check):
    check(estimator)


@both
@growth
@pytest.mark.parametrize("max_features", [0.2, 0.5])
def test_n_jobs(Model, grow_policy, max_features):
    X, y = problem(Model, 30000)
    options = {"grow_policy": grow_policy, "max_iter": 5, "random_state": 0, "subsample": 0.7}
    options["max_features"] = max_features
    sequential = Model(**options).fit(X, y)
    for n_jobs in (2, 3):
        many = Model(**options, n_jobs=n_jobs).fit(X, y)
        assert np.array_equal(answers(sequential, X), answers(many, X))
        assert np.array_equal(sequential.train_score_, many.train_score_)
        assert np.array_equal(sequential.feature_importances_, many.feature_importances_)


@both
@growth
def test_the_order_of_rows(Model, grow_policy):
    X, y = problem(Model)
    order = np.random.default_rng(1).permutation(len(X))
    options = {"grow_policy": grow_policy, "max_iter": 40, "max_features": 0.5, "random_state": 0}
    a = Model(**options).fit(X, y)
    b = Model(**options).fit(X[order], y[order])
    assert np.array_equal(answers(a, X), answers(b, X))


@both
def test_whole_weights_are_copies(Model):
    X, y = problem(Model)
    times = np.random.default_rng(1).integers(0, 3, len(X))
    options = {"max_iter": 40, "max_bins": 20, "random_state": 0}
    a = Model(**options).fit(X, y, times)
    b = Model(**options).fit(np.repeat(X, times, axis=0), np.repeat(y, times))
    assert np.array_equal(answers(a, X), answers(b, X))


def test_stages_end_where_predictions_are():
    X, y = problem(GradientBoostingClassifier)
    model = GradientBoostingClassifier(max_iter=7).fit(X, y)
    *_, last = model.staged_predict_proba(X)
    assert np.array_equal(last, model.predict_proba(X))
    *_, last = model.staged_decision_function(X)
    assert np.array_equal(last, model.decision_function(X))
    assert len(list(model.staged_predict(X))) == 7
    assert model.apply(X).shape == (400, 7)
    two = GradientBoostingClassifier(max_iter=7, loss="exponential").fit(X, y == "ape")
    assert two.decision_function(X).shape == (400,)
    assert np.array_equal(two.predict(X), two.decision_function(X) > 0)


@pytest.mark.slow
@growth
def test_regression_is_good(grow_policy):
    X, y = numbers(3000, missing=0)
    model = GradientBoostingRegressor(grow_policy=grow_policy, max_iter=300).fit(
        X[:2000], y[:2000]
    )
    peer = HistGradientBoostingRegressor(max_iter=300, learning_rate=0.05, early_stopping=False)
    peer.fit(X[:2000], y[:2000])
    assert model.score(X[2000:], y[2000:]) > peer.score(X[2000:], y[2000:]) - 0.005


@pytest.mark.slow
@growth
@pytest.mark.parametrize("n_classes", [2, 4])
def test_classification_is_good(grow_policy, n_classes):
    X, y = problem(GradientBoostingClassifier, 3000, n_classes=n_classes)
    model = GradientBoostingClassifier(grow_policy=grow_policy, max_iter=150)
    peer = HistGradientBoostingClassifier(max_iter=150, learning_rate=0.05, early_stopping=False)
    losses = [
        log_loss(y[2000:], classifier.fit(X[:2000], y[:2000]).predict_proba(X[2000:]))
        for classifier in (model, peer)
    ]
    assert losses[0] < 1.05 * losses[1]


def test_categories_are_sets():
    table, y = frame()
    model = GradientBoostingRegressor(max_iter=100, max_depth=2, max_features=1.0)
    model.fit(table, y)
    assert model.is_categorical_.tolist() == [False, False, True]
    assert model.score(table, y) > 0.93
    codes = table.assign(kind=table["kind"].cat.codes.to_numpy())
    worse = GradientBoostingRegressor(max_iter=100, max_depth=1, categorical_features=None)
    assert model.score(table, y) > worse.fit(codes, y).score(codes, y)
    strange = table.assign(kind=pd.Categorical(["violet"] * len(table)))
    with pytest.warns(UserWarning, match="categories that fit did not see"):
        model.predict(strange)


def test_a_bar_is_shown(capsys):
    X, y = numbers(50)
    GradientBoostingRegressor(max_iter=12, early_stopping=False, verbose=1).fit(X, y)
    assert "12/12" in capsys.readouterr().err
