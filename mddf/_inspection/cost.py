"""What a fitted model costs to keep and to ask."""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Iterator
from dataclasses import dataclass
from statistics import median
from time import perf_counter
from typing import Any

import numpy as np

from mddf._base.thread_limits import one_thread
from mddf._gradient.trees import BoostedTrees
from mddf._inspection.stages import fitted_stages, predict_numbers, response_method
from mddf._trees.arrays import TreeBlock

_N_ROWS = 512
_REPEATS = 3
_CALLS = 9


@dataclass(frozen=True)
class Cost:
    """What a fitted model costs.

    Attributes
    ----------
    n_trees, n_nodes : int
        Of all forests, layers and folds, and of boosted members of deep forests. What models of
        other libraries are made of is not counted. Of a symmetric tree, the split of a level is
        one node.
    n_bytes : int
        Memory that the model's arrays take, those about its training, and those that intervals
        alone ask, included.
    microseconds_per_row : float
        To predict one of many rows of numbers on one thread of this machine.
    microseconds_per_call : float
        To predict a single row by itself, as users pass it: a data frame of pandas if the model
        was fitted to a frame, an array otherwise.

    Examples
    --------
    >>> from mddf import Cost
    >>> print(Cost(5, 15, 2000, 0.5))
    5 trees, 15 nodes, 0.002 MB, about 0.5 microseconds per row on one thread
    >>> print(Cost(5, 15, 2000, 0.5, 120))
    5 trees, 15 nodes, 0.002 MB, about 0.5 microseconds per row on one thread, 120 for a row alone
    """

    n_trees: int
    n_nodes: int
    n_bytes: int
    microseconds_per_row: float
    microseconds_per_call: float = np.nan

    def __str__(self) -> str:
        of_one = self.microseconds_per_call
        alone = "" if np.isnan(of_one) else f", {of_one:.3g} for a row alone"
        return (
            f"{self.n_trees} trees, {self.n_nodes} nodes, {self.n_bytes / 1e6:.3g} MB, about "
            f"{self.microseconds_per_row:.3g} microseconds per row on one thread{alone}"
        )


def cost(model: Any) -> Cost:
    """What a fitted model costs to keep and to ask, to be known before it is deployed.

    The times are measured, on a few hundred rows of values drawn from the bins of each feature,
    and on one of them. They are estimates: real rows may take longer or shorter ways down the
    trees. Of many rows, what reading a data frame takes comes on top; of a row by itself it is
    most of the time.

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
    >>> found = cost(RandomForestClassifier(5, max_depth=1, random_state=0).fit(X, y))
    >>> found.n_trees, found.n_nodes
    (5, 15)
    """
    fitted = fitted_stages(model)
    parts = list(_parts(vars(model), set()))
    blocks = [part for part in parts if isinstance(part, TreeBlock | BoostedTrees)]
    asked = [part for part in _parts(fitted.stages, set()) if not isinstance(part, np.ndarray)]
    arrays = [part for part in parts if isinstance(part, np.ndarray)]
    rows = _made_up_rows(fitted.binner, fitted.columns_of_levels)
    seconds = median(_seconds(model, rows) for _ in range(_REPEATS))
    return Cost(
        sum(block.n_trees for block in asked),
        sum(block.n_nodes for block in asked),
        sum(block.n_bytes for block in blocks) + sum(array.nbytes for array in arrays),
        1e6 * seconds / len(rows),
        1e6 * _seconds_of_one(model, _as_passed(model, rows[:1])),
    )


def _parts(value: Any, seen: set[int]) -> Iterator[Any]:
    """All trees, boosted models and arrays that an object holds, each once."""
    if id(value) in seen or callable(value):
        return
    seen.add(id(value))
    if isinstance(value, TreeBlock | BoostedTrees | np.ndarray):
        yield value
    elif isinstance(value, dict):
        for item in value.values():
            yield from _parts(item, seen)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _parts(item, seen)
    elif hasattr(value, "__dict__"):
        yield from _parts(vars(value), seen)


def _made_up_rows(binner: Any, columns_of_levels: list[int]) -> np.ndarray:
    """Rows as numbers: values of bins, and levels of columns that trees have those of."""
    random, bins = np.random.default_rng(0), binner.bins_
    first, n_bins = bins.start[:-1], np.diff(bins.start)
    rows = bins.values[first + random.integers(0, n_bins, (_N_ROWS, bins.n_columns))]
    for column in columns_of_levels:
        n_levels = len(binner.encoders_[column].categories)
        rows[:, column] = random.integers(0, n_levels, _N_ROWS)
    return rows


def _seconds(model: Any, rows: np.ndarray) -> float:
    start = perf_counter()
    with one_thread():
        predict_numbers(model, rows, n_jobs=1)
    return perf_counter() - start


def _as_passed(model: Any, row: np.ndarray) -> Any:
    """A row of numbers as a data frame, if the model knows names and pandas is there."""
    binner = fitted_stages(model).binner
    names = getattr(model, "feature_names_in_", None)
    if names is None or importlib.util.find_spec("pandas") is None:
        return row
    pandas = importlib.import_module("pandas")
    cells: dict[str, Any] = dict(zip(names, row[0].tolist(), strict=True))
    for column, encoder in binner.encoders_.items():
        cells[names[column]] = encoder.categories[0] if len(encoder.categories) else None
    return pandas.DataFrame({name: [cell] for name, cell in cells.items()})


def _seconds_of_one(model: Any, row: Any) -> float:
    predict, found = getattr(model, response_method(model)), []
    with one_thread():
        for _ in range(_CALLS):
            start = perf_counter()
            predict(row)
            found.append(perf_counter() - start)
    return median(found)
