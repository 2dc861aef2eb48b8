"""Metrics of classification and regression by name, and scores of a fit."""

import pickle
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from sklearn import metrics
from sklearn.preprocessing import label_binarize
from threadpoolctl import threadpool_limits

# Quantiles of the pinball loss.
QUANTILES = (0.05, 0.5, 0.95)
# Nominal coverage of prediction intervals.
COVERAGE = 0.9


@dataclass(frozen=True)
class Metric:
    """A metric: `score(y, predicted)`, or `score(y, probabilities or quantiles)`."""

    title: str
    score: Callable
    greater: bool = True  # larger values are better
    task: str = "classification"
    extra: bool = False  # needs probabilities or quantiles
    scale: float = 1.0  # factor in tables
    digits: int = 4


def _log_loss(y, probabilities):
    """Log-loss of classes that are numbered in the order of the probabilities."""
    # Those of some libraries have 32 bits, and a sum that differs from 1 by more than scikit-learn
    # allows.
    sums = probabilities.sum(axis=1, keepdims=True)
    return metrics.log_loss(y, probabilities / sums, labels=range(probabilities.shape[1]))


def _auc(y, probabilities):
    """Mean one-vs-rest AUC over the classes that occur."""
    classes, n_classes = np.unique(y), probabilities.shape[1]
    if len(classes) < 2:
        return np.nan
    if n_classes == 2:
        return metrics.roc_auc_score(y, probabilities[:, 1])
    hits = label_binarize(y, classes=range(n_classes))
    return metrics.roc_auc_score(hits[:, classes], probabilities[:, classes])


def _pinball(y, quantiles):
    """Mean pinball loss over the quantiles."""
    pairs = zip(np.transpose(quantiles), QUANTILES, strict=True)
    return np.mean([metrics.mean_pinball_loss(y, predicted, alpha=a) for predicted, a in pairs])


def _macro(score):
    """Return the macro average of a metric over the classes that occur."""
    common = {"average": "macro", "zero_division": 0}
    return lambda y, predicted: score(y, predicted, labels=np.unique(y), **common)


_percent = {"scale": 100, "digits": 2}
_regression = {"task": "regression"}
_loss = {**_regression, "greater": False}
METRICS = {
    "accuracy": Metric("accuracy, %", metrics.accuracy_score, **_percent),
    "log_loss": Metric("log-loss", _log_loss, greater=False, extra=True),
    "balanced_accuracy": Metric("balanced accuracy, %", _macro(metrics.recall_score), **_percent),
    "roc_auc": Metric("AUC", _auc, extra=True),
    "f1_macro": Metric("F1, mean over classes", _macro(metrics.f1_score)),
    "r2": Metric("R2", metrics.r2_score, **_regression),
    "rmse": Metric("RMSE", metrics.root_mean_squared_error, **_loss),
    "mae": Metric("MAE", metrics.mean_absolute_error, **_loss),
    "pinball": Metric(
        "pinball loss, mean over quantiles .05, .5, .95", _pinball, extra=True, **_loss
    ),
}
DEFAULTS = {
    "classification": ("accuracy", "log_loss", "balanced_accuracy", "roc_auc"),
    "regression": ("r2", "rmse", "mae", "pinball"),
}
# Costs of a fit; smaller values are better.
COSTS = {"fit_seconds": "fit, s", "predict_seconds": "predict, s", "bytes": "pickle, bytes"}


def of_task(task):
    """Return the names of a task's metrics."""
    return [name for name, metric in METRICS.items() if metric.task == task]


def greater(name):
    """Return whether larger values of a metric are better."""
    return METRICS[name].greater if name in METRICS else False


def score(names, y, predicted, extra, classes=None):
    """Return scores by name.

    `extra` are probabilities of `classes`, or quantiles. With None, metrics that need them are
    left out.
    """
    if classes is not None:
        every = np.union1d(classes, y)
        y, predicted = np.searchsorted(every, y), np.searchsorted(every, predicted)
        if extra is not None:
            # A class without training rows has probability 0.
            wide = np.zeros((len(y), len(every)))
            wide[:, np.searchsorted(every, classes)] = extra
            extra = wide
    metrics_by_name = {
        name: METRICS[name] for name in names if extra is not None or not METRICS[name].extra
    }
    return {
        n: float(m.score(y, extra if m.extra else predicted)) for n, m in metrics_by_name.items()
    }


def predictions(model, X):
    """Return predictions, probabilities or quantiles (None without), and classes."""
    classes = getattr(model, "classes_", None)
    if classes is None:
        kept = getattr(model, "keep_targets", True) is not None
        predict_quantiles = getattr(model, "predict_quantiles", None) if kept else None
        quantiles = predict_quantiles(X, QUANTILES) if predict_quantiles else None
        return np.asarray(model.predict(X)).reshape(len(X)), quantiles, None
    if not hasattr(model, "predict_proba"):
        return np.asarray(model.predict(X)), None, classes
    probabilities = np.asarray(model.predict_proba(X))
    return classes[probabilities.argmax(axis=1)], probabilities, classes


def scorer(name):
    """Return a scorer for searches of scikit-learn: losses change their sign."""

    def signed_score(model, X, y):
        predicted, *extra = predictions(model, X)
        scores = score([name], y, predicted, *extra)
        if not scores:
            raise ValueError(f"{name} needs predict_proba, which {model} does not have")
        return scores[name] if greater(name) else -scores[name]

    return signed_score


def library_threads(n_rows, n_jobs):
    """Return the threads of linear algebra and boosting libraries.

    Below 5000 rows they use one thread, because more threads slow them down.
    """
    return n_jobs if n_rows >= 5000 else 1


def size_of(model):
    """Return the bytes of a model's pickle; None if it cannot be pickled."""
    try:
        return len(pickle.dumps(model, protocol=5))
    except (pickle.PicklingError, AttributeError, TypeError):
        return None


def evaluate(model, split, task="classification", n_jobs=1) -> tuple[dict, object]:
    """Fit, predict and score; return the result of a cell, and the fitted model.

    The result has all metrics of the task, seconds, bytes of the pickle, numbers of rows, and for
    each test row whether its label is right ("01…"), or its squared error.
    """
    X, y = split.X_test, split.y_test
    with threadpool_limits(library_threads(len(split.y), n_jobs)):
        start = time.perf_counter()
        model.fit(split.X, split.y)
        fitted = time.perf_counter()
        predicted, extra, classes = predictions(model, X)
        done = time.perf_counter()
        # `predict` may differ from the class of the largest probability, as in SVC.
        few = X[:100] if extra is not None and classes is not None else []
        if len(few) and (np.asarray(model.predict(few)) != predicted[:100]).any():
            predicted = np.asarray(model.predict(X))
    result = {
        **score(of_task(task), y, predicted, extra, classes),
        "fit_seconds": fitted - start,
        "predict_seconds": done - fitted,
        "bytes": size_of(getattr(model, "best_estimator_", model)),
        "n_train": len(split.y),
        "n_test": len(y),
    }
    if classes is not None:
        result["right"] = "".join("01"[int(right)] for right in predicted == y)
    else:
        result["squared_error"] = [float(f"{error:.5g}") for error in np.square(predicted - y)]
    if hasattr(model, "predict_interval"):
        low, high = model.predict_interval(X, COVERAGE).T
        result["coverage"] = float(np.mean((low <= y) & (y <= high)))
        result["interval_width"] = float(np.mean(high - low) / np.std(split.y))
    return result, model
