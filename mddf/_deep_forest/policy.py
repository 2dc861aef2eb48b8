"""Policy of the deep forest: which layers it tries, and which of them it keeps."""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy as np

from mddf._base.deadline import TimeIsUp
from mddf._base.progress import tell_work
from mddf._deep_forest.cross_fitting import cross_fitted, nested_vectors, parts_of_rows
from mddf._deep_forest.first_layer import FIRST_LAYER_SHARE, train_first_layer
from mddf._deep_forest.fit_report import Candidate, FitReport, Leaderboard
from mddf._deep_forest.later_layers import LaterLayers
from mddf._deep_forest.stack import Average, GrownLayer, OutOfFoldLayer, Stack
from mddf._deep_forest.time_budget import fit_into_time
from mddf._deep_forest.tuning import (
    BoostingChoice,
    choose_boosting_options,
    choose_forest_options,
    leaf_wise_choice,
    reweighting_factors,
)
from mddf._targets.weights import mean_error, n_counted
from mddf._training.fold_trainer import FoldTrainer
from mddf._training.layer_builder import LayerPolicy, Stop
from mddf._training.member import BoostedMember, Member, members_of_later_layers
from mddf._training.seeds import Purpose
from mddf._training.tasks import Task

# Time to weight the members, for each number that a member forecasts. It is kept back from the
# first layer. Measured once on one core.
_SECONDS_PER_FORECAST = 3e-6
# Share of the remaining time for the comparison of the options of one kind of forest. Not tuned.
_OPTIONS_SHARE = 0.1
# Members are refitted if that is expected to fit into this share of the remaining time. The rest
# is a margin for estimates that are too low. Not tuned.
_REFIT_SHARE = 0.7
# A later layer is tried if three times the seconds of the first layer fit into this share of the
# remaining time: its nested folds fit the first layer again several times, with fewer members.
# Not tuned.
_LATER_FACTOR = 3.0
_LATER_SHARE = 0.7


@dataclass(frozen=True)
class Evaluation:
    """A layer with the average of all layers that it would lead to."""

    layer: GrownLayer
    average: Average
    cross_fitted: np.ndarray  # forecast for figures, see `cross_fitting`


@dataclass(frozen=True)
class Gain:
    """Gain of a layer in score or loss, and the standard error that it has to exceed."""

    value: float
    error: float
    reason: str  # why the layer is rejected, if it is

    @property
    def is_significant(self) -> bool:
        return bool(self.value > self.error)


