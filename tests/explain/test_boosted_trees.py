"""Explanations and costs of gradient boosting."""

import numpy as np
import pandas as pd
import pytest
from boosted_cases import TABLES, frame_of_few_levels
from made_models import labels_of, number_table
from shapley import path_dependent, shapley
from table_cases import read_again
from traversal import node_path

from mddf import GradientBoostingClassifier, GradientBoostingRegressor, cost
from mddf.explain import importances, shap_values, tree_arrays

GROWTH = ["symmetric", "leaf-wise"]
# Few samples in a leaf, so that many splits of a level leave some leaves as they are.
OPTIONS = {"max_iter": 6, "min_samples_leaf": 9, "learning_rate": 0.3, "random_state": 0}


def numbers_of(X):
    return labels_of(X) + 0.1 * np.arange(len(X)) % 0.7


def made(X, grow_policy, n_classes=None, **options):
    """A weighted classifier with this number of classes, or a regressor."""
    weights = np.random.default_rng(2).uniform(0, 2, len(X))
    options = OPTIONS | {"grow_policy": grow_policy, "max_depth": 4} | options
    if n_classes is None:
        return GradientBoostingRegressor(**options).fit(X, numbers_of(X), weights)
    y = np.minimum(labels_of(X), n_classes - 1)
    return GradientBoostingClassifier(**options).fit(X, y, weights)


def raw_of(model, X):
    """Raw predictions of shape (n_samples, n_scores)."""
    if hasattr(model, "decision_function"):
        return model.decision_function(X).reshape(len(X), -1)
    return model.predict(X)[:, None]


def cells_of(model, X):
    return np.array(model._binner.numbers(read_again(model, X)), float)


def test_trees_as_arrays_add_up():
    for kind in TABLES:
        for grow_policy in GROWTH:
            for n_classes in [None, 2, 3]:
                X = TABLES[kind]()
                model = made(X, grow_policy, n_classes)
                trees, counted = tree_arrays(model), tree_arrays(model, X=X)
                assert len(trees) == model.n_iter_
                cells, weights = cells_of(model, X), np.random.default_rng(2).uniform(0, 2, len(X))
                weights /= weights.mean()  # weights that are not whole have no scale
                raw = np.tile(model._trees.start, (len(X), 1))
                for tree, of_rows in zip(trees, counted, strict=True):
                    node_weights = np.zeros(tree.node_count)
                    for i, row in enumerate(cells):
                        path = node_path(tree, row)
                        node_weights[path] += weights[i]
                        raw[i] += tree.value[path[-1]]
                    assert np.allclose(tree.weighted_n_node_samples, node_weights)
                    assert of_rows.n_node_samples[0] == len(X)
                    assert np.all(of_rows.n_node_samples > 0)
                    assert tree.n_node_samples is None
                    inner = np.flatnonzero(tree.children_left != -1)
                    for node in inner:
                        children = [tree.children_left[node], tree.children_right[node]]
                        assert np.allclose(
                            tree.value[node],
                            np.average(
                                tree.value[children], axis=0, weights=node_weights[children]
                            ),
                        )
                assert np.allclose(raw, raw_of(model, X), rtol=1e-12)


@pytest.mark.parametrize("grow_policy", GROWTH)
def test_shapley_values_by_enumeration(grow_policy):
    for kind in TABLES:
        pytest.importorskip("shap", reason='needs "mddf[explain]"')
        X = TABLES[kind]()
        model = made(X, grow_policy, 3, max_iter=3)
        explanation = shap_values(model, X[:4])
        trees = tree_arrays(model)
        for row, values, base in zip(
            explanation.data, explanation.values, explanation.base_values, strict=True
        ):
            exact = [
                shapley(
                    lambda S, t=t, r=row: path_dependent(t, t.weighted_n_node_samples, r, S),
                    X.shape[1],
                )
                for t in trees
            ]
            assert np.allclose(values, np.sum(exact, axis=0), atol=1e-12)
            start = model._trees.start + sum(tree.value[0] for tree in trees)
            assert np.allclose(base, start)


