"""Single trees of a forest, compared with the forest and with scikit-learn."""

import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn import ensemble
from sklearn.base import clone, is_classifier
from sklearn.inspection import partial_dependence
from sklearn.tree import (
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    ExtraTreeClassifier,
    ExtraTreeRegressor,
)

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


def walk(tree, row):
    """The nodes that a row of doubles passes, slowly."""
    path = [0]
    while tree.children_left[path[-1]] != -1:
        node = path[-1]
        value = row[tree.feature[node]]
        left = tree.missing_go_to_left[node] if np.isnan(value) else value <= tree.threshold[node]
        path.append(tree.children_left[node] if left else tree.children_right[node])
    return path


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
                result = walk(tree.tree_, np.asarray(X)[i])
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


@kinds
def test_importances_are_the_mean_of_the_trees(kind):
    for weighted in [False, True]:
        for options in [{}, {"max_depth": 4}, {"min_samples_leaf": 7}]:
            X, y = table()
            weights = np.random.default_rng(1).random(len(X)) if weighted else None
            forest = kind(6, max_features=3, random_state=0, **options).fit(X, y, weights)
            of_trees = [tree.feature_importances_ for tree in forest if tree.get_depth()]
            np.testing.assert_allclose(
                np.mean(of_trees, 0), forest.feature_importances_, atol=1e-6
            )


def test_importances_by_other_criteria():
    for criterion in ["squared_error", "friedman_mse", "poisson"]:
        for options in [{}, {"max_leaf_nodes": 9}, {"ccp_alpha": 0.01}]:
            X, y = table()
            forest = RandomForestRegressor(6, criterion=criterion, random_state=0, **options)
            forest.fit(X, np.exp(y + X[:, 3]))
            of_trees = [tree.feature_importances_ for tree in forest if tree.get_depth()]
            np.testing.assert_allclose(
                np.mean(of_trees, 0), forest.feature_importances_, atol=1e-6
            )
            assert all(tree.tree_.weighted_n_node_samples[0] == len(X) for tree in forest)


def test_impurities_of_absolute_errors_are_not_made_up():
    X, y = table()
    forest = RandomForestRegressor(3, criterion="absolute_error", random_state=0).fit(X, y)
    np.testing.assert_allclose(np.mean([t.predict(X) for t in forest], 0), forest.predict(X))
    assert np.isnan(forest[0].tree_.impurity).all()


@kinds
def test_sample_counts_match_the_leaves(kind):
    for bootstrap in [True, False]:
        X, y = table()
        forest = kind(5, bootstrap=bootstrap, random_state=0, warm_start=True).fit(X, y)
        forest.set_params(n_estimators=8).fit(X, y)
        samples = forest.estimators_samples_
        assert len(samples) == 8
        for tree, rows in zip(forest, samples, strict=True):
            counts = np.bincount(tree.apply(X)[rows], minlength=tree.tree_.node_count)
            leaf = tree.tree_.children_left == -1
            np.testing.assert_array_equal(counts[leaf], tree.tree_.weighted_n_node_samples[leaf])
            assert np.array_equal(rows, np.arange(len(X))) != bootstrap


def test_out_of_bag_rows_are_not_among_the_samples():
    X, y = table()
    forest = RandomForestRegressor(40, oob_score=True, random_state=0).fit(X, y)
    sums, n = np.zeros(len(X)), np.zeros(len(X))
    for tree, rows in zip(forest, forest.estimators_samples_, strict=True):
        out = np.setdiff1d(np.arange(len(X)), rows)
        sums[out] += tree.predict(X[out])
        n[out] += 1
    np.testing.assert_allclose(sums / n, forest.oob_prediction_)


def test_nothing_is_stored():
    X, y = table()
    forest = RandomForestClassifier(5, random_state=0).fit(X, y)
    before = len(pickle.dumps(forest))
    assert len(forest.estimators_) == 5
    assert len(forest.estimators_samples_) == 5
    assert len(pickle.dumps(forest)) == before
    again = pickle.loads(pickle.dumps(forest))
    np.testing.assert_array_equal(again[0].tree_.threshold, forest[0].tree_.threshold)
    with pytest.raises(AttributeError, match="not stored in files and copies"):
        _ = again.estimators_samples_
    again.set_params(n_estimators=7, warm_start=True).fit(X, y)
    assert not hasattr(again, "estimators_samples_")


@kinds
def test_clones_of_trees_are_scikit_learn_trees(kind):
    X, y = table()
    tree = kind(3, max_depth=2, random_state=0).fit(X, y)[1]
    plain = clone(tree)
    assert type(plain) is TYPES[kind][1]
    assert plain.max_depth == 2
    plain.fit(X, y)
    with pytest.raises(TypeError, match="fit the forest"):
        tree.fit(X, y)
    again = pickle.loads(pickle.dumps(tree))
    np.testing.assert_array_equal(again.predict(X), tree.predict(X))


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
            assert walk(tree.tree_, row)[-1] == leaf


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


@pytest.mark.parametrize("features", [[0], [2, 1]])
@pytest.mark.parametrize("n_outputs", [1, 2])
def test_partial_dependence_by_recursion(features, n_outputs):
    X, y = table()
    y = y if n_outputs == 1 else np.column_stack([y, X[:, 3]])
    forest = RandomForestRegressor(5, random_state=0).fit(X, y)
    grid = X[:6][:, features]
    result = forest._compute_partial_dependence_recursion(grid, features)
    np.testing.assert_allclose(np.atleast_2d(result), slow_dependence(forest, grid, features))
    if n_outputs == 1:
        by_name = partial_dependence(forest, X, features, method="recursion", grid_resolution=4)
        assert by_name["average"].shape == (1,) + (4,) * len(features)


# Contributions


@pytest.mark.parametrize("rows", ["numbers", "missing"])
@kinds
def test_contributions_equal_shap(kind, rows):
    shap = pytest.importorskip("shap")
    from mddf.explain import shap_values

    X, y = table(rows)
    X = X.astype(np.float32)
    forest = kind(5, bootstrap=False, max_depth=5, random_state=0).fit(X, y)
    theirs = shap.TreeExplainer(forest)(X[:20])
    ours = shap_values(forest, X[:20], background=X)
    np.testing.assert_allclose(theirs.values, ours.values, atol=1e-6)
    np.testing.assert_allclose(
        np.broadcast_to(theirs.base_values, ours.base_values.shape), ours.base_values, atol=1e-6
    )
