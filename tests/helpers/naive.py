"""Slow, obvious twins of the forest engine in plain numpy and Python."""

from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

MISSING = 255
LEAVES_TO = 1 << 31  # marks a pure leaf
MASK = (1 << 64) - 1


# Binning


def midpoint(a, b):
    middle = a / 2 + b / 2
    return middle if a <= middle < b else a


def find_bins(column, weights=None, max_bins=255):
    """Inner edges and representative values of one column."""
    column = np.asarray(column).astype(np.float64)
    weights = np.ones(len(column)) if weights is None else np.asarray(weights, float)
    keep = ~np.isnan(column) & (weights > 0)
    distinct, inverse = np.unique(column[keep] + 0.0, return_inverse=True)
    if len(distinct) == 0:
        return np.empty(0), np.zeros(1)
    if len(distinct) <= max_bins:
        edges = [midpoint(a, b) for a, b in pairwise(distinct)]
        return np.array(edges), distinct
    return _quantile_bins(distinct, np.bincount(inverse, weights[keep]), max_bins)


def _quantile_bins(distinct, weight, max_bins):
    """Fill bins from below. Each takes its share of the rest; heavy values get their own."""
    groups, group, bins_left, remaining = [], [], max_bins, weight.sum()

    def close():
        nonlocal group, bins_left, remaining
        remaining -= weight[group].sum()
        bins_left -= 1
        groups.append(group)
        group = []

    last = len(distinct) - 1
    for i in range(last + 1):
        if bins_left > 1 and group and weight[i] >= remaining / bins_left:
            close()
        group.append(i)
        if bins_left > 1 and i < last and weight[group].sum() >= remaining / bins_left:
            close()
    groups.append(group)
    edges = [midpoint(distinct[g[-1]], distinct[g[-1] + 1]) for g in groups[:-1]]
    values = [midpoint(distinct[g[0]], distinct[g[-1]]) for g in groups]
    return np.array(edges), np.array(values)


def apply_bins(column, edges):
    """Codes of a numeric column: the first bin whose upper edge is not below the value."""
    column = np.asarray(column).astype(np.float64)
    codes = np.array([sum(edge < value for edge in edges[:-1]) for value in column], np.uint8)
    codes[np.isnan(column)] = MISSING
    return codes


# Trees, read from their parts


@dataclass
class Node:
    index: int
    column: int = -1
    categorical: bool = False
    threshold: int = 0  # numeric: highest code that goes left
    missing_left: bool = False
    to_left: frozenset = frozenset()  # categorical: codes that go left
    left: int = -1
    right: int = -1
    distribution: dict = field(default_factory=dict)  # of a leaf
    value: tuple = ()  # of a leaf with means

    @property
    def is_leaf(self):
        return self.left < 0

    def goes_left(self, code):
        if code == MISSING:
            return self.missing_left
        return code in self.to_left if self.categorical else code <= self.threshold


def decode(trees):
    """One dictionary from index to Node for every tree of a block."""
    n_outputs, _, words, tree_start, *table = trees.parts()

    def leaf(index, payload):
        if len(table) == 1:
            first = payload * n_outputs
            return Node(index, value=tuple(table[0][first : first + n_outputs].tolist()))
        return Node(index, distribution=distribution(payload, *table))

    def distribution(payload, leaf_start, leaf_class, leaf_probability):
        if payload & LEAVES_TO:
            return {payload ^ LEAVES_TO: 1.0}
        entries = range(int(leaf_start[payload]), int(leaf_start[payload + 1]))
        return {int(leaf_class[e]): float(leaf_probability[e]) for e in entries}

    def decode_node(tree, index):
        word = int(tree[index])
        kind, threshold = word >> 62, word >> 54 & 255
        column, payload = word >> 32 & (1 << 22) - 1, word & (1 << 32) - 1
        if kind == 3:
            return leaf(index, payload)
        node = Node(index, column, left=payload, right=payload + 1)
        if kind == 2:
            node.categorical, node.missing_left = True, bool(threshold & 128)
            sets = [int(tree[payload + 2 + w]) for w in range(threshold & 7)]
            node.to_left = frozenset(
                64 * w + bit for w, bits in enumerate(sets) for bit in range(64) if bits >> bit & 1
            )
        else:
            node.missing_left = kind == 1
            node.threshold = threshold - kind
        return node

    decoded = []
    for first, last in pairwise(tree_start):
        tree, nodes, waiting = words[first:last], {}, [0]
        while waiting:
            node = nodes[index] = decode_node(tree, index := waiting.pop())
            if not node.is_leaf:
                waiting += [node.left, node.right]
        decoded.append(nodes)
    return decoded


