"""Shapley values by enumeration."""

import itertools
import math
from functools import cache

import numpy as np


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
