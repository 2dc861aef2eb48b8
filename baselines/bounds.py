"""Deprecated functions, which are now in :mod:`mddf.analysis`."""

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
    "mddf.baselines.bounds has become part of mddf.analysis, and will be removed in version 0.4",
    DeprecationWarning,
)
