"""Fitted models as stages, and predictions for rows that are already numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, is_regressor
from sklearn.pipeline import Pipeline

from mddf._base.messages import short
from mddf._binning.encoded_rows import EncodedRows
from mddf._fitted.fitted_model import FittedStages
from mddf._input.date_columns import table_names
from mddf._input.reading import read_table


def prediction_method(model: BaseEstimator) -> Callable[[npt.ArrayLike], np.ndarray]:
    """The method for predictions in full: `predict_proba` of a classifier, else `predict`."""
    return model.predict if is_regressor(model) else model.predict_proba


def fitted_stages(model: BaseEstimator) -> FittedStages:
    """Describe a fitted model by its stages.

    A TypeError refuses models without stages, and subclasses that override `predict_proba` or
    `predict` outside mddf, since the stages do not describe them.
    """
    has_stages = hasattr(type(model), "_fitted_stages")
    if not has_stages or not prediction_method(model).__module__.startswith("mddf."):
        got = short(model)
        if isinstance(model, Pipeline):
            got = "a pipeline: pass model[-1], and the rows from model[:-1].transform"
        raise TypeError(
            "model must be a forest of mddf, gradient boosting, an MDDFClassifier, a "
            f"GCForestClassifier, a DeepForestClassifier or a DeepForestRegressor, got {got}"
        )
    fitted = model._fitted_stages()
    if type(fitted) is not FittedStages:
        raise TypeError(
            "model must pass the vectors of each layer on as they are for explanations, graphs "
            f"and costs, got {short(model)}"
        )
    classes = getattr(model, "classes_", None)
    if isinstance(classes, list):
        raise ValueError(
            "model must have classes of one output for explanations, graphs and costs, got "
            f"{len(classes)} outputs"
        )
    return fitted


def refuse_untraceable(model: BaseEstimator, remedy: str) -> None:
    """Raise a TypeError unless predictions are sums over trees; `remedy` ends the message."""
    fitted = fitted_stages(model)
    if any(stage.gate is not None for stage in fitted.stages):
        raise TypeError(
            f"rows leave the layers of the {type(model).__name__} early, so that contributions "
            f"cannot be passed back through its layers; use {remedy}"
        )
    if any(stage.augmentation is not None for stage in fitted.stages):
        raise TypeError(
            f"layers of the {type(model).__name__} pass on columns of a function (augmentation), "
            f"through which contributions cannot be passed back; use {remedy}"
        )
    if fitted.weighs_members:
        raise TypeError(
            f"the average of a {type(model).__name__} is not a sum over trees, so that "
            f"contributions cannot be passed back through its layers; use {remedy}"
        )
    for member in fitted.members:
        if member.has_linear_leaves:
            raise TypeError(
                f"the leaves of the {type(model).__name__} are linear functions "
                f"(linear_leaves), not constants, so that trees do not explain them; use {remedy}"
            )
        if not member.has_trees:
            raise TypeError(
                f"only forests of mddf have trees that can be read, and a layer of the "
                f"{type(model).__name__} has {short(member.models[0])}; use {remedy}"
            )


def is_sum_of_trees(model: BaseEstimator) -> bool:
    """Whether predictions are sums over trees of mddf, in every layer."""
    try:
        refuse_untraceable(model, "")
    except TypeError:
        return False
    return True


def coded_stages(model: BaseEstimator, X: npt.ArrayLike) -> Iterator[EncodedRows]:
    """Encode rows for each stage in turn, and yield the input of the stage.

    The next stage overwrites it.
    """
    fitted = fitted_stages(model)
    table = read_table(model, X, reset=False, categorical_features=model.categorical_features)
    rows = fitted.encode(table, model.n_jobs, all_columns=True).block(0, table.shape[0])
    yield rows
    outputs = fitted.run(rows, model.n_jobs)
    for _ in zip(fitted.stages[1:], outputs, strict=False):  # the last stage need not run
        yield rows


def numbers_of(model: BaseEstimator, X: npt.ArrayLike) -> np.ndarray:
    """Convert rows to numbers: categories to codes, or to levels if they have statistics."""
    fitted = fitted_stages(model)
    table = read_table(model, X, reset=False, categorical_features=model.categorical_features)
    numbers = fitted.binner.numbers_with_levels(table, fitted.columns_of_levels)
    return np.array(numbers, float)


def predict_numbers(
    model: BaseEstimator,
    numbers: np.ndarray,
    *,
    n_jobs: int | None = None,
    finished: bool = True,
) -> np.ndarray:
    """Predict rows in the form that `numbers_of` returns.

    The result has a column for each class or output. It holds probabilities or predictions of a
    regressor; if not `finished`, the average over stages or members before calibration or link.
    """
    fitted = fitted_stages(model)
    rows = fitted.binner.encode_numbers(numbers, fitted.columns_of_levels, fitted.n_added)
    average = fitted.average(rows, n_jobs)
    return fitted.finish(average) if finished else average


def feature_names(model: BaseEstimator) -> list[str]:
    """Names of the columns that a model reads, such as parts of dates; "x0" and so on without."""
    names = table_names(model)
    return [f"x{i}" for i in range(model.n_features_in_)] if names is None else names
