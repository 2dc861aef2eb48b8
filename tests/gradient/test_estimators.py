"""Gradient boosting estimators: changes that must not affect the result."""

import numpy as np
import pandas as pd
import pytest
from boosted_cases import answers, both, frame, growth, problem
from sklearn_checks import WEIGHT_CHECKS, sklearn_checks

from mddf import GradientBoostingClassifier, GradientBoostingRegressor

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
def test_n_jobs(Model, grow_policy):
    X, y = problem(Model, 30000)
    options = {"grow_policy": grow_policy, "max_iter": 5, "random_state": 0, "subsample": 0.7}
    options["max_features"] = 0.2
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


def test_categories_are_sets():
    table, y = frame()
    model = GradientBoostingRegressor(max_iter=100, max_depth=2, max_features=1.0, random_state=0)
    model.fit(table, y)
    assert model.is_categorical_.tolist() == [False, False, True]
    assert model.score(table, y) > 0.93
    codes = table.assign(kind=table["kind"].cat.codes.to_numpy())
    worse = GradientBoostingRegressor(
        max_iter=100, max_depth=1, categorical_features=None, random_state=0
    )
    assert model.score(table, y) > worse.fit(codes, y).score(codes, y)
    strange = table.assign(kind=pd.Categorical(["violet"] * len(table)))
    with pytest.warns(UserWarning, match="categories that fit did not see"):
        model.predict(strange)
