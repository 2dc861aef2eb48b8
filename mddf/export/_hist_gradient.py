"""scikit-learn's histogram gradient boosting as an operator."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from mddf._input.cell_values import missing_cells
from mddf._trees.nodes import LEAF, Nodes

from ._graph import Graph
from ._trees import TreeTable

if TYPE_CHECKING:
    from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
    from sklearn.ensemble._hist_gradient_boosting.predictor import TreePredictor

# For each column of categories, the codes of these.
CategoryCodes: TypeAlias = Mapping[int, Mapping[Hashable, float]]


def add_hist_gradient_boosting(
    graph: Graph,
    X: str,
    model: HistGradientBoostingClassifier | HistGradientBoostingRegressor,
    category_codes: CategoryCodes | None,
) -> str:
    """Append the raw predictions of a fitted model, shape (n_rows, n_scores).

    `category_codes` has the codes of the categories in `X`. It is None if the model was fitted on
    the codes themselves.
    """
    order = np.arange(model.n_features_in_)
    codes: list[np.ndarray] = []
    if model._preprocessor is not None:
        # It moves columns of categories to the front, and numbers the categories seen in fit.
        order = np.argsort(~model.is_categorical_, kind="stable")
        categories = model._preprocessor.named_transformers_["encoder"].categories_
        codes = [
            _category_codes(
                column_categories, None if category_codes is None else category_codes[column]
            )
            for column, column_categories in zip(order.tolist(), categories, strict=False)
        ]
    baseline = np.reshape(model._baseline_prediction, -1)
    table = TreeTable()
    for predictors in model._predictors:  # one round of boosting
        for score, predictor in enumerate(predictors):
            nodes, threshold = _decode(predictor, order, codes)
            target = np.full(len(threshold), score)
            table.add_once(nodes, threshold, target, nodes.value)
    return graph.add("Add", table.operator(graph, X, len(baseline)), baseline)


def _category_codes(
    categories: np.ndarray, category_codes: Mapping[Hashable, float] | None
) -> np.ndarray:
    """Codes of the categories of a column, in the order of the model's numbers for them."""
    present = categories[~missing_cells(categories)]
    if category_codes is not None:
        present = np.array([category_codes[category] for category in present.tolist()])
    return present.astype(int)


def _decode(
    predictor: TreePredictor, order: np.ndarray, codes: list[np.ndarray]
) -> tuple[Nodes, np.ndarray]:
    """Convert a tree to nodes, children side by side behind their parents, and thresholds.

    `order` has the columns of X in the order in which the trees number them. The first of them are
    columns of categories, whose codes are in `codes`. The value of leaves is their raw prediction.
    Values up to a threshold go left; it is NaN at leaves and at splits of categories.
    """
    places = [0]
    left = []
    for place in places:  # which grows on the way
        node = predictor.nodes[place]
        if node["is_leaf"]:
            left.append(LEAF)
        else:
            left.append(len(places))
            places += [int(node["left"]), int(node["right"])]
    words = predictor.nodes[places]
    leaf = words["is_leaf"] > 0
    by_set = (words["is_categorical"] > 0) & ~leaf
    sets = {
        node: _codes_going_left(predictor.raw_left_cat_bitsets, words[node], codes)
        for node in np.flatnonzero(by_set).tolist()
    }
    unused = np.empty(0)
    nodes = Nodes(
        start=np.array([0, len(leaf)]),
        left=np.array(left),
        column=np.where(leaf, 0, order[words["feature_idx"]]),
        highest=unused,
        missing_left=words["missing_go_to_left"] > 0,
        sets=sets,
        value=np.where(leaf, words["value"], 0.0),
        word_node=unused,
        word_start=unused,
    )
    return nodes, np.where(by_set | leaf, np.nan, words["num_threshold"])


def _codes_going_left(bitsets: np.ndarray, word: np.void, codes: list[np.ndarray]) -> np.ndarray:
    """Codes that go left at a node; codes that were absent in fit go where NaN goes."""
    column_codes = codes[word["feature_idx"]]
    goes_left = np.full(256, word["missing_go_to_left"] > 0)
    bits = bitsets[word["bitset_idx"]].astype("<u4").view(np.uint8)
    goes_left[column_codes] = np.unpackbits(bits, bitorder="little")[: len(column_codes)]
    return np.flatnonzero(goes_left)
