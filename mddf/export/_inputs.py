"""Inputs of graphs: features as a runtime takes them, and as trees take them."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Sequence
from dataclasses import dataclass
from itertools import count, repeat
from typing import TypeAlias

import narwhals.stable.v1 as nw
import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, is_regressor
from sklearn.pipeline import Pipeline

from mddf._base.messages import short
from mddf._binning.binner import Binner
from mddf._binning.categories import CategoryEncoder
from mddf._fitted.fitted_model import FittedStages
from mddf._input.cell_values import NUMBER
from mddf._input.reading import read_numbers, read_table
from mddf._inspection.stages import feature_names, fitted_stages
from mddf.explain._arrays import categories_by_code

from ._graph import ML, Graph
from ._precision import check_dtype
from ._statistics import LevelsInput
from ._steps import split_steps

# A category, or a list of the rare categories that share a code.
CategoryOfCode: TypeAlias = "Hashable | list[Hashable]"


def onnx_inputs(
    model: BaseEstimator, X: npt.ArrayLike, *, dtype: npt.DTypeLike | None = None
) -> dict[str, np.ndarray]:
    """Convert rows to the inputs of the graph that `to_onnx` makes.

    A model without categories has one input, "X" of shape (n_samples, n_features). A model with
    categories has an input of shape (n_samples, 1) for each feature, by its name: text if the
    categories are text, else numbers. A missing number is NaN. A missing text is the empty text
    (or the first text of question marks that is no category, if the empty text is one).

    Parameters
    ----------
    model : forest, gradient boosting, deep forest or cascade of mddf
        Fitted; or a pipeline that `to_onnx` takes.
    X : array or DataFrame of shape (n_samples, n_features)
    dtype : float32 or float64, default=None
        The value that was passed to `to_onnx`; None means float32.

    Returns
    -------
    dict of str to ndarray

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from mddf import RandomForestClassifier
    >>> from mddf.export import onnx_inputs
    >>> X, y = load_iris(return_X_y=True)
    >>> forest = RandomForestClassifier(5, random_state=0).fit(X, y)
    >>> {name: values.shape for name, values in onnx_inputs(forest, X[:3]).items()}
    {'X': (3, 4)}
    """
    precision = check_dtype(dtype)
    steps, last = split_steps(model)
    binner = fitted_stages(last).binner
    if steps:
        return {"X": _pipeline_numbers(model, X).astype(precision, copy=False)}
    names = _input_names(last, binner)
    table = read_table(last, X, reset=False, categorical_features=last.categorical_features)
    if not binner.encoders_:
        return {"X": np.asarray(binner.numbers(table), precision)}
    cells: dict[int, np.ndarray] = {}
    is_numeric = binner.surely_numeric(table, range(len(names)))
    for column in np.flatnonzero(~is_numeric).tolist():
        is_text = column in binner.encoders_ and _is_text(binner, column, names[column])
        cell_column = table.column(column)
        if binner.is_missing(cell_column, column):
            values = np.full(table.shape[0], np.nan, object if is_text else precision)
        elif column in binner.encoders_:
            values = cell_column.values
        else:
            is_numeric[column] = True
            continue
        if is_text:
            cells[column] = _texts(values, binner.encoders_[column])
        else:
            cells[column] = np.asarray(values, precision)
    if numeric := np.flatnonzero(is_numeric).tolist():
        # Columns of this order in memory are contiguous, as runtimes read them.
        numbers = np.asfortranarray(table.numbers(numeric), precision)
        cells |= {column: numbers[:, place] for place, column in enumerate(numeric)}
    return {name: cells[column][:, None] for column, name in enumerate(names)}


def input_names(model: BaseEstimator) -> list[str]:
    """Names of the graph's inputs; a ValueError names a feature whose name cannot be one."""
    return _input_names(model, fitted_stages(model).binner)


