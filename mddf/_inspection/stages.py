"""Fitted models as stages that are asked about rows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.base import is_regressor
from sklearn.pipeline import Pipeline

from mddf._base.messages import short
from mddf._binning.encoded_rows import EncodedRows
from mddf._fitted.fitted_model import FittedStages
from mddf._input.reading import read_table


def response_method(model: Any) -> str:
    """The method that gives a model's predictions in full."""
    return "predict" if is_regressor(model) else "predict_proba"


def fitted_stages(model: Any) -> FittedStages:
    """What a fitted model consists of; models without stages are refused.

    So is a subclass that predicts in a way of its own.
    """
    describes = hasattr(type(model), "_fitted_stages")
    predict = getattr(type(model), response_method(model)) if describes else None
    if not getattr(predict, "__module__", "").startswith("mddf."):
        got = short(model)
        if isinstance(model, Pipeline):
            got = "a pipeline: pass model[-1], and rows that model[:-1].transform gave"
        raise TypeError(
            "model must be a forest of mddf, gradient boosting, an MDDFClassifier, a "
            f"GCForestClassifier, a DeepForestClassifier or a DeepForestRegressor, got {got}"
        )
    fitted = model._fitted_stages()
    if isinstance(getattr(model, "classes_", None), list):
        raise ValueError(
            "explanations, graphs and costs are of models with classes of one output, got one "
            f"with {len(model.classes_)} outputs"
        )
    return fitted


def refuse_untraceable(model: Any, remedy: str) -> None:
    """Refuse a model whose average is not linear in its layers' vectors, or not one of trees."""
    fitted = fitted_stages(model)
    if fitted.weighs_members:
        raise TypeError(
            f"the average of a {type(model).__name__} is not a sum over trees, so that "
            f"contributions cannot be passed back through its layers; use {remedy}"
        )
    for member in fitted.members:
        if not member.has_trees:
            raise TypeError(
                f"only forests of mddf have trees that can be read, and a layer of the "
                f"{type(model).__name__} has {short(member.models[0])}; use {remedy}"
            )


def is_sum_of_trees(model: Any) -> bool:
    """Whether what a model says can be followed through its trees."""
    try:
        refuse_untraceable(model, "")
    except TypeError:
        return False
    return True


def coded_stages(model: Any, X: Any) -> Iterator[EncodedRows]:
    """Rows as each stage sees them.

    Yields
    ------
    rows : EncodedRows
        Written over for the next stage.
    """
    fitted = fitted_stages(model)
    table = read_table(model, X, reset=False, categorical_features=model.categorical_features)
    rows = fitted.encode(table, all_columns=True).block(0, table.shape[0])
    yield rows
    outputs = fitted.run(rows, model.n_jobs)
    for _ in zip(fitted.stages[1:], outputs, strict=False):  # the last stage need not run
        yield rows


def numbers_of(model: Any, X: Any) -> np.ndarray:
    """Rows as numbers: categories as codes, those with target statistics as levels."""
    fitted = fitted_stages(model)
    table = read_table(model, X, reset=False, categorical_features=model.categorical_features)
    numbers = fitted.binner.numbers_of_levels(table, fitted.columns_of_levels)
    return np.array(numbers, float)


def predict_numbers(
    model: Any, numbers: np.ndarray, *, n_jobs: int | None = None, finished: bool = True
) -> np.ndarray:
    """What a model predicts of rows as `numbers_of` gives them.

    Probabilities, or numbers of shape (n_rows, n_outputs); if not `finished`, the average before
    the calibration.
    """
    fitted = fitted_stages(model)
    rows = fitted.binner.asked_rows(numbers, fitted.columns_of_levels, fitted.n_added)
    return fitted.predict(rows, n_jobs) if finished else fitted.average(rows, n_jobs)


def feature_names(model: Any) -> list[str]:
    """Names of a fitted model's features, "x0" and so on if it saw none."""
    names = getattr(model, "feature_names_in_", None)
    return [f"x{i}" for i in range(model.n_features_in_)] if names is None else names.tolist()
