"""Warnings about the course of boosting: divergence, an early end, its limit, no gain."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from mddf._base.messages import warn
from mddf._gradient.dataset import BoostingRows, Units
from mddf._gradient.losses import TargetKind
from mddf._gradient.options import is_auto, learning_rate_of, value_of
from mddf._gradient.rounds import N_ROUNDS, most_rounds
from mddf._gradient.training import Boosted
from mddf._input.table import Table

if TYPE_CHECKING:
    from mddf._gradient.base import GradientBoosting

# Factor by which the training loss may rise before fit warns of divergence. With targets that are
# noise and few rows drawn for each tree, it rises by some percent. Not tuned beyond that.
_DIVERGENCE = 1.5
# Fewest trees for this warning: if a single tree is grown on a few of about ten rows, the loss of
# the other rows can rise by more than that factor.
_FEWEST_TREES_TO_DIVERGE = 10
# At most as many trees count as a few: most of the loss is then left, at any default rate. Not
# tuned.
_FEW_TREES = 5
# Fewest rows for each unit for which equal rows are named as the reason. Not tuned.
_MIN_ROWS_PER_UNIT = 1.5
# The limit is named if the last `N_ROUNDS` trees have at least this share of the gain of all.
# Not tuned.
_MIN_LATE_GAIN = 0.001
# A column counts as different if nearly all validation rows, but at most half of the training
# rows, have its smallest or largest code. Bins have about equal numbers of training rows, so that
# a column that was shifted or scaled falls into the first and last bins. The second condition
# excludes columns in which most values are equal. Not tuned.
_MIN_SHARE_AT_ENDS = 0.9
_MAX_TRAINING_SHARE = 0.5
# Number of columns that a warning names, to keep it short.
_N_NAMED = 3


def warn_of_divergence(
    model: GradientBoosting, rows: BoostingRows, target: TargetKind, boosted: Boosted
) -> None:
    """Warn if the loss of the training rows ended far above the loss of a constant.

    Leaves are shortened so that the loss of the rows that a tree was grown on does not rise. If
    rows are drawn for each tree, the loss of the other rows still can.
    """
    n_trees = boosted.trees.n_trees
    if not len(boosted.train_scores) or n_trees < _FEWEST_TREES_TO_DIVERGE:
        return
    if target.objective is not None:
        return  # the least value of a custom loss is not known
    least = rows.least_loss(target)
    before = -boosted.train_scores[0] - least
    after = -boosted.train_scores[n_trees] - least
    if not after <= _DIVERGENCE * max(before, 0):
        n_rows = rows.n_rows_of_table
        rate = learning_rate_of(model, n_rows)
        subsample = value_of(model, "subsample", n_rows)
        warn(
            f"boosting diverged: the training loss rose from {before:.3g} to {after:.3g}, counted "
            f"from the least possible loss. Pass a smaller learning_rate, got {rate!r}, or a "
            f"larger subsample, got {subsample!r}",
            kind="boosting diverged",
        )


def warn_of_copies(
    model: GradientBoosting, units: Units, scores: np.ndarray, n_trees: int
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


def warn_of_limit(model: GradientBoosting, scores: np.ndarray, n_before: int) -> None:
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


def warn_of_no_gain(
    rows: BoostingRows, validation_scores: np.ndarray, training_scores: np.ndarray, table: Table
) -> None:
    """Warn if no round improves the validation score, although rounds improve the training score.

    The held-out `rows` are a validation set that was passed to fit; `table` has the names of
    columns.
    """
    if len(training_scores) < 2 or validation_scores.argmax() > 0:
        return
    if not training_scores[1:].max() > training_scores[0]:
        return
    different = columns_at_the_ends(rows)
    if len(different):
        places = ", ".join(f"column {table.place(c)}" for c in different[:_N_NAMED].tolist())
        reason = (
            f"X_val differs from X: at least {_MIN_SHARE_AT_ENDS:.0%} of its rows lie at the ends "
            f"of the training range in {len(different)} columns ({places}). Transform X_val as X"
        )
    else:
        reason = "X_val must be transformed as X is, and the features must tell about the target"
    warn(
        "no round improves the score of the validation set, so the model predicts a constant. "
        + reason,
        kind="no round improves the score of the validation set",
    )


def columns_at_the_ends(rows: BoostingRows) -> np.ndarray:
    """Find columns whose held-out rows lie at the ends of the range of training rows."""
    different = []
    for c in range(rows.table.bins.n_columns):
        codes = rows.table.column(c)
        train = codes[rows.train]
        held_out = codes[rows.held_out]
        lowest = train.min()
        highest = train.max()
        at_ends = np.mean((held_out <= lowest) | (held_out >= highest))
        of_training = np.mean((train == lowest) | (train == highest))
        if at_ends >= _MIN_SHARE_AT_ENDS and of_training <= _MAX_TRAINING_SHARE:
            different.append(c)
    return np.array(different, np.intp)
