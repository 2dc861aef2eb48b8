"""Fitted models as graphs of ONNX."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np
from sklearn.base import is_regressor

from mddf._base.messages import short
from mddf._data.cells import NUMBER
from mddf._data.targets import Units
from mddf._ensemble.columns import GRAIN
from mddf._ensemble.stages import FittedStages, Stage, StageMember
from mddf._ensemble.vote import FLOOR, Calibration
from mddf._gradient.stages import BoostedMember
from mddf._inspection.stages import feature_names, fitted_stages
from mddf._trees.arrays import Trees
from mddf.explain._arrays import category_codes

from ._boosting import add_link, add_scaled_up
from ._external import add_external, add_external_regressor
from ._graph import ML, Graph
from ._precision import checked, warn_of_rounding
from ._trees import add_trees


def to_onnx(model: Any, *, dtype: Any = None) -> Any:
    """A fitted model as a graph of ONNX, for runtimes without Python.

    The graph does in double precision what `predict_proba` does, so that single- and
    double-precision inputs go to the same side of every split as in Python: if `dtype` is
    float32, those to which numbers rounded to single precision go. A number next to a threshold,
    such as 4.8 between 4.7 and 4.9, may be rounded to the other side of it, which changes
    probabilities by any amount: with decimals take float64.

    Parameters
    ----------
    model : forest, gradient boosting, deep forest or cascade of mddf
        Fitted. Members from outside must be scikit-learn's linear models (logistic regression,
        ridge regression) or histogram gradient boosting, alone or in a pipeline after a
        ``SimpleImputer``, a ``StandardScaler`` or a ``OneHotEncoder``.
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
    fitted = fitted_stages(model)
    if dtype is None:
        warn_of_rounding(model, fitted)
    dtype = checked(dtype)
    graph = Graph(_input_names(model))
    raw = _add_inputs(graph, model, dtype)
    outcome = _add_stages(graph, raw, fitted, is_regressor(model))
    if is_regressor(model):
        n_outputs = fitted.stages[-1].members[0].n_columns
        graph.output(graph.cast(outcome, dtype), "variable", dtype, [None, n_outputs])
        return graph.model(type(model).__name__, import_module("mddf").__version__)
    label_type, classes = _label_type(model.classes_)
    label = graph.add("ArgMax", outcome, axis=1, keepdims=0)
    label = graph.add("Gather", graph.constant(classes, classes.dtype), label)
    graph.output(label, "label", label_type, [None])
    graph.output(graph.cast(outcome, dtype), "probabilities", dtype, [None, len(classes)])
    return graph.model(type(model).__name__, import_module("mddf").__version__)


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
    from mddf._data.cells import missing_cells
    from mddf._data.reading import read_table

    dtype = checked(dtype)
    fitted = fitted_stages(model)
    names = _input_names(model)
    table = read_table(model, X, reset=False, categorical_features=model.categorical_features)
    binner, categories = fitted.binner, category_codes(model)
    if not categories:
        return {"X": np.asarray(binner.numbers(table), dtype)}
    found = {}
    for column, name in enumerate(names):
        is_text = column in categories and _is_text(model, column)
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


def _input_names(model: Any) -> list[str]:
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


def _is_text(model: Any, column: int) -> bool:
    kind = fitted_stages(model).binner.kinds_[column]
    if kind in ("text", NUMBER, None):  # None: nothing was there in fit
        return kind != NUMBER
    raise TypeError(
        "ONNX has categories that are text or numbers, got "
        f"{kind} in column {feature_names(model)[column]!r}"
    )


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
        unseen if is_missing or not _is_utf8(str(value)) else str(value)
        for value, is_missing in zip(values, missing, strict=True)
    ]
    return texts


