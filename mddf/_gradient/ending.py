"""Warnings about boosting that ends after a few trees, or at its limit."""

from __future__ import annotations

import numpy as np

from mddf._base.messages import warn
from mddf._gradient.dataset import Units
from mddf._gradient.options import BoostingParameters, is_auto
from mddf._gradient.rounds import N_ROUNDS, most_rounds

# At most as many trees count as a few: most of the loss is then left, at any default rate. Not
# tuned.
_FEW_TREES = 5
# Fewest rows for each unit for which equal rows are named as the reason. Not tuned.
_MIN_ROWS_PER_UNIT = 1.5
# The limit is named if the last `N_ROUNDS` trees have at least this share of the gain of all.
# Not tuned.
_MIN_LATE_GAIN = 0.001


def warn_of_copies(
    model: BoostingParameters, units: Units, scores: np.ndarray, n_trees: int
) -> None:
    """Warn if boosting stopped early after a few trees, and many rows were held out as copies."""
    n_rows = len(units.unit)
    has_stopped = len(scores) - 1 - n_trees >= model.n_iter_no_change
    has_copies = n_rows >= _MIN_ROWS_PER_UNIT * units.n_units
    if n_trees > _FEW_TREES or not has_stopped or not has_copies:
        return
    warn(
        f"boosting stopped after {n_trees} trees. The {n_rows} samples are copies of "
        f"{units.n_units} different ones, which were held out together, and more trees do not "
        "predict held-out ones better. If equal samples are independent observations, pass "
        "cv=KFold(5, shuffle=True)",
        kind="boosting stopped early since equal samples are held out together",
    )


def warn_of_limit(model: BoostingParameters, scores: np.ndarray, n_before: int) -> None:
    """Warn if the held-out score still improved when `max_iter="auto"` ended boosting."""
    n_grown = len(scores) - 1
    if n_grown < 1 or not is_auto(model, "max_iter") or not model.early_stopping:
        return
    limit = most_rounds(model, any_held_out=True)
    if n_before + n_grown < limit or n_grown - scores.argmax() >= model.n_iter_no_change:
        return
    # Without noise, losses fall forever by amounts that do not matter.
    late_gain = scores.max() - scores[: max(1, n_grown - N_ROUNDS)].max()
    if late_gain < _MIN_LATE_GAIN * (scores.max() - scores[0]):
        return
    warn(
        f"boosting ended at {limit} trees, the limit of max_iter='auto', while the score of "
        "held-out samples still improved. Pass a larger max_iter or learning_rate",
        kind="boosting ended at the limit of max_iter",
    )