def of_levels(grow_policy, n_classes, **options):
    """Two columns with many levels, some missing; and a model."""
    rng = np.random.default_rng(3)
    first, second = rng.integers(0, 35, 200), rng.integers(0, 3, 200)
    columns = {"c0": first.astype(object), "c1": (2 * first + second) % 35}
    X = pd.DataFrame({"a": rng.normal(size=200), **columns, "b": rng.normal(size=200)})
    y = X["a"] + np.sin(first) + rng.normal(size=(35, 3))[first, second]
    X.loc[::13, "c0"] = None
    X[["c0", "c1"]] = X[["c0", "c1"]].astype("category")
    if n_classes:
        y = np.searchsorted(np.quantile(y, np.arange(1, n_classes) / n_classes), y)
    options = OPTIONS | {"grow_policy": grow_policy, "max_depth": 5, "max_iter": 4} | options
    Model = GradientBoostingClassifier if n_classes else GradientBoostingRegressor
    return X, y, Model(**options).fit(X, y)


@pytest.mark.parametrize("grow_policy", GROWTH)
@pytest.mark.parametrize("n_classes", [None, 3])
def test_shapley_values_of_target_statistics_by_enumeration(grow_policy, n_classes):
    pytest.importorskip("shap", reason='needs "mddf[explain]"')
    # Without trials, which may choose sets of levels instead of statistics.
    X, _, model = of_levels(grow_policy, n_classes, early_stopping=False)
    width = n_classes or 1
    # Columns of trees: a, c0, c1, b; then the statistics of c0, of c1 and of both.
    player = np.concatenate([[0, 1, 2, 3], np.repeat([1, 2, 4], width)])
    explanation, trees = shap_values(model, X[:4]), tree_arrays(model)
    assert {1, 4} <= {player[f] for tree in trees for f in tree.feature if f >= 4}
    rows = model._binner.levels(read_again(model, X[:4]), [1, 2])
    codes = model._statistics.transform(rows)
    bins = model._statistics.bins
    statistics = bins.values[bins.start[:-1] + codes]  # on the same side of all thresholds
    for i, row in enumerate(np.hstack([explanation.data, statistics])):
        exact = 0
        for tree in trees:

            def game(S, tree=tree, row=row):
                return path_dependent(
                    tree, tree.weighted_n_node_samples, row, np.flatnonzero(np.isin(player, S))
                )

            exact = exact + shapley(game, 5)
        exact[1:3] += exact[4] / 2
        assert np.allclose(explanation.values[i].reshape(4, width), exact[:4], atol=1e-12)


@pytest.mark.parametrize("grow_policy", GROWTH)
def test_contributions_of_target_statistics_add_up(grow_policy):
    for method in ["tree", "permutation"]:
        for n_classes in [None, 2, 3]:
            pytest.importorskip("shap", reason='needs "mddf[explain]"')
            X, y, model = of_levels(grow_policy, n_classes)
            raw = raw_of(model, X)
            if method == "permutation" and n_classes:
                raw = model.predict_proba(X)
            for background in (None, X[:50]):
                explanation = shap_values(model, X[:9], background=background, method=method)
                sums = explanation.values.reshape(9, 4, -1).sum(
                    axis=1
                ) + explanation.base_values.reshape(9, -1)
                assert np.allclose(sums, raw[:9])
            assert np.array_equal(
                explanation.data[:, 1], X["c0"].cat.codes[:9].replace(-1, np.nan), True
            )
            held_out = importances(model, X, y).importances_mean
            assert held_out.shape == (4,)
            assert held_out[:3].min() > np.abs(held_out[3])
            assert cost(model).microseconds_per_row > 0


@pytest.mark.parametrize("grow_policy", GROWTH)
def test_the_samples_of_training_are_the_background(grow_policy):
    pytest.importorskip("shap", reason='needs "mddf[explain]"')
    X = frame_of_few_levels()
    model = GradientBoostingRegressor(**OPTIONS, grow_policy=grow_policy).fit(X, numbers_of(X))
    explanation, same = (shap_values(model, X[:5], background=rows) for rows in (None, X))
    assert np.array_equal(explanation.values, same.values)
    assert np.isfinite(shap_values(model, X[:1]).values).all()  # of one row, too


def test_units_of_regressors():
    for loss in ["poisson", "gamma", "tweedie", "huber"]:
        for size in [1, 2.0**-1000, 2.0**1000]:
            pytest.importorskip("shap", reason='needs "mddf[explain]"')
            X = number_table()
            y = np.exp(numbers_of(X)) * size
            model = GradientBoostingRegressor(loss, **OPTIONS).fit(X, y)
            explanation = shap_values(model, X[:5])
            sums = explanation.values.sum(axis=1) + explanation.base_values
            if loss == "huber":
                assert np.allclose(sums / size, model.predict(X[:5]) / size)
            else:
                unit = 2.0**model._target.exponent
                assert np.allclose(sums, np.log(model.predict(X[:5]) / unit))
