"""Warning about boosting whose training loss rises."""

from __future__ import annotations

from mddf._base.messages import warn
from mddf._gradient.dataset import BoostingRows
from mddf._gradient.losses import TargetKind
from mddf._gradient.options import BoostingParameters, learning_rate_of, value_of
from mddf._gradient.training import Boosted

# Factor by which the training loss may rise before fit warns of divergence. With targets that are
# noise and few rows drawn for each tree, it rises by some percent. Not tuned beyond that.
_DIVERGENCE = 1.5
# Fewest trees for this warning: if a single tree is grown on a few of about ten rows, the loss of
# the other rows can rise by more than that factor.
_FEWEST_TREES_TO_DIVERGE = 10


def warn_of_divergence(
    model: BoostingParameters, rows: BoostingRows, target: TargetKind, boosted: Boosted
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
