"""The state of a forest while it grows: its training rows, and the trees it has so far."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import numpy as np

from mddf._binning.binned_table import BinnedTable
from mddf._binning.binner import Binner
from mddf._core import Sampling
from mddf._forest.out_of_bag import DrawFingerprints, OutOfBagSums
from mddf._targets.class_outputs import ClassOutputs
from mddf._targets.kernel_targets import Classes, Values
from mddf._trees.arrays import TreeBlock

if TYPE_CHECKING:
    from mddf._forest.base import Forest

# Targets of classifiers, of classifiers with several outputs, and of regressors.
Target = Classes | ClassOutputs | Values
TargetT = TypeVar("TargetT", bound=Target)


@dataclass(frozen=True)
class TrainingRows(Generic[TargetT]):
    """Rows that a forest is fitted on."""

    table: BinnedTable
    target: TargetT
    sample_weight: np.ndarray | None
    groups: np.ndarray | None  # numbers of the groups that bootstraps draw as a whole


@dataclass(frozen=True)
class DrawnTrees:
    """Rows that the trees of one fit drew."""

    sampling: Sampling | None  # None without a bootstrap: every tree is grown on all rows
    n_rows: int  # number of training rows
    n_trees: int


@dataclass
class ForestState:
    """Trees that have been grown so far, and all that growing more of them needs."""

    binner: Binner
    entropy: list[int]  # of the trees' seeds
    trees: list[TreeBlock]  # one block for each call of the kernel
    importances: np.ndarray  # sum of the trees' importances: (n_features,)
    out_of_bag: OutOfBagSums | None = None  # None if trees grew without it
    # None unless all fits had the same rows and draws.
    fingerprints: DrawFingerprints | None = None
    # One entry for each fit. None if the forest comes from a file, which does not store them.
    draws: list[DrawnTrees] | None = None

    @property
    def n_trees(self) -> int:
        """Number of trees."""
        return sum(block.n_trees for block in self.trees)

    @classmethod
    def from_attributes(cls, forest: Forest[Any]) -> ForestState:
        """Read the state from the attributes of a fitted forest."""
        return cls(
            binner=forest._binner,
            entropy=forest._entropy,
            trees=forest._trees,
            importances=forest._importances,
            out_of_bag=None if forest._oob is None else OutOfBagSums(*forest._oob),
            fingerprints=None if forest._drawn is None else DrawFingerprints(*forest._drawn),
            draws=forest._drawn_from,
        )

    def attributes(self) -> dict[str, object]:
        """Return the attributes that store this state: plain data, which files hold."""
        return {
            "_binner": self.binner,
            "_entropy": self.entropy,
            "_trees": self.trees,
            "_importances": self.importances,
            "_oob": None if self.out_of_bag is None else tuple(self.out_of_bag),
            "_drawn": None if self.fingerprints is None else tuple(self.fingerprints),
            "_drawn_from": self.draws,
        }
