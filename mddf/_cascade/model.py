"""What is kept of a cascade."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mddf._base.serialization import register_serializable
from mddf._cascade.layer import Layer
from mddf._data.binner import Binner
from mddf._ensemble.stages import FittedStages, Stage
from mddf._ensemble.vote import UNCALIBRATED, Calibration


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

    def stages(self, binner: Binner) -> FittedStages:
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
