"""Scores of predictions on held-out rows, with intervals."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn import metrics
from sklearn.dummy import DummyClassifier, DummyRegressor

N_DRAWS = 200
# Draws of more rows than these took 28 of the 38 CPU seconds of a fit to 100 000 rows of 4 columns
# and 4 classes. With so many rows, errors of scores shrink with the root of the number of rows.
_MOST_ROWS = 2000

Score = Callable[[np.ndarray, np.ndarray], float]


def names(classes: Any) -> dict[str, bool]:
    """Names of the scores of a task, and whether greater is better; regression has no classes."""
    if classes is None:
        return {"RMSE": False, "MAE": False, "R2": True}
    return {"accuracy": True, "balanced accuracy": True, "log-loss": False, "ROC AUC": True}


def scores(y: np.ndarray, predicted: np.ndarray, classes: Any = None) -> dict[str, float]:
    """Scores of probabilities, or of numbers if there are no classes; NaN where not defined.

    Parameters
    ----------
    y : ndarray of shape (n_rows,)
    predicted : ndarray of shape (n_rows, n_classes) or (n_rows,)
    classes : ndarray of shape (n_classes,), default=None
    """
    if classes is None:
        return {
            "RMSE": metrics.root_mean_squared_error(y, predicted),
            "MAE": metrics.mean_absolute_error(y, predicted),
            "R2": metrics.r2_score(y, predicted) if len(y) > 1 else np.nan,
        }
    likely = classes[predicted.argmax(axis=1)]
    there = np.unique(y)
    found = {
        "accuracy": metrics.accuracy_score(y, likely),
        "balanced accuracy": np.mean([np.mean(likely[y == label] == label) for label in there]),
        "log-loss": metrics.log_loss(y, predicted, labels=classes),
        "ROC AUC": np.nan,
    }
    if len(there) == len(classes) > 2:
        found["ROC AUC"] = metrics.roc_auc_score(y, predicted, multi_class="ovr", labels=classes)
    elif len(there) == len(classes) == 2:
        found["ROC AUC"] = metrics.roc_auc_score(y == classes[1], predicted[:, 1])
    return found


def intervals(
    y: np.ndarray, predicted: np.ndarray, classes: Any = None, seed: int = 0
) -> dict[str, tuple[float, float]]:
    """95 % intervals of scores, from draws of rows with replacement.

    Of many rows, smaller draws are made, whose deviations from their mean are scaled to the
    number of rows.
    """
    if classes is not None:  # comparing text takes most of the time
        y = np.searchsorted(classes, y)
        classes = np.arange(len(classes))
    rng = np.random.default_rng(seed)
    n_drawn = min(len(y), _MOST_ROWS)
    draws = [rng.integers(0, len(y), n_drawn) for _ in range(N_DRAWS)]
    drawn_scores = [scores(y[rows], predicted[rows], classes) for rows in draws]
    all_scores = scores(y, predicted, classes)
    limits = {}
    for name in names(classes):
        values = np.array([score[name] for score in drawn_scores])
        values = values[np.isfinite(values)]
        if n_drawn < len(y) and len(values):
            scale = np.sqrt(n_drawn / len(y))
            values = all_scores[name] + scale * (values - values.mean())
        low, high = np.quantile(values, [0.025, 0.975]) if len(values) else (np.nan, np.nan)
        limits[name] = (float(low), float(high))
    return limits


def constant(y: np.ndarray, n_rows: int, classes: Any = None) -> np.ndarray:
    """What is predicted without the features: shares of the classes, or the mean."""
    nothing = np.zeros((len(y), 1))
    if classes is None:
        return DummyRegressor().fit(nothing, y).predict(np.zeros((n_rows, 1)))
    return DummyClassifier(strategy="prior").fit(nothing, y).predict_proba(np.zeros((n_rows, 1)))
