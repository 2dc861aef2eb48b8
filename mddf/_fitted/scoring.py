"""Scores of out-of-fold predictions."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from math import isfinite, nan
from typing import TypeAlias

import numpy as np
from sklearn import metrics
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.metrics import get_scorer

from mddf._base.messages import short
from mddf._base.validation import naming
from mddf._fitted.calibration import by_output
from mddf._targets.class_outputs import decode_labels, subset_accuracy

LOG_LOSS = "neg_log_loss"
# Classes of one output, or of several ones.
Classes: TypeAlias = np.ndarray | list[np.ndarray]
Rows: TypeAlias = np.ndarray | slice
Scoring: TypeAlias = str | Callable[..., float] | None
ALL = slice(None)
# Scores of the probabilities of one output: scikit-learn takes several labels for classes that
# exclude each other, and returns a number that means nothing.
_OF_ONE_OUTPUT = tuple(
    getattr(metrics, name)
    for name in ("log_loss", "brier_score_loss", "d2_log_loss_score", "d2_brier_score")
    if hasattr(metrics, name)
)


class Predictions(RegressorMixin, BaseEstimator):
    """Stand-in for a regressor with known predictions, which are its X."""

    def predict(self, X: np.ndarray) -> np.ndarray:
        return X


class OutOfFold(ClassifierMixin, BaseEstimator):
    """Stand-in for a classifier with known out-of-fold probabilities, which are its X."""

    def __init__(self, classes: Classes) -> None:
        self.classes = classes

    @property
    def classes_(self) -> Classes:
        return self.classes

    def predict_proba(self, X: np.ndarray) -> np.ndarray | list[np.ndarray]:
        """Return X, split by outputs if there are several."""
        if not isinstance(self.classes, list):
            return X
        return by_output(X, [len(classes) for classes in self.classes])

    def predict(self, X: np.ndarray) -> np.ndarray:
        if not isinstance(self.classes, list):
            return self.classes[X.argmax(axis=1)]
        numbers = [probabilities.argmax(axis=1) for probabilities in self.predict_proba(X)]
        return decode_labels(self.classes, numbers)


def out_of_fold_score(
    scoring: Scoring, classes: Classes, labels: np.ndarray, sample_weight: np.ndarray | None
) -> Callable[..., float]:
    """Function that scores out-of-fold probabilities, larger if better.

    Its optional second argument is the rows of the probabilities. `scoring` is a scorer of
    scikit-learn, or None for accuracy; `classes` is a list if there are several outputs.
    """

    def weights(rows: Rows) -> np.ndarray | None:
        return None if sample_weight is None else sample_weight[rows]

    several = isinstance(classes, list)
    y = decode_labels(classes, labels.T) if isinstance(classes, list) else classes[labels]
    if scoring in (None, "accuracy") and not several:
        # The same as scikit-learn's scorer, without its checks, which take longer than the score.
        return lambda probabilities, rows=ALL: float(
            np.average(probabilities.argmax(axis=1) == labels[rows], weights=weights(rows))
        )
    if scoring in (None, "accuracy"):
        return lambda probabilities, rows=ALL: subset_accuracy(
            y[rows], OutOfFold(classes).predict(probabilities), weights(rows)
        )
    scorer = get_scorer(scoring)
    if several and getattr(scorer, "_score_func", None) in _OF_ONE_OUTPUT:
        raise ValueError(
            f"scoring={short(scoring)} is for classes of one output, got {len(classes)} outputs; "
            f"{LOG_LOSS!r} of deep forests is the mean over outputs"
        )
    return _score_of_stand_in(scorer, scoring, OutOfFold(classes), y, sample_weight)


def regression_score(
    scoring: Scoring, y: np.ndarray, sample_weight: np.ndarray | None
) -> Callable[..., float]:
    """Function that scores predicted targets by a scorer of scikit-learn, None for R2."""
    scorer = get_scorer("r2" if scoring is None else scoring)
    return _score_of_stand_in(scorer, scoring, Predictions(), y, sample_weight)


def _score_of_stand_in(
    scorer: Callable[..., float],
    scoring: Scoring,
    stand_in: BaseEstimator,
    y: np.ndarray,
    sample_weight: np.ndarray | None,
) -> Callable[..., float]:
    """Function that scores predictions, which are the X of a stand-in; see `out_of_fold_score`."""
    weighed = sample_weight is not None and "sample_weight" in inspect.signature(scorer).parameters

    def score(predictions: np.ndarray, rows: Rows = ALL) -> float:
        options = {}
        if weighed:
            assert sample_weight is not None
            options["sample_weight"] = sample_weight[rows]
        try:
            with naming("scoring"):
                value = scorer(stand_in, predictions, y[rows], **options)
        except AttributeError as error:  # such as a missing predict_proba
            raise ValueError(
                f"scoring must be a scorer of predicted targets, got {short(scoring)}: {error}"
            ) from error
        return _finite_score(value, scoring)

    return score


def _finite_score(value: object, scoring: Scoring) -> float:
    """Convert the result of a scorer to a number; ValueError if it is not a finite one."""
    try:
        number = float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        number = nan
    if not isfinite(number):
        raise ValueError(
            f"scoring must give a finite number, got {short(value)} from {short(scoring)}"
        )
    return number
