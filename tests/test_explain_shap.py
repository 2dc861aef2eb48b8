"""Contributions that add up, against exact Shapley values by enumeration."""

import itertools
import math
import subprocess
import sys

import numpy as np
import pytest
from made_models import TABLES, frame_table, labels_of, number_table
from mddf.baselines import AdaBoostClassifier, GCForestClassifier
from sklearn.linear_model import LogisticRegression

from mddf import (
    CompletelyRandomForestClassifier,
    DeepForestClassifier,
    MDDFClassifier,
    RandomForestClassifier,
)
from mddf.explain import shap_values, tree_arrays
from mddf.explain._stages import predict_numbers

shap = pytest.importorskip("shap", reason='needs "mddf[explain]"')

FOREST = {"n_estimators": 6, "min_samples_leaf": 3, "random_state": 0}
CASCADE = {"n_estimators": 2, "cv": 2, "early_stopping": False, "random_state": 0}


def weights(n):
    return [math.factorial(r) * math.factorial(n - r - 1) / math.factorial(n) for r in range(n)]


def shapley(game, n):
    """Shapley values of a function from sets of players to arrays."""
    known = {S: game(S) for r in range(n + 1) for S in itertools.combinations(range(n), r)}
    weight = weights(n)
    return np.stack(
        [
            sum(
                weight[len(S)] * (known[tuple(sorted((*S, i)))] - known[S])
                for S in known
                if i not in S
            )
            for i in range(n)
        ]
    )


def path_dependent(tree, row, S, node=0):
    """What a tree says of a row of which the features in S are known."""
    left, right = tree.children_left[node], tree.children_right[node]
    if left == -1:
        return tree.value[node]
    if tree.feature[node] in S:
        value = row[tree.feature[node]]
        if np.isnan(value):
            goes_left = tree.missing_go_to_left[node]
        elif node in tree.categories:
            goes_left = value in tree.categories[node]
        else:
            goes_left = value <= tree.threshold[node]
        return path_dependent(tree, row, S, left if goes_left else right)
    counts = tree.n_node_samples[[left, right]]
    sides = [path_dependent(tree, row, S, child) for child in (left, right)]
    return np.average(sides, axis=0, weights=counts if counts.sum() else None)


@pytest.mark.parametrize("kind", TABLES)
def test_forests_have_the_shapley_values_of_their_trees(kind):
    X = TABLES[kind]()
    forest = RandomForestClassifier(**FOREST, bootstrap=False).fit(X, labels_of(X))
    found = shap_values(forest, X[:6], background=X)
    trees = tree_arrays(forest, X=X)
    for row, values in zip(found.data, found.values, strict=True):
        exact = np.mean(
            [shapley(lambda S, t=t, r=row: path_dependent(t, r, S), X.shape[1]) for t in trees],
            axis=0,
        )
        assert np.allclose(values, exact, atol=1e-5)


@pytest.mark.parametrize("kind", TABLES)
@pytest.mark.parametrize("method", ["tree", "path", "permutation"])
@pytest.mark.parametrize(
    "model",
    [
        CompletelyRandomForestClassifier(**FOREST),
        MDDFClassifier(3, **CASCADE),
        MDDFClassifier(2, augmentation="mean", alpha="mean-margin", **CASCADE),
        GCForestClassifier(2, **CASCADE, refit=True),
    ],
    ids=["forest", "mddf", "mddf mean", "gcforest"],
)
def test_contributions_add_up(kind, method, model):
    X = TABLES[kind]()
    model.fit(X, labels_of(X))
    found = shap_values(model, X[:5], background=X[:40], method=method)
    assert found.values.shape == (5, X.shape[1], 3)
    sums = found.values.sum(axis=1) + found.base_values
    assert np.allclose(sums, model.predict_proba(X[:5]), atol=1e-7)
    if method != "permutation":
        assert np.allclose(found.base_values.sum(axis=1), 1)
        assert np.allclose(found.base_values, found.base_values[0])


@pytest.mark.parametrize("method", ["tree", "path", "permutation"])
def test_calibrated_cascades_are_explained_by_their_trees(method):
    X = number_table()
    plain, sure = (
        MDDFClassifier(2, **CASCADE, calibrate=calibrate).fit(X, labels_of(X))
        for calibrate in (False, True)
    )
    expected, found = (
        shap_values(model, X[:5], background=X[:40], method=method) for model in (plain, sure)
    )
    if method == "permutation":
        sums = found.values.sum(axis=1) + found.base_values
        assert np.allclose(sums, sure.predict_proba(X[:5]), atol=1e-7)
    else:
        assert np.array_equal(found.values, expected.values)


