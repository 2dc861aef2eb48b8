"""Conformal prediction: thresholds for new rows from out-of-fold scores, and sets of classes."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from mddf._base.messages import short, warn
from mddf._base.serialization import register_serializable
from mddf._base.validation import Within
from mddf._targets.weights import n_counted

_COVERAGE = Within(Real, 0, 1, closed="neither")


def check_coverage(coverage: float) -> float:
    """Check the share of new rows that is to be covered."""
    if coverage not in _COVERAGE:
        raise ValueError(f"coverage must be a number between 0 and 1, got {short(coverage)}")
    return float(coverage)


def counted(n_rows: int, weight: np.ndarray | None) -> np.ndarray:
    """Number of samples that each row stands for, from users' weights."""
    if weight is None:
        return np.ones(n_rows)
    return weight / weight.sum() * n_counted(n_rows, weight)


@register_serializable("conformal scores")
@dataclass(frozen=True)
class Scores:
    """Scores of rows with known targets, in ascending order; large scores are unusual."""

    values: np.ndarray
    weights: np.ndarray  # number of samples that each row stands for

    @classmethod
    def from_values(cls, values: np.ndarray, weights: np.ndarray) -> Scores:
        """Sort scores; see `counted` for the weights."""
        order = np.argsort(values, kind="stable")
        return cls(values[order], weights[order])

    @classmethod
    def joined(cls, parts: list[Scores]) -> Scores:
        """Join the scores of several kinds of rows."""
        values = np.concatenate([part.values for part in parts])
        return cls.from_values(values, np.concatenate([part.weights for part in parts]))

    @property
    def n(self) -> float:
        """Number of samples that the rows stand for."""
        return float(self.weights.sum())

    def threshold(self, coverage: float) -> float:
        """Smallest score that a new sample exceeds with probability at most 1 - coverage.

        Infinite if there are fewer than ``coverage / (1 - coverage)`` samples.
        """
        share = np.cumsum(self.weights)
        n_samples = share[-1] if len(share) else 0.0
        # The correction for a finite number of samples counts the new one. The tolerance keeps
        # rounding errors from skipping a sample.
        is_enough = share >= coverage * (n_samples + 1) * (1 - 1e-12)
        return float(self.values[np.argmax(is_enough)]) if is_enough.any() else np.inf


def warn_of_few(coverage: float, n: float, outcome: str, of_what: str = "") -> None:
    """Warn that there are too few samples for a coverage."""
    least = int(np.ceil(coverage / (1 - coverage) * (1 - 1e-12)))
    warn(
        f"coverage={coverage:g} needs at least {least} samples{of_what}, got {n:g}: {outcome}",
        kind=f"too few samples for coverage={coverage:g}",
    )


# Probabilities that differ by less are equal: out-of-fold averages and averages of new samples are
# summed up in different ways, so that their last bits differ.
_ROUNDING = 1e-12


def class_scores(
    probabilities: np.ndarray,
    labels: np.ndarray,
    weights: np.ndarray | None,
    *,
    rows: np.ndarray,
) -> list[Scores]:
    """1 - out-of-fold probability of the true class, for the samples of each class.

    Only `rows` have an out-of-fold probability.
    """
    labels = labels[rows]
    scores = 1 - probabilities[rows, labels]
    counts = counted(len(rows), None if weights is None else weights[rows])
    return [
        Scores.from_values(scores[labels == label], counts[labels == label])
        for label in range(probabilities.shape[1])
    ]


def predict_set(self: Any, X: Any, coverage: float = 0.9, *, by_class: bool = False) -> Any:
    """Prediction sets of classes with a given coverage.

    A class belongs to the set if its probability is at least the one that a share `coverage`
    of the training samples gave to their own class, out-of-fold, with the finite-sample
    correction of conformal prediction. These are the least ambiguous sets [1]_.

    Parameters
    ----------
    X : array, sparse matrix or data frame of shape (n_samples, n_features)
    coverage : float, default=0.9
        Between 0 and 1.
    by_class : bool, default=False
        Whether the coverage holds for the samples of every class, which then has a threshold
        of its own, and not only over all samples.

    Returns
    -------
    ndarray of bool of shape (n_samples, n_classes)
        Columns in the order of `classes_`; a list of these if there are several outputs, which
        are covered one by one. If the accuracy is above `coverage`, the sets of the least
        certain samples are empty: with their most probable class, the coverage would be too
        high.

    Warns
    -----
    UserWarning
        If there were fewer than ``coverage / (1 - coverage)`` training samples in all, or with
        `by_class` in a class. All classes, or this one, are then in every set.

    Notes
    -----
    Sets are not random: equal samples have equal sets. Sets that add up probabilities from the
    largest one (APS, RAPS) cover hard and easy samples more evenly, but they are larger on
    average, or need random numbers to be exact. For calibrated probabilities, the least
    ambiguous sets are the smallest sets with their coverage [1]_.

    As in `DeepForestRegressor.predict_interval`, training samples are evaluated by models that
    did not see them, and new samples need the same distribution as the training samples. With
    few groups, coverage falls short, as the page on groups and time says.

    References
    ----------
    .. [1] M. Sadinle, J. Lei and L. Wasserman, "Least ambiguous set-valued classifiers with
       bounded error levels", Journal of the American Statistical Association 114, 2019.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from mddf import DeepForestClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> forest = DeepForestClassifier(n_estimators=20, random_state=0).fit(X[::2], y[::2])
    >>> sets = forest.predict_set(X[1::2], coverage=0.95)
    >>> bool(sets[range(75), y[1::2]].mean() > 0.9)
    True
    """
    coverage = check_coverage(coverage)
    check_is_fitted(self)
    probabilities = self.predict_proba(X)
    if not isinstance(probabilities, list):
        return _sets(probabilities, self._scores, self.classes_, coverage, by_class)
    return [
        _sets(output_probabilities, scores, classes, coverage, by_class)
        for output_probabilities, scores, classes in zip(
            probabilities, self._scores, self.classes_, strict=True
        )
    ]


def _sets(
    probabilities: np.ndarray,
    scores: list[Scores],
    classes: np.ndarray,
    coverage: float,
    by_class: bool,
) -> np.ndarray:
    """The sets of one output."""
    parts = scores if by_class else [Scores.joined(scores)]
    thresholds = np.array([part.threshold(coverage) for part in parts])
    if np.isinf(thresholds).any():
        _warn_of_few_samples(coverage, parts, thresholds, classes if by_class else None)
    return 1 - probabilities <= thresholds + _ROUNDING


def _warn_of_few_samples(
    coverage: float, parts: list[Scores], thresholds: np.ndarray, classes: np.ndarray | None
) -> None:
    """Warn that there are too few samples in all, or of some classes."""
    if classes is None:
        warn_of_few(coverage, parts[0].n, "all classes are in every set")
        return
    few = np.flatnonzero(np.isinf(thresholds))
    smallest = min(few, key=lambda label: parts[label].n)
    name = short(classes.tolist()[smallest])
    outcome = f"{len(few)} of {len(parts)} classes are in every set"
    warn_of_few(coverage, parts[smallest].n, outcome, f" of class {name}")