class DeepForestPolicy(LayerPolicy[list[Member], OutOfFoldLayer, Evaluation]):
    """Decisions of a deep forest about its layers.

    All members of the first layer are trained, on one fold or on all. A later layer has the best
    forests of the first one, and is kept if it lowers the loss by more than the error of the gain.
    """

    def __init__(
        self,
        trainer: FoldTrainer,
        # Members of the first layer. Options of named ones are chosen by `choose_options`.
        members: list[Member],
        *,
        depths: tuple[int, ...],  # depths of the named boosted trees that are compared
        keep_fold_models: bool,  # whether they predict, not models of all samples
        verbose: bool,
    ) -> None:
        self.trainer = trainer
        self.members = members
        self.depths = depths
        self.keep_fold_models = keep_fold_models
        self.stack = Stack(trainer)
        self.report = FitReport(verbose)
        self.leaderboard = Leaderboard(verbose)
        self.later_layers = LaterLayers(
            trainer, self.stack, self.report, keep_fold_models=keep_fold_models
        )
        # Options that are chosen for each kind of named forests.
        self.forest_options: dict[str, dict[str, int]] = {}
        self._boosting_choices: dict[int, BoostingChoice] = {}
        self.cross_fitted = np.empty(0)  # forecast of the layers that are kept, for figures
        self._parts = parts_of_rows(trainer)
        self._nested_vectors: dict[int, list[np.ndarray]] = {}
        self._start = perf_counter()  # of the layer that is being built
        self._seconds_of_first_layer = 0.0

    @property
    def strength(self) -> float:
        """Strength with which the second layer reweights samples; 0 if it is not kept."""
        return self.stack.layers[1].trained.strength if len(self.stack.layers) > 1 else 0.0

    def choose_options(self) -> None:
        """Reduce the members to the limit of time, and choose options of the named ones."""
        with self._time_for_weights():
            tell_work("options", 0.0)
            budget = fit_into_time(self.members, self.trainer, self.report)
            self.members = budget.members
            self._choose_forest_options(budget.allows_trials)
            if budget.allows_trials:
                self._choose_boosting_options()

    def _choose_forest_options(self, allows_trials: bool) -> None:
        clock = self.trainer.clock
        for kind, options in self.trainer.task.forest_options.items():
            forests = [member for member in self.members if member.role == kind]
            if not forests:
                continue
            trials = options if allows_trials else options[:1]
            try:
                with clock.cut(_OPTIONS_SHARE, whole=True):
                    chosen = choose_forest_options(forests[0], trials, self.trainer, self.report)
            except TimeIsUp:
                chosen = trials[0]
                n_rows = self.trainer.n_samples
                name = forests[0].name
                self.report.add_cut("options", "not all tried", n_rows=n_rows, member=name)
            self.forest_options[kind] = chosen
            for forest in forests:
                forest.model.set_params(**chosen)

    def _choose_boosting_options(self) -> None:
        for number, member in enumerate(self.members):
            if not isinstance(member, BoostedMember):
                continue
            if member.role == "boosted":
                entropy = self.trainer.seeds.entropy_for(Purpose.BOOSTING_OPTIONS, number)
                choice = choose_boosting_options(
                    member, self.depths, self.trainer, entropy, self.report
                )
                member.model.set_params(**choice.options)
                self._boosting_choices[number] = choice
            elif member.role == "boosted-leaf-wise":
                entropy = self.trainer.seeds.entropy_for(Purpose.BOOSTING_OPTIONS, number)
                leaf_wise = leaf_wise_choice(member, self.trainer, entropy)
                if leaf_wise is not None:
                    self._boosting_choices[number] = leaf_wise

    def _time_for_weights(self) -> AbstractContextManager[None]:
        """Context that keeps back the time in which members are weighted."""
        n_numbers = self.trainer.n_samples * self.trainer.task.n_columns
        return self.trainer.clock.kept_back(_SECONDS_PER_FORECAST * n_numbers)

    def time_slot(self, number: int) -> AbstractContextManager[None]:
        if number == 0:
            return self._time_for_weights()
        return self.trainer.clock.cut(_LATER_SHARE, whole=True)

    def out_of_time(self, number: int) -> Stop:
        self.report.add_cut(f"layer {number + 1}", "not kept", n_rows=self.trainer.n_samples)
        return Stop(f"time_limit ended the trial of layer {number + 1}")

    def propose(self, number: int) -> list[Member] | Stop:
        """All members for the first layer, the best forests for a later one."""
        self._start = perf_counter()
        if number == 0:
            return self.members
        reason = self._reason_to_stop(number)
        if reason:
            return Stop(reason)
        return [*self.stack.layers[0].best_forests(self.trainer.task)]

    def _reason_to_stop(self, number: int) -> str:
        """Why no later layer is tried; empty if one is."""
        if not members_of_later_layers(self.members):
            return "later layers are of forests, and no member is one"
        if not self.stack.has_weighted_forest():
            return f"no forest of layer {number} has a weight above 0"
        seconds = _LATER_FACTOR * self._seconds_of_first_layer
        if not self.trainer.clock.allows(seconds, _LATER_SHARE):
            return "time_limit has no time for a later layer"
        return self.later_layers.nested.reason_not_to_nest()

    def train(self, number: int, proposal: list[Member]) -> OutOfFoldLayer | Stop:
        """Train a layer; a later one is given up as soon as it does not help."""
        if number == 0:
            return train_first_layer(
                proposal,
                self.trainer,
                self.report,
                self._boosting_choices,
                keep_fold_models=self.keep_fold_models,
            )
        tell_work(f"layer {number + 1}", FIRST_LAYER_SHARE)
        later = self.later_layers
        forests = members_of_later_layers(proposal)
        stop = self._stop_on_first_fold(number, later.optimistic_layer(number, forests))
        if stop is None:
            stop = self._stop_on_first_fold(number, later.layer_of_first_fold(number, forests))
        return later.layer_of_all_folds(number, forests) if stop is None else stop

    def evaluate(self, number: int, layer: OutOfFoldLayer) -> Evaluation:
        """Weight the members of all layers, the new one included."""
        if number == 0:
            self._seconds_of_first_layer = perf_counter() - self._start
        else:
            self.stack.features_for(number)
        grown = GrownLayer.from_out_of_fold(self.trainer.task, layer)
        if number:
            n_members = len(layer.members)
            grown.seconds = np.full(n_members, (perf_counter() - self._start) / n_members)
        average = self.stack.average_with(grown)
        vectors = [*self.stack.figure_vectors(), *layer.figure_vectors]
        if number == 0:
            self._nested_vectors = nested_vectors(self.trainer, layer, self._parts)
        forecast = cross_fitted(
            self.trainer.task, vectors, self._parts, average, self._nested_vectors
        )
        return Evaluation(grown, average, forecast)

    def accept(self, number: int, layer: OutOfFoldLayer, evaluation: Evaluation) -> Stop | None:
        """Keep the first layer, and a later one that helps."""
        task = self.trainer.task
        average = evaluation.average
        if number == 0:
            self._report_weights(layer, average)
        else:
            gain = self._gain(number, task, self.stack.average.forecast, average.forecast)
            if not gain.is_significant:
                self._add_to_leaderboard(number, task, layer, evaluation.cross_fitted)
                return Stop(gain.reason)
            margins = self.stack.margins() if number == 1 and layer.strength else None
            if margins is not None:
                # A refit of the second layer reweights all samples by these factors.
                factors = reweighting_factors(margins, self.trainer, layer.strength)
                evaluation.layer.reweighting = factors
        self.stack.add(evaluation.layer, average)
        self.cross_fitted = evaluation.cross_fitted
        self._add_to_leaderboard(number, task, layer, evaluation.cross_fitted)
        self.leaderboard.print_weights(number, average.weights)
        return None

    def to_store(self, layer: OutOfFoldLayer) -> tuple[Any, ...]:
        return layer.to_store()

    def from_stored(self, proposal: list[Member], *parts: Any) -> OutOfFoldLayer:
        return OutOfFoldLayer.from_stored(proposal, self.trainer, parts)

    def has_time_to_refit(self) -> bool:
        """Whether the members that are kept can be refitted in the remaining time."""
        trainer = self.trainer
        seconds = sum(
            layer.trained.members[i].refit_seconds(trainer, layer.seconds[i])
            for layer, weights in zip(
                self.stack.layers, self.stack.weights_by_layer(), strict=True
            )
            for i in np.flatnonzero(weights > 0).tolist()
        )
        has_time = trainer.clock.allows(seconds, _REFIT_SHARE)
        if not has_time:
            decision = "not fitted again on all samples"
            self.report.add_cut("members", decision, n_rows=trainer.n_samples)
        return has_time

    def _report_weights(self, layer: OutOfFoldLayer, average: Average) -> None:
        """Report losses and weights of the first layer's members."""
        task = self.trainer.task
        candidates = [
            Candidate(
                member.name,
                float(np.average(task.calibrated_losses(vectors), weights=task.weight)),
                f"weight {weight:.2f}",
            )
            for member, vectors, weight in zip(
                layer.members, layer.vectors, average.weights.tolist(), strict=True
            )
        ]
        n_rows = len(self.trainer.evaluated_rows)
        n_folds = len(self.trainer.folds)
        self.report.add("layer 1", candidates, n_rows=n_rows, n_folds=n_folds)

    def _add_to_leaderboard(
        self, number: int, task: Task, layer: OutOfFoldLayer, forecast: np.ndarray
    ) -> None:
        elapsed = perf_counter() - self._start
        self.leaderboard.add_layer(number, task, layer, average=forecast, elapsed=elapsed)

    def _stop_on_first_fold(self, number: int, layer: OutOfFoldLayer) -> Stop | None:
        """Stop if a layer does not lower the loss on the first outer fold.

        With a score of the user's, the layer goes on in any case: the score of a fold may be
        undefined, and is noisier than a loss.
        """
        rows = self.later_layers.first_fold_rows
        task = self.trainer.task.for_rows(rows)
        mean = self.stack.average.mean[rows]
        votes = [
            mean,
            *(task.sharpened(vectors, task.member_exponent(vectors)) for vectors in layer.vectors),
        ]
        average = Average.from_votes(task, votes, task.member_weights(votes))
        before = task.calibration(mean)(mean)
        gain = self._gain(number, task, before, average.forecast, rows)
        if gain.is_significant or self.trainer.task.score is not None:
            return None
        vectors = [vectors[rows] for vectors in self.stack.figure_vectors()]
        vectors += layer.figure_vectors
        nested = {
            part: [vectors[rows] for vectors in vectors_of_members]
            for part, vectors_of_members in self._nested_vectors.items()
        }
        forecast = cross_fitted(task, vectors, self._parts[rows], average, nested)
        self._add_to_leaderboard(number, task, layer, forecast)
        return Stop(gain.reason)

    def _gain(
        self,
        number: int,
        task: Task,
        before: np.ndarray,
        after: np.ndarray,
        rows: np.ndarray | None = None,
    ) -> Gain:
        """Gain of a layer on some rows, or on all.

        The error on some rows is the one that the same differences would have on all rows.
        """
        error = 0.0
        evidence = ""
        if task.score is not None:
            value = task.score(after) - task.score(before)
        else:
            gains = task.losses(before) - task.losses(after)
            groups = self.trainer.groups
            if rows is not None and groups is not None:
                groups = groups[rows]
            value = float(np.average(gains, weights=task.weight))
            n_samples = n_counted(len(gains), task.weight)
            error = mean_error(gains, task.weight, n_samples, groups)
            if rows is not None:
                error *= np.sqrt(len(rows) / len(self.trainer.evaluated_rows))
            evidence = f", error {error:.4f}"
        if rows is not None:
            evidence += f", on {len(rows)} samples"
        reason = f"layer {number + 1} gained {value:.4f} in {task.score_name}{evidence}"
        gain = Gain(float(value), float(error), reason)
        self._report_gain(number, task, before, after, gain=gain, rows=rows)
        return gain

    def _report_gain(
        self,
        number: int,
        task: Task,
        before: np.ndarray,
        after: np.ndarray,
        *,
        gain: Gain,
        rows: np.ndarray | None,
    ) -> None:
        decision = "not kept"
        if gain.is_significant:
            decision = "kept" if rows is None else "goes on"
        losses = [
            task.mean_loss(forecast) if task.score is None else -float(task.score(forecast))
            for forecast in (before, after)
        ]
        self.report.add(
            f"layer {number + 1}",
            [Candidate("without it", losses[0]), Candidate("with it", losses[1], decision)],
            n_rows=len(self.trainer.evaluated_rows if rows is None else rows),
            n_folds=len(self.later_layers.nested.folds) if rows is None else 1,
        )
