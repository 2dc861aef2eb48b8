"""The state of a forest while it grows: its training rows, and the trees it has so far."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import numpy as np

from mddf._binning.binned_table import BinnedTable
from mddf._binning.binner import Binner
from mddf._core import Sampling
from mddf._forest.out_of_bag import DrawFingerprints, OutOfBagSums
from mddf._targets.class_outputs import ClassOutputs
from mddf._targets.kernel_targets import Classes, Values
from mddf._trees.arrays import TreeBlock

# Targets of classifiers, of classifiers with several outputs, and of regressors.
Target = Classes | ClassOutputs | Values
TargetT = TypeVar("TargetT", bound=Target)


@dataclass(frozen=True)
class TrainingRows(Generic[TargetT]):
    """Rows that a forest is fitted on.

    Attributes
    ----------
    table : BinnedTable
    target : Classes, ClassOutputs or Values
    sample_weight : ndarray of shape (n_samples,) or None
    groups : ndarray of int of shape (n_samples,) or None
        Numbers of the groups that bootstraps draw as a whole.
    """

    table: BinnedTable
    target: TargetT
    sample_weight: np.ndarray | None
    groups: np.ndarray | None


@dataclass(frozen=True)
class DrawnTrees:
    """Rows that the trees of one fit drew.

    Attributes
    ----------
    sampling : Sampling or None
        None without a bootstrap: every tree is grown on all rows.
    n_rows : int
        Number of training rows.
    n_trees : int
    """

    sampling: Sampling | None
    n_rows: int
    n_trees: int


@dataclass
class ForestState:
    """Trees that have been grown so far, and all that growing more of them needs.

    Attributes
    ----------
    binner : Binner
    entropy : list of int
        Entropy of the trees' seeds.
    trees : list of TreeBlock
        A block for each call of the kernel.
    importances : ndarray of shape (n_features,)
        Sum of the trees' importances.
    out_of_bag : OutOfBagSums or None
        None if the trees grew without out-of-bag sums.
    fingerprints : DrawFingerprints or None
        Of the rows and draws of all trees; None unless all fits had the same.
    draws : list of DrawnTrees or None
        An entry for each fit. None if the forest comes from a file, which does not store them.
    """

    binner: Binner
    entropy: list[int]
    trees: list[TreeBlock]
    importances: np.ndarray
    out_of_bag: OutOfBagSums | None = None
    fingerprints: DrawFingerprints | None = None
    draws: list[DrawnTrees] | None = None

    @property
    def n_trees(self) -> int:
        """Number of trees."""
        return sum(block.n_trees for block in self.trees)

    @classmethod
    def from_attributes(cls, forest: Any) -> ForestState:
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

    def attributes(self) -> dict[str, Any]:
        """Return the attributes that store this state: plain data, which files hold."""
        return {
            "_binner": self.binner,
            "_entropy": self.entropy,
            "_trees": self.trees,
            "_importances": self.importances,
            "_oob": None if self.out_of_bag is None else self.out_of_bag.as_tuple(),
            "_drawn": None if self.fingerprints is None else self.fingerprints.as_tuple(),
            "_drawn_from": self.draws,
        }
