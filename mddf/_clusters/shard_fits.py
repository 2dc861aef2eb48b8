"""Fits of the models that can be trained on divided rows, as tasks of workers call them."""

from __future__ import annotations

import hashlib
from typing import Any, Protocol

from mddf._base.communication import Communicator
from mddf._forest.shards import fit_forest_shard
from mddf._gradient.shards import RowsOfUser, fit_shard


class ShardFit(Protocol):
    """A kind of model that is fitted to divided rows."""

    def fit(
        self,
        model: Any,
        training: RowsOfUser,
        validation: RowsOfUser | None,
        *,
        has_validation_set: bool,
        communicator: Communicator,
        entropy: list[int],
    ) -> None:
        """Fit a model to the rows of all shards, of which this process has one."""

    def digest(self, model: Any) -> str:
        """Hash what all workers have computed, and must have in common."""


class BoostingFit:
    """Boosted trees, which every worker grows."""

    def fit(
        self,
        model: Any,
        training: RowsOfUser,
        validation: RowsOfUser | None,
        *,
        has_validation_set: bool,
        communicator: Communicator,
        entropy: list[int],
    ) -> None:
        """Fit a model to the rows of all shards."""
        fit_shard(
            model,
            training,
            validation,
            has_validation_set=has_validation_set,
            communicator=communicator,
            entropy=entropy,
        )

    def digest(self, model: Any) -> str:
        """Hash the trees and the bins."""
        arrays: dict[str, Any] = model._trees.arrays
        tree_arrays = [arrays[name] for name in sorted(arrays)]
        return _hash([*tree_arrays, model._trees.start, *_bins(model)])


class ForestFit:
    """Forests, whose trees are grown by different workers and collected by the first one."""

    def fit(
        self,
        model: Any,
        training: RowsOfUser,
        validation: RowsOfUser | None,
        *,
        has_validation_set: bool,
        communicator: Communicator,
        entropy: list[int],
    ) -> None:
        """Fit a forest to the rows of all shards; there is no validation set."""
        fit_forest_shard(
            model,
            training.X,
            training.y,
            training.sample_weight,
            communicator=communicator,
            entropy=entropy,
        )

    def digest(self, model: Any) -> str:
        """Hash the bins."""
        return _hash(_bins(model))


def _bins(model: Any) -> list[Any]:
    return [model._binner.bins_.edges, model._binner.bins_.values]


def _hash(arrays: list[Any]) -> str:
    digest = hashlib.sha256()
    for array in arrays:
        digest.update(array.tobytes())
    return digest.hexdigest()
