"""Deprecated functions, which are now in :mod:`mddf.analysis`."""

from mddf._base.messages import warn
from mddf.analysis import MarginReport, classifier_margins, margin_report

__all__ = ["MarginReport", "classifier_margins", "margin_report"]

warn(
    "mddf.baselines.margins has become part of mddf.analysis, and will be removed in version 0.4",
    DeprecationWarning,
)
