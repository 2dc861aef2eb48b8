"""Two layers of one tree each, as in "Analyzing the tree-layer structure of deep forests"."""

import numpy as np
import pytest
from mddf.baselines import GCForestClassifier
from sklearn.tree import DecisionTreeClassifier

from mddf import RandomForestClassifier


def chessboard(n_rows, seed):
    rng = np.random.default_rng(seed)
    X = np.round(rng.random((n_rows, 2)), 2)  # one bin for each value
    probability = np.where(np.floor(4 * X).sum(axis=1) % 2 == 1, 0.8, 0.2)
    return X, (rng.random(n_rows) < probability).astype(int), probability


def test_trees_one_by_one():
    X, y, _ = chessboard(2000, seed=0)
    X_new = chessboard(500, seed=1)[0]
    halves = [np.arange(0, 2000, 2), np.arange(1, 2000, 2)]
    tree = RandomForestClassifier(1, bootstrap=False, max_features=None, max_depth=3)
    network = GCForestClassifier.named(
        "tree-network", forests=[tree], cv=[halves, halves[::-1]], random_state=0
    ).fit(X, y)

    vectors = np.empty((2000, 2))
    for train, held_out in (halves, halves[::-1]):
        half = DecisionTreeClassifier(max_depth=3).fit(X[train], y[train])
        vectors[held_out] = half.predict_proba(X[held_out])
    first = DecisionTreeClassifier(max_depth=3).fit(X, y)
    second = DecisionTreeClassifier(max_depth=1).fit(np.hstack([X, vectors]), y)
    new_vectors = first.predict_proba(X_new)
    stages = list(network.staged_predict_proba(X_new))
    np.testing.assert_allclose(stages[0], new_vectors, rtol=1e-6)
    np.testing.assert_allclose(
        stages[1], second.predict_proba(np.hstack([X_new, new_vectors])), rtol=1e-6
    )


def test_a_split_behind_a_full_tree_lowers_the_error():
    X, y, _ = chessboard(2000, seed=0)
    X_new, _, probability = chessboard(2000, seed=1)
    network = GCForestClassifier.named("tree-network", random_state=0).fit(X, y)
    errors = [
        np.mean((stage[:, 1] - probability) ** 2) for stage in network.staged_predict_proba(X_new)
    ]
    assert errors[1] < 0.8 * errors[0]


def test_names_and_rules_are_checked():
    with pytest.raises(ValueError, match="tree-network means n_layers=2; got 3"):
        GCForestClassifier.named("tree-network", n_layers=3)
    X, y, _ = chessboard(100, seed=0)
    network = GCForestClassifier.named("tree-network")
    network.rules = type(network.rules)(max_depth=lambda view: 0)
    with pytest.raises(ValueError, match="max_depth of rules must return an int of at least 1"):
        network.fit(X, y)
