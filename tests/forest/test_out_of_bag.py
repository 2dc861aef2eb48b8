"""Out-of-bag predictions: samples in all trees, and scores after a warm start."""

import numpy as np
import pytest
from forest_cases import FORESTS, few_trees, three_classes
from sklearn.metrics import balanced_accuracy_score, mean_absolute_error

from mddf import CompletelyRandomForestRegressor, RandomForestClassifier, RandomForestRegressor

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
@pytest.mark.parametrize("class_weight", ["balanced", "balanced_subsample", {0: 5, 1: 1, 2: 0.1}])
def test_switched_on_with_class_weights(class_weight):
    X, y = three_classes()
    options = {"class_weight": class_weight, "random_state": 0, "criterion": "entropy"}
    cold = RandomForestClassifier(9, oob_score=balanced_accuracy_score, **options).fit(X, y)
    warm = RandomForestClassifier(4, warm_start=True, **options).fit(X, y)
    warm.set_params(n_estimators=9, oob_score=balanced_accuracy_score).fit(X, y)
    assert_same(cold, warm, X)


@few_trees
def test_switched_off_and_on_again():
    X, y = data(RandomForestRegressor)
    options = {"random_state": 0, "keep_targets": 2}
    cold = RandomForestRegressor(9, oob_score=mean_absolute_error, **options).fit(X, y)
    warm = RandomForestRegressor(2, oob_score=True, warm_start=True, **options).fit(X, y)
    warm.set_params(n_estimators=5, oob_score=False).fit(X, y)
    assert not hasattr(warm, "oob_score_")
    warm.set_params(n_estimators=9, oob_score=mean_absolute_error).fit(X, y)
    assert_same(cold, warm, X)
    assert np.array_equal(cold.predict_quantiles(X), warm.predict_quantiles(X))
    with pytest.warns(UserWarning, match="no tree is grown"):
        warm.fit(X, y)


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


@every
def test_trees_of_unknown_draws_are_refused(Forest):
    for first in [{"warm_start": False}, {"bootstrap": False}, {"max_samples": 9}]:
        X, y = data(Forest)
        usual = {"warm_start": True, "bootstrap": True, "max_samples": None}
        forest = Forest(4, random_state=0, **usual | first).fit(X, y)
        if "max_samples" in first:  # two kinds of draws
            forest.set_params(n_estimators=6, **usual).fit(X, y)
        forest.set_params(n_estimators=8, oob_score=True, **usual)
        with pytest.raises(
            ValueError, match=r"which rows the [46] trees grown so far left out.*got"
        ):
            forest.fit(X, y)


@few_trees
@every
def test_recomputed_out_of_bag_sums_equal_the_sums_during_growth(Forest):
    X, y = data(Forest)
    options = {"bootstrap": True, "warm_start": True, "random_state": 0}
    grown = Forest(70, oob_score=True, **options).fit(X, y)
    forest = Forest(70, **options).fit(X, y).set_params(oob_score=True).fit(X, y)
    a, b = (getattr(model, model._oob_name) for model in (grown, forest))
    np.testing.assert_array_equal(a, b)
