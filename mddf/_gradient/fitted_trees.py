"""Boosted trees as a stage of a fitted model, for explanations, exports and costs."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from mddf._base.serialization import register_serializable
from mddf._binning.bins import Bins, join_bins
from mddf._binning.encoded_rows import EncodedRows
from mddf._fitted.fitted_model import FittedMember
from mddf._gradient.losses import TargetKind
from mddf._gradient.target_statistics import TargetStatistics, with_statistics
from mddf._gradient.trees import BoostedTrees

# Number of leaves of the trees that explanations handle together. It bounds their memory. Not
# tuned.
_LEAVES_TOGETHER = 2**18


@register_serializable("fitted boosting")
@dataclass(frozen=True)
class FittedBoosting(FittedMember):
    """Trees whose leaves add up to raw predictions; `models` has the trees as its only entry."""

    target: TargetKind = field(kw_only=True)
    statistics: TargetStatistics | None = None  # further columns that the trees split

    @classmethod
    def from_trees(
        cls, trees: BoostedTrees, target: TargetKind, statistics: TargetStatistics | None
    ) -> FittedBoosting:
        return cls([trees], trees.n_scores, is_rounded=False, target=target, statistics=statistics)

    @property
    def trees(self) -> BoostedTrees:
        trees: BoostedTrees = self.models[0]
        return trees

    @property
    def unit(self) -> float | np.ndarray:
        return self.target.unit

    @property
    def parts(self) -> list[BoostedTrees]:
        part = self.trees.arrays["first_leaf"][:-1] // _LEAVES_TOGETHER
        starts = np.flatnonzero(np.diff(part, prepend=-1)).tolist() or [0]
        return [
            self.trees.between(first, last)
            for first, last in zip(starts, [*starts[1:], self.trees.n_trees], strict=True)
        ]

    @property
    def per_mean(self) -> float | np.ndarray:
        return self.trees.n_trees * self.unit

    @property
    def offset(self) -> np.ndarray:
        return self.trees.start * self.unit

    @property
    def has_linear_leaves(self) -> bool:
        return self.trees.has_linear_leaves

    @property
    def has_leaf_weights(self) -> bool:
        return True

    @property
    def reads_levels(self) -> bool:
        return self.statistics is not None

    def tree_codes(self, rows: EncodedRows) -> np.ndarray:
        return with_statistics(rows, self.statistics)

    def tree_bins(self, bins: Bins) -> Bins:
        return bins if self.statistics is None else join_bins(bins, self.statistics.bins)

    def players(self, n_columns: int) -> np.ndarray | None:
        return None if self.statistics is None else self.statistics.players(n_columns)

    def feature_amounts(self, amounts: np.ndarray, n_features: int) -> np.ndarray:
        """Sum amounts of columns by feature; a pair of features shares its amount equally."""
        if self.statistics is None:
            return amounts
        return np.swapaxes(self.statistics.shared(np.swapaxes(amounts, 0, 1)), 0, 1)

    def prefers_numbers(self, numbers: np.ndarray, used: np.ndarray) -> bool:
        return False

    def vectors(self, rows: EncodedRows, n_jobs: int | None) -> np.ndarray:
        """Raw predictions with offsets; values that overflow become the largest double."""
        raw = self.trees.raw(self.tree_codes(rows), n_jobs)
        if rows.offset is not None:
            raw += rows.offset
        unit = self.unit
        if isinstance(unit, float) and unit == 1.0:
            return raw
        most = np.finfo(np.float64).max
        with np.errstate(over="ignore"):
            return np.clip(raw * unit, -most, most)
