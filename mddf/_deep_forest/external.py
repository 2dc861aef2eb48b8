"""Members of deep forests that are not forests of this package, on the folds of a layer."""

from __future__ import annotations

import numpy as np
from sklearn.base import clone

from mddf._deep_forest.training import Training, parts_of
from mddf._members.boosting import best_round
from mddf._members.external_fit import external_vectors
from mddf._members.members import MemberSpec

# A member is pruned if its loss on the first fold exceeds that of the best forest by this factor.
_PRUNING_FACTOR = 1.5
_MIN_PRUNING_ROWS = 100


def mean_loss(task, forecasts: np.ndarray, rows: np.ndarray) -> float:
    """Of the forecasts of some rows, made as sharp as is best."""
    weight = None if task.weight is None else task.weight[rows]
    if weight is not None and not weight.any():
        weight = None
    return float(np.average(task.least_losses(forecasts, rows, weight), weights=weight))


def fit_folds(member: MemberSpec, training: Training, entropy, best: float) -> list:
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
    fitted = predicted = training.fit(model, folds[:1], entropy, member.name)
    if member.is_boosted:
        n_rounds, predicted = _cut(fitted, training, model.max_iter)
        model = clone(model).set_params(max_iter=min(model.max_iter, 10 + 2 * n_rounds))
    held_out = folds[0].held_out
    loss = mean_loss(training.task, predicted[0][1], held_out)
    if len(held_out) >= _MIN_PRUNING_ROWS and loss > _PRUNING_FACTOR * best:
        return []
    fitted = fitted + training.fit(model, folds[1:], (*entropy, 1), member.name)
    return _cut(fitted, training, model.max_iter)[1] if member.is_boosted else fitted


def _cut(fitted, training: Training, most: int) -> tuple[int, list]:
    """How many rounds of boosting are best, and the models with as many."""
    assert training.numbers is not None
    models, folds = [model for model, _ in fitted], training.folds[: len(fitted)]
    n_rounds = best_round(
        models, training.numbers, training.task.target, folds, most, training.weights.row
    )
    models = [model.cut(n_rounds) for model in models]
    return n_rounds, [
        (model, external_vectors(model, training.numbers[held_out], training.task.n_columns))
        for model, (_, held_out) in zip(models, folds, strict=True)
    ]
