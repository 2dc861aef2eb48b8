"""Scores of predictions on held-out rows, with intervals."""

from __future__ import annotations

import numpy as np
from sklearn import metrics
from sklearn.dummy import DummyClassifier, DummyRegressor

# The 2.5 % quantiles of 200 draws rest on five draws each: enough for a report. Not tuned.
N_DRAWS = 200
# Draws of more rows than these took 28 of the 38 CPU seconds of a fit to 100 000 rows of 4 columns
# and 4 classes. With so many rows, errors of scores shrink with the root of the number of rows.
_MAX_DRAWN_ROWS = 2000


def directions(classes: np.ndarray | None) -> dict[str, bool]:
    """Names of the scores, and whether greater is better; regression has no classes."""
    if classes is None:
        return {"RMSE": False, "MAE": False, "R2": True}
    return {"accuracy": True, "balanced accuracy": True, "log-loss": False, "ROC AUC": True}


def evaluate(
    y: np.ndarray, predictions: np.ndarray, classes: np.ndarray | None = None
) -> dict[str, float]:
    """Score probabilities, or predicted targets if there are no classes.

    Scores that the rows do not define are NaN.
    """
    if classes is None:
        return {
            "RMSE": metrics.root_mean_squared_error(y, predictions),
            "MAE": metrics.mean_absolute_error(y, predictions),
            "R2": metrics.r2_score(y, predictions) if len(y) > 1 else np.nan,
        }
    labels = classes[predictions.argmax(axis=1)]
    present = np.unique(y)
    # scikit-learn's balanced accuracy warns where a predicted class is not among the labels.
    recalls = [np.mean(labels[y == label] == label) for label in present]
    auc = np.nan
    if len(present) == len(classes) > 2:
        auc = metrics.roc_auc_score(y, predictions, multi_class="ovr", labels=classes)
    elif len(present) == len(classes) == 2:
        auc = metrics.roc_auc_score(y == classes[1], predictions[:, 1])
    return {
        "accuracy": metrics.accuracy_score(y, labels),
        "balanced accuracy": np.mean(recalls),
        "log-loss": metrics.log_loss(y, predictions, labels=classes),
        "ROC AUC": auc,
    }


def intervals(
    y: np.ndarray, predictions: np.ndarray, classes: np.ndarray | None = None, seed: int = 0
) -> dict[str, tuple[float, float]]:
    """95 % bootstrap intervals of scores.

    If there are many rows, the draws are smaller than the table. Their deviations from the mean of
    all draws are then scaled to the number of rows.
    """
    if classes is not None:  # comparing text takes most of the time
        y = np.searchsorted(classes, y)
        classes = np.arange(len(classes))
    rng = np.random.default_rng(seed)
    n_drawn = min(len(y), _MAX_DRAWN_ROWS)
    draws = [rng.integers(0, len(y), n_drawn) for _ in range(N_DRAWS)]
    drawn_scores = [evaluate(y[rows], predictions[rows], classes) for rows in draws]
    all_scores = evaluate(y, predictions, classes)
    limits = {}
    for name in directions(classes):
        values = np.array([scores[name] for scores in drawn_scores])
        values = values[np.isfinite(values)]
        if n_drawn < len(y) and len(values):
            scale = np.sqrt(n_drawn / len(y))
            values = all_scores[name] + scale * (values - values.mean())
        low, high = np.quantile(values, [0.025, 0.975]) if len(values) else (np.nan, np.nan)
        limits[name] = (float(low), float(high))
    return limits


def baseline_predictions(
    y_train: np.ndarray, n_rows: int, classes: np.ndarray | None = None
) -> np.ndarray:
    """Predictions without features: the shares of the classes, or the mean of the targets."""
    no_features = np.zeros((len(y_train), 1))
    if classes is None:
        return DummyRegressor().fit(no_features, y_train).predict(np.zeros((n_rows, 1)))
    dummy = DummyClassifier(strategy="prior").fit(no_features, y_train)
    return dummy.predict_proba(np.zeros((n_rows, 1)))
