"""Surrogate losses of DeepBoost, as functions of u = 1 - y f(x)."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from mddf._base.elementary import exp, expit, log, softplus
from mddf._base.messages import short
from mddf._base.validation import refuse_class

from .weak_learners import FloatArray

_LN2 = float(log(2.0))


class Loss(Protocol):
    """A convex, increasing function Phi with Phi(0) >= 1."""

    def value(self, u: FloatArray) -> FloatArray:
        """Phi(u)."""

    def derivative(self, u: FloatArray) -> FloatArray:
        """Phi'(u)."""

    def log_derivative(self, u: FloatArray) -> FloatArray:
        """Logarithm of Phi'(u), computed without underflow."""

    def log_odds(self, f: FloatArray) -> FloatArray:
        """Log-odds of y = +1 given x if f(x) is the minimiser of the expected loss."""


class ExponentialLoss:
    """Phi(u) = e^u."""

    def value(self, u: FloatArray) -> FloatArray:
        """e^u."""
        return exp(u)

    derivative = value

    def log_derivative(self, u: FloatArray) -> FloatArray:
        """Return u itself."""
        return u

    def log_odds(self, f: FloatArray) -> FloatArray:
        """2 f."""
        return 2 * f


class LogisticLoss:
    """Phi(u) = log2(1 + e^u)."""

    def value(self, u: FloatArray) -> FloatArray:
        """log2(1 + e^u)."""
        return softplus(u) / _LN2

    def derivative(self, u: FloatArray) -> FloatArray:
        """1 / (ln 2 (1 + e^-u))."""
        return expit(u) / _LN2

    def log_derivative(self, u: FloatArray) -> FloatArray:
        """Logarithm of the derivative."""
        return -softplus(-u) - float(log(_LN2))

    def log_odds(self, f: FloatArray) -> FloatArray:
        """Logarithm of s(1 + f) / s(1 - f), with s the logistic function.

        At the minimiser of p Phi(1 - f) + (1 - p) Phi(1 + f) the derivatives balance:
        p s(1 - f) = (1 - p) s(1 + f).
        """
        return softplus(f - 1) - softplus(-1 - f)


class GivenLoss:
    """Phi of an object of the user, with methods ``value(u)`` and ``derivative(u)``."""

    def __init__(self, functions: Any) -> None:
        refuse_class("loss", functions)
        self.functions = functions

    def value(self, u: FloatArray) -> FloatArray:
        """Phi(u)."""
        return self._checked("value", u)

    def derivative(self, u: FloatArray) -> FloatArray:
        """Phi'(u)."""
        slope = self._checked("derivative", u)
        if (slope < 0).any():
            raise ValueError(
                f"loss.derivative must not be negative, since Phi increases with u = 1 - y f; got "
                f"{float(slope.min())!r}"
            )
        return slope

    def log_derivative(self, u: FloatArray) -> FloatArray:
        """Logarithm of the derivative; -inf where Phi is flat."""
        return log(self.derivative(u))

    def log_odds(self, f: FloatArray) -> FloatArray:
        """Logarithm of Phi'(1 + f) / Phi'(1 - f).

        At the minimiser of p Phi(1 - f) + (1 - p) Phi(1 + f) the derivatives balance:
        p Phi'(1 - f) = (1 - p) Phi'(1 + f).
        """
        # A loss that is flat beyond the margin 1 leaves no odds where both derivatives are 0.
        smallest = np.finfo(float).tiny
        above = np.maximum(self.derivative(1 + f), smallest)
        below = np.maximum(self.derivative(1 - f), smallest)
        return log(above) - log(below)

    def _checked(self, name: str, u: FloatArray) -> FloatArray:
        result = np.asarray(getattr(self.functions, name)(u), dtype=np.float64)
        if result.shape != u.shape or not np.isfinite(result).all():
            raise ValueError(
                f"loss.{name} must return a finite number for each entry of u, of shape "
                f"{u.shape}; got {short(result.tolist())}"
            )
        return result


LOSSES: dict[str, Loss] = {"exponential": ExponentialLoss(), "logistic": LogisticLoss()}


def loss_of(loss: Any) -> Loss:
    """Return the loss of a name, or of an object of the user."""
    return LOSSES[loss] if isinstance(loss, str) else GivenLoss(loss)
