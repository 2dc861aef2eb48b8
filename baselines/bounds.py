"""The old name of what is in :mod:`mddf.analysis`, until version 0.4."""

from mddf._base.messages import warn
from mddf.analysis import (
    adaboost_training_bounds,
    deepboost_bound,
    finite_class_margin_bound,
    margin_distribution_bound,
    quadboost_bound,
)

__all__ = [
    "adaboost_training_bounds",
    "deepboost_bound",
    "finite_class_margin_bound",
    "margin_distribution_bound",
    "quadboost_bound",
]

warn(
    "mddf.baselines.bounds has become part of mddf.analysis, and goes with version 0.4",
    DeprecationWarning,
)
