"""Scores of predictions on held-out rows, with intervals."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import special, stats
from sklearn import metrics
from sklearn.dummy import DummyClassifier, DummyRegressor

from mddf._base.elementary import exp
from mddf.analysis import choose_threshold

# Standard deviations of 200 draws have an error of 5 %: enough for a report. Not tuned.
N_DRAWS = 200
# Share of the cases beyond each end of an interval.
_TAIL = 0.025
# Shares are sums, which differ from 1 by so much at most if they are 1.
_LAST_BITS = 1e-12
# Scores of which 0 is the best.
_LOSSES = ("RMSE", "MAE", "log-loss")
# Draws of more rows than these took 28 of the 38 CPU seconds of a fit to 100 000 rows of 4 columns
# and 4 classes. With so many rows, errors of scores shrink with the root of the number of rows.
_MAX_DRAWN_ROWS = 2000


@dataclass(frozen=True)
class Decision:
    """Rule that predicts one of two classes from its probability and a threshold.

    `column` is the place of the class among the classes. Without a threshold, the more likely
    class is predicted.
    """

    column: int
    threshold: float | None = None

    @classmethod
    def for_class(cls, y: np.ndarray, classes: np.ndarray, positive: object = None) -> Decision:
        """Make the decision about a class, by default about the rarer one, without a threshold."""
        if positive is not None:
            return cls(classes.tolist().index(positive))
        # Of equally frequent classes, the second one, as in scikit-learn.
        return cls(0 if np.mean(y == classes[0]) < 0.5 else 1)

    def with_best_f1(
        self, y: np.ndarray, probabilities: np.ndarray, classes: np.ndarray
    ) -> Decision:
        """Choose the threshold with the best F1 on these rows; none if they have one class."""
        has_probability = np.isfinite(probabilities[:, self.column])
        y = y[has_probability]
        if len(np.unique(y)) < 2:
            return self
        best = choose_threshold(
            y == classes[self.column], probabilities[has_probability, self.column], pos_label=True
        )
        return Decision(self.column, best.value)

    def predict(self, probabilities: np.ndarray, classes: np.ndarray) -> np.ndarray:
        """Predict classes."""
        if self.threshold is None:
            return classes[probabilities.argmax(axis=1)]
        is_positive = probabilities[:, self.column] >= self.threshold
        return classes[np.where(is_positive, self.column, 1 - self.column)]


def directions(classes: np.ndarray | None, decision: Decision | None = None) -> dict[str, bool]:
    """Names of the scores, and whether greater is better; regression has no classes."""
    if classes is None:
        return {"RMSE": False, "MAE": False, "R2": True}
    names = {"accuracy": True, "balanced accuracy": True, "log-loss": False, "ROC AUC": True}
    if decision is not None:
        names["average precision"] = True
        if decision.threshold is not None:
            names["F1 at the threshold"] = True
    return names


def evaluate(
    y: np.ndarray,
    predictions: np.ndarray,
    classes: np.ndarray | None = None,
    decision: Decision | None = None,
) -> dict[str, float]:
    """Score probabilities, or predicted targets if there are no classes.

    Scores that the rows do not define are NaN. A decision adds scores of its class.
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
    scores = {
        "accuracy": metrics.accuracy_score(y, labels),
        "balanced accuracy": np.mean(recalls),
        "log-loss": metrics.log_loss(y, predictions, labels=classes),
        "ROC AUC": auc,
    }
    if decision is not None:
        scores |= _scores_of_class(y, predictions, classes, decision)
    return scores


def _scores_of_class(
    y: np.ndarray, probabilities: np.ndarray, classes: np.ndarray, decision: Decision
) -> dict[str, float]:
    is_positive = y == classes[decision.column]
    average_precision = np.nan
    f1 = np.nan
    if is_positive.any():
        average_precision = metrics.average_precision_score(
            is_positive, probabilities[:, decision.column]
        )
        predicted = decision.predict(probabilities, classes) == classes[decision.column]
        f1 = metrics.f1_score(is_positive, predicted)
    scores = {"average precision": average_precision}
    return scores if decision.threshold is None else {**scores, "F1 at the threshold": f1}


def scores_by_class(
    y: np.ndarray, probabilities: np.ndarray, predicted: np.ndarray, classes: np.ndarray
) -> list[dict[str, object]]:
    """Precision, recall, F1 and average precision of each class, as rows of a table."""
    precision, recall, f1, n_rows = metrics.precision_recall_fscore_support(
        y, predicted, labels=classes, zero_division=0
    )
    return [
        {
            "class": str(label),
            "rows": int(n_rows[k]),
            "predicted": int(np.sum(predicted == label)),
            "precision": float(precision[k]),
            "recall": float(recall[k]),
            "F1": float(f1[k]),
            "average precision": (
                float(metrics.average_precision_score(y == label, probabilities[:, k]))
                if n_rows[k]
                else np.nan
            ),
        }
        for k, label in enumerate(classes)
    ]