def _is_utf8(text: str) -> bool:
    """Whether a text has no halves of surrogate pairs, which no text of ONNX holds."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _add_inputs(graph: Graph, model: Any, dtype: Any) -> str:
    """The features as one table of doubles, categories as codes, NaN where missing."""
    categories = category_codes(model)
    if not categories:
        X = graph.input("X", dtype, [None, model.n_features_in_])
        return X if dtype == np.float64 else graph.cast(X, np.float64)
    columns = []
    for column, name in enumerate(_input_names(model)):
        text = column in categories and _is_text(model, column)
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
        if wrong := [key for key in keys if not _is_utf8(str(key))]:
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


def _add_shares(graph: Graph, sums: str) -> str:
    total = graph.add("ReduceSum", sums, graph.constant([1], np.int64), keepdims=1)
    return graph.add("Div", sums, total)


def _add_scaled(graph: Graph, operation: str, value: str, factor: Any) -> str:
    """A value times a factor, or divided by it; as it is if that is 1."""
    if np.all(np.equal(factor, 1)):
        return value
    return graph.add(operation, value, graph.constant(factor))


def _add_sum(graph: Graph, values: list[str], weights: Any = None) -> str:
    """The sum of values, each times its weight."""
    if weights is not None:
        scaled = zip(values, weights, strict=True)
        values = [_add_scaled(graph, "Mul", value, weight) for value, weight in scaled]
    total = values[0]
    for value in values[1:]:  # one after the other, as numpy does, to the same last bit
        total = graph.add("Add", total, value)
    return total


def _add_mean(graph: Graph, values: list[str], weights: Any = None) -> str:
    total = float(len(values) if weights is None else weights.sum())
    return _add_scaled(graph, "Div", _add_sum(graph, values, weights), total)


def _add_stages(graph: Graph, raw: str, fitted: FittedStages, is_regressor: bool) -> str:
    """As `FittedStages.outcomes`: what all stages predict together."""
    codes = numbers = raw
    columns: list[str] = []
    votes: list[tuple[str, StageMember]] = []
    if fitted.largest is not None and not fitted.has_trees_only:
        numbers = _add_bounded(graph, raw, fitted.largest)
    for stage in fitted.stages:
        seen = numbers
        if stage.columns is not None and not all(member.has_trees for member in stage.members):
            seen = graph.add("Gather", codes, graph.constant(stage.columns, np.int64), axis=1)
        vectors = [
            _add_trees(graph, codes, member, stage)
            if member.has_trees
            else _add_estimators(graph, seen, member, is_regressor)
            for member in stage.members
        ]
        votes += zip(vectors, stage.members, strict=True)
        if stage.inputs:
            columns.append(_add_columns(graph, [vectors[i] for i in stage.inputs], stage))
            used = np.flatnonzero(stage.alphas)
            shares = stage.alphas[used] / stage.alphas.sum()
            added = _add_sum(graph, [columns[i] for i in used], shares)
            codes = graph.add("Concat", raw, added, axis=1)
    if fitted.weighs_members:
        average = _add_vote(graph, votes)
    else:
        average = _add_mean_of_columns(graph, added, stage)
    if fitted.link is not None:
        return add_link(graph, average, fitted.link)
    if fitted.units is not None:
        return _add_restored(graph, average, fitted.units)
    return _add_calibrated(graph, average, fitted.calibration, stage.members[0].n_columns)


def _add_trees(graph: Graph, codes: str, member: StageMember, stage: Stage) -> str:
    """As `StageMember.vectors`: the mean over trees."""
    sums = add_trees(graph, codes, member.models, stage.bins)
    if isinstance(member, BoostedMember):
        raw = graph.add("Add", sums, graph.constant(member.trees.start))
        exponent = np.frexp(member.unit)[1] - 1
        return add_scaled_up(graph, raw, np.array([exponent])) if exponent else raw
    if isinstance(member.models[0], Trees):
        means = _add_shares(graph, sums)
    else:
        n_trees = float(sum(block.n_trees for block in member.models))
        means = graph.add("Div", sums, graph.constant(n_trees))
        means = graph.add("Mul", means, graph.constant(member.unit))
    return _add_rounded(graph, means) if member.is_rounded else means


def _add_estimators(graph: Graph, numbers: str, member: StageMember, is_regressor: bool) -> str:
    """As `ExternalMember.vectors`: the mean over estimators."""
    if is_regressor:
        found = [add_external_regressor(graph, numbers, one) for one in member.models]
    else:
        found = [add_external(graph, numbers, one, member.n_columns) for one in member.models]
    if not member.is_rounded:
        return _add_mean(graph, found)
    return _add_rounded(graph, _add_shares(graph, _add_sum(graph, found)))


def _add_columns(graph: Graph, vectors: list[str], stage: Stage) -> str:
    """As `Stage.own_columns`."""
    if stage.average_weights is None:
        return graph.add("Concat", *vectors, axis=1)
    return _add_mean(graph, vectors, stage.average_weights)


def _add_mean_of_columns(graph: Graph, columns: str, stage: Stage) -> str:
    """As `Stage.mean`."""
    if stage.average_weights is not None:
        return columns
    n = stage.members[0].n_columns
    starts = range(0, n * len(stage.inputs), n)
    places = [graph.constant(range(first, first + n), np.int64) for first in starts]
    return _add_mean(graph, [graph.add("Gather", columns, place, axis=1) for place in places])


def _add_vote(graph: Graph, votes: list[tuple[str, StageMember]]) -> str:
    """As `FittedStages.averages`: the mean of all members that have a weight."""
    kept = [(vectors, member) for vectors, member in votes if member.weight > 0]
    sharpened = [_add_sharpened(graph, vectors, member.exponent) for vectors, member in kept]
    weights = [member.weight for _, member in kept]
    return graph.add("Div", _add_sum(graph, sharpened, weights), graph.constant(sum(weights)))


def _add_bounded(graph: Graph, X: str, largest: float) -> str:
    """As `mddf._ensemble.stages.bounded`."""
    return graph.add("Max", graph.add("Min", X, graph.constant(largest)), graph.constant(-largest))


def _add_restored(graph: Graph, standard: str, units: Units) -> str:
    """As `mddf._data.targets.Units.restore`."""
    values = graph.add("Mul", standard, graph.constant(units.spread))
    values = graph.add("Add", values, graph.constant(units.mean))
    return add_scaled_up(graph, values, units.exponents)


def _add_calibrated(graph: Graph, mean: str, calibration: Calibration, n_classes: int) -> str:
    sharpened = _add_sharpened(graph, mean, calibration.exponent)
    if not calibration.label_smoothing:
        return sharpened
    shrunk = graph.add("Mul", sharpened, graph.constant(1 - calibration.label_smoothing))
    return graph.add("Add", shrunk, graph.constant(calibration.label_smoothing / n_classes))


def _add_sharpened(graph: Graph, probabilities: str, exponent: float) -> str:
    """As `mddf._ensemble.vote.sharpened`."""
    if exponent == 1:
        return probabilities
    floored = graph.add("Max", probabilities, graph.constant(FLOOR))
    logs = graph.add("Mul", graph.add("Log", floored), graph.constant(exponent))
    return graph.add("Softmax", logs, axis=1)


def _add_rounded(graph: Graph, vector: str) -> str:
    """To whole multiples of a power of two, as layers do."""
    grains = graph.add("Div", vector, graph.constant(GRAIN))
    return graph.add("Mul", graph.add("Round", grains), graph.constant(GRAIN))


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
        if wrong := [str(label) for label in classes if not _is_utf8(str(label))]:
            raise ValueError(f"ONNX has text in UTF-8, got the label {wrong[0]!r}")
        return str, classes.astype(object)
    raise TypeError(f"ONNX has labels that are numbers, booleans or text, got {short(classes)}")
