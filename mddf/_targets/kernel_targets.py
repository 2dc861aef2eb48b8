"""Targets in the form that the kernel grows trees on: classes, or numbers in fixed point."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
from sklearn.utils import check_array

from mddf._base.messages import short, warn
from mddf._base.serialization import register_serializable
from mddf._base.validation import naming
from mddf._core import ClassTarget, ValueTarget
from mddf._targets.target_validation import (
    encode_labels,
    naming_row,
    numeric_array,
    warn_of_column_vector,
)

# Targets are whole multiples of 2^-61 of their bound. This keeps all bits of a double that is at
# least 2^-9 of the bound, and the difference of two such numbers fits into 64 bits.
_BITS = 61
# Exponent of the smallest double above 0.
_MIN_EXPONENT = -1073


@dataclass(frozen=True)
class Classes:
    """Classes and encoded labels of a single output.

    `key` holds the position of each sample's class as uint16, which is also the key of the
    canonical order of rows.
    """

    classes: np.ndarray
    key: np.ndarray

    @classmethod
    def from_y(cls, y: npt.ArrayLike | None) -> Classes:
        """Encode labels that a user passed as y."""
        return cls(*encode_labels(y))

    @cached_property
    def kernel_target(self) -> ClassTarget:
        """The labels, in the form that the kernel grows trees on."""
        return ClassTarget(self.key, len(self.classes))


@dataclass(frozen=True)
class Values:
    """Numeric targets as whole multiples of a power of two, whose sums are exact in any order.

    The unit of an output is 2^-61 of the smallest power of two, given by `exponents`, above the
    absolute values of all its targets. Rounding changes a target by less than 2^-52 of its size if
    the target is at least 2^-9 of the largest one, and by at most 2^-62 of the largest one
    otherwise.

    `y` holds the targets, and `key` the targets in this unit as int64, both of shape (n_samples,
    n_outputs). The key also determines the canonical order of rows.
    """

    y: np.ndarray
    exponents: np.ndarray
    key: np.ndarray

    @classmethod
    def from_targets(
        cls, y: np.ndarray, weights: np.ndarray | None, exponents: np.ndarray | None = None
    ) -> Values:
        """Convert finite targets; samples without weight do not affect the unit.

        With a warm start, `exponents` are the exponents of the first fit.
        """
        is_counted = slice(None) if weights is None else weights > 0
        bound = np.abs(y[is_counted]).max(axis=0)
        if exponents is not None and np.any(np.frexp(bound)[1] > exponents):
            raise ValueError(
                "with warm_start=True, y must not exceed the least power of two above all targets "
                f"of the first fit, 2.0**{exponents.tolist()}, got values up to {bound.tolist()}"
            )
        return cls.from_bound(y, bound, exponents)

    @classmethod
    def from_bound(
        cls, y: np.ndarray, bound: np.ndarray, exponents: np.ndarray | None = None
    ) -> Values:
        """Convert finite targets, where `bound` is the largest absolute value with a weight."""
        if exponents is None:
            exponents = np.where(bound > 0, np.frexp(bound)[1], _MIN_EXPONENT)
        key = np.rint(np.ldexp(np.clip(y, -bound, bound), _BITS - exponents)).astype(np.int64)
        return cls(y, exponents, key)

    def warn_of_underflow(self, weights: np.ndarray | None) -> None:
        """Warn of targets that are rounded to 0, among the samples with weight."""
        is_counted = slice(None) if weights is None else weights > 0
        is_lost = ((self.key == 0) & (self.y != 0))[is_counted]
        if is_lost.any():
            warn(
                f"{np.count_nonzero(is_lost)} of {self.y.size} targets are rounded to 0, since "
                "they are too small compared with the largest one, "
                f"{np.abs(self.y[is_counted]).max():g}: leave that one out, scale y, or take its "
                "logarithm",
                kind="targets rounded to 0",
            )

    @cached_property
    def kernel_target(self) -> ValueTarget:
        """The targets, in the form that the kernel grows trees on."""
        scale = np.ldexp(1.0, 2 * (self.exponents - self.exponents.max()))
        return ValueTarget(self.key, scale)


def in_units_of_y(means: np.ndarray, exponents: np.ndarray) -> np.ndarray:
    """Convert means of the kernel's values, which lie below 1, to the units of the user's y."""
    # A mean that was rounded up to 1 might overflow.
    below_one = np.nextafter(1.0, 0.0)
    return np.ldexp(np.clip(means, -below_one, below_one), exponents)


@register_serializable("target scaling")
@dataclass(frozen=True)
class TargetScaling:
    """Mean and standard deviation of each output, for targets of any size.

    Targets are first divided by two to the power of `exponents`, so that squares do not vanish or
    overflow. The `spread` is the standard deviation, taken as 1 for a constant output.
    """

    exponents: np.ndarray
    mean: np.ndarray
    spread: np.ndarray

    @classmethod
    def from_targets(cls, y: np.ndarray, weights: np.ndarray | None) -> TargetScaling:
        """Measure finite targets of shape (n_samples, n_outputs)."""
        if weights is not None:
            y = y[weights > 0]
            weights = weights[weights > 0]
        exponents = np.frexp(np.abs(y).max(axis=0))[1]
        y = np.ldexp(y, -exponents)
        # The minimum is subtracted first, so that the mean of equal targets is exact.
        least = y.min(axis=0)
        mean = least + np.average(y - least, axis=0, weights=weights)
        spread = np.sqrt(np.average(np.square(y - mean), axis=0, weights=weights))
        return cls(exponents, mean, np.where(spread > 0, spread, 1.0))

    def standardize(self, y: np.ndarray) -> np.ndarray:
        """Subtract the mean from targets, and divide by the standard deviation."""
        with np.errstate(over="ignore"):
            scaled = np.ldexp(y, -self.exponents)
        return (np.clip(scaled, -1, 1) - self.mean) / self.spread

    def restore(self, standardized: np.ndarray) -> np.ndarray:
        """Undo `standardize`; numbers beyond the range of doubles become the largest double."""
        largest = np.finfo(np.float64).max
        with np.errstate(over="ignore"):
            y = np.ldexp(self.mean + self.spread * standardized, self.exponents)
        return np.clip(y, -largest, largest)


def finite_values(y: npt.ArrayLike) -> np.ndarray:
    """Convert a user's y to finite float64, in the same shape."""
    with naming("y"):
        numbers = numeric_array(y, "y")
        # The check adds the values up, among which may be infinities.
        with np.errstate(invalid="ignore"), naming_row(numbers):
            values: np.ndarray = check_array(
                numbers, ensure_2d=False, dtype=np.float64, order="C", input_name="y"
            )
        if values.ndim == 0:
            raise ValueError(f"y must have a target for every sample, got {short(values)}")
    return values


def read_values(y: npt.ArrayLike | None) -> np.ndarray:
    """Convert a user's y to finite float64 of shape (n_samples, n_outputs)."""
    if y is None:
        raise ValueError("a regressor requires y to be passed, but the target y is None")
    values = finite_values(y)
    if values.ndim == 2 and values.shape[1] == 1:
        warn_of_column_vector()
    # -0.0 becomes 0.0.
    return values.reshape(len(values), -1) + 0.0
