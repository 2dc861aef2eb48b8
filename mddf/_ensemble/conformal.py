"""Conformal prediction: how large errors of new rows are, from out-of-fold scores of others."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np

from mddf._base.messages import short, warn
from mddf._base.serialization import register_serializable
from mddf._base.validation import Within
from mddf._resampling.sampling import n_counted

_COVERAGE = Within(Real, 0, 1, closed="neither")


def check_coverage(coverage: Any) -> float:
    """The share of new rows that is to be covered."""
    if coverage not in _COVERAGE:
        raise ValueError(f"coverage must be a number between 0 and 1, got {short(coverage)}")
    return float(coverage)


def counted(n_rows: int, weight: np.ndarray | None) -> np.ndarray:
    """How many samples each row stands for, of users' weights; None are all alike."""
    if weight is None:
        return np.ones(n_rows)
    return weight / weight.sum() * n_counted(n_rows, weight)


@register_serializable("conformal scores")
@dataclass(frozen=True)
class Scores:
    """Scores of rows whose targets are known, the larger the more unlike, in ascending order.

    Attributes
    ----------
    values : ndarray of shape (n_rows,)
    weights : ndarray of shape (n_rows,)
        How many samples each row stands for.
    """

    values: np.ndarray
    weights: np.ndarray

    @classmethod
    def from_values(cls, values: np.ndarray, weights: np.ndarray) -> Scores:
        """From scores in any order; see `counted` for the weights."""
        order = np.argsort(values, kind="stable")
        return cls(values[order], weights[order])

    @classmethod
    def joined(cls, parts: list[Scores]) -> Scores:
        """The scores of several kinds of rows as one."""
        values = np.concatenate([part.values for part in parts])
        return cls.from_values(values, np.concatenate([part.weights for part in parts]))

    @property
    def n(self) -> float:
        """Samples that the rows stand for."""
        return float(self.weights.sum())

    def threshold(self, coverage: float) -> float:
        """The score that this share of the samples, and a new one, does not exceed.

        Infinite if there are fewer than ``coverage / (1 - coverage)`` samples.
        """
        share = np.cumsum(self.weights)
        enough = share >= coverage * ((share[-1] if len(share) else 0.0) + 1) * (1 - 1e-12)
        return float(self.values[np.argmax(enough)]) if enough.any() else np.inf


def warn_of_few(coverage: float, n: float, outcome: str, of_what: str = "") -> None:
    """Warn that a coverage cannot be had from so few samples."""
    least = int(np.ceil(coverage / (1 - coverage) * (1 - 1e-12)))
    warn(
        f"coverage={coverage:g} cannot be had from {n:g} samples{of_what}, of which it takes "
        f"{least}: {outcome}"
    )
