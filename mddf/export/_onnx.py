"""Fitted models as graphs of ONNX."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_regressor

from mddf._base.messages import short
from mddf._inspection.stages import feature_names, fitted_stages

from ._exported import Exported, own_description
from ._graph import Graph
from ._inputs import add_inputs, add_numbers, input_names, is_utf8
from ._precision import checked, lossy_columns, warn_of_rounded_steps, warn_of_rounding
from ._stages import add_stages
from ._statistics import CategoryLevels
from ._steps import add_steps, split_steps


def to_onnx(model: Any, *, dtype: Any = None) -> Any:
    """A fitted model as a graph of ONNX, for runtimes without Python.

    The graph does in double precision what `predict_proba` does, so that single- and
    double-precision inputs go to the same side of every split as in Python: if `dtype` is
    float32, those to which numbers rounded to single precision go. A number next to a threshold,
    such as 4.8 between 4.7 and 4.9, may be rounded to the other side of it, which changes
    probabilities by any amount: with decimals take float64.

    Parameters
    ----------
    model : forest, gradient boosting, deep forest, cascade or boosting baseline of mddf
        Fitted. Members from outside must be scikit-learn's linear models (logistic regression,
        ridge regression) or histogram gradient boosting, alone or in a pipeline after a
        ``SimpleImputer``, a ``StandardScaler`` or a ``OneHotEncoder``. A model can be the last
        step of such a pipeline, too, if all of its features are numbers.
    dtype : float32 or float64, default=None
        Of the numbers that go in and come out. None means float32, with a warning if that does
        not hold the numbers which fit saw in some column that trees ask for, or that members see
        which are no forests of mddf. Of a column with more different numbers than bins the model
        only knows middles of numbers, which have to be held: a warning may then be needless if
        the model was fitted on single precision, and ``dtype=numpy.float32`` says so.

    Returns
    -------
    onnx.ModelProto
        Its inputs are those that `onnx_inputs` makes. Its outputs are "label", of shape
        (n_samples,), and "probabilities" (n_samples, n_classes). It is for onnxruntime 1.23 and
        later (opset 18, ai.onnx.ml 5). If no tree splits by categories it runs in 1.21 and 1.22,
        too; else they refuse it, as they copy what is below a set of categories for each of its
        members. Of a regressor, there is one output, "variable", of shape
        (n_samples, n_outputs).

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
    steps, last = split_steps(model)
    made: Exported = own_description(last) or _ExportedStages(last)
    if dtype is None:
        if steps:
            warn_of_rounded_steps()
        else:
            warn_of_rounding(feature_names(last), made.lossy_columns())
    dtype = checked(dtype)
    if steps:
        graph = Graph(["X"])
        raw = add_steps(graph, add_numbers(graph, model, dtype), steps)
        levels: CategoryLevels = {}
    else:
        graph = Graph(input_names(last))
        raw, levels = add_inputs(graph, last, made, dtype)
    outcome, code = made.add(graph, raw, levels)
    name, version = type(model).__name__, import_module("mddf").__version__
    if is_regressor(last):
        graph.output(graph.cast(outcome, dtype), "variable", dtype, [None, made.n_outputs])
        return graph.model(name, version)
    label_type, classes = _label_type(last.classes_)
    label = graph.add("Gather", graph.constant(classes, classes.dtype), code)
    graph.output(label, "label", label_type, [None])
    graph.output(graph.cast(outcome, dtype), "probabilities", dtype, [None, len(classes)])
    return graph.model(name, version)


class _ExportedStages:
    """A model that consists of stages."""

    def __init__(self, model: Any) -> None:
        self.fitted, self.is_regressor = fitted_stages(model), is_regressor(model)
        self.binner = self.fitted.binner
        self.columns_of_levels = self.fitted.columns_of_levels
        self.n_outputs = self.fitted.stages[-1].members[0].n_columns

    def lossy_columns(self) -> NDArray[np.bool_]:
        """Those that trees ask for, or members see that are no trees."""
        return lossy_columns(self.fitted)

    def add(self, graph: Graph, raw: str, levels: CategoryLevels) -> tuple[str, str]:
        """Append all stages; numbers have no labels."""
        outcome = add_stages(graph, raw, levels, self.fitted, self.is_regressor)
        if self.is_regressor:
            return outcome, ""
        return outcome, graph.add("ArgMax", outcome, axis=1, keepdims=0)


def _label_type(classes: np.ndarray) -> tuple[Any, ...]:
    """The type of the label output, and the classes as it has them."""
    if classes.dtype.kind == "b":
        return np.bool_, classes
    if classes.dtype.kind in "iu":
        small = classes.max() <= np.iinfo(np.int64).max
        whole = np.int64 if small else np.uint64
        return whole, classes.astype(whole)
    if classes.dtype.kind == "f":
        return np.float64, classes.astype(np.float64)
    if classes.dtype.kind in "UO" and all(isinstance(label, str) for label in classes):
        if wrong := [str(label) for label in classes if not is_utf8(str(label))]:
            raise ValueError(f"ONNX has text in UTF-8, got the label {wrong[0]!r}")
        return str, classes.astype(object)
    raise TypeError(f"ONNX has labels that are numbers, booleans or text, got {short(classes)}")
