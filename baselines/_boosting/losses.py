"""Surrogate losses of DeepBoost, as functions of u = 1 - y f(x)."""

from __future__ import annotations

from typing import Protocol

from mddf._base.elementary import exp, expit, log, softplus

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


LOSSES: dict[str, Loss] = {"exponential": ExponentialLoss(), "logistic": LogisticLoss()}