def intervals(
    y: np.ndarray,
    predictions: np.ndarray,
    classes: np.ndarray | None = None,
    *,
    decision: Decision | None = None,
    groups: np.ndarray | None = None,  # groups of rows that are drawn together
    n_folds: int = 1,  # folds of the cross-validation; 1 if one part was held out
) -> dict[str, tuple[float, float]]:
    """95 % intervals of scores on new units, which are rows or groups, from bootstrap errors.

    Intervals are symmetric for the logarithm of a loss, of 1 - R2, or of the odds of a share,
    since losses of few units are skewed. Scores of folds vary more than scores of independent
    rows, because folds train on each other's rows: variances of cross-validation get the factor of
    C. Nadeau and Y. Bengio (Machine Learning 52, 2003). In 200 studies each of 20 and 40 groups of
    five rows, with two models, the intervals covered 0.92 to 0.99 of the scores on new groups.

    If there are many rows, draws are smaller than the table, and errors are scaled to its size.
    """
    if classes is not None:  # comparing text takes most of the time
        y = np.searchsorted(classes, y)
        classes = np.arange(len(classes))
    units = [np.array([row]) for row in range(len(y))]
    if groups is not None:
        _, numbers = np.unique(groups, return_inverse=True)
        units = np.split(np.argsort(numbers, kind="stable"), np.cumsum(np.bincount(numbers))[:-1])
    rng = np.random.default_rng(0)  # a fixed seed, so that a fit has one report
    n_units = len(units)
    n_drawn = max(1, min(n_units, n_units * _MAX_DRAWN_ROWS // len(y)))
    draws = [
        np.concatenate([units[unit] for unit in rng.integers(0, n_units, n_drawn)])
        for _ in range(N_DRAWS)
    ]
    drawn_scores = [evaluate(y[rows], predictions[rows], classes, decision) for rows in draws]
    scores_of_all = evaluate(y, predictions, classes, decision)
    reach_of_deviation = _reach(n_units, n_folds) * np.sqrt(n_drawn / n_units)
    limits = {}
    for name in directions(classes, decision):
        values = np.array([scores[name] for scores in drawn_scores])
        values = values[np.isfinite(values)]
        reach = reach_of_deviation * values.std() if len(values) else np.nan
        limits[name] = _interval(name, scores_of_all[name], reach, n_units)
    return limits


def _reach(n_units: int, n_folds: int) -> float:
    """Half of an interval, for a standard deviation of 1 over draws of all units."""
    if n_units < 2:
        return 0.0
    # Draws vary less than new units would.
    variance = n_units / (n_units - 1)
    if n_folds > 1:
        variance *= 1 + n_folds / (n_folds - 1)
    return float(stats.t.ppf(1 - _TAIL, n_units - 1) * np.sqrt(variance))


def _interval(name: str, score: float, reach: float, n_units: int) -> tuple[float, float]:
    """Limits that are `reach` from the score, up to the curvature of its scale."""
    if name == "R2":
        low, high = _interval("RMSE", 1 - score, reach, n_units)
        return 1 - high, 1 - low
    if name in _LOSSES:
        with np.errstate(over="ignore"):
            factor = float(exp(reach / score)) if score else 1.0
        return float(score / factor), float(score * factor)
    if not reach > _LAST_BITS:
        # Draws of faultless shares are faultless. A share that is lower than this one has no fault
        # in so many units with a probability below 0.025 (C. Clopper and E. Pearson, 1934).
        bound = _TAIL ** (1 / n_units)
        lowest = bound if score > 1 - _LAST_BITS else score
        highest = 1 - bound if score < _LAST_BITS else score
        return float(lowest), float(highest)
    reach_of_logit = reach / (score * (1 - score))
    low, high = special.expit(special.logit(score) + np.array([-1, 1]) * reach_of_logit)
    return float(low), float(high)


def baseline_predictions(
    y_train: np.ndarray, n_rows: int, classes: np.ndarray | None
) -> np.ndarray:
    """Predictions without features: the shares of the classes, or the mean of the targets."""
    no_features = np.zeros((len(y_train), 1))
    if classes is None:
        return DummyRegressor().fit(no_features, y_train).predict(np.zeros((n_rows, 1)))
    dummy = DummyClassifier(strategy="prior").fit(no_features, y_train)
    return dummy.predict_proba(np.zeros((n_rows, 1)))
