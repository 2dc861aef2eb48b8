"""Classes of several outputs, such as several labels of a sample: trees learn who has which."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from mddf._base.messages import short
from mddf._base.validation import naming
from mddf._core import ValueTarget
from mddf._targets.target_validation import class_factors, encode_labels, plain_array

_ONE = 2**61  # as the kernel has it


@dataclass(frozen=True)
class ClassOutputs:
    """Classes in order, and the class of every sample, of each output.

    Trees learn numbers, which are 1 where a sample has a class and else 0: the squared error of
    these is the Gini impurity, and what leaves hold, their means, are shares of classes. Of two
    classes the second is enough for that.

    Attributes
    ----------
    classes : list of ndarray
        Of each output.
    labels : ndarray of uint16 of shape (n_samples, n_outputs)
    every_class : bool
        Whether there is a number for each class, which entropy needs, and vectors of layers have.
    """

    classes: list[np.ndarray]
    labels: np.ndarray
    every_class: bool

    @classmethod
    def read(cls, y: np.ndarray, every_class: bool) -> ClassOutputs:
        """From an array of shape (n_samples, n_outputs) that a user passed as y."""
        read = [encode_labels(column) for column in y.T]
        labels = np.stack([labels for _, labels in read], axis=1)
        return cls([classes for classes, _ in read], labels, every_class)

    def of_rows(self, rows: np.ndarray) -> ClassOutputs:
        """The same of some samples."""
        return replace(self, labels=self.labels[rows])

    @property
    def n_classes(self) -> list[int]:
        """Of each output."""
        return [len(classes) for classes in self.classes]

    @cached_property
    def key(self) -> np.ndarray:
        """What the order of rows goes by: int64 of shape (n_samples, n_outputs)."""
        return self.labels.astype(np.int64)

    @cached_property
    def n_columns(self) -> list[int]:
        """Numbers that stand for each output."""
        return [n if self.every_class or n > 2 else 1 for n in self.n_classes]

    @cached_property
    def places(self) -> np.ndarray:
        """Of the samples' classes among those of all outputs side by side, as `labels`."""
        return places_of(self.labels, self.n_classes)

    @cached_property
    def cells(self) -> ValueTarget:
        """What the kernel grows on."""
        found, scale = [], []
        for labels, classes, n in zip(self.labels.T, self.classes, self.n_columns, strict=True):
            shown = np.arange(len(classes)) if n > 1 else np.array([len(classes) - 1])
            found.append(labels[:, None] == shown)
            # The impurity of two classes is twice the variance of either.
            scale += [1.0 if n == 1 or self.every_class else 0.5] * n
        return ValueTarget(np.hstack(found).astype(np.int64) * _ONE, np.array(scale))

    def factors(self, class_weight: Any, weights: np.ndarray | None) -> np.ndarray | None:
        """Factors of the rows' weights: the product of those of their classes."""
        if class_weight is None:
            return None
        if class_weight == "balanced_subsample" or isinstance(class_weight, dict):
            raise ValueError(
                "class_weight of several outputs must be 'balanced' or a list of dicts, one for "
                f"each, got {short(class_weight)}"
            )
        n_outputs = len(self.classes)
        each = [class_weight] * n_outputs if isinstance(class_weight, str) else class_weight
        if len(each) != n_outputs:
            raise ValueError(
                f"class_weight must have a dict for each of the {n_outputs} outputs, got "
                f"{len(each)} of them"
            )
        product = np.ones(len(self.labels))
        for of_output, classes, labels in zip(each, self.classes, self.labels.T, strict=True):
            with naming("class_weight"):
                factors = class_factors(of_output, classes, labels, weights)
            if factors is not None:
                product *= factors[labels]
        return product


def several_outputs(y: Any) -> np.ndarray | None:
    """A user's y as an array of two columns or more; None if it has classes of one output."""
    if sparse.issparse(y):
        raise ValueError("y must be dense: sparse multilabel-indicator for y is not supported")
    if y is None:
        return None
    with naming("y"):
        given = plain_array(y, "y")
    return given if given.ndim == 2 and given.shape[1] > 1 else None


def shares_by_output(
    means: np.ndarray, n_classes: Sequence[int], n_columns: Sequence[int]
) -> list[np.ndarray]:
    """Class shares of each output, of shape (n_rows, n_classes), from what leaves hold."""
    found, first = [], 0
    for n, width in zip(n_classes, n_columns, strict=True):
        part = np.clip(means[:, first : first + width], 0, 1)
        first += width
        found.append(np.hstack([1 - part, part]) if n == 2 and width == 1 else part)
    return found


def places_of(labels: np.ndarray, n_classes: Sequence[int]) -> np.ndarray:
    """Of the classes of each output among those of all side by side."""
    return labels + np.cumsum([0, *n_classes[:-1]])


def named_classes(classes: list[np.ndarray], numbers: Any) -> np.ndarray:
    """Classes by their numbers in each output, of shape (n_samples, n_outputs)."""
    columns = [names[column] for names, column in zip(classes, numbers, strict=True)]
    if len({column.dtype.kind for column in columns}) > 1:
        columns = [column.astype(object) for column in columns]
    return np.stack(columns, axis=1)


def subset_accuracy(y: np.ndarray, predicted: np.ndarray, weights: Any = None) -> float:
    """The share of samples for which the classes of all outputs are right."""
    right = np.all([a == b for a, b in zip(y.T, predicted.T, strict=True)], axis=0)
    return float(np.average(right, weights=weights))