def find_leaf(nodes, row):
    """The leaf that a row of codes ends in."""
    node = nodes[0]
    while not node.is_leaf:
        node = nodes[node.left if node.goes_left(int(row[node.column])) else node.right]
    return node


def probabilities(trees, codes, n_classes):
    """Sum over the trees of the class distributions of all rows."""
    sums = np.zeros((len(codes), n_classes))
    for nodes in decode(trees):
        for row, out in zip(codes, sums, strict=True):
            for label, probability in find_leaf(nodes, row).distribution.items():
                out[label] += probability
    return sums


def leaves(trees, codes):
    return np.array([[find_leaf(nodes, row).index for nodes in decode(trees)] for row in codes])


def visit(nodes, codes, rows):
    """Yield (node, rows that reach it, depth), the root first."""
    waiting = [(0, np.asarray(rows), 0)]
    while waiting:
        index, node_rows, depth = waiting.pop()
        node = nodes[index]
        yield node, node_rows, depth
        if not node.is_leaf:
            left = np.array([node.goes_left(int(c)) for c in codes[node_rows, node.column]], bool)
            waiting.append((node.right, node_rows[~left], depth + 1))
            waiting.append((node.left, node_rows[left], depth + 1))


# Split choice


def impurity(class_weights, entropy=False):
    """Weight times impurity; the last axis is that of the classes."""
    class_weights = np.asarray(class_weights, float)
    total = class_weights.sum(-1)
    with np.errstate(invalid="ignore", divide="ignore"):
        share = class_weights / total[..., None]
        if entropy:
            terms = np.where(class_weights > 0, -class_weights * np.log(share), 0)
            return terms.sum(-1)
        return np.where(total > 0, total * (1 - (share**2).sum(-1)), 0)


def decrease(left, right, entropy=False):
    both = np.asarray(left) + np.asarray(right)
    return impurity(both, entropy) - impurity(left, entropy) - impurity(right, entropy)


def candidate_sets(codes, labels, weights, n_classes, categorical, limited=False):
    """Sets of codes that may go left, as rows of a boolean matrix over the present codes.

    Categories: all sets for two classes; otherwise, or if limits rule some of them out, those that
    are first in the order by their share of one class, for each of the heaviest classes.
    """
    present = np.unique(codes)
    k = len(present)
    if k < 2:
        return present, np.zeros((0, k), bool)
    if not categorical:
        n = k - (present[-1] == MISSING)
        below = np.tri(n, k, dtype=bool)
        if n == k:
            return present, below[:-1]
        with_missing = below[:-1].copy()
        with_missing[:, -1] = True
        return present, np.vstack([below, with_missing])
    table = histogram(codes, labels, weights, n_classes)[present]
    n_present = np.count_nonzero(table.sum(0))
    if n_present == 2 and k <= 10 and not limited:
        subsets = np.arange(1, 2 ** (k - 1))
        return present, (subsets[:, None] >> np.arange(k) & 1).astype(bool)
    heaviest = np.argsort(-table.sum(0), kind="stable")
    heaviest = heaviest[: 1 if n_present == 2 else min(n_present, 16)]
    sets = []
    for leader in heaviest:
        order = np.argsort(table[:, leader] / table.sum(1), kind="stable")
        ranks = np.empty(k, int)
        ranks[order] = np.arange(k)
        sets.append(ranks[None, :] <= np.arange(k - 1)[:, None])
    return present, np.vstack(sets)


