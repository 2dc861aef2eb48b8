"""Trees in scikit-learn's vocabulary."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np

from mddf._base.messages import short
from mddf._binning.binner import Binner
from mddf._binning.bins import Bins
from mddf._inspection.stages import coded_stages, fitted_stages
from mddf._trees.decoding import thresholds
from mddf._trees.nodes import LEAF

from ._checks import check_whole
from ._decoding import decode
from ._paths import rows_at_leaves

TREE_UNDEFINED = -2


@dataclass(frozen=True)
class TreeArrays:
    """One tree, by nodes; the root is node 0. Names are those of scikit-learn's trees.

    Attributes
    ----------
    children_left, children_right : ndarray of int of shape (n_nodes,)
        -1 at leaves.
    feature : ndarray of int of shape (n_nodes,)
        Column of a node's split; -2 at leaves. In a cascade's layers after the first the columns
        from ``n_features_in_`` on are class vectors of the layers before. In gradient boosting
        they are target statistics: those of each column of many categories, then of each pair.
    threshold : ndarray of float of shape (n_nodes,)
        Values up to it go left. It may be infinite at a node that asks only whether a value is
        there. NaN where categories are split, -2 at leaves.
    missing_go_to_left : ndarray of bool of shape (n_nodes,)
    categories : dict of int to ndarray of int
        The categories that go left at the nodes which split them, as codes from 0 in the order of
        `category_codes`; all others go right. What is missing, or was not seen by fit, goes where
        `missing_go_to_left` says.
    value : ndarray of shape (n_nodes, n_classes) or (n_nodes, n_outputs)
        Class distributions, or means of targets; of a `DeepForestRegressor`, whose targets are
        scaled to variance 1, of scaled ones; of gradient boosting, what leaves add to raw
        predictions. Those of inner nodes are means over the training samples by their weight, or
        over the rows given, and then NaN where none of these gets.
    n_node_samples : ndarray of int of shape (n_nodes,) or None
        How many of the given rows get to each node.
    weighted_n_node_samples : ndarray of shape (n_nodes,) or None
        Of the training samples. A bootstrap counts a sample as often as it drew it. Whole numbers
        are exact to 2^23 in a leaf, others to seven digits and, of a forest whose sample weights
        are no whole numbers, in a unit of the tree's own.
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
    model: Any, *, layer: int | None = None, forest: int | None = None, X: Any = None
) -> list[TreeArrays]:
    """The trees of a forest, or of a layer of a cascade, as arrays.

    The mean over all trees of the distributions in a row's leaves is what a forest predicts. For
    a layer, the same holds of each of its forests over the trees of all folds. Of gradient
    boosting, the sum over all trees of the values in a row's leaves is its raw prediction, but for
    the start. Symmetric trees have nodes where a level's split divides samples.

    Parameters
    ----------
    model : forest, gradient boosting, deep forest or cascade of mddf
        Fitted.
    layer : int, default=None
        Which layer of a cascade, as in a list: 0 is layer 1, and -1 the last one. Must be None
        for a forest.
    forest : int, default=None
        Which forest of the layer; None means all, one after the other.
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
    number = _chosen("layer", layer, len(fitted.stages), only_for_cascades=not fitted.has_layers)
    stage = fitted.stages[number]
    if forest is not None:
        forest = _chosen("forest", forest, len(stage.members))
    member = stage.members[forest or 0]
    codes, bins = None, member.seen_bins(stage.bins)
    if X is not None:
        codes = member.seen_codes(next(islice(coded_stages(model, X), number, None)))
    return [
        tree for block in stage.blocks(forest) for tree in _split(block, member.unit, bins, codes)
    ]


def category_codes(model: Any) -> dict[int, list[Any]]:
    """The categories of each column that has some, in the order of their codes.

    Parameters
    ----------
    model : forest, gradient boosting, deep forest or cascade of mddf
        Fitted.

    Returns
    -------
    dict of int to list
        From the column to its categories. Rare ones that share a code are a list in its place.
    """
    return categories_by_code(fitted_stages(model).binner)


def categories_by_code(binner: Binner) -> dict[int, list[Any]]:
    """The categories that a binner knows, as `category_codes` has them."""
    found = {}
    for column, encoder in binner.encoders_.items():
        there = encoder.categories.tolist()
        if encoder.rare is not None:
            shared = encoder.rare.tolist()
            there = [value for value in there if value not in shared] + [shared]
        found[column] = there
    return found


def _chosen(name: str, number: Any, n: int, only_for_cascades: bool = False) -> int:
    if only_for_cascades:
        if number is not None:
            raise ValueError(f"{name} must be None for a forest, got {short(number)}")
        return 0
    check_whole(name, number, -n, n - 1)
    return int(number) % n


def _split(block: Any, unit: Any, bins: Bins, codes: np.ndarray | None) -> list[TreeArrays]:
    """The trees of a block one by one."""
    nodes = decode(block)
    leaf = nodes.left == LEAF
    value = nodes.value * unit
    counts = None if codes is None else nodes.gather(rows_at_leaves(nodes, block, codes, None))
    weights = None if nodes.weight is None else nodes.gather(nodes.weight)
    known = weights if counts is None else counts
    if known is not None:
        weight = np.where(leaf, known, 0)[:, None]
        sums = nodes.gather(weight * np.where(leaf[:, None], value, 0))
        with np.errstate(invalid="ignore"):
            value = np.where(leaf[:, None], value, sums / known[:, None])
    threshold = thresholds(nodes, bins)
    made = []
    for first, last in zip(nodes.start[:-1], nodes.start[1:], strict=True):
        part = slice(first, last)
        ends = leaf[part]
        made.append(
            TreeArrays(
                np.where(ends, LEAF, nodes.left[part] - first),
                np.where(ends, LEAF, nodes.left[part] - first + 1),
                np.where(ends, TREE_UNDEFINED, nodes.column[part]),
                np.where(ends, TREE_UNDEFINED, threshold[part]),
                nodes.missing_left[part],
                {},
                value[part],
                None if counts is None else counts[part],
                None if weights is None else weights[part],
            )
        )
    tree_of = np.repeat(np.arange(nodes.n_trees), np.diff(nodes.start))
    for node, codes in nodes.sets.items():
        tree = tree_of[node]
        made[tree].categories[int(node - nodes.start[tree])] = codes
    return made
