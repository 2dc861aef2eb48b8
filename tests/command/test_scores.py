"""Scores of held-out rows and their intervals."""

import numpy as np
import pytest
from limits import change
from scipy import stats
from sklearn import metrics
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import GroupKFold, cross_val_predict

from mddf._command import scores


def probabilities(n, n_classes=3, seed=0):
    rng = np.random.default_rng(seed)
    predicted = rng.dirichlet(np.ones(n_classes), n)
    draws = rng.random((n, 1)) < predicted.cumsum(axis=1)
    return draws.argmax(axis=1), predicted


def test_scores_are_those_of_scikit_learn():
    for n_classes in (2, 3):
        y, predicted = probabilities(300, n_classes)
        names = np.array(["high", "low", "middle"])[:n_classes]
        labels = predicted.argmax(axis=1)
        scored = predicted[:, 1] if n_classes == 2 else predicted
        expected = {
            "accuracy": metrics.accuracy_score(y, labels),
            "balanced accuracy": metrics.balanced_accuracy_score(y, labels),
            "log-loss": metrics.log_loss(y, predicted),
            "ROC AUC": metrics.roc_auc_score(y, scored, multi_class="ovr"),
        }
        assert scores.evaluate(names[y], predicted, names) == pytest.approx(expected)
    y, predicted = probabilities(300, n_classes=2)
    predicted = np.round(predicted, 1)  # many are equal to the threshold
    for column in (0, 1):
        result = scores.evaluate(y, predicted, np.arange(2), scores.Decision(column, 0.3))
        of_class = (y == column, predicted[:, column])
        assert result["average precision"] == metrics.average_precision_score(*of_class)
        f1 = metrics.f1_score(y == column, predicted[:, column] >= 0.3)
        assert result["F1 at the threshold"] == f1
    numbers, guesses = np.random.default_rng(0).normal(size=(2, 50))
    assert scores.evaluate(numbers, guesses) == {
        "RMSE": metrics.root_mean_squared_error(numbers, guesses),
        "MAE": metrics.mean_absolute_error(numbers, guesses),
        "R2": metrics.r2_score(numbers, guesses),
    }


def test_the_width_is_that_of_the_formula():
    """The standard error of an accuracy p is sqrt(p (1 - p) / n)."""
    y, predicted = probabilities(40_000, n_classes=2)
    low, high = scores.intervals(y, predicted, np.arange(2))["accuracy"]
    p = np.mean(predicted.argmax(axis=1) == y)
    assert high - low == pytest.approx(2 * 1.96 * np.sqrt(p * (1 - p) / len(y)), rel=0.15)
    rng = np.random.default_rng(0)
    errors = rng.normal(size=40_000)
    low, high = scores.intervals(errors, np.zeros(40_000))["MAE"]
    assert high - low == pytest.approx(2 * 1.96 * np.abs(errors).std() / 200, rel=0.15)


def test_groups_of_equal_rows_count_once():
    y, predicted = probabilities(40, n_classes=2)
    rows = np.repeat(np.arange(40), 5)
    expected = scores.intervals(y, predicted, np.arange(2))
    by_groups = scores.intervals(y[rows], predicted[rows], np.arange(2), groups=rows)
    for name, limits in expected.items():
        assert by_groups[name] == pytest.approx(limits)


def test_intervals_of_few_groups_hold_the_score_on_new_ones(monkeypatch):
    """Cross-validated scores of 20 groups, whose shared part has 0.6 of the unknown variance."""
    change(monkeypatch, draws_of_intervals=30)
    rng = np.random.default_rng(0)
    groups = np.repeat(np.arange(20), 5)
    held = {"accuracy": [], "log-loss": [], "ROC AUC": [], "RMSE": []}
    for _ in range(20):
        X = rng.normal(size=(20 + 2000, 3))
        unknown = rng.normal(scale=0.6**0.5, size=len(X))
        rows = np.append(np.repeat(np.arange(20), 5), np.arange(20, len(X)))
        X = X[rows]
        y = X[:, 0] + unknown[rows] + rng.normal(scale=0.4**0.5, size=len(rows))
        for model, target, classes in (
            (LogisticRegression(), (y > 0).astype(int), np.arange(2)),
            (Ridge(), y, None),
        ):
            method = "predict" if classes is None else "predict_proba"
            X_train, y_train = X[:100], target[:100]
            told = cross_val_predict(
                model, X_train, y_train, groups=groups, cv=GroupKFold(5), method=method
            )
            true = scores.evaluate(
                target[100:], getattr(model.fit(X_train, y_train), method)(X[100:]), classes
            )
            limits = scores.intervals(y_train, told, classes, groups=groups, n_folds=5)
            for name in held.keys() & true.keys():
                held[name].append(limits[name][0] <= true[name] <= limits[name][1])
    shares = {name: np.mean(values) for name, values in held.items()}
    assert min(shares.values()) >= 0.9, shares


def test_a_faultless_share_has_an_interval():
    """20 rows without an error leave room for errors; the bound is Clopper and Pearson's."""
    y = np.arange(20) % 2
    limits = scores.intervals(y, np.eye(2)[y], np.arange(2))
    exact = stats.binomtest(20, 20).proportion_ci(method="exact")
    assert limits["accuracy"] == pytest.approx((exact.low, 1.0))
    assert scores.intervals(y, np.eye(2)[1 - y], np.arange(2))["accuracy"] == pytest.approx(
        (0.0, 1 - exact.low)
    )