def histogram(codes, labels, weights, n_classes):
    table = np.zeros((256, n_classes))
    np.add.at(table, (codes, labels), weights)
    return table


def best_decrease(codes, labels, weights, n_classes, categorical, entropy=False, allow=None):
    """The largest decrease of impurity that a split on one column reaches; -inf without one.

    `allow(rows left, rows right, weight left, weight right)` returns whether a split is allowed.
    """
    limited = allow is not None
    present, sets = candidate_sets(codes, labels, weights, n_classes, categorical, limited)
    if len(sets) == 0:
        return -np.inf
    table = histogram(codes, labels, weights, n_classes)[present]
    left = sets.astype(float) @ table
    right = table.sum(0) - left
    gains = decrease(left, right, entropy)
    if limited:
        n_left = sets @ np.bincount(codes, minlength=256)[present]
        ok = [
            allow(a, len(codes) - a, b, c)
            for a, b, c in zip(n_left, left.sum(1), right.sum(1), strict=True)
        ]
        gains = np.where(ok, gains, -np.inf)
    return gains.max()


def leaf_distribution(class_weights):
    """Return the stored values of a leaf: shares as float32 of multiples of 2^-30."""
    shares = np.asarray(class_weights, float) / np.sum(class_weights)
    stored = np.float32(np.rint(shares * 2.0**30) * 2.0**-30)
    return {c: float(p) for c, p in enumerate(stored) if p > 0}


def importances(nodes, codes, rows, labels, weights, n_classes, n_columns, entropy=False):
    """Every column's decrease of impurity in one tree."""
    sums = np.zeros(n_columns)
    for node, node_rows, _ in visit(nodes, codes, rows):
        if node.is_leaf:
            continue
        left = np.array([node.goes_left(int(c)) for c in codes[node_rows, node.column]])
        sides = [
            np.bincount(labels[node_rows[side]], weights[node_rows[side]], n_classes)
            for side in (left, ~left)
        ]
        sums[node.column] += decrease(*sides, entropy)
    return sums


# Random streams


class Random:
    """xoshiro256++ seeded by splitmix64, in whole numbers."""

    def __init__(self, seed):
        self.state, seed = [], int(seed)
        for _ in range(4):
            seed = (seed + 0x9E3779B97F4A7C15) & MASK
            z = (seed ^ seed >> 30) * 0xBF58476D1CE4E5B9 & MASK
            z = (z ^ z >> 27) * 0x94D049BB133111EB & MASK
            self.state.append(z ^ z >> 31)

    def next(self):
        def rotate(x, k):
            return (x << k | x >> 64 - k) & MASK

        s = self.state
        result = (rotate(s[0] + s[3] & MASK, 23) + s[0]) & MASK
        t = s[1] << 17 & MASK
        s[2] ^= s[0]
        s[3] ^= s[1]
        s[1] ^= s[2]
        s[0] ^= s[3]
        s[2] ^= t
        s[3] = rotate(s[3], 45)
        return result

    def below(self, n):
        return self.next() * n >> 64


def bootstrap(seed, rows, n_draws, n_rows, cumulative=None, parts=None, whole=False):
    """Return the number of draws of each row for the tree with this seed."""
    random, counts = Random(seed), np.zeros(n_rows, int)
    parts = [0, len(rows)] if parts is None else np.asarray(parts).tolist()
    if whole:
        for _ in range(n_draws):
            part = random.below(len(parts) - 1)
            counts[rows[parts[part] : parts[part + 1]]] += 1
        return counts
    for first, last in pairwise(parts):
        for _ in range(n_draws):
            if cumulative is None:
                position = first + random.below(last - first)
            else:
                at = random.below(int(cumulative[last - 1]))
                sums = cumulative[first:last]
                position = first + int(np.searchsorted(sums, np.uint64(at), side="right"))
            counts[rows[position]] += 1
    return counts
