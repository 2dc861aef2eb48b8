"""Measures of several labels, and confidences that belong to them.

Labels are 0 or 1 and probabilities between 0 and 1, both of shape (n_rows, n_labels). A measure is
a mean over rows or over labels, and has a confidence for each of them: its expected value if the
labels were independent and had these probabilities [1]_.

References
----------
.. [1] L. Yang, X.-Z. Wu, Y. Jiang and Z.-H. Zhou, "Multi-label learning with deep forest",
   ECAI 2020, table 2.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from sklearn.metrics import roc_auc_score

from mddf._base.elementary import exp, log


@dataclass(frozen=True)
class RowMeasure:
    """Measure that is a mean over rows."""

    # From labels and probabilities to the loss of each row.
    losses: Callable[[np.ndarray, np.ndarray], np.ndarray]
    # From probabilities to the confidence of each row.
    confidence: Callable[[np.ndarray], np.ndarray]
    best: float = 0.0  # value of the measure at loss 0

    def mean_loss(
        self, labels: np.ndarray, probabilities: np.ndarray, weight: np.ndarray | None
    ) -> float:
        """Weighted mean over rows."""
        return float(np.average(self.losses(labels, probabilities), weights=weight))


@dataclass(frozen=True)
class ColumnMeasure:
    """Measure that is a mean over labels."""

    # From labels, probabilities and weights of the rows to the loss of each label; NaN if the
    # measure is not defined for a label.
    losses: Callable[[np.ndarray, np.ndarray, np.ndarray | None], np.ndarray]
    # From probabilities and weights to the logarithm of the confidence in each label.
    log_confidence: Callable[[np.ndarray, np.ndarray | None], np.ndarray]
    best: float = 0.0  # value of the measure at loss 0

    def mean_loss(
        self, labels: np.ndarray, probabilities: np.ndarray, weight: np.ndarray | None
    ) -> float:
        """Mean over the labels for which the measure is defined; 0 if there is none."""
        losses = self.losses(labels, probabilities, weight)
        is_defined = ~np.isnan(losses)
        return float(losses[is_defined].mean()) if is_defined.any() else 0.0


def _hamming_losses(
    labels: np.ndarray, probabilities: np.ndarray, weight: np.ndarray | None
) -> np.ndarray:
    return np.average((probabilities > 0.5) != (labels > 0.5), axis=0, weights=weight)


def _hamming_log_confidence(probabilities: np.ndarray, weight: np.ndarray | None) -> np.ndarray:
    """Expected share of rows in which a label is right."""
    return log(np.average(np.maximum(probabilities, 1 - probabilities), axis=0, weights=weight))


def _auc_losses(
    labels: np.ndarray, probabilities: np.ndarray, weight: np.ndarray | None
) -> np.ndarray:
    if weight is not None:
        has_weight = weight > 0
        labels = labels[has_weight]
        probabilities = probabilities[has_weight]
        weight = weight[has_weight]
    losses = np.full(labels.shape[1], np.nan)
    for number in np.flatnonzero(labels.min(axis=0) < labels.max(axis=0)):
        area = roc_auc_score(labels[:, number], probabilities[:, number], sample_weight=weight)
        losses[number] = 1 - area
    return losses


def _auc_log_confidence(probabilities: np.ndarray, weight: np.ndarray | None) -> np.ndarray:
    """Logarithm of the probability that all rows are ranked correctly, for each label.

    The probability itself would vanish in double precision for some hundred rows. Rows without
    weight are left out; other weights do not count.
    """
    if weight is not None:
        probabilities = probabilities[weight > 0]
    descending = -np.sort(-probabilities, axis=0)
    no_row = np.zeros((1, probabilities.shape[1]))
    # A ranking is correct if the first rows have the label and the other rows do not.
    first_have_it = np.vstack([no_row, np.cumsum(log(descending), axis=0)])
    others_lack_it = np.vstack([np.cumsum(log(1 - descending)[::-1], axis=0)[::-1], no_row])
    terms = first_have_it + others_lack_it
    largest = terms.max(axis=0)
    return largest + log(exp(terms - largest).sum(axis=0))


def _one_errors(labels: np.ndarray, probabilities: np.ndarray) -> np.ndarray:
    most_probable = probabilities.argmax(axis=1)
    return (labels[np.arange(len(labels)), most_probable] < 0.5).astype(float)


def _largest_probability(probabilities: np.ndarray) -> np.ndarray:
    return probabilities.max(axis=1)


@dataclass(frozen=True)
class _Ranks:
    """Ranks of each row's labels by probability; labels of equal probability share the last one.

    All arrays have the shape (n_rows, n_labels).
    """

    relevant: np.ndarray  # mask of the labels that a row has
    rank: np.ndarray  # number of labels that are at least as probable
    relevant_rank: np.ndarray  # the same among the labels that a row has

    @classmethod
    def from_probabilities(cls, labels: np.ndarray, probabilities: np.ndarray) -> _Ranks:
        relevant = labels > 0.5
        rank = np.empty(labels.shape)
        relevant_rank = np.empty(labels.shape)
        for number in range(labels.shape[1]):
            at_least = probabilities >= probabilities[:, [number]]
            rank[:, number] = at_least.sum(axis=1)
            relevant_rank[:, number] = (at_least & relevant).sum(axis=1)
        return cls(relevant, rank, relevant_rank)


def _coverages(labels: np.ndarray, probabilities: np.ndarray) -> np.ndarray:
    """Steps down the ranking to the last label that a row has, divided by the number of labels."""
    ranks = _Ranks.from_probabilities(labels, probabilities)
    last = np.where(ranks.relevant, ranks.rank, 0).max(axis=1)
    return (last - 1) / labels.shape[1]


def _coverage_confidence(probabilities: np.ndarray) -> np.ndarray:
    """One minus the expected rank of the last label that a row has, divided by their number."""
    descending, others_lack_it = _descending(probabilities)
    n_labels = probabilities.shape[1]
    positions = np.arange(1, n_labels + 1)
    expected = (positions * descending * others_lack_it[:, 1:]).sum(axis=1)
    return 1 - expected / n_labels


def _ranking_losses(labels: np.ndarray, probabilities: np.ndarray) -> np.ndarray:
    """Share of the pairs of a label that a row has and one that it lacks in the wrong order."""
    ranks = _Ranks.from_probabilities(labels, probabilities)
    n_relevant = ranks.relevant.sum(axis=1)
    n_pairs = n_relevant * (labels.shape[1] - n_relevant)
    n_wrong = np.where(ranks.relevant, ranks.rank - ranks.relevant_rank, 0).sum(axis=1)
    return n_wrong / np.maximum(n_pairs, 1)


def _precision_losses(labels: np.ndarray, probabilities: np.ndarray) -> np.ndarray:
    """One minus the average precision; 0 for rows that have no label."""
    ranks = _Ranks.from_probabilities(labels, probabilities)
    precisions = np.where(ranks.relevant, ranks.relevant_rank / ranks.rank, 0)
    n_relevant = ranks.relevant.sum(axis=1)
    return np.where(n_relevant > 0, 1 - precisions.sum(axis=1) / np.maximum(n_relevant, 1), 0.0)


def _ranking_confidence(probabilities: np.ndarray) -> np.ndarray:
    """Probability that exactly the labels of a row come first in the ranking."""
    descending, others_lack_it = _descending(probabilities)
    first_have_it = np.ones_like(others_lack_it)
    np.cumprod(descending, axis=1, out=first_have_it[:, 1:])
    return (first_have_it * others_lack_it).sum(axis=1)


def _descending(probabilities: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Probabilities in descending order, and the chance to lack all labels after the first j.

    The second array has the shape (n_rows, n_labels + 1), for j from 0 to n_labels.
    """
    descending = -np.sort(-probabilities, axis=1)
    others_lack_it = np.ones((len(probabilities), probabilities.shape[1] + 1))
    others_lack_it[:, :-1] = np.cumprod(1 - descending[:, ::-1], axis=1)[:, ::-1]
    return descending, others_lack_it


MEASURES: dict[str, RowMeasure | ColumnMeasure] = {
    "hamming-loss": ColumnMeasure(_hamming_losses, _hamming_log_confidence),
    "one-error": RowMeasure(_one_errors, _largest_probability),
    "coverage": RowMeasure(_coverages, _coverage_confidence),
    "ranking-loss": RowMeasure(_ranking_losses, _ranking_confidence),
    "average-precision": RowMeasure(_precision_losses, _ranking_confidence, best=1.0),
    "macro-auc": ColumnMeasure(_auc_losses, _auc_log_confidence, best=1.0),
}


def measure_value(
    name: str, labels: np.ndarray, probabilities: np.ndarray, weight: np.ndarray | None = None
) -> float:
    """Value of a measure as it is published: a loss, or an average precision or area."""
    measure = MEASURES[name]
    loss = measure.mean_loss(labels, probabilities, weight)
    return measure.best - loss if measure.best else loss
