"""What stands before the last step of a pipeline as operators."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler

from mddf._base.messages import short

from ._graph import Graph

STEPS = (
    "a SimpleImputer of NaN without an indicator, a StandardScaler, a OneHotEncoder that keeps "
    "all, or these in a ColumnTransformer"
)


def split_steps(model: Any) -> tuple[list[Any], Any]:
    """The transformers of a pipeline that do something, and its last step; or the model alone."""
    if not isinstance(model, Pipeline):
        return [], model
    *first, last = [step for _, step in model.steps]
    inner, last = split_steps(last)
    return [step for step in first if not _is_nothing(step)] + inner, last


def add_steps(graph: Graph, X: str, steps: Sequence[Any]) -> str:
    """Append transformers, one after the other; others than usual ones are refused.

    Parameters
    ----------
    graph : Graph
    X : str
        Value of shape (n_rows, n_columns), in double precision.
    steps : sequence of fitted transformers

    Returns
    -------
    str
        Value of shape (n_rows, n_columns), with other columns perhaps.
    """
    for step in steps:
        X = _add_step(graph, X, step)
    return X


def _is_nothing(step: Any) -> bool:
    if isinstance(step, FunctionTransformer):  # what a ColumnTransformer makes of "passthrough"
        return step.func is None
    return step is None or (isinstance(step, str) and step == "passthrough")


def _add_step(graph: Graph, X: str, step: Any) -> str:
    if _is_nothing(step):
        return X
    if isinstance(step, Pipeline):
        return add_steps(graph, X, [inner for _, inner in step.steps])
    if isinstance(step, StandardScaler):
        if step.with_mean:
            X = graph.add("Sub", X, graph.constant(step.mean_))
        return graph.add("Div", X, graph.constant(step.scale_)) if step.with_std else X
    if isinstance(step, SimpleImputer) and step.indicator_ is None and _is_nan(step):
        values = np.asarray(step.statistics_)
        if _are_numbers(values) and not np.isnan(values).any():
            return graph.add("Where", graph.add("IsNaN", X), graph.constant(values), X)
    if isinstance(step, OneHotEncoder) and _keeps_all_numbers(step):
        return _add_one_hot(graph, X, step)
    if isinstance(step, ColumnTransformer):
        return _add_columns(graph, X, step)
    raise TypeError(
        f"of transformers before a model, to_onnx takes {STEPS}, all of numbers; got {short(step)}"
    )


def _is_nan(imputer: SimpleImputer) -> bool:
    missing = imputer.missing_values
    return isinstance(missing, float) and np.isnan(missing)


def _keeps_all_numbers(encoder: OneHotEncoder) -> bool:
    if encoder.drop is not None or encoder._infrequent_enabled:
        return False
    return all(map(_are_numbers, encoder.categories_))


def _are_numbers(values: np.ndarray) -> bool:
    return values.dtype.kind in "fiub"


def _add_one_hot(graph: Graph, X: str, encoder: OneHotEncoder) -> str:
    parts = []
    for column, categories in enumerate(encoder.categories_):
        value = graph.add("Gather", X, graph.constant([column], np.int64), axis=1)
        equal = graph.add("Equal", value, graph.constant(categories[None]))
        if np.isnan(categories).any():  # a category like others
            missing = graph.add("IsNaN", value)
            is_missing = graph.constant(np.isnan(categories)[None], bool)
            equal = graph.add("Or", equal, graph.add("And", missing, is_missing))
        parts.append(graph.cast(equal, np.float64))
    return graph.add("Concat", *parts, axis=1)


def _add_columns(graph: Graph, X: str, transformer: ColumnTransformer) -> str:
    parts = []
    for name, step, _ in transformer.transformers_:
        chosen = transformer._transformer_to_input_indices[name]
        if len(chosen) and not (isinstance(step, str) and step == "drop"):
            part = graph.add("Gather", X, graph.constant(chosen, np.int64), axis=1)
            parts.append(_add_step(graph, part, step))
    return graph.add("Concat", *parts, axis=1)
