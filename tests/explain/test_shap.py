"""Contributions that add up, against exact Shapley values by enumeration."""

import numpy as np
import pytest
from made_models import TABLES, labels_of, number_table
from mddf.baselines import AdaBoostClassifier, GCForestClassifier
from shapley import interventional, path_dependent, shapley, weights

from mddf import (
    CompletelyRandomForestClassifier,
    CompletelyRandomForestRegressor,
    DeepForestClassifier,
    DeepForestRegressor,
    MDDFClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
)
from mddf.explain import (
    shap_values,
    tree_arrays,
)

shap = pytest.importorskip("shap", reason='needs "mddf[explain]"')

FOREST = {"n_estimators": 6, "min_samples_leaf": 3, "random_state": 0}
CASCADE = {"n_estimators": 2, "cv": 2, "early_stopping": False, "random_state": 0}


@pytest.mark.parametrize("kind", TABLES)
def test_forests_have_the_shapley_values_of_their_trees(kind):
    X = TABLES[kind]()
    forest = RandomForestClassifier(**FOREST, bootstrap=False).fit(X, labels_of(X))
    explanation = shap_values(forest, X[:6], background=X)
    trees = tree_arrays(forest, X=X)
    for row, values in zip(explanation.data, explanation.values, strict=True):
        exact = np.mean(
            [
                shapley(
                    lambda S, t=t, r=row: path_dependent(t, t.n_node_samples, r, S), X.shape[1]
                )
                for t in trees
            ],
            axis=0,
        )
        assert np.allclose(values, exact, atol=1e-5)


@pytest.mark.parametrize("method", ["tree", "permutation"])
def test_calibrated_cascades_are_explained_by_their_trees(method):
    X = number_table()
    plain, sure = (
        MDDFClassifier(2, **CASCADE, calibrate=calibrate).fit(X, labels_of(X))
        for calibrate in (False, True)
    )
    expected, explanation = (
        shap_values(model, X[:5], background=X[:40], method=method) for model in (plain, sure)
    )
    if method == "permutation":
        sums = explanation.values.sum(axis=1) + explanation.base_values
        assert np.allclose(sums, sure.predict_proba(X[:5]), atol=1e-7)
    else:
        assert np.array_equal(explanation.values, expected.values)


@pytest.mark.parametrize("kind", ["numbers", "frame"])
def test_agreement_of_cascades_with_exact_shapley_values(kind):
    X = TABLES[kind](200)
    y = labels_of(X)
    model = MDDFClassifier(2, n_estimators=4, cv=3, early_stopping=False, random_state=0)
    model.fit(X[:120], y[:120])
    rows = X[120:128]
    background_rows = X[:20]
    values = shap_values(model, background_rows, background=background_rows).data
    known = shap_values(model, rows, background=background_rows).data
    exact = interventional(model, known, values)
    least = {"tree": 0.9, "permutation": 0.98}
    for method, bound in least.items():
        explanation = shap_values(model, rows, background=background_rows, method=method).values
        assert np.corrcoef(explanation.ravel(), exact.ravel())[0, 1] > bound, method


def by_leaves(tree, row):
    """Shapley values of a tree of numbers, leaf by leaf over set sizes: sums of positive terms."""
    contributions = np.zeros((len(row), tree.value.shape[1]))

    def descend(node, factors):
        left, right = tree.children_left[node], tree.children_right[node]
        if left == -1:
            return add(node, factors)
        column = tree.feature[node]
        leads_to = left if row[column] <= tree.threshold[node] else right
        for child in (left, right):
            share = tree.n_node_samples[child] / tree.n_node_samples[node]
            leads, before = factors.get(column, (True, 1))
            both = leads and child == leads_to, before * share
            descend(child, {**factors, column: both})

    def add(node, factors):
        for column, (leads, share) in factors.items():
            sums = np.ones(1)  # over sets of other columns, by their size
            for o, z in (f for other, f in factors.items() if other != column):
                sums = o * np.append(0, sums) + z * np.append(sums, 0)
            contributions[column] += (
                (leads - share) * (weights(len(factors)) @ sums) * tree.value[node]
            )

    descend(0, {})
    return contributions


def rare_ones(n_rows=300, n_columns=60, share=0.03):
    rng = np.random.default_rng(0)
    X = (rng.random((n_rows, n_columns)) < share).astype(float)
    return X, (X[:, :20].sum(axis=1) + rng.normal(0, 0.3, n_rows) > 0.5).astype(int)


