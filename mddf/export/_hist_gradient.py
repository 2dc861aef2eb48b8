"""The trees of scikit-learn's histogram gradient boosting, which graphs are made of."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from mddf._input.cell_values import missing_cells
from mddf._trees.nodes import LEAF, Nodes


def trees_of(
    model: Any, codes_of: Mapping[int, Mapping[Any, float]] | None = None
) -> Iterator[tuple[Nodes, np.ndarray, np.ndarray]]:
    """The trees of a fitted model, round by round.

    Parameters
    ----------
    model : HistGradientBoostingClassifier or HistGradientBoostingRegressor
    codes_of : dict of int to dict, default=None
        Codes of the categories of each column of them; without it, categories are codes.

    Yields
    ------
    nodes : Nodes
        Without values.
    split : ndarray of float of shape (n_nodes,)
        Values up to it go left; NaN at leaves and where there is a set.
    value : ndarray of float of shape (n_nodes,)
        Of leaves, 0 elsewhere.
    """
    order, known = np.arange(model.n_features_in_), []
    if model._preprocessor is not None:  # it puts categories first, and counts those it sees
        order = np.argsort(~model.is_categorical_, kind="stable")
        encoder = model._preprocessor.named_transformers_["encoder"]
        columns = order[: len(encoder.categories_)].tolist()
        known = [
            _codes(categories, None if codes_of is None else codes_of[c])
            for c, categories in zip(columns, encoder.categories_, strict=True)
        ]
    for of_round in model._predictors:
        for predictor in of_round:
            yield _tree(predictor, order, known)


def _codes(categories: np.ndarray, codes: Mapping[Any, float] | None) -> np.ndarray:
    """Of the categories that fit saw, in their order."""
    there = categories[~missing_cells(categories)]
    if codes is not None:
        there = np.array([codes[category] for category in there.tolist()])
    return there.astype(int)


def _tree(
    predictor: Any, order: np.ndarray, known: list[np.ndarray]
) -> tuple[Nodes, np.ndarray, np.ndarray]:
    """A tree, its nodes in another order: children side by side behind their parents.

    Parameters
    ----------
    predictor : TreePredictor
    order : ndarray of int of shape (n_features,)
        Columns of X that the trees count.
    known : list of ndarray of int
        Codes of the columns of categories, which come first, in the order of the trees' numbers.
    """
    nodes = predictor.nodes
    places, left = [0], []
    for place in places:  # grows on the way
        if nodes[place]["is_leaf"]:
            left.append(LEAF)
        else:
            left.append(len(places))
            places += [int(nodes[place]["left"]), int(nodes[place]["right"])]
    nodes = nodes[places]
    leaf = nodes["is_leaf"] > 0
    by_set = (nodes["is_categorical"] > 0) & ~leaf
    sets = {
        at: _codes_going_left(predictor.raw_left_cat_bitsets, nodes[at], known)
        for at in np.flatnonzero(by_set).tolist()
    }
    none = np.empty(0)
    tree = Nodes(
        np.array([0, len(leaf)]),
        np.array(left),
        np.where(leaf, 0, order[nodes["feature_idx"]]),
        none,
        nodes["missing_go_to_left"] > 0,
        sets,
        none,
        none,
        none,
    )
    split = np.where(by_set | leaf, np.nan, nodes["num_threshold"])
    return tree, split, np.where(leaf, nodes["value"], 0.0)


def _codes_going_left(bitsets: np.ndarray, node: Any, known: list[np.ndarray]) -> np.ndarray:
    """The codes that go left at a node; those that training did not see go as NaN."""
    codes = known[node["feature_idx"]]
    goes_left = np.full(256, node["missing_go_to_left"] > 0)
    bits = bitsets[node["bitset_idx"]].astype("<u4").view(np.uint8)
    goes_left[codes] = np.unpackbits(bits, bitorder="little")[: len(codes)]
    return np.flatnonzero(goes_left)
