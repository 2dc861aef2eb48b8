"""The members of a deep forest's layer, each on the folds."""

from __future__ import annotations

from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy as np

from mddf._deep_forest.external import fit_folds, mean_loss
from mddf._ensemble.stages import rounded
from mddf._members.members import MemberSpec, Training, grow_forests
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
    members: list[MemberSpec], training: Training, n_raw: int, entropy, *, keep: bool, **options
) -> OnFolds:
    """Fit the members of the first layer on all folds.

    Parameters
    ----------
    members : list of MemberSpec
    training : Training
    n_raw : int
        Columns of the table that hold the features.
    entropy : sequence of int
    keep : bool
        Whether the models of folds are those that predict; boosting's are kept in any case.
    **options
        `n_jobs` and `verbose`.
    """
    task: Any = training.task
    vectors = np.zeros((len(members), len(training.order), task.n_columns))
    models: list = [None] * len(members)
    seconds = np.zeros(len(members))
    pruned: list[dict] = []
    times = np.zeros(len(training.order))
    for _, held_out in training.folds:
        times[held_out] += 1
    forests = [i for i, member in enumerate(members) if member.is_forest]
    start = perf_counter()
    grown = grow_forests(
        [members[i] for i in forests],
        training,
        np.arange(n_raw, dtype=np.int32),
        None,
        (*entropy, 0, 0),
        parts=training.folds,
        keep=keep,
        importances=True,
        description="layer 1",
        **options,
    )
    for i, of_folds in zip(forests, grown, strict=True):
        for (_, held_out), of_fold in zip(training.folds, of_folds, strict=True):
            vectors[i][held_out] += rounded(task.means(of_fold.sums, of_fold.n_trees))
        models[i] = of_folds
        seconds[i] = (perf_counter() - start) / len(forests)
    first = training.folds[0][1]
    often = times[first, None]
    best = min(
        (mean_loss(task, v[first] / often, first) for v in vectors[forests]), default=np.inf
    )
    kept = list(forests)
    for i, member in enumerate(members):
        if member.is_forest:
            continue
        start = perf_counter()
        fitted = fit_folds(member, training, (*entropy, 5, i), best, options["n_jobs"])
        if not fitted:
            figures = dict.fromkeys(task.figures(vectors[forests[0]]), np.nan)
            pruned.append(leaderboard_row(0, member, figures, perf_counter() - start))
            continue
        kept.append(i)
        for (_, held_out), (_, of_fold) in zip(training.folds, fitted, strict=True):
            vectors[i][held_out] += of_fold
        models[i] = [model for model, _ in fitted] if keep or member.is_boosted else []
        seconds[i] = perf_counter() - start
    kept.sort()
    return OnFolds(
        [members[i] for i in kept],
        vectors[kept] / times[:, None],
        [models[i] for i in kept],
        seconds[kept],
        pruned,
    )
