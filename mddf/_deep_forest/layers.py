"""Fitted layers of a deep forest, as they are stored."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mddf._base.serialization import register_serializable
from mddf._binning.bins import Bins
from mddf._fitted.fitted_model import StageMember
from mddf._members.boosted import BoostedFolds, BoostedModel
from mddf._members.dataframes import FrameMaker
from mddf._members.external_member import ExternalMember


@register_serializable("fitted member")
@dataclass
class FittedMember:
    """A fitted member of a layer."""

    name: str
    weight: float  # weight in the average of the members
    exponent: float  # exponent of its probabilities before they are averaged
    models: list[Any]  # trees, or fitted estimators: one after a refit, else one for each fold
    is_forest: bool
    importances: np.ndarray | None = None
    unit: float | np.ndarray = 1.0  # (n_outputs,): unit of the numbers in the leaves of its trees
    is_external: bool = False  # whether it gets the columns of a data frame as they are

    def as_stage_member(self, n_columns: int, frames: FrameMaker | None) -> StageMember:
        """The member of a stage; `frames` makes data frames for users' estimators."""
        fields: dict[str, Any] = {
            "models": self.models,
            "n_columns": n_columns,
            "unit": self.unit,
            "is_rounded": self.is_forest,
            "weight": self.weight,
            "exponent": self.exponent,
            "name": self.name,
        }
        if self.is_forest:
            return StageMember(**fields)
        if isinstance(self.models[0], BoostedModel):
            return BoostedFolds(**fields)
        return ExternalMember(**fields, frames=frames if self.is_external else None)


@register_serializable("deep forest layer")
@dataclass
class DeepLayer:
    """A fitted layer."""

    members: list[FittedMember]
    inputs: list[int]  # members whose vectors are passed on
    # Weights of the mean of these vectors, if only the mean is passed on.
    average_weights: np.ndarray | None
    bins: Bins  # bins of the columns from the layer before
    # If the first layer keeps no forest, importances to the forests that were trained.
    tried: list[np.ndarray] | None = None
