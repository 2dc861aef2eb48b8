"""Scores of layers, by which cascades stop."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from mddf._fitted.scoring import ALL, Classes, Rows, Scoring, out_of_fold_score
from mddf._layers.margin_loss import class_margins, margin_ratio

MARGIN_RATIO = "margin-ratio"

# Blocks of the jackknife of `OneSEStopper`: enough for a standard error, at 20 scores for each
# layer. Not tuned.
_N_BLOCKS = 20


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


def score_on_rows(
    score: Callable[..., float], rows: np.ndarray, n_samples: int
) -> Callable[..., float]:
    """A score of `out_of_fold_score` that leaves out all samples but some."""
    is_scored = np.zeros(n_samples, bool)
    is_scored[rows] = True

    def score_of_known(probabilities: np.ndarray, rows_of_probabilities: Rows = ALL) -> float:
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


def layer_score(
    scoring: Scoring, classes: Classes, labels: np.ndarray, sample_weight: np.ndarray | None
) -> Callable[..., float]:
    """Function that scores out-of-fold probabilities as `out_of_fold_score`; or "margin-ratio"."""
    if not (isinstance(scoring, str) and scoring == MARGIN_RATIO):
        return out_of_fold_score(scoring, classes, labels, sample_weight)
    if isinstance(classes, list):
        raise ValueError(f"scoring={scoring!r} is for classes of one output, got {len(classes)}")
    return lambda probabilities, rows=ALL: (
        -margin_ratio(
            class_margins(probabilities, labels[rows]),
            None if sample_weight is None else sample_weight[rows],
        )
    )
