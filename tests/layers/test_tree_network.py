"""Two layers of one tree each, as in "Analyzing the tree-layer structure of deep forests"."""

import numpy as np
from mddf.baselines import GCForestClassifier
from sklearn.tree import DecisionTreeClassifier

from mddf import RandomForestClassifier


def chessboard(n_rows, seed):
    rng = np.random.default_rng(seed)
    X = rng.random((n_rows, 2))
    probability = np.where(np.floor(4 * X).sum(axis=1) % 2 == 1, 0.8, 0.2)
    return X, (rng.random(n_rows) < probability).astype(int), probability


def test_vectors_of_a_half_come_from_the_tree_of_the_other_half():
    X, y, _ = chessboard(2000, seed=0)
    X = np.round(X, 2)  # one bin for each value
    X_new = np.round(chessboard(500, seed=1)[0], 2)
    halves = [np.arange(0, 2000, 2), np.arange(1, 2000, 2)]
    tree = RandomForestClassifier(1, bootstrap=False, max_features=None, max_depth=3)
    first = GCForestClassifier(
        1, forests=[tree], cv=[halves, halves[::-1]], early_stopping=False, random_state=0
    )
    vectors = first.fit_transform(X, y)
    mean_of_new_rows = 0
    for train, held_out in (halves, halves[::-1]):
        slow = DecisionTreeClassifier(max_depth=3).fit(X[train], y[train])
        np.testing.assert_allclose(vectors[held_out], slow.predict_proba(X[held_out]))
        mean_of_new_rows = mean_of_new_rows + slow.predict_proba(X_new) / 2
    np.testing.assert_allclose(first.transform(X_new), mean_of_new_rows)


def test_a_split_behind_full_trees_lowers_the_error():
    X, y, _ = chessboard(2000, seed=0)
    X_new, _, probability = chessboard(2000, seed=1)
    halves = [np.arange(0, 2000, 2), np.arange(1, 2000, 2)]
    tree = RandomForestClassifier(1, bootstrap=False, max_features=None, random_state=0)
    first = GCForestClassifier(
        1, forests=[tree], cv=[halves, halves[::-1]], early_stopping=False, random_state=0
    )
    vectors = first.fit_transform(X, y)
    new_vectors = first.transform(X_new)
    second = DecisionTreeClassifier(max_depth=1, random_state=0).fit(np.hstack([X, vectors]), y)
    error = {
        name: np.mean((predicted[:, 1] - probability) ** 2)
        for name, predicted in (
            ("tree", tree.fit(X, y).predict_proba(X_new)),
            ("first", new_vectors),
            ("second", second.predict_proba(np.hstack([X_new, new_vectors]))),
        )
    }
    assert error["second"] < 0.8 * error["first"] < 0.8 * error["tree"]
