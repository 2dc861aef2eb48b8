"""The layers of a deep forest that is being grown, and what they predict together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from mddf._binning.bins import apply_bins
from mddf._deep_forest.fold_trainer import Features, OutOfFoldLayer, Training
from mddf._ensemble.blending import Calibration
from mddf._ensemble.margin_loss import class_margins
from mddf._fitted.vector_layout import columns_of
from mddf._members.spec import MemberSpec

# Of vectors of more columns than this, the next layer sees the weighted mean.
MOST_COLUMNS = 300
# So many kinds of forests are members of later layers: those with the least losses in the first.
_LATER = 2


@dataclass
class GrownLayer:
    """A layer with its out-of-fold vectors."""

    members: list[MemberSpec]
    vectors: np.ndarray  # (n_members, n_samples, n_columns)
    votes: np.ndarray  # the same, sharpened
    exponents: list[float]
    models: list[Any]
    seconds: np.ndarray  # of the members
    reweighting: np.ndarray | None = None
    inputs: list[int] = field(default_factory=list)  # members that the next layer sees
    average_weights: np.ndarray | None = None  # weights of their mean, where it sees only that
    features: Features | None = None  # what it sees of them
    lost_importances: tuple[np.ndarray, ...] = ()  # of forests that were fitted on one fold

    @classmethod
    def of(cls, task: Any, found: OutOfFoldLayer) -> GrownLayer:
        """From members on folds."""
        exponents = [task.own_exponent(of_member) for of_member in found.vectors]
        votes = [task.sharpened(v, e) for v, e in zip(found.vectors, exponents, strict=True)]
        lost = found.lost_importances
        given = (found.members, found.vectors, np.stack(votes), exponents, found.models)
        return cls(*given, found.seconds, lost_importances=lost)

    def best_forests(self, task: Any) -> list[MemberSpec]:
        """The members of later layers."""
        losses = [
            (np.average(task.losses(vote), weights=task.weight), i)
            for i, (member, vote) in enumerate(zip(self.members, self.votes, strict=True))
            if member.is_forest
        ]
        best = sorted(losses)[:_LATER]
        return [self.members[i] for i in sorted(i for _, i in best)]


@dataclass(frozen=True)
class Vote:
    """What some layers predict together, out-of-fold: as it is and calibrated."""

    weights: np.ndarray
    mean: np.ndarray
    calibration: Calibration
    probabilities: np.ndarray

    @classmethod
    def of(cls, training: Training, layers: Sequence[GrownLayer]) -> Vote:
        """The vote of all members of some layers."""
        task = training.task
        votes = [of_member for layer in layers for of_member in layer.votes]
        weights = task.weigh(votes)
        mean: Any = sum(w * of_member for w, of_member in zip(weights, votes, strict=True) if w)
        calibration = task.calibration(mean)
        return cls(weights, mean, calibration, calibration(mean))

    def margins(self, task: Any) -> np.ndarray | None:
        """Those of the average; of numbers none."""
        if not task.has_margins:
            return None
        return class_margins(self.mean, task.target)


class Stack:
    """The layers so far.

    Parameters
    ----------
    training : Training

    Attributes
    ----------
    layers : list of GrownLayer
    vote : Vote
        Once there is a layer.
    """

    vote: Vote

    def __init__(self, training: Training) -> None:
        self.training = training
        self.layers: list[GrownLayer] = []

    def vote_with(self, layer: GrownLayer) -> Vote:
        """What they would predict with another layer."""
        return Vote.of(self.training, [*self.layers, layer])

    def add(self, layer: GrownLayer, vote: Vote) -> None:
        """Add a layer, with which they vote so."""
        self.layers.append(layer)
        self.vote = vote

    def weights(self) -> list[np.ndarray]:
        """Of the members, by layers."""
        ends = np.cumsum([len(layer.members) for layer in self.layers])
        return np.split(self.vote.weights, ends[:-1])

    def features(self, number: int) -> Features:
        """What layer `number` sees of the one before, out-of-fold."""
        before = self.layers[number - 1]
        if before.features is None:
            before.inputs, before.average_weights = self._inputs(number - 1)
            vectors = columns_of(before.vectors[before.inputs], before.average_weights)
            before.features = self.training.bin_features(vectors)
        return before.features

    def _inputs(self, number: int) -> tuple[list[int], np.ndarray | None]:
        """Members of a layer that the next one sees: those that vote, or all if none does.

        Where their vectors are too many columns, the second value holds the weights of their mean.
        """
        layer, weights = self.layers[number], self.weights()[number]
        inputs = np.flatnonzero(weights if weights.any() else weights + 1).tolist()
        most = MOST_COLUMNS // layer.vectors.shape[2]
        return inputs, weights[inputs] / weights.sum() if len(inputs) > most else None

    def read(
        self, number: int, vectors: np.ndarray, rows: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray | None]:
        """Features for layer `number` of vectors of the inputs; of the first layer margins, too.

        Parameters
        ----------
        number : int
        vectors : ndarray of shape (n_inputs, n_rows, n_columns)
        rows : ndarray of int
        """
        before, task = self.layers[number - 1], self.training.task
        codes = apply_bins(columns_of(vectors, before.average_weights), self.features(number).bins)
        if len(self.layers) > 1 or not task.has_margins:
            return codes, None
        weights, exponents = self.vote.weights, before.exponents
        votes = zip(before.inputs, vectors, strict=True)
        mean: Any = sum(
            weights[i] * task.sharpened(v, exponents[i]) for i, v in votes if weights[i]
        )
        return codes, class_margins(mean, task.target[rows])
