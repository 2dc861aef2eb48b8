"""What a cascade's out-of-fold predictions are scored by."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from math import isfinite, nan

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.metrics import get_scorer

from mddf._margin_loss import class_margins, margin_ratio
from mddf._validation import naming

MARGIN_RATIO = "margin-ratio"


class OutOfFold(ClassifierMixin, BaseEstimator):
    """Stands in for a classifier whose out-of-fold probabilities are known: they are its X."""

    def __init__(self, classes):
        self.classes = classes

    @property
    def classes_(self):
        """The classes."""
        return self.classes

    def predict_proba(self, X):
        """X itself."""
        return X

    def predict(self, X):
        """The class of the largest probability."""
        return self.classes[X.argmax(axis=1)]


def needed_gain(tol, scoring) -> Callable[[float], float]:
    """A function from the best score so far to by how much the next one must exceed it.

    Parameters
    ----------
    tol : float or "auto"
        A number as it is. "auto" knows the scale: 0.01 for the margin ratio, and of other scores a
        hundredth of what the best one lacks: of 1 if it is between 0 and 1, else of 0.
    scoring : str, callable or None
    """
    if tol != "auto":
        return lambda best: tol
    if isinstance(scoring, str) and scoring == MARGIN_RATIO:
        return lambda best: 0.01
    return lambda best: 0.01 * (1 - best if 0 <= best <= 1 else abs(best))


def out_of_fold_score(scoring, classes, labels, sample_weight) -> Callable[[np.ndarray], float]:
    """A function that scores out-of-fold probabilities, larger if better.

    Parameters
    ----------
    scoring : str, callable or None
        "margin-ratio", a scorer of scikit-learn's, or None for accuracy.
    classes : ndarray of shape (n_classes,)
    labels : ndarray of int of shape (n_samples,)
    sample_weight : ndarray of shape (n_samples,) or None
    """
    if scoring == MARGIN_RATIO:
        return lambda probabilities: (
            -margin_ratio(class_margins(probabilities, labels), sample_weight)
        )
    scorer = get_scorer("accuracy" if scoring is None else scoring)
    options = {}
    if sample_weight is not None and "sample_weight" in inspect.signature(scorer).parameters:
        options["sample_weight"] = sample_weight
    stand_in = OutOfFold(classes)
    y = classes[labels]

    def score(probabilities):
        with naming("scoring"):
            value = scorer(stand_in, probabilities, y, **options)
        try:
            number = float(value)
        except (TypeError, ValueError):
            number = nan
        if not isfinite(number):
            raise ValueError(f"scoring must give a finite number, got {value!r} from {scoring!r}")
        return number

    return score
