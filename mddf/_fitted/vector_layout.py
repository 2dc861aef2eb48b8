"""Vectors of members as columns of a table."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

# Vectors are whole multiples of this unit, so that their sums are exact, and classes with equal
# votes stay equal when the vectors of members are added up.
GRAIN = 2.0**-40


def rounded(vectors: np.ndarray) -> np.ndarray:
    return np.rint(vectors / GRAIN) * GRAIN


def columns_of(vectors: np.ndarray, average_weights: np.ndarray | None) -> np.ndarray:
    """Vectors (n_members, n_rows, n_columns) side by side, or their weighted mean."""
    if average_weights is not None:
        return np.average(vectors, axis=0, weights=average_weights)
    return np.ascontiguousarray(vectors.transpose(1, 0, 2)).reshape(vectors.shape[1], -1)


def combine(columns: Sequence[np.ndarray], alphas: np.ndarray) -> np.ndarray:
    """Mean of the stages' columns, weighted by their coefficients, which are not all 0."""
    used = np.flatnonzero(alphas)
    total = columns[used[0]] * (alphas[used[0]] / alphas.sum())
    for stage in used[1:]:
        total += columns[stage] * (alphas[stage] / alphas.sum())
    return total


def select_columns(
    numbers: np.ndarray, added: np.ndarray | None, columns: np.ndarray
) -> np.ndarray:
    """Some columns of the features as numbers, followed by all columns that were added."""
    feature_columns = columns[columns < numbers.shape[1]]
    parts = [numbers[:, feature_columns]] if len(feature_columns) else []
    if len(feature_columns) < len(columns):
        assert added is not None
        parts.append(added)
    return parts[0] if len(parts) == 1 else np.hstack(parts)


def bounded(numbers: np.ndarray, largest: float) -> np.ndarray:
    """Numbers in double precision, clipped to absolute values up to `largest` where needed."""
    numbers = np.asarray(numbers, np.float64)
    smallest_number = np.fmin.reduce(numbers, axis=None, initial=0)
    largest_number = np.fmax.reduce(numbers, axis=None, initial=0)
    if smallest_number >= -largest and largest_number <= largest:
        return numbers
    return np.clip(numbers, -largest, largest)
