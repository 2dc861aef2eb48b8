"""Bounds on the Rademacher complexity of stumps and trees, used as penalties."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Real
from typing import Any

import numpy as np

from mddf._base.elementary import log, log1p
from mddf._base.messages import short
from mddf._base.validation import naming

#: A function of (size, n_samples, n_features); DeepBoost defines the size of a learner.
Complexity = Callable[[int, float, int], float]


def stump_complexity(levels: int, n_samples: float, n_features: int) -> float:
    """Compute the complexity of boosting stumps by equations 7 and 8 of DeepBoost.

    H1, thresholds on one feature: sqrt(2 ln(2 m d) / m). H2, a stump followed by one question
    asked on both sides: sqrt(2 ln(2 m^2 d (d - 1)) / m). `levels` is 1 for H1 and 2 for H2, m is
    the total weight of the rows. With d = 1 the factor d (d - 1) counts as 1. The bound is 0 where
    the logarithm is negative.
    """
    if levels == 1:
        logarithm = float(log(2 * n_samples * n_features))
    else:
        logarithm = float(log(2 * n_samples**2 * max(n_features * (n_features - 1), 1)))
    return float(np.sqrt(2 * max(logarithm, 0.0) / n_samples))


def tree_complexity(size: Any, n_samples: float, n_features: int) -> Any:
    """Compute the complexity of decision trees with n nodes by equation 9 of DeepBoost.

    sqrt((4 n + 2) log2(d + 2) ln(m + 1) / m), where n counts all nodes of the tree, and m is the
    total weight of the rows.
    """
    return np.sqrt((4 * size + 2) * _log2(n_features + 2) * float(log1p(n_samples)) / n_samples)


def reference_complexity(size: Any, n_samples: float, n_features: int) -> Any:
    """Compute the complexity of trees by the formula of github.com/google/deepboost.

    sqrt((2 n + 1) log2(d + 2) ln(m) / m), smaller than :func:`tree_complexity` by about the
    square root of 2, with the same arguments; 0 where the logarithm is negative.
    """
    logarithm = max(float(log(n_samples)), 0.0)
    return np.sqrt((2 * size + 1) * _log2(n_features + 2) * logarithm / n_samples)


def _log2(x: float) -> float:
    return float(log(x) / log(2))


def complexity_table(
    complexity: str | Complexity,
    hypotheses: str,
    *,
    max_depth: int,
    n_rows: int,
    n_samples: float,
    n_features: int,
) -> np.ndarray:
    """Compute the complexity for every size of a tree that can occur; entry n is of size n.

    With "trees" a size is a number of nodes, which `max_depth` and `n_rows` limit. With "stumps"
    it is 1 or 2 levels; "reference" and callables then get the 3 or 7 nodes of the complete tree.
    """
    if hypotheses == "stumps":
        sizes = np.array([1, 2] if complexity == "paper" else [3, 7])
    else:
        # 62 levels keep the number of nodes within 64 bits.
        largest = min(2 ** min(max_depth + 1, 62) - 1, 2 * n_rows - 1)
        sizes = np.arange(1, largest + 1)
    if complexity == "reference":
        bounds = reference_complexity(sizes, n_samples, n_features)
    elif complexity == "paper" and hypotheses == "trees":
        bounds = tree_complexity(sizes, n_samples, n_features)
    else:
        bound = complexity if callable(complexity) else stump_complexity
        with naming("complexity"):
            bounds = [bound(int(size), n_samples, n_features) for size in sizes]
    for value in bounds:
        if not (isinstance(value, Real) and 0 <= float(value) < np.inf):
            raise ValueError(f"complexity must return finite numbers >= 0; got {short(value)}")
    return np.concatenate([[0.0], bounds])
