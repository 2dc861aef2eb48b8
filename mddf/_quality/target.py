"""The target of a check, and the share of it that the bins of a column explain."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from mddf._base.messages import short
from mddf._input.cell_values import missing_cells

# Whole numbers with more different values are more likely amounts than classes. Not tuned.
MAX_CLASSES = 20
# For skills, more classes are merged into one, which bounds the time. The most frequent classes
# are kept. Not tuned.
_MAX_OUTPUTS = 20
# A bin's mean is drawn to the mean of all rows as if the bin had this many rows more. Not tuned.
_PRIOR_ROWS = 0.5


def task_of(y: np.ndarray) -> str:
    """Infer the task: regression if labels are fractions or have many different numbers."""
    if y.dtype.kind not in "iuf":
        return "classification"
    values = np.unique(y)
    are_classes = len(values) <= MAX_CLASSES and np.all(values % 1 == 0)
    return "classification" if are_classes else "regression"


def mean_ranks(values: np.ndarray) -> np.ndarray:
    """Ranks of numbers from 0 to 1; equal numbers share their mean rank."""
    _, places, counts = np.unique(values, return_inverse=True, return_counts=True)
    ranks = np.cumsum(counts) - (counts + 1) / 2
    return np.asarray((ranks / max(1, len(values) - 1))[places])


@dataclass(frozen=True)
class CheckedTarget:
    """A target that is complete.

    Attributes
    ----------
    labels : ndarray of shape (n_rows,)
        As the user passed them; doubles for regression.
    codes : ndarray of shape (n_rows,)
        Codes of the distinct labels.
    classes : ndarray or None
        The classes by code; None for regression.
    groups : ndarray of shape (n_rows,) or None
        Groups of rows that depend on each other.
    """

    labels: np.ndarray
    codes: np.ndarray
    classes: np.ndarray | None = None
    groups: np.ndarray | None = None

    def take(self, rows: Any) -> CheckedTarget:
        """Some rows of the target."""
        groups = None if self.groups is None else self.groups[rows]
        return CheckedTarget(self.labels[rows], self.codes[rows], self.classes, groups)

    @cached_property
    def ranks(self) -> np.ndarray:
        """Ranks of the numbers, for regression.

        The share of their variance that a column explains is the same for a price and its
        logarithm, and no outlier dominates it.
        """
        return mean_ranks(self.labels)

    @cached_property
    def is_smooth(self) -> bool:
        """Whether most labels equal the next one, so that the target equals its own shift."""
        return bool(np.mean(self.codes[1:] == self.codes[:-1]) > 0.5)

    def n_independent(self, codes: np.ndarray) -> np.ndarray:
        """Count the rows of each code; the rows of a group count as one."""
        if self.groups is not None:
            codes = np.unique(np.column_stack([codes, self.groups]), axis=0)[:, 0]
        return np.bincount(codes)

    @cached_property
    def _outputs(self) -> np.ndarray:
        """Codes of the most frequent classes; all others share one."""
        _, codes, counts = np.unique(self.codes, return_inverse=True, return_counts=True)
        order = np.argsort(-counts, kind="stable")
        merged = np.empty(len(counts), dtype=np.int64)
        merged[order] = np.minimum(np.arange(len(counts)), _MAX_OUTPUTS - 1)
        return merged[codes]

    @cached_property
    def _half(self) -> np.ndarray:
        """Half of each row, at random; groups are not divided."""
        if self.groups is None:
            return np.random.default_rng(0).permutation(len(self.codes)) % 2
        _, places = np.unique(self.groups, return_inverse=True)
        return (np.random.default_rng(0).permutation(places.max() + 1) % 2)[places]

    def skill(self, bins: np.ndarray, n_bins: int) -> float:
        """Share of the target's variance that the means of bins explain on the other half.

        For classes, it is the share of the Brier score of a model without features. It is negative
        if the bins are worse than no feature.
        """
        half = self._half
        cells = half * n_bins + bins
        counts = np.bincount(cells, minlength=2 * n_bins).reshape(2, n_bins, 1).astype(float)
        if not counts.sum(axis=(1, 2)).all():
            return 0.0
        if self.classes is None:
            sums = np.bincount(cells, self.ranks, minlength=2 * n_bins)
            sums = sums.astype(float).reshape(2, n_bins, 1)
            squares = np.bincount(half, np.square(self.ranks), minlength=2)
        else:
            n_outputs = int(self._outputs.max()) + 1
            shape = (2, n_bins, n_outputs)
            places = cells * n_outputs + self._outputs
            sums = np.bincount(places, minlength=2 * n_bins * n_outputs)
            sums = sums.astype(float).reshape(shape)
            squares = counts.sum(axis=(1, 2))
        error = 0.0
        error_without = 0.0
        for train, test in ((0, 1), (1, 0)):
            mean = sums[train].sum(axis=0) / counts[train].sum()
            means = (sums[train] + _PRIOR_ROWS * mean) / (counts[train] + _PRIOR_ROWS)
            error += squares[test] + float(
                (counts[test] * means**2).sum() - 2 * (sums[test] * means).sum()
            )
            error_without += squares[test] + float(
                counts[test].sum() * (mean**2).sum() - 2 * (sums[test] * mean).sum()
            )
        return 1 - error / error_without if error_without > 0 else 0.0

    def class_quantiles(self, values: np.ndarray, n_quantiles: int) -> np.ndarray:
        """Quantiles of complete numbers within each class; none for regression."""
        if self.classes is None:
            return np.zeros(0)
        quantiles = []
        for output in range(int(self._outputs.max()) + 1):
            of_class = values[self._outputs == output]
            places = np.linspace(0, len(of_class) - 1, n_quantiles).astype(np.int64)
            quantiles.append(np.partition(of_class, np.unique(places))[places])
        return np.concatenate(quantiles)


def read_target(y: Any, n_rows: int, task: str, groups: Any = None) -> CheckedTarget:
    """Check a target: one label for each row, and none missing."""
    if task not in ("auto", "classification", "regression"):
        raise ValueError(
            f"task must be 'auto', 'classification' or 'regression', got {short(task)}"
        )
    labels = _one_per_row("y", "label", y, n_rows)
    missing = missing_cells(labels)
    if missing.any():
        raise ValueError(
            f"y must have no missing labels, got {missing.sum()}, row {missing.argmax()} first"
        )
    if labels.dtype.kind == "O" and not any(isinstance(label, str) for label in labels):
        labels = np.array(labels.tolist())
    if labels.dtype.kind == "f" and np.isinf(labels).any():
        raise ValueError(f"y must be finite, got {labels[np.isinf(labels)][0]}")
    if groups is not None:
        texts = _one_per_row("groups", "group", groups, n_rows).astype(str)
        groups = np.unique(texts, return_inverse=True)[1]
    if task == "auto":
        task = task_of(labels)
    if task == "classification":
        # Labels of several types, such as 0 and "a", cannot be sorted.
        texts = labels if labels.dtype.kind in "biufUS" else labels.astype(str)
        classes, codes = np.unique(texts, return_inverse=True)
        return CheckedTarget(labels, codes, classes, groups)
    if labels.dtype.kind not in "biuf":
        raise ValueError(f"y must hold numbers for regression, got {short(labels[0].item())}")
    labels = labels.astype(np.float64)
    return CheckedTarget(labels, np.unique(labels, return_inverse=True)[1], None, groups)


def _one_per_row(name: str, noun: str, values: Any, n_rows: int) -> np.ndarray:
    array = np.asarray(values)
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim != 1:
        raise ValueError(f"{name} must have one dimension, got an array of shape {array.shape}")
    if len(array) != n_rows:
        raise ValueError(
            f"{name} must have a {noun} for each of the {n_rows} rows, got {len(array)}"
        )
    return array
