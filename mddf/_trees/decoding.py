"""From the kernel's trees to their nodes."""

from __future__ import annotations

from typing import Any

import numpy as np

from mddf._binning.bins import Bins
from mddf._trees.arrays import TreeBlock, Trees
from mddf._trees.nodes import LEAF, Nodes

# As `_kernel/forest/tree/trees.hpp` lays out a node's word.
_MISSING_LEFT, _CATEGORICAL, _LEAF_KIND = 1, 2, 3
_PURE = 1 << 31


def decode_forest(trees: TreeBlock) -> Nodes:
    """Unpack a block of trees."""
    trees.check()
    words = trees.nodes
    is_node = _which_are_nodes(words, trees.tree_start)
    places = np.flatnonzero(is_node)
    word_node = np.cumsum(is_node) - 1
    start = np.append(word_node[trees.tree_start[:-1]], len(places))
    w = words[places]
    kind, payload, threshold = _kind(w), _payload(w), ((w >> 54) & 255).astype(int)
    base = np.repeat(trees.tree_start[:-1], np.diff(start))
    inner = kind != _LEAF_KIND
    by_set = kind == _CATEGORICAL
    left = np.full(len(places), LEAF)
    left[inner] = word_node[(base + payload)[inner]]
    missing_left = np.where(by_set, (threshold & 128) > 0, kind == _MISSING_LEFT)
    sets = {}
    for node in np.flatnonzero(by_set):
        first = base[node] + payload[node] + 2
        bits = words[first : first + (threshold[node] & 7)].astype("<u8").view(np.uint8)
        sets[int(node)] = np.flatnonzero(np.unpackbits(bits, bitorder="little"))
    return Nodes(
        start,
        left,
        np.where(inner, (w >> 32) & (2**22 - 1), 0).astype(int),
        np.where(kind == _MISSING_LEFT, threshold - 1, threshold),
        missing_left & inner,
        sets,
        _values(trees, inner, payload)
        if isinstance(trees, Trees)
        else _means(trees, inner, payload),
        word_node,
        trees.tree_start,
        leaf_weights(w),
    )


def leaf_weights(words: np.ndarray) -> np.ndarray:
    """What training samples weigh in each leaf, 0 in inner nodes."""
    # The upper 30 of the 31 bits that a float32 above 0 has.
    bits = ((words >> 32) & (2**30 - 1)).astype(np.uint32) << np.uint32(1)
    return np.where(_kind(words) == _LEAF_KIND, bits.view(np.float32), 0).astype(float)


def _kind(words: np.ndarray) -> np.ndarray:
    return (words >> 62).astype(int)


def _payload(words: np.ndarray) -> np.ndarray:
    return (words & 0xFFFFFFFF).astype(int)


def _which_are_nodes(words: np.ndarray, tree_start: np.ndarray) -> np.ndarray:
    """Tell nodes from the sets of categories that stand between them: from the roots down."""
    if not np.any(_kind(words) == _CATEGORICAL):
        return np.ones(len(words), bool)
    is_node = np.zeros(len(words), bool)
    level = base = tree_start[:-1]
    while len(level):
        is_node[level] = True
        inner = _kind(words[level]) != _LEAF_KIND
        level, base = level[inner], base[inner]
        left = base + _payload(words[level])
        level, base = np.concatenate([left, left + 1]), np.concatenate([base, base])
    return is_node


def _means(trees: Any, inner: np.ndarray, payload: np.ndarray) -> np.ndarray:
    value = np.full((len(inner), trees.n_outputs), np.nan)
    value[~inner] = trees.leaf_value.reshape(-1, trees.n_outputs)[payload[~inner]]
    return value


def _values(trees: Trees, inner: np.ndarray, payload: np.ndarray) -> np.ndarray:
    value = np.zeros((len(inner), trees.n_classes))
    value[inner] = np.nan
    leaves = np.flatnonzero(~inner)
    pure = (payload[leaves] & _PURE) > 0
    value[leaves[pure], payload[leaves[pure]] ^ _PURE] = 1
    mixed = leaves[~pure]
    if len(mixed):
        first, last = (trees.leaf_start[payload[mixed] + i].astype(int) for i in (0, 1))
        counts = last - first
        node = np.repeat(mixed, counts)
        entry = np.arange(counts.sum()) + np.repeat(first - (np.cumsum(counts) - counts), counts)
        value[node, trees.leaf_class[entry]] = trees.leaf_probability[entry]
    return value


def thresholds(nodes: Nodes, bins: Bins) -> np.ndarray:
    """Numbers in place of bins: values up to them go left. NaN at splits of categories."""
    n_bins = np.diff(bins.start)
    place = np.minimum(np.maximum(nodes.highest, 0), n_bins[nodes.column] - 1)
    found = bins.edges[bins.start[nodes.column] + place]
    found[nodes.highest < 0] = -np.inf
    found[list(nodes.sets)] = np.nan
    return found
