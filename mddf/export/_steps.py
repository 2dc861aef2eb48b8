"""Transformers of a pipeline as operators."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler

from mddf._base.messages import short

from ._graph import Graph

SUPPORTED_STEPS = (
    "a SimpleImputer of NaN without an indicator, a StandardScaler, a OneHotEncoder that keeps "
    "all categories, or these in a ColumnTransformer"
)


def split_steps(model: BaseEstimator) -> tuple[list[TransformerMixin], BaseEstimator]:
    """Separate the transformers of a pipeline, if the model is one, from its last step."""
    if not isinstance(model, Pipeline):
        return [], model
    *first, last = [step for _, step in model.steps]
    inner, last = split_steps(last)
    return [step for step in first if not _is_identity(step)] + inner, last


def add_steps(graph: Graph, X: str, steps: Sequence[TransformerMixin]) -> str:
    """Append fitted transformers, one after the other, or refuse them by a TypeError."""
    for step in steps:
        X = _add_step(graph, X, step)
    return X


def _is_identity(step: TransformerMixin | str | None) -> bool:
    if isinstance(step, FunctionTransformer):  # a ColumnTransformer's "passthrough" once fitted
        return step.func is None
    return step is None or (isinstance(step, str) and step == "passthrough")


def _add_step(graph: Graph, X: str, step: TransformerMixin | str | None) -> str:
    if _is_identity(step):
        return X
    if isinstance(step, Pipeline):
        return add_steps(graph, X, [inner for _, inner in step.steps])
    if isinstance(step, StandardScaler):
        if step.with_mean:
            X = graph.add("Sub", X, step.mean_)
        return graph.add("Div", X, step.scale_) if step.with_std else X
    if isinstance(step, SimpleImputer) and _replaces_nan_by_numbers(step):
        return graph.add("Where", graph.add("IsNaN", X), step.statistics_, X)
    if isinstance(step, OneHotEncoder) and _keeps_all_numbers(step):
        return _add_one_hot(graph, X, step)
    if isinstance(step, ColumnTransformer):
        parts = [
            _add_step(graph, graph.columns(X, columns), inner)
            for name, inner, _ in step.transformers_
            if len(columns := step._transformer_to_input_indices[name])
            and not (isinstance(inner, str) and inner == "drop")
        ]
        return graph.concat(parts)
    raise TypeError(
        f"to_onnx takes these transformers before a model: {SUPPORTED_STEPS}, all of numbers; "
        f"got {short(step)}"
    )


def _replaces_nan_by_numbers(imputer: SimpleImputer) -> bool:
    missing = imputer.missing_values
    if imputer.indicator_ is not None or not (isinstance(missing, float) and np.isnan(missing)):
        return False
    return _are_numbers(imputer.statistics_) and not np.isnan(imputer.statistics_).any()


def _keeps_all_numbers(encoder: OneHotEncoder) -> bool:
    if encoder.drop is not None or encoder._infrequent_enabled:
        return False
    return all(map(_are_numbers, encoder.categories_))


def _are_numbers(values: np.ndarray) -> bool:
    return values.dtype.kind in "fiub"


def _add_one_hot(graph: Graph, X: str, encoder: OneHotEncoder) -> str:
    parts = []
    for column, categories in enumerate(encoder.categories_):
        cells = graph.columns(X, [column])
        equal = graph.add("Equal", cells, categories[None])
        if np.isnan(categories).any():  # NaN is a category of its own, and equals nothing
            is_nan = graph.constant(np.isnan(categories)[None], bool)
            equal = graph.add("Or", equal, graph.add("And", graph.add("IsNaN", cells), is_nan))
        parts.append(graph.cast(equal, np.float64))
    return graph.concat(parts)
