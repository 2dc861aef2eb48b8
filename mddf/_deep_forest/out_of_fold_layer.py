"""Members of a deep forest's layer with their out-of-fold vectors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mddf._deep_forest.fold_trainer import FoldTrainer
from mddf._members.spec import MemberSpec
from mddf._trees.grower import GrowthResult


@dataclass(frozen=True)
class OutOfFoldLayer:
    """Members that were trained on all folds, with their predictions of the held-out rows."""

    members: list[MemberSpec]
    vectors: np.ndarray  # (n_members, n_samples, n_columns)
    # For each member, the models of the folds, if they are kept; growth results of forests
    models: list[Any]
    seconds: np.ndarray  # (n_members,)
    # Rows of the leaderboard of members that were left out after the first fold
    pruned: list[dict[str, Any]]
    # Strength with which losses of margins reweighted the samples of a later layer
    strength: float = 0.0
    # Importances of the forests among the members that were left out
    pruned_importances: tuple[np.ndarray, ...] = ()

    def to_store(self) -> tuple[Any, ...]:
        """Return names, chosen parameters, arrays and plain models, for a checkpoint."""
        models = [
            [(result.trees, result.importances) for result in models_of_folds]
            if member.is_forest
            else models_of_folds
            for member, models_of_folds in zip(self.members, self.models, strict=True)
        ]
        names = [(member.name, member.chosen) for member in self.members]
        return (
            names,
            self.vectors,
            models,
            self.seconds,
            self.pruned,
            self.strength,
            list(self.pruned_importances),
        )

    @classmethod
    def from_stored(
        cls,
        members: list[MemberSpec],
        trainer: FoldTrainer,
        parts: Sequence[Any],
    ) -> OutOfFoldLayer:
        """Restore a layer of some of these members from the parts of `to_store`."""
        names, vectors, models, seconds, pruned, strength, pruned_importances = parts
        by_name = {member.name: member for member in members}
        kept_members = [by_name[name].with_chosen(chosen) for name, chosen in names]
        shape = len(kept_members), trainer.n_samples, trainer.task.n_columns
        if vectors.shape != shape or seconds.shape != shape[:1]:
            raise ValueError(f"its vectors must have shape {shape}")
        models = [
            [GrowthResult(trees, importances=importances) for trees, importances in of_folds]
            if member.is_forest
            else of_folds
            for member, of_folds in zip(kept_members, models, strict=True)
        ]
        return cls(
            kept_members,
            vectors,
            models,
            seconds,
            pruned,
            strength=strength,
            pruned_importances=tuple(pruned_importances),
        )
