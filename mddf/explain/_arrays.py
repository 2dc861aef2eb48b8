"""Trees in scikit-learn's vocabulary."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from itertools import islice

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator

from mddf._base.messages import short
from mddf._base.validation import check_position
from mddf._binning.binner import Binner
from mddf._binning.bins import Bins
from mddf._gradient.decoding import decode
from mddf._gradient.trees import BoostedTrees
from mddf._inspection.stages import coded_stages, fitted_stages
from mddf._trees.arrays import TreeBlock
from mddf._trees.decoding import thresholds
from mddf._trees.nodes import LEAF

from ._paths import rows_at_leaves

TREE_UNDEFINED = -2  # as in scikit-learn


@dataclass(frozen=True)
class TreeArrays:
    """One tree as arrays over its nodes, with the names of scikit-learn's trees.

    The root is node 0.

    Attributes
    ----------
    children_left, children_right : ndarray of int of shape (n_nodes,)
        -1 at leaves.
    feature : ndarray of int of shape (n_nodes,)
        Column of a node's split; -2 at leaves. In a cascade's layers after the first, the columns
        from ``n_features_in_`` on are class vectors of the layers before. In gradient boosting
        they are target statistics: first of each column of many categories, then of each pair.
    threshold : ndarray of float of shape (n_nodes,)
        Values up to it go left. It is infinite at a node that only separates missing values from
        others. NaN at splits of categories, -2 at leaves.
    missing_go_to_left : ndarray of bool of shape (n_nodes,)
    categories : dict of int to ndarray of int
        The categories that go left at the nodes which split them, as codes from 0 in the order of
        `category_codes`; all others go right. Missing and new categories go left where
        `missing_go_to_left` is true.
    value : ndarray of shape (n_nodes, n_classes) or (n_nodes, n_outputs)
        Class distributions of a classifier, means of the targets of a regressor (scaled to
        variance 1 in a `DeepForestRegressor`), or amounts added to raw predictions by gradient
        boosting. Values of inner nodes are weighted means over the training samples, or means
        over the rows of `X`, and NaN where no row gets.
    n_node_samples : ndarray of int of shape (n_nodes,) or None
        Number of rows of `X` at each node.
    weighted_n_node_samples : ndarray of shape (n_nodes,) or None
        Weight of the training samples at each node. A bootstrap counts a sample as often as it
        drew it. Whole numbers are exact to 2^23 in a leaf, others to seven digits. If the sample
        weights of a forest are not whole numbers, each tree has a unit of its own.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from mddf import RandomForestClassifier
    >>> from mddf.explain import tree_arrays
    >>> X, y = load_iris(return_X_y=True)
    >>> forest = RandomForestClassifier(5, max_depth=1, random_state=0).fit(X, y)
    >>> tree = tree_arrays(forest)[0]
    >>> tree.feature.tolist(), tree.threshold.round(2).tolist()
    ([2, -2, -2], [2.45, -2.0, -2.0])
    """

    children_left: np.ndarray
    children_right: np.ndarray
    feature: np.ndarray
    threshold: np.ndarray
    missing_go_to_left: np.ndarray
    categories: dict[int, np.ndarray]
    value: np.ndarray
    n_node_samples: np.ndarray | None = None
    weighted_n_node_samples: np.ndarray | None = None

    @property
    def node_count(self) -> int:
        """Number of nodes, leaves included."""
        return len(self.feature)


def tree_arrays(
    model: BaseEstimator,
    *,
    layer: int | None = None,
    forest: int | None = None,
    X: npt.ArrayLike | None = None,
) -> list[TreeArrays]:
    """Return the trees of a forest, or of a layer of a cascade, as arrays.

    A forest predicts the mean over all trees of the distributions in a row's leaves. In a layer,
    each forest predicts the mean over the trees of all folds. The raw prediction of gradient
    boosting is the start value plus the sum over all trees of the values in a row's leaves.
    Symmetric trees have nodes only where the split of a level divides the samples.

    Parameters
    ----------
    model : forest, gradient boosting, deep forest or cascade of mddf
        Fitted.
    layer : int, default=None
        Position of the layer in a cascade: 0 is the first layer, and -1 the last one. Must be
        None for a forest.
    forest : int, default=None
        Position of the forest in the layer; None means all forests, one after the other.
    X : array or DataFrame of shape (n_samples, n_features), default=None
        Rows to be counted at the nodes.

    Returns
    -------
    list of TreeArrays

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from mddf import RandomForestClassifier
    >>> from mddf.explain import tree_arrays
    >>> X, y = load_iris(return_X_y=True)
    >>> forest = RandomForestClassifier(5, max_depth=1, random_state=0).fit(X, y)
    >>> tree = tree_arrays(forest, X=X)[0]
    >>> tree.children_left.tolist(), tree.n_node_samples.tolist()
    ([1, -1, -1], [150, 50, 100])
    """
    fitted = fitted_stages(model)
    if fitted.has_layers:
        position = check_position("layer", layer, len(fitted.stages))
    elif layer is None:
        position = 0
    else:
        raise ValueError(f"layer must be None for a forest, got {short(layer)}")
    stage = fitted.stages[position]
    if forest is not None:
        forest = check_position("forest", forest, len(stage.members))
    member = stage.members[forest or 0]
    bins = member.tree_bins(fitted.bins_of(stage))
    codes = None
    if X is not None:
        codes = member.tree_codes(next(islice(coded_stages(model, X), position, None)))
    return [
        tree for block in stage.blocks(forest) for tree in _split(block, member.unit, bins, codes)
    ]


def category_codes(model: BaseEstimator) -> dict[int, list[Hashable | list[Hashable]]]:
    """Return the categories of each categorical column, in the order of their codes.

    Parameters
    ----------
    model : forest, gradient boosting, deep forest or cascade of mddf
        Fitted.

    Returns
    -------
    dict of int to list
        Categories by column. An entry is a list if several rare categories share its code.

    Examples
    --------
    >>> import pandas as pd
    >>> from mddf import RandomForestClassifier
    >>> from mddf.explain import category_codes
    >>> X = pd.DataFrame({"size": [1.0, 2.0, 3.0, 4.0], "colour": ["red", "blue", "red", "blue"]})
    >>> X["colour"] = X["colour"].astype("category")
    >>> forest = RandomForestClassifier(5, random_state=0).fit(X, [0, 1, 0, 1])
    >>> category_codes(forest)  # by position of the column
    {1: ['blue', 'red']}
    """
    return categories_by_code(fitted_stages(model).binner)


def categories_by_code(binner: Binner) -> dict[int, list[Hashable | list[Hashable]]]:
    """Return the categories of a binner in the form of `category_codes`."""
    by_column = {}
    for column, encoder in binner.encoders_.items():
        categories = encoder.categories.tolist()
        if encoder.rare is not None:
            rare = encoder.rare.tolist()
            shared = set(rare)
            categories = [value for value in categories if value not in shared] + [rare]
        by_column[column] = categories
    return by_column


def _split(
    block: TreeBlock | BoostedTrees,
    unit: float | np.ndarray,
    bins: Bins,
    codes: np.ndarray | None,
) -> list[TreeArrays]:
    nodes = decode(block)
    leaf = nodes.left == LEAF
    value = nodes.value * unit
    counts = None if codes is None else nodes.gather(rows_at_leaves(nodes, block, codes, None))
    weights = None if nodes.weight is None else nodes.gather(nodes.weight)
    node_weights = weights if counts is None else counts
    if node_weights is not None:
        # Leaves store values; those of inner nodes are means over the leaves below.
        leaf_weights = np.where(leaf, node_weights, 0)[:, None]
        sums = nodes.gather(leaf_weights * np.where(leaf[:, None], value, 0))
        with np.errstate(invalid="ignore"):
            value = np.where(leaf[:, None], value, sums / node_weights[:, None])
    threshold = thresholds(nodes, bins)
    trees = []
    for first, last in zip(nodes.start[:-1], nodes.start[1:], strict=True):
        part = slice(first, last)
        is_leaf = leaf[part]
        tree = TreeArrays(
            children_left=np.where(is_leaf, LEAF, nodes.left[part] - first),
            children_right=np.where(is_leaf, LEAF, nodes.left[part] - first + 1),
            feature=np.where(is_leaf, TREE_UNDEFINED, nodes.column[part]),
            threshold=np.where(is_leaf, TREE_UNDEFINED, threshold[part]),
            missing_go_to_left=nodes.missing_left[part],
            categories={},
            value=value[part],
            n_node_samples=None if counts is None else counts[part],
            weighted_n_node_samples=None if weights is None else weights[part],
        )
        trees.append(tree)
    tree_of_node = np.repeat(np.arange(nodes.n_trees), np.diff(nodes.start))
    for node, codes_going_left in nodes.sets.items():
        number = tree_of_node[node]
        trees[number].categories[int(node - nodes.start[number])] = codes_going_left
    return trees
