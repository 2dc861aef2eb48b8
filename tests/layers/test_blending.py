"""Weights of forecasts, and the sharpness of their mean."""

import naive_votes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from naive_votes import forecasts
from sklearn.metrics import log_loss

from mddf._fitted.calibration import FLOOR, fit_exponent, log_losses, sharpened
from mddf._layers.blending import error_weights, greedy_weights


@pytest.mark.parametrize("seed", range(4))
def test_greedy_weights_match_a_slow_twin(seed):
    labels, vectors = forecasts(seed)
    result = greedy_weights(vectors, labels)
    np.testing.assert_allclose(result, naive_votes.greedy_weights(vectors, labels))
    assert result.sum() == pytest.approx(1)


def test_the_vote_is_no_worse_than_the_best_forecast():
    labels, vectors = forecasts()
    weights = greedy_weights(vectors, labels)
    mean = np.tensordot(weights, vectors, 1)
    assert log_losses(mean, labels).mean() <= min(log_losses(v, labels).mean() for v in vectors)


def test_the_order_of_very_many_classes_stays():
    probabilities = np.random.default_rng(0).random((3, 12_000))
    probabilities /= probabilities.sum(axis=1, keepdims=True)
    result = sharpened(probabilities, 1.5)
    np.testing.assert_array_equal(result.argmax(axis=1), probabilities.argmax(axis=1))


def test_weights_of_samples_and_other_scores():
    labels, vectors = forecasts()
    half = np.arange(300) < 150
    np.testing.assert_allclose(
        greedy_weights(vectors, labels, weight=half.astype(float)),
        greedy_weights(vectors[:, half], labels[half]),
    )

    def accuracy(p):
        return np.mean(p.argmax(axis=1) == labels)

    weights = greedy_weights(vectors, labels, accuracy)
    best = max(accuracy(v) for v in vectors)
    assert accuracy(np.tensordot(weights, vectors, 1)) >= best


def test_log_losses():
    labels, vectors = forecasts()
    expected = log_loss(labels, vectors[2])
    assert log_losses(vectors[2], labels).mean() == pytest.approx(expected)
    assert log_losses(np.array([[0.0, 1.0]]), np.array([0])) == pytest.approx(
        -np.log(FLOOR), rel=1e-15
    )


@settings(deadline=None, max_examples=40)
@given(st.floats(0.3, 8), st.integers(2, 6), st.integers(0, 999))
def test_sharpening_keeps_the_order_and_is_invertible(exponent, k, seed):
    p = np.random.default_rng(seed).dirichlet(np.ones(k), 50) * 0.9 + 0.1 / k
    sharp = sharpened(p, exponent)
    np.testing.assert_allclose(sharp.sum(axis=1), 1)
    np.testing.assert_array_equal(sharp.argmax(axis=1), p.argmax(axis=1))
    labels = np.arange(50) % k
    again = fit_exponent(sharp, labels) * exponent
    direct = fit_exponent(p, labels)
    if 0.5 < direct < 5 and 0.3 < direct / exponent < 10 and sharp.min() > FLOOR:
        assert again == pytest.approx(direct, rel=0.02)


def test_an_exponent_finds_the_truth():
    rng = np.random.default_rng(0)
    truth = rng.dirichlet(np.full(3, 0.4), 20000) * 0.97 + 0.01
    labels = (rng.random(20000)[:, None] > truth.cumsum(axis=1)).sum(axis=1)
    timid = sharpened(truth, 0.5)
    assert fit_exponent(timid, labels) == pytest.approx(2, rel=0.05)
    assert fit_exponent(np.ones((5, 1)), np.zeros(5, int)) == 1


def test_weights_of_the_vote():
    rng = np.random.default_rng(0)
    y = rng.normal(size=(400, 2))
    forecasts = [y + rng.normal(size=y.shape) * s for s in (1.0, 1.0, 3.0)] + [y * 0]
    weights = error_weights(forecasts, y)
    assert weights.sum() == pytest.approx(1)
    # The optimum on the simplex, by a fine grid.
    steps = np.linspace(0, 1, 41)
    grid = np.array([(a, b, c, 1 - a - b - c) for a in steps for b in steps for c in steps])
    grid = grid[grid[:, 3] >= -1e-9]
    errors = np.stack(forecasts) - y
    gram = np.einsum("inj,knj->ik", errors, errors)
    losses = np.einsum("gi,ik,gk->g", grid, gram, grid)
    result = weights @ gram @ weights
    assert result <= losses.min() * 1.002
    assert error_weights([y, y + 1], y).tolist() == [1, 0]
    np.testing.assert_allclose(
        error_weights(forecasts, y, np.arange(400) < 200),
        error_weights([f[:200] for f in forecasts], y[:200]),
    )
