"""Classification and regression tasks: the figures that weigh the members of a layer."""

import numpy as np
import pytest
from made_tasks import classification_task, outputs_task, regression_task
from naive_votes import forecasts, greedy_weights


def test_members_with_tiny_weights_are_dropped():
    labels, vectors = forecasts(n=900)
    vectors = np.concatenate([vectors, [0.99 * vectors[0] + 0.01 * np.eye(3)[labels]]])
    task = classification_task(labels)
    greedy = greedy_weights(vectors, labels)
    weights = task.member_weights(vectors)
    assert np.isclose(weights.sum(), 1)
    np.testing.assert_array_equal(weights > 0, greedy >= 0.05)
    kept = greedy * (greedy >= 0.05)
    np.testing.assert_allclose(weights, kept / kept.sum())


def test_weights_of_drawn_rows_do_not_depend_on_other_rows():
    labels, vectors = forecasts(n=900)
    rows = np.random.default_rng(0).permutation(900)[:300]
    weight = np.random.default_rng(1).uniform(0.5, 2, 900)
    task = classification_task(labels, weight)
    expected = greedy_weights(vectors[:, rows], labels[rows], 10, weight[rows])
    np.testing.assert_allclose(task.trial_weights(vectors, rows, 10), expected)
    y = np.random.default_rng(2).normal(size=(900, 1))
    task, numbers = (
        regression_task(y, weight),
        y + np.random.default_rng(3).normal(size=(3, 900, 1)),
    )
    alone = regression_task(y[rows], weight[rows])
    expected = alone.trial_weights(numbers[:, rows], np.arange(300), 10)
    np.testing.assert_array_equal(task.trial_weights(numbers, rows, 10), expected)


@pytest.mark.parametrize("widths", [(2, 2, 2), (3, 1, 2)], ids=str)
@pytest.mark.parametrize("weighted", [False, True])
def test_several_outputs_are_judged_by_the_means_of_theirs(widths, weighted):
    """Losses, exponents, calibration and weights, compared with a task per output."""
    rng = np.random.default_rng(0)
    labels = np.stack([np.arange(500) % n for n in widths], axis=1)
    rng.shuffle(labels)
    vectors = [rng.dirichlet(np.ones(n), (3, 500)) for n in widths]
    for of_output, own in zip(vectors, labels.T, strict=True):
        of_output[:2, np.arange(500), own] += 0.7
        of_output /= of_output.sum(axis=-1, keepdims=True)
    joint = np.concatenate(vectors, axis=-1)
    weight = rng.uniform(0.5, 2, 500) if weighted else None
    task = outputs_task(labels, weight)
    tasks = [classification_task(own, weight) for own in labels.T]

    def mean(losses):
        return np.average(losses, weights=weight)

    def losses(of_one, exponent=1.0):
        parts = zip(tasks, np.split(of_one, np.cumsum(widths)[:-1], axis=1), strict=True)
        return np.mean(
            [
                output_task.losses(output_task.sharpened(part, exponent))
                for output_task, part in parts
            ],
            axis=0,
        )

    for of_one in joint:
        np.testing.assert_allclose(task.losses(of_one), losses(of_one))
        np.testing.assert_allclose(task.losses(task.sharpened(of_one, 1.7)), losses(of_one, 1.7))
        tried = [mean(losses(of_one, exponent)) for exponent in np.geomspace(0.25, 10, 200)]
        assert mean(task.calibrated_losses(of_one)) <= min(tried) + 1e-4
        calibrated = task.fit_calibration(of_one)(of_one)
        ends = np.cumsum(widths)[:-1]
        for part in np.split(calibrated, ends, axis=1):
            np.testing.assert_allclose(part.sum(axis=1), 1)
            assert part.min() > 0
    predicted = [of_output.argmax(axis=-1)[0] for of_output in vectors]
    right = np.all(np.stack(predicted, axis=1) == labels, axis=1)
    assert np.isclose(task.metrics(joint[0])["accuracy"], mean(right))
    weights = task.member_weights(joint)
    assert weights[2] == 0
    best = min(
        mean(losses(np.tensordot([share, 1 - share, 0], joint, 1)))
        for share in np.linspace(0, 1, 26)
    )
    assert mean(losses(np.tensordot(weights, joint, 1))) <= best + 1e-3
    rows = rng.permutation(500)[:200]
    few = task.for_rows(rows)
    np.testing.assert_allclose(few.losses(joint[0][rows]), losses(joint[0])[rows])
