"""The target of a check: classes or numbers, as rows of numbers that a column may predict."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from mddf._base.messages import short
from mddf._input.cell_values import missing_cells

# Whole numbers with more different values are more likely amounts than classes. Not tuned.
MAX_CLASSES = 20


def task_of(y: np.ndarray) -> str:
    """Infer the task: regression if labels are fractions or have many different numbers."""
    if y.dtype.kind not in "iuf":
        return "classification"
    values = np.unique(y)
    are_classes = len(values) <= MAX_CLASSES and np.all(values % 1 == 0)
    return "classification" if are_classes else "regression"


@dataclass(frozen=True)
class Target:
    """A target that is complete.

    Attributes
    ----------
    labels : ndarray of shape (n_rows,)
        As the user passed them.
    class_codes : ndarray of shape (n_rows,) or None
        Codes of the classes; None for regression.
    classes : ndarray or None
    ranks : ndarray of shape (n_rows,) or None
        Ranks of the numbers from 0 to 1, for regression. The share of their variance that a column
        explains is the same for a price and its logarithm, and no outlier dominates it.
    """

    labels: np.ndarray
    class_codes: np.ndarray | None = None
    classes: np.ndarray | None = None
    ranks: np.ndarray | None = None

    @cached_property
    def codes(self) -> np.ndarray:
        """Codes of the distinct labels."""
        if self.class_codes is not None:
            return self.class_codes
        return np.unique(self.labels, return_inverse=True)[1]


def read_target(y: Any, n_rows: int, task: str) -> Target:
    """Check a target: one label for each row, and none missing."""
    if task not in ("auto", "classification", "regression"):
        raise ValueError(
            f"task must be 'auto', 'classification' or 'regression', got {short(task)}"
        )
    labels = np.asarray(y)
    if labels.ndim == 2 and labels.shape[1] == 1:
        labels = labels[:, 0]
    if labels.ndim != 1:
        raise ValueError(f"y must have one dimension, got an array of shape {labels.shape}")
    if len(labels) != n_rows:
        raise ValueError(f"y must have a label for each of the {n_rows} rows, got {len(labels)}")
    missing = missing_cells(labels)
    if missing.any():
        raise ValueError(
            f"y must have no missing labels, got {missing.sum()}, row {missing.argmax()} first"
        )
    if labels.dtype.kind == "O" and not any(isinstance(label, str) for label in labels):
        labels = np.array(labels.tolist())
    if labels.dtype.kind == "f" and np.isinf(labels).any():
        raise ValueError(f"y must be finite, got {labels[np.isinf(labels)][0]}")
    if task == "auto":
        task = task_of(labels)
    if task == "classification":
        # Labels of several types, such as 0 and "a", cannot be sorted.
        texts = labels if labels.dtype.kind in "biufUS" else labels.astype(str)
        classes, codes = np.unique(texts, return_inverse=True)
        return Target(labels, class_codes=codes, classes=classes)
    if labels.dtype.kind not in "biuf":
        raise ValueError(f"y must hold numbers for regression, got {short(labels[0].item())}")
    labels = labels.astype(np.float64)
    _, places, counts = np.unique(labels, return_inverse=True, return_counts=True)
    mean_ranks = np.cumsum(counts) - (counts + 1) / 2
    return Target(labels, ranks=(mean_ranks / max(1, len(labels) - 1))[places])