def _input_names(model: BaseEstimator, binner: Binner) -> list[str]:
    if not binner.encoders_:
        return ["X"]
    names = feature_names(model)
    outputs = ["variable"] if is_regressor(model) else ["label", "probabilities"]
    taken = {"", *outputs}
    for column, name in enumerate(names):
        if name in taken:
            raise ValueError(
                "the graph of a model with categories has an input for each feature, by its name, "
                "which must not be empty, a duplicate or the name of an output "
                f"({', '.join(outputs)}); got {name!r} for column {column}: rename it before the "
                "fit"
            )
        taken.add(name)
    return names


def add_inputs(
    graph: Graph, model: BaseEstimator, fitted: FittedStages, dtype: np.dtype
) -> tuple[str, dict[int, LevelsInput]]:
    """Declare the inputs and append the table of features, in double precision.

    Returns
    -------
    table : str
        Value of shape (n_rows, n_features): numbers and codes of categories, NaN where missing.
    levels : dict of int to LevelsInput
        Categories of the columns that have target statistics.
    """
    binner = fitted.binner
    categories = categories_by_code(binner)
    levels: dict[int, LevelsInput] = {}
    if not categories:
        return _add_table(graph, len(binner.kinds_), dtype), levels
    columns = []
    for column, name in enumerate(input_names(model)):
        is_text = column in categories and _is_text(binner, column, name)
        value = graph.input(name, str if is_text else dtype, [None, 1])
        if column in categories:
            cells = _CategoryInput(graph, value, name, is_text, dtype)
            if column in fitted.columns_of_levels:
                levels[column] = cells.add_levels(binner.encoders_[column])
            value = cells.add_codes(categories[column])
        columns.append(graph.cast(value, np.float64))
    return graph.concat(columns), levels


def add_pipeline_input(graph: Graph, pipeline: Pipeline, dtype: np.dtype) -> str:
    """Declare the input of a pipeline; a TypeError refuses a last step with categories."""
    _, last = split_steps(pipeline)
    if encoders := fitted_stages(last).binner.encoders_:
        raise TypeError(
            "the last step of a pipeline must take numbers alone in to_onnx, got categories in "
            f"{len(encoders)} columns; export that step by itself, with its own inputs"
        )
    return _add_table(graph, _n_features(pipeline), dtype)