def chain(n_columns=80):
    """A deep tree in which every split separates few rows by a new column."""
    X = np.repeat(np.vstack([np.eye(n_columns), np.zeros(n_columns)]), 2, axis=0)
    return X, np.repeat(np.arange(n_columns + 1) % 2, 2)


def test_long_paths_lose_no_digits():
    for table in [rare_ones, chain]:
        for kind in [
            RandomForestClassifier,
            CompletelyRandomForestClassifier,
            RandomForestRegressor,
        ]:
            X, y = table()
            forest = kind(1, bootstrap=False, random_state=0, max_features=0.5).fit(X, y)
            explanation = shap_values(forest, X[:1], background=X)
            (tree,) = tree_arrays(forest, X=X)
            assert depth(tree) > 30
            for row, values in zip(X[:1], explanation.values, strict=True):
                exact = by_leaves(tree, row).reshape(values.shape)
                np.testing.assert_allclose(values, exact, rtol=0, atol=1e-14)


def depth(tree, node=0):
    children = tree.children_left[node], tree.children_right[node]
    return 0 if children[0] == -1 else 1 + max(depth(tree, child) for child in children)


def test_contributions_of_rare_ones_add_up():
    for n_columns in [60, 300]:
        for model in [
            RandomForestClassifier(5, random_state=0),
            CompletelyRandomForestClassifier(5, random_state=0),
            RandomForestRegressor(5, random_state=0),
            CompletelyRandomForestRegressor(5, random_state=0),
            MDDFClassifier(2, **CASCADE),
            GCForestClassifier(2, **CASCADE),
        ]:
            X, y = rare_ones(n_columns=n_columns)
            model.fit(X, y)
            predict = getattr(model, "predict_proba", model.predict)
            for background in (X, X[:5]):
                explanation = shap_values(model, X[:3], background=background)
                sums = explanation.values.sum(axis=1) + explanation.base_values
                assert np.allclose(
                    sums, predict(X[:3]), rtol=0, atol=1e-8
                )  # what leaves are rounded to


ONE_ROW = {
    "one row": lambda X: X[:1],
    "equal rows": lambda X: X[[0, 0, 0]],
    "as good as equal": lambda X: X[[0, 0]] + [[0], [1e-12]],
}
MODELS = {
    "forest": RandomForestClassifier(**FOREST),
    "random": CompletelyRandomForestClassifier(**FOREST),
    "regressor": RandomForestRegressor(**FOREST),
    "mddf": MDDFClassifier(2, **CASCADE),
    "deep": DeepForestClassifier(n_estimators=2, members=["random"], random_state=0),
    "deep regressor": DeepForestRegressor(n_estimators=2, members=["random"], random_state=0),
}


@pytest.mark.parametrize("name", MODELS)
def test_one_row_cannot_be_compared_with_itself(name):
    X = np.nan_to_num(number_table())
    model = MODELS[name].fit(X, labels_of(X))
    for method in ("tree", "permutation"):
        if name.startswith("deep") and method != "permutation":
            continue  # refused
        for rows in ONE_ROW.values():
            same = rows(X)
            with pytest.raises(ValueError, match=r"^background must hold rows to compare.*None"):
                shap_values(model, same, method=method)
            with pytest.warns(UserWarning, match=r"no two rows .* distinguish") as caught:
                values = shap_values(model, X[:3], background=same, method=method).values
            assert caught[0].filename == __file__
            assert not np.any(values[0])
            assert np.any(values[1:])
            assert np.any(shap_values(model, same, background=X[:30], method=method).values)


def test_a_background_of_rows_with_missing_values():
    X = np.full((4, 3), np.nan)
    forest = RandomForestClassifier(2, random_state=0).fit(number_table()[:, :3], [0, 1] * 60)
    with pytest.raises(ValueError, match="background must hold rows"):
        shap_values(forest, X)


def test_refusals():
    X, y = number_table(), labels_of(number_table())
    forest = RandomForestClassifier(2).fit(X, y)
    with pytest.raises(ValueError, match=r"method must be 'auto', 'tree' or .*, got 1"):
        shap_values(forest, X, method=1)
    with pytest.raises(TypeError, match="model must be a forest of mddf"):
        shap_values(AdaBoostClassifier(2).fit(X, y), X)
    with pytest.raises(ValueError, match="background cannot be used: X has 2 features"):
        shap_values(forest, X, background=X[:, :2])
    with pytest.raises(ValueError, match=r"random_state must be a whole number .*, got 'a'"):
        shap_values(forest, X, method="permutation", random_state="a")
