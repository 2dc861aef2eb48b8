"""What goes into a graph: features as a runtime takes them, and as trees see them."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import is_regressor

from mddf._data.cells import NUMBER, missing_cells
from mddf._data.reading import read_table
from mddf._inspection.stages import feature_names, fitted_stages
from mddf.explain._arrays import category_codes

from ._graph import ML, Graph
from ._precision import checked


def onnx_inputs(model: Any, X: Any, *, dtype: Any = None) -> dict[str, np.ndarray]:
    """Rows as the graph that `to_onnx` makes wants them.

    Without categories there is one input, "X" of shape (n_samples, n_features). With some there
    is one of shape (n_samples, 1) for each feature, by its name: text where the categories are
    text, else numbers. A number that is missing is NaN; text that fit did not see is missing.

    Parameters
    ----------
    model : forest, gradient boosting, deep forest or cascade of mddf
        Fitted.
    X : array or DataFrame of shape (n_samples, n_features)
    dtype : float32 or float64, default=None
        The one that `to_onnx` was given; None means float32.

    Returns
    -------
    dict of str to ndarray
    """
    dtype = checked(dtype)
    names = input_names(model)
    table = read_table(model, X, reset=False, categorical_features=model.categorical_features)
    binner, categories = fitted_stages(model).binner, category_codes(model)
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
            cells = _texts(cells, missing_cells(cells), _unseen_text(categories[column]))
        found[name] = np.asarray(cells, object if is_text else dtype)[:, None]
    return found


def input_names(model: Any) -> list[str]:
    """Names of the graph's inputs; those of features that it cannot have are refused."""
    if not category_codes(model):
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


def _unseen_text(categories: list[Any]) -> str:
    known, text = {category for category, _ in _flat(categories)}, ""
    while text in known:
        text += "?"
    return text


def _texts(values: np.ndarray, missing: np.ndarray, unseen: str) -> np.ndarray:
    """Cells as runtimes take them; those that no category can be are text that fit did not see."""
    texts = np.empty(len(values), object)  # texts of numpy lose zeros at their ends
    texts[:] = [
        unseen if is_missing or not is_utf8(str(value)) else str(value)
        for value, is_missing in zip(values, missing, strict=True)
    ]
    return texts


def is_utf8(text: str) -> bool:
    """Whether a text has no halves of surrogate pairs, which no text of ONNX holds."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def add_inputs(graph: Graph, model: Any, dtype: Any) -> str:
    """The features as one table of doubles, categories as codes, NaN where missing."""
    categories = category_codes(model)
    if not categories:
        X = graph.input("X", dtype, [None, model.n_features_in_])
        return X if dtype == np.float64 else graph.cast(X, np.float64)
    binner, columns = fitted_stages(model).binner, []
    for column, name in enumerate(input_names(model)):
        text = column in categories and _is_text(binner, column, name)
        value = graph.input(name, str if text else dtype, [None, 1])
        if column in categories:
            value = _add_encoder(graph, value, name, categories[column], text, dtype)
        columns.append(graph.cast(value, np.float64))
    return graph.add("Concat", *columns, axis=1)


def _add_encoder(
    graph: Graph, value: str, name: str, categories: list[Any], text: bool, dtype: Any
) -> str:
    # An encoder has a key, even if nothing was there in fit.
    pairs = _flat(categories) or [("" if text else 0, np.nan)]
    keys, codes = zip(*pairs, strict=True)
    if text:
        if wrong := [key for key in keys if not is_utf8(str(key))]:
            raise ValueError(
                f"ONNX has text in UTF-8, got the category {wrong[0]!r} of column {name!r}"
            )
        return graph.add(
            "LabelEncoder", value, domain=ML, keys_strings=[str(key) for key in keys],
            values_floats=[float(code) for code in codes], default_float=float("nan"),
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
        default_tensor=graph.tensor(np.array([np.nan], dtype)),
    )  # fmt: skip
