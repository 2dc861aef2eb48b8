import pickle

import numpy as np
import pytest
from forest_cases import FORESTS, draws_rows, few_trees, same_predictions, three_classes
from sklearn.base import clone
from sklearn.metrics import balanced_accuracy_score
from sklearn.model_selection import train_test_split
from sklearn_checks import sklearn_checks

from mddf import CompletelyRandomForestClassifier, RandomForestClassifier

both = pytest.mark.parametrize("Forest", FORESTS)


@pytest.fixture
def data():
    return three_classes()


@sklearn_checks(
    [
        RandomForestClassifier(),
        RandomForestClassifier(criterion="entropy", bootstrap=False, max_leaf_nodes=9),
        RandomForestClassifier(class_weight="balanced", max_samples=1.0, oob_score=True, n_jobs=2),
        CompletelyRandomForestClassifier(),
        CompletelyRandomForestClassifier(bootstrap=True, max_samples=1.0),
        CompletelyRandomForestClassifier(class_weight="balanced"),
    ],
    draws_rows,
)
@pytest.mark.filterwarnings("ignore:with warm_start=True:UserWarning")
@few_trees
def test_sklearn_checks(estimator, check):
    check(estimator)


# What must not change the result


def test_a_row_of_very_large_weight():
    X, y, weights = np.arange(300)[:, None] % 20, np.arange(300) % 2, np.ones(300)
    weights[0] = 1e9
    forest = RandomForestClassifier(3, max_samples=200_000, random_state=0)
    assert forest.fit(X, y, weights).predict(X[:1]).tolist() == [0]


@both
def test_a_class_with_tiny_weight(Forest):
    X, y = np.arange(6.0)[:, None], np.repeat([0, 1], 3)
    options = {"bootstrap": False, "max_depth": 1, "min_samples_leaf": 2, "random_state": 0}
    forest = Forest(5, class_weight="balanced_subsample", **options)
    result = forest.fit(X, y, np.repeat([1, 1e-310], 3)).predict_proba(X)
    np.testing.assert_allclose(result, clone(forest).fit(X, y).predict_proba(X))
    assert same_predictions(forest, pickle.loads(pickle.dumps(forest)), X)


def test_census_weights(data):
    """Whole weights in the thousands: as many draws as rows, in proportion to the weights."""
    X, y = data
    weights = np.random.default_rng(3).integers(1000, 60000, len(y))
    forest = RandomForestClassifier(30, oob_score=True, random_state=0).fit(X, y, weights)
    assert forest.oob_score_ > 0.5
    heavy = np.where(y == y[0], 1000, 1)
    leaning = RandomForestClassifier(30, random_state=0).fit(X, y, heavy)
    assert np.mean(leaning.predict(X) == y[0]) > np.mean(forest.predict(X) == y[0])


# Out of bag


def test_oob_score(data):
    X, y = data
    X, new, y, expected = train_test_split(X, y, random_state=0)
    options = {"oob_score": True, "random_state": 0}
    forest = RandomForestClassifier(100, **options).fit(X, y)
    assert abs(forest.oob_score_ - forest.score(new, expected)) < 0.1
    options["oob_score"] = balanced_accuracy_score
    other = RandomForestClassifier(100, **options).fit(X, y)
    votes = other.oob_decision_function_.argmax(axis=1)
    assert other.oob_score_ == balanced_accuracy_score(y, votes)
    names = np.array(["u", "v", "w"])
    by_name = RandomForestClassifier(100, **options).fit(X, names[y])
    assert by_name.oob_score_ == other.oob_score_


def test_out_of_bag_is_at_chance_for_random_labels():
    rng = np.random.default_rng(13)
    X, y = rng.normal(size=(1000, 5)), rng.integers(0, 2, 1000)
    for Forest in (RandomForestClassifier, CompletelyRandomForestClassifier):
        forest = Forest(30, bootstrap=True, oob_score=True, random_state=0).fit(X, y)
        assert 0.45 < forest.oob_score_ < 0.55
