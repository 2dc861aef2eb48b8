"""Growing a cascade layer by layer."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any

import numpy as np

from mddf._base.memmap import mean_of, put_aside
from mddf._cascade.layer import grow_layer, layer_parts
from mddf._cascade.model import CascadeModel, Layer
from mddf._cascade.plan import CascadePlan
from mddf._cascade.stopping import Stopper
from mddf._ensemble.coefficients import LastLayer, MarginHistory
from mddf._ensemble.margin_loss import (
    class_margins,
    effective_sample_size,
    margin_moments,
    margin_ratio,
)
from mddf._fitted.vector_layout import combine
from mddf._training.checkpoints import Checkpoint
from mddf._training.layer_trainer import LayerInput, LayerTrainer

# Figures of each layer, in this order.
HISTORY = (
    "layer",
    "score",
    "layer_score",
    "alpha",
    "accuracy",
    "margin_mean",
    "margin_std",
    "margin_ratio",
    "effective_samples",
    "time",
)


@dataclass
class Trace:
    """How the growing of a cascade went.

    Attributes
    ----------
    history : dict of str to ndarray of shape (n_grown,)
        Of all layers that were grown.
    margins : list of ndarray of shape (n_samples,)
        Of all layers that were grown: out-of-fold margins of the layers so far together.
    weights : list of ndarray of shape (n_samples,)
        Of all layers that were grown: what they weighed the samples by, of sum 1.
    member_scores : list of ndarray of shape (n_forests,)
        Of all layers that were grown: out-of-fold scores of their forests alone.
    vectors : list of list of ndarray of shape (n_samples, n_classes)
        Out-of-fold class vectors of the kept layers' forests, if they are wanted.
    probabilities : ndarray of shape (n_samples, n_classes)
        Out-of-fold, of the kept layers together.
    stop_reason : str
        Why no more layers were grown, and how many are kept.
    """

    history: dict[str, np.ndarray] = field(default_factory=dict)
    margins: list[np.ndarray] = field(default_factory=list)
    weights: list[np.ndarray] = field(default_factory=list)
    member_scores: list[np.ndarray] = field(default_factory=list)
    vectors: list[list[np.ndarray]] = field(default_factory=list)
    probabilities: np.ndarray = field(default_factory=lambda: np.empty((0, 0)))
    stop_reason: str = ""


class _Margins:
    """What the layers so far predict out-of-fold: what they leave to the next one.

    Attributes
    ----------
    alphas : ndarray of shape (n_layers,)
        Coefficients.
    reweighting : ndarray of shape (n_samples,) or None
        Factors of the samples' weights in the next layer.
    """

    def __init__(self, trainer: LayerTrainer, plan: CascadePlan) -> None:
        self.trainer, self.plan = trainer, plan
        self.alphas = np.empty(0)
        self.reweighting: np.ndarray | None = None
        # Of each layer alone: its out-of-fold vectors, in parts side by side, and its margins.
        self._vectors: list[list[Any]] = []
        self._margins = np.empty((len(trainer.order), 0))

    def add(self, vectors: list[np.ndarray], entropy: tuple[int, ...]) -> np.ndarray:
        """Add the vectors of a layer's forests; their mean."""
        trainer, kind = self.trainer, self.plan.kind
        alone = mean_of(vectors)
        self._vectors.append(vectors if self.plan.layout.per_forest else [put_aside(alone)])
        margins = class_margins(alone, trainer.task.target)
        self._margins = np.column_stack([self._margins, margins])
        history = MarginHistory(
            self._margins, self.alphas, trainer.weights.row, trainer.order, entropy
        )
        self.alphas = kind.rule(history)
        if kind.reweighting is not None:
            self.reweighting = kind.reweighting(history, self.alphas)
        if len(self._vectors) > 1 and isinstance(kind.rule, LastLayer):
            self._vectors[-2] = [None] * len(self._vectors[-1])  # not used again
        return alone

    def distribution(self) -> np.ndarray:
        """Weights of the samples in the next layer, of sum 1."""
        row = self.trainer.weights.row
        weights = np.ones(len(self.trainer.order)) if row is None else row.copy()
        if self.reweighting is not None:
            weights *= self.reweighting
        return weights / weights.sum()

    def augmented(self) -> Iterator[np.ndarray]:
        """The augmented features of the next layer, in parts side by side."""
        for of_layers in zip(*self._vectors, strict=True):
            yield combine(of_layers, self.alphas)


