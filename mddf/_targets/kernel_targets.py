"""What forests learn: classes, or numbers with a fixed point."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from sklearn.utils import check_array

from mddf._base.messages import short, warn
from mddf._base.serialization import register_serializable
from mddf._base.validation import naming
from mddf._core import ClassTarget, ValueTarget
from mddf._targets.target_validation import encode_labels, naming_row, numbers_of, warn_of_column

# Targets are whole multiples of 2^-61 of their bound, which takes all bits of a double that is not
# below 2^-9 of the bound.
_BITS = 61
_LEAST_EXPONENT = -1073  # of a double that is not 0


@dataclass(frozen=True)
class Classes:
    """Classes in order, and the class of every sample.

    Attributes
    ----------
    classes : ndarray of shape (n_classes,)
    key : ndarray of uint16 of shape (n_samples,)
    """

    classes: np.ndarray
    key: np.ndarray

    @classmethod
    def read(cls, y: Any) -> Classes:
        """From what a user passed as y."""
        return cls(*encode_labels(y))

    @cached_property
    def cells(self) -> ClassTarget:
        """What the kernel grows on."""
        return ClassTarget(self.key, len(self.classes))


@dataclass(frozen=True)
class Values:
    """Numbers as whole multiples of a power of two, whose sums are exact in any order.

    The unit of an output is 2^-61 of the least power of two above the absolute values of all its
    targets. What lies below it is rounded: less than a 2^-52 of a target that is not below 2^-9 of
    the largest, and never more than 2^-62 of the largest.

    Attributes
    ----------
    y : ndarray of float64 of shape (n_samples, n_outputs)
    exponents : ndarray of int of shape (n_outputs,)
        That power of two.
    key : ndarray of int64 of shape (n_samples, n_outputs)
        Multiples of the unit.
    """

    y: np.ndarray
    exponents: np.ndarray
    key: np.ndarray

    @classmethod
    def of(cls, y: np.ndarray, weights: np.ndarray | None, exponents: Any = None) -> Values:
        """From checked targets.

        Parameters
        ----------
        y : ndarray of float64 of shape (n_samples, n_outputs)
        weights : ndarray of shape (n_samples,) or None
            Samples without weight decide nothing.
        exponents : ndarray of int, default=None
            Those of a fit before.
        """
        counts = slice(None) if weights is None else weights > 0
        bound = np.abs(y[counts]).max(axis=0)
        if exponents is None:
            exponents = np.where(bound > 0, np.frexp(bound)[1], _LEAST_EXPONENT)
        elif np.any(np.frexp(bound)[1] > exponents):
            raise ValueError(
                "with warm_start=True, y must not exceed the least power of two above all targets "
                f"of the first fit, 2.0**{exponents.tolist()}, got values up to {bound.tolist()}"
            )
        key = np.rint(np.ldexp(np.clip(y, -bound, bound), _BITS - exponents)).astype(np.int64)
        return cls(y, exponents, key)

    def warn_of_lost(self, weights: np.ndarray | None) -> None:
        """Warn of targets that are rounded to 0, among the samples that have weight."""
        counts = slice(None) if weights is None else weights > 0
        lost = ((self.key == 0) & (self.y != 0))[counts]
        if lost.any():
            warn(
                f"{np.count_nonzero(lost)} of {self.y.size} targets are taken as 0, being too "
                f"small beside the largest of all, {np.abs(self.y[counts]).max():g}: leave that "
                "out, or scale y or take its logarithm"
            )

    @cached_property
    def cells(self) -> ValueTarget:
        """What the kernel grows on."""
        scale = np.ldexp(1.0, 2 * (self.exponents - self.exponents.max()))
        return ValueTarget(self.key, scale)


def in_units_of_y(means: np.ndarray, exponents: np.ndarray) -> np.ndarray:
    """Means of `Values`, which lie below 1, in the units of what was passed as y."""
    most = np.nextafter(1.0, 0.0)  # one that is rounded up to 1 might be no number any more
    return np.ldexp(np.clip(means, -most, most), exponents)


@register_serializable("target scaling")
@dataclass(frozen=True)
class Units:
    """Mean and standard deviation of each output, for targets of any size.

    Attributes
    ----------
    exponents : ndarray of int of shape (n_outputs,)
        Targets are divided by 2 to that power first, so that squares neither vanish nor overflow.
    mean, spread : ndarray of float64 of shape (n_outputs,)
        Of what that gives. The spread of a constant output is taken as 1.
    """

    exponents: np.ndarray
    mean: np.ndarray
    spread: np.ndarray

    @classmethod
    def of(cls, y: np.ndarray, weights: np.ndarray | None) -> Units:
        """From checked targets of shape (n_samples, n_outputs) and the samples' weights."""
        if weights is not None:
            y, weights = y[weights > 0], weights[weights > 0]
        exponents = np.frexp(np.abs(y).max(axis=0))[1]
        y = np.ldexp(y, -exponents)
        least = y.min(axis=0)  # taken off first, so that the mean of equal targets is exact
        mean = least + np.average(y - least, axis=0, weights=weights)
        spread = np.sqrt(np.average(np.square(y - mean), axis=0, weights=weights))
        return cls(exponents, mean, np.where(spread > 0, spread, 1.0))

    def standard(self, y: np.ndarray) -> np.ndarray:
        """Targets in units of the spread, less the mean."""
        with np.errstate(over="ignore"):
            scaled = np.ldexp(y, -self.exponents)
        return (np.clip(scaled, -1, 1) - self.mean) / self.spread

    def restore(self, standard: np.ndarray) -> np.ndarray:
        """Undo `standard`; what no double can hold becomes the largest one."""
        most = np.finfo(np.float64).max
        with np.errstate(over="ignore"):
            return np.clip(
                np.ldexp(self.mean + self.spread * standard, self.exponents), -most, most
            )


def finite_values(y: Any) -> np.ndarray:
    """Targets as float64, of the shape in which a user passed them as y."""
    with naming("y"):
        y = numbers_of(y, "y")
        with np.errstate(invalid="ignore"), naming_row(y):  # of sums of infinities
            y = check_array(y, ensure_2d=False, dtype=np.float64, order="C", input_name="y")
        if y.ndim == 0:
            raise ValueError(f"y must have a target for every sample, got {short(y)}")
    return y


def read_values(y: Any) -> np.ndarray:
    """Targets as float64 of shape (n_samples, n_outputs), from what a user passed as y."""
    if y is None:
        raise ValueError("a regressor requires y to be passed, but the target y is None")
    y = finite_values(y)
    if y.ndim == 2 and y.shape[1] == 1:
        warn_of_column()
    return y.reshape(len(y), -1) + 0.0  # no negative zeros
