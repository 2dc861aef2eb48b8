"""Slow twins of how trees grow beyond the default: losses, the order of splits, pruning."""

import naive
import numpy as np
from value_cases import ValueCase, sides_of_numbers


def weighted_median(y, weights):
    """The lowest number with half of the weight up to it; with two in the middle, their mean."""
    order = np.argsort(y, kind="stable")
    y, up_to = y[order], np.cumsum(weights[order])
    low = y[np.argmax(2 * up_to >= up_to[-1])]
    high = y[np.argmax(2 * up_to > up_to[-1])]
    return (low + high) / 2


def numbers(case, rows):
    """Targets as shares of the largest bound."""
    return case.fixed[rows] / 2.0**61 * np.sqrt(case.scale)


def impurity(case, rows, weights, loss):
    """Weight times impurity of a node; `loss` is "gini" or "entropy" for classes."""
    weights = weights[rows]
    if loss in ("gini", "entropy"):
        counts = np.bincount(case.labels[rows], weights, case.n_classes)
        return naive.impurity(counts, loss == "entropy")
    total = 0.0
    for y in numbers(case, rows).T:
        if loss == "squared":
            total += weights @ (y - np.average(y, weights=weights)) ** 2
        elif loss == "absolute":
            total += weights @ np.abs(y - weighted_median(y, weights))
        else:
            mean = np.average(y, weights=weights)
            logarithms = np.log(np.where(y > 0, y, 1) / (mean if mean > 0 else 1))
            total += weights @ (y * logarithms)
    return total


def predicted(case, rows, weights, loss):
    """Return the prediction of a leaf: share of the second class, or the first output."""
    if loss in ("gini", "entropy"):
        return np.average(case.labels[rows] == 1, weights=weights[rows])
    y = case.fixed[rows, 0] / 2.0**61
    if loss == "absolute":
        return weighted_median(y, weights[rows])
    return np.average(y, weights=weights[rows])


def decrease(case, node_rows, left, weights, loss):
    """Decrease of weight times impurity by a split; -inf if the deviance is unbounded."""
    sides = node_rows[left], node_rows[~left]
    if loss == "poisson" and any(numbers(case, side).sum(axis=0).min() <= 0 for side in sides):
        return -np.inf
    after = sum(impurity(case, side, weights, loss) for side in sides)
    return impurity(case, node_rows, weights, loss) - after


def orders(case, node_rows, codes, present, weights, loss):
    """The orders of categories whose prefixes are tried as sets."""
    of_code = [node_rows[codes == code] for code in present]
    if loss in ("gini", "entropy"):
        heavy = np.argsort(
            -np.bincount(case.labels[node_rows], weights[node_rows], case.n_classes)
        )
        keys = [
            [np.average(case.labels[rows] == c, weights=weights[rows]) for rows in of_code]
            for c in heavy[:16]
        ]
        return [np.argsort(key, kind="stable") for key in keys]
    all_orders = []
    for y in case.fixed.T:
        if loss == "absolute":
            key = [lower_median(y[rows], weights[rows]) for rows in of_code]
        else:
            key = [np.average(y[rows].astype(float), weights=weights[rows]) for rows in of_code]
        all_orders.append(np.argsort(key, kind="stable"))
    return all_orders


def lower_median(y, weights):
    order = np.argsort(y, kind="stable")
    up_to = np.cumsum(weights[order])
    return y[order][np.argmax(2 * up_to >= up_to[-1])]


def candidates(case, node_rows, column, weights, loss):
    """All tried splits of a column, as masks of the rows that go left."""
    codes = case.codes[node_rows, column]
    present = np.unique(codes)
    if len(present) < 2:
        return
    if case.categorical[column]:
        for order in orders(case, node_rows, codes, present, weights, loss):
            for i in range(1, len(present)):
                yield np.isin(codes, present[order[:i]])
        return
    yield from sides_of_numbers(codes)


def best_decrease(case, node_rows, weights, loss, allow=None):
    """The largest decrease by an allowed split; -inf without one."""
    return max(
        (
            decrease(case, node_rows, left, weights, loss)
            for column in range(case.n_columns)
            for left in candidates(case, node_rows, column, weights, loss)
            if allow is None or allow(column, node_rows[left], node_rows[~left])
        ),
        default=-np.inf,
    )


def is_pure(case, node_rows):
    target = case.fixed if isinstance(case, ValueCase) else case.labels
    return bool(np.all(target[node_rows] == target[node_rows[0]]))


def split_of(nodes, node, case, node_rows):
    """Mask of the rows that go left."""
    return np.array([node.goes_left(int(c)) for c in case.codes[node_rows, node.column]], bool)


def replayed(nodes, case, weights, loss):
    """For each index: a node, its rows, the gain of its split and the best possible gain."""
    nodes_by_index = {}
    for node, node_rows, _ in naive.visit(nodes, case.codes, np.flatnonzero(weights > 0)):
        gain = None
        if not node.is_leaf:
            gain = decrease(case, node_rows, split_of(nodes, node, case, node_rows), weights, loss)
        best = (
            -np.inf if is_pure(case, node_rows) else best_decrease(case, node_rows, weights, loss)
        )
        nodes_by_index[node.index] = node, node_rows, gain, best
    return nodes_by_index


def weakest_links(nodes, gains, alpha):
    """The inner nodes that stay when the weakest link goes again and again.

    `gains`: by how much the split of each inner node lessens weighted impurity.
    """
    inner = {index for index, node in nodes.items() if not node.is_leaf}

    def branch(index):
        """Return the decrease of a branch, and its leaves."""
        if index not in inner:
            return 0.0, 1
        sides = [branch(child) for child in (nodes[index].left, nodes[index].right)]
        return gains[index] + sum(g for g, _ in sides), sum(n for _, n in sides)

    def below(index):
        if nodes[index].is_leaf:
            return set()
        return {index} | below(nodes[index].left) | below(nodes[index].right)

    while inner:
        strength = {}
        for index in inner:
            worth, n_leaves = branch(index)
            strength[index] = worth / (n_leaves - 1)
        weakest = min(strength, key=strength.get)
        if strength[weakest] > alpha:
            break
        inner -= below(weakest)
    return inner


def shape(nodes, inner=None, index=0):
    """A tree as nested tuples of columns and thresholds; other nodes than `inner` are leaves."""
    node = nodes[index]
    if node.is_leaf or (inner is not None and index not in inner):
        return None
    return (
        (node.column, node.threshold, node.missing_left, node.to_left),
        shape(nodes, inner, node.left),
        shape(nodes, inner, node.right),
    )
