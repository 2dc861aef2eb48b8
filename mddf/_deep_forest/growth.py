"""Growing a deep forest: layers, and the votes that decide which of them are kept."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass, field, replace
from functools import partial
from time import perf_counter
from typing import Any

import numpy as np

from mddf._data.binning import apply_bins
from mddf._data.sampling import mean_error, n_counted
from mddf._deep_forest.cross_fit import OnFolds, fit_on_folds, leaderboard_row
from mddf._deep_forest.nested import NestedFolds
from mddf._deep_forest.training import Features, Training
from mddf._deep_forest.tuning import (
    MU,
    TARGET_MARGIN,
    choose_options,
    choose_strength,
    reweighting_factors,
)
from mddf._ensemble.checkpoints import Checkpoint
from mddf._ensemble.coefficients import MarginHistory, Simplex
from mddf._ensemble.margin_loss import class_margins
from mddf._ensemble.stages import columns_of
from mddf._ensemble.vote import Calibration, sharpened
from mddf._members.members import MemberSpec
from mddf._members.tasks import ClassificationTask

# Of vectors of more columns than this, the next layer sees the weighted mean.
MOST_COLUMNS = 300
# So many kinds of forests are members of later layers: those with the least losses in the first.
_LATER = 2
# Of the descent to members' coefficients: a fifth of those to layers', which are the whole vote.
_STEPS = 200


def print_line(line: str) -> None:
    """Print what `verbose` asks for, in lines of at most 80 columns."""
    print(textwrap.fill(line, 80, subsequent_indent="    "))


@dataclass
class GrownLayer:
    """A layer with its out-of-fold vectors."""

    members: list[MemberSpec]
    vectors: np.ndarray  # (n_members, n_samples, n_columns)
    votes: np.ndarray  # the same, sharpened
    exponents: list[float]
    models: list
    reweighting: np.ndarray | None = None
    inputs: list[int] = field(default_factory=list)  # members that the next layer sees
    average_weights: np.ndarray | None = None  # weights of their mean, where it sees only that
    features: Features | None = None  # what it sees of them


@dataclass(frozen=True)
class Vote:
    """What the layers so far predict together, out-of-fold: as it is and calibrated."""

    weights: np.ndarray
    mean: np.ndarray
    calibration: Calibration
    probabilities: np.ndarray


class Growth:
    """The fit of a deep forest, step by step."""

    def __init__(
        self,
        model,
        training: Training,
        members,
        entropy,
        checkpoint: Checkpoint | None,
    ):
        self.model, self.training, self.members = model, training, members
        self.checkpoint = checkpoint
        self.entropy = entropy
        self.nested = NestedFolds(training, (*entropy, 9))
        self.layers: list[GrownLayer] = []
        self.vote: Any = None  # of type Vote once there is a layer
        self.records: list[dict] = []
        self.leaderboard: list[dict] = []
        self.pruned: list[dict] = []  # rows of the leaderboard, of those tried on one fold
        self.chosen: dict[str, dict] = {}
        self.strength = 0.0
        self.stop_reason = f"n_layers={model.n_layers} were grown"

    # Steps

    def grow(self) -> None:
        """Grow layers until they no longer help, and weigh their members."""
        self._choose_options()
        self._add_first_layer()
        for number in range(1, self.model.n_layers):
            if reason := self._why_stop(number):
                self.stop_reason = reason
                break
            strength = self.strength
            if not self._add_later_layer(number):
                self.strength = strength  # of a layer that is not there
                break
        weights = self.vote.weights.tolist()
        weights += [0.0] * (len(self.leaderboard) - len(weights))
        for row, weight in zip(self.leaderboard, weights, strict=True):
            row["weight"] = weight
        self.leaderboard = sorted(self.leaderboard + self.pruned, key=lambda row: row["layer"])

    def _why_stop(self, number: int) -> str:
        """Why no later layer is tried; nothing if one is."""
        if not any(member.is_forest for member in self.members):
            return "later layers are of forests, and no member is one"
        if not self._forests_vote():
            return f"no forest of layer {number} has a weight above 0"
        return self.nested.why_not()

    def _forests_vote(self) -> bool:
        """Whether a forest has a weight above 0 so far."""
        members = [member for layer in self.layers for member in layer.members]
        weighed = zip(members, self.vote.weights, strict=True)
        return any(member.is_forest and weight > 0 for member, weight in weighed)

    def _decide(self, layers: list[GrownLayer]) -> Vote:
        """The vote of all members of some layers."""
        task = self.training.task
        votes = [of_member for layer in layers for of_member in layer.votes]
        weights = task.weigh(votes, *self._margin_weights(votes, len(layers)))
        mean = sum(w * of_member for w, of_member in zip(weights, votes, strict=True) if w)
        calibration = task.calibration(mean)
        return Vote(weights, mean, calibration, calibration(mean))

    def _margin_weights(self, votes, n_layers: int) -> list[np.ndarray]:
        """Weights of members that minimise the loss of the average's margins; of numbers none."""
        training = self.training
        if len(votes) < 2 or not isinstance(training.task, ClassificationTask):
            return []
        margins = [class_margins(of_member, training.task.target) for of_member in votes]
        entropy = (*self.entropy, 8, n_layers)
        history = MarginHistory(
            np.stack(margins, 1), np.empty(0), training.weights.row, training.order, entropy
        )
        return [Simplex(TARGET_MARGIN, MU, _STEPS)(history)]

    def _helps(self, number: int, task, before, after, rows=None) -> bool:
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
        if gain <= error:
            self.stop_reason = f"layer {number + 1} gained {gain:.4f} in {measure}{where}"
        return gain > error

    # The first layer

    def _choose_options(self) -> None:
        """Give the named forests the options that losses on unseen samples favour."""
        for kind, trials in self.training.task.trials.items():
            named = [member for member in self.members if member.kind == kind]
            if named:
                entropy = (*self.entropy, 3)
                self.chosen[kind] = choose_options(named[0].model, trials, self.training, entropy)
            for member in named:
                member.model.set_params(**self.chosen[kind])

    def _add_first_layer(self) -> None:
        """Fit all members on the folds."""
        start = perf_counter()
        found = self._stored(0, self.members)
        if found is None:
            keep = not self.model.refit
            found = fit_on_folds(self.members, self.training, self.entropy, keep=keep)
            if self.checkpoint is not None:
                self.checkpoint.save(0, *found.to_store())
        self.pruned += found.pruned
        self.layers = [self._layer(found)]
        self.vote = self._decide(self.layers)
        self._record(0, self.training.task, found, self.vote.probabilities, start)

    def _stored(self, number: int, members: list[MemberSpec]) -> OnFolds | None:
        """A layer's folds from the checkpoint, if they are there."""
        if self.checkpoint is None:
            return None
        return self.checkpoint.load(number, partial(OnFolds.from_stored, members, self.training))

    def _layer(self, found: OnFolds) -> GrownLayer:
        exponents = [self.training.task.own_exponent(of_member) for of_member in found.vectors]
        votes = [sharpened(v, e) for v, e in zip(found.vectors, exponents, strict=True)]
        return GrownLayer(found.members, found.vectors, np.stack(votes), exponents, found.models)

    # Later layers

    def _add_later_layer(self, number: int) -> bool:
        """Fit a later layer, if it helps on samples whose labels nothing in its input has seen.

        The cheap looks come first, on one nested fold: with out-of-fold vectors as inputs, which
        flatter a layer, and then with honest ones. Only what helps there is fitted on all.
        """
        start = perf_counter()
        task, members, features = self.training.task, self._best_forests(), self._features(number)
        found = self._stored(number, members)
        if found is None:
            nested = self.nested
            found = nested.flattered(members, features, (3, number))
            if not self._helps_there(number, found, start):
                return False
            self._nest(number, [0])
            if number == 1 and isinstance(task, ClassificationTask):
                entropy = (5, number)
                self.strength = choose_strength(members, self.training, nested, entropy)
            looks = [self._look(number, members, 0)]
            found = nested.joined(members, looks, nested.folds[0][1])
            if not self._helps_there(number, found, start):
                return False
            self._nest(number, range(1, len(nested.folds)))
            looks += [self._look(number, members, i) for i in range(1, len(nested.folds))]
            found = replace(nested.joined(members, looks), strength=self.strength)
            if self.checkpoint is not None:
                self.checkpoint.save(number, *found.to_store())
        self.strength = found.strength
        layer = self._layer(found)
        vote = self._decide([*self.layers, layer])
        helps = self._helps(number, task, self.vote.probabilities, vote.probabilities)
        if helps:
            if number == 1 and self.strength:
                margins = class_margins(self.vote.mean, task.target)
                layer.reweighting = reweighting_factors(margins, self.training, self.strength)
            self.layers.append(layer)
            self.vote = vote
        self._record(number, task, found, vote.probabilities, start)
        return helps

    def _helps_there(self, number: int, found: OnFolds, start: float) -> bool:
        """Whether a layer helps on the first outer fold, by log-loss or squared error."""
        rows = self.nested.folds[0][1]
        task, mean = self.training.task.of_rows(rows), self.vote.mean[rows]
        forecasts = [mean, *(sharpened(v, task.own_exponent(v)) for v in found.vectors)]
        weights = task.weigh(forecasts)
        mean_after = sum(w * of_one for w, of_one in zip(weights, forecasts, strict=True) if w)
        before, after = task.calibration(mean)(mean), task.calibration(mean_after)(mean_after)
        if self._helps(number, task, before, after, rows) or self.training.task.score is not None:
            return True
        self._record(number, task, found, after, start)
        return False

    def _look(self, number: int, members, outer: int) -> list:
        """The forests of a layer, grown on a nested fold."""
        factors = None
        if number == 1 and self.strength:
            margins, train = self.nested.margins(outer), self.nested.folds[outer][0]
            factors = reweighting_factors(margins, self.training, self.strength, train)
        keep = not self.model.refit
        return self.nested.grow(outer, members, factors, (4, number), keep=keep)

    def _features(self, number: int) -> Features:
        """What layer `number` sees of the one before, out-of-fold."""
        before = self.layers[number - 1]
        if before.features is None:
            before.inputs, before.average_weights = self._inputs(number - 1)
            vectors = columns_of(before.vectors[before.inputs], before.average_weights)
            before.features = self.training.bin_features(vectors)
        return before.features

    def _inputs(self, number: int) -> tuple[list[int], np.ndarray | None]:
        """Members of a layer that the next one sees: forests, and others that vote.

        Where their vectors are too many columns, those that vote; where these are still too many,
        the second value holds the weights of their mean.
        """
        layer = self.layers[number]
        ends = np.cumsum([len(of_one.members) for of_one in self.layers])
        weights = np.split(self.vote.weights, ends[:-1])[number]
        inputs = [i for i, m in enumerate(layer.members) if m.is_forest or weights[i] > 0]
        most = MOST_COLUMNS // layer.vectors.shape[2]
        if len(inputs) > most:
            inputs = np.flatnonzero(weights).tolist()
        return inputs, weights[inputs] / weights.sum() if len(inputs) > most else None

    def _nest(self, number: int, outer) -> None:
        """Have the nested folds hold what layer `number` sees."""
        nested, first = self.nested, self.layers[0]
        if nested.level == 0:
            features = self._features(1)
            margins = None
            if isinstance(self.training.task, ClassificationTask):
                margins = class_margins(self.vote.mean, self.training.task.target)
            nested.start(features, margins)
        if nested.level == 1:
            members = [first.members[i] for i in first.inputs]
            models = [first.models[i] for i in first.inputs]
            outer = outer if number == 1 else range(len(nested.folds))
            nested.fit_pairs(outer, members, models, self._reader(1))
        while nested.level < number:
            features = self._features(nested.level + 1)
            before = self.layers[nested.level]
            members = [before.members[i] for i in before.inputs]
            nested.advance(members, features, self._reader(nested.level + 1))

    def _reader(self, number: int):
        """What makes features for layer `number` of vectors of the inputs, and their margins."""
        before, features, task = (
            self.layers[number - 1],
            self._features(number),
            self.training.task,
        )
        weights, exponents = self.vote.weights, before.exponents

        def read(vectors: np.ndarray, rows: np.ndarray):
            codes = apply_bins(columns_of(vectors, before.average_weights), features.bins)
            if len(self.layers) > 1 or not isinstance(task, ClassificationTask):
                return codes, None
            votes = zip(before.inputs, vectors, strict=True)
            mean = sum(weights[i] * sharpened(v, exponents[i]) for i, v in votes if weights[i])
            return codes, class_margins(mean, task.target[rows])

        return read

    def _best_forests(self) -> list[MemberSpec]:
        """The members of later layers."""
        first, task = self.layers[0], self.training.task
        losses = [
            (np.average(task.losses(vote), weights=task.weight), i)
            for i, (member, vote) in enumerate(zip(first.members, first.votes, strict=True))
            if member.is_forest
        ]
        best = sorted(losses)[:_LATER]
        return [first.members[i] for i in sorted(i for _, i in best)]

    # What users read

    def _record(self, number: int, task, found: OnFolds, probabilities, start: float) -> None:
        """Keep a layer's figures: of its members, and of the average up to it."""
        elapsed = perf_counter() - start
        seconds = (
            np.full(len(found.members), elapsed / len(found.members)) if number else found.seconds
        )
        for member, vectors, of_one in zip(found.members, found.vectors, seconds, strict=True):
            self.leaderboard.append(leaderboard_row(number, member, task.figures(vectors), of_one))
        figures = task.vote_figures(probabilities)
        self.records.append({"layer": number + 1} | figures | {"time": elapsed})
        if self.model.verbose:
            shown = [f"{name.replace('_', '-')} {figures[name]:.4f}" for name in task.shown]
            print_line(f"layer {number + 1}: {', '.join(shown)}, {elapsed:.1f} s")
            if number < len(self.layers):
                self._print_members(number)

    def _print_members(self, number: int) -> None:
        """Members by layer and weight, those of weight 0, and those that were pruned."""
        rows = zip(self.leaderboard, self.vote.weights, strict=True)
        kept = [(w, row["layer"], row["member"]) for row, w in rows if w > 0]
        shares = [f"{name} ({layer}) {w:.2f}" for w, layer, name in sorted(kept, reverse=True)]
        print_line("  weights: " + ", ".join(shares))
        there = {name for _, layer, name in kept if layer == number + 1}
        for what, these in (("weight 0", self.leaderboard), ("pruned", self.pruned)):
            names = [row["member"] for row in these if row["layer"] == number + 1]
            if names := [name for name in names if name not in there]:
                print_line(f"  {what}: " + ", ".join(names))

    def history(self) -> dict[str, np.ndarray]:
        """Figures of all layers by name."""
        return {name: np.array([r[name] for r in self.records]) for name in self.records[0]}
