"""Multi-label and multi-output classification forests."""

import pickle

import naive
import numpy as np
import pytest
from forest_cases import FORESTS, codes_of, few_trees
from made_outputs import mixed_outputs
from scipy import sparse
from sklearn.base import clone

from mddf import (
    CompletelyRandomForestClassifier,
    RandomForestClassifier,
    cost,
    explain,
)

both = pytest.mark.parametrize("Forest", FORESTS)
criteria = pytest.mark.parametrize("criterion", ["gini", "entropy"])


def gini(labels, weights, entropy):
    """Mean of the weighted impurities of the outputs."""
    columns = [np.unique(column, return_inverse=True)[1] for column in labels.T]
    return np.mean([naive.impurity(np.bincount(c, weights), entropy) for c in columns])


@criteria
@pytest.mark.parametrize("weighted", [False, True])
def test_splits_and_leaves_match_a_slow_twin(criterion, weighted):
    """Every split has the largest decrease of the mean impurity; leaves have class shares."""
    X, y = mixed_outputs(70, missing=0.1)
    X = np.round(2 * X)
    weights = np.random.default_rng(1).integers(1, 4, len(y)) if weighted else np.ones(len(y))
    options = {"bootstrap": False, "max_features": None, "criterion": criterion}
    forest = RandomForestClassifier(1, random_state=0, **options).fit(X, y, weights)
    codes, entropy = codes_of(forest, X), criterion == "entropy"
    (nodes,) = naive.decode(forest._trees[0])
    probabilities = forest.predict_proba(X)
    for node, node_rows, _ in naive.visit(nodes, codes, np.arange(len(y))):
        whole = gini(y[node_rows], weights[node_rows], entropy)

        def worth(left, node_rows=node_rows, whole=whole):
            sides = node_rows[left], node_rows[~left]
            return whole - sum(gini(y[side], weights[side], entropy) for side in sides)

        if node.is_leaf:
            assert whole == pytest.approx(0, abs=1e-12) or all(
                len(np.unique(column)) == 1 for column in codes[node_rows].T
            )
            for j, part in enumerate(probabilities):
                shares = [
                    np.average(y[node_rows, j] == c, weights=weights[node_rows])
                    for c in forest.classes_[j]
                ]
                np.testing.assert_allclose(
                    part[node_rows], np.tile(shares, (len(node_rows), 1)), atol=1e-12
                )
            continue
        left = np.array([node.goes_left(int(c)) for c in codes[node_rows, node.column]])
        best = 0.0
        for column in codes[node_rows].T:
            for code in np.unique(column[column < naive.MISSING]):
                below = (column <= code) & (column != naive.MISSING)
                for side in (below, below | (column == naive.MISSING)):
                    if 0 < side.sum() < len(node_rows):
                        best = max(best, worth(side))
        assert worth(left) == pytest.approx(best, abs=1e-9)


@few_trees
@both
@criteria
def test_n_jobs_row_order_and_warm_start_do_not_change_the_result(Forest, criterion):
    X, y = mixed_outputs(missing=0.1)
    options = {"criterion": criterion, "random_state": 1}
    forest = Forest(20, **options).fit(X, y)
    proba = np.hstack(forest.predict_proba(X))
    for n_jobs in (2, 3):
        many = Forest(20, n_jobs=n_jobs, **options).fit(X, y)
        assert np.array_equal(np.hstack(many.predict_proba(X)), proba)
    order = np.random.default_rng(0).permutation(len(y))
    shuffled = Forest(20, **options).fit(X[order], y[order])
    assert np.array_equal(np.hstack(shuffled.predict_proba(X)), proba)
    steps = Forest(7, warm_start=True, **options).fit(X, y).set_params(n_estimators=20)
    assert np.array_equal(np.hstack(steps.fit(X, y).predict_proba(X)), proba)
    again = pickle.loads(pickle.dumps(forest))
    assert np.array_equal(np.hstack(again.predict_proba(X)), proba)
    copies = np.random.default_rng(1).integers(0, 4, len(y))
    rows = np.repeat(np.arange(len(y)), copies)
    plain = {"bootstrap": False, **options}
    weighted = Forest(5, **plain).fit(X, y, copies.astype(float)).predict_proba(X)
    repeated = Forest(5, **plain).fit(X[rows], y[rows]).predict_proba(X)
    if Forest is CompletelyRandomForestClassifier:
        np.testing.assert_allclose(np.hstack(weighted), np.hstack(repeated), atol=1e-12)


@few_trees
@both
def test_out_of_bag(Forest):
    X, y = mixed_outputs()
    options = {"bootstrap": True, "oob_score": True, "random_state": 0}
    forest = Forest(40, **options).fit(X, y)
    decision = forest.oob_decision_function_
    assert decision.shape == (200, 3, 3)
    assert np.all(decision[:, 2, 0] == 0)
    np.testing.assert_allclose(decision.sum(axis=1), 1)
    predicted = np.stack(
        [
            classes[decision[:, : len(classes), j].argmax(axis=1)]
            for j, classes in enumerate(forest.classes_)
        ],
        axis=1,
    )
    assert forest.oob_score_ == np.mean(np.all(predicted == y, axis=1))
    calls = []

    def score(y_true, y_pred):
        calls.append((y_true, y_pred))
        return 0.25

    assert Forest(40, **options | {"oob_score": score}).fit(X, y).oob_score_ == 0.25
    assert np.array_equal(calls[0][0], y)
    assert np.array_equal(calls[0][1], predicted)
    steps = Forest(10, warm_start=True, **options).fit(X, y)
    steps.set_params(n_estimators=40).fit(X, y)
    assert np.array_equal(steps.oob_decision_function_, decision)


def test_unsupported_inputs_are_refused():
    X, y = mixed_outputs(60)
    forest = RandomForestClassifier(2, random_state=0)
    for options, target, message in [
        ({}, sparse.csr_matrix(y), "y must be dense"),
        ({}, y + 0.5, "Unknown label type|continuous"),
        ({}, np.where(y == 1, np.nan, y), "y"),
        ({"class_weight": "balanced_subsample"}, y, "class_weight of several outputs"),
        ({"class_weight": {0: 1}}, y, "class_weight of several outputs"),
        ({"class_weight": [{0: 1, 1: 2}]}, y, "a dict for each of the 3 outputs, got 1"),
        ({"class_weight": [{0: 1, 1: 2}]}, y[:, 0], "class_weight can be a list only"),
        ({"bootstrap": "balanced"}, y, "bootstrap='balanced' is for the classes of one output"),
        ({"monotonic_cst": [1, 0, 0, 0, 0]}, y, "monotonic_cst is for two classes"),
    ]:
        with pytest.raises(ValueError, match=message):
            clone(forest).set_params(**options).fit(X, target)
    fitted = clone(forest).set_params(warm_start=True).fit(X, y).set_params(n_estimators=3)
    for target in (y[:, 0], y[:, :2], y + 1):
        with pytest.raises(ValueError, match="y must have the classes of the fit before"):
            fitted.fit(X, target)
    with pytest.raises(ValueError, match="criterion must be of the kind of the fit before"):
        fitted.set_params(criterion="entropy").fit(X, y)
    for ask in (cost, explain.tree_arrays):
        with pytest.raises(ValueError, match="must have classes of one output"):
            ask(fitted)
