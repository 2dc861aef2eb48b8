"""The old name of what is in :mod:`mddf.analysis`, until version 0.4."""

from mddf._base.messages import warn
from mddf.analysis import MarginReport, classifier_margins, margin_report

__all__ = ["MarginReport", "classifier_margins", "margin_report"]

warn(
    "mddf.baselines.margins has become part of mddf.analysis, and goes with version 0.4",
    DeprecationWarning,
)
