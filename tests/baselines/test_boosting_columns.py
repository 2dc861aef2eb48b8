"""Missing values and categories in the weak learners of all four boosting classifiers."""

import pickle

import numpy as np
import pandas as pd
import pytest
from mddf.baselines import (
    AdaBoostClassifier,
    DeepBoostClassifier,
    LPBoostClassifier,
    QuadBoostClassifier,
)
from mddf.baselines._boosting.columns import EXTREME
from sklearn.base import clone

ALL = [
    AdaBoostClassifier(12, max_depth=2),
    DeepBoostClassifier(12, hypotheses="stumps"),
    QuadBoostClassifier(n_estimators=40),
    LPBoostClassifier(nu=0.4, n_estimators=30),
]


def mixed(n=160, n_classes=2):
    """A frame with informative missing values, a category and text; its classes."""
    rng = np.random.default_rng(3)
    number = rng.normal(size=n)
    colour = rng.choice(["red", "green", "blue", "grey"], n)
    size = rng.choice(["s", "m", "l"], n)
    score = number + 2 * (colour == "green") - 2 * (size == "s") + 0.2 * rng.normal(size=n)
    number = np.where(rng.random(n) < 0.2, np.nan, number)
    text = np.where(rng.random(n) < 0.1, None, size)
    frame = pd.DataFrame(
        {"number": number, "colour": pd.Categorical(colour), "size": text, "noise": score[::-1]}
    )
    y = np.digitize(score, [0.0] if n_classes == 2 else [-1.0, 1.0])
    return frame, y


def slow_columns(X, weight):
    """Features of the trees from a numeric array, cell by cell."""
    columns = []
    for column in X.T:
        missing = np.isnan(column)
        if not missing.any():
            columns.append(column)
            continue
        for fill in (-EXTREME, EXTREME):
            columns.append(np.array([fill if np.isnan(cell) else cell for cell in column]))
    columns += [np.isnan(column).astype(float) for column in X.T if np.isnan(column).any()]
    return np.column_stack(columns)


def test_frames_with_gaps_and_categories():
    for model in ALL:
        for n_classes in [2, 3]:
            X, y = mixed(n_classes=n_classes)
            fitted = clone(model).fit(X, y)
            assert fitted.score(X, y) > (0.85 if n_classes == 2 else 0.7)
            assert fitted.feature_importances_.shape == (4,)
            assert fitted.feature_importances_.sum() == pytest.approx(1)
            assert fitted.feature_importances_[[0, 1, 2]].sum() > 0.5
            again = pickle.loads(pickle.dumps(fitted))
            np.testing.assert_array_equal(again.predict_proba(X), fitted.predict_proba(X))
            # A category that fit did not see counts as missing.
            new = X.assign(colour="violet")
            with pytest.warns(UserWarning, match="'colour': 100% of the rows, such as 'violet'"):
                predicted = fitted.predict(new)
            np.testing.assert_array_equal(predicted, fitted.predict(X.assign(colour=None)))


def test_missing_values_match_indicator_columns_made_by_hand():
    for model in ALL:
        rng = np.random.default_rng(0)
        X = rng.normal(size=(120, 3))
        y = (X[:, 0] + X[:, 1] > 0).astype(int)
        X[rng.random(X.shape) < [0.3, 0.1, 0.0]] = np.nan
        by_hand = slow_columns(X, np.ones(len(X)))
        fitted = clone(model).fit(X, y)
        np.testing.assert_array_equal(
            fitted.decision_function(X), clone(model).fit(by_hand, y).decision_function(by_hand)
        )


def test_missing_values_go_to_the_better_side_of_a_threshold():
    X = np.array([[1.0], [2.0], [3.0], [4.0], [np.nan], [np.nan]])
    for side in (0, 1):
        y = np.array([0, 0, 1, 1, side, side])
        stump = AdaBoostClassifier(1).fit(X, y)
        np.testing.assert_array_equal(stump.predict(X), y)
        np.testing.assert_array_equal(stump.predict([[-1e300], [1e300]]), [0, 1])


def test_new_missing_values_count_as_the_median():
    for model in ALL:
        X, y = np.random.default_rng(1).normal(size=(91, 3)), np.arange(91) % 2
        y[X[:, 0] > 0] = 1
        fitted = clone(model).fit(X, y)
        gaps = X.copy()
        gaps[::2, 0] = np.nan
        filled = np.where(np.isnan(gaps), np.median(X, axis=0), gaps)
        np.testing.assert_array_equal(
            fitted.decision_function(gaps), fitted.decision_function(filled)
        )
        # A row of weight k is the same as k rows, also there.
        weight = np.arange(91) % 3
        weighed = clone(model).fit(X, y, weight)
        copied = clone(model).fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
        np.testing.assert_allclose(
            weighed.decision_function(gaps), copied.decision_function(gaps), atol=1e-6
        )


def test_learners_of_the_user_get_codes_and_missing_values():
    X, y = mixed()
    calls = []

    def learner(cells):
        calls.append(cells)
        return np.where(cells[:, 1] == 1, 1.0, -1.0)

    model = AdaBoostClassifier(2, weak_learners=[learner]).fit(X, y)
    assert np.isnan(calls[0]).any()
    np.testing.assert_array_equal(model.predict(X), (X["colour"] == "green").astype(int))
