"""Fitted models as graphs of ONNX."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, is_regressor

from mddf._base.messages import short
from mddf._inspection.stages import feature_names, fitted_stages

from ._graph import Graph
from ._inputs import add_inputs, add_pipeline_input, input_names, is_utf8
from ._precision import check_dtype, lossy_columns, warn_of_rounded_steps, warn_of_rounding
from ._stages import add_stages
from ._statistics import LevelsInput
from ._steps import add_steps, split_steps

if TYPE_CHECKING:
    import onnx


def to_onnx(model: BaseEstimator, *, dtype: npt.DTypeLike | None = None) -> onnx.ModelProto:
    """Convert a fitted model to a graph of ONNX, for runtimes without Python.

    The graph computes in double precision what `predict` or `predict_proba` computes. Inputs in
    single precision take the same branches as the same numbers do in Python. A decimal next to a
    threshold, such as 4.8 between 4.7 and 4.9, may be rounded to the other side of it, which can
    change probabilities by any amount: use ``dtype=numpy.float64`` for decimals.

    Parameters
    ----------
    model : forest, gradient boosting, deep forest or cascade of mddf
        Fitted; or a pipeline that ends with such a model, if all features of the model are
        numbers. Members of other packages must be scikit-learn's linear models (logistic
        regression, ridge regression) or histogram gradient boosting. The transformers before a
        model must be ``SimpleImputer``, ``StandardScaler`` or ``OneHotEncoder``.
    dtype : float32 or float64, default=None
        Type of the numbers that go in and come out. None means float32, with a warning if single
        precision rounds training values of a column that the model uses. Pass
        ``dtype=numpy.float32`` to silence the warning.

    Returns
    -------
    onnx.ModelProto
        Its inputs are those made by `onnx_inputs`. Its outputs are "label", of shape
        (n_samples,), and "probabilities" (n_samples, n_classes). The graph of a regressor has
        one output, "variable", of shape (n_samples, n_outputs).

    Raises
    ------
    TypeError
        If the model, a member or a transformer cannot be converted.

    Notes
    -----
    The graph needs onnxruntime 1.23 or later (opset 18, ai.onnx.ml 5). If no tree splits by
    categories it also runs in 1.21 and 1.22. They refuse graphs with such splits, because they
    copy the subtree below a set of categories once for each member of the set.

    For a column with more different numbers than bins, the model stores only middles between
    numbers, and single precision has to hold these. The warning may therefore be needless if the
    model was fitted on single precision.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_iris
    >>> from mddf import RandomForestClassifier
    >>> from mddf.export import to_onnx
    >>> X, y = load_iris(return_X_y=True)
    >>> forest = RandomForestClassifier(5, random_state=0).fit(X, y)
    >>> graph = to_onnx(forest, dtype=np.float64)
    >>> [output.name for output in graph.graph.output]
    ['label', 'probabilities']
    """
    try:
        import_module("onnx")
    except ImportError as error:
        raise ImportError('to_onnx needs the package onnx: pip install "mddf[onnx]"') from error
    # 1. Check the model and the precision.
    steps, last = split_steps(model)
    fitted = fitted_stages(last)
    if dtype is None:
        if steps:
            warn_of_rounded_steps()
        else:
            warn_of_rounding(feature_names(last), lossy_columns(fitted))
    precision = check_dtype(dtype)
    # 2. Declare the inputs, and append the steps before the model.
    levels: dict[int, LevelsInput] = {}
    if steps:
        graph = Graph(["X"])
        raw = add_steps(graph, add_pipeline_input(graph, model, precision), steps)
    else:
        graph = Graph(input_names(last))
        raw, levels = add_inputs(graph, last, fitted, precision)
    # 3. Append the model.
    is_regression = is_regressor(last)
    predictions = add_stages(graph, raw, levels, fitted, is_regressor=is_regression)
    # 4. Declare the outputs.
    if is_regression:
        name = "variable"
        n_outputs = fitted.stages[-1].members[0].n_columns
    else:
        name = "probabilities"
        n_outputs = len(last.classes_)
        position = graph.add("ArgMax", predictions, axis=1, keepdims=0)
        label_type, classes = _label_type(last.classes_)
        label = graph.add("Gather", graph.constant(classes, classes.dtype), position)
        graph.output(label, "label", label_type, [None])
    graph.output(graph.cast(predictions, precision), name, precision, [None, n_outputs])
    return graph.model(type(model).__name__, import_module("mddf").__version__)


def _label_type(classes: np.ndarray) -> tuple[npt.DTypeLike, np.ndarray]:
    """Type of the output "label", and the classes in this type."""
    if classes.dtype.kind == "b":
        return np.bool_, classes
    if classes.dtype.kind in "iu":
        is_signed = classes.max() <= np.iinfo(np.int64).max
        integer = np.int64 if is_signed else np.uint64
        return integer, classes.astype(integer)
    if classes.dtype.kind == "f":
        return np.float64, classes.astype(np.float64)
    if classes.dtype.kind in "UO" and all(isinstance(label, str) for label in classes):
        if wrong := [str(label) for label in classes if not is_utf8(str(label))]:
            raise ValueError(f"ONNX has text in UTF-8, got the label {wrong[0]!r}")
        return str, classes.astype(object)
    raise TypeError(f"ONNX has labels that are numbers, booleans or text, got {short(classes)}")
