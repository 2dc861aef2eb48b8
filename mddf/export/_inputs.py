"""What goes into a graph: features as a runtime takes them, and as trees see them."""

from __future__ import annotations

from collections.abc import Collection
from itertools import count
from typing import Any

import narwhals.stable.v1 as nw
import numpy as np
from sklearn.base import BaseEstimator, is_regressor

from mddf._binning.categories import CategoryEncoder
from mddf._input.cell_values import NUMBER, missing_cells
from mddf._input.reading import read_numbers, read_table
from mddf._inspection.stages import feature_names
from mddf.explain._arrays import categories_by_code

from ._exported import Exported, binner_of
from ._graph import ML, Graph
from ._precision import checked
from ._statistics import CategoryLevels
from ._steps import split_steps


def onnx_inputs(model: Any, X: Any, *, dtype: Any = None) -> dict[str, np.ndarray]:
    """Rows as the graph that `to_onnx` makes wants them.

    Without categories there is one input, "X" of shape (n_samples, n_features). With some there
    is one of shape (n_samples, 1) for each feature, by its name: text where the categories are
    text, else numbers. A number that is missing is NaN; a missing text is the empty one (with
    question marks, if that is a category).

    Parameters
    ----------
    model : forest, gradient boosting, deep forest, cascade or boosting baseline of mddf
        Fitted; or a pipeline that `to_onnx` takes.
    X : array or DataFrame of shape (n_samples, n_features)
    dtype : float32 or float64, default=None
        The one that `to_onnx` was given; None means float32.

    Returns
    -------
    dict of str to ndarray
    """
    dtype = checked(dtype)
    steps, last = split_steps(model)
    if steps:
        binner_of(last)
        return {"X": _numbers_of_pipeline(model, X).astype(dtype, copy=False)}
    model = last
    names = input_names(model)
    table = read_table(model, X, reset=False, categorical_features=model.categorical_features)
    binner = binner_of(model)
    categories = categories_by_code(binner)
    if not categories:
        return {"X": np.asarray(binner.numbers(table), dtype)}
    found = {}
    for column, name in enumerate(names):
        is_text = column in categories and _is_text(binner, column, name)
        given = table.column(column)
        if (column in categories or table.names) and binner.is_missing(given, column):
            cells = np.full(table.shape[0], np.nan, object if is_text else dtype)
        elif column in categories:
            cells = given.values
        else:
            cells = table.numbers([column])[:, 0]
        if is_text:
            known = {category for category, _ in _flat(categories[column])}
            missing, unseen = _other_texts(known)
            cells = _texts(cells, missing_cells(cells), missing, unseen)
        found[name] = np.asarray(cells, object if is_text else dtype)[:, None]
    return found


def input_names(model: Any) -> list[str]:
    """Names of the graph's inputs; those of features that it cannot have are refused."""
    if not binner_of(model).encoders_:
        return ["X"]
    names = feature_names(model)
    outputs = ["variable"] if is_regressor(model) else ["label", "probabilities"]
    taken = {"", *outputs}
    for column, name in enumerate(names):
        if name in taken:
            raise ValueError(
                "the graph of a model with categories has an input for each feature, by its name, "
                f"which must not be empty, there twice or an output's ({', '.join(outputs)}); got "
                f"{name!r} for column {column}: rename it before the fit"
            )
        taken.add(name)
    return names


def _is_text(binner: Any, column: int, name: str) -> bool:
    kind = binner.kinds_[column]
    if kind in ("text", NUMBER, None):  # None: nothing was there in fit
        return kind != NUMBER
    raise TypeError(f"ONNX has categories that are text or numbers, got {kind} in column {name!r}")


def _flat(categories: list[Any]) -> list[tuple[Any, ...]]:
    """Pairs of category and code; those that share a code are in a list of their own."""
    return [
        (category, code)
        for code, found in enumerate(categories)
        for category in (found if isinstance(found, list) else [found])
    ]


def _other_texts(known: Collection[Any]) -> tuple[str, str]:
    """Texts that are no categories: for what is missing, and for what fit did not see."""
    others = (text for n in count() if (text := "?" * n) not in known)
    return next(others), next(others)


def _texts(values: np.ndarray, is_missing: np.ndarray, missing: str, unseen: str) -> np.ndarray:
    """Cells as runtimes take them; those that no category can be are text that fit did not see."""
    texts = np.empty(len(values), object)  # texts of numpy lose zeros at their ends
    texts[:] = [str(value) if is_utf8(str(value)) else unseen for value in values]
    texts[is_missing] = missing
    return texts


