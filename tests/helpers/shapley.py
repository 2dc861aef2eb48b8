"""Shapley values by enumeration."""

import itertools
import math
from functools import cache

import numpy as np

from mddf._inspection.stages import predict_numbers


@cache
def weights(n):
    return [math.factorial(r) * math.factorial(n - r - 1) / math.factorial(n) for r in range(n)]


def shapley(game, n):
    """Shapley values of a function from sets of players to arrays."""
    known = {S: game(S) for r in range(n + 1) for S in itertools.combinations(range(n), r)}
    weight = weights(n)
    return np.stack(
        [
            sum(
                weight[len(S)] * (known[tuple(sorted((*S, i)))] - known[S])
                for S in known
                if i not in S
            )
            for i in range(n)
        ]
    )


def interventional(model, known, background):
    """Shapley values of a model's predictions; background rows replace unknown features.

    Rows are numbers; values have the shape (n_rows, n_features, n_outputs).
    """

    def game(S):
        mixed = np.repeat(background[None], len(known), axis=0)
        mixed[:, :, list(S)] = known[:, None, list(S)]
        predictions = predict_numbers(model, mixed.reshape(-1, known.shape[1]))
        return predictions.reshape(len(known), len(background), -1).mean(axis=1)

    return shapley(game, known.shape[1]).transpose(1, 0, 2)


def goes_left(tree, node, value):
    """Whether a value goes to the left child of a node of `mddf.explain.tree_arrays`."""
    if np.isnan(value):
        return tree.missing_go_to_left[node]
    if node in getattr(tree, "categories", ()):  # trees of scikit-learn have none
        return value in tree.categories[node]
    return value <= tree.threshold[node]


def path_dependent(tree, node_weight, row, known, node=0):
    """Prediction of a tree for a row of which only some features are known."""
    left, right = tree.children_left[node], tree.children_right[node]
    if left == -1:
        return tree.value[node]
    if tree.feature[node] in known:
        side = left if goes_left(tree, node, row[tree.feature[node]]) else right
        return path_dependent(tree, node_weight, row, known, side)
    weights = node_weight[[left, right]]
    sides = [path_dependent(tree, node_weight, row, known, child) for child in (left, right)]
    return np.average(sides, axis=0, weights=weights if weights.sum() else None)


def interaction_values(game, n):
    """Interaction values of a function from sets of players, shape (n, n, ...).

    Those of two players are half of their Shapley interaction index. Those of a player with itself
    are the rest of its Shapley value.
    """
    known = {S: game(S) for r in range(n + 1) for S in itertools.combinations(range(n), r)}

    def of_set(S, *players):
        return known[tuple(sorted((*S, *players)))]

    values = np.zeros((n, n, *np.shape(known[()])))
    for i, j in itertools.combinations(range(n), 2):
        for S in known:
            if i not in S and j not in S:
                weight = math.factorial(len(S)) * math.factorial(n - len(S) - 2)
                change = of_set(S, i, j) - of_set(S, i) - of_set(S, j) + known[S]
                values[i, j] += weight / math.factorial(n - 1) * change / 2
        values[j, i] = values[i, j]
    diagonal = np.arange(n)
    values[diagonal, diagonal] = shapley(game, n) - values.sum(axis=1)
    return values
