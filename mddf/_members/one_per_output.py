"""Classifiers of one output each, as a member of a layer whose samples have several."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from mddf._base.serialization import register_serializable


@register_serializable("classifiers by output")
@dataclass(frozen=True)
class ByOutput:
    """Fitted classifiers, one for each output.

    Attributes
    ----------
    models : list of estimator
    widths : list of int
        How many classes each output has.
    """

    models: list[Any]
    widths: list[int]
