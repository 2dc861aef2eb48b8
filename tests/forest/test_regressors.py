import numpy as np
import pandas as pd
import pytest
from forest_cases import draws_rows, few_trees
from sklearn.datasets import make_friedman1
from sklearn.metrics import mean_absolute_error, r2_score
from sklearn_checks import sklearn_checks
from value_cases import REGRESSORS

from mddf import CompletelyRandomForestRegressor, RandomForestRegressor

both = pytest.mark.parametrize("Forest", REGRESSORS)


@pytest.fixture(scope="module")
def data():
    X, y = make_friedman1(300, 6, noise=0.5, random_state=0)
    X[np.random.default_rng(0).random(X.shape) < 0.03] = np.nan
    return X, y


@sklearn_checks(
    [
        RandomForestRegressor(),
        RandomForestRegressor(max_samples=1.0, oob_score=True, n_jobs=2),
        RandomForestRegressor(criterion="absolute_error", bootstrap=False, max_leaf_nodes=12),
        CompletelyRandomForestRegressor(),
        CompletelyRandomForestRegressor(bootstrap=True, max_samples=1.0),
        CompletelyRandomForestRegressor(max_features=3),
    ],
    draws_rows,
)
@pytest.mark.filterwarnings("ignore:with warm_start=True:UserWarning")
@few_trees
def test_sklearn_checks(estimator, check):
    check(estimator)


# Targets of every kind


def test_huge_and_tiny_targets():
    X = np.arange(40.0)[:, None]
    for big in (1e300, 1.7e308):
        y = np.where(X[:, 0] < 20, -big, big)
        forest = RandomForestRegressor(100, bootstrap=False, random_state=0, n_jobs=2).fit(X, y)
        np.testing.assert_allclose(forest.predict(X), y, rtol=1e-14)
    most = np.finfo(np.float64).max
    for n_trees in (3, 10, 100):
        forest = RandomForestRegressor(n_trees, random_state=0).fit(X, np.full(40, most))
        np.testing.assert_allclose(forest.predict(X), most, rtol=1e-15)
    forest = RandomForestRegressor(9, oob_score=True, random_state=0).fit(X, 1e300 * X[:, 0])
    assert 0.95 < forest.oob_score_ < 1
    y = np.where(X[:, 0] < 20, 1e-320, 3e-320)
    assert np.array_equal(CompletelyRandomForestRegressor(64).fit(X, y).predict(X), y)


@both
def test_targets_that_do_not_do(Forest):
    for y, message in [
        (None, "target y is None"),
        ([1.0, np.nan, 2], r"Input y contains NaN.* got nan in row 1$"),
        ([1.0, np.inf, 2], "Input y contains infinity"),
        ([1.0, -np.inf, 2], "Input y contains infinity"),
        ([np.inf, -np.inf, 2], "got inf in row 0, the first of 2 rows$"),
        ([[1, 2], [1, 2], [2, np.nan]], r"NaN.* got \[2.0, nan\] in row 2"),
        (["a", "b", "c"], "y cannot be used: could not convert"),
        ([10**400, 1, 2], "y"),
        ([1j, 2, 3], "(?i)complex"),
        (np.zeros((3, 2, 2)), "dim"),
        (np.zeros((3, 0)), r"y cannot be used"),
        ([1.0, 2.0], "inconsistent numbers of samples"),
        (3.0, "y"),
    ]:
        forest = Forest(2).fit(np.zeros((3, 1)), [1.0, 2, 3])
        before = forest.predict([[0.0]])
        with pytest.raises((ValueError, TypeError), match=message):
            forest.fit(np.zeros((3, 1)), y)
        assert np.array_equal(forest.predict([[0.0]]), before)


@pytest.mark.parametrize("unit", ["timedelta64[D]", "datetime64[s]"])
def test_times_are_refused_as_targets(unit):
    y = np.arange(20).astype(unit)
    y[3] = "NaT"
    for targets in (y, pd.Series(y), list(y)):
        with pytest.raises((TypeError, ValueError), match=r"y.*(times|NaT|float)"):
            RandomForestRegressor(2).fit(np.arange(20.0)[:, None], targets)


# Out of bag


@few_trees
def test_out_of_bag(data):
    X, y = data
    forest = RandomForestRegressor(80, oob_score=True, random_state=0).fit(X, y)
    has_prediction = ~np.isnan(forest.oob_prediction_)
    assert has_prediction.all()
    assert abs(forest.oob_score_ - r2_score(y, forest.oob_prediction_)) < 1e-12
    assert 0.7 < forest.oob_score_ < 0.9
    forest.set_params(oob_score=mean_absolute_error).fit(X, y)
    assert forest.oob_score_ == mean_absolute_error(y, forest.oob_prediction_)
    few = RandomForestRegressor(2, oob_score=True, random_state=0).fit(X, y)
    never = np.isnan(few.oob_prediction_)
    assert 0.3 < never.mean() < 0.5
    assert abs(few.oob_score_ - r2_score(y[~never], few.oob_prediction_[~never])) < 1e-12
    few.set_params(oob_score=False).fit(X, y)
    assert not hasattr(few, "oob_prediction_")
