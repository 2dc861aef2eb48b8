"""Growth parameters have the same meaning and give the same trees as in scikit-learn."""

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.base import is_regressor
from sklearn.ensemble import RandomForestClassifier as TheirForest
from sklearn.ensemble import RandomForestRegressor as TheirRegressor
from value_cases import REGRESSORS, every_forest

from mddf import (
    RandomForestClassifier,
    RandomForestRegressor,
)

BEFORE_1_8 = tuple(map(int, sklearn.__version__.split(".")[:2])) < (1, 8)
CRITERIA = ["gini", "entropy", "squared_error", "absolute_error", "poisson"]
GROWTH = [
    {},
    {"max_depth": 1},
    {"max_depth": 3},
    {"max_leaf_nodes": 9},
    {"min_impurity_decrease": 0.02},
    {"ccp_alpha": 0.02},
    {"monotonic_cst": [1, 0, -1, 0]},
    {"min_weight_fraction_leaf": 0.07},
    {"max_leaf_nodes": 7, "min_impurity_decrease": 0.01, "monotonic_cst": [0, -1, 1, 1]},
    {"max_leaf_nodes": 20, "ccp_alpha": 0.01, "monotonic_cst": [0, -1, 1, 1]},
]


def made(criterion, n=120, seed=0, n_outputs=1):
    """Numbers without ties, and targets for a criterion."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4)).astype(np.float32).astype(float)
    signal = X[:, 0] - X[:, 2] + 0.3 * X[:, 1] + rng.normal(size=n)
    if criterion in ("gini", "entropy"):
        return X, (signal > 0.5).astype(int)
    y = np.stack([signal * (1 + j) ** 2 + j * X[:, 3] for j in range(n_outputs)], axis=1)
    y = np.exp(y / 4) if criterion == "poisson" else 3 * y
    return X, y[:, 0] if n_outputs == 1 else y


def both_trees(criterion, **options):
    """One tree of each library on all rows and features."""
    options = {"criterion": criterion, "max_features": None, "bootstrap": False, **options}
    of_classes = criterion in ("gini", "entropy")
    pair = (
        (RandomForestClassifier, TheirForest)
        if of_classes
        else (RandomForestRegressor, TheirRegressor)
    )
    return [Forest(1, random_state=0, **options) for Forest in pair]


@pytest.mark.parametrize("criterion", CRITERIA)
def test_the_same_trees_as_scikit_learns(criterion):
    for weighted in [False, True]:
        for options in GROWTH:
            if weighted and criterion == "absolute_error" and BEFORE_1_8:
                continue  # scikit-learn weighs medians otherwise before version 1.8
            X, y = made(criterion)
            weights = np.random.default_rng(1).integers(1, 4, len(y)) if weighted else None
            ours, theirs = (
                forest.fit(X, y, sample_weight=weights)
                for forest in both_trees(criterion, **options)
            )
            n_leaves = [len(np.unique(forest.apply(X))) for forest in (ours, theirs)]
            if is_regressor(ours):
                predictions = [forest.predict(X) for forest in (ours, theirs)]
            else:
                predictions = [forest.predict_proba(X)[:, 1] for forest in (ours, theirs)]
            # If two splits have the same gain, as often with medians, the libraries may differ.
            same = np.isclose(*predictions, rtol=1e-6, atol=1e-6)
            assert same.mean() > (0.7 if criterion == "absolute_error" else 0.9)
            assert abs(n_leaves[0] - n_leaves[1]) <= 1


@pytest.mark.parametrize("criterion", ["squared_error", "absolute_error", "poisson"])
def test_several_outputs(criterion):
    """The outputs have very different scales."""
    for options in [o for o in GROWTH if "monotonic_cst" not in o]:
        X, y = made(criterion, n_outputs=3)
        ours, theirs = (forest.fit(X, y) for forest in both_trees(criterion, **options))
        same = np.isclose(ours.predict(X), theirs.predict(X), rtol=1e-6).all(axis=1)
        assert same.mean() > (0.7 if criterion == "absolute_error" else 0.9)  # it has ties


@every_forest
def test_forests_are_monotonic(Forest):
    for missing in [0.0, 0.1]:
        X, y = made("squared_error" if Forest in REGRESSORS else "gini", 400)
        rng = np.random.default_rng(0)
        X[rng.random(X.shape) < missing] = np.nan
        names = ["a", "b", "c", "d"]
        for signs in ([1, 0, -1, 0], {"a": 1, "c": -1}):
            forest = Forest(10, monotonic_cst=signs, random_state=0)
            forest.fit(pd.DataFrame(X, columns=names) if isinstance(signs, dict) else X, y)
            for column, sign in ((0, 1), (2, -1)):
                rows = np.repeat(X[:50], 30, axis=0).reshape(50, 30, 4)
                rows[..., column] = np.linspace(-3, 3, 30)
                flat = rows.reshape(-1, 4)
                if isinstance(signs, dict):
                    flat = pd.DataFrame(flat, columns=names)
                predictions = (
                    forest.predict(flat)
                    if is_regressor(forest)
                    else forest.predict_proba(flat)[:, 1]
                )
                steps = np.diff(predictions.reshape(50, 30), axis=1)
                assert np.all(sign * steps >= -1e-12)
                assert np.any(sign * steps > 0)


def test_monotonic_constraints_that_do_not_do():
    X, y = made("gini")
    words = pd.DataFrame(X, columns=["a", "b", "c", "d"]).assign(
        word=np.where(X[:, 0] > 0, "a", "b")
    )
    for Forest, rows, target, signs, message in [
        (RandomForestClassifier, X, y, [1, 0], "monotonic_cst"),
        (RandomForestClassifier, X, y, [2, 0, 0, 0], "monotonic_cst"),
        (RandomForestClassifier, X, y, 1, "monotonic_cst"),
        (RandomForestClassifier, X, np.arange(len(y)) % 3, [1, 0, 0, 0], "got constraints and 3"),
        (RandomForestRegressor, X, np.column_stack([y, y]), [1, 0, 0, 0], "2 outputs"),
        (RandomForestClassifier, words, y, [0, 0, 0, 0, 1], "must be 0 for categories"),
    ]:
        with pytest.raises(ValueError, match=message):
            Forest(2, monotonic_cst=signs).fit(rows, target)
    free = RandomForestClassifier(3, random_state=0).fit(X, np.arange(len(y)) % 3)
    for signs in (None, [0, 0, 0, 0]):
        same = RandomForestClassifier(3, random_state=0, monotonic_cst=signs)
        assert np.array_equal(same.fit(X, np.arange(len(y)) % 3).apply(X), free.apply(X))
    RandomForestClassifier(3, monotonic_cst=[1, 0, 0, 0, 0]).fit(words, y)


@pytest.mark.parametrize("Forest", REGRESSORS)
def test_targets_without_a_poisson_deviance(Forest):
    X, y = made("poisson")
    forest = Forest(2, criterion="poisson", random_state=0)
    with pytest.raises(ValueError, match=r"y must not have negative values.*, got -\d[\d.]*$"):
        forest.fit(X, -y)
    with pytest.raises(ValueError, match="y must have a sum above 0"):
        forest.fit(X, np.zeros(len(y)))
    y[0], weights = -1, np.ones(len(y))
    weights[0] = 0
    assert forest.fit(X, y, sample_weight=weights).predict(X).min() > 0
    counts = np.random.default_rng(0).poisson(np.exp(X[:, 0]))
    assert (
        np.corrcoef(forest.set_params(n_estimators=50).fit(X, counts).predict(X), counts)[0, 1]
        > 0.5
    )


def test_the_unit_of_targets_does_not_matter():
    for scale in [2.0**-40, 2.0**18, 2.0**400]:
        X, y = made("squared_error")
        for criterion, power in (("squared_error", 2), ("absolute_error", 1)):
            options = {"criterion": criterion, "random_state": 0}
            plain, other = (
                RandomForestRegressor(
                    2,
                    min_impurity_decrease=0.01 * unit**power,
                    ccp_alpha=0.01 * unit**power,
                    **options,
                ).fit(X, unit * y)
                for unit in (1.0, scale)
            )
            assert np.array_equal(plain.apply(X), other.apply(X))


@every_forest
def test_parameters_that_do_not_do(Forest):
    """Numbers with which a fit would not fail."""
    for name, value in [
        ("max_leaf_nodes", 1),
        ("min_impurity_decrease", -0.1),
        ("ccp_alpha", -1e-9),
    ]:
        with pytest.raises(ValueError, match=name):
            Forest(**{name: value}).fit(*made("gini"))
