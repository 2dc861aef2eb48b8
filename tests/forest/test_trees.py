"""Single trees of a forest, compared with the forest and with scikit-learn."""

import numpy as np
import pandas as pd
import pytest
from sklearn import ensemble
from sklearn.base import is_classifier
from sklearn.inspection import partial_dependence
from sklearn.tree import (
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    ExtraTreeClassifier,
    ExtraTreeRegressor,
)
from traversal import node_path

from mddf import (
    CompletelyRandomForestClassifier,
    CompletelyRandomForestRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)

TYPES = {
    RandomForestClassifier: (ensemble.RandomForestClassifier, DecisionTreeClassifier),
    CompletelyRandomForestClassifier: (ensemble.ExtraTreesClassifier, ExtraTreeClassifier),
    RandomForestRegressor: (ensemble.RandomForestRegressor, DecisionTreeRegressor),
    CompletelyRandomForestRegressor: (ensemble.ExtraTreesRegressor, ExtraTreeRegressor),
}
kinds = pytest.mark.parametrize("kind", TYPES)


def table(kind="numbers", n=300, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    y = np.digitize(X[:, 0] + X[:, 1] * X[:, 2], [-0.5, 0.5]) + rng.integers(0, 2, n)
    if kind == "missing":
        X[rng.random(X.shape) < 0.15] = np.nan
    if kind == "close":  # single precision cannot tell them apart
        X = 1e9 + np.round(X * 4)
        X[:, 0] += np.arange(n) * 1e-3
    if kind == "frame":
        X = pd.DataFrame(X, columns=list("abcd"))
        X["kind"] = np.array(["red", "green", "blue", "white"])[(y + rng.integers(0, 2, n)) % 4]
        X.loc[::17, "kind"] = None
    return X, y


def says(model, X):
    return model.predict_proba(X) if is_classifier(model) else model.predict(X)


@kinds
def test_trees_predict_the_same_as_the_forest(kind):
    for rows in ["numbers", "missing", "close", "frame"]:
        X, y = table(rows)
        forest = kind(7, max_features=2, random_state=0).fit(X, y)
        trees = forest.estimators_
        assert len(trees) == len(forest) == 7
        np.testing.assert_allclose(
            np.mean([says(tree, X) for tree in trees], axis=0),
            says(forest, X),
            rtol=1e-7,
            atol=1e-8,
        )
        for tree in trees:
            assert isinstance(tree, TYPES[kind][1])


@kinds
def test_leaves_and_paths(kind):
    for rows in ["numbers", "missing", "close"]:
        X, y = table(rows)
        forest = kind(5, random_state=0).fit(X, y)
        indicator, start = forest.decision_path(X)
        for t, tree in enumerate(forest):
            path = tree.decision_path(X).toarray()
            np.testing.assert_array_equal(indicator[:, start[t] : start[t + 1]].toarray(), path)
            np.testing.assert_array_equal(tree.apply(X), forest.apply(X)[:, t])
            for i in range(0, len(X), 10):
                result = node_path(tree.tree_, np.asarray(X)[i])
                assert result[-1] == tree.apply(X)[i]
                np.testing.assert_array_equal(np.flatnonzero(path[i]), result)


@pytest.mark.parametrize("criterion", ["gini", "entropy", "squared_error"])
@pytest.mark.parametrize("options", [{"max_depth": 3}, {"min_samples_leaf": 12}, {}])
def test_arrays_match_a_tree_of_scikit_learn(criterion, options):
    rng = np.random.default_rng(3)
    X = rng.permutation(200).reshape(-1, 1).astype(float)
    z = X[:, 0] + rng.normal(0, 30, 200)
    regress = criterion == "squared_error"
    y = z if regress else np.digitize(z, [60, 150])
    kind = RandomForestRegressor if regress else RandomForestClassifier
    peer = DecisionTreeRegressor if regress else DecisionTreeClassifier
    forest = kind(1, bootstrap=False, criterion=criterion, random_state=0, **options).fit(X, y)
    ours = forest[0].tree_
    theirs = peer(criterion=criterion, random_state=0, **options).fit(X, y).tree_
    if ours.node_count != theirs.node_count:
        pytest.skip("ties are broken in another way")

    def by_depth(tree):
        order, result = [0], []
        for node in order:
            result.append(node)
            if tree.children_left[node] != -1:
                order += [tree.children_left[node], tree.children_right[node]]
        return np.array(result)

    a, b = by_depth(ours), by_depth(theirs)
    same = ["feature", "threshold", "n_node_samples", "weighted_n_node_samples"]
    if not regress:  # what targets differ by within a leaf is not kept
        same.append("impurity")
    for name in same:
        np.testing.assert_allclose(getattr(ours, name)[a], getattr(theirs, name)[b], atol=1e-12)
    np.testing.assert_allclose(ours.value[a], theirs.value[b], rtol=1e-7, atol=1e-12)
    assert ours.max_depth == theirs.max_depth
    assert forest[0].get_n_leaves() == theirs.n_leaves


# Sets of categories


def categories(n=240, n_codes=2, seed=0):
    rng = np.random.default_rng(seed)
    code = rng.integers(0, n_codes, n)
    X = np.column_stack([code, rng.normal(size=n)]).astype(float)
    return X, (code % 2 + (X[:, 1] > 0)).astype(int)


@kinds
def test_sets_of_the_first_or_last_codes_are_thresholds(kind):
    X, y = categories()
    X[::13, 0] = np.nan
    forest = kind(6, categorical_features=[0], max_features=2, random_state=0).fit(X, y)
    for tree in forest:
        for row, leaf in zip(X, tree.apply(X), strict=True):
            assert node_path(tree.tree_, row)[-1] == leaf


# Partial dependence


def slow_dependence(forest, grid, features):
    result = []
    for point in grid:
        row = dict(zip(features, point, strict=True))

        def below(tree, node, row=row):
            left, right = tree.children_left[node], tree.children_right[node]
            if left == -1:
                return tree.value[node][:, 0]
            if tree.feature[node] in row:
                goes_left = row[tree.feature[node]] <= tree.threshold[node]
                return below(tree, left if goes_left else right)
            weight = tree.weighted_n_node_samples
            parts = [weight[child] * below(tree, child) for child in (left, right)]
            return sum(parts) / weight[node]

        result.append(np.mean([below(tree.tree_, 0) for tree in forest], axis=0))
    return np.array(result).T


def test_partial_dependence_by_recursion():
    for features in [[0], [2, 1]]:
        for n_outputs in [1, 2]:
            X, y = table()
            y = y if n_outputs == 1 else np.column_stack([y, X[:, 3]])
            forest = RandomForestRegressor(5, random_state=0).fit(X, y)
            grid = X[:6][:, features]
            result = forest._compute_partial_dependence_recursion(grid, features)
            np.testing.assert_allclose(
                np.atleast_2d(result), slow_dependence(forest, grid, features)
            )
            if n_outputs == 1:
                by_name = partial_dependence(
                    forest, X, features, method="recursion", grid_resolution=4
                )
                assert by_name["average"].shape == (1,) + (4,) * len(features)


# Contributions


@kinds
def test_contributions_equal_shap(kind):
    for rows in ["numbers", "missing"]:
        shap = pytest.importorskip("shap")
        from mddf.explain import shap_values

        X, y = table(rows)
        X = X.astype(np.float32)
        forest = kind(5, bootstrap=False, max_depth=5, random_state=0).fit(X, y)
        theirs = shap.TreeExplainer(forest)(X[:20])
        ours = shap_values(forest, X[:20], background=X)
        np.testing.assert_allclose(theirs.values, ours.values, atol=1e-6)
        np.testing.assert_allclose(
            np.broadcast_to(theirs.base_values, ours.base_values.shape),
            ours.base_values,
            atol=1e-6,
        )
