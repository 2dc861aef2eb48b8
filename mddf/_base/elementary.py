"""Exponentials and logarithms for what is promised bit by bit.

NumPy's and SciPy's differ in their last bits between processors and versions.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mddf import _core


def exp(x: Any) -> np.ndarray:
    """E to the power of numbers, in their shape."""
    x = np.asarray(x, float)
    return _core.exp(x.ravel()).reshape(x.shape)


def log(x: Any) -> np.ndarray:
    """Natural logarithms, in the shape of the numbers: -infinity of 0, NaN below."""
    x = np.asarray(x, float)
    return _core.log(x.ravel()).reshape(x.shape)


def log1p(x: Any) -> np.ndarray:
    """Natural logarithms of 1 + x for x from -1 on, with all digits where x is small."""
    x = np.asarray(x, float)
    above = 1 + x
    # What rounding 1 + x takes away or adds, the second factor gives back.
    with np.errstate(invalid="ignore"):
        change = np.divide(x, above - 1, out=np.ones_like(x), where=np.isfinite(x) & (above != 1))
    return np.where(above == 1, x, log(above) * change)


def softplus(x: Any) -> np.ndarray:
    """``log(1 + e^x)`` with all digits: -log(expit(-x))."""
    return np.maximum(x, 0) + log1p(exp(-np.abs(x)))


def softmax(scores: Any) -> np.ndarray:
    """Probabilities along the last axis, in proportion to e to the power of scores."""
    powers = exp(scores - np.max(scores, axis=-1, keepdims=True))
    return powers / powers.sum(axis=-1, keepdims=True)


def expit(scores: Any) -> np.ndarray:
    """1 / (1 + e^-score)."""
    return 1 / (1 + exp(np.negative(scores)))


def class_probabilities(scores: np.ndarray) -> np.ndarray:
    """Probabilities of classes with a score each, or of two, of which the second has one."""
    if scores.shape[1] > 1:
        return softmax(scores)
    second = expit(scores)
    return np.hstack([1 - second, second])
