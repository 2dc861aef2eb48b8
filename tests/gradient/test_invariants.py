"""Invariants of every fit for random tables and options, by hypothesis."""

import pickle

import numpy as np
import pytest
from boosted_cases import answers
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from sklearn.base import clone

from mddf import GradientBoostingClassifier, GradientBoostingRegressor
from mddf.explain import tree_arrays

LOSSES = [
    "squared_error",
    "absolute_error",
    "quantile",
    "huber",
    "poisson",
    "gamma",
    "tweedie",
]


@st.composite
def tables(draw):
    """Columns with few and many values, missing values, and categories."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    n, n_columns = draw(st.integers(4, 60)), draw(st.integers(1, 4))
    X = rng.normal(size=(n, n_columns))
    for c in range(n_columns):
        n_values = draw(st.sampled_from([1, 2, 5, None]))
        if n_values:
            X[:, c] = rng.integers(0, n_values, n)
    X[rng.random(X.shape) < draw(st.sampled_from([0, 0.3]))] = np.nan
    categories = [c for c in range(n_columns) if draw(st.booleans())]
    signal = np.nan_to_num(X).sum(axis=1) + rng.normal(0, 0.3, n)
    return X, signal, [c for c in categories if np.all(np.isnan(X[:, c]) | (X[:, c] % 1 == 0))]


@st.composite
def models(draw):
    """Random options of a classifier or a regressor."""
    options = {
        "max_iter": draw(st.integers(1, 8)),
        "learning_rate": draw(st.sampled_from([0.05, 0.5, 1.0])),
        "grow_policy": draw(st.sampled_from(["symmetric", "leaf-wise"])),
        "max_depth": draw(st.sampled_from([None, 1, 3])),
        "max_leaf_nodes": 31,
        "min_samples_leaf": draw(st.sampled_from([1, 4])),
        "l2_regularization": draw(st.sampled_from([0.0, 3.0])),
        "max_features": draw(st.sampled_from([1.0, 0.5])),
        "subsample": draw(st.sampled_from([1.0, 0.6])),
        "max_bins": draw(st.sampled_from([3, 255])),
        "early_stopping": draw(st.booleans()),
        "random_state": draw(st.integers(0, 9)),
    }
    if options["grow_policy"] == "leaf-wise":
        options["max_leaf_nodes"] = draw(st.sampled_from([2, 31]))
    if draw(st.booleans()):
        return GradientBoostingClassifier(**options)
    return GradientBoostingRegressor(draw(st.sampled_from(LOSSES)), quantile=0.4, **options)


def fitted(model, table, n_classes=3, weights=None):
    X, signal, categories = table
    model = clone(model).set_params(categorical_features=categories)
    if isinstance(model, GradientBoostingClassifier):
        ranks = np.argsort(np.argsort(signal))
        y = ranks * n_classes // len(signal)
    else:
        y = np.exp(np.clip(signal, -5, 5))
    return model.fit(X, y, weights), y


quickly = settings(max_examples=40, deadline=None)


@quickly
@given(models(), tables(), st.integers(2, 4))
@pytest.mark.filterwarnings("ignore:.*categories:UserWarning")
@pytest.mark.filterwarnings("ignore:boosting diverged:UserWarning")
def test_predictions_are_sums_of_leaves(model, table, n_classes):
    model, _ = fitted(model, table, n_classes)
    X, trees = table[0], model._trees
    raw = np.tile(trees.start, (len(X), 1))
    leaves = model.apply(X)
    assert leaves.shape == (len(X), model.n_iter_)
    for tree, first in enumerate(trees.arrays["first_leaf"][:-1]):
        raw = raw + trees.arrays["values"][first + leaves[:, tree]]
    assert np.array_equal(raw, model._predict_in_blocks(X, finish=False))
    for row in range(0, len(X), 7):  # a row alone takes another way through the kernel
        assert np.array_equal(answers(model, X[row : row + 1])[0], answers(model, X)[row])
        assert np.array_equal(model.apply(X[row : row + 1])[0], leaves[row])


@quickly
@given(models(), tables(), st.integers(2, 4))
@pytest.mark.filterwarnings("ignore:.*categories:UserWarning")
@pytest.mark.filterwarnings("ignore:boosting diverged:UserWarning")
def test_stages_copies_and_seeds(model, table, n_classes):
    model, _ = fitted(model, table, n_classes)
    X = table[0]
    expected = answers(model, X)
    stages = list(
        model.staged_predict_proba(X)
        if hasattr(model, "predict_proba")
        else model.staged_predict(X)
    )
    assert len(stages) == model.n_iter_
    if stages:
        assert np.array_equal(stages[-1], expected)
    assert np.array_equal(answers(pickle.loads(pickle.dumps(model)), X), expected)
    again, _ = fitted(model, table, n_classes)
    assert np.array_equal(answers(again, X), expected)
    assert np.isfinite(expected).all()


@quickly
@given(models(), tables(), st.integers(2, 4), st.integers(0, 2**32))
@pytest.mark.filterwarnings("ignore:.*categories:UserWarning")
@pytest.mark.filterwarnings("ignore:boosting diverged:UserWarning")
def test_trees_keep_the_rules(model, table, n_classes, seed):
    """Limits on leaves and depths hold, and nodes have the weights of their rows."""
    X = table[0]
    weights = np.random.default_rng(seed).integers(1, 3, len(X)).astype(float)
    model.set_params(early_stopping=False)
    model, _ = fitted(model, table, n_classes, weights)
    least = model.min_samples_leaf if model.subsample == 1 else 1
    for tree in tree_arrays(model, X=X):
        leaf = tree.children_left == -1
        assert tree.weighted_n_node_samples[0] == weights.sum()
        assert np.all(tree.n_node_samples[leaf] >= (least if tree.node_count > 1 else 1))
        depth = np.zeros(tree.node_count, int)
        for node in np.flatnonzero(~leaf):  # parents come before their children
            children = [tree.children_left[node], tree.children_right[node]]
            depth[children] = depth[node] + 1
            for of in (tree.weighted_n_node_samples, tree.n_node_samples):
                assert of[node] == of[children].sum()
        assert depth.max() <= (model.max_depth or 99)
        if model.grow_policy == "leaf-wise":
            assert leaf.sum() <= model.max_leaf_nodes


@quickly
@given(models(), tables(), st.sampled_from([-1, 1]))
@pytest.mark.filterwarnings("ignore:.*categories:UserWarning")
@pytest.mark.filterwarnings("ignore:boosting diverged:UserWarning")
def test_monotonic_constraints_hold_everywhere(model, table, sign):
    X, signal, categories = table
    table = X, signal, [c for c in categories if c > 0]
    model.set_params(monotonic_cst=[sign] + [0] * (X.shape[1] - 1))
    model, _ = fitted(model, table, 2)
    line = np.sort(X[~np.isnan(X[:, 0]), 0])
    assume(len(line))  # not all values are missing
    for row in X[:5]:
        rows = np.tile(row, (len(line), 1))
        rows[:, 0] = line
        raw = answers(model, rows)
        assert np.all(sign * np.diff(raw if raw.ndim == 1 else raw[:, 1]) >= 0)
