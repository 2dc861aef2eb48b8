"""What a deep forest tries with a few trees before it grows many."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone

from mddf import _growing
from mddf._members import Member, Training, grow_forests
from mddf._rules import Emphasis, Evidence
from mddf._sampling import mean_error, n_counted

# Of the margins' loss: those of `MDDFClassifier`.
TARGET_MARGIN, MU = 0.9, 0.1
_STRENGTHS = (0.0, 0.25, 1.0)
_TREES = 40
_TREES_OF_A_FOLD = 15  # about as many as do not draw a sample
_FEWEST_ROWS = 50


def _pilot_losses(forest, training: Training, columns, emphasis, entropy, **options):
    """Losses of all samples, by trees of a forest that did not see them, as sharp as is best.

    Trees of all samples that did not draw one; trees of the folds, where a sample's group must
    not have been drawn either.
    """
    goal, row = training.goal, training.weights.row
    if training.out_of_bag:
        drawn_by = row if emphasis is None else emphasis * (1 if row is None else row)
        order = training.order
        judged = [order if drawn_by is None else order[drawn_by[order] > 0]]
        parts: Any = [(training.everything, _growing.OUT_OF_BAG)]
        changes: dict = {"bootstrap": True, "n_estimators": min(_TREES, forest.n_estimators)}
    else:
        judged, parts = [held_out for _, held_out in training.folds], training.folds
        changes = {"n_estimators": min(_TREES_OF_A_FOLD, forest.n_estimators)}
    pilot = Member("pilot", clone(forest).set_params(**changes), None)
    (grown,) = grow_forests(
        [pilot], training, columns, emphasis, entropy, parts=parts, keep=False, **options
    )
    assert grown[0].sums is not None
    sums = np.zeros((len(training.order), grown[0].sums.shape[1]))
    n_trees = np.zeros(len(sums))
    for rows, of_part in zip(judged, grown, strict=True):
        sums[rows] += of_part.sums
        n_trees[rows] += of_part.n_trees
    forecasts = np.full((len(sums), goal.n_columns), goal.ignorance)
    seen = n_trees > 0
    forecasts[seen] = goal.means(sums[seen], n_trees[seen])
    return goal.least_losses(forecasts, weight=row)


def _choose(losses: list[np.ndarray], weight) -> int:
    """The least mean loss, if it is better than the first one by more than its error."""
    best = int(np.argmin([np.average(of_one, weights=weight) for of_one in losses]))
    gains = losses[0] - losses[best]
    error = mean_error(gains, weight, n_counted(len(gains), weight))
    return best if np.average(gains, weights=weight) > error else 0


def choose_options(forest, trials: list[dict], training: Training, columns, entropy, **options):
    """The options of a forest that its losses on unseen samples favour.

    The first ones if there are few rows; others have to be better by more than one standard error.
    """
    if len(training.order) < _FEWEST_ROWS:
        return trials[0]
    losses = [
        _pilot_losses(
            clone(forest).set_params(**trial), training, columns, None, entropy, **options
        )
        for trial in trials
    ]
    return trials[_choose(losses, training.weights.row)]


def choose_emphasis(
    forest, training: Training, columns, margins, entropy, **options
) -> tuple[float, np.ndarray | None]:
    """How strongly a layer is to draw samples by the losses of their margins.

    Returns
    -------
    strength : float
    emphasis : ndarray of shape (n_samples,) or None
        Factors of the samples' weights.
    """
    row = training.weights.row
    evidence = Evidence(margins[:, None], np.empty(0), row, training.order, ())
    factors = [
        Emphasis(TARGET_MARGIN, MU, strength)(evidence, np.ones(1)) if strength else None
        for strength in _STRENGTHS
    ]
    losses = [
        _pilot_losses(forest, training, columns, emphasis, entropy, **options)
        for emphasis in factors
    ]
    chosen = _choose(losses, row)
    return _STRENGTHS[chosen], factors[chosen]
