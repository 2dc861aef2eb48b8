"""Metrics for classification and regression."""

import numpy as np
import pytest
from sklearn import metrics
from sklearn.linear_model import LogisticRegression
from sklearn.svm import SVC


@pytest.fixture
def scores(script):
    return script("_lab.scores")


def test_metrics_are_scikit_learns(scores):
    rng = np.random.default_rng(0)
    classes = np.array(["a", "b", "c"])
    y, proba = rng.choice(classes, 60), rng.dirichlet(np.ones(3), 60)
    predicted = classes[proba.argmax(axis=1)]
    result = scores.score(scores.of_task("classification"), y, predicted, proba, classes)
    assert result == pytest.approx(
        {
            "accuracy": metrics.accuracy_score(y, predicted),
            "log_loss": metrics.log_loss(y, proba),
            "balanced_accuracy": metrics.balanced_accuracy_score(y, predicted),
            "roc_auc": metrics.roc_auc_score(y, proba, multi_class="ovr"),
            "f1_macro": metrics.f1_score(y, predicted, average="macro"),
        }
    )
    result = scores.score(["accuracy", "log_loss"], y, predicted, None, classes)
    assert list(result) == ["accuracy"]


def test_classes_that_training_or_test_rows_lack(scores):
    y, classes = np.array([1, 1, 4]), np.array([1, 2, 3])
    proba = np.array([[0.5, 0.25, 0.25], [0.25, 0.5, 0.25], [1.0, 0, 0]])
    result = scores.score(scores.of_task("classification"), y, np.array([1, 2, 1]), proba, classes)
    assert result["accuracy"] == pytest.approx(1 / 3)
    assert result["balanced_accuracy"] == pytest.approx((1 / 2 + 0) / 2)
    assert result["log_loss"] > 10  # nothing was given to a class that occurred
    assert np.isnan(scores.score(["roc_auc"], y[:2], y[:2], proba[:2], classes)["roc_auc"])


def test_labels_equal_predict(script, scores):
    class Contrary(LogisticRegression):
        def predict(self, X):
            return self.classes_[self.predict_proba(X).argmin(axis=1)]

    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2))
    y = (X[:, 0] > 0).astype(int)
    split = script("_lab.data").Split(X[:40], y[:40], X[40:], y[40:])
    right, wrong = (scores.evaluate(m, split)[0] for m in (LogisticRegression(), Contrary()))
    assert wrong["bytes"] is None  # a local class has no pickle
    assert wrong["accuracy"] == pytest.approx(1 - right["accuracy"])
    result, _ = scores.evaluate(SVC(), split)  # without probabilities
    assert "log_loss" not in result
    assert result["accuracy"] > 0.8
