"""Forests and gradient boosting as models of treelite."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, is_regressor

from mddf._base.messages import short
from mddf._fitted.fitted_model import FittedMember, FittedStages
from mddf._gradient.decoding import decode
from mddf._gradient.losses import ClassificationTarget, RegressionTarget, TargetKind
from mddf._inspection.stages import fitted_stages, numbers_of
from mddf._trees.decoding import thresholds
from mddf._trees.nodes import LEAF, Nodes

if TYPE_CHECKING:
    import treelite

# Thresholds of splits that part missing values from all numbers are infinite, which cannot be
# written as a number of C. The largest double takes the place of infinity.
_LARGEST = float(np.finfo(np.float64).max)


def to_treelite(model: BaseEstimator) -> treelite.Model:
    """Convert a forest or gradient boosting to a model of treelite.

    treelite is an exchange format for trees, which other libraries read, for example to predict on
    a GPU or to write C code. `treelite.gtil.predict` evaluates the model.

    Parameters
    ----------
    model : forest or gradient boosting of mddf
        Fitted. A classifier has one output and at least two classes.

    Returns
    -------
    treelite.Model
        Thresholds and leaves are doubles. The input is the result of `treelite_inputs`. The output
        of a classifier has the probabilities of all classes, but gradient boosting of two classes
        has only the second. The output of a regressor has its predictions.

    Raises
    ------
    TypeError
        If the model is not a forest or gradient boosting, or is a pipeline.
    ValueError
        If trees split by target statistics, the loss is a CustomLoss with an inverse link, or a
        classifier has several outputs or one class.

    See Also
    --------
    to_onnx : Graph of any model of mddf, also of pipelines.

    Notes
    -----
    Predictions differ from mddf's by rounding. In the tests, the difference is below 1e-9
    of the largest prediction of a regressor, and below 1e-7 for probabilities: mddf stores the
    class shares of leaves in single precision and scales their sums to 1, and treelite computes
    the softmax in single precision.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from mddf import RandomForestClassifier
    >>> from mddf.export import to_treelite, treelite_inputs
    >>> X, y = load_iris(return_X_y=True)
    >>> forest = RandomForestClassifier(10, random_state=0).fit(X, y)
    >>> inputs = treelite_inputs(forest, X)
    >>> inputs.shape
    (150, 4)

    With the package treelite, the probabilities have shape (150, 1, 3)::

        exported = to_treelite(forest)
        probabilities = treelite.gtil.predict(exported, inputs)
    """
    try:
        from treelite.model_builder import ModelBuilder
    except ImportError as error:
        raise ImportError(
            'to_treelite needs the package treelite: pip install "mddf[treelite]"'
        ) from error
    fitted, member = _single_member(model)
    output = _output(model, fitted, member)
    builder = ModelBuilder(**_head(model, fitted, member, output))
    for block in member.blocks:
        nodes = decode(block)
        _add_trees(builder, nodes, thresholds(nodes, fitted.binner.bins_), member.unit)
    return builder.commit()


def treelite_inputs(model: BaseEstimator, X: npt.ArrayLike) -> np.ndarray:
    """Convert rows to the input of the model that `to_treelite` makes.

    Parameters
    ----------
    model : forest or gradient boosting of mddf
        Fitted.
    X : array or DataFrame of shape (n_samples, n_features)

    Returns
    -------
    ndarray of float64 of shape (n_samples, n_features)
        Numbers, and NaN where missing. Categories are codes, as by
        `mddf.explain.category_codes`; categories that are unknown to the model are NaN.

    Examples
    --------
    >>> import numpy as np
    >>> from mddf import RandomForestRegressor
    >>> from mddf.export import treelite_inputs
    >>> forest = RandomForestRegressor(2, random_state=0).fit([[1], [2], [3]], [1, 2, 3])
    >>> treelite_inputs(forest, [[5], [np.nan]]).tolist()
    [[5.0], [nan]]
    """
    _single_member(model)
    return np.ascontiguousarray(numbers_of(model, X), np.float64)


@dataclass(frozen=True)
class _Output:
    """The output of a model in the terms of treelite."""

    task_type: str
    postprocessor: str
    shape: tuple[int, int]  # targets and classes, also of the leaves
    base_scores: np.ndarray  # added to the sum or the mean of the trees
    sigmoid_alpha: float = 1.0


def _single_member(model: BaseEstimator) -> tuple[FittedStages, FittedMember]:
    """The trees of a forest or of gradient boosting; errors refuse other models."""
    fitted = fitted_stages(model)
    members = fitted.members
    if len(members) != 1 or fitted.has_layers or fitted.weighs_members or not members[0].has_trees:
        raise TypeError(
            f"model must be a forest or gradient boosting for treelite, got {short(model)}; "
            "to_onnx takes cascades and deep forests"
        )
    (member,) = members
    if member.reads_levels:
        raise ValueError(
            "model must have no target statistics of categories for treelite, which cannot "
            f"compute them, got {short(model)}; to_onnx takes it"
        )
    if isinstance(fitted.link, TargetKind) and fitted.link.has_custom_link:
        raise ValueError(
            "model must have no CustomLoss with an inverse_link for treelite, which cannot run a "
            f"Python function, got {short(model)}"
        )
    if not is_regressor(model) and len(model.classes_) < 2:
        raise ValueError("model must have at least two classes for treelite, got 1")
    return fitted, member


def _output(model: BaseEstimator, fitted: FittedStages, member: FittedMember) -> _Output:
    base = np.broadcast_to(np.asarray(member.offset, float), member.n_columns)
    link = fitted.link
    if isinstance(link, RegressionTarget):
        # Predictions are exp(raw prediction) times the size of the targets.
        log_size = link.exponent * np.log(2) if link.sizes is None else np.log(link.sizes)
        return _Output("kRegressor", "exponential", (member.n_columns, 1), base + log_size)
    if isinstance(link, ClassificationTarget):
        if link.n_scores > 1:
            return _Output("kMultiClf", "softmax", (1, link.n_scores), base)
        alpha = 2.0 if link.loss == "exponential" else 1.0
        return _Output("kBinaryClf", "sigmoid", (1, 1), base, sigmoid_alpha=alpha)
    if is_regressor(model):
        return _Output("kRegressor", "identity", (member.n_columns, 1), base)
    return _Output("kMultiClf", "identity_multiclass", (1, member.n_columns), base)


def _head(
    model: BaseEstimator, fitted: FittedStages, member: FittedMember, output: _Output
) -> dict[str, Any]:
    """Arguments of treelite's builder that describe the model as a whole."""
    from treelite.model_builder import Metadata, PostProcessorFunc, TreeAnnotation

    n_trees = sum(block.n_trees for block in member.blocks)
    n_targets, n_classes = output.shape
    return {
        "threshold_type": "float64",
        "leaf_output_type": "float64",
        "metadata": Metadata(
            num_feature=fitted.n_raw,
            task_type=output.task_type,
            average_tree_output=not hasattr(model, "learning_rate"),
            num_target=n_targets,
            num_class=[n_classes] * n_targets,
            leaf_vector_shape=output.shape,
        ),
        "tree_annotation": TreeAnnotation(
            num_tree=n_trees,
            target_id=[-1 if n_targets > 1 else 0] * n_trees,
            class_id=[-1 if n_classes > 1 else 0] * n_trees,
        ),
        "postprocessor": PostProcessorFunc(
            name=output.postprocessor, sigmoid_alpha=output.sigmoid_alpha
        ),
        "base_scores": output.base_scores.tolist(),
    }


