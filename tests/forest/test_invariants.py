"""Changes of the rows, weights and options of forests that must not change the result."""

import pickle

import numpy as np
import pytest
from forest_cases import few_trees, three_classes
from sklearn.base import clone, is_classifier
from sklearn.datasets import make_friedman1
from value_cases import every_forest


def table(Forest):
    if is_classifier(Forest()):
        return three_classes()
    X, y = make_friedman1(300, 6, noise=0.5, random_state=0)
    X[np.random.default_rng(0).random(X.shape) < 0.03] = np.nan
    return X, y


def answers(forest, X):
    return forest.predict_proba(X) if is_classifier(forest) else forest.predict(X)


def out_of_bag(forest):
    is_class = is_classifier(forest)
    return forest.oob_decision_function_ if is_class else forest.oob_prediction_


def assert_same(a, b, X):
    np.testing.assert_array_equal(answers(a, X), answers(b, X))
    np.testing.assert_array_equal(a.apply(X), b.apply(X))
    np.testing.assert_allclose(a.feature_importances_, b.feature_importances_, rtol=1e-12)
    if a.oob_score:
        np.testing.assert_array_equal(out_of_bag(a), out_of_bag(b))
        assert a.oob_score_ == b.oob_score_


@every_forest
def test_n_jobs(Forest):
    for oob in [False, True]:
        X, y = table(Forest)
        targets = [y] if is_classifier(Forest()) else [y, np.column_stack([y, X[:, 5] > 0.5])]
        for y in targets:
            forest = Forest(40, bootstrap=oob, oob_score=oob, random_state=1)
            sequential = clone(forest).fit(X, y)
            for n_jobs in (2, 3, -1):
                many = clone(forest).set_params(n_jobs=n_jobs).fit(X, y)
                assert_same(sequential, many, np.tile(X, (4, 1)) if not oob else X)


@every_forest
def test_the_order_of_rows(Forest):
    for bootstrap in [False, True]:
        X, y = table(Forest)
        rng = np.random.default_rng(8)
        forest = Forest(20, bootstrap=bootstrap, random_state=1)
        for weights in (np.ones(len(y)), rng.exponential(size=len(y))):
            order = rng.permutation(len(y))
            shuffled = clone(forest).fit(X[order], y[order], weights[order])
            assert_same(clone(forest).fit(X, y, weights), shuffled, X)


@every_forest
def test_the_order_of_equal_rows_with_weights(Forest):
    """Rounding does not depend on the order, also for equal rows with different weights."""
    for bootstrap in [False, True]:
        random = np.random.default_rng(3)
        variants = [{}]
        if is_classifier(Forest()):
            variants += [{"class_weight": "balanced"}]
            variants += [{"class_weight": "balanced_subsample", "criterion": "entropy"}]
        for options in variants:
            for least in (1, 5):
                X, y = random.integers(0, 5, (200, 3)), random.integers(0, 3, 200)
                weights, order = random.random(200), random.permutation(200)
                forest = Forest(
                    8, max_features=2, min_samples_leaf=least, random_state=0, **options
                )
                forest.set_params(bootstrap=bootstrap)
                shuffled = clone(forest).fit(X[order], y[order], weights[order])
                assert_same(clone(forest).fit(X, y, weights), shuffled, X)


@every_forest
def test_weight_k_is_k_copies(Forest):
    for bootstrap, max_samples in [(False, None), (True, 1.0), (True, 0.5), (True, 77)]:
        X, y = table(Forest)
        weights = np.random.default_rng(9).integers(0, 4, len(y))
        forest = Forest(15, bootstrap=bootstrap, max_samples=max_samples, random_state=1)
        copies = clone(forest).fit(np.repeat(X, weights, axis=0), np.repeat(y, weights))
        np.testing.assert_array_equal(
            answers(clone(forest).fit(X, y, weights), X), answers(copies, X)
        )


@every_forest
def test_the_scale_of_weights_and_rows_without_weight(Forest):
    for oob in [False, True]:
        X, y = table(Forest)
        forest = Forest(20, bootstrap=oob, oob_score=oob, random_state=1)
        plain = clone(forest).fit(X, y)
        for weight in (1.0, 10.0, 1e6, 0.3 if oob else 0.5):
            uniform = clone(forest).fit(X, y, np.full(len(y), weight))
            np.testing.assert_array_equal(answers(plain, X), answers(uniform, X))
            assert not oob or plain.oob_score_ == uniform.oob_score_
        weights = np.random.default_rng(11).exponential(size=len(y))
        weights[::3] = 0
        forest.set_params(oob_score=False)
        expected = clone(forest).fit(X, y, weights)
        for exponent in (-1000, -9, 3, 1000):
            assert_same(expected, clone(forest).fit(X, y, np.ldexp(weights, exponent)), X)
        kept = weights > 0
        assert_same(expected, clone(forest).fit(X[kept], y[kept], weights[kept]), X)
        if not is_classifier(forest):
            wild = np.where(kept, y, 1e200)
            assert_same(expected, clone(forest).fit(X, wild, weights), X)


@few_trees
@every_forest
def test_warm_start_equals_a_longer_fit(Forest):
    for oob in [False, True]:
        X, y = table(Forest)
        options = {"bootstrap": oob, "oob_score": oob, "random_state": 5}
        whole = Forest(23, **options).fit(X, y)
        steps = Forest(4, warm_start=True, **options)
        for n in (4, 5, 23):
            steps.set_params(n_estimators=n, n_jobs=n % 3 + 1).fit(X, y)
            assert steps.apply(X).shape == (300, n)
            if not oob:
                steps = pickle.loads(pickle.dumps(steps))
        with pytest.warns(UserWarning, match="n_estimators=23, as many as there are") as caught:
            steps.fit(X, y)
        assert caught[0].filename == __file__
        assert_same(whole, steps, X)
        if oob:
            steps.set_params(n_estimators=30)
            score = steps.oob_score_
            for rows, targets in ((X[::-1], y[::-1]), (X, y[::-1]), (X[:-1], y[:-1])):
                with pytest.raises(ValueError, match="needs the rows of the fit before"):
                    steps.fit(rows, targets)
            assert steps.oob_score_ == score


@every_forest
def test_a_row_is_predicted_the_same_alone_and_in_a_table(Forest):
    X, y = table(Forest)
    forest = Forest(50, random_state=0).fit(X, y)
    expected = answers(forest, np.tile(X, (3, 1)))
    for n in (1, 5, 7):
        parts = [answers(forest, X[i : i + n]) for i in range(0, 105, n)]
        np.testing.assert_array_equal(np.concatenate(parts), expected[:105])
