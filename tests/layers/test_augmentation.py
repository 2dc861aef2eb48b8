"""Layers that pass on columns of regions in place of class vectors."""

import numpy as np
import pytest
from forest_cases import three_classes
from sklearn.linear_model import LogisticRegression

from mddf import MDDFClassifier, TimeOrder
from mddf.explain import shap_values, tree_arrays
from mddf.export import to_onnx
from mddf.rules import MarginRules, mean_regions

CALLS = []


def recorded_regions(regions):
    columns = mean_regions(regions)
    CALLS.append(columns)
    return columns


def rows_of_three_classes():
    X, y = three_classes()
    return X[:120], y[:120]


def cascade(*, augmentation=mean_regions, **options):
    defaults = {"n_layers": 2, "n_estimators": 3, "early_stopping": False, "random_state": 0}
    return MDDFClassifier(**defaults | options, rules=MarginRules(augmentation=augmentation))


def leaf_and_bounds(tree, row, n_features):
    """Traverse a tree; a value up to the threshold goes left."""
    node, lower, upper = 0, np.full(n_features, -np.inf), np.full(n_features, np.inf)
    while tree.children_left[node] >= 0:
        column, threshold = tree.feature[node], tree.threshold[node]
        goes_left = row[column] <= threshold
        if np.isnan(row[column]):
            goes_left = tree.missing_go_to_left[node]
        if column < n_features and np.isfinite(threshold):
            (upper if goes_left else lower)[column] = threshold
        node = (tree.children_left if goes_left else tree.children_right)[node]
    return node, lower, upper


def slow_columns(trees, X):
    columns = []
    for row in X:
        bounds = np.array(
            [np.hstack(leaf_and_bounds(tree, row, X.shape[1])[1:]) for tree in trees]
        )
        finite = np.isfinite(bounds)
        with np.errstate(invalid="ignore"):
            columns.append(np.where(finite, bounds, 0).sum(axis=0) / finite.sum(axis=0))
    return np.array(columns)


def test_row_by_row_and_tree_by_tree():
    X, y = rows_of_three_classes()
    X = np.where(np.random.default_rng(0).random(X.shape) < 0.1, np.nan, X)
    half = np.arange(len(X)) % 2 == 0
    rows = np.arange(len(X))
    splits = [(rows[half], rows[~half]), (rows[~half], rows[half])]
    CALLS.clear()
    forests = ["random", "completely-random"]
    model = cascade(forests=forests, cv=splits, augmentation=recorded_regions).fit(X, y)
    called = CALLS[1 : 1 + 4]  # after the trial, a call for each fold, for each forest

    new_rows = np.random.default_rng(1).normal(size=(40, X.shape[1])) * X[~np.isnan(X)].std()
    columns = []
    for number in range(2):
        trees = tree_arrays(model, layer=0, forest=number)
        for fold, (_, held_out) in enumerate(splits):
            slow = slow_columns(trees[3 * fold : 3 * (fold + 1)], X[held_out])
            np.testing.assert_allclose(called[2 * fold + number], slow)
        columns.append(slow_columns(trees, new_rows))
    table = np.hstack([new_rows, *columns])
    trees = tree_arrays(model, layer=1, forest=0)
    vectors = [[t.value[leaf_and_bounds(t, row, X.shape[1])[0]] for t in trees] for row in table]
    n_classes = len(np.unique(y))
    np.testing.assert_allclose(
        model.transform(new_rows)[:, 2 * n_classes : 3 * n_classes],
        np.mean(vectors, axis=1),
        rtol=1e-6,
    )


def test_a_row_is_between_the_mean_bounds():
    X, y = rows_of_three_classes()
    CALLS.clear()
    model = cascade(augmentation=recorded_regions).fit(X, y)
    CALLS.clear()
    model.predict(X)
    for columns in CALLS:
        lower, upper = np.hsplit(columns, 2)
        assert not (lower >= X).any()
        assert not (upper < X).any()
    blocks = [model.predict_proba(X[i : i + 7]) for i in range(0, len(X), 7)]
    np.testing.assert_array_equal(np.vstack(blocks), model.predict_proba(X))


def test_errors():
    X, y = rows_of_three_classes()
    with pytest.raises(ValueError, match="must return an array of 2 rows and at least one"):
        cascade(augmentation=lambda regions: np.zeros(3)).fit(X, y)
    with pytest.raises(ValueError, match="augmentation must return numbers, got 'text'"):
        cascade(augmentation=lambda regions: "text").fit(X, y)
    with pytest.raises(ValueError, match="needs forests of mddf, got the member 'Logistic"):
        cascade(forests=["random", LogisticRegression()]).fit(X, y)
    for options in ({"refit": True}, {"cv": "oob"}, {"cv": TimeOrder()}):
        with pytest.raises(ValueError, match="expected refit=False, checkpoint=None and folds as"):
            cascade(**options).fit(X, y)
    model = cascade().fit(X, y)
    with pytest.raises(TypeError, match="graphs have no columns of regions"):
        to_onnx(model, dtype=np.float32)
    assert np.isfinite(shap_values(model, X[:2], background=X).values).all()
