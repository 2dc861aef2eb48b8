"""Validation set that the user passes to fit, and a warning if boosting never improves on it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from mddf._base.messages import warn
from mddf._gradient.dataset import BoostingRows
from mddf._input.table import Table

# A column counts as different if nearly all validation rows, but at most half of the training
# rows, have its smallest or largest code. Bins have about equal numbers of training rows, so that
# a column that was shifted or scaled falls into the first and last bins. The second condition
# excludes columns in which most values are equal. Not tuned.
_MIN_SHARE_AT_ENDS = 0.9
_MAX_TRAINING_SHARE = 0.5
# Number of columns that a warning names, to keep it short.
_N_NAMED = 3


@dataclass(frozen=True)
class ValidationSet:
    """Validation set of `fit`, any part of which may be None."""

    X: Any
    y: npt.ArrayLike | None
    sample_weight: npt.ArrayLike | None = None
    offset: npt.ArrayLike | None = None

    @property
    def is_passed(self) -> bool:
        parts = (self.X, self.y, self.sample_weight, self.offset)
        return any(part is not None for part in parts)

    def refuse_incomplete(self) -> None:
        """Refuse a validation set without features or targets."""
        for name, value, other in (("X_val", self.X, "y_val"), ("y_val", self.y, "X_val")):
            if value is None:
                raise ValueError(f"{name} must be passed with {other}, got None")


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
