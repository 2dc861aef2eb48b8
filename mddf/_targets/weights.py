"""Weights of the samples, and sums and means by them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

# Bits that are kept of weights that were divided by a rounded number.
_BITS_KEPT = 30


@dataclass(frozen=True)
class RowWeights:
    """How much the rows of a table count; None where all count alike.

    Attributes
    ----------
    sample : ndarray of float64 of shape (n_rows,) or None
        The user's `sample_weight`.
    row : ndarray of float64 of shape (n_rows,) or None
        The same times the factor of the row's class.
    """

    sample: np.ndarray | None = None
    row: np.ndarray | None = None


def row_weights(sample_weight: Any, class_factors: Any, labels: np.ndarray) -> RowWeights:
    """Weights of the rows from those of samples and classes, either of which may be None."""
    row = sample_weight
    if class_factors is not None:
        with np.errstate(over="ignore", under="ignore"):
            row = class_factors[labels] * (1 if sample_weight is None else sample_weight)
        if not np.isfinite(row).all():
            raise ValueError(
                "class_weight times sample_weight must be finite, got factors up to "
                f"{class_factors.max():g}"
            )
        if not row.any():
            raise ValueError(
                "sample_weight and class_weight must leave some sample a weight above zero, "
                "got none"
            )
    return RowWeights(sample_weight, None if row is None else scale_weights(row))


def rows_with_weight(rows: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Select the rows of a fold that have a weight; ValueError if there are none."""
    rows = rows[weights[rows] > 0]
    if len(rows) == 0:
        raise ValueError(
            "sample_weight, and class_weight if there is one, must leave every fold a sample with "
            "a weight above zero to train on, got a fold without one"
        )
    return rows


def whole_weights(weights: np.ndarray) -> bool:
    """Whether all weights are whole numbers whose sum is one too."""
    with np.errstate(over="ignore"):
        return bool(np.all(weights == np.rint(weights)) and weights.sum() <= 2**53)


def n_counted(n_rows: int, weights: np.ndarray | None) -> int:
    """Samples that rows stand for: the sum of whole weights, else the rows that have some."""
    if weights is None:
        return n_rows
    return int(weights.sum() if whole_weights(weights) else np.count_nonzero(weights))


def scale_weights(weights: np.ndarray) -> np.ndarray:
    """Weights times a power of two, which changes no tree, unless they are whole numbers.

    The largest is then between 1/2 and 1, so that squares and sums neither vanish nor overflow.
    """
    if whole_weights(weights):
        return weights
    return np.ldexp(weights, -np.frexp(weights.max())[1])


def rounded_weights(weights: np.ndarray) -> np.ndarray:
    """Weights with 30 significant bits.

    What weights are divided by to have no unit is rounded itself, so that the last bits would
    depend on the unit, and with them what is chosen between equal alternatives.
    """
    mantissas, exponents = np.frexp(weights)
    return np.ldexp(np.rint(np.ldexp(mantissas, _BITS_KEPT)), exponents - _BITS_KEPT)


def summed_weights(numbers: np.ndarray, weights: np.ndarray, n: int) -> np.ndarray:
    """The weight of each number below `n`, rounded alike whatever the order of the rows."""
    order = np.argsort(weights)
    return np.bincount(numbers[order], weights[order], minlength=n)


def mean_error(
    values: np.ndarray, weights: np.ndarray | None, n: int, units: np.ndarray | None = None
) -> float:
    """Compute the standard error of a weighted mean.

    Parameters
    ----------
    values : ndarray of shape (n_rows,)
    weights : ndarray of shape (n_rows,) or None
    n : int
        Number of samples that the rows stand for; see `n_counted`.
    units : ndarray of int of shape (n_rows,), default=None
        Group of each row: rows of a group are not independent. None for independent rows.
    """
    deviations = values - np.average(values, weights=weights)
    if units is None:
        return float(np.sqrt(np.average(deviations**2, weights=weights) / n))
    weights = np.ones(len(deviations)) if weights is None else weights
    unit_sums = summed_weights(units, weights * deviations, units.max() + 1)
    return float(np.sqrt(np.square(unit_sums).sum()) / weights.sum())
