"""Size and prediction time of a fitted model."""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Iterator
from dataclasses import dataclass, fields, is_dataclass
from datetime import datetime
from time import perf_counter
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from sklearn.base import BaseEstimator

from mddf._base.thread_limits import one_thread
from mddf._binning.binner import Binner
from mddf._gradient.trees import BoostedTrees
from mddf._input.date_columns import dates_of_fit
from mddf._inspection.stages import fitted_stages, predict_numbers, prediction_method
from mddf._trees.arrays import TreeBlock

if TYPE_CHECKING:
    import pandas

_Part: TypeAlias = TreeBlock | BoostedTrees | np.ndarray

# Rows of a batch, so that fixed costs of a call count little: for most models it takes
# milliseconds.
_N_ROWS = 512
# The least of few calls counts: other programs on the machine only add to it.
_BATCH_CALLS = 3
_SINGLE_ROW_CALLS = 9


@dataclass(frozen=True)
class Cost:
    """Size and prediction time of a fitted model.

    Attributes
    ----------
    n_trees, n_nodes : int
        Numbers over all forests, layers and folds, and over boosted members of deep forests,
        without models of other libraries. The split of one level of a symmetric tree is one node.
    n_bytes : int
        Memory of the model's arrays. This includes arrays about the training, and arrays that
        only prediction intervals need.
    microseconds_per_row : float
        Time to predict a row within a batch of numeric rows, on one thread of this machine.
    microseconds_per_call : float
        Time to predict a single row as users pass it: a pandas data frame if the model was fitted
        on a data frame, else an array.

    Examples
    --------
    >>> from mddf import Cost
    >>> print(Cost(5, 15, 2000, 0.5))
    5 trees, 15 nodes, 0.002 MB, about 0.5 microseconds per row on one thread
    """

    n_trees: int
    n_nodes: int
    n_bytes: int
    microseconds_per_row: float
    microseconds_per_call: float = np.nan

    def __str__(self) -> str:
        text = (
            f"{self.n_trees} trees, {self.n_nodes} nodes, {self.n_bytes / 1e6:.3g} MB, about "
            f"{self.microseconds_per_row:.3g} microseconds per row on one thread"
        )
        if np.isnan(self.microseconds_per_call):
            return text
        return f"{text}, {self.microseconds_per_call / 1e3:.3g} ms for a row alone"


def cost(model: BaseEstimator) -> Cost:
    """Measure the size and prediction time of a fitted model, for example before deployment.

    Times are the least wall times of a few calls, on 512 rows with values drawn from the bins of
    each feature, and on one of these rows. They are estimates, since real rows may take longer or
    shorter paths down the trees. The time to read a data frame is not part of the time per row of
    a batch; it is most of the time of a single row.

    Parameters
    ----------
    model : forest, gradient boosting, deep forest or cascade of mddf
        Fitted.

    Returns
    -------
    Cost

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from mddf import RandomForestClassifier, cost
    >>> X, y = load_iris(return_X_y=True)
    >>> forest_cost = cost(RandomForestClassifier(5, max_depth=1, random_state=0).fit(X, y))
    >>> forest_cost.n_trees, forest_cost.n_nodes
    (5, 15)
    """
    fitted = fitted_stages(model)
    # 1. The size: all arrays of the model, and the trees that take part in predictions.
    stored = list(_parts(vars(model), set()))
    n_bytes = sum(part.nbytes if isinstance(part, np.ndarray) else part.n_bytes for part in stored)
    predicting = _parts(fitted.stages, set())
    blocks = [part for part in predicting if not isinstance(part, np.ndarray)]
    # 2. The time for a batch of numeric rows.
    rows = _made_up_rows(fitted.binner, fitted.columns_of_levels)
    seconds = min(_seconds_of_batch(model, rows) for _ in range(_BATCH_CALLS))
    # 3. The time for a single row.
    predict = prediction_method(model)
    row = _as_passed(model, rows[:1])
    with one_thread():
        call_seconds = []
        for _ in range(_SINGLE_ROW_CALLS):
            start = perf_counter()
            predict(row)
            call_seconds.append(perf_counter() - start)
    return Cost(
        n_trees=sum(block.n_trees for block in blocks),
        n_nodes=sum(block.n_nodes for block in blocks),
        n_bytes=n_bytes,
        microseconds_per_row=1e6 * seconds / len(rows),
        microseconds_per_call=1e6 * min(call_seconds),
    )


def _parts(value: object, visited: set[int]) -> Iterator[_Part]:
    """All trees, boosted models and arrays within an object, once each."""
    if id(value) in visited or callable(value):
        return
    visited.add(id(value))
    if isinstance(value, _Part):
        yield value
    elif isinstance(value, dict):
        for item in value.values():
            yield from _parts(item, visited)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _parts(item, visited)
    elif is_dataclass(value):  # without the properties that it caches
        for field in fields(value):
            yield from _parts(getattr(value, field.name), visited)
    elif hasattr(value, "__dict__"):
        yield from _parts(vars(value), visited)


def _made_up_rows(binner: Binner, columns_of_levels: list[int]) -> np.ndarray:
    """Draw numeric rows: values of bins, and levels of columns that have target statistics."""
    rng = np.random.default_rng(0)
    bins = binner.bins_
    n_bins = np.diff(bins.start)
    drawn = rng.integers(0, n_bins, (_N_ROWS, bins.n_columns))
    rows = bins.values[bins.start[:-1] + drawn]
    for column in columns_of_levels:
        n_levels = len(binner.encoders_[column].categories)
        rows[:, column] = rng.integers(0, n_levels, _N_ROWS)
    return rows


def _seconds_of_batch(model: BaseEstimator, rows: np.ndarray) -> float:
    start = perf_counter()
    with one_thread():
        predict_numbers(model, rows, n_jobs=1)
    return perf_counter() - start


def _as_passed(model: BaseEstimator, row: np.ndarray) -> np.ndarray | pandas.DataFrame:
    """Convert a numeric row to a data frame, if the model stores names and pandas is installed."""
    binner = fitted_stages(model).binner
    names = getattr(model, "feature_names_in_", None)
    if names is None or importlib.util.find_spec("pandas") is None:
        return row
    pandas = importlib.import_module("pandas")
    # The row ends with the further parts of dates, which have no names.
    cells: dict[str, object] = dict(zip(names, row[0].tolist(), strict=False))
    cells |= dict.fromkeys(dates_of_fit(model), datetime(2024, 3, 31, 12, 30))
    for column, encoder in binner.encoders_.items():
        cells[names[column]] = encoder.categories[0] if len(encoder.categories) else None
    return pandas.DataFrame({name: [cell] for name, cell in cells.items()})
