"""What gradient boosting predicts: from targets to what the kernel boosts, and back."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mddf._base.elementary import class_probabilities, exp, expit, log
from mddf._base.serialization import register_serializable

REGRESSION = ("squared_error", "absolute_error", "quantile", "huber", "poisson", "gamma")
CLASSIFICATION = ("log_loss", "exponential")
_LOGARITHMIC = ("poisson", "gamma")
# Targets beyond these powers of two are scaled: their squares would overflow or vanish. Then they
# are of this size, so that a number of trees times the unit does not overflow.
_MOST_EXPONENT, _SCALED_EXPONENT = 100, 40


def check_targets(loss: str, y: np.ndarray) -> None:
    """Refuse targets of samples with weight that a loss has no meaning for."""
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
    """Targets that are numbers, boosted as they are or, if they are very large or small, scaled.

    Attributes
    ----------
    loss : str
    exponent : int
        The kernel boosts targets over 2 to this power.
    """

    loss: str
    exponent: int
    n_classes = 0

    @classmethod
    def of(cls, loss: str, y: np.ndarray) -> Numbers:
        """From the targets of samples with weight."""
        exponent = int(np.frexp(np.abs(y).max())[1])
        if abs(exponent) <= _MOST_EXPONENT or not y.any():
            return cls(loss, 0)
        return cls(loss, exponent - int(np.copysign(_SCALED_EXPONENT, exponent)))

    @property
    def kernel_loss(self) -> str:
        """What the kernel calls the loss."""
        return self.loss

    @property
    def n_scores(self) -> int:
        """Numbers of a raw prediction."""
        return 1

    @property
    def is_logarithmic(self) -> bool:
        """Whether raw predictions are logarithms."""
        return self.loss in _LOGARITHMIC

    @property
    def unit(self) -> float:
        """What raw predictions are multiples of."""
        return 1.0 if self.is_logarithmic else float(np.ldexp(1.0, self.exponent))

    @property
    def link(self) -> Numbers | None:
        """What makes predictions of raw ones in this unit; None if they are."""
        return self if self.is_logarithmic else None

    def boosted(self, y: np.ndarray) -> np.ndarray:
        """What the kernel boosts; samples without weight may hold anything."""
        with np.errstate(over="ignore"):
            return np.clip(np.ldexp(y, -self.exponent), -1e99, 1e99)

    def restored(self, y: np.ndarray) -> np.ndarray:
        """Undo `boosted`; what no double can hold becomes the largest one."""
        most = np.finfo(np.float64).max
        with np.errstate(over="ignore"):
            return np.clip(np.ldexp(y, self.exponent), -most, most)

    def least_loss(self, y: np.ndarray, weights: np.ndarray | None) -> float:
        """The mean loss, as the kernel has it, of targets that are predicted exactly.

        The kernel leaves out what does not depend on predictions, so that losses of counts may be
        negative. Above this one they are half of the mean deviance.
        """
        if not self.is_logarithmic:
            return 0.0
        logs = log(np.where(y > 0, y, 1.0))
        losses = y - y * logs if self.loss == "poisson" else 1 + logs
        return float(np.average(losses, weights=weights))

    def predicted(self, raw: np.ndarray) -> np.ndarray:
        """Predictions from raw ones of shape (n_samples, 1)."""
        return self.restored(exp(raw[:, 0]) if self.is_logarithmic else raw[:, 0])


@register_serializable("boosting target of classes")
@dataclass(frozen=True)
class Labels:
    """Classes: of two, the second one has a score; of more, each.

    Attributes
    ----------
    loss : str
    classes : ndarray of shape (n_classes,)
    """

    loss: str
    classes: np.ndarray

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return len(self.classes)

    @property
    def kernel_loss(self) -> str:
        """What the kernel calls the loss."""
        return "softmax" if self.n_classes > 2 else self.loss

    @property
    def n_scores(self) -> int:
        """Numbers of a raw prediction."""
        return self.n_classes if self.n_classes > 2 else 1

    unit = 1.0

    @property
    def link(self) -> Labels:
        """What makes predictions of raw ones."""
        return self

    def least_loss(self, y: np.ndarray, weights: np.ndarray | None) -> float:
        """The mean loss of classes that are predicted for certain."""
        return 0.0

    def predicted(self, raw: np.ndarray) -> np.ndarray:
        """Probabilities of the classes."""
        if self.n_classes == 1:
            return np.ones((len(raw), 1))
        if self.loss == "exponential":
            second = expit(2 * raw)
            return np.hstack([1 - second, second])
        return class_probabilities(raw)
