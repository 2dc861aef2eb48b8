"""Explanations and costs of regressors."""

import numpy as np
import pytest
from sklearn.datasets import make_friedman1
from sklearn.ensemble import RandomForestRegressor as SklearnForest

from mddf import (
    RandomForestRegressor,
)
from mddf.explain import shap_values


@pytest.fixture(scope="module")
def data():
    X, y = make_friedman1(300, 6, noise=0.5, random_state=0)
    X[np.random.default_rng(0).random(X.shape) < 0.03] = np.nan
    return X, np.ldexp(y, 300)


def test_contributions_add_up(data):
    for method in ["tree", "permutation"]:
        for n_outputs in [1, 2]:
            shap = pytest.importorskip("shap", reason='needs "mddf[explain]"')
            X, y = data
            many = y if n_outputs == 1 else np.column_stack([y, np.nan_to_num(X[:, 0])])
            forest = RandomForestRegressor(5, max_depth=4, random_state=0).fit(X, many)
            explanation = shap_values(forest, X[:20], background=X[:60], method=method)
            assert explanation.values.shape == ((20, 6) if n_outputs == 1 else (20, 6, 2))
            np.testing.assert_allclose(
                explanation.values.sum(axis=1) + explanation.base_values,
                forest.predict(X[:20]),
                rtol=1e-6,
            )
            assert isinstance(explanation, shap.Explanation)


def test_shapley_values_equal_those_for_scikit_learns_forest():
    shap = pytest.importorskip("shap", reason='needs "mddf[explain]"')
    X, y = make_friedman1(200, 5, noise=0.5, random_state=1)
    same = {"bootstrap": False, "random_state": 0, "max_depth": 3}
    ours = RandomForestRegressor(1, **same).fit(X, y)
    theirs = SklearnForest(1, **same).fit(X, y)
    np.testing.assert_allclose(ours.predict(X), theirs.predict(X))
    expected = shap.TreeExplainer(theirs)(X).values
    np.testing.assert_allclose(shap_values(ours, X).values, expected, atol=1e-3 * y.std())
