"""Fitted models as `to_onnx` reads them."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, is_regressor

from mddf._binning.binner import Binner
from mddf._inspection.stages import fitted_stages

from ._graph import Graph
from ._precision import lossy_columns
from ._stages import add_stages
from ._statistics import LevelsInput


class ExportedModel(Protocol):
    """A fitted model that can append itself to a graph."""

    binner: Binner
    columns_of_levels: list[int]  # columns of categories that also have target statistics
    n_outputs: int  # columns of a prediction: classes, or outputs

    def lossy_columns(self) -> NDArray[np.bool_]:
        """Mark the columns used by the model whose training values single precision rounds."""

    def add(self, graph: Graph, raw: str, levels: dict[int, LevelsInput]) -> tuple[str, str]:
        """Append the predictions, and for classifiers the positions of the predicted labels."""


def exported_model(model: BaseEstimator) -> ExportedModel:
    """Describe a fitted model for `to_onnx`, or refuse it by a TypeError.

    Boosting baselines describe themselves by a method `_exported`. A subclass that overrides
    `predict_proba` outside mddf is refused, since the graph would not follow its predictions.
    """
    describes_itself = hasattr(type(model), "_exported")
    if describes_itself and type(model).predict_proba.__module__.startswith("mddf."):
        return model._exported()
    return _ExportedStages(model)


class _ExportedStages:
    def __init__(self, model: BaseEstimator) -> None:
        self.fitted = fitted_stages(model)
        self.is_regressor = is_regressor(model)
        self.binner = self.fitted.binner
        self.columns_of_levels = self.fitted.columns_of_levels
        # Members of binary boosted trees have one column of scores for two classes.
        last_member = self.fitted.stages[-1].members[0]
        self.n_outputs = last_member.n_columns if self.is_regressor else len(model.classes_)

    def lossy_columns(self) -> NDArray[np.bool_]:
        return lossy_columns(self.fitted)

    def add(self, graph: Graph, raw: str, levels: dict[int, LevelsInput]) -> tuple[str, str]:
        outcome = add_stages(graph, raw, levels, self.fitted, is_regressor=self.is_regressor)
        if self.is_regressor:
            return outcome, ""
        return outcome, graph.add("ArgMax", outcome, axis=1, keepdims=0)
