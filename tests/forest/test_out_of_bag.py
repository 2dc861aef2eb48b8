"""Out-of-bag predictions: samples in all trees, and scores after a warm start."""

import numpy as np
import pytest
from forest_cases import FORESTS, few_trees, three_classes

from mddf import CompletelyRandomForestRegressor, RandomForestRegressor

REGRESSORS = [RandomForestRegressor, CompletelyRandomForestRegressor]
every = pytest.mark.parametrize("Forest", [*FORESTS, *REGRESSORS])
WEIGHTS = np.random.default_rng(1).random(300) * (np.arange(300) % 5 > 0)


def data(Forest):
    X, y = three_classes()
    if Forest in REGRESSORS:
        y = np.column_stack([y, 1e5 * np.random.default_rng(0).normal(size=300)])
    return X, y


def out_of_bag(forest):
    return getattr(forest, forest._oob_name), forest.oob_score_


def assert_same(cold, warm, X):
    assert np.array_equal(cold.apply(X), warm.apply(X))
    for a, b in zip(out_of_bag(cold), out_of_bag(warm), strict=True):
        assert np.array_equal(a, b, equal_nan=True)


# Samples that every tree drew


@every
def test_samples_without_a_prediction_are_counted(Forest):
    X, y = data(Forest)
    forest = Forest(3, bootstrap=True, oob_score=True, random_state=0)
    with pytest.warns(UserWarning, match="samples have no out-of-bag prediction") as caught:
        forest.fit(X, y)
    always = np.isnan(out_of_bag(forest)[0]).any(axis=1)
    assert str(caught[0].message).startswith(f"{always.sum()} of 300 samples")
    assert caught[0].filename == __file__
    assert len(caught) == 1


@every
def test_samples_without_weight_are_not_counted(Forest):
    X, y = data(Forest)
    weights = (np.arange(300) >= 30).astype(float)
    Forest(80, bootstrap=True, oob_score=True, random_state=0).fit(X, y, weights)  # no warning
    forest = Forest(3, bootstrap=True, oob_score=True, random_state=0)
    with pytest.warns(UserWarning, match=r"\d+ of 270 samples have no out-of-bag prediction"):
        forest.fit(X, y, weights)


# Switched on by a warm start


@few_trees
@every
def test_switched_on_is_a_cold_fit(Forest):
    for weights in [None, WEIGHTS]:
        for options in [{}, {"max_samples": 0.3}, {"max_depth": 2}]:
            X, y = data(Forest)
            options = options | {"bootstrap": True, "random_state": 5}
            cold = Forest(12, oob_score=True, **options).fit(X, y, weights)
            for steps in ((7,), (12,), (2, 7)):
                warm = Forest(warm_start=True, n_jobs=2, **options)
                for n in steps:
                    warm.set_params(n_estimators=n).fit(X, y, weights)
                warm.set_params(n_estimators=12, oob_score=True).fit(X, y, weights)
                assert_same(cold, warm, X)


@few_trees
@every
def test_other_rows_or_draws_are_refused(Forest):
    X, y = data(Forest)
    forest = Forest(4, bootstrap=True, warm_start=True, random_state=0).fit(X, y)
    forest.set_params(n_estimators=8, oob_score=True)
    order = np.random.default_rng(0).permutation(300)
    for rows, target in ((X[order], y[order]), (X, y[order]), (X[:-1], y[:-1])):
        with pytest.raises(ValueError, match="oob_score with warm_start=True needs the rows"):
            forest.fit(rows, target)
    with pytest.raises(ValueError, match="the draws of the 4 trees grown so far: sample_weight"):
        forest.fit(X, y, WEIGHTS)
    with pytest.raises(ValueError, match="or max_samples has changed"):
        forest.set_params(max_samples=0.5).fit(X, y)
    assert not hasattr(forest, "oob_score_")
    forest.set_params(max_samples=None).fit(X, y)
    whole = Forest(8, bootstrap=True, oob_score=True, random_state=0).fit(X, y)
    assert_same(whole, forest, X)
