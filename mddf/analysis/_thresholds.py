"""Thresholds of the probability of a class, chosen from probabilities of held-out rows."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real

import numpy as np
import numpy.typing as npt
from sklearn.metrics import precision_recall_curve
from sklearn.utils.validation import check_consistent_length, column_or_1d

from mddf._base.messages import short
from mddf._targets.target_validation import all_weights


@dataclass(frozen=True)
class Threshold:
    """A threshold of the probability of a class, and its scores on the rows that chose it.

    Attributes
    ----------
    value : float
        Rows with at least this probability are predicted to be of the class.
    precision : float
        Share of the flagged rows that are of the class.
    recall : float
        Share of the rows of the class that are flagged.
    f1 : float
        Harmonic mean of both.

    Examples
    --------
    >>> from mddf.analysis import Threshold
    >>> Threshold(0.3, precision=0.5, recall=1.0).f1
    0.6666666666666666
    """

    value: float
    precision: float
    recall: float

    @property
    def f1(self) -> float:
        """Harmonic mean of precision and recall."""
        total = self.precision + self.recall
        return 2 * self.precision * self.recall / total if total > 0 else 0.0


def choose_threshold(
    y_true: npt.ArrayLike,
    probabilities: npt.ArrayLike,
    *,
    pos_label: object = None,
    min_precision: float | None = None,
    min_recall: float | None = None,
    sample_weight: npt.ArrayLike | None = None,
) -> Threshold:
    """Choose the threshold of a class from its probabilities, by default for the best F1.

    The probabilities must be of rows that the model was not fitted to, such as
    ``oof_probabilities_`` of a deep forest or the result of scikit-learn's `cross_val_predict`.
    Scikit-learn's `FixedThresholdClassifier` applies the threshold to a model;
    `TunedThresholdClassifierCV` chooses one by fits of its own.

    Parameters
    ----------
    y_true : array of shape (n_rows,)
        Labels of two classes.
    probabilities : array of shape (n_rows,)
        Probability of `pos_label`.
    pos_label : label, default=None
        Class that rows are flagged for. None means the greater label, as in scikit-learn.
    min_precision : float, default=None
        Take the threshold with the highest recall that has at least this precision.
    min_recall : float, default=None
        Take the threshold with the highest precision that has at least this recall.
    sample_weight : array of shape (n_rows,), default=None
        Weights of the rows, not negative. Rows of weight 0 are left out.

    Returns
    -------
    Threshold
        In the middle between the lowest probability that is flagged and the next lower one.

    Examples
    --------
    >>> from mddf.analysis import choose_threshold
    >>> choose_threshold([0, 0, 1, 0, 1], [0.1, 0.2, 0.4, 0.6, 0.8])
    Threshold(value=0.30000000000000004, precision=0.6666666666666666, recall=1.0)
    >>> choose_threshold([0, 0, 1, 0, 1], [0.1, 0.2, 0.4, 0.6, 0.8], min_precision=0.9).recall
    0.5
    """
    labels = column_or_1d(y_true)
    scores = column_or_1d(probabilities, dtype=np.float64)
    check_consistent_length(labels, scores)
    is_infinite = ~np.isfinite(scores)
    if is_infinite.any():
        row = int(is_infinite.argmax())
        raise ValueError(
            "probabilities must be finite: leave rows without a probability out; got "
            f"{scores[row]} in row {row}"
        )
    is_outside = (scores < 0) | (scores > 1)
    if is_outside.any():
        row = int(is_outside.argmax())
        raise ValueError(f"probabilities must lie between 0 and 1, got {scores[row]} in row {row}")
    weights = None
    if sample_weight is not None:
        weights = all_weights(sample_weight, len(labels))
        # Rows of weight 0 have no part in precision and recall.
        has_weight = weights > 0
        labels = labels[has_weight]
        scores = scores[has_weight]
        weights = weights[has_weight]
    classes = np.unique(labels)
    if len(classes) != 2:
        of_rows = "" if weights is None else " among the rows with a weight above 0"
        raise ValueError(f"y_true must have two classes{of_rows}, got {short(classes.tolist())}")
    positive = classes[1] if pos_label is None else pos_label
    if positive not in classes.tolist():
        raise ValueError(
            f"pos_label must be a label of y_true, {short(classes.tolist())}, got "
            f"{short(positive)}"
        )
    limits = {"min_precision": min_precision, "min_recall": min_recall}
    for name, limit in limits.items():
        if limit is not None and not (isinstance(limit, Real) and 0 < limit <= 1):
            raise ValueError(f"{name} must lie above 0 and not above 1, got {short(limit)}")
    if min_precision is not None and min_recall is not None:
        raise ValueError("min_precision and min_recall cannot be used together, got both")
    precision, recall, thresholds = precision_recall_curve(
        labels == positive, scores, sample_weight=weights
    )
    # The last point of the curve has no threshold: nothing is flagged.
    precision = precision[:-1]
    recall = recall[:-1]
    if min_precision is not None:
        best = _best(recall, precision, precision >= min_precision)
    elif min_recall is not None:
        best = _best(precision, recall, recall >= min_recall)
    else:
        sums = np.maximum(precision + recall, np.finfo(float).tiny)
        best = _best(2 * precision * recall / sums, precision, np.ones(len(recall), bool))
    if best is None:
        raise ValueError(
            f"min_precision must be at most {precision.max():.4g}, the highest precision of these "
            f"rows, got {min_precision}"
        )
    return Threshold(
        _between(thresholds, best), precision=float(precision[best]), recall=float(recall[best])
    )


def _best(score: np.ndarray, second: np.ndarray, allowed: np.ndarray) -> int | None:
    """Place of the best score; among equal ones, the best second score decides."""
    if not allowed.any():
        return None
    places = np.flatnonzero(allowed)
    return int(places[np.lexsort((second[places], score[places]))[-1]])


def _between(thresholds: np.ndarray, place: int) -> float:
    """Middle between a threshold and the next lower one; it flags the same rows."""
    threshold = float(thresholds[place])
    lower = float(thresholds[place - 1]) if place else 0.0
    middle = lower + (threshold - lower) / 2
    return middle if lower < middle <= threshold else threshold
