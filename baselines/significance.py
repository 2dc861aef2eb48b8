"""Deprecated functions, which are now in :mod:`mddf.analysis`."""

from mddf._base.messages import warn
from mddf.analysis import discordant_counts, poisson_binomial_test, probability_better, sign_test

__all__ = ["discordant_counts", "poisson_binomial_test", "probability_better", "sign_test"]

warn(
    "mddf.baselines.significance has become part of mddf.analysis, and will be removed in "
    "version 0.4",
    DeprecationWarning,
)
