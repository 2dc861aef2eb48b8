"""Layers of a deep forest that is being built, and their average."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from mddf._binning.bins import apply_bins
from mddf._deep_forest.fold_trainer import Features, FoldTrainer
from mddf._deep_forest.out_of_fold_layer import OutOfFoldLayer
from mddf._ensemble.blending import Calibration
from mddf._ensemble.margin_loss import class_margins
from mddf._fitted.vector_layout import columns_of
from mddf._members.spec import MemberSpec
from mddf._training.tasks import Task

# If vectors have more columns in all, the next layer sees their weighted mean. This bounds the
# spare columns of the table, and the time that their splits take. Set by hand.
MOST_COLUMNS = 300
# Later layers have the two kinds of forests with the least losses in the first layer. More kinds
# would cost time in proportion, and were not tried.
_N_LATER_FORESTS = 2


@dataclass
class GrownLayer:
    """A layer with its out-of-fold vectors."""

    members: list[MemberSpec]
    vectors: np.ndarray  # (n_members, n_samples, n_columns)
    # (n_members, n_samples, n_columns): vectors raised to the members' exponents
    votes: np.ndarray
    exponents: list[float]
    models: list[Any]  # models of the folds for each member
    seconds: np.ndarray  # (n_members,)
    strength: float = 0.0  # strength of the reweighting of its samples
    reweighting: np.ndarray | None = None  # (n_samples,): factors of the samples' weights
    inputs: list[int] = field(default_factory=list)  # members whose vectors the next layer sees
    # Weights of the mean of these vectors, if the next layer sees only the mean
    average_weights: np.ndarray | None = None
    features: Features | None = None  # what the next layer sees
    # Importances of forests that were left out after the first fold
    pruned_importances: tuple[np.ndarray, ...] = ()

    @classmethod
    def from_out_of_fold(cls, task: Task, layer: OutOfFoldLayer) -> GrownLayer:
        """Fit the exponents of the members."""
        exponents = [task.member_exponent(vectors) for vectors in layer.vectors]
        votes = [
            task.sharpened(vectors, exponent)
            for vectors, exponent in zip(layer.vectors, exponents, strict=True)
        ]
        return cls(
            layer.members,
            layer.vectors,
            np.stack(votes),
            exponents,
            layer.models,
            layer.seconds,
            strength=layer.strength,
            pruned_importances=layer.pruned_importances,
        )

    def best_forests(self, task: Task) -> list[MemberSpec]:
        """Forests of least loss, which are the members of later layers."""
        losses = [
            (task.mean_loss(vote), i)
            for i, (member, vote) in enumerate(zip(self.members, self.votes, strict=True))
            if member.is_forest
        ]
        best = sorted(losses)[:_N_LATER_FORESTS]
        return [self.members[i] for i in sorted(i for _, i in best)]


@dataclass(frozen=True)
class Average:
    """Out-of-fold weighted average of the members of some layers."""

    weights: np.ndarray  # (n_members,): weights of the members of all layers
    mean: np.ndarray  # (n_samples, n_columns): weighted mean of the votes
    calibration: Calibration
    forecast: np.ndarray  # (n_samples, n_columns): calibrated mean

    @classmethod
    def from_layers(cls, task: Task, layers: Sequence[GrownLayer]) -> Average:
        """Weight the members of all layers."""
        votes = [vote for layer in layers for vote in layer.votes]
        weights = task.member_weights(votes)
        mean = weighted_mean(weights, votes)
        calibration = task.calibration(mean)
        return cls(weights, mean, calibration, calibration(mean))


def weighted_mean(
    weights: Sequence[float] | np.ndarray, votes: Sequence[np.ndarray]
) -> np.ndarray:
    """Weighted sum of the votes that have a weight; weights have sum 1."""
    return sum(weight * vote for weight, vote in zip(weights, votes, strict=True) if weight)


class Stack:
    """The layers so far."""

    average: Average  # as soon as there is a layer

    def __init__(self, trainer: FoldTrainer) -> None:
        self.trainer = trainer
        self.layers: list[GrownLayer] = []

    def average_with(self, layer: GrownLayer) -> Average:
        """Average of the layers so far and another one."""
        return Average.from_layers(self.trainer.task, [*self.layers, layer])

    def add(self, layer: GrownLayer, average: Average) -> None:
        """Add a layer, with the average that includes it."""
        self.layers.append(layer)
        self.average = average

    def margins(self) -> np.ndarray | None:
        """Margins of the average; None if the task has none."""
        return self.trainer.task.margins(self.average.mean)

    def weights_by_layer(self) -> list[np.ndarray]:
        """Weights of the members of each layer."""
        ends = np.cumsum([len(layer.members) for layer in self.layers])
        return np.split(self.average.weights, ends[:-1])

    def has_weighted_forest(self) -> bool:
        """Whether a forest has a weight above 0."""
        members = [member for layer in self.layers for member in layer.members]
        return any(
            member.is_forest and weight > 0
            for member, weight in zip(members, self.average.weights, strict=True)
        )

    def features_for(self, number: int) -> Features:
        """Out-of-fold features that layer `number` sees of the one before."""
        before = self.layers[number - 1]
        if before.features is None:
            self._choose_inputs(number - 1)
            vectors = columns_of(before.vectors[before.inputs], before.average_weights)
            before.features = self.trainer.bin_features(vectors)
        return before.features

    def _choose_inputs(self, number: int) -> None:
        """Choose the members whose vectors are passed on: those with a weight, or all."""
        layer = self.layers[number]
        weights = self.weights_by_layer()[number]
        layer.inputs = np.flatnonzero(weights if weights.any() else weights + 1).tolist()
        if len(layer.inputs) > MOST_COLUMNS // layer.vectors.shape[2]:
            layer.average_weights = weights[layer.inputs] / weights.sum()

    def codes_for(self, number: int, vectors: np.ndarray) -> np.ndarray:
        """Codes that layer `number` sees of the inputs' vectors (n_inputs, n_rows, n_columns)."""
        average_weights = self.layers[number - 1].average_weights
        return apply_bins(columns_of(vectors, average_weights), self.features_for(number).bins)

    def first_layer_margins(self, vectors: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """Margins of the first layer's average, from its inputs' vectors of some rows."""
        layer = self.layers[0]
        task = self.trainer.task
        votes = [
            task.sharpened(member_vectors, layer.exponents[i])
            for i, member_vectors in zip(layer.inputs, vectors, strict=True)
        ]
        mean = weighted_mean(self.average.weights[layer.inputs], votes)
        return class_margins(mean, task.target[rows])
