"""The loop that builds a cascade: propose a layer, train it, evaluate it, accept it or stop."""

from __future__ import annotations

from abc import ABC, abstractmethod
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import partial
from typing import Any, Generic, TypeVar

from mddf._base.deadline import TimeIsUp
from mddf._training.checkpoints import Checkpoint

Proposal = TypeVar("Proposal")
Layer = TypeVar("Layer")
Evaluation = TypeVar("Evaluation")


@dataclass(frozen=True)
class Stop:
    """Reason why a cascade gets no further layer."""

    reason: str


class LayerPolicy(ABC, Generic[Proposal, Layer, Evaluation]):
    """Decisions of one kind of cascade, which `build_layers` carries out.

    A policy holds the trainer and the history of the layers so far: their out-of-fold vectors,
    their margins, coefficients and scores. Layers are numbered from 0.
    """

    @abstractmethod
    def propose(self, number: int) -> Proposal | Stop:
        """Decide about the members of the next layer and their input."""

    @abstractmethod
    def train(self, number: int, proposal: Proposal) -> Layer | Stop:
        """Train the proposed layer; a policy may stop before the training is complete."""

    @abstractmethod
    def evaluate(self, number: int, layer: Layer) -> Evaluation:
        """Evaluate the layers so far together with the new one."""

    @abstractmethod
    def accept(self, number: int, layer: Layer, evaluation: Evaluation) -> Stop | None:
        """Keep the layer, or reject it; return a reason to stop, if there is one."""

    @abstractmethod
    def to_store(self, layer: Layer) -> tuple[Any, ...]:
        """Plain data of a layer for a checkpoint."""

    @abstractmethod
    def from_stored(self, proposal: Proposal, *parts: Any) -> Layer:
        """Restore a layer from the parts that `to_store` returned."""

    def time_slot(self, number: int) -> AbstractContextManager[None]:
        """Context in which a layer is trained and evaluated; it may raise TimeIsUp."""
        return nullcontext()

    def out_of_time(self, number: int) -> Stop:
        """Reason to stop after TimeIsUp was raised."""
        return Stop("time_limit is over")


def build_layers(
    policy: LayerPolicy[Any, Any, Any], n_layers: int, checkpoint: Checkpoint | None = None
) -> Stop | None:
    """Build the layers of a cascade.

    Parameters
    ----------
    policy : LayerPolicy
    n_layers : int
        Maximum number of layers.
    checkpoint : Checkpoint, default=None
        Where layers are saved as soon as they are trained, and from which a fit that was
        interrupted restores them.

    Returns
    -------
    Stop or None
        None if there are `n_layers` layers.
    """
    for number in range(n_layers):
        proposal = policy.propose(number)
        if isinstance(proposal, Stop):
            return proposal
        try:
            with policy.time_slot(number):
                stop = _add_layer(policy, number, proposal, checkpoint)
        except TimeIsUp:
            return policy.out_of_time(number)
        if stop is not None:
            return stop
    return None


def _add_layer(
    policy: LayerPolicy[Proposal, Layer, Evaluation],
    number: int,
    proposal: Proposal,
    checkpoint: Checkpoint | None,
) -> Stop | None:
    layer: Layer | Stop | None = None
    if checkpoint is not None:
        layer = checkpoint.load(number, partial(policy.from_stored, proposal))
    if layer is None:
        layer = policy.train(number, proposal)
        if isinstance(layer, Stop):
            return layer
        if checkpoint is not None:
            checkpoint.save(number, *policy.to_store(layer))
    assert not isinstance(layer, Stop)
    evaluation = policy.evaluate(number, layer)
    return policy.accept(number, layer, evaluation)
