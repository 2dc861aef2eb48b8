"""Reasons for the weights of members: a slow twin, words for known cases, and the leaderboard."""

import numpy as np
import pandas as pd
import pytest
from made_tasks import classification_task, reasons_of, regression_task
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import accuracy_score, log_loss, make_scorer

from mddf import DeepForestClassifier, DeepForestRegressor, TimeOrder

N_ROWS = 500
RNG = np.random.default_rng(0)
TARGET = RNG.normal(size=N_ROWS)
WEIGHT = RNG.exponential(size=N_ROWS)
NOISE = RNG.normal(size=(4, N_ROWS))
# Two members with errors of their own, a copy of the first, and one with large errors.
FORECASTS = [
    TARGET + 0.5 * NOISE[0],
    TARGET + 0.5 * NOISE[1],
    TARGET + 0.5 * NOISE[0] + 0.05 * NOISE[2],
    TARGET + 3.0 * NOISE[3],
]
WEIGHTS = np.array([0.5, 0.5, 0, 0])


@pytest.mark.parametrize("weight", [None, WEIGHT])
def test_a_slow_twin_of_regression(weight):
    votes = [forecast[:, None] for forecast in FORECASTS]
    reasons = reasons_of(regression_task(TARGET[:, None], weight), votes, WEIGHTS)
    row_weight = np.ones(N_ROWS) if weight is None else weight

    def error(forecast):
        return sum(
            w * (f - t) ** 2 for w, f, t in zip(row_weight, forecast, TARGET, strict=True)
        ) / sum(row_weight)

    mean = (FORECASTS[0] + FORECASTS[1]) / 2
    expected = [
        error(FORECASTS[1]) - error(mean),
        error(FORECASTS[0]) - error(mean),
        error(mean) - error(0.95 * mean + 0.05 * FORECASTS[2]),
        error(mean) - error(0.95 * mean + 0.05 * FORECASTS[3]),
    ]
    remaining_votes = [FORECASTS[1], FORECASTS[0], mean, mean]
    for reason, gain, forecast, other_forecast in zip(
        reasons, expected, FORECASTS, remaining_votes, strict=True
    ):
        assert reason["gain"] == pytest.approx(gain)
        covariance = np.cov(forecast - TARGET, other_forecast - TARGET, aweights=row_weight)
        correlation = covariance[0, 1] / np.sqrt(covariance[0, 0] * covariance[1, 1])
        assert reason["error_correlation"] == pytest.approx(correlation)


def test_a_slow_twin_of_classes():
    labels = np.digitize(TARGET, [-0.5, 0.5])
    votes = [
        np.stack([np.exp(-np.abs(forecast - centre)) for centre in (-1, 0, 1)], axis=1)
        for forecast in FORECASTS
    ]
    votes = [vote / vote.sum(axis=1, keepdims=True) for vote in votes]
    mean = (votes[0] + votes[1]) / 2
    reasons = reasons_of(classification_task(labels), votes, WEIGHTS)
    assert reasons[0]["gain"] == pytest.approx(log_loss(labels, votes[1]) - log_loss(labels, mean))
    mixed = 0.95 * mean + 0.05 * votes[3]
    assert reasons[3]["gain"] == pytest.approx(log_loss(labels, mean) - log_loss(labels, mixed))
    rows = np.arange(N_ROWS)
    own = [1 - vote[rows, labels] for vote in (votes[3], mean)]
    assert reasons[3]["error_correlation"] == pytest.approx(np.corrcoef(own)[0, 1])

    def accuracy(forecast):
        return accuracy_score(labels, forecast.argmax(axis=1))

    scored = classification_task(labels, score=accuracy, score_name="accuracy")
    reasons = reasons_of(scored, votes, WEIGHTS)
    assert reasons[0]["gain"] == pytest.approx(accuracy(mean) - accuracy(votes[1]))
    assert reasons[0]["reason"].startswith("without it, the accuracy would fall by")


@pytest.mark.parametrize("Deep", [DeepForestClassifier, DeepForestRegressor])
def test_the_leaderboard_says_why(Deep):
    load = load_breast_cancer if Deep is DeepForestClassifier else load_diabetes
    X, y = load(return_X_y=True)
    similar = LogisticRegression(C=0.001) if Deep is DeepForestClassifier else Ridge(alpha=100)
    options = {"members": ["random", "linear", similar], "n_estimators": 5, "random_state": 0}
    model = Deep(1, **options).fit(X / X.std(axis=0), y)
    for row in model.leaderboard_:
        if row["weight"] == 1:
            assert row["reason"] == "the only member with a weight"
        elif np.isnan(row["gain"]):
            assert row["reason"] == "almost no weight on the first fold"
        elif row["weight"]:
            assert row["reason"].startswith("without it, the ")
            assert row["gain"] > 0
        else:
            assert f"(correlation {row['error_correlation']:.2f})" in row["reason"]
    again = Deep(1, **options, n_jobs=2).fit(X / X.std(axis=0), y)
    figures = ["member", "weight", "gain", "error_correlation", "reason"]
    tables = [pd.DataFrame(fitted.leaderboard_)[figures] for fitted in (model, again)]
    pd.testing.assert_frame_equal(*tables, check_exact=True)


def test_scores_outputs_and_time_order_have_reasons():
    X, y = load_breast_cancer(return_X_y=True)
    small = {"n_estimators": 4, "members": ["random", "linear"], "random_state": 0}
    fits = {
        "score": DeepForestClassifier(1, **small, scoring=make_scorer(accuracy_score)).fit(X, y),
        "outputs": DeepForestClassifier(1, **small).fit(X, np.column_stack([y, X[:, 0] > 14])),
        "time": DeepForestClassifier(1, **small, cv=TimeOrder(n_splits=3)).fit(X, y),
        "one": DeepForestClassifier(1, **small | {"members": ["linear"]}).fit(X, y),
    }
    for model in fits.values():
        assert all(row["reason"] for row in model.leaderboard_)
    assert fits["one"].leaderboard_[0]["reason"] == "the only member with a weight"
