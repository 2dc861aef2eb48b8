"""Layers of a deep forest that is being built, and their average."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from mddf._binning.bins import apply_bins
from mddf._fitted.calibration import Calibration
from mddf._fitted.vector_layout import columns_of
from mddf._layers.evidence import Evidence
from mddf._layers.margin_loss import class_margins
from mddf._layers.member import ForestMember, Member, members_of_later_layers
from mddf._layers.report import FitReport, Leaderboard
from mddf._layers.tasks import Task
from mddf._layers.trainer import Features, Trainer

# If vectors have more columns in all, the next layer gets their weighted mean. This bounds the
# spare columns of the table, and the time that their splits take. Set by hand.
MOST_COLUMNS = 300
# Later layers have the two kinds of forests with the least losses in the first layer. More kinds
# would cost time in proportion, and were not tried.
_N_LATER_FORESTS = 2


@dataclass
class Layer:
    """A layer: evidence about its members, and the input that it gives the next layer."""

    evidence: list[Evidence]
    # Strength with which losses of margins reweighted the samples of a later layer.
    strength: float = 0.0
    # Rows of the leaderboard of members that were left out after the first fold, and importances
    # of the forests among them.
    pruned: list[dict[str, Any]] = field(default_factory=list)
    pruned_importances: list[np.ndarray] = field(default_factory=list)
    reweighting: np.ndarray | None = None  # (n_samples,): factors of the samples' weights
    inputs: list[int] = field(default_factory=list)  # members whose vectors are passed on
    # Weights of the mean of these vectors, if only the mean is passed on.
    average_weights: np.ndarray | None = None
    features: Features | None = None  # input of the next layer

    def vote(self, task: Task) -> None:
        """Fit the exponents of the members."""
        for evidence in self.evidence:
            evidence.exponent = task.member_exponent(evidence.vectors)
            evidence.vote = task.sharpened(evidence.vectors, evidence.exponent)

    @property
    def votes(self) -> list[np.ndarray]:
        """Vectors raised to the exponents of the members."""
        return [evidence.vote for evidence in self.evidence if evidence.vote is not None]

    @property
    def figure_vectors(self) -> list[np.ndarray]:
        """Vectors of each member from which figures are made."""
        return [evidence.figure_vectors for evidence in self.evidence]

    def best_forests(self, task: Task) -> list[ForestMember]:
        """Forests of least loss, which are the members of later layers."""
        losses = [
            (task.mean_loss(vote), i)
            for i, (evidence, vote) in enumerate(zip(self.evidence, self.votes, strict=True))
            if evidence.member.for_later_layers()
        ]
        best = sorted(losses)[:_N_LATER_FORESTS]
        numbers = sorted(i for _, i in best)
        return members_of_later_layers(self.evidence[i].member for i in numbers)

    def state(self) -> dict[str, Any]:
        """The layer before `vote`, for a checkpoint; members are stored by their names."""
        return {
            "members": [
                {
                    "name": evidence.member.name,
                    "chosen": evidence.member.chosen,
                    "models": evidence.models,
                    "vectors": evidence.vectors,
                    "blind_vectors": evidence.blind_vectors,
                    "seconds": evidence.seconds,
                }
                for evidence in self.evidence
            ],
            "strength": self.strength,
            "pruned": self.pruned,
            "pruned_importances": self.pruned_importances,
        }

    @classmethod
    def from_state(cls, state: dict[str, Any], members: Sequence[Member]) -> Layer:
        """Undo `state`, for a layer of some of these members."""
        by_name = {member.name: member for member in members}
        evidence = []
        for fields in state.pop("members"):
            member = by_name[fields.pop("name")].with_chosen(fields.pop("chosen"))
            evidence.append(Evidence(member, **fields))
        return cls(evidence, **state)


@dataclass(frozen=True)
class Average:
    """Out-of-fold weighted average of the members of some layers."""

    weights: np.ndarray  # (n_members,): weights of the members of all layers
    mean: np.ndarray  # (n_samples, n_columns): weighted mean of the votes
    calibration: Calibration
    forecast: np.ndarray  # (n_samples, n_columns): calibrated mean

    @classmethod
    def from_votes(cls, task: Task, votes: Sequence[np.ndarray]) -> Average:
        """Choose the weights of the votes, and calibrate their mean."""
        weights = task.member_weights(votes)
        mean = weighted_mean(weights, votes)
        calibration = task.fit_calibration(mean)
        return cls(weights, mean, calibration, calibration(mean))


def weighted_mean(
    weights: Sequence[float] | np.ndarray, votes: Sequence[np.ndarray]
) -> np.ndarray:
    """Weighted sum of the votes that have a weight; weights have sum 1."""
    return sum(weight * vote for weight, vote in zip(weights, votes, strict=True) if weight)


class Stack:
    """The layers of a deep forest so far, and how they were found."""

    average: Average  # as soon as there is a layer
    forecast: np.ndarray  # cross-fitted forecast of the average, from which figures are made

    def __init__(self, trainer: Trainer, report: FitReport, leaderboard: Leaderboard) -> None:
        self.trainer = trainer
        self.report = report
        self.leaderboard = leaderboard
        self.layers: list[Layer] = []
        # Options that are chosen for each kind of named forests.
        self.forest_options: dict[str, dict[str, int]] = {}
        self.stop_reason = ""  # why there are no more layers

    def average_with(self, layer: Layer) -> Average:
        """Average of the layers so far and another one."""
        return Average.from_votes(self.trainer.task, [*self.votes(), *layer.votes])

    def add(self, layer: Layer, average: Average, forecast: np.ndarray, *, elapsed: float) -> None:
        """Keep a layer, with the average that includes it."""
        number = len(self.layers)
        self.layers.append(layer)
        self.average = average
        self.forecast = forecast
        task = self.trainer.task
        self.leaderboard.add_layer(number, task, layer, average=forecast, elapsed=elapsed)
        self.leaderboard.print_weights(number, average.weights)

    @property
    def strength(self) -> float:
        """Strength with which the second layer reweights samples; 0 if it is not kept."""
        return self.layers[1].strength if len(self.layers) > 1 else 0.0

    def votes(self) -> list[np.ndarray]:
        """Out-of-fold votes of the members of all layers."""
        return [vote for layer in self.layers for vote in layer.votes]

    def figure_vectors(self) -> list[np.ndarray]:
        """Vectors of the members of all layers from which figures are made."""
        return [vectors for layer in self.layers for vectors in layer.figure_vectors]

    def margins(self) -> np.ndarray | None:
        """Margins of the average; None if the task has none."""
        return self.trainer.task.margins(self.average.mean)

    def weights_by_layer(self) -> list[np.ndarray]:
        """Weights of the members of each layer."""
        ends = np.cumsum([len(layer.evidence) for layer in self.layers])
        return np.split(self.average.weights, ends[:-1])

    def weighted_evidence(self) -> Iterator[Evidence]:
        """Evidence about the members with a weight above 0."""
        evidence = (evidence for layer in self.layers for evidence in layer.evidence)
        for weight, member_evidence in zip(self.average.weights, evidence, strict=True):
            if weight > 0:
                yield member_evidence

    def has_weighted_forest(self) -> bool:
        """Whether a forest has a weight above 0."""
        members = [evidence.member for evidence in self.weighted_evidence()]
        return bool(members_of_later_layers(members))

    def features_for(self, number: int) -> Features:
        """Out-of-fold features that the layer before passes on to layer `number`."""
        before = self.layers[number - 1]
        if before.features is None:
            self._choose_inputs(number - 1)
            vectors = np.stack([before.evidence[i].vectors for i in before.inputs])
            before.features = self.trainer.bin_features(
                columns_of(vectors, before.average_weights)
            )
        return before.features

    def _choose_inputs(self, number: int) -> None:
        """Choose the members whose vectors are passed on: members with a weight, or all."""
        layer = self.layers[number]
        weights = self.weights_by_layer()[number]
        layer.inputs = np.flatnonzero(weights if weights.any() else weights + 1).tolist()
        if len(layer.inputs) > MOST_COLUMNS // self.trainer.task.n_columns:
            layer.average_weights = weights[layer.inputs] / weights.sum()

    def codes_for(self, number: int, vectors: np.ndarray) -> np.ndarray:
        """Input codes of layer `number` from vectors (n_inputs, n_rows, n_columns)."""
        average_weights = self.layers[number - 1].average_weights
        return apply_bins(columns_of(vectors, average_weights), self.features_for(number).bins)

    def first_layer_margins(self, vectors: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """Margins of the first layer's average, from its inputs' vectors of some rows."""
        layer = self.layers[0]
        task = self.trainer.task
        votes = [
            task.sharpened(member_vectors, layer.evidence[i].exponent)
            for i, member_vectors in zip(layer.inputs, vectors, strict=True)
        ]
        mean = weighted_mean(self.average.weights[layer.inputs], votes)
        return class_margins(mean, task.target[rows])
