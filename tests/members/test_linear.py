"""The logistic regression of layers: a row's probabilities are the same alone and in a table."""

import numpy as np
import pytest

from mddf import DeepForestClassifier
from mddf._base.elementary import class_probabilities
from mddf._members.linear import LinearClassifier


@pytest.mark.parametrize("n_classes", [2, 12])
@pytest.mark.parametrize(("n_numbers", "n_categorical"), [(20, 0), (0, 20), (9, 12), (200, 1)])
@pytest.mark.parametrize("order", ["C", "F"])
def test_a_row_alone_as_in_a_table(n_numbers, n_categorical, n_classes, order):
    rng = np.random.default_rng(n_numbers)
    numbers = rng.normal(size=(1025, n_numbers))  # of the last row a block of its own
    numbers[rng.random(numbers.shape) < 0.1] = np.nan
    codes = rng.integers(0, 4, (1025, n_categorical))
    X = np.asarray(np.hstack([codes, numbers]), order=order)
    y = np.arange(1025) % n_classes
    model = LinearClassifier(np.arange(X.shape[1]) < n_categorical).fit(X, y)
    whole = model.predict_proba(X)
    few = [*range(60), 1024]
    alone = [model.predict_proba(X[i : i + 1])[0] for i in few]
    np.testing.assert_array_equal(alone, whole[few])
    np.testing.assert_array_equal(model.predict_proba(X[[*few, 3]]), whole[[*few, 3]])
    # The slow twin, one term after the other.
    encoding, scores = model.encoding_, []
    for numbers, places in zip(encoding.centred(X[few]), encoding.places_of(X[few]), strict=True):
        total = sum((x * row for x, row in zip(numbers, model.numbers_, strict=True)), 0.0)
        scores.append(total + model.intercept_ + sum(model.categories_[place] for place in places))
    np.testing.assert_array_equal(alone, class_probabilities(np.array(scores)))


def test_deep_forests_of_a_row_alone():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 20)), np.arange(60) % 3
    model = DeepForestClassifier(n_estimators=3, members=["random", "linear"], random_state=0)
    whole = model.fit(X, y).predict_proba(X)
    alone = np.vstack([model.predict_proba(row[None]) for row in X])
    np.testing.assert_array_equal(alone, whole)
