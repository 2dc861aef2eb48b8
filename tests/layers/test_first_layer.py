"""Selection of members on one fold, against its slow twin."""

import numpy as np
import pytest
from made_tasks import classification_task, regression_task
from naive_votes import greedy_weights, log_losses
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.model_selection import RepeatedKFold

from mddf import DeepForestClassifier, DeepForestRegressor
from mddf._layers import fold_trainer
from mddf._layers.first_layer import can_race, race_weights, survives_race


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


@pytest.mark.parametrize("regression", [False, True])
def test_useless_members_are_left_out(regression):
    if regression:
        rng = np.random.default_rng(0)
        y = rng.normal(size=(400, 1))
        task = regression_task(y)
        forecasts = [y + noise * rng.normal(size=(400, 1)) for noise in (0.3, 0.3, 3.0)]
    else:
        labels, forecasts = classes(400, (0.7, 0.7, 9.0))
        task = classification_task(labels, calibrate=True)
    weights, losses = race_weights(task, forecasts, (0,))
    assert survives_race(weights).tolist() == [True, True, False]
    assert losses.argmax() == 2
    assert np.isclose(weights.sum(), 1)


def test_one_always_survives_race():
    assert survives_race(np.full(50, 0.02)).all()
    assert survives_race(np.array([1.0, 0.0])).tolist() == [True, False]


def test_few_rows_do_not_race():
    assert not can_race(399, 80)
    assert not can_race(1000, 49)
    assert can_race(400, 50)


@pytest.mark.usefixtures("few_rounds")
def test_members_of_large_tables_race_before_they_are_grown_in_full(monkeypatch):
    """Winners have all their trees on all folds; leaf-wise trees without a weight do not grow."""
    X, y = load_breast_cancer(return_X_y=True)
    members = ["random", "completely-random", "boosted", "boosted-leaf-wise"]
    model = DeepForestClassifier(
        1, n_estimators=8, members=members, refit=False, random_state=0, calibrate=False
    )
    monkeypatch.setattr(fold_trainer, "_MAX_ROWS_OF_MEDIUM_TABLE", 500)
    large = clone(model).fit(X, y)
    race = {row["candidate"] for row in large.fit_report_ if row["step"] == "race"}
    assert race == set(members)
    for member in large._fitted.stages[0].members:
        if member.has_trees:
            assert sum(trees.n_trees for trees in member.models) == 5 * 8
        else:
            assert len(member.models) == 3
    again = clone(model).set_params(n_jobs=2).fit(X, y)
    np.testing.assert_array_equal(again.predict_proba(X), large.predict_proba(X))
    assert large.score(X, y) > 0.95


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
