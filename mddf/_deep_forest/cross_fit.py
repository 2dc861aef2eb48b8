"""The members of a deep forest's layer, each on the folds."""

from __future__ import annotations

from dataclasses import dataclass
from time import perf_counter

import numpy as np

from mddf._cascade.trainer import MeanOfFolds, Trained, View
from mddf._deep_forest.external import fit_folds, mean_loss
from mddf._deep_forest.training import Training, parts_of
from mddf._members.members import MemberSpec
from mddf._trees.grower import Grown


@dataclass(frozen=True)
class OnFolds:
    """The members that were not pruned, with their predictions of the held-out rows.

    Attributes
    ----------
    members : list of MemberSpec
    vectors : ndarray of shape (n_members, n_samples, n_columns)
    models : list of list
        Of each member those of the folds, if they are kept; of a forest what grew there.
    seconds : ndarray of shape (n_members,)
    pruned : list of dict
        Rows of the leaderboard, of members that were pruned after one fold.
    strength : float, default=0.0
        With which losses of margins decided what a later layer drew.
    """

    members: list[MemberSpec]
    vectors: np.ndarray
    models: list[list]
    seconds: np.ndarray
    pruned: list[dict]
    strength: float = 0.0

    def to_store(self) -> tuple:
        """Names, arrays and plain models, for a checkpoint."""
        models = [
            [(of_fold.trees, of_fold.importances) for of_fold in of_folds]
            if member.is_forest
            else of_folds
            for member, of_folds in zip(self.members, self.models, strict=True)
        ]
        names = [member.name for member in self.members]
        return names, self.vectors, models, self.seconds, self.pruned, self.strength

    @classmethod
    def from_stored(
        cls,
        members: list[MemberSpec],
        training: Training,
        names,
        vectors,
        models,
        seconds,
        pruned,
        strength,
    ) -> OnFolds:
        """What `to_store` gave, of some of these members."""
        by_name = {member.name: member for member in members}
        found = [by_name[name] for name in names]
        shape = len(found), len(training.order), training.task.n_columns
        if vectors.shape != shape or seconds.shape != shape[:1]:
            raise ValueError(f"its vectors must have shape {shape}")
        models = [
            [Grown(trees, importances=importances) for trees, importances in of_folds]
            if member.is_forest
            else of_folds
            for member, of_folds in zip(found, models, strict=True)
        ]
        return cls(found, vectors, models, seconds, pruned, strength)


def leaderboard_row(number: int, member: MemberSpec, figures: dict, seconds) -> dict:
    """A row of the leaderboard, of a member that has no weight yet."""
    unknown = {"weight": 0.0, "seconds": float(seconds), "bytes": 0}
    return {"layer": number + 1, "member": member.name} | figures | unknown


def fit_on_folds(
    members: list[MemberSpec], training: Training, entropy: tuple[int, ...], *, keep: bool
) -> OnFolds:
    """Fit the members of the first layer on all folds.

    Parameters
    ----------
    members : list of MemberSpec
    training : Training
    entropy : tuple of int
    keep : bool
        Whether the models of folds are those that predict; boosting's are kept in any case.
    """
    task, parts = training.task, parts_of(training.folds, keep)
    folding = MeanOfFolds.of(task, training.folds)
    places = [i for i, member in enumerate(members) if member.is_forest]
    forests = {number: members[i] for number, i in enumerate(places)}
    start = perf_counter()
    view = View(training.raw_columns)
    grown = training.train_forests(
        forests, view, parts, (*entropy, 0, 0), "layer 1", folding, importances=True
    )
    found = {i: grown[number] for number, i in enumerate(places)}
    seconds = {i: (perf_counter() - start) / len(places) for i in places}
    first = parts[0].held_out
    losses = (mean_loss(task, trained.vectors[first], first) for trained in found.values())
    best, pruned = min(losses, default=np.inf), []
    for i, member in enumerate(members):
        if member.is_forest:
            continue
        start = perf_counter()
        fitted = fit_folds(member, training, (*entropy, 5, i), best)
        seconds[i] = perf_counter() - start
        if not fitted:
            figures = dict.fromkeys(task.figures(found[places[0]].vectors), np.nan)
            pruned.append(leaderboard_row(0, member, figures, seconds[i]))
            continue
        models = [model for model, _ in fitted] if keep or member.is_boosted else []
        found[i] = Trained(models, training.join(fitted, parts, folding))
    kept = sorted(found)
    return OnFolds(
        [members[i] for i in kept],
        np.stack([found[i].vectors for i in kept]),
        [found[i].models for i in kept],
        np.array([seconds[i] for i in kept]),
        pruned,
    )
