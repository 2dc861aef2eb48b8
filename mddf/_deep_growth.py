"""Growing a deep forest: layers, votes, and what of them is kept."""

from __future__ import annotations

import pickle
import textwrap
from dataclasses import dataclass
from functools import partial
from time import perf_counter
from typing import Any

import numpy as np

from mddf import _core
from mddf._checkpoint import Checkpoint
from mddf._deep_folds import OnFolds, fit_on_folds, leaderboard_row
from mddf._deep_goals import ClassGoal
from mddf._deep_guests import fit_parts
from mddf._deep_layers import DeepLayer, Voter, columns_of
from mddf._margin_loss import class_margins
from mddf._members import Member, Training, grow_forests
from mddf._pilots import MU, TARGET_MARGIN, choose_emphasis, choose_options
from mddf._rules import Evidence, Simplex
from mddf._sampling import mean_error, n_counted
from mddf._state import to_plain
from mddf._vote import Calibration, sharpened

# Vectors of more columns than this are handed on as their weighted mean.
MOST_COLUMNS = 300
# So many kinds of forests are members of later layers: those with the least losses in the first.
_LATER = 2
# Of the descent to members' coefficients: a fifth of those to layers', which are the whole vote.
_STEPS = 200


def tell(line: str) -> None:
    """Print what `verbose` asks for, in lines of at most 80 columns."""
    print(textwrap.fill(line, 80, subsequent_indent="    "))


@dataclass
class _GrownLayer:
    """A layer with its out-of-fold vectors."""

    members: list[Member]
    vectors: np.ndarray  # (n_members, n_samples, n_columns)
    votes: np.ndarray  # the same, sharpened
    exponents: list[float]
    columns: np.ndarray
    handed: np.ndarray | None  # columns of the layer before, as they were binned
    emphasis: np.ndarray | None
    models: list
    inputs: list[int]
    mix: np.ndarray | None


