"""Folds of rows that depend on each other, on which the number of trees is chosen."""

from __future__ import annotations

from numbers import Integral
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from mddf._base.messages import short
from mddf._gradient.dataset import BoostingRows
from mddf._gradient.losses import ClassificationTarget, TargetKind
from mddf._gradient.training import Fold
from mddf._gradient.tuning import MAX_ROWS_WITH_FOLDS, N_FOLDS
from mddf._resampling.folds import make_folds

if TYPE_CHECKING:
    from mddf._gradient.base import GradientBoosting

# Largest number of folds of groups, so that a fold holds out at least a hundredth of the rows. Not
# tuned.
_MAX_FOLDS = 100


def refuse_incomplete(X_val: Any, y_val: Any) -> None:
    """Refuse a validation set without features or targets."""
    for name, value, other in (("X_val", X_val, "y_val"), ("y_val", y_val, "X_val")):
        if value is None:
            raise ValueError(f"{name} must be passed with {other}, got None")


def validation_folds(
    model: GradientBoosting,
    X: Any,
    rows: BoostingRows,
    target: TargetKind,
    groups: npt.ArrayLike | None,
    *,
    entropy: list[int],
) -> list[Fold] | None:
    """Folds of the parameter `cv`, or of groups; None for independent rows without `cv`.

    Folds in time order are sorted: the first one is the last in time.
    """
    if model.cv is None and groups is None:
        return None
    if isinstance(target, ClassificationTarget):
        labels = rows.y.astype(int)
        y = target.classes[labels]
    else:
        labels = np.zeros(len(rows.y), int)
        y = rows.y
    cv = _n_folds_of_groups(model, len(rows.train)) if model.cv is None else model.cv
    # `BoostingRows.split` uses the key 1, and the orders of the target encoding the key 2.
    seed = int(np.random.SeedSequence(entropy, spawn_key=(3,)).generate_state(1)[0])
    folds = make_folds(cv, X, y, labels, seed, groups=groups, allow_time_order=True)
    has_weight = np.zeros(len(rows.y), bool)
    has_weight[rows.train] = True
    folds = [
        (train[has_weight[train]], held_out[has_weight[held_out]]) for train, held_out in folds
    ]
    folds = [fold for fold in folds if len(fold[0]) and len(fold[1])]
    if not folds:
        raise ValueError(
            "cv must leave samples with a weight above 0 on both sides of a split, got "
            f"cv={short(model.cv)}"
        )
    return folds


def _n_folds_of_groups(model: GradientBoosting, n_rows: int) -> int:
    """Number of folds of groups.

    Large tables hold out a single fold, which should have the share `validation_fraction`.
    """
    fraction = model.validation_fraction
    if n_rows <= MAX_ROWS_WITH_FOLDS or fraction is None:
        return N_FOLDS
    share = fraction / n_rows if isinstance(fraction, Integral) else fraction
    return int(np.clip(round(1 / share), 2, _MAX_FOLDS))
