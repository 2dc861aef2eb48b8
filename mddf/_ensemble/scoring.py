"""Scores of a cascade's out-of-fold predictions."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from math import isfinite, nan
from typing import TypeAlias

import numpy as np
from sklearn import metrics
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.metrics import get_scorer

from mddf._base.messages import short
from mddf._base.validation import naming
from mddf._ensemble.blending import by_output
from mddf._ensemble.margin_loss import class_margins, margin_ratio
from mddf._targets.class_outputs import decode_labels, subset_accuracy

MARGIN_RATIO = "margin-ratio"
LOG_LOSS = "neg_log_loss"
# Classes of one output, or of several ones.
Classes: TypeAlias = np.ndarray | list[np.ndarray]
Rows: TypeAlias = np.ndarray | slice
Scoring: TypeAlias = str | Callable[..., float] | None
_ALL = slice(None)
# Blocks of the jackknife of `OneSEStopper`: enough for a standard error, at 20 scores for each
# layer. Not tuned.
_N_BLOCKS = 20
# Scores of the probabilities of one output: scikit-learn takes several labels for classes that
# exclude each other, and returns a number that means nothing.
_OF_ONE_OUTPUT = tuple(
    getattr(metrics, name)
    for name in ("log_loss", "brier_score_loss", "d2_log_loss_score", "d2_brier_score")
    if hasattr(metrics, name)
)


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
        """Return the class of the largest probability."""
        if not isinstance(self.classes, list):
            return self.classes[X.argmax(axis=1)]
        numbers = [probabilities.argmax(axis=1) for probabilities in self.predict_proba(X)]
        return decode_labels(self.classes, numbers)


def needed_gain(tol: float | str, scoring: Scoring) -> Callable[[float], float]:
    """Function from the best score so far to the gain that the next one needs.

    A number `tol` is the gain. "auto" is 0.01 for the margin ratio, and for other scores a
    hundredth of the distance from the best score to 1, or to 0 if it is not between 0 and 1.
    """
    if not isinstance(tol, str):
        return lambda best: tol
    if isinstance(scoring, str) and scoring == MARGIN_RATIO:
        return lambda best: 0.01
    return lambda best: 0.01 * (1 - best if 0 <= best <= 1 else abs(best))


def out_of_fold_score(
    scoring: Scoring, classes: Classes, labels: np.ndarray, sample_weight: np.ndarray | None
) -> Callable[..., float]:
    """Function that scores out-of-fold probabilities, larger if better.

    Its optional second argument is the rows of the probabilities. `scoring` is "margin-ratio", a
    scorer of scikit-learn, or None for accuracy; `classes` is a list if there are several outputs.
    """

    def weights(rows: Rows) -> np.ndarray | None:
        return None if sample_weight is None else sample_weight[rows]

    several = isinstance(classes, list)
    y = decode_labels(classes, labels.T) if isinstance(classes, list) else classes[labels]
    if scoring == MARGIN_RATIO and several:
        raise ValueError(f"scoring={scoring!r} is for classes of one output, got {len(classes)}")
    if scoring == MARGIN_RATIO:
        return lambda probabilities, rows=_ALL: (
            -margin_ratio(class_margins(probabilities, labels[rows]), weights(rows))
        )
    if scoring in (None, "accuracy") and not several:
        # The same as scikit-learn's scorer, without its checks, which take longer than the score.
        return lambda probabilities, rows=_ALL: float(
            np.average(probabilities.argmax(axis=1) == labels[rows], weights=weights(rows))
        )
    if scoring in (None, "accuracy"):
        return lambda probabilities, rows=_ALL: subset_accuracy(
            y[rows], OutOfFold(classes).predict(probabilities), weights(rows)
        )
    scorer = get_scorer(scoring)
    if several and getattr(scorer, "_score_func", None) in _OF_ONE_OUTPUT:
        raise ValueError(
            f"scoring={short(scoring)} is for classes of one output, got {len(classes)} outputs; "
            f"{LOG_LOSS!r} of deep forests is the mean over outputs"
        )
    weighed = sample_weight is not None and "sample_weight" in inspect.signature(scorer).parameters
    stand_in = OutOfFold(classes)

    def score(probabilities: np.ndarray, rows: Rows = _ALL) -> float:
        options = {"sample_weight": weights(rows)} if weighed else {}
        with naming("scoring"):
            value = scorer(stand_in, probabilities, y[rows], **options)
        return finite_score(value, scoring)

    return score


def finite_score(value: object, scoring: Scoring) -> float:
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


def score_on_rows(
    score: Callable[..., float], rows: np.ndarray, n_samples: int
) -> Callable[..., float]:
    """A score of `out_of_fold_score` that leaves out all samples but some."""
    is_scored = np.zeros(n_samples, bool)
    is_scored[rows] = True

    def score_of_known(probabilities: np.ndarray, rows_of_probabilities: Rows = _ALL) -> float:
        numbers = np.arange(n_samples)[rows_of_probabilities]
        known = is_scored[numbers]
        return score(probabilities[known], numbers[known])

    return score_of_known


class OneSEStopper:
    """Finds the fewest layers whose score is below the best one by no more than its error.

    The error of a difference of two scores is estimated by a jackknife: samples are cut into
    blocks, and each block in turn is counted twice. Nothing is left out, so that no class is ever
    missing, whatever the scorer. If scores are means, this is the usual standard error between
    blocks. Samples with the same number in `units`, such as samples of a group, share a block.
    """

    def __init__(self, score: Callable[..., float], units: np.ndarray) -> None:
        _, blocks = np.unique(units % _N_BLOCKS, return_inverse=True)
        all_rows = np.arange(len(blocks))
        self.score = score
        self.n_rows = len(blocks)
        self.rows = [np.append(all_rows, all_rows[blocks == i]) for i in range(blocks.max() + 1)]
        self.scores: list[float] = []
        self.repeats: list[np.ndarray] = []  # scores with each block in turn counted twice

    def add(self, probabilities: np.ndarray, score: float) -> None:
        """Add the probabilities up to the next layer, and their score."""
        self.scores.append(score)
        self.repeats.append(
            np.array([self.score(probabilities[rows], rows) for rows in self.rows])
        )

    def below(self, best: int) -> int:
        """First layer, numbered from 0, whose score is within the error of the best one."""
        n = len(self.rows)
        growth = np.array([len(rows) / self.n_rows for rows in self.rows])
        for number in range(best):
            if self.scores[number] == self.scores[best]:  # both may be infinite
                return number
            loss = self.scores[best] - self.scores[number]
            with np.errstate(invalid="ignore"):
                changes = self.repeats[best] - self.repeats[number] - loss
            if loss <= np.sqrt(np.square(growth * changes).sum() * n / max(1, n - 1)):
                return number
        return best