class _Growth:
    """A cascade that is being grown."""

    def __init__(
        self,
        trainer: LayerTrainer,
        plan: CascadePlan,
        score: Callable[..., float],
        entropy: Sequence[int],
        checkpoint: Checkpoint | None,
    ) -> None:
        self.trainer, self.plan, self.score = trainer, plan, score
        self.entropy, self.checkpoint = entropy, checkpoint
        self.model = CascadeModel([], [], plan.layout, trainer.n_raw)
        self.trace = Trace()
        self.so_far = _Margins(trainer, plan)

    def add_layer(self) -> tuple[dict[str, float], np.ndarray]:
        """Add the next layer; its figures, and the probabilities so far."""
        start, number, trace = perf_counter(), len(self.model.layers), self.trace
        distribution = self.so_far.distribution()
        layer, vectors, seconds = self._layer(number)
        start -= seconds
        trace.weights.append(put_aside(distribution))
        trace.vectors.append(vectors)
        trace.member_scores.append(np.array([*map(self.score, vectors)]))
        layer_score = self.score(self.so_far.add(vectors, (*self.entropy, 2, number)))
        self.model.layers.append(layer)
        self.model.alphas.append(self.so_far.alphas)
        record, probabilities = self._judge()
        record |= {
            "layer": number + 1,
            "layer_score": layer_score,
            "effective_samples": effective_sample_size(distribution),
            "time": perf_counter() - start,
        }
        return record, probabilities

    def _layer(self, number: int) -> tuple[Layer, list[np.ndarray], float]:
        """A layer, its vectors, and the seconds that growing it took a fit before this one."""
        if self.checkpoint is None:
            return *self._grow(number), 0.0
        stored = self.checkpoint.load(number, self._stored)
        if stored is not None:
            return stored
        start = perf_counter()
        grown = self._grow(number)
        self.checkpoint.save(number, *grown, perf_counter() - start)
        return *grown, 0.0

    def _stored(
        self, layer: Layer, vectors: list[np.ndarray], seconds: float
    ) -> tuple[Layer, list[np.ndarray], float]:
        """The parts of a layer's checkpoint, checked."""
        shape = len(self.trainer.order), self.plan.layout.n_classes
        if not isinstance(layer, Layer) or len(layer.members) != len(vectors):
            raise ValueError("it holds no layer")
        if any(of_forest.shape != shape for of_forest in vectors):
            raise ValueError(f"its vectors must have shape {shape}")
        return layer, vectors, float(seconds)

    def _grow(self, number: int) -> tuple[Layer, list[np.ndarray]]:
        trainer, plan = self.trainer, self.plan
        added = None
        if number:
            trainer.append(self.so_far.augmented())
            if trainer.numbers is not None:
                added = np.hstack(list(self.so_far.augmented()))
        columns = plan.columns(number, trainer.n_raw)
        return grow_layer(
            trainer,
            plan.members(number),
            LayerInput(columns, self.so_far.reweighting, plan.kind.redraw, added),
            layer_parts(plan.folds(number), trainer.everything, plan.refit),
            (*self.entropy, 0, number),
            name=f"layer {number + 1}",
        )

    def _judge(self) -> tuple[dict[str, float], np.ndarray]:
        labels, weight = self.trainer.task.target, self.trainer.weights.row
        probabilities = mean_of(self.so_far.augmented())
        margins = class_margins(probabilities, labels)
        self.trace.margins.append(put_aside(margins))
        mean, spread = margin_moments(margins, weight)
        right = probabilities.argmax(axis=1) == labels
        return {
            "score": self.score(probabilities),
            "alpha": self.so_far.alphas[-1],
            "accuracy": float(np.average(right, weights=weight)),
            "margin_mean": mean,
            "margin_std": spread,
            "margin_ratio": margin_ratio(margins, weight),
        }, probabilities


def _layer_line(record: dict[str, float]) -> str:
    return (
        f"layer {record['layer']}: out-of-fold accuracy {record['accuracy']:.4f}, score "
        f"{record['score']:.4f} (layer alone {record['layer_score']:.4f}), margin ratio "
        f"{record['margin_ratio']:.3f}, effective samples {record['effective_samples']:.0f}, "
        f"{record['time']:.1f} s"
    )


def grow_cascade(
    trainer: LayerTrainer,
    plan: CascadePlan,
    score: Callable[..., float],
    stopper: Stopper,
    entropy: Sequence[int],
    *,
    verbose: int = 0,
    keep_vectors: bool = False,
    checkpoint: Checkpoint | None = None,
) -> tuple[CascadeModel, Trace]:
    """Fit a cascade.

    Parameters
    ----------
    trainer : LayerTrainer
        The spare columns of its table are written over.
    plan : CascadePlan
    score : callable
        From out-of-fold probabilities to a number, larger if better.
    stopper : Stopper
    entropy : sequence of int
        Of all random streams.
    verbose : int, default=0
        1 prints a line for each layer.
    keep_vectors : bool, default=False
        Whether the out-of-fold class vectors are wanted.
    checkpoint : Checkpoint, default=None
        Where layers are kept as soon as they are grown, and taken from if they are there.

    Returns
    -------
    model : CascadeModel
        Of the layers that are kept.
    trace : Trace
    """
    growth = _Growth(trainer, plan, score, entropy, checkpoint)
    model, trace = growth.model, growth.trace
    for _ in range(stopper.n_layers):
        record, probabilities = growth.add_layer()
        if verbose:
            print(_layer_line(record))
        if not keep_vectors:
            trace.vectors.clear()
        is_over = stopper.is_over(record, probabilities)
        del probabilities  # what is wanted of them has been put aside
        if is_over:
            break
    last, trace.probabilities, trace.stop_reason = stopper.kept()
    if verbose:
        print(trace.stop_reason)
    trace.history = {
        name: np.array([record[name] for record in stopper.records]) for name in HISTORY
    }
    for kept in (model.layers, model.alphas, trace.vectors):
        del kept[last + 1 :]
    return model, trace
