"""A fitted cascade, as it is stored."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mddf._base.serialization import register_serializable
from mddf._binning.binner import Binner
from mddf._binning.bins import Bins
from mddf._ensemble.blending import UNCALIBRATED, Calibration
from mddf._fitted.fitted_model import FittedStages, Stage, StageMember
from mddf._members.external_member import ExternalMember


@register_serializable("class vector layout")
@dataclass(frozen=True)
class VectorLayout:
    """Layout of a layer's class vectors in the input columns of the next layer."""

    n_forests: int
    n_classes: int
    # Whether the forests' vectors lie side by side; if not, the next layer gets their mean.
    per_forest: bool

    @property
    def n_columns(self) -> int:
        """Number of columns that a layer adds."""
        return self.n_classes * (self.n_forests if self.per_forest else 1)

    @property
    def average_weights(self) -> np.ndarray | None:
        """Weights of the forests in their mean; None if there is no mean."""
        return None if self.per_forest else np.ones(self.n_forests)


@register_serializable("cascade layer")
@dataclass
class Layer:
    """A fitted layer."""

    # For each forest, for each fold: a list of ``Trees``, or a fitted classifier. After a refit,
    # there is one for all samples.
    members: list[list[Any]]
    bins: Bins  # bins of the features that the layer before adds
    columns: np.ndarray  # input columns of the layer
    # (n_columns,): mean decrease of impurity over the forests, of sum 1 or all zero; None if not
    # all forests are of this package.
    importances: np.ndarray | None
    gate: float | None = None  # confidence from which rows leave after the layer; None: no row

    def stage_members(self, n_classes: int) -> list[StageMember]:
        """Members of a stage; forests have the trees of all folds."""
        return [
            StageMember([block for trees in models for block in trees], n_classes)
            if isinstance(models[0], list)
            else ExternalMember(models, n_classes)
            for models in self.members
        ]


@register_serializable("cascade")
@dataclass
class CascadeModel:
    """Layers of a fitted cascade, with their coefficients."""

    layers: list[Layer]
    alphas: list[np.ndarray]  # for each layer, the coefficients of the layers up to it
    layout: VectorLayout
    n_raw: int
    # Calibration of the probabilities of the layers together.
    calibration: Calibration = UNCALIBRATED

    def stages(self, binner: Binner) -> FittedStages:
        """The cascade as a fitted model that predicts."""
        layout = self.layout
        stages = [
            Stage(
                feature_bins=binner.bins_,
                added_bins=layer.bins,
                members=layer.stage_members(layout.n_classes),
                alphas=alphas,
                inputs=list(range(layout.n_forests)),
                average_weights=layout.average_weights,
                columns=layer.columns,
                gate=layer.gate,
            )
            for layer, alphas in zip(self.layers, self.alphas, strict=True)
        ]
        return FittedStages(
            binner, stages, layout.n_columns, calibration=self.calibration, is_at_most_one=True
        )