def is_utf8(text: str) -> bool:
    """Whether a text has no lone halves of surrogate pairs, which ONNX cannot hold."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


@dataclass(frozen=True)
class _CategoryInput:
    """An input of a graph that holds a column of categories."""

    graph: Graph
    value: str  # of shape (n_rows, 1)
    name: str  # of the feature
    is_text: bool  # else the categories are numbers of type `dtype`
    dtype: np.dtype

    def add_codes(self, categories: Sequence[CategoryOfCode]) -> str:
        """Append the codes of the categories, NaN for all other cells."""
        known, codes = _categories_and_codes(categories)
        if not known:  # the operator needs a key, even if all cells were missing in fit
            known = ["" if self.is_text else 0]
            codes = [np.nan]
        return self._add_lookup(known, codes, default=np.nan)

    def add_levels(self, encoder: CategoryEncoder) -> LevelsInput:
        """Append the numbers of the categories, as `CategoryEncoder.levels` gives them."""
        known = encoder.categories.tolist()
        n_levels = len(known)
        numbers = list(range(n_levels))
        if self.is_text:
            known = [str(category) for category in known]
            known.append(_unused_texts(set(known))[0])  # missing
            numbers.append(n_levels)
        level = self._add_lookup(known, numbers, default=n_levels + 1)
        if not self.is_text:
            missing = self.graph.add("IsNaN", self.value)
            number_of_missing = self.graph.constant(n_levels, self.dtype)
            level = self.graph.add("Where", missing, number_of_missing, level)
        flat = self.graph.constant([-1], np.int64)
        level = self.graph.add("Reshape", self.graph.cast(level, np.int64), flat)
        return LevelsInput(level, n_levels)

    def _add_lookup(
        self, keys: Sequence[Hashable], codes: Sequence[float], *, default: float
    ) -> str:
        if self.is_text:
            texts = [str(key) for key in keys]
            if wrong := [text for text in texts if not is_utf8(text)]:
                raise ValueError(
                    f"ONNX has text in UTF-8, got the category {wrong[0]!r} of column "
                    f"{self.name!r}"
                )
            return self.graph.add(
                "LabelEncoder", self.value, domain=ML, keys_strings=texts,
                values_floats=[float(code) for code in codes], default_float=float(default),
            )  # fmt: skip
        for precision, remedy in (
            (np.dtype(float), "turn them into text before the fit"),
            (self.dtype, "use dtype=float64"),
        ):
            numbers = np.array(keys, precision)
            if len(np.unique(numbers)) < len(numbers):
                raise ValueError(
                    f"the categories of column {self.name!r} must be different numbers in "
                    f"{precision}, but some are equal: {remedy}"
                )
        tensor = self.graph.tensor
        return self.graph.add(
            "LabelEncoder", self.value, domain=ML,
            keys_tensor=tensor(numbers), values_tensor=tensor(np.array(codes, self.dtype)),
            default_tensor=tensor(np.array([default], self.dtype)),
        )  # fmt: skip


def _add_table(graph: Graph, n_columns: int, dtype: np.dtype) -> str:
    X = graph.input("X", dtype, [None, n_columns])
    return X if dtype == np.float64 else graph.cast(X, np.float64)


def _is_text(binner: Binner, column: int, name: str) -> bool:
    kind = binner.kinds_[column]
    if kind in ("text", NUMBER, None):  # None: all cells were missing in fit
        return kind != NUMBER
    raise TypeError(f"ONNX has categories that are text or numbers, got {kind} in column {name!r}")


def _categories_and_codes(
    categories: Sequence[CategoryOfCode],
) -> tuple[list[Hashable], list[float]]:
    """Categories and their codes; rare categories that share a code each get an entry."""
    known: list[Hashable] = []
    codes: list[float] = []
    for code, category in enumerate(categories):
        sharing = category if isinstance(category, list) else [category]
        known += sharing
        codes += [code] * len(sharing)
    return known, codes


def _unused_texts(known: Collection[Hashable]) -> tuple[str, str]:
    """Two texts that are no categories: one for missing cells, one for new categories."""
    unused = (text for n in count() if (text := "?" * n) not in known)
    return next(unused), next(unused)


def _texts(values: np.ndarray, encoder: CategoryEncoder) -> np.ndarray:
    """Cells as texts; a text that is not UTF-8 is in no graph, and becomes a new category."""
    missing, new = _unused_texts(encoder.codes_by_category)
    listed = values.tolist()
    # Each distinct text is converted once. Missing cells are NaN, which is no text.
    texts = {
        value: str(value) if is_utf8(value) else new
        for value in set(listed)
        if isinstance(value, str)
    }
    cells = np.empty(len(values), object)  # NumPy's own type of text drops NUL at the end
    cells[:] = [*map(texts.get, listed, repeat(missing))]
    return cells


def _n_features(pipeline: Pipeline) -> int:
    # A pipeline gets the number from its first step, which has none if it is "passthrough".
    return getattr(pipeline, "n_features_in_", split_steps(pipeline)[1].n_features_in_)


def _pipeline_numbers(pipeline: Pipeline, X: npt.ArrayLike) -> np.ndarray:
    """Select the columns that a pipeline was fitted on, by name if it stores names."""
    names = getattr(pipeline, "feature_names_in_", None)
    frame = nw.from_native(X, eager_only=True, pass_through=True)
    if names is not None and isinstance(frame, nw.DataFrame):
        if absent := [name for name in names if name not in frame.columns]:
            raise ValueError(
                f"X must have the columns of the fit, but {absent[0]!r} is absent; got "
                f"{short(frame.columns)}"
            )
        X = frame.select(list(names)).to_native()
    numbers = read_numbers(BaseEstimator(), X, reset=True)
    if numbers.shape[1] != _n_features(pipeline):
        raise ValueError(
            f"X must have {_n_features(pipeline)} columns as in fit, got {numbers.shape[1]}"
        )
    return numbers
