"""The fitted layers of a deep forest, as they are kept."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mddf._base.serialization import register_serializable
from mddf._binning.bins import Bins
from mddf._fitted.fitted_model import StageMember
from mddf._members.boosted import BoostedFolds, BoostedModel
from mddf._members.external_member import ExternalMember
from mddf._members.external_training import Frames


@register_serializable("fitted member")
@dataclass
class FittedMember:
    """A fitted member of a layer.

    Attributes
    ----------
    name : str
    weight : float
        In the weighted average of the members.
    exponent : float
        To which its probabilities are raised before they are averaged.
    models : list
        Trees, or fitted classifiers; one after a refit, else one for each fold.
    is_forest : bool
    importances : ndarray or None
    unit : float or ndarray of shape (n_outputs,)
        What the leaves of its trees hold multiples of.
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

    def as_stage_member(self, n_columns: int, frames: Frames | None) -> StageMember:
        """The same as the member of a stage; `frames` is what users' estimators see rows by."""
        options = (self.is_forest, self.weight, self.exponent, self.name)
        given = (self.models, n_columns, self.unit, *options)
        if self.is_forest:
            return StageMember(*given)
        if isinstance(self.models[0], BoostedModel):
            return BoostedFolds(*given)
        return ExternalMember(*given, frames if self.is_external else None)


@register_serializable("deep forest layer")
@dataclass
class DeepLayer:
    """A fitted layer.

    Attributes
    ----------
    members : list of FittedMember
    inputs : list of int
        Those whose vectors the next layer sees.
    average_weights : ndarray or None
        Weights of the inputs' mean, where the next layer sees only that.
    bins : Bins
        Of the columns that this layer sees of the one before.
    tried : list of ndarray or None
        Of the first layer, if it keeps no forest: importances to those that were tried.
    """

    members: list[FittedMember]
    inputs: list[int]
    average_weights: np.ndarray | None
    bins: Bins
    tried: list[np.ndarray] | None = None
