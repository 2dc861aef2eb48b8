"""Weights of samples, and weighted sums and means."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

# Significant bits of weights that were divided by a rounded number: far fewer than the 53 of a
# double, so that rounding errors are dropped, and more than any real weights have. Not tuned.
_BITS_KEPT = 30


@dataclass(frozen=True)
class RowWeights:
    """Weights of the rows of a table; None if all are equal.

    `sample` holds the user's sample weights, `row` these times the factors of the classes.
    """

    sample: np.ndarray | None = None
    row: np.ndarray | None = None


def row_weights(
    sample_weight: np.ndarray | None, class_factors: np.ndarray | None, labels: np.ndarray
) -> RowWeights:
    """Combine sample weights with class factors; either may be None."""
    row = sample_weight
    if class_factors is not None:
        row = class_factors[labels]
        if sample_weight is not None:
            with np.errstate(over="ignore", under="ignore"):
                row = row * sample_weight
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
    """Whether all weights are whole numbers, with a sum that doubles hold exactly."""
    with np.errstate(over="ignore"):
        return bool(np.all(weights == np.rint(weights)) and weights.sum() <= 2**53)


def n_counted(n_rows: int, weights: np.ndarray | None) -> int:
    """Number of samples: the sum of whole weights, else the number of rows with weight."""
    if weights is None:
        return n_rows
    return int(weights.sum() if whole_weights(weights) else np.count_nonzero(weights))


def scale_weights(weights: np.ndarray) -> np.ndarray:
    """Scale weights to a largest one between 0.5 and 1, unless they are whole numbers.

    Squares and sums then neither vanish nor overflow. A power of two as factor changes no tree.
    """
    if whole_weights(weights):
        return weights
    return np.ldexp(weights, -np.frexp(weights.max())[1])


def rounded_weights(weights: np.ndarray) -> np.ndarray:
    """Round weights to 30 significant bits.

    Weights are divided by their mean or the like, which is rounded itself. Without this function,
    the last bits would depend on the unit of the weights, and with them choices between equal
    alternatives.
    """
    mantissas, exponents = np.frexp(weights)
    return np.ldexp(np.rint(np.ldexp(mantissas, _BITS_KEPT)), exponents - _BITS_KEPT)


def summed_weights(numbers: np.ndarray, weights: np.ndarray, n: int) -> np.ndarray:
    """Sum the weights of each number below `n`, with the same rounding for any order of rows."""
    order = np.argsort(weights)
    return np.bincount(numbers[order], weights[order], minlength=n)


def mean_error(
    values: np.ndarray, weights: np.ndarray | None, n: int, units: np.ndarray | None = None
) -> float:
    """Standard error of the weighted mean of `n` samples, as counted by `n_counted`.

    `units` are groups of rows that depend on each other; None for independent rows.
    """
    deviations = values - np.average(values, weights=weights)
    if units is None:
        return float(np.sqrt(np.average(deviations**2, weights=weights) / n))
    weights = np.ones(len(deviations)) if weights is None else weights
    unit_sums = summed_weights(units, weights * deviations, units.max() + 1)
    return float(np.sqrt(np.square(unit_sums).sum()) / weights.sum())
