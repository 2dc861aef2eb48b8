"""The first layer of a deep forest: all members on the folds, and those that are pruned."""

from __future__ import annotations

from collections.abc import Sequence
from time import perf_counter
from typing import Any

import numpy as np

from mddf._cascade.trainer import MeanOfFolds, Trained, View
from mddf._deep_forest.training import OnFolds, Training, leaderboard_row, parts_of
from mddf._members.kernel import KernelRidge
from mddf._members.spec import MemberSpec

# A member is pruned if its loss on the first fold exceeds that of the best forest by this factor.
_PRUNING_FACTOR = 1.5
_MIN_PRUNING_ROWS = 100


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
    of_first = task.of_rows(first)
    losses = (_mean_loss(of_first, trained.vectors[first]) for trained in found.values())
    best, pruned = min(losses, default=np.inf), []
    for i, member in enumerate(members):
        if member.is_forest:
            continue
        start = perf_counter()
        fitted = _fit_folds(member, training, (*entropy, 5, i), best)
        seconds[i] = perf_counter() - start
        if not fitted:
            figures = dict.fromkeys(task.figures(found[places[0]].vectors), np.nan)
            pruned.append(leaderboard_row(0, member.name, figures, seconds[i]))
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


def _mean_loss(task: Any, forecasts: np.ndarray) -> float:
    """Of forecasts that are made as sharp as is best."""
    return float(np.average(task.least_losses(forecasts), weights=task.weight))


def _fit_folds(
    member: MemberSpec, training: Training, entropy: Sequence[int], best: float
) -> list[Any]:
    """A member's models of all folds and their held-out predictions; empty if it is pruned.

    Parameters
    ----------
    member : MemberSpec
    training : Training
    entropy : sequence of int
        Of the random states.
    best : float
        The least loss of a forest on the first fold.

    Returns
    -------
    list of (estimator, ndarray of shape (n_held_out, n_columns))
    """
    folds, model = parts_of(training.folds), member.model
    if member.is_boosted:
        return training.boost(member, folds, entropy)
    fitted = training.fit(model, folds[:1], entropy, member.name)
    held_out = folds[0].held_out
    loss = _mean_loss(training.task.of_rows(held_out), fitted[0][1])
    if len(held_out) >= _MIN_PRUNING_ROWS and loss > _PRUNING_FACTOR * best:
        return []
    if isinstance(fitted[0][0], KernelRidge):
        model.set_params(**fitted[0][0].chosen())
    return fitted + training.fit(model, folds[1:], (*entropy, 1), member.name)