@dataclass(frozen=True)
class _Vote:
    """What the layers so far say together, out-of-fold: as it is and calibrated."""

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
        n_raw: int,
        entropy,
        checkpoint: Checkpoint | None,
    ):
        self.model, self.training, self.members = model, training, members
        self.checkpoint = checkpoint
        self.n_raw, self.entropy = n_raw, entropy
        self.options = {"n_jobs": model.n_jobs, "verbose": model.verbose > 1}
        self.layers: list[_GrownLayer] = []
        self.vote: Any = None  # of type _Vote once there is a layer
        self.records: list[dict] = []
        self.leaderboard: list[dict] = []
        self.hopeless: list[dict] = []  # rows of the leaderboard, of those tried on one fold
        self.chosen: dict[str, dict] = {}
        self.strength = 0.0
        self.features: list[np.ndarray] = []  # out-of-fold, of the members that are kept
        self.n_samples = n_counted(len(training.order), training.weights.row)
        self.stop_reason = f"n_layers={model.n_layers} were grown"

    # Steps

    def grow(self) -> None:
        """Grow layers until they no longer help, and decide the vote."""
        self._choose_options()
        for number in range(self.model.n_layers):
            if number and not any(member.is_forest for member in self.members):
                self.stop_reason = "later layers are of forests, and no member is one"
                break
            if number and (repeated := self._rows_repeat()):
                self.stop_reason = repeated
                break
            if number and not self._forests_vote():
                self.stop_reason = f"no forest of layer {number} has a vote"
                break
            before, strength = self.vote, self.strength
            self._add_layer(number)
            if before is not None and not self._helps(before, number):
                self.layers.pop()
                self.vote, self.strength = before, strength
                break
        for row, weight in zip(self.leaderboard, self.vote.weights, strict=False):
            row["weight"] = float(weight)
        self.leaderboard = sorted(self.leaderboard + self.hopeless, key=lambda row: row["layer"])

    def _rows_repeat(self) -> str:
        """Why less than half of the samples tell something of their own; else nothing.

        What is said of a row out-of-fold comes from its copies in the other folds, and so tells
        the labels of those in its own. Rows of a group are held out together, but a layer that
        learns their vectors learns no more than one for each group.
        """
        n_rows, weight = len(self.training.order), self.training.weights.row
        hashes = _core.hash_rows(
            self.training.table.codes, self.n_raw, np.zeros(n_rows, np.uint16)
        )
        for units, why in (
            (hashes, "most samples are copies of others, whose labels their class vectors tell"),
            (self.training.units, "there are less than half as many groups as samples"),
        ):
            if units is not None:
                there = units if weight is None else units[weight > 0]
                if 2 * len(np.unique(there)) < self.n_samples:
                    return why
        return ""

    def _forests_vote(self) -> bool:
        """Whether a forest has a weight in the vote so far."""
        members = [member for layer in self.layers for member in layer.members]
        weighed = zip(members, self.vote.weights, strict=True)
        return any(member.is_forest and weight > 0 for member, weight in weighed)

    def _helps(self, before: _Vote, number: int) -> bool:
        """Whether a layer's gain on the vote before is above its error; says why not."""
        goal = self.training.goal
        if goal.score is not None:
            gain, error = self.records[-1]["score"] - self.records[-2]["score"], 0.0
        else:
            gains = goal.losses(before.probabilities) - goal.losses(self.vote.probabilities)
            gain = float(np.average(gains, weights=goal.weight))
            error = mean_error(gains, goal.weight, self.n_samples, self.training.units)
        if gain > error:
            return True
        measure = getattr(goal.measure, "__name__", goal.measure)
        above = "" if goal.score is not None else f", not above its error of {error:.4f}"
        self.stop_reason = f"layer {number + 1} gained {gain:.4f} in {measure}{above}"
        return False

    def _decide(self) -> _Vote:
        """The vote of all members of the layers so far."""
        votes = [of_member for layer in self.layers for of_member in layer.votes]
        weights = self.training.goal.weigh(votes, *self._margin_weights(votes))
        mean = sum(w * of_member for w, of_member in zip(weights, votes, strict=True) if w)
        calibration = self.training.goal.calibration(mean)
        return _Vote(weights, mean, calibration, calibration(mean))

    def _margin_weights(self, votes) -> list[np.ndarray]:
        """Weights of members that minimise the loss of the vote's margins; of numbers none."""
        training = self.training
        if len(votes) < 2 or not isinstance(training.goal, ClassGoal):
            return []
        margins = [class_margins(of_member, training.goal.target) for of_member in votes]
        entropy = (*self.entropy, 8, len(self.layers))
        evidence = Evidence(
            np.stack(margins, 1), np.empty(0), training.weights.row, training.order, entropy
        )
        return [Simplex(TARGET_MARGIN, MU, _STEPS)(evidence)]

    # What is chosen before a layer

    def _choose_options(self) -> None:
        """Give the named forests the options that losses on unseen samples favour."""
        columns = np.arange(self.n_raw, dtype=np.int32)
        for kind, trials in self.training.goal.trials.items():
            named = [member for member in self.members if member.kind == kind]
            if named:
                self.chosen[kind] = choose_options(
                    named[0].model,
                    trials,
                    self.training,
                    columns,
                    (*self.entropy, 3),
                    **self.options,
                )
            for member in named:
                member.model.set_params(**self.chosen[kind])

    def _choose_emphasis(self, columns) -> np.ndarray | None:
        """Which samples the next layer is to draw more often; numbers have no margins."""
        if not isinstance(self.training.goal, ClassGoal):
            return None
        forests = [member.model for member in self.members if member.is_forest]
        pilot = next((f for f in forests if not f._random_thresholds), forests[0])
        margins = class_margins(self.vote.mean, self.training.goal.target)
        self.strength, emphasis = choose_emphasis(
            pilot, self.training, columns, margins, (*self.entropy, 4), **self.options
        )
        return emphasis

    # Layers

    def _add_layer(self, number: int) -> None:
        start = perf_counter()
        training = self.training
        columns = np.arange(self.n_raw, dtype=np.int32)
        handed = emphasis = None
        members = self.members
        if number:
            before = self.layers[-1]
            handed = columns_of(before.vectors[before.inputs], before.mix)
            training.table.replace_columns(
                self.n_raw, handed, sample_weight=training.weights.row, n_jobs=self.model.n_jobs
            )
            columns = np.arange(self.n_raw + handed.shape[1], dtype=np.int32)
            members = self._best_forests()
            emphasis = self._choose_emphasis(columns)
        found = self._on_folds(members, columns, emphasis, number)
        self.hopeless += found.hopeless
        exponents = [training.goal.own_exponent(of_member) for of_member in found.vectors]
        votes = np.stack([sharpened(v, e) for v, e in zip(found.vectors, exponents, strict=True)])
        inputs, mix = self._inputs(votes)
        self.layers.append(
            _GrownLayer(
                found.members,
                found.vectors,
                votes,
                exponents,
                columns,
                handed,
                emphasis,
                found.models,
                inputs,
                mix,
            )
        )
        self.vote = self._decide()
        self._record(number, found, perf_counter() - start)

    def _on_folds(self, members, columns, emphasis, number: int) -> OnFolds:
        """The members' folds, from the checkpoint if they are there, and kept there if not."""
        training, keep = self.training, not self.model.refit
        if self.checkpoint is not None:
            stored = self.checkpoint.load(number, partial(OnFolds.from_stored, members, training))
            if stored is not None:
                return stored
        found = fit_on_folds(
            members, training, columns, emphasis, self.entropy, number, keep=keep, **self.options
        )
        if self.checkpoint is not None:
            self.checkpoint.save(number, *found.to_store())
        return found

    def _best_forests(self) -> list[Member]:
        """The members of later layers."""
        first, goal = self.layers[0], self.training.goal
        losses = [
            (np.average(goal.losses(vote), weights=goal.weight), i)
            for i, (member, vote) in enumerate(zip(first.members, first.votes, strict=True))
            if member.is_forest
        ]
        best = sorted(losses)[:_LATER]
        return [first.members[i] for i in sorted(i for _, i in best)]

    def _inputs(self, vectors):
        """Members whose vectors the next layer sees: all, or those that a vote of them needs."""
        inputs = list(range(len(vectors)))
        if len(inputs) * vectors.shape[2] <= MOST_COLUMNS:
            return inputs, None
        weights = self.training.goal.weigh(vectors)
        inputs = np.flatnonzero(weights).tolist()
        many = len(inputs) * vectors.shape[2] > MOST_COLUMNS
        return inputs, weights[inputs] if many else None

    def _record(self, number: int, found: OnFolds, elapsed: float) -> None:
        goal = self.training.goal
        each = zip(found.members, found.vectors, found.seconds, strict=True)
        for member, vectors, seconds in each:
            row = leaderboard_row(number, member, goal.figures(vectors), seconds)
            self.leaderboard.append(row)
        figures = goal.vote_figures(self.vote.probabilities)
        self.records.append({"layer": number + 1} | figures | {"time": elapsed})
        if self.model.verbose:
            told = ", ".join(
                f"{name.replace('_', '-')} {figures[name]:.4f}" for name in goal.shown
            )
            tell(f"layer {number + 1}: {told}, {elapsed:.1f} s")
            self._tell_members(number)

    def _tell_members(self, number: int) -> None:
        """Who has a vote, by layer and weight, who has none, and who was given up."""
        rows = zip(self.leaderboard, self.vote.weights, strict=True)
        kept = [(w, row["layer"], row["member"]) for row, w in rows if w > 0]
        shares = [f"{name} ({layer}) {w:.2f}" for w, layer, name in sorted(kept, reverse=True)]
        tell("  votes: " + ", ".join(shares))
        there = {name for _, layer, name in kept if layer == number + 1}
        for what, these in (("no vote", self.leaderboard), ("given up", self.hopeless)):
            names = [row["member"] for row in these if row["layer"] == number + 1]
            if names := [name for name in names if name not in there]:
                tell(f"  {what}: " + ", ".join(names))

    def history(self) -> dict[str, np.ndarray]:
        """Figures of all layers by name."""
        return {name: np.array([r[name] for r in self.records]) for name in self.records[0]}

    # The model

    def fitted_layers(self) -> list[DeepLayer]:
        """Members that vote, or feed a later layer that does, grown on all samples."""
        ends = np.cumsum([len(layer.members) for layer in self.layers])
        weights = np.split(self.vote.weights, ends[:-1])
        while len(weights) > 1 and not weights[-1].any():
            weights.pop()
        fitted = []
        for number, of_layer in enumerate(weights):
            layer = self.layers[number]
            fed = set(layer.inputs) if number + 1 < len(weights) else set()
            kept = [i for i in range(len(layer.members)) if of_layer[i] > 0 or i in fed]
            voters = self._voters(number, layer, kept, of_layer)
            sizes = {voter.name: len(pickle.dumps(to_plain(voter.models))) for voter in voters}
            for row in self.leaderboard:
                if row["layer"] == number + 1:
                    row["bytes"] = sizes.get(row["member"], 0)
            self.features.append(columns_of(layer.vectors[kept], None))
            inputs = [kept.index(i) for i in layer.inputs] if fed else []
            n_handed = 0 if layer.handed is None else layer.handed.shape[1]
            bins = self.training.table.bins.columns(self.n_raw, self.n_raw + n_handed)
            mix = layer.mix if fed else None
            fitted.append(DeepLayer(voters, inputs, mix, bins, self._tried(number, voters)))
        return fitted

    def _tried(self, number: int, voters: list[Voter]) -> list[np.ndarray] | None:
        """See `DeepLayer`."""
        if number or any(voter.is_forest for voter in voters):
            return None
        first = self.layers[0]
        return [
            np.sum([of_fold.importances for of_fold in of_folds], axis=0)
            for member, of_folds in zip(first.members, first.models, strict=True)
            if member.is_forest
        ]

    def _voters(self, number, layer: _GrownLayer, kept, weights) -> list[Voter]:
        training = self.training
        if number:
            training.table.replace_columns(
                self.n_raw,
                layer.handed,
                sample_weight=training.weights.row,
                n_jobs=self.model.n_jobs,
            )
        forests = [i for i in kept if layer.members[i].is_forest]
        grown = {i: layer.models[i] for i in forests}
        if self.model.refit and forests:
            again = grow_forests(
                [layer.members[i].in_full(training.goal.n_times) for i in forests],
                training,
                layer.columns,
                layer.emphasis,
                (*self.entropy, 6, number),
                parts=[(training.everything, None)],
                keep=True,
                importances=True,
                description=f"layer {number + 1} on all samples",
                **self.options,
            )
            grown = dict(zip(forests, again, strict=True))
        voters = []
        for i in kept:
            member = layer.members[i]
            if member.is_forest:
                models = [trees for part in grown[i] for trees in part.trees]
                importances = np.sum([part.importances for part in grown[i]], axis=0)
            else:
                models, importances = layer.models[i], None
                if self.model.refit and not member.is_boosted:
                    parts = [(training.everything, None)]
                    seeds = (*self.entropy, 7, i)
                    again = fit_parts(
                        member.model, training, parts, seeds, self.model.n_jobs, member.name
                    )
                    models = [model for model, _ in again]
            voters.append(
                Voter(
                    member.name,
                    float(weights[i]),
                    layer.exponents[i],
                    models,
                    member.is_forest,
                    importances,
                    training.goal.unit,
                )
            )
        return voters