def is_utf8(text: str) -> bool:
    """Whether a text has no halves of surrogate pairs, which no text of ONNX holds."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def add_inputs(graph: Graph, model: Any, made: Exported, dtype: Any) -> tuple[str, CategoryLevels]:
    """The features as one table of doubles, categories as codes, NaN where missing.

    Also the levels of the columns that have target statistics.
    """
    levels = dict[int, tuple[str, int]]()
    binner, of_levels = made.binner, made.columns_of_levels
    categories = categories_by_code(binner)
    if not categories:
        return _add_table(graph, model.n_features_in_, dtype), {}
    columns = []
    for column, name in enumerate(input_names(model)):
        text = column in categories and _is_text(binner, column, name)
        value = graph.input(name, str if text else dtype, [None, 1])
        if column in of_levels:
            encoder = binner.encoders_[column]
            level = _add_levels(graph, value, name, encoder, text, dtype)
            levels[column] = level, len(encoder.categories)
        if column in categories:
            # An encoder has a key, even if nothing was there in fit.
            pairs = _flat(categories[column]) or [("" if text else 0, np.nan)]
            value = _add_encoder(graph, value, name, pairs, text, dtype, np.nan)
        columns.append(graph.cast(value, np.float64))
    return graph.add("Concat", *columns, axis=1), levels


def add_numbers(graph: Graph, pipeline: Any, dtype: Any) -> str:
    """The features of a pipeline as one table of doubles; categories are refused."""
    _, last = split_steps(pipeline)
    if encoders := binner_of(last).encoders_:
        raise TypeError(
            "the last step of a pipeline must see numbers alone in to_onnx, got categories in "
            f"{len(encoders)} columns; export that step by itself, with its own inputs"
        )
    return _add_table(graph, _n_features(pipeline), dtype)


def _n_features(pipeline: Any) -> int:
    # A pipeline asks its first step, which may be none.
    return getattr(pipeline, "n_features_in_", split_steps(pipeline)[1].n_features_in_)


def _add_table(graph: Graph, n_columns: int, dtype: Any) -> str:
    X = graph.input("X", dtype, [None, n_columns])
    return X if dtype == np.float64 else graph.cast(X, np.float64)


def _numbers_of_pipeline(pipeline: Any, X: Any) -> np.ndarray:
    """The columns that a pipeline saw in fit, by their names if it knows them."""
    names = getattr(pipeline, "feature_names_in_", None)
    frame = nw.from_native(X, eager_only=True, pass_through=True)
    if names is not None and isinstance(frame, nw.DataFrame):
        if absent := [name for name in names if name not in frame.columns]:
            raise ValueError(f"X must have the columns that fit saw, got none {absent[0]!r}")
        X = frame.select(list(names)).to_native()
    numbers = read_numbers(BaseEstimator(), X, reset=True)
    if numbers.shape[1] != _n_features(pipeline):
        raise ValueError(
            f"X must have {_n_features(pipeline)} columns as in fit, got {numbers.shape[1]}"
        )
    return numbers


def _add_levels(
    graph: Graph, value: str, name: str, encoder: CategoryEncoder, text: bool, dtype: Any
) -> str:
    """As `CategoryEncoder.levels`."""
    known = encoder.categories.tolist()
    n, keys = len(known), [str(key) for key in known] if text else known
    if text:
        keys.append(_other_texts(set(keys))[0])
    pairs = list(zip(keys, range(n + 1), strict=False))
    level = _add_encoder(graph, value, name, pairs, text, dtype, n + 1)
    if not text:
        missing = graph.add("IsNaN", value)
        level = graph.add("Where", missing, graph.constant(n, dtype), level)
    return graph.add("Reshape", graph.cast(level, np.int64), graph.constant([-1], np.int64))


def _add_encoder(
    graph: Graph, value: str, name: str, pairs: list[Any], text: bool, dtype: Any, default: float
) -> str:
    keys, codes = zip(*pairs, strict=True)
    if text:
        if wrong := [key for key in keys if not is_utf8(str(key))]:
            raise ValueError(
                f"ONNX has text in UTF-8, got the category {wrong[0]!r} of column {name!r}"
            )
        return graph.add(
            "LabelEncoder", value, domain=ML, keys_strings=[str(key) for key in keys],
            values_floats=[float(code) for code in codes], default_float=float(default),
        )  # fmt: skip
    for precision, remedy in (
        (np.dtype(float), "turn them into text before the fit"),
        (dtype, "use dtype=float64"),
    ):
        numbers = np.array(keys, precision)
        if len(np.unique(numbers)) < len(numbers):
            raise ValueError(
                f"the categories of column {name!r} must be different numbers in {precision}, "
                f"and some are not: {remedy}"
            )
    return graph.add(
        "LabelEncoder", value, domain=ML,
        keys_tensor=graph.tensor(numbers), values_tensor=graph.tensor(np.array(codes, dtype)),
        default_tensor=graph.tensor(np.array([default], dtype)),
    )  # fmt: skip
