"""Growing a deep forest: layers, and the votes that decide which of them are kept."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import partial
from time import perf_counter
from typing import Any

import numpy as np

from mddf._base.deadline import TimeIsUp
from mddf._deep_forest.first_layer import fit_on_folds
from mddf._deep_forest.fit_report import FitLog
from mddf._deep_forest.fold_trainer import OutOfFoldLayer, Training
from mddf._deep_forest.leaderboard import Report
from mddf._deep_forest.nested_cv import NestedFolds
from mddf._deep_forest.stack import GrownLayer, Stack, Vote
from mddf._deep_forest.time_budget import within_limit
from mddf._deep_forest.tuning import (
    choose_boosting,
    choose_options,
    choose_strength,
    reweighting_factors,
)
from mddf._members.spec import MemberSpec
from mddf._targets.weights import mean_error, n_counted
from mddf._training.checkpoints import Checkpoint
from mddf._trees.grower import GrowthResult

# What the vote takes of a number that a member forecasts.
_SECONDS_OF_A_FORECAST = 3e-6
# Of the time that is left, for the choice of a kind of forests' options.
_SHARE_OF_OPTIONS = 0.1
# Members are fitted again if that is to fit into this share.
_SHARE_OF_REFIT = 0.7
# A later layer is tried if so many times the seconds of the first one fit into this share of what
# is left.
_LATER_TIMES, _SHARE_OF_LATER = 3.0, 0.7


class LaterLayers:
    """Layers after the first, on samples whose labels nothing in their input has seen.

    Parameters
    ----------
    stack : Stack
    entropy : tuple of int
        Of the seeds.
    keep : bool
        Whether the models of folds are those that predict.
    log : FitLog

    Attributes
    ----------
    nested : NestedFolds
    strength : float
        With which losses of margins decide what the second layer draws.
    """

    def __init__(self, stack: Stack, entropy: tuple[int, ...], keep: bool, log: FitLog) -> None:
        self.stack, self.training, self.keep, self.log = stack, stack.training, keep, log
        self.nested = NestedFolds(self.training, entropy)
        self.strength = 0.0

    def looks(self, number: int, members: list[MemberSpec]) -> Iterator[OutOfFoldLayer]:
        """A layer on more and more of the samples.

        The cheap looks come first, on one nested fold: with out-of-fold vectors as inputs, which
        flatter a layer, and then with honest ones. The last one is on all.
        """
        nested, rows = self.nested, self.nested.folds[0][1]
        yield nested.flattered(members, self.stack.features(number), (3, number))
        self._nest(number, [0])
        if number == 1 and self.training.task.has_margins:

            def look(trial: list[MemberSpec], strength: float) -> np.ndarray:
                grown = [nested.grow(0, trial, self._factors(0, strength), (5, number))]
                return nested.joined(trial, grown, rows).vectors

            self.strength = choose_strength(members, self.training, rows, look, self.log)
        grown = [self._grow(number, members, 0)]
        yield nested.joined(members, grown, rows)
        others = range(1, len(nested.folds))
        self._nest(number, others)
        grown += [self._grow(number, members, outer) for outer in others]
        yield replace(nested.joined(members, grown), strength=self.strength)

    def _factors(self, outer: int, strength: float) -> np.ndarray | None:
        """Factors of the weights of the samples that an outer fold trains on."""
        margins, train = self.nested.margins(outer), self.nested.folds[outer][0]
        return reweighting_factors(margins, self.training, strength, train)

    def _grow(self, number: int, members: list[MemberSpec], outer: int) -> list[GrowthResult]:
        """The forests of a layer on an outer fold."""
        draws = number == 1 and self.strength
        factors = self._factors(outer, self.strength) if draws else None
        return self.nested.grow(outer, members, factors, (4, number), keep=self.keep)

    def _nest(self, number: int, outer: Iterable[int]) -> None:
        """Have the nested folds hold what layer `number` sees."""
        nested, stack, first = self.nested, self.stack, self.stack.layers[0]
        if nested.level == 0:
            nested.start(stack.features(1), stack.vote.margins(self.training.task))
        if nested.level == 1:
            members = [first.members[i] for i in first.inputs]
            models = [first.models[i] for i in first.inputs]
            # A fit that goes on with a later layer takes the steps of one that was not stopped.
            steps = [outer] if number == 1 else [[0], range(1, len(nested.folds))]
            for wanted in steps:
                nested.fit_pairs(list(wanted), members, models, partial(stack.read, 1))
        while nested.level < number:
            following, before = nested.level + 1, stack.layers[nested.level]
            members = [before.members[i] for i in before.inputs]
            nested.advance(members, stack.features(following), partial(stack.read, following))


class Growth:
    """The fit of a deep forest, step by step.

    Parameters
    ----------
    training : Training
    members : list of MemberSpec
        Of the first layer.
    entropy : tuple of int
        Of the seeds.
    checkpoint : Checkpoint or None
    n_layers : int
        Most layers.
    depths : tuple of int
        Of the named boosted trees, which race.
    keep : bool
        Whether the models of folds are those that predict.
    verbose : bool

    Attributes
    ----------
    stack : Stack
        The layers.
    later : LaterLayers
    report : Report
    log : FitLog
    chosen : dict of str to dict
        Options of the named forests.
    stop_reason : str
    """

    def __init__(
        self,
        training: Training,
        members: list[MemberSpec],
        entropy: tuple[int, ...],
        checkpoint: Checkpoint | None,
        *,
        n_layers: int,
        depths: tuple[int, ...],
        keep: bool,
        verbose: bool,
    ) -> None:
        self.training, self.members, self.entropy = training, members, entropy
        self.checkpoint, self.n_layers, self.depths = checkpoint, n_layers, depths
        self.stack, self.log = Stack(training), FitLog(verbose)
        self.later = LaterLayers(self.stack, (*entropy, 9), keep, self.log)
        self.report = Report(verbose)
        self.chosen: dict[str, dict[str, Any]] = {}
        self._seconds_of_first = 0.0
        self._tried: dict[int, Any] = {}  # of boosted trees, on the first fold
        self.stop_reason = f"n_layers={n_layers} were grown"

    def grow(self) -> None:
        """Grow layers until they no longer help, and weigh their members."""
        training = self.training
        seconds_of_vote = _SECONDS_OF_A_FORECAST * len(training.order) * training.task.n_columns
        with training.clock.kept_back(seconds_of_vote):
            given = (self.members, training, self.entropy, self.log)
            self.members, has_time = within_limit(*given)
            self._choose_options(has_time)
            start, found = perf_counter(), self._first_layer()
        self._add_first_layer(found, start)
        for number in range(1, self.n_layers):
            if reason := self._why_stop(number):
                self.stop_reason = reason
                break
            strength = self.later.strength
            if not self._has_added(number):
                self.later.strength = strength  # of a layer that is not there
                break
        self.report.finish(self.stack.vote.weights)

    def has_time_to_refit(self) -> bool:
        """Whether the members that are kept can be fitted once more in the time that is left."""
        training, weights = self.training, self.stack.weights()
        seconds = sum(
            sum(np.asarray(layer.seconds)[of_layer > 0])
            for layer, of_layer in zip(self.stack.layers, weights, strict=True)
        )
        n_folds = len(training.folds)
        seconds *= training.task.n_times / (n_folds - 1 or 1)
        has_time = training.clock.allows(seconds, _SHARE_OF_REFIT)
        if not has_time:
            self.log.cut("members", "not fitted again on all samples", len(training.order))
        return has_time

    def _choose_options(self, has_time: bool) -> None:
        """Give the named forests the options that losses on unseen samples favour."""
        for kind, trials in self.training.task.trials.items():
            named = [member for member in self.members if member.kind == kind]
            if named:
                given = (self.training, (*self.entropy, 3), self.log)
                few = trials if has_time else trials[:1]
                try:
                    with self.training.clock.cut(_SHARE_OF_OPTIONS, whole=True):
                        self.chosen[kind] = choose_options(named[0], few, *given)
                except TimeIsUp:
                    self.chosen[kind] = trials[0]
                    n_rows = len(self.training.order)
                    self.log.cut("options", "not all tried", n_rows, named[0].name)
            for member in named:
                member.model.set_params(**self.chosen[kind])
        for number, member in enumerate(self.members if has_time else ()):
            if member.kind == "boosted":
                entropy = (*self.entropy, 11, number)
                options, *found = choose_boosting(
                    member, self.depths, self.training, entropy, self.log
                )
                member.model.set_params(**options)
                if found[0] is not None:
                    self._tried[number] = found

    def _stored(self, number: int, members: list[MemberSpec]) -> OutOfFoldLayer | None:
        """A layer's folds from the checkpoint, if they are there."""
        if self.checkpoint is None:
            return None
        return self.checkpoint.load(
            number, partial(OutOfFoldLayer.from_stored, members, self.training)
        )

    def _store(self, number: int, found: OutOfFoldLayer) -> None:
        if self.checkpoint is not None:
            self.checkpoint.save(number, *found.to_store())

    def _first_layer(self) -> OutOfFoldLayer:
        """All members on the folds."""
        found = self._stored(0, self.members)
        if found is None:
            given = (self.members, self.training, self.entropy, self.log, self._tried)
            found = fit_on_folds(*given, keep=self.later.keep)
            self._store(0, found)
        return found

    def _add_first_layer(self, found: OutOfFoldLayer, start: float) -> None:
        """Weigh the members."""
        self._seconds_of_first = perf_counter() - start
        layer = GrownLayer.of(self.training.task, found)
        vote = self.stack.vote_with(layer)
        self._note_vote(found, vote)
        self._add(0, layer, vote, found, start)

    def _note_vote(self, found: OutOfFoldLayer, vote: Vote) -> None:
        """Keep the weights of the first layer's members."""
        task, weights = self.training.task, vote.weights.tolist()
        losses = [np.average(task.least_losses(v), weights=task.weight) for v in found.vectors]
        names = [member.name for member in found.members]
        decisions = [f"weight {weight:.2f}" for weight in weights]
        n_rows, n_folds = len(task.target), len(self.training.folds)
        rows = list(zip(names, losses, decisions, strict=True))
        self.log.note("layer 1", "", rows, n_rows, n_folds)

    def _add(
        self, number: int, layer: GrownLayer, vote: Vote, found: OutOfFoldLayer, start: float
    ) -> None:
        self.stack.add(layer, vote)
        self._record(number, self.training.task, found, vote.probabilities, start)
        self.report.print_members(number, vote.weights)

    def _record(
        self,
        number: int,
        task: Any,
        found: OutOfFoldLayer,
        probabilities: np.ndarray,
        start: float,
    ) -> None:
        self.report.add(number, task, found, probabilities, perf_counter() - start)

    def _why_stop(self, number: int) -> str:
        """Why no later layer is tried; nothing if one is."""
        if not any(member.is_forest for member in self.members):
            return "later layers are of forests, and no member is one"
        if not self._forests_vote():
            return f"no forest of layer {number} has a weight above 0"
        if not self.training.clock.allows(_LATER_TIMES * self._seconds_of_first, _SHARE_OF_LATER):
            return "time_limit has no time for a later layer"
        return self.later.nested.why_not()

    def _forests_vote(self) -> bool:
        """Whether a forest has a weight above 0 so far."""
        members = [member for layer in self.stack.layers for member in layer.members]
        weighed = zip(members, self.stack.vote.weights, strict=True)
        return any(member.is_forest and weight > 0 for member, weight in weighed)

    def _has_added(self, number: int) -> bool:
        """Whether a later layer helps, and there was time to see it."""
        try:
            with self.training.clock.cut(_SHARE_OF_LATER, whole=True):
                return self._add_later_layer(number)
        except TimeIsUp:
            self.stop_reason = f"time_limit ended the trial of layer {number + 1}"
            self.log.cut(f"layer {number + 1}", "not kept", len(self.training.order))
            return False

    def _add_later_layer(self, number: int) -> bool:
        """Fit a later layer, if it helps."""
        start, task, stack = perf_counter(), self.training.task, self.stack
        members = stack.layers[0].best_forests(task)
        stack.features(number)
        found = self._stored(number, members)
        if found is None:
            for found in self.later.looks(number, members):
                on_all = found.vectors.shape[1] == len(self.training.order)
                if not (on_all or self._helps_there(number, found, start)):
                    return False
            assert found is not None
            self._store(number, found)
        self.later.strength = found.strength
        n_members = len(found.members)
        layer = GrownLayer.of(task, found)
        layer.seconds = np.full(n_members, (perf_counter() - start) / n_members)
        vote = stack.vote_with(layer)
        if not self._helps(number, task, stack.vote.probabilities, vote.probabilities):
            self._record(number, task, found, vote.probabilities, start)
            return False
        margins = stack.vote.margins(task)
        if number == 1 and found.strength and margins is not None:
            layer.reweighting = reweighting_factors(margins, self.training, found.strength)
        self._add(number, layer, vote, found, start)
        return True

    def _helps_there(self, number: int, found: OutOfFoldLayer, start: float) -> bool:
        """Whether a layer helps on the first outer fold, by log-loss or squared error."""
        rows = self.later.nested.folds[0][1]
        task, mean = self.training.task.of_rows(rows), self.stack.vote.mean[rows]
        forecasts = [mean, *(task.sharpened(v, task.own_exponent(v)) for v in found.vectors)]
        weighed = zip(task.weigh(forecasts), forecasts, strict=True)
        mean_after: Any = sum(weight * of_one for weight, of_one in weighed if weight)
        before, after = task.calibration(mean)(mean), task.calibration(mean_after)(mean_after)
        if self._helps(number, task, before, after, rows) or self.training.task.score is not None:
            return True
        self._record(number, task, found, after, start)
        return False

    def _helps(
        self,
        number: int,
        task: Any,
        before: np.ndarray,
        after: np.ndarray,
        rows: np.ndarray | None = None,
    ) -> bool:
        """Whether forecasts are better than those before by more than the error of that.

        Of some rows, it is the error that the same differences would have on all of them. If they
        are not, the reason to stop tells by how much.
        """
        measure, where, error = getattr(task.measure, "__name__", task.measure), "", 0.0
        if task.score is not None:
            gain = task.score(after) - task.score(before)
        else:
            gains, n_rows = task.losses(before) - task.losses(after), len(self.training.order)
            units = self.training.units
            if rows is not None and units is not None:
                units = units[rows]
            gain = float(np.average(gains, weights=task.weight))
            error = mean_error(gains, task.weight, n_counted(len(gains), task.weight), units)
            error *= np.sqrt(len(gains) / n_rows)
            where = f", error {error:.4f}"
        if rows is not None:
            where += f", on {len(rows)} samples"
        n_rows, n_folds = (len(self.training.order) if rows is None else len(rows)), 1
        if rows is None:
            n_folds = len(self.later.nested.folds)
        decision = ("kept" if rows is None else "goes on") if gain > error else "not kept"
        self.log.note(
            f"layer {number + 1}",
            "",
            [
                ("without it", self._mean_loss(task, before), ""),
                ("with it", self._mean_loss(task, after), decision),
            ],
            n_rows,
            n_folds,
        )
        if gain <= error:
            self.stop_reason = f"layer {number + 1} gained {gain:.4f} in {measure}{where}"
        return bool(gain > error)

    def _mean_loss(self, task: Any, forecasts: np.ndarray) -> float:
        """What decides: the mean loss, or minus the score."""
        if task.score is not None:
            return -float(task.score(forecasts))
        return float(np.average(task.losses(forecasts), weights=task.weight))
