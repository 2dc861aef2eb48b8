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
    """A fitted member of a layer.

    Attributes
    ----------
    name : str
    weight : float
        Weight in the average of the members.
    exponent : float
        Exponent of its probabilities before they are averaged.
    models : list
        Trees, or fitted estimators: one after a refit, else one for each fold.
    is_forest : bool
    importances : ndarray or None
    unit : float or ndarray of shape (n_outputs,)
        Unit of the numbers in the leaves of its trees.
    is_external : bool
        Whether it sees the columns of a data frame as they are.
    """

    name: str
    weight: float
    exponent: float
    models: list[Any]
    is_forest: bool
    importances: np.ndarray | None = None
    unit: float | np.ndarray = 1.0
    is_external: bool = False

    def as_stage_member(self, n_columns: int, frames: FrameMaker | None) -> StageMember:
        """The member of a stage; `frames` makes the data frames that users' estimators see."""
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
    """A fitted layer.

    Attributes
    ----------
    members : list of FittedMember
    inputs : list of int
        Members whose vectors the next layer sees.
    average_weights : ndarray or None
        Weights of the mean of these vectors, if the next layer sees only the mean.
    bins : Bins
        Bins of the columns that this layer sees of the one before.
    tried : list of ndarray or None
        If the first layer keeps no forest, importances to the forests that were trained.
    """

    members: list[FittedMember]
    inputs: list[int]
    average_weights: np.ndarray | None
    bins: Bins
    tried: list[np.ndarray] | None = None
