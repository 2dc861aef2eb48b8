"""What a deep forest tries with a few trees before it grows many."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from operator import attrgetter
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone

from mddf._base.deadline import TimeIsUp
from mddf._deep_forest.fit_report import FitLog
from mddf._deep_forest.fold_trainer import MU, TARGET_MARGIN, Training, parts_of
from mddf._ensemble.coefficients import MarginHistory, Reweighting
from mddf._members.screening import is_wide
from mddf._members.spec import MemberSpec
from mddf._targets.weights import mean_error, n_counted
from mddf._training.layer_trainer import LayerInput, Split
from mddf._trees import grower

_STRENGTHS = (0.0, 0.25, 1.0)
_TREES = 40
_TREES_OF_A_FOLD = 15  # about as many as do not draw a sample
_FEWEST_ROWS = 50
# Depths of boosted trees race on so many folds, in fewer and faster rounds; without a race it is
# the one in the middle. Deep trees are regularised less.
_MIDDLE, _DEEP = 4, 6
_HALF = {"max_features": 0.5}
_DEPTH_FOLDS, _FAST = 2, {"learning_rate": 0.15}
_MOST_ROUNDS, _FEWEST_ROUNDS = 200, 50
# Of the time that is left, for each trial.
_SHARE = 0.05
# Of these rounds, the best one comes before this share if more would not be better.
_SETTLED = 0.9


def _trial_losses(forest: Any, training: Training, entropy: Sequence[int]) -> np.ndarray:
    """Losses of all samples, by trees of a forest that did not see them, as sharp as is best.

    Trees of all samples that did not draw one; trees of the folds, where a sample's group must
    not have been drawn either.
    """
    task, row = training.task, training.weights.row
    if training.out_of_bag:
        order = training.order
        judged = [order if row is None else order[row[order] > 0]]
        parts = [Split(training.everything, grower.OUT_OF_BAG, False)]
        changes: dict[str, Any] = {
            "bootstrap": True,
            "n_estimators": min(_TREES, forest.n_estimators),
        }
    else:
        judged, parts = [rows for _, rows in training.folds], parts_of(training.folds)
        changes = {"n_estimators": min(_TREES_OF_A_FOLD, forest.n_estimators)}
    trial = MemberSpec("trial", clone(forest).set_params(**changes), "trial")
    view = LayerInput(training.raw_columns)
    (grown,) = training.grow_all([trial], view, parts, (*entropy,), "trials")
    assert grown[0].sums is not None
    sums = np.zeros((len(training.order), grown[0].sums.shape[1]))
    n_trees = np.zeros(len(sums))
    for rows, of_part in zip(judged, grown, strict=True):
        sums[rows] += of_part.sums
        n_trees[rows] += of_part.n_trees
    forecasts = np.full((len(sums), task.n_columns), task.ignorance)
    seen = n_trees > 0
    forecasts[seen] = task.means(sums[seen], n_trees[seen])
    return task.least_losses(forecasts)


def _choose(losses: list[np.ndarray], weight: np.ndarray | None) -> int:
    """The least mean loss, if it is better than the first one by more than its error."""
    best = int(np.argmin([np.average(of_one, weights=weight) for of_one in losses]))
    gains = losses[0] - losses[best]
    error = mean_error(gains, weight, n_counted(len(gains), weight))
    return best if np.average(gains, weights=weight) > error else 0


def choose_options(
    member: MemberSpec,
    trials: list[dict[str, Any]],
    training: Training,
    entropy: Sequence[int],
    log: FitLog,
) -> dict[str, Any]:
    """The options of a forest that its losses on unseen samples favour.

    The first ones if there are few rows; others have to be better by more than one standard error.
    """
    if len(training.order) < _FEWEST_ROWS:
        return trials[0]
    weight = training.weights.row
    losses = [
        _trial_losses(clone(member.model).set_params(**trial), training, entropy)
        for trial in trials
    ]
    chosen = _choose(losses, weight)
    means = [float(np.average(of_one, weights=weight)) for of_one in losses]
    n_folds = 0 if training.out_of_bag else len(training.folds)
    log.note("options", member.name, _outcomes(trials, means, chosen), len(losses[0]), n_folds)
    return trials[chosen]


def _outcomes(
    candidates: Sequence[dict[str, Any]], losses: Sequence[float], chosen: int
) -> list[tuple[str, float, str]]:
    """As the log has them."""
    names = [", ".join(f"{k}={v}" for k, v in options.items()) for options in candidates]
    return [
        (name, loss, "chosen" if number == chosen else "")
        for number, (name, loss) in enumerate(zip(names, losses, strict=True))
    ]


def reweighting_factors(
    margins: np.ndarray, training: Training, strength: float, rows: np.ndarray | None = None
) -> np.ndarray | None:
    """Factors of the weights of some rows, or of all, by the losses of their margins.

    Returns
    -------
    ndarray of shape (n_samples,) or None
        1 for other rows; None where all count alike.
    """
    if not strength:
        return None
    rows, weight = training.everything if rows is None else rows, training.weights.row
    weight = None if weight is None else weight[rows]
    history = MarginHistory(margins[rows, None], np.empty(0), weight, training.order, ())
    factors = np.ones(len(margins))
    factors[rows] = Reweighting(TARGET_MARGIN, MU, strength)(history, np.ones(1))
    return factors


def choose_strength(
    members: list[MemberSpec],
    training: Training,
    rows: np.ndarray,
    look: Callable[[list[MemberSpec], float], np.ndarray],
    log: FitLog,
) -> float:
    """How strongly a layer draws samples by the losses of their margins.

    Parameters
    ----------
    members : list of MemberSpec
        Of the layer.
    training : Training
    rows : ndarray of int
        Of a fold.
    look : callable
        From members and a strength to their vectors of these rows.
    log : FitLog
    """
    forests = [member.model for member in members]
    forest = next((one for one in forests if not one._random_thresholds), forests[0])
    n_trees = min(_TREES_OF_A_FOLD, forest.n_estimators)
    trial = [MemberSpec("trial", clone(forest).set_params(n_estimators=n_trees), None)]
    task, losses = training.task.of_rows(rows), []
    for strength in _STRENGTHS:
        (vectors,) = look(trial, strength)
        losses.append(task.least_losses(vectors))
    chosen = _choose(losses, task.weight)
    means = [float(np.average(of_one, weights=task.weight)) for of_one in losses]
    candidates = [{"strength": strength} for strength in _STRENGTHS]
    log.note("reweighting", "", _outcomes(candidates, means, chosen), len(rows), 1)
    return _STRENGTHS[chosen]


def choose_boosting(
    member: MemberSpec,
    depths: Sequence[int],
    training: Training,
    entropy: tuple[int, ...],
    log: FitLog,
) -> tuple[dict[str, Any], np.ndarray | None, bool]:
    """The depth of boosted trees that wins on few folds with few, fast rounds, as parameters.

    Then, whether half of the features for each split are better than all. In wide tables, whose
    rows are too few to tell, the depth is the middle one, as where time does not suffice to try.

    Returns
    -------
    options : dict
    predicted : ndarray or None
        Of the rows that the first fold holds out.
    settled : bool
        Whether more rounds would not be better; unknown where time may have ended them.
    """
    if is_wide(len(training.order), training.n_raw):
        return _of_depth(_MIDDLE), None, False
    parts = parts_of(training.folds[:_DEPTH_FOLDS])
    task = training.task.of_rows(np.concatenate([part.held_out for part in parts]))
    given = (training, parts, task, entropy)
    try:
        trials = [_tried(member, _of_depth(depth), *given) for depth in depths]
        best = min(trials, key=attrgetter("loss"))
        trials.append(_tried(member, best.options | _HALF, *given))
    except TimeIsUp:
        log.cut("depths", "not all tried", len(training.order), member.name)
        return _of_depth(_MIDDLE), None, False
    best = min(trials, key=attrgetter("loss"))
    options, losses = [trial.options for trial in trials], [trial.loss for trial in trials]
    outcomes = _outcomes(options, losses, losses.index(best.loss))
    log.note("options", member.name, outcomes, len(task.target), len(parts))
    settled = best.n_rounds < _SETTLED * _n_rounds(task) and not training.clock.runs
    return best.options, best.of_first, settled


def _of_depth(depth: int) -> dict[str, Any]:
    """Parameters of boosting."""
    return {"max_depth": depth, "l2_regularization": 3.0 if depth >= _DEEP else 10.0}


def _n_rounds(task: Any) -> int:
    """Rounds of a trial."""
    return max(_FEWEST_ROUNDS, int(_MOST_ROUNDS / task.numbers_of_a_round))


class _Tried(NamedTuple):
    """Options of boosting with their loss, and what the model of the first fold predicts."""

    options: dict[str, Any]
    loss: float
    of_first: np.ndarray
    n_rounds: int


def _tried(
    member: MemberSpec,
    options: dict[str, Any],
    training: Training,
    parts: Sequence[Split],
    task: Any,
    entropy: tuple[int, ...],
) -> _Tried:
    model = clone(member.model).set_params(**_FAST, max_iter=_n_rounds(task), **options)
    fitted = training.boost(replace(member, model=model), parts, entropy, share=_SHARE, must=False)
    vectors = np.concatenate([of_fold for _, of_fold in fitted])
    loss = float(np.average(task.least_losses(vectors), weights=task.weight))
    return _Tried(options, loss, fitted[0][1], max(fitted[0][0].rounds, default=0))
