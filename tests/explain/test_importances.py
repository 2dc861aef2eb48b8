"""Importances: sums, and values for noise."""

import numpy as np
import pytest
from made_models import TABLES, labels_of, number_table
from mddf.baselines import AdaBoostClassifier, GCForestClassifier
from sklearn.inspection import permutation_importance
from sklearn.linear_model import LogisticRegression
from traversal import node_path, numbers

from mddf import (
    MDDFClassifier,
    RandomForestClassifier,
    by_columns,
)
from mddf.explain import importances, tree_arrays
from mddf.rules import MarginRules

CASCADE = {"n_estimators": 3, "cv": 2, "early_stopping": False, "random_state": 0}


def halves(kind):
    X = TABLES[kind](240)
    y = labels_of(X)
    return X[:120], y[:120], X[120:], y[120:]


@pytest.mark.parametrize("kind", TABLES)
def test_a_forest_by_hand(kind):
    X, y, X_test, classes = halves(kind)
    forest = RandomForestClassifier(5, random_state=0).fit(X, y)
    trees = tree_arrays(forest, X=X_test)
    expected = np.zeros((len(classes), X.shape[1]))
    for tree in trees:
        parent = {}
        for node in np.flatnonzero(tree.children_left != -1):
            parent[tree.children_left[node]] = parent[tree.children_right[node]] = node
        ends = leaves(forest, tree, X_test)
        for row, node in enumerate(ends):
            while node in parent:
                step = tree.value[node] - tree.value[parent[node]]
                node = parent[node]
                expected[row, tree.feature[node]] += step[classes[row]] / 5
    result = importances(forest, X_test, classes)
    assert np.allclose(result.importances_mean, expected.mean(axis=0), atol=1e-9)
    assert np.allclose(result.importances_std, expected.std(axis=0) / np.sqrt(120), atol=1e-9)


def leaves(forest, tree, X):
    return [node_path(tree, row)[-1] for row in numbers(forest, X)]


def test_gains_add_up_to_that_of_the_right_class():
    for kind in TABLES:
        for model in [
            RandomForestClassifier(10, random_state=0),
            MDDFClassifier(3, **CASCADE),
            MDDFClassifier(
                2, rules=MarginRules(augmentation="mean", structure="stacking"), **CASCADE
            ),
            GCForestClassifier(2, **CASCADE),
        ]:
            X, y, X_test, classes = halves(kind)
            probabilities = model.fit(X, y).predict_proba(X_test)
            result = importances(model, X_test, classes)
            right = probabilities[np.arange(len(classes)), classes].mean()
            base = sum(probabilities[:, k].mean() * (classes == k).mean() for k in range(3))
            assert result.importances_mean.sum() == pytest.approx(right - base, abs=1e-8)


@pytest.mark.parametrize("model", [RandomForestClassifier(20), MDDFClassifier(2, **CASCADE)])
def test_noise_has_no_importance_on_new_rows(model):
    result = []
    for seed in range(12):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(300, 3))
        y = (X[:, 0] + 0.5 * rng.normal(size=300) > 0).astype(int)
        model.set_params(random_state=seed).fit(X[:100], y[:100])
        result.append(importances(model, X[100:], y[100:]).importances_mean)
    mean, error = np.mean(result, axis=0), np.std(result, axis=0) / np.sqrt(12)
    assert mean[0] > 0.1
    assert np.all(np.abs(mean[1:]) < 3 * error[1:] + 1e-3)
    impurity = importances(model, kind="impurity")
    assert impurity.importances_mean[1:].min() > 0.1
    assert impurity.importances_std is None


def test_permutation_is_scikit_learns():
    X, y, X_test, classes = halves("frame")
    model = MDDFClassifier(1, **CASCADE).fit(X, y)
    result = importances(model, X_test, classes, kind="permutation", random_state=0)
    assert result.importances_mean.argmax() in (0, 1)
    assert result.importances_std.shape == (6,)
    assert result.feature_names.tolist() == list(X.columns)
    again = importances(
        model, X_test, classes, kind="permutation", random_state=0, scoring="accuracy"
    )
    assert again.measure == "fall of accuracy if shuffled"
    expected = permutation_importance(
        model, X_test, classes, scoring="accuracy", max_samples=120, random_state=0
    )
    assert np.array_equal(again.importances_mean, expected.importances_mean)
    assert result.measure == "rise of the log-loss if shuffled"


def test_refusals():
    X, y = number_table(), labels_of(number_table())
    forest = RandomForestClassifier(2).fit(X, y)
    with pytest.raises(ValueError, match=r"kind must be .* got 'gini'"):
        importances(forest, X, y, kind="gini")
    with pytest.raises(ValueError, match=r"scoring needs kind='permutation', .* got 'held-out'"):
        importances(forest, X, y, kind="held-out", scoring="accuracy")
    with pytest.raises(ValueError, match=r"scoring must be .* got 'nonsense'"):
        importances(forest, X, y, scoring="nonsense")
    assert importances(forest, X, y, scoring="accuracy", n_repeats=1).kind == "permutation"
    with pytest.raises(ValueError, match="needs X and y"):
        importances(forest, X)
    with pytest.raises(ValueError, match="y must hold labels seen in fit"):
        importances(forest, X, y + 7)
    with pytest.raises(TypeError, match="model must be a forest of mddf"):
        importances(AdaBoostClassifier(2).fit(X, y), X, y, kind="held-out")
    external = MDDFClassifier(1, forests=["random", LogisticRegression()], n_estimators=1, cv=2)
    with pytest.raises(TypeError, match=r"only forests of mddf .* use kind='permutation'"):
        importances(external.fit(X, y), X, y, kind="held-out")
    with pytest.raises(TypeError, match="in memory, got a table of by_columns"):
        importances(forest, by_columns(X), y, kind="permutation")
