"""Selection of members on one fold, against its slow twin."""

import numpy as np
import pytest
from made_tasks import classification_task
from naive_votes import greedy_weights, log_losses
from sklearn.datasets import load_diabetes
from sklearn.model_selection import RepeatedKFold

from mddf import DeepForestRegressor
from mddf._layers.first_layer import race_weights


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
        expected += greedy_weights([f[rows] for f in forecasts], labels[rows], 10) / 20
    np.testing.assert_allclose(weights, expected)
    np.testing.assert_allclose(losses, [log_losses(f, labels).mean() for f in forecasts])


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
