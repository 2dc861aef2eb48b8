"""Fitted models as graphs read them."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from mddf._binning.binner import Binner
from mddf._inspection.stages import fitted_stages

from ._graph import Graph
from ._statistics import CategoryLevels


class Exported(Protocol):
    """What a graph is made of: stages, or what a model of baselines describes itself by.

    Attributes
    ----------
    binner : Binner
        Of the features.
    columns_of_levels : list of int
        Columns of categories that are seen as levels, too.
    n_outputs : int
        Numbers for each row that are predicted, or classes.
    """

    binner: Binner
    columns_of_levels: list[int]
    n_outputs: int

    def lossy_columns(self) -> NDArray[np.bool_]:
        """Columns that matter, of which single precision may not hold what fit saw."""

    def add(self, graph: Graph, raw: str, levels: CategoryLevels) -> tuple[str, str]:
        """Append what makes predictions of features, and places of labels of these."""


def own_description(model: Any) -> Exported | None:
    """What a model of baselines describes itself by; None of models with stages, and others."""
    describes = hasattr(type(model), "_exported")
    if describes and type(model).predict_proba.__module__.startswith("mddf."):
        return model._exported()
    return None


def binner_of(model: Any) -> Binner:
    """The binner of a fitted model; models that `to_onnx` does not take are refused."""
    own = own_description(model)
    return fitted_stages(model).binner if own is None else own.binner
