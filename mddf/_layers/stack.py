"""Layers of a deep forest that is being built, and their average."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from mddf._binning.bins import apply_bins
from mddf._fitted.calibration import Calibration
from mddf._fitted.vector_layout import columns_of
from mddf._layers.fold_trainer import Features, FoldTrainer
from mddf._layers.margin_loss import class_margins
from mddf._layers.member import ForestMember, Member, members_of_later_layers
from mddf._layers.tasks import Task

# If vectors have more columns in all, the next layer gets their weighted mean. This bounds the
# spare columns of the table, and the time that their splits take. Set by hand.
MOST_COLUMNS = 300
# Later layers have the two kinds of forests with the least losses in the first layer. More kinds
# would cost time in proportion, and were not tried.
_N_LATER_FORESTS = 2


@dataclass
class LayerEvidence:
    """Members that were trained on folds, with their predictions of the held-out rows.

    A layer of the stack also has votes, exponents, and the input that it gives the next layer.
    """

    members: Sequence[Member]
    vectors: np.ndarray  # (n_members, n_samples, n_columns)
    # For each member, the models of the folds, if they are kept; growth results of forests.
    models: list[Any]
    seconds: np.ndarray  # (n_members,)
    # Rows of the leaderboard of members that were left out after the first fold.
    pruned: list[dict[str, Any]]
    # Strength with which losses of margins reweighted the samples of a later layer.
    strength: float = 0.0
    # Importances of the forests among the members that were left out.
    pruned_importances: tuple[np.ndarray, ...] = ()
    # By the numbers of members with early stopping: vectors like `vectors`, with numbers of rounds
    # that are chosen without the held-out rows. Figures are made from them.
    blind_vectors: dict[int, np.ndarray] = field(default_factory=dict)
    # Set by `weigh`: vectors raised to the exponents of the members.
    votes: np.ndarray = field(default_factory=lambda: np.empty((0, 0, 0)))
    exponents: list[float] = field(default_factory=list)
    reweighting: np.ndarray | None = None  # (n_samples,): factors of the samples' weights
    inputs: list[int] = field(default_factory=list)  # members whose vectors are passed on
    # Weights of the mean of these vectors, if only the mean is passed on.
    average_weights: np.ndarray | None = None
    features: Features | None = None  # input of the next layer

    def weigh(self, task: Task) -> None:
        """Fit the exponents of the members."""
        self.exponents = [task.member_exponent(vectors) for vectors in self.vectors]
        self.votes = np.stack([*map(task.sharpened, self.vectors, self.exponents)])

    @property
    def figure_vectors(self) -> list[np.ndarray]:
        """Vectors of each member from which figures are made."""
        return [self.blind_vectors.get(i, vectors) for i, vectors in enumerate(self.vectors)]

    def to_store(self) -> tuple[Any, ...]:
        """Return names, chosen parameters, arrays and plain models, for a checkpoint."""
        models = [
            member.plain_models(models_of_folds)
            for member, models_of_folds in zip(self.members, self.models, strict=True)
        ]
        names = [(member.name, member.chosen) for member in self.members]
        return (
            names,
            self.vectors,
            models,
            self.seconds,
            self.pruned,
            self.strength,
            list(self.pruned_importances),
            self.blind_vectors,
        )

    @classmethod
    def from_stored(
        cls, members: list[Member], trainer: FoldTrainer, parts: Sequence[Any]
    ) -> LayerEvidence:
        """Restore a layer of some of these members from the parts of `to_store`."""
        names, vectors, models, seconds, pruned, strength, importances, blind_vectors = parts
        by_name = {member.name: member for member in members}
        kept_members = [by_name[name].with_chosen(chosen) for name, chosen in names]
        shape = len(kept_members), trainer.n_samples, trainer.task.n_columns
        if vectors.shape != shape or seconds.shape != shape[:1]:
            raise ValueError(f"its vectors must have shape {shape}")
        models = [
            member.models_from_plain(fold_models)
            for member, fold_models in zip(kept_members, models, strict=True)
        ]
        return cls(
            kept_members,
            vectors,
            models,
            seconds,
            pruned,
            strength=strength,
            pruned_importances=tuple(importances),
            # A file has texts as keys.
            blind_vectors={int(number): blind for number, blind in blind_vectors.items()},
        )

    def best_forests(self, task: Task) -> list[ForestMember]:
        """Forests of least loss, which are the members of later layers."""
        losses = [
            (task.mean_loss(vote), i)
            for i, (member, vote) in enumerate(zip(self.members, self.votes, strict=True))
            if member.for_later_layers()
        ]
        best = sorted(losses)[:_N_LATER_FORESTS]
        return members_of_later_layers(self.members[i] for i in sorted(i for _, i in best))


@dataclass(frozen=True)
class Average:
    """Out-of-fold weighted average of the members of some layers."""

    weights: np.ndarray  # (n_members,): weights of the members of all layers
    mean: np.ndarray  # (n_samples, n_columns): weighted mean of the votes
    calibration: Calibration
    forecast: np.ndarray  # (n_samples, n_columns): calibrated mean

    @classmethod
    def from_votes(cls, task: Task, votes: Sequence[np.ndarray], weights: np.ndarray) -> Average:
        """Average votes with these weights, and calibrate the mean."""
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
        self.layers: list[LayerEvidence] = []

    def average_with(self, layer: LayerEvidence) -> Average:
        """Average of the layers so far and another one."""
        layers = [*self.layers, layer]
        votes = [vote for grown in layers for vote in grown.votes]
        task = self.trainer.task
        return Average.from_votes(task, votes, task.member_weights(votes))

    def add(self, layer: LayerEvidence, average: Average) -> None:
        """Add a layer, with the average that includes it."""
        self.layers.append(layer)
        self.average = average

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
        ends = np.cumsum([len(layer.members) for layer in self.layers])
        return np.split(self.average.weights, ends[:-1])

    def has_weighted_forest(self) -> bool:
        """Whether a forest has a weight above 0."""
        members = [member for layer in self.layers for member in layer.members]
        return any(
            weight > 0 and member.for_later_layers() is not None
            for member, weight in zip(members, self.average.weights, strict=True)
        )

    def features_for(self, number: int) -> Features:
        """Out-of-fold features that the layer before passes on to layer `number`."""
        before = self.layers[number - 1]
        if before.features is None:
            self._choose_inputs(number - 1)
            vectors = columns_of(before.vectors[before.inputs], before.average_weights)
            before.features = self.trainer.bin_features(vectors)
        return before.features

    def _choose_inputs(self, number: int) -> None:
        """Choose the members whose vectors are passed on: members with a weight, or all."""
        layer = self.layers[number]
        weights = self.weights_by_layer()[number]
        layer.inputs = np.flatnonzero(weights if weights.any() else weights + 1).tolist()
        if len(layer.inputs) > MOST_COLUMNS // layer.vectors.shape[2]:
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
            task.sharpened(member_vectors, layer.exponents[i])
            for i, member_vectors in zip(layer.inputs, vectors, strict=True)
        ]
        mean = weighted_mean(self.average.weights[layer.inputs], votes)
        return class_margins(mean, task.target[rows])
