"""Scores of out-of-fold probabilities: scikit-learn's scorers, and the margin ratio."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from mddf._fitted.scoring import ALL, Classes, Rows, Scoring, out_of_fold_score
from mddf._layers.margin_loss import class_margins, margin_ratio

MARGIN_RATIO = "margin-ratio"


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
