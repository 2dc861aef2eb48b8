"""Metrics for classes and for numbers, by name."""

from __future__ import annotations

import pickle
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from sklearn import metrics
from threadpoolctl import threadpool_limits


@dataclass(frozen=True)
class Metric:
    """How to score: `score(y, predicted, probabilities)`, the last of which is for classes."""

    title: str
    score: Callable
    greater: bool = True
    task: str = "classification"
    scale: float = 1.0  # for tables
    digits: int = 4


def _log_loss(y, _, probabilities):
    """Mean of -log p of the right class, p at least 2e-16 as in scikit-learn."""
    p = np.asarray(probabilities, dtype=float)[np.arange(len(y)), y]
    return float(-np.log(np.clip(p, np.finfo(float).eps, 1)).mean())


def _auc(y, _, probabilities):
    """Mean over the classes that occur, each against the rest, of the area under the ROC curve."""
    classes = np.unique(y)
    if len(classes) < 2:
        return float("nan")
    if probabilities.shape[1] == 2:
        return float(metrics.roc_auc_score(y, probabilities[:, 1]))
    areas = [metrics.roc_auc_score(y == c, probabilities[:, c]) for c in classes]
    return float(np.mean(areas))


def _macro(score):
    """Of the classes that occur among the rows."""

    def of_labels(y, predicted, _):
        return float(score(y, predicted, labels=np.unique(y), average="macro", zero_division=0))

    return of_labels


def _numbers(score):
    return lambda y, predicted, _: float(score(y, predicted))


METRICS = {
    "accuracy": Metric(
        "accuracy, %", lambda y, predicted, _: float(np.mean(predicted == y)), scale=100, digits=2
    ),
    "log_loss": Metric("log-loss", _log_loss, greater=False),
    "balanced_accuracy": Metric(
        "balanced accuracy, %", _macro(metrics.recall_score), scale=100, digits=2
    ),
    "roc_auc": Metric("AUC", _auc),
    "f1_macro": Metric("F1, mean over classes", _macro(metrics.f1_score)),
    "r2": Metric("R2", _numbers(metrics.r2_score), task="regression"),
    "rmse": Metric(
        "RMSE", _numbers(metrics.root_mean_squared_error), greater=False, task="regression"
    ),
    "mae": Metric("MAE", _numbers(metrics.mean_absolute_error), greater=False, task="regression"),
    "pinball": Metric(
        "pinball loss, mean over quantiles .05, .5, .95",
        lambda y, _, quantiles: float(
            np.mean([
                metrics.mean_pinball_loss(y, q, alpha=a)
                for q, a in zip(np.transpose(quantiles), QUANTILES, strict=True)
            ])
        ),
        greater=False,
        task="regression",
    ),
}  # fmt: skip
QUANTILES = (0.05, 0.5, 0.95)
COVERAGE = 0.9  # of intervals
DEFAULTS = {
    "classification": ("accuracy", "log_loss", "balanced_accuracy", "roc_auc"),
    "regression": ("r2", "rmse", "mae", "pinball"),
}
# What a fit costs; smaller is better.
COSTS = {"fit_seconds": "fit, s", "predict_seconds": "predict, s", "bytes": "pickle, bytes"}


def of_task(task):
    """Names of a task's metrics."""
    return [name for name, metric in METRICS.items() if metric.task == task]


def greater(name):
    """Whether more is better."""
    return METRICS[name].greater if name in METRICS else False


def score(names, y, predicted, extra, classes=None):
    """Scores by name.

    `extra` are probabilities of `classes`, or quantiles; without them (None) the metrics that
    need them are left out.
    """
    if classes is not None:
        every = np.union1d(classes, y)
        y, predicted = np.searchsorted(every, y), np.searchsorted(every, predicted)
        if extra is not None:
            wide = np.zeros((len(y), len(every)))  # a class that training did not have gets 0
            wide[:, np.searchsorted(every, classes)] = extra
            extra = wide
    needs = {"log_loss", "roc_auc", "pinball"}
    return {
        name: METRICS[name].score(y, predicted, extra)
        for name in names
        if extra is not None or name not in needs
    }


def predictions(model, X):
    """Predictions, probabilities or quantiles where the model has them, and classes."""
    classes = getattr(model, "classes_", None)
    if classes is None:
        quantiles = getattr(model, "predict_quantiles", lambda *_: None)(X, QUANTILES)
        return np.asarray(model.predict(X)).reshape(len(X)), quantiles, None
    if not hasattr(model, "predict_proba"):
        return np.asarray(model.predict(X)), None, classes
    probabilities = np.asarray(model.predict_proba(X))
    return classes[probabilities.argmax(axis=1)], probabilities, classes


class Scorer:
    """A scorer for scikit-learn's searches: more is better."""

    def __init__(self, name):
        self.name = name

    def __call__(self, model, X, y):
        """Score a fitted model."""
        predicted, extra, classes = predictions(model, X)
        found = score([self.name], y, predicted, extra, classes)
        if not found:
            raise ValueError(f"{self.name} needs predict_proba, which {model} does not have")
        return found[self.name] if greater(self.name) else -found[self.name]


def library_threads(n_rows, n_jobs):
    """Threads of linear algebra and boosting libraries, which small sets only slow down."""
    return n_jobs if n_rows >= 5000 else 1


def size_of(model):
    """Bytes of the pickle; None where there can be none."""
    try:
        return len(pickle.dumps(model, protocol=5))
    except (pickle.PicklingError, AttributeError, TypeError):
        return None


def evaluate(model, split, task="classification", n_jobs=1) -> tuple[dict, object]:
    """Fit, predict and score; returns the result of a cell, and the fitted model.

    The result has all metrics of the task, seconds, bytes of the pickle, the rows, and for each
    test row whether it was right ("01..."), or its squared error.
    """
    with threadpool_limits(library_threads(len(split.y), n_jobs)):
        start = time.perf_counter()
        model.fit(split.X, split.y)
        fitted = time.perf_counter()
        predicted, extra, classes = predictions(model, split.X_test)
        done = time.perf_counter()
        # Where labels are not those of the largest probability, as with SVC.
        few = split.X_test[:100] if extra is not None and classes is not None else []
        if len(few) and (np.asarray(model.predict(few)) != predicted[:100]).any():
            predicted = np.asarray(model.predict(split.X_test))
    result = {
        **score(of_task(task), split.y_test, predicted, extra, classes),
        "fit_seconds": fitted - start,
        "predict_seconds": done - fitted,
        "bytes": size_of(getattr(model, "best_estimator_", model)),
        "n_train": len(split.y),
        "n_test": len(split.y_test),
    }
    if classes is not None:
        result["right"] = "".join("01"[int(right)] for right in predicted == split.y_test)
    else:
        errors = np.square(predicted - split.y_test)
        result["squared_error"] = [float(f"{error:.5g}") for error in errors]
    if hasattr(model, "predict_interval"):
        low, high = model.predict_interval(split.X_test, COVERAGE).T
        result["coverage"] = float(np.mean((low <= split.y_test) & (split.y_test <= high)))
        result["interval_width"] = float(np.mean(high - low) / np.std(split.y))
    return result, model
