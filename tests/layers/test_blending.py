"""Weights of forecasts, and the sharpness of their mean."""

import naive_votes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from made_tasks import classification_task
from naive_votes import forecasts
from sklearn.datasets import load_diabetes
from sklearn.model_selection import RepeatedKFold

from mddf import DeepForestRegressor
from mddf._fitted.calibration import FLOOR, fit_exponent, sharpened
from mddf._layers.blending import greedy_weights
from mddf._layers.first_layer import race_weights


def test_greedy_weights_match_a_slow_twin():
    for seed in range(4):
        labels, vectors = forecasts(seed)
        result = greedy_weights(vectors, labels)
        np.testing.assert_allclose(result, naive_votes.greedy_weights(vectors, labels))
        assert result.sum() == pytest.approx(1)


@settings(deadline=None, max_examples=40)
@given(st.floats(0.3, 8), st.integers(2, 6), st.integers(0, 999))
def test_sharpening_keeps_the_order_and_is_invertible(exponent, k, seed):
    rng = np.random.default_rng(seed)
    p = rng.dirichlet(np.ones(k), 200) * 0.9 + 0.1 / k
    sharp = sharpened(p, exponent)
    np.testing.assert_allclose(sharp.sum(axis=1), 1)
    np.testing.assert_array_equal(sharp.argmax(axis=1), p.argmax(axis=1))
    labels = (rng.random(200)[:, None] > p.cumsum(axis=1)).sum(axis=1)
    again = fit_exponent(sharp, labels) * exponent
    direct = fit_exponent(p, labels)
    if 0.5 < direct < 5 and 0.3 < direct / exponent < 10 and sharp.min() > FLOOR:
        assert again == pytest.approx(direct, rel=0.02)


# The first fold, on which members race


def classes(n, noises):
    """Labels, and predictions of two classes with more or less noise."""
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 2, n)
    scores = [2.0 * labels - 1 + noise * rng.normal(size=n) for noise in noises]
    second = [1 / (1 + np.exp(-score)) for score in scores]
    return labels, [np.column_stack([1 - p, p]) for p in second]


def test_weights_are_means_over_halves_of_the_rows():
    labels, forecasts = classes(120, (1.0, 1.5, 3.0))
    task = classification_task(labels, calibrate=False)
    weights, losses = race_weights(task, forecasts, (1, 2))
    rng, expected = np.random.default_rng(np.random.SeedSequence((1, 2))), np.zeros(3)
    for _ in range(20):
        rows = rng.permutation(120)[:60]
        expected += naive_votes.greedy_weights([f[rows] for f in forecasts], labels[rows], 10) / 20
    np.testing.assert_allclose(weights, expected)
    np.testing.assert_allclose(
        losses, [naive_votes.log_losses(f, labels).mean() for f in forecasts]
    )


@pytest.mark.usefixtures("few_rounds")
@pytest.mark.parametrize("n_repeats", [1, 3])
def test_members_race_by_their_own_predictions_if_folds_are_repeated(n_repeats):
    """The predictions of one fold count in full, not as a share of the mean over the folds."""
    X, y = load_diabetes(return_X_y=True)
    cv = RepeatedKFold(n_splits=5, n_repeats=n_repeats, random_state=0)
    members = ["random", "linear"]
    model = DeepForestRegressor(1, members=members, n_estimators=10, cv=cv, random_state=0)
    model.fit(X, y)
    losses = [row["loss"] for row in model.fit_report_ if row["step"] == "race"]
    assert len(losses) == 2
    assert max(losses) < 0.62  # 0.66 with predictions divided by three
