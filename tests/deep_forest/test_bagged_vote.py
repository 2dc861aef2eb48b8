"""Weights by votes on parts of the rows, against their slow twin."""

import numpy as np
import pytest
from made_tasks import classification_task, regression_task
from naive_votes import greedy_weights
from sklearn.datasets import load_breast_cancer, load_diabetes

from mddf import DeepForestClassifier, DeepForestRegressor
from mddf._deep_forest.bagged_vote import bagged_weights, weights_with_pool

BOTH = pytest.mark.parametrize(
    ("Model", "load"),
    [(DeepForestClassifier, load_breast_cancer), (DeepForestRegressor, load_diabetes)],
)


def classes(n, noises):
    """Labels, and predictions of two classes with more or less noise."""
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 2, n)
    scores = [2.0 * labels - 1 + noise * rng.normal(size=n) for noise in noises]
    second = [1 / (1 + np.exp(-score)) for score in scores]
    return labels, [np.column_stack([1 - p, p]) for p in second]


@pytest.mark.parametrize(("n", "n_drawn"), [(200, 60), (50, 30), (20, 20)])
def test_weights_are_means_over_votes_of_some_rows(n, n_drawn):
    labels, forecasts = classes(n, (1.0, 1.5, 3.0))
    task = classification_task(labels, calibrate=False)
    weights = bagged_weights(task, forecasts, np.arange(n), (1, 2))
    rng, expected = np.random.default_rng(np.random.SeedSequence((1, 2))), np.zeros(3)
    for _ in range(20):
        rows = np.sort(rng.permutation(n)[:n_drawn])
        expected += greedy_weights([f[rows] for f in forecasts], labels[rows], 10) / 20
    expected[expected < 0.02] = 0
    np.testing.assert_allclose(weights, expected / expected.sum())


def test_rows_without_a_prediction_do_not_vote():
    labels, forecasts = classes(200, (1.0, 1.5, 3.0))
    task = classification_task(labels, calibrate=False)
    rows = np.arange(80, 200)
    weights = bagged_weights(task, forecasts, rows, (0,))
    for forecast in forecasts:
        forecast[:80] = 0.5
    assert np.array_equal(bagged_weights(task, forecasts, rows, (0,)), weights)


def test_rows_without_weight_do_not_vote():
    """A vote on them alone would count all of them alike."""
    labels, forecasts = classes(200, (1.0, 1.5, 3.0))
    weight = np.where(np.arange(200) < 5, 2.0, 0.0)
    task = classification_task(labels, weight, calibrate=False)
    weights = bagged_weights(task, forecasts, np.arange(200), (0,))
    expected = greedy_weights([f[:5] for f in forecasts], labels[:5], 10)
    np.testing.assert_allclose(weights, expected)


def test_members_that_are_alike_share_the_weight():
    """A single vote would take one of them."""
    rng = np.random.default_rng(0)
    y = rng.normal(size=(400, 1))
    forecasts = [y + 0.5 * rng.normal(size=(400, 1)) for _ in range(5)]
    forecasts += [y + 5.0 * rng.normal(size=(400, 1)) for _ in range(5)]
    weights = bagged_weights(regression_task(y), forecasts, np.arange(400), (0,))
    assert (weights[:5] > 0.1).all()
    assert (weights[5:] == 0).all()
    assert weights.sum() == pytest.approx(1)


def test_one_member_keeps_a_weight_if_all_are_small():
    rng = np.random.default_rng(0)
    y = rng.normal(size=(400, 1))
    forecasts = [y + rng.normal(size=(400, 1)) for _ in range(80)]
    weights = bagged_weights(regression_task(y), forecasts, np.arange(400), (0,))
    assert weights.sum() == pytest.approx(1)


@pytest.mark.parametrize("with_score", [False, True])
def test_default_members_share_half_of_the_weight_by_a_vote_of_their_own(with_score):
    labels, forecasts = classes(500, (1.0, 1.5, 1.0, 2.0))
    task = classification_task(labels, calibrate=False)
    all_weights = bagged_weights(task, forecasts, np.arange(500), (3,))
    if with_score:
        task.score = lambda forecast: float(np.mean(forecast.argmax(axis=1) == labels))
        all_weights = task.member_weights(forecasts)
    is_of_pool = np.array([False, False, True, True])
    weights = weights_with_pool(task, forecasts, is_of_pool, np.arange(500), (3,))
    expected = all_weights / 2 + np.append(task.member_weights(forecasts[:2]) / 2, [0, 0])
    expected[expected < 0.02] = 0
    np.testing.assert_allclose(weights, expected / expected.sum())
    alone = weights_with_pool(task, forecasts, np.ones(4, bool), np.arange(500), (3,))
    np.testing.assert_allclose(alone, all_weights)


@pytest.mark.usefixtures("few_rounds")
@BOTH
def test_best_weights_members_by_votes_on_parts_of_the_rows(Model, load, monkeypatch):
    """Explicit members are weighted by one vote."""
    X, y = load(return_X_y=True)
    n_votes = []

    def watched(*arguments):
        n_votes.append(len(arguments[1]))
        return weights_with_pool(*arguments)

    monkeypatch.setattr("mddf._deep_forest.stack.weights_with_pool", watched)
    parameters = {"n_layers": 1, "n_estimators": 3, "cv": 2, "random_state": 0}
    model = Model(preset="best", **parameters).fit(X[:100], y[:100])
    assert n_votes == [len(model.leaderboard_)]
    Model(preset="best", members=["random", "linear"], **parameters).fit(X[:100], y[:100])
    Model(members=["random", "linear"], **parameters).fit(X[:100], y[:100])
    assert len(n_votes) == 1