def test_paths_by_hand():
    X = frame_table()
    forest = RandomForestClassifier(3, random_state=0).fit(X, labels_of(X))
    found = shap_values(forest, X[:8], background=X, method="path")
    expected = np.zeros((8, X.shape[1], 3))
    for tree in tree_arrays(forest, X=X):
        for i, row in enumerate(found.data):
            node = 0
            while tree.children_left[node] != -1:
                feature = tree.feature[node]
                only = path_child(tree, row, node)
                expected[i, feature] += (tree.value[only] - tree.value[node]) / 3
                node = only
    assert np.allclose(found.values, expected, atol=1e-8)


def path_child(tree, row, node):
    value = row[tree.feature[node]]
    if np.isnan(value):
        left = tree.missing_go_to_left[node]
    elif node in tree.categories:
        left = value in tree.categories[node]
    else:
        left = value <= tree.threshold[node]
    return (tree.children_left if left else tree.children_right)[node]


@pytest.mark.parametrize("kind", ["numbers", "frame"])
def test_agreement_of_cascades_with_exact_shapley_values(kind):
    X = TABLES[kind](200)
    y = labels_of(X)
    model = MDDFClassifier(2, n_estimators=8, cv=3, early_stopping=False, random_state=0)
    model.fit(X[:120], y[:120])
    rows, others = X[120:132], X[:30]
    values = shap_values(model, others, background=others).data
    known = shap_values(model, rows, background=others).data

    def game(S):
        mixed = np.repeat(values[None], len(known), axis=0)
        mixed[:, :, list(S)] = known[:, None, list(S)]
        said = predict_numbers(model, mixed.reshape(-1, X.shape[1]))
        return said.reshape(len(known), len(values), -1).mean(axis=1)

    exact = shapley(game, X.shape[1]).transpose(1, 0, 2)
    least = {"tree": 0.9, "path": 0.8, "permutation": 0.98}
    for method, bound in least.items():
        found = shap_values(model, rows, background=others, method=method).values
        assert np.corrcoef(found.ravel(), exact.ravel())[0, 1] > bound, method


def test_names_and_data():
    X = frame_table()
    y = np.array(["no", "yes", "perhaps"])[labels_of(X)]
    X = X.rename(columns=str.upper)
    forest = RandomForestClassifier(2, random_state=0).fit(X, y)
    found = shap_values(forest, X[:3], method="path")
    assert list(found.feature_names) == list(X.columns)
    assert list(found.output_names) == ["no", "perhaps", "yes"]
    arrays = RandomForestClassifier(2).fit(number_table(), labels_of(number_table()))
    assert shap_values(arrays, number_table()[:2]).feature_names == ["x0", "x1", "x2", "x3", "x4"]


def test_guests_can_be_explained_by_permutation():
    X = number_table()
    model = MDDFClassifier(2, forests=["random", LogisticRegression()], **CASCADE)
    model.fit(X, labels_of(X))
    assert shap_values(model, X[:2], method="permutation").values.shape == (2, 5, 3)
    for method in ("tree", "path"):
        refusal = r"only forests of mddf .* has LogisticRegression.*; use method='permutation'"
        with pytest.raises(TypeError, match=refusal):
            shap_values(model, X[:2], method=method)


def test_deep_forests_are_explained_by_permutation():
    X = frame_table()
    model = DeepForestClassifier(n_estimators=2, members=["random", "linear"], random_state=0)
    model.fit(X, labels_of(X))
    found = shap_values(model, X[:3], background=X[:20], method="permutation")
    sums = found.values.sum(axis=1) + found.base_values
    assert np.allclose(sums, model.predict_proba(X[:3]), atol=1e-7)
    with pytest.raises(TypeError, match="use method='permutation'"):
        shap_values(model, X[:3])


def test_refusals():
    X, y = number_table(), labels_of(number_table())
    forest = RandomForestClassifier(2).fit(X, y)
    with pytest.raises(ValueError, match="method must be 'tree', 'path' or 'permutation', got 1"):
        shap_values(forest, X, method=1)
    with pytest.raises(TypeError, match="model must be a forest of mddf"):
        shap_values(AdaBoostClassifier(2).fit(X, y), X)


def test_nothing_of_the_extras_is_loaded_before_it_is_used():
    code = (
        "import sys, mddf, mddf.baselines, mddf.explain, mddf.export\n"
        "extras = {'shap', 'onnx', 'onnxruntime', 'skops', 'matplotlib', 'numba'}\n"
        "print(sorted(extras & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-P", "-c", code], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"
