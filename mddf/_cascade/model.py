"""What is kept of a cascade."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mddf._base.serialization import register_serializable
from mddf._binning.bins import Bins
from mddf._ensemble.blending import UNCALIBRATED, Calibration
from mddf._fitted.fitted_model import FittedStages, Stage, StageMember
from mddf._members.external_member import ExternalMember


@register_serializable("class vector layout")
@dataclass(frozen=True)
class VectorLayout:
    """How the class vectors of a layer's forests lie in the columns that the next layer sees.

    Attributes
    ----------
    n_forests, n_classes : int
    per_forest : bool
        Each forest's vector, side by side, rather than their mean.
    """

    n_forests: int
    n_classes: int
    per_forest: bool

    @property
    def n_columns(self) -> int:
        """Columns that a layer adds."""
        return self.n_classes * (self.n_forests if self.per_forest else 1)

    @property
    def average_weights(self) -> np.ndarray | None:
        """Those of the forests in their mean."""
        return None if self.per_forest else np.ones(self.n_forests)


@register_serializable("cascade layer")
@dataclass
class Layer:
    """A fitted layer.

    Attributes
    ----------
    members : list of list
        For each forest, for each fold: a list of ``Trees``, or a fitted classifier. After a
        refit there is one, of all samples.
    bins : Bins
        Those of the features of the layer before, which this layer's table ended with.
    columns : ndarray of int32
        Which columns the layer sees.
    importances : ndarray of shape (n_columns,) or None
        Mean decrease of impurity over the forests, of sum 1 or all zero; None if not all forests
        are of this package.
    """

    members: list[list[Any]]
    bins: Bins
    columns: np.ndarray
    importances: np.ndarray | None

    def stage_members(self, n_classes: int) -> list[StageMember]:
        """The members as those of a stage: forests with the trees of all folds."""
        return [
            StageMember([block for trees in of_folds for block in trees], n_classes)
            if isinstance(of_folds[0], list)
            else ExternalMember(of_folds, n_classes)
            for of_folds in self.members
        ]


@register_serializable("cascade")
@dataclass
class CascadeModel:
    """What predictions need of a fitted cascade.

    Attributes
    ----------
    layers : list of Layer
    alphas : list of ndarray
        For each layer, the coefficients of it and those before once it was grown.
    layout : VectorLayout
    n_raw : int
        Columns of X.
    calibration : Calibration
        What `predict_proba` makes of the probabilities of the layers together.
    """

    layers: list[Layer]
    alphas: list[np.ndarray]
    layout: VectorLayout
    n_raw: int
    calibration: Calibration = UNCALIBRATED

    def stages(self, binner: Any) -> FittedStages:
        """The layers as stages."""
        layout = self.layout
        forests, weights = list(range(layout.n_forests)), layout.average_weights
        stages = [
            Stage(
                binner.bins_,
                layer.bins,
                layer.stage_members(layout.n_classes),
                alphas,
                forests,
                weights,
                layer.columns,
            )
            for layer, alphas in zip(self.layers, self.alphas, strict=True)
        ]
        return FittedStages(binner, stages, layout.n_columns, calibration=self.calibration)
