"""Boosted trees as a stage, which explanations, graphs and costs read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mddf._ensemble.stages import StageMember
from mddf._gradient.trees import BoostedTrees

# Leaves of the trees that explanations look at together.
_LEAVES_TOGETHER = 2**18


@dataclass(frozen=True)
class BoostedMember(StageMember):
    """Trees whose leaves add up to raw predictions.

    Attributes
    ----------
    trees : BoostedTrees
        All; `models` has them in parts.
    """

    trees: Any = None

    @classmethod
    def of(cls, trees: BoostedTrees, unit: float) -> BoostedMember:
        """From all trees, of which raw predictions are multiples of a unit."""
        part = trees.arrays["first_leaf"][:-1] // _LEAVES_TOGETHER
        starts = np.flatnonzero(np.diff(part, prepend=-1)).tolist() or [0]
        parts = [
            trees.between(first, last)
            for first, last in zip(starts, [*starts[1:], trees.n_trees], strict=True)
        ]
        return cls(parts, trees.n_scores, unit, is_rounded=False, trees=trees)

    @property
    def per_mean(self) -> float:
        """See StageMember."""
        return self.trees.n_trees * self.unit

    @property
    def offset(self) -> np.ndarray:
        """See StageMember."""
        return self.trees.start * self.unit

    @property
    def knows_weights(self) -> bool:
        """See StageMember."""
        return True

    def vectors(self, codes: np.ndarray, numbers: np.ndarray | None, n_jobs: Any) -> np.ndarray:
        """Raw predictions: see StageMember."""
        most = np.finfo(np.float64).max
        with np.errstate(over="ignore"):
            return np.clip(self.trees.raw(codes, n_jobs) * self.unit, -most, most)
