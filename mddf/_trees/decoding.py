"""Unpacking the kernel's trees into their nodes."""

from __future__ import annotations

import numpy as np

from mddf._binning.bins import Bins
from mddf._trees.arrays import TreeBlock, Trees, ValueTrees
from mddf._trees.nodes import LEAF, Nodes

# Kinds of nodes: the upper two bits of a node's word, as `_kernel/forest/tree/trees.hpp` has them.
# The remaining kind, 0, splits a numeric column and sends missing values to the right.
_MISSING_LEFT = 1
_CATEGORICAL = 2
_LEAF_KIND = 3
# This bit of a leaf's payload says that the other bits are its only class.
_PURE = 1 << 31


def decode_forest(trees: TreeBlock) -> Nodes:
    trees.reader.check()
    # 1. Find the words that are nodes; the others are sets of categories.
    is_node = _mark_nodes(trees.nodes, trees.tree_start)
    words = trees.nodes[is_node]
    word_node = np.cumsum(is_node) - 1
    start = np.append(word_node[trees.tree_start[:-1]], len(words))
    # 2. Unpack the bits of each node.
    kind = _node_kinds(words)
    payload = _payload(words)
    threshold = ((words >> 54) & 255).astype(int)
    column = (words >> 32) & (2**22 - 1)
    is_inner = kind != _LEAF_KIND
    has_set = kind == _CATEGORICAL
    # 3. Children: payloads count words from the first one of the tree.
    tree_base = np.repeat(trees.tree_start[:-1], np.diff(start))
    left = np.full(len(words), LEAF)
    left[is_inner] = word_node[(tree_base + payload)[is_inner]]
    missing_left = np.where(has_set, (threshold & 128) > 0, kind == _MISSING_LEFT)
    # 4. Sets of categories: they follow the words of both children, a bit for each code.
    sets = {}
    for node in np.flatnonzero(has_set):
        first = tree_base[node] + payload[node] + 2
        bits = trees.nodes[first : first + (threshold[node] & 7)].astype("<u8").view(np.uint8)
        sets[int(node)] = np.flatnonzero(np.unpackbits(bits, bitorder="little"))
    # 5. Values of the leaves.
    if isinstance(trees, Trees):
        value = _class_distributions(trees, is_inner, payload)
    else:
        assert isinstance(trees, ValueTrees)
        value = _means(trees, is_inner, payload)
    return Nodes(
        start=start,
        left=left,
        column=np.where(is_inner, column, 0).astype(int),
        # Nodes of this kind keep one more than the bin: missing values then compare as -1.
        highest=np.where(kind == _MISSING_LEFT, threshold - 1, threshold),
        missing_left=missing_left & is_inner,
        sets=sets,
        value=value,
        word_node=word_node,
        word_start=trees.tree_start,
        weight=leaf_weights(words),
    )


def leaf_weights(words: np.ndarray) -> np.ndarray:
    """Total weight of the training samples in each leaf, 0 in inner nodes."""
    # Leaves keep the upper 30 of the 31 bits of a positive float32.
    bits = ((words >> 32) & (2**30 - 1)).astype(np.uint32) << np.uint32(1)
    return np.where(_node_kinds(words) == _LEAF_KIND, bits.view(np.float32), 0).astype(float)


def _node_kinds(words: np.ndarray) -> np.ndarray:
    return (words >> 62).astype(int)


def _payload(words: np.ndarray) -> np.ndarray:
    return (words & 0xFFFFFFFF).astype(int)


def _mark_nodes(words: np.ndarray, tree_start: np.ndarray) -> np.ndarray:
    """Mark the words that are nodes; sets of categories, which lie between them, are not."""
    if not np.any(_node_kinds(words) == _CATEGORICAL):
        return np.ones(len(words), bool)
    is_node = np.zeros(len(words), bool)
    # Level by level from the roots down: only nodes know where their children are.
    level = tree_start[:-1]
    tree_base = level
    while len(level):
        is_node[level] = True
        is_inner = _node_kinds(words[level]) != _LEAF_KIND
        tree_base = tree_base[is_inner]
        left = tree_base + _payload(words[level[is_inner]])
        level = np.concatenate([left, left + 1])
        tree_base = np.concatenate([tree_base, tree_base])
    return is_node


def _means(trees: ValueTrees, inner: np.ndarray, payload: np.ndarray) -> np.ndarray:
    value = np.full((len(inner), trees.n_outputs), np.nan)
    value[~inner] = trees.leaf_value.reshape(-1, trees.n_outputs)[payload[~inner]]
    return value


def _class_distributions(trees: Trees, inner: np.ndarray, payload: np.ndarray) -> np.ndarray:
    value = np.zeros((len(inner), trees.n_classes))
    value[inner] = np.nan
    leaves = np.flatnonzero(~inner)
    pure = (payload[leaves] & _PURE) > 0
    value[leaves[pure], payload[leaves[pure]] ^ _PURE] = 1
    mixed = leaves[~pure]
    if len(mixed):
        first = trees.leaf_start[payload[mixed]].astype(int)
        last = trees.leaf_start[payload[mixed] + 1].astype(int)
        counts = last - first
        node = np.repeat(mixed, counts)
        entry = np.arange(counts.sum()) + np.repeat(first - (np.cumsum(counts) - counts), counts)
        value[node, trees.leaf_class[entry]] = trees.leaf_probability[entry]
    return value


def thresholds(nodes: Nodes, bins: Bins) -> np.ndarray:
    """Threshold of each node: values up to it go left. NaN at splits of categories."""
    n_bins = np.diff(bins.start)
    place = np.minimum(np.maximum(nodes.highest, 0), n_bins[nodes.column] - 1)
    threshold = bins.edges[bins.start[nodes.column] + place]
    threshold[nodes.highest < 0] = -np.inf
    threshold[list(nodes.sets)] = np.nan
    return threshold
