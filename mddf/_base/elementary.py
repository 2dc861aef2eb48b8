"""Exponentials and logarithms with the same bits on every machine.

The functions of NumPy and SciPy differ in their last bits between processors and versions.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from mddf import _core


def exp(x: npt.ArrayLike) -> np.ndarray:
    """Exponential of an array, in its shape."""
    x = np.asarray(x, float)
    return _core.exp(x.ravel()).reshape(x.shape)


def log(x: npt.ArrayLike) -> np.ndarray:
    """Natural logarithm of an array, in its shape; -inf for 0, NaN below."""
    x = np.asarray(x, float)
    return _core.log(x.ravel()).reshape(x.shape)


def log1p(x: npt.ArrayLike) -> np.ndarray:
    """Natural logarithm of 1 + x for x >= -1, accurate for small x."""
    x = np.asarray(x, float)
    above = 1 + x
    # The second factor corrects the rounding of 1 + x.
    with np.errstate(invalid="ignore"):
        correction = np.divide(
            x, above - 1, out=np.ones_like(x), where=np.isfinite(x) & (above != 1)
        )
    return np.where(above == 1, x, log(above) * correction)


def softplus(x: npt.ArrayLike) -> np.ndarray:
    """Compute ``log(1 + exp(x))`` accurately; this is ``-log(expit(-x))``."""
    return np.maximum(x, 0) + log1p(exp(-np.abs(x)))


def softmax(scores: npt.ArrayLike) -> np.ndarray:
    """Softmax along the last axis."""
    powers = exp(np.subtract(scores, np.max(scores, axis=-1, keepdims=True)))
    return powers / powers.sum(axis=-1, keepdims=True)


def expit(scores: npt.ArrayLike) -> np.ndarray:
    """Logistic function ``1 / (1 + exp(-scores))``."""
    return 1 / (1 + exp(np.negative(scores)))


def class_probabilities(scores: np.ndarray) -> np.ndarray:
    """Class probabilities from scores of shape (n_rows, n_classes).

    A single column holds the scores of the second of two classes.
    """
    if scores.shape[1] > 1:
        return softmax(scores)
    second = expit(scores)
    return np.hstack([1 - second, second])
