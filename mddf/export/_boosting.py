"""scikit-learn's histogram boosting as operators."""

from __future__ import annotations

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.preprocessing import OrdinalEncoder

from mddf.explain._nodes import LEAF, Nodes

from ._graph import ML, Graph
from ._trees import TreeTable


def add_boosting(graph: Graph, X: str, model: HistGradientBoostingClassifier) -> str:
    """Append a fitted model; its probabilities, shape (n_rows, n_classes)."""
    if model._preprocessor is not None:
        X = _add_preprocessor(graph, X, model._preprocessor)
    table = TreeTable()
    for of_round in model._predictors:
        for target, predictor in enumerate(of_round):
            nodes, split, weight = _nodes(predictor)
            table.add_once(nodes, split, np.full(len(weight), target), weight)
    scores = graph.constant(model._baseline_prediction)
    if table.n_leaves:
        sums = table.operator(graph, X, model.n_trees_per_iteration_)
        scores = graph.add("Add", sums, scores)
    if model.n_trees_per_iteration_ > 1:
        return graph.add("Softmax", scores, axis=1)
    second = graph.add("Sigmoid", scores)
    return graph.add("Concat", graph.add("Sub", graph.constant(1.0), second), second, axis=1)


def _add_preprocessor(graph: Graph, X: str, preprocessor) -> str:
    """Columns as the trees count them: categories, by their place in order, come first."""
    parts = []
    for _, step, columns in preprocessor.transformers_:
        for i, column in enumerate(np.arange(preprocessor.n_features_in_)[columns]):
            value = graph.add("Gather", X, graph.constant([column], np.int64), axis=1)
            if isinstance(step, OrdinalEncoder):
                keys = step.categories_[i][~np.isnan(step.categories_[i])]
                value = graph.add(
                    "LabelEncoder",
                    value,
                    domain=ML,
                    keys_tensor=graph.tensor(keys.astype(float)),
                    values_tensor=graph.tensor(np.arange(len(keys), dtype=float)),
                    default_tensor=graph.tensor(np.array([np.nan])),
                )
            parts.append(value)
    return graph.add("Concat", *parts, axis=1)


def _nodes(predictor) -> tuple[Nodes, np.ndarray, np.ndarray]:
    """A tree with children side by side, its thresholds, and the values of its leaves."""
    found = predictor.nodes
    order: list[int] = [0]
    left: list[int] = []
    for node in order:  # grows on the way
        if found[node]["is_leaf"]:
            left.append(LEAF)
        else:
            left.append(len(order))
            order += [int(found[node]["left"]), int(found[node]["right"])]
    tree = found[order]
    by_set = (tree["is_categorical"] > 0) & (tree["is_leaf"] == 0)
    sets = {}
    for node in np.flatnonzero(by_set).tolist():
        bits = predictor.raw_left_cat_bitsets[tree["bitset_idx"][node]].astype("<u4")
        sets[node] = np.flatnonzero(np.unpackbits(bits.view(np.uint8), bitorder="little"))
    none = np.empty(0)
    nodes = Nodes(
        np.array([0, len(order)]),
        np.array(left),
        tree["feature_idx"].astype(int),
        none,
        tree["missing_go_to_left"] > 0,
        sets,
        none,
        none,
        none,
    )
    return nodes, np.where(by_set, np.nan, tree["num_threshold"]), tree["value"].astype(float)
