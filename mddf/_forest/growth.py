"""The state of a forest while it grows: its training rows, and the trees it has so far."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Generic, TypeVar

import numpy as np

from mddf import _core
from mddf._binning.binned_table import BinnedTable
from mddf._core import Sampling
from mddf._forest.out_of_bag import OutOfBagSums
from mddf._targets.class_outputs import ClassOutputs
from mddf._targets.kernel_targets import Classes, Values
from mddf._trees.arrays import TreeBlock

# Targets of classifiers, of classifiers with several outputs, and of regressors.
ForestTarget = Classes | ClassOutputs | Values
TargetT = TypeVar("TargetT", bound=ForestTarget)


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

    def counts(self, seeds: Iterable[int]) -> Iterator[np.ndarray]:
        """For the tree of each seed, yield the number of times that it drew each row."""
        for seed in seeds:
            if self.sampling is None:
                yield np.ones(self.n_rows, np.uint32)
            else:
                yield _core.sample_counts(self.sampling, self.n_rows, seed)


@dataclass
class ForestState:
    """Trees that have been grown so far, and the state that further trees need."""

    entropy: list[int]  # of the trees' seeds
    trees: list[TreeBlock]  # one block for each call of the kernel
    importances: np.ndarray  # sum of the trees' importances: (n_features,)
    out_of_bag: OutOfBagSums | None = None  # None if trees grew without it
    # One entry for each fit. None if the forest comes from a file, which does not store them.
    draws: list[DrawnTrees] | None = None

    @property
    def n_trees(self) -> int:
        return sum(block.n_trees for block in self.trees)
