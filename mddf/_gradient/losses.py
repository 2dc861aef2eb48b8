"""Targets of gradient boosting: conversion to the values that the kernel boosts, and back."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mddf._base.elementary import class_probabilities, exp, expit, log
from mddf._base.serialization import register_serializable

REGRESSION = ("squared_error", "absolute_error", "quantile", "huber", "poisson", "gamma")
CLASSIFICATION = ("log_loss", "exponential")
_LOGARITHMIC = ("poisson", "gamma")
# Targets beyond this power of two, or its inverse, are scaled: sums of their squares would
# overflow or vanish.
_MAX_EXPONENT = 100
# Scaled targets have this power of two: far from the limits of doubles, so that a number of trees
# times the unit does not overflow either.
_SCALED_EXPONENT = 40


def check_targets(loss: str, y: np.ndarray) -> None:
    """Refuse targets that a loss is not defined for; `y` has samples with weight only."""
    if loss == "poisson" and not (np.all(y >= 0) and y.sum() > 0):
        raise ValueError(
            "y must not be negative, and not all 0, for loss='poisson', got values from "
            f"{y.min():g} to {y.max():g}"
        )
    if loss == "gamma" and not np.all(y > 0):
        raise ValueError(f"y must be positive for loss='gamma', got {y.min():g}")


@register_serializable("boosting target of numbers")
@dataclass(frozen=True)
class Numbers:
    """Numeric targets; the kernel boosts them divided by 2**exponent.

    The exponent is 0 unless the targets are very large or very small.
    """

    loss: str
    exponent: int
    n_classes = 0

    @classmethod
    def from_targets(cls, loss: str, y: np.ndarray) -> Numbers:
        """Choose the exponent by the targets of samples with weight."""
        exponent = int(np.frexp(np.abs(y).max())[1])
        if abs(exponent) <= _MAX_EXPONENT or not y.any():
            return cls(loss, 0)
        return cls(loss, exponent - int(np.copysign(_SCALED_EXPONENT, exponent)))

    @property
    def kernel_loss(self) -> str:
        return self.loss

    @property
    def n_scores(self) -> int:
        return 1

    @property
    def is_logarithmic(self) -> bool:
        """Whether raw predictions are logarithms of predictions."""
        return self.loss in _LOGARITHMIC

    @property
    def unit(self) -> float:
        """Factor of raw predictions."""
        return 1.0 if self.is_logarithmic else float(np.ldexp(1.0, self.exponent))

    @property
    def link(self) -> Numbers | None:
        """Object that converts raw predictions times `unit`; None if they are predictions."""
        return self if self.is_logarithmic else None

    def boosted(self, y: np.ndarray) -> np.ndarray:
        """Targets as the kernel boosts them.

        The limits keep the targets of samples without weight finite.
        """
        with np.errstate(over="ignore"):
            return np.clip(np.ldexp(y, -self.exponent), -1e99, 1e99)

    def restored(self, y: np.ndarray) -> np.ndarray:
        """Undo `boosted`; overflows become the largest double."""
        most = np.finfo(np.float64).max
        with np.errstate(over="ignore"):
            return np.clip(np.ldexp(y, self.exponent), -most, most)

    def least_loss(self, y: np.ndarray, weights: np.ndarray | None) -> float:
        """Mean loss in the kernel if every target is predicted exactly.

        The kernel leaves out terms that do not depend on predictions, so that losses of counts may
        be negative. The difference to this least loss is half of the mean deviance.
        """
        if not self.is_logarithmic:
            return 0.0
        logs = log(np.where(y > 0, y, 1.0))
        losses = y - y * logs if self.loss == "poisson" else 1 + logs
        return float(np.average(losses, weights=weights))

    def predicted(self, raw: np.ndarray) -> np.ndarray:
        """Convert raw predictions of shape (n_samples, 1)."""
        return self.restored(exp(raw[:, 0]) if self.is_logarithmic else raw[:, 0])


@register_serializable("boosting target of classes")
@dataclass(frozen=True)
class Labels:
    """Class labels; a raw prediction has a score for each class, or one for the second of two."""

    loss: str
    classes: np.ndarray

    @property
    def n_classes(self) -> int:
        return len(self.classes)

    @property
    def kernel_loss(self) -> str:
        return "softmax" if self.n_classes > 2 else self.loss

    @property
    def n_scores(self) -> int:
        return self.n_classes if self.n_classes > 2 else 1

    unit = 1.0

    @property
    def link(self) -> Labels:
        """Object that converts raw predictions."""
        return self

    def least_loss(self, y: np.ndarray, weights: np.ndarray | None) -> float:
        """Mean loss if every class is predicted with probability 1."""
        return 0.0

    def predicted(self, raw: np.ndarray) -> np.ndarray:
        """Convert raw predictions to class probabilities."""
        if self.n_classes == 1:
            return np.ones((len(raw), 1))
        if self.loss == "exponential":
            second = expit(2 * raw)
            return np.hstack([1 - second, second])
        return class_probabilities(raw)


Target = Labels | Numbers


@dataclass(frozen=True)
class BoostingTarget:
    """Target of a fit: its kind, the values that the kernel boosts, and weights in the loss."""

    kind: Target
    values: np.ndarray
    weights: np.ndarray | None
