"""Classes and numbers: what a layer's members are weighed by."""

import numpy as np
from made_tasks import classification_task, regression_task
from naive_votes import forecasts, greedy_weights


def test_members_of_hardly_any_weight_are_dropped():
    labels, vectors = forecasts(n=900)
    vectors = np.concatenate([vectors, [0.99 * vectors[0] + 0.01 * np.eye(3)[labels]]])
    task = classification_task(labels)
    greedy = greedy_weights(vectors, labels)
    weights = task.weigh(vectors)
    assert np.isclose(weights.sum(), 1)
    np.testing.assert_array_equal(weights > 0, greedy >= 0.05)
    kept = greedy * (greedy >= 0.05)
    np.testing.assert_allclose(weights, kept / kept.sum())


def test_weights_of_drawn_rows_are_those_of_these_rows_alone():
    labels, vectors = forecasts(n=900)
    rows = np.random.default_rng(0).permutation(900)[:300]
    weight = np.random.default_rng(1).uniform(0.5, 2, 900)
    task = classification_task(labels, weight)
    expected = greedy_weights(vectors[:, rows], labels[rows], 10, weight[rows])
    np.testing.assert_allclose(task.drawn_weights(vectors, rows, 10), expected)
    y = np.random.default_rng(2).normal(size=(900, 1))
    task, numbers = (
        regression_task(y, weight),
        y + np.random.default_rng(3).normal(size=(3, 900, 1)),
    )
    alone = regression_task(y[rows], weight[rows])
    expected = alone.drawn_weights(numbers[:, rows], np.arange(300), 10)
    np.testing.assert_array_equal(task.drawn_weights(numbers, rows, 10), expected)


def test_what_a_round_of_boosting_costs():
    for n_classes, cost in ((2, 1), (3, 1.5), (10, 5)):
        task = classification_task(np.arange(20) % n_classes, calibrate=True)
        assert task.numbers_of_a_round == cost
    assert regression_task(np.random.default_rng(0).normal(size=(9, 4))).numbers_of_a_round == 4
