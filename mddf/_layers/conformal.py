"""Conformal prediction: bounds for new rows from out-of-fold scores of training rows."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real

import numpy as np

from mddf._base.messages import short, warn
from mddf._base.serialization import register_serializable
from mddf._base.validation import Within
from mddf._targets.weights import n_counted

_COVERAGE = Within(Real, 0, 1, closed="neither")


def check_coverage(coverage: float) -> float:
    """Check the share of new rows that is to be covered."""
    if coverage not in _COVERAGE:
        raise ValueError(f"coverage must be a number between 0 and 1, got {short(coverage)}")
    return float(coverage)


def counted(n_rows: int, weight: np.ndarray | None) -> np.ndarray:
    """Number of samples that each row stands for, from users' weights."""
    if weight is None:
        return np.ones(n_rows)
    return weight / weight.sum() * n_counted(n_rows, weight)


@register_serializable("conformal scores")
@dataclass(frozen=True)
class Scores:
    """Scores of rows with known targets, in ascending order; large scores are unusual."""

    values: np.ndarray
    weights: np.ndarray  # number of samples that each row stands for

    @classmethod
    def from_values(cls, values: np.ndarray, weights: np.ndarray) -> Scores:
        """Sort scores; see `counted` for the weights."""
        order = np.argsort(values, kind="stable")
        return cls(values[order], weights[order])

    @classmethod
    def joined(cls, parts: list[Scores]) -> Scores:
        """Join the scores of several kinds of rows."""
        values = np.concatenate([part.values for part in parts])
        return cls.from_values(values, np.concatenate([part.weights for part in parts]))

    @property
    def n(self) -> float:
        """Number of samples that the rows stand for."""
        return float(self.weights.sum())

    def threshold(self, coverage: float) -> float:
        """Smallest score that a new sample exceeds with probability at most 1 - coverage.

        Infinite if there are fewer than ``coverage / (1 - coverage)`` samples.
        """
        share = np.cumsum(self.weights)
        n_samples = share[-1] if len(share) else 0.0
        # The correction for a finite number of samples counts the new one. The tolerance keeps
        # rounding errors from skipping a sample.
        is_enough = share >= coverage * (n_samples + 1) * (1 - 1e-12)
        return float(self.values[np.argmax(is_enough)]) if is_enough.any() else np.inf


def warn_of_few(coverage: float, n: float, outcome: str, of_what: str = "") -> None:
    """Warn that there are too few samples for a coverage."""
    least = int(np.ceil(coverage / (1 - coverage) * (1 - 1e-12)))
    warn(
        f"coverage={coverage:g} needs at least {least} samples{of_what}, got {n:g}: {outcome}",
        kind=f"too few samples for coverage={coverage:g}",
    )
