"""Classification targets with several outputs, such as several labels per sample."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt
from scipy import sparse

from mddf._base.messages import short
from mddf._base.validation import naming
from mddf._core import ValueTarget
from mddf._targets.target_validation import class_factors, encode_labels, plain_array

# The kernel's fixed-point number for 1.
_ONE = 2**61


@dataclass(frozen=True)
class ClassOutputs:
    """Sorted classes and encoded labels of several outputs.

    Trees learn indicator columns, which are 1 where a sample has a class and 0 elsewhere. Their
    squared error is the Gini impurity, and the means in the leaves are shares of the classes. If
    an output has two classes, the indicator of the second one is enough. With `every_class`, both
    have an indicator: the entropy criterion and the outputs of layers need this.

    `labels`, uint16 of shape (n_samples, n_outputs), are positions among the classes of each
    output.
    """

    classes: list[np.ndarray]
    labels: np.ndarray
    every_class: bool

    @classmethod
    def from_y(cls, y: np.ndarray, every_class: bool) -> ClassOutputs:
        """Encode an array of shape (n_samples, n_outputs) that a user passed as y."""
        encoded = [encode_labels(column) for column in y.T]
        labels = np.stack([column_labels for _, column_labels in encoded], axis=1)
        return cls([classes for classes, _ in encoded], labels, every_class)

    def take(self, rows: np.ndarray) -> ClassOutputs:
        """Targets of some samples."""
        return replace(self, labels=self.labels[rows])

    @property
    def n_classes(self) -> list[int]:
        return [len(classes) for classes in self.classes]

    @cached_property
    def key(self) -> np.ndarray:
        """Key of the canonical order of rows: int64 of shape (n_samples, n_outputs)."""
        return self.labels.astype(np.int64)

    @cached_property
    def n_columns(self) -> list[int]:
        """Number of indicator columns of each output."""
        return [n if self.every_class or n > 2 else 1 for n in self.n_classes]

    @cached_property
    def joint_labels(self) -> np.ndarray:
        """Labels as positions among the concatenated classes of all outputs."""
        return joint_labels(self.labels, self.n_classes)

    @cached_property
    def kernel_target(self) -> ValueTarget:
        """The indicator columns, in the form that the kernel grows trees on."""
        indicators = []
        scale: list[float] = []
        for labels, n_classes, width in zip(
            self.labels.T, self.n_classes, self.n_columns, strict=True
        ):
            indicated = np.arange(n_classes) if width > 1 else np.array([n_classes - 1])
            indicators.append(labels[:, None] == indicated)
            # The Gini impurity of two classes is twice the variance of either indicator.
            scale += [1.0 if width == 1 or self.every_class else 0.5] * width
        return ValueTarget(np.hstack(indicators).astype(np.int64) * _ONE, np.array(scale))

    def factors(
        self,
        class_weight: dict[Hashable, float] | list[dict[Hashable, float]] | str | None,
        weights: np.ndarray | None,
    ) -> np.ndarray | None:
        """Factors of the rows' weights: products of the factors of their classes."""
        if class_weight is None:
            return None
        if class_weight == "balanced_subsample" or isinstance(class_weight, dict):
            raise ValueError(
                "class_weight of several outputs must be 'balanced' or a list of dicts, one for "
                f"each, got {short(class_weight)}"
            )
        n_outputs = len(self.classes)
        output_weights: Sequence[dict[Hashable, float] | str] = (
            [class_weight] * n_outputs if isinstance(class_weight, str) else class_weight
        )
        if len(output_weights) != n_outputs:
            raise ValueError(
                f"class_weight must have a dict for each of the {n_outputs} outputs, got "
                f"{len(output_weights)} of them"
            )
        product = np.ones(len(self.labels))
        for output_weight, classes, labels in zip(
            output_weights, self.classes, self.labels.T, strict=True
        ):
            with naming("class_weight"):
                factors = class_factors(output_weight, classes, labels, weights)
            if factors is not None:
                product *= factors[labels]
        return product


def several_outputs(y: npt.ArrayLike | None) -> np.ndarray | None:
    """Convert y to an array with at least two columns; None if y has a single output."""
    if sparse.issparse(y):
        raise ValueError("y must be dense: sparse multilabel-indicator for y is not supported")
    if y is None:
        return None
    with naming("y"):
        array = plain_array(y, "y")
    return array if array.ndim == 2 and array.shape[1] > 1 else None


def shares_by_output(
    means: np.ndarray, n_classes: Sequence[int], n_columns: Sequence[int]
) -> list[np.ndarray]:
    """Class shares of each output, shape (n_rows, n_classes), from means of indicator columns."""
    shares = []
    first = 0
    for n, width in zip(n_classes, n_columns, strict=True):
        indicators = np.clip(means[:, first : first + width], 0, 1)
        first += width
        is_second_of_two = n == 2 and width == 1
        shares.append(np.hstack([1 - indicators, indicators]) if is_second_of_two else indicators)
    return shares


def joint_labels(labels: np.ndarray, n_classes: Sequence[int]) -> np.ndarray:
    """Convert labels of each output to positions among the concatenated classes of all outputs."""
    return labels + np.cumsum([0, *n_classes[:-1]])


def decode_labels(
    classes: list[np.ndarray], labels: np.ndarray | Sequence[np.ndarray]
) -> np.ndarray:
    """Classes of shape (n_samples, n_outputs) from an array of encoded labels for each output."""
    columns = [names[codes] for names, codes in zip(classes, labels, strict=True)]
    if len({column.dtype.kind for column in columns}) > 1:
        columns = [column.astype(object) for column in columns]
    return np.stack(columns, axis=1)


def subset_accuracy(
    y: np.ndarray, predicted: np.ndarray, weights: npt.ArrayLike | None = None
) -> float:
    """Share of the samples for which the classes of all outputs are right."""
    is_right = np.all([a == b for a, b in zip(y.T, predicted.T, strict=True)], axis=0)
    weight = None if weights is None else np.asarray(weights, float)
    return float(np.average(is_right, weights=weight))
