"""Growth of a deep forest: which layers it tries, and which of them it keeps."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from time import perf_counter

import numpy as np

from mddf._base.parallel import TimeIsUp
from mddf._base.progress import tell_work
from mddf._layers.checkpoints import Checkpoint
from mddf._layers.cross_fitting import CrossFitting
from mddf._layers.first_layer import train_first_layer
from mddf._layers.later_layers import try_later_layer
from mddf._layers.member import Member, members_of_later_layers
from mddf._layers.member_options import (
    BoostingChoice,
    choose_boosting_options,
    choose_forest_options,
    leaf_wise_choice,
)
from mddf._layers.nested_folds import NestedInputs
from mddf._layers.report import Candidate, FitReport, Leaderboard
from mddf._layers.seeds import Purpose
from mddf._layers.stack import Average, Layer, Stack
from mddf._layers.time_limit import fit_into_time
from mddf._layers.trainer import Trainer

# Time to weight the members, for each number that a member forecasts. It is kept back from the
# first layer. Measured once on one core.
_SECONDS_PER_FORECAST = 3e-6
# Share of the remaining time for the comparison of the options of one kind of forest. Not tuned.
_TIME_OF_OPTIONS = 0.1
# A later layer is tried if three times the seconds of the first layer fit into this share of the
# remaining time: its nested folds fit the first layer again several times, with fewer members.
# Not tuned.
_LATER_FACTOR = 3.0
_LATER_SHARE = 0.7


def grow_deep_forest(
    trainer: Trainer,
    members: list[Member],  # of the first layer; options of named ones are chosen here
    *,
    n_layers: int,
    depths: tuple[int, ...],  # depths of the named boosted trees that are compared
    keep_fold_models: bool,  # whether they predict, not models of all samples
    checkpoint: Checkpoint,
    verbose: bool = False,
) -> Stack:
    """Grow the layers of a deep forest.

    All members of the first layer are trained, on one fold or on all. A later layer has the best
    forests of the first one, and is kept if it lowers the loss by more than the error of the gain.
    """
    report = FitReport(verbose)
    stack = Stack(trainer, report, Leaderboard(verbose))
    figures = CrossFitting(trainer)
    _report_time_order(trainer, report)

    # 1. Reduce the members to the limit of time, and choose options of the named ones.
    boosting_choices: dict[int, BoostingChoice] = {}
    with _time_for_weights(trainer):
        tell_work("options", 0.0)
        members, allows_trials = fit_into_time(members, trainer, report)
        stack.forest_options = _choose_forest_options(
            members, trainer, report, allows_trials=allows_trials
        )
        if allows_trials:
            boosting_choices = _choose_boosting_options(members, depths, trainer, report)

    # 2. Train the first layer, and weight its members.
    start = perf_counter()
    with _time_for_weights(trainer):
        state = checkpoint.load(0)
        if state is not None:
            layer = Layer.from_state(state, members)
        else:
            layer = train_first_layer(
                members, trainer, report, boosting_choices, keep_fold_models=keep_fold_models
            )
            checkpoint.save(0, layer.state())
        seconds_of_first_layer = perf_counter() - start
        layer.vote(trainer.task)
        average = stack.average_with(layer)
        figures.add_first_layer(layer)
        forecast = figures.forecast(layer.figure_vectors, average)
        _report_weights(trainer, report, layer, average)
        stack.add(layer, average, forecast, elapsed=perf_counter() - start)

    # 3. Try later layers, as long as they help.
    nested = NestedInputs(stack)
    for number in range(1, n_layers):
        stack.stop_reason = _reason_to_stop(stack, nested, members, seconds_of_first_layer)
        if stack.stop_reason:
            return stack
        try:
            with trainer.clock.cut(_LATER_SHARE, whole=True):
                stack.stop_reason = try_later_layer(
                    stack, nested, figures, checkpoint, keep_fold_models=keep_fold_models
                )
        except TimeIsUp:
            report.add_cut(f"layer {number + 1}", "not kept", n_rows=trainer.n_samples)
            stack.stop_reason = f"time_limit ended the trial of layer {number + 1}"
        if stack.stop_reason:
            return stack
    stack.stop_reason = f"n_layers={n_layers} were grown"
    return stack


def _report_time_order(trainer: Trainer, report: FitReport) -> None:
    """Report the number of rows without a past prediction."""
    if trainer.without_past is None:
        return
    n_without = len(trainer.without_past)
    candidate = Candidate("time order", decision=f"{n_without} rows have no past prediction")
    n_rows = trainer.n_samples - n_without
    report.add("folds", [candidate], n_rows=n_rows, n_folds=len(trainer.folds))


def _time_for_weights(trainer: Trainer) -> AbstractContextManager[None]:
    """Context that keeps back the time in which members are weighted."""
    n_numbers = trainer.n_samples * trainer.task.n_columns
    return trainer.clock.kept_back(_SECONDS_PER_FORECAST * n_numbers)


def _choose_forest_options(
    members: Sequence[Member], trainer: Trainer, report: FitReport, *, allows_trials: bool
) -> dict[str, dict[str, int]]:
    """Choose and set options for each kind of named forests."""
    forest_options = {}
    for role, options in trainer.task.forest_options.items():
        forests = [member for member in members if member.role == role]
        if not forests:
            continue
        trials = options if allows_trials else options[:1]
        try:
            with trainer.clock.cut(_TIME_OF_OPTIONS, whole=True):
                chosen = choose_forest_options(forests[0], trials, trainer, report)
        except TimeIsUp:
            chosen = trials[0]
            name = forests[0].name
            report.add_cut("options", "not all tried", n_rows=trainer.n_samples, member=name)
        forest_options[role] = chosen
        for forest in forests:
            forest.model.set_params(**chosen)
    return forest_options


def _choose_boosting_options(
    members: Sequence[Member], depths: Sequence[int], trainer: Trainer, report: FitReport
) -> dict[int, BoostingChoice]:
    """Choose and set options of named boosted trees; by the members' numbers."""
    choices: dict[int, BoostingChoice] = {}
    for number, member in enumerate(members):
        entropy = trainer.seeds.entropy_for(Purpose.BOOSTING_OPTIONS, number)
        if member.role == "boosted":
            choices[number] = choose_boosting_options(member, depths, trainer, entropy, report)
            member.model.set_params(**choices[number].options)
        elif member.role == "boosted-leaf-wise":
            leaf_wise = leaf_wise_choice(member, trainer, entropy)
            if leaf_wise is not None:
                choices[number] = leaf_wise
    return choices


def _reason_to_stop(
    stack: Stack, nested: NestedInputs, members: list[Member], seconds_of_first_layer: float
) -> str:
    """Why no later layer is tried; empty if one is."""
    if not members_of_later_layers(members):
        return "later layers are of forests, and no member is one"
    if not stack.has_weighted_forest():
        return f"no forest of layer {len(stack.layers)} has a weight above 0"
    if not stack.trainer.clock.allows(_LATER_FACTOR * seconds_of_first_layer, _LATER_SHARE):
        return "time_limit has no time for a later layer"
    return nested.reason_not_to_nest()


def _report_weights(trainer: Trainer, report: FitReport, layer: Layer, average: Average) -> None:
    """Report losses and weights of the first layer's members."""
    task = trainer.task
    candidates = [
        Candidate(
            evidence.member.name,
            float(np.average(task.calibrated_losses(evidence.vectors), weights=task.weight)),
            f"weight {weight:.2f}",
        )
        for evidence, weight in zip(layer.evidence, average.weights.tolist(), strict=True)
    ]
    n_rows = len(trainer.evaluated_rows)
    report.add("layer 1", candidates, n_rows=n_rows, n_folds=len(trainer.folds))
