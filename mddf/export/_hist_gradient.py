"""scikit-learn's histogram gradient boosting as arrays, which graphs are made of."""

from __future__ import annotations

from typing import Any

import numpy as np

# What nodes of trees have.
_KINDS = {
    "column": np.int32,
    "left": np.int32,
    "split": float,
    "set": np.int32,
    "missing_left": bool,
}


def trees_of(model: Any) -> dict[str, np.ndarray]:
    """The trees of a fitted model as arrays, round by round: of all their nodes, and `roots`.

    Children lie side by side, and ``left`` is the number of the first; 0 marks leaves, whose
    values are in ``split``. A row of ``sets`` has a bit for each code that goes left.
    """
    order, known = np.arange(model.n_features_in_), []
    if model._preprocessor is not None:  # it puts categories first, and counts those it sees
        order = np.argsort(~model.is_categorical_, kind="stable")
        encoder = model._preprocessor.named_transformers_["encoder"]
        known = [codes[~np.isnan(codes)].astype(int) for codes in encoder.categories_]
    predictors = [tree for of_round in model._predictors for tree in of_round]
    return _packed(predictors, order, known)


def _packed(
    predictors: list[Any], order: np.ndarray, known: list[np.ndarray]
) -> dict[str, np.ndarray]:
    """scikit-learn's trees as arrays, children side by side behind their parents.

    Parameters
    ----------
    predictors : list of TreePredictor
    order : ndarray of int of shape (n_features,)
        Columns of X that the trees count.
    known : list of ndarray of int
        Codes of the columns of categories, which come first, in the order of the trees' numbers.
    """
    roots, parts, sets = [], [], [np.zeros((0, 4), np.uint64)]
    n_nodes = n_sets = 0
    for predictor in predictors:
        nodes = predictor.nodes
        places, left = [0], []
        for place in places:  # grows on the way
            if nodes[place]["is_leaf"]:
                left.append(0)
            else:
                left.append(n_nodes + len(places))
                places += [int(nodes[place]["left"]), int(nodes[place]["right"])]
        nodes = nodes[places]
        leaf = nodes["is_leaf"] > 0
        by_set = (nodes["is_categorical"] > 0) & ~leaf
        set_of = np.full(len(nodes), -1, np.int32)
        set_of[by_set] = n_sets + np.arange(by_set.sum())
        sets += [
            _codes_going_left(predictor.raw_left_cat_bitsets[node["bitset_idx"]], node, known)
            for node in nodes[by_set]
        ]
        parts.append(
            {
                "column": np.where(leaf, 0, order[nodes["feature_idx"]]).astype(np.int32),
                "left": np.array(left, np.int32),
                "split": np.where(leaf, nodes["value"], nodes["num_threshold"]).astype(float),
                "set": set_of,
                "missing_left": nodes["missing_go_to_left"] > 0,
            }
        )
        roots.append(n_nodes)
        n_nodes, n_sets = n_nodes + len(nodes), n_sets + int(by_set.sum())
    packed = {
        name: np.concatenate([np.zeros(0, kind), *(part[name] for part in parts)])
        for name, kind in _KINDS.items()
    }
    return {"roots": np.array(roots, np.int32), **packed, "sets": np.concatenate(sets)}


def _codes_going_left(bits: np.ndarray, node: Any, known: list[np.ndarray]) -> np.ndarray:
    """Four words: which codes go left at a node; those that training did not see go as NaN."""
    codes = known[node["feature_idx"]]
    goes_left = np.full(256, node["missing_go_to_left"] > 0)
    of_known = np.unpackbits(bits.astype("<u4").view(np.uint8), bitorder="little")
    goes_left[codes] = of_known[: len(codes)]
    return np.packbits(goes_left, bitorder="little").view("<u8").astype(np.uint64)[None]