def _add_trees(
    builder: Any, nodes: Nodes, threshold: np.ndarray, unit: float | np.ndarray
) -> None:
    """Add the trees of a block; `builder` is a ModelBuilder of treelite."""
    values = nodes.value * unit
    for first, last in zip(nodes.start[:-1].tolist(), nodes.start[1:].tolist(), strict=True):
        builder.start_tree()
        for node in range(first, last):
            builder.start_node(node - first)
            if nodes.left[node] == LEAF:
                value = values[node].tolist()
                builder.leaf(value if len(value) > 1 else value[0])
            else:
                _add_split(builder, nodes, node, threshold[node], first=first)
            builder.end_node()
        builder.end_tree()


def _add_split(builder: Any, nodes: Nodes, node: int, threshold: float, *, first: int) -> None:
    left = int(nodes.left[node]) - first
    children = {
        "default_left": bool(nodes.missing_left[node]),
        "left_child_key": left,
        "right_child_key": left + 1,
    }
    column = int(nodes.column[node])
    if len(nodes.sets.get(node, ())):
        builder.categorical_test(
            column,
            category_list=nodes.sets[node].tolist(),
            category_list_right_child=False,
            **children,
        )
        return
    # An empty set of categories has no threshold, and sends nothing to the left.
    finite = np.clip(np.nan_to_num(threshold, nan=-_LARGEST), -_LARGEST, _LARGEST)
    builder.numerical_test(column, float(finite), opname="<=", **children)
