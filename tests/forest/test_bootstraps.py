"""Bootstraps that draw equally many rows of each class, and whole groups."""

import numpy as np
import pytest
from forest_cases import FORESTS, few_trees, same_predictions
from value_cases import REGRESSORS, every_forest

from mddf import (
    CompletelyRandomForestClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
)

classifiers = pytest.mark.parametrize("Forest", FORESTS)


def uneven(n=300, seed=0):
    """Three classes, one of them rare."""
    rng = np.random.default_rng(seed)
    y = rng.choice(3, n, p=[0.7, 0.25, 0.05])
    X = rng.normal(size=(n, 4)) + y[:, None] * [1, 0.5, 0, 0]
    return X, y


def drawn(forest):
    """How often each tree drew each row."""
    return np.array(list(forest._sample_counts()))


@few_trees
@classifiers
def test_every_class_gives_as_many_draws(Forest):
    for weighted in [False, True]:
        for max_samples in [None, 95, 0.5, 2]:
            X, y = uneven()
            weights = np.random.default_rng(1).integers(0, 3, len(y)) * 1.0 if weighted else None
            forest = Forest(
                8, bootstrap="balanced", max_samples=max_samples, oob_score=True, random_state=0
            )
            forest.fit(X, np.array(["a", "b", "c"])[y], sample_weight=weights)
            counts = drawn(forest)
            by_class = np.stack([counts[:, y == c].sum(axis=1) for c in range(3)], axis=1)
            n = len(y) if weights is None else int(weights.sum())
            class_counts = np.bincount(y[weights > 0] if weighted else y)
            expected = {None: class_counts.min(), 95: 32, 0.5: round(n / 6), 2: 1}[max_samples]
            assert np.all(by_class == expected)
            if weighted:
                assert not counts[:, weights == 0].any()
            has_prediction = (counts == 0).any(axis=0) & (weights > 0 if weighted else True)
            assert np.array_equal(~np.isnan(forest.oob_decision_function_[:, 0]), has_prediction)


@classifiers
def test_draws_in_a_class_go_by_weight(Forest):
    X, y = uneven()
    weights = np.where(X[:, 3] > 0, 3.0, 1.0)
    counts = drawn(Forest(400, bootstrap="balanced").fit(X, y, sample_weight=weights))
    for c in range(3):
        share = counts[:, (y == c) & (weights == 3)].sum() / counts[:, y == c].sum()
        expected = weights[(y == c) & (weights == 3)].sum() / weights[y == c].sum()
        assert share == pytest.approx(expected, abs=0.03)


@few_trees
@classifiers
@pytest.mark.parametrize("bootstrap", [True, "balanced"])
def test_the_order_of_rows_and_jobs_do_not_matter(Forest, bootstrap):
    X, y = uneven()
    groups = np.arange(len(y)) // 4 if bootstrap is True else None
    weights = np.random.default_rng(0).integers(1, 4, len(y))
    order = np.random.default_rng(1).permutation(len(y))
    options = {"bootstrap": bootstrap, "random_state": 3}
    a = Forest(10, **options).fit(X, y, weights, groups=groups)
    again = None if groups is None else 1000 - groups[order]
    b = Forest(10, n_jobs=2, **options).fit(X[order], y[order], weights[order], groups=again)
    assert same_predictions(a, b, X)
    steps = Forest(4, oob_score=True, warm_start=True, **options).fit(X, y, weights, groups=groups)
    steps.set_params(n_estimators=10).fit(X, y, weights, groups=groups)
    assert same_predictions(a, steps, X)
    whole = Forest(10, oob_score=True, **options).fit(X, y, weights, groups=groups)
    result = whole.oob_decision_function_, steps.oob_decision_function_
    np.testing.assert_array_equal(*result)
    assert whole.oob_score_ == steps.oob_score_


@few_trees
@every_forest
def test_groups_are_drawn_whole(Forest):
    for max_samples in [None, 7, 0.5]:
        X, y = uneven(200)
        groups = np.random.default_rng(2).integers(0, 25, len(y)).astype(str)
        options = {"bootstrap": True, "oob_score": True, "max_samples": max_samples}
        forest = Forest(9, random_state=0, **options).fit(X, y, groups=groups)
        counts = drawn(forest)
        names, of_row = np.unique(groups, return_inverse=True)
        for of_tree in counts:
            of_group = np.array([of_tree[of_row == g].max() for g in range(len(names))])
            assert np.array_equal(of_tree, of_group[of_row])
            assert (
                of_group.sum() == {None: len(names), 7: 7, 0.5: round(len(names) / 2)}[max_samples]
            )
        out_of_bag = (
            forest.oob_prediction_ if Forest in REGRESSORS else forest.oob_decision_function_[:, 0]
        )
        assert np.array_equal(np.isnan(out_of_bag), (counts > 0).all(axis=0))


@every_forest
def test_weights_count_in_groups_as_copies_do(Forest):
    X, y = uneven(120)
    copies = np.random.default_rng(0).integers(0, 4, len(y))
    groups = np.arange(len(y)) // 6
    rows = np.repeat(np.arange(len(y)), copies)
    options = {"bootstrap": True, "random_state": 0, "max_features": None}
    weighted = Forest(300, **options).fit(X, y, copies.astype(float), groups=groups)
    repeated = Forest(300, **options).fit(X[rows], y[rows], groups=groups[rows])
    a, b = weighted.predict(X), repeated.predict(X)
    assert np.mean(np.abs(a - b) < 0.2) > 0.9


def test_out_of_bag_scores_of_groups_are_honest():
    """Groups contain duplicates, so plain bootstraps have too good scores."""
    X, y = uneven(100)
    y = np.random.default_rng(0).integers(0, 2, len(y))
    rows = np.repeat(np.arange(len(y)), 5)
    scores = [
        RandomForestClassifier(50, oob_score=True, random_state=0)
        .fit(X[rows], y[rows], groups=groups)
        .oob_score_
        for groups in (None, rows)
    ]
    assert scores[0] > 0.95
    assert scores[1] < 0.65


def test_incompatible_options():
    X, y = uneven(60)
    for forest, groups, message in [
        (RandomForestClassifier(2, bootstrap=False), y, "groups need bootstrap=True"),
        (RandomForestClassifier(2, bootstrap="balanced"), y, "groups need bootstrap=True"),
        (CompletelyRandomForestClassifier(2), y, "groups need bootstrap=True"),
        (RandomForestClassifier(2), y[:5], "groups"),
        (RandomForestClassifier(2), np.ones((60, 2)), "groups must be 1d"),
        (RandomForestClassifier(2), [None] * 60, "groups must have one for every sample"),
        (RandomForestClassifier(2, bootstrap="fair"), None, "bootstrap"),
        (RandomForestRegressor(2, bootstrap="balanced"), None, "bootstrap"),
    ]:
        with pytest.raises(ValueError, match=message):
            forest.fit(X, y, groups=groups)
