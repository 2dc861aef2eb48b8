"""What a cascade's out-of-fold predictions are scored by."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from math import isfinite, nan
from typing import Any

import numpy as np
from sklearn import metrics
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.metrics import get_scorer

from mddf._base.messages import short
from mddf._base.validation import naming
from mddf._ensemble.blending import by_output
from mddf._ensemble.margin_loss import class_margins, margin_ratio
from mddf._targets.class_outputs import named_classes, subset_accuracy

MARGIN_RATIO = "margin-ratio"
_ALL = slice(None)
_N_BLOCKS = 20
# Scores of the probabilities of one output: scikit-learn takes several labels for classes that
# exclude each other, and returns a number that means nothing.
_OF_ONE_OUTPUT = tuple(
    getattr(metrics, name)
    for name in ("log_loss", "brier_score_loss", "d2_log_loss_score", "d2_brier_score")
    if hasattr(metrics, name)
)


class OutOfFold(ClassifierMixin, BaseEstimator):
    """Stands in for a classifier whose out-of-fold probabilities are known: they are its X."""

    def __init__(self, classes: Any) -> None:
        self.classes = classes

    @property
    def classes_(self) -> Any:
        """The classes."""
        return self.classes

    def predict_proba(self, X: Any) -> Any:
        """X itself, or its parts by outputs."""
        if not isinstance(self.classes, list):
            return X
        return by_output(X, [len(of_one) for of_one in self.classes])

    def predict(self, X: Any) -> np.ndarray:
        """The class of the largest probability."""
        if not isinstance(self.classes, list):
            return self.classes[X.argmax(axis=1)]
        said = [part.argmax(axis=1) for part in self.predict_proba(X)]
        return named_classes(self.classes, said)


def needed_gain(tol: Any, scoring: Any) -> Callable[[float], float]:
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


def out_of_fold_score(
    scoring: Any, classes: Any, labels: np.ndarray, sample_weight: Any
) -> Callable[..., float]:
    """A function that scores out-of-fold probabilities, larger if better.

    Its second argument, if given, is the rows that the probabilities are of.

    Parameters
    ----------
    scoring : str, callable or None
        "margin-ratio", a scorer of scikit-learn's, or None for accuracy.
    classes : ndarray of shape (n_classes,), or a list of these
        Of several outputs a list.
    labels : ndarray of int of shape (n_samples,) or (n_samples, n_outputs)
    sample_weight : ndarray of shape (n_samples,) or None
    """

    def weights(rows: Any) -> Any:
        return None if sample_weight is None else sample_weight[rows]

    several = isinstance(classes, list)
    if scoring == MARGIN_RATIO and several:
        raise ValueError(f"scoring={scoring!r} is for classes of one output, got {len(classes)}")
    if scoring == MARGIN_RATIO:
        return lambda probabilities, rows=_ALL: (
            -margin_ratio(class_margins(probabilities, labels[rows]), weights(rows))
        )
    if scoring in (None, "accuracy") and not several:
        # What scikit-learn's scorer gives, without its checks.
        return lambda probabilities, rows=_ALL: float(
            np.average(probabilities.argmax(axis=1) == labels[rows], weights=weights(rows))
        )
    if scoring in (None, "accuracy"):
        named = named_classes(classes, labels.T)
        return lambda probabilities, rows=_ALL: subset_accuracy(
            named[rows], OutOfFold(classes).predict(probabilities), weights(rows)
        )
    scorer = get_scorer(scoring)
    if several and getattr(scorer, "_score_func", None) in _OF_ONE_OUTPUT:
        raise ValueError(
            f"scoring={short(scoring)} is for classes of one output, got {len(classes)} outputs; "
            "'log-loss' is the mean over outputs"
        )
    weighed = sample_weight is not None and "sample_weight" in inspect.signature(scorer).parameters
    stand_in = OutOfFold(classes)
    y = named_classes(classes, labels.T) if several else classes[labels]

    def score(probabilities: Any, rows: Any = _ALL) -> Any:
        options = {"sample_weight": weights(rows)} if weighed else {}
        with naming("scoring"):
            value = scorer(stand_in, probabilities, y[rows], **options)
        try:
            number = float(value)
        except (TypeError, ValueError):
            number = nan
        if not isfinite(number):
            raise ValueError(
                f"scoring must give a finite number, got {short(value)} from {short(scoring)}"
            )
        return number

    return score


class OneSEStopper:
    """Finds the fewest layers whose score is below the best one by no more than its error.

    How much the difference of two scores depends on which samples there are is seen by counting
    some of them twice: they are cut into blocks, and each of these in turn is. This is a
    jackknife that leaves nothing out, so that no class is ever missing, whatever the scorer. Of
    means it is the usual standard error between blocks.

    Parameters
    ----------
    score : callable
        From `out_of_fold_score`.
    units : ndarray of int of shape (n_samples,)
        Samples of the same number are in the same block: groups, or each on its own.
    """

    def __init__(self, score: Callable[..., float], units: np.ndarray) -> None:
        _, blocks = np.unique(units % _N_BLOCKS, return_inverse=True)
        every = np.arange(len(blocks))
        self.score, self.n_rows = score, len(blocks)
        self.rows = [np.append(every, every[blocks == i]) for i in range(blocks.max() + 1)]
        self.scores: list[float] = []
        self.repeats: list[np.ndarray] = []  # the same with each block in turn counted twice

    def add(self, probabilities: np.ndarray, score: float) -> None:
        """Take the next layer's probabilities and their score into account."""
        self.scores.append(score)
        self.repeats.append(
            np.array([self.score(probabilities[rows], rows) for rows in self.rows])
        )

    def below(self, best: int) -> int:
        """The first layer, from 0, that is within the error of the best one."""
        n = len(self.rows)
        growth = np.array([len(rows) / self.n_rows for rows in self.rows])
        for number in range(best):
            if self.scores[number] == self.scores[best]:  # infinite ones, too
                return number
            loss = self.scores[best] - self.scores[number]
            with np.errstate(invalid="ignore"):
                changes = self.repeats[best] - self.repeats[number] - loss
            if loss <= np.sqrt(np.square(growth * changes).sum() * n / max(1, n - 1)):
                return number
        return best
