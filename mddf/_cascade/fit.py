"""Growing a cascade layer by layer."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from time import perf_counter

import numpy as np

from mddf._base.messages import short
from mddf._cascade.layer import Layer, LayerInput, Samples, grow_layer
from mddf._cascade.model import CascadeModel, VectorLayout
from mddf._data.binning import BinnedTable
from mddf._data.folds import Folds
from mddf._data.validation import is_list
from mddf._data.vectors import mean_of, put_aside
from mddf._ensemble.checkpoints import Checkpoint
from mddf._ensemble.coefficients import CoefficientRule, LastLayer, MarginHistory, Reweighting
from mddf._ensemble.margin_loss import (
    class_margins,
    effective_sample_size,
    margin_moments,
    margin_ratio,
)
from mddf._ensemble.scoring import OneSEStopper
from mddf._ensemble.stages import combine


@dataclass(frozen=True)
class CascadePlan:
    """What a cascade is to be.

    Attributes
    ----------
    forests : callable
        From the number of a layer, 0 for the first one, to the list of its forests.
    folds : callable
        From the number of a layer to its folds; None means out-of-bag predictions.
    rule : CoefficientRule
        From margins to the layers' coefficients.
    reweighting : Reweighting or None
        From margins to the samples' weights in the next layer.
    redraw : bool
        Draw by the factors rather than weigh.
    refit : bool
        Keep forests of all samples rather than those of the folds.
    score : callable
        From out-of-fold probabilities to a number, larger if better.
    n_layers : int
        Most layers.
    patience : int or None
        Layers without a better score before the cascade stops; None grows all and keeps all.
    one_se : OneSEStopper or None
        What finds fewer layers that are about as good as those up to the best score.
    tol : callable
        From the best score so far to how much better that has to be.
    grains : sequence of ndarray of int32
        Raw columns that the layers see, in turn.
    sees_raw, sees_augmented : bool
        Whether layers after the first see raw features and those of the layer before.
    layout : VectorLayout
    """

    forests: Callable[[int], list]
    folds: Callable[[int], Folds | None]
    rule: CoefficientRule
    reweighting: Reweighting | None
    redraw: bool
    refit: bool
    score: Callable[..., float]
    n_layers: int
    patience: int | None
    one_se: OneSEStopper | None
    tol: Callable[[float], float]
    grains: Sequence[np.ndarray]
    sees_raw: bool
    sees_augmented: bool
    layout: VectorLayout


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


def resolve_grains(grains, n_features: int) -> list[np.ndarray]:
    """Columns of each grain, from the parameter of that name; None is one with all."""
    everything = np.arange(n_features, dtype=np.int32)
    if grains is None:
        return [everything]
    message = (
        "grains must be a list of slices or arrays of column numbers below "
        f"{n_features}, the number of columns of X, none of them empty; got "
    )
    if not is_list(grains):
        raise ValueError(f"{message}{short(grains)}")
    resolved = []
    for grain in grains:
        try:
            chosen = grain if isinstance(grain, slice) else np.asarray(grain)
            resolved.append(everything[chosen])
        except (IndexError, TypeError, ValueError) as error:
            raise ValueError(f"{message}{short(grain)}") from error
    if not resolved or any(columns.ndim != 1 or len(columns) == 0 for columns in resolved):
        raise ValueError(f"{message}{short(grains)}")
    return resolved


def _layer_line(record: dict[str, float]) -> str:
    return (
        f"layer {record['layer']}: out-of-fold accuracy {record['accuracy']:.4f}, score "
        f"{record['score']:.4f} (layer alone {record['layer_score']:.4f}), margin ratio "
        f"{record['margin_ratio']:.3f}, effective samples {record['effective_samples']:.0f}, "
        f"{record['time']:.1f} s"
    )


def _stop_reason(records, kept: int, best: int, improved: int, plan: CascadePlan) -> str:
    """One line for people: why the last layer was the last, and what is kept."""
    n_grown, last = len(records), records[improved]
    kept_layers = f"kept {kept + 1} of {n_grown} layer{'s' * (n_grown > 1)}"
    if kept < best:
        kept_layers += f", within the error of the best score (layer {best + 1})"
    if plan.patience is None:
        return f"all n_layers={plan.n_layers} were grown, without early stopping; {kept_layers}"
    waited, tol = n_grown - 1 - improved, plan.tol(last["score"])
    if waited == 0:
        return f"n_layers={plan.n_layers} reached while the score still rose; {kept_layers}"
    reached = f"n_layers={plan.n_layers} reached, " if waited < plan.patience else ""
    return (
        f"{reached}no score above {last['score']:.4f} (layer {improved + 1}) by more than "
        f"tol={tol:.3g} in the {waited} layer{'s' * (waited > 1)} after it; {kept_layers}"
    )


def _rank(record: dict[str, float]) -> tuple[float, float]:
    """By the score, and between equal ones, which small sets have often, by the margins."""
    return record["score"], record["margin_mean"]


def _distribution(samples: Samples, reweighting: np.ndarray | None) -> np.ndarray:
    row = samples.weights.row
    weights = np.ones(len(samples.labels)) if row is None else row.copy()
    if reweighting is not None:
        weights *= reweighting
    return weights / weights.sum()


class _Growth:
    """A cascade that is being grown: what the layers so far leave to the next one."""

    def __init__(self, table, numbers, samples, plan, entropy, checkpoint):
        self.table: BinnedTable = table
        self.numbers, self.checkpoint = numbers, checkpoint
        self.samples, self.plan, self.entropy = samples, plan, entropy
        n_raw = table.bins.n_columns - plan.layout.n_columns
        self.model = CascadeModel([], [], plan.layout, n_raw)
        self.trace = Trace()
        self.reweighting: np.ndarray | None = None
        self.alphas = np.empty(0)
        # Of each layer alone: its out-of-fold vectors, in parts side by side, and its margins.
        self.oof_vectors: list[list] = []
        self.layer_margins = np.empty((table.n_rows, 0))

    def _seen_columns(self, number: int) -> np.ndarray:
        plan, n_raw = self.plan, self.model.n_raw
        raw = plan.grains[number % len(plan.grains)]
        if number == 0 or not plan.sees_augmented:
            return raw
        augmented = np.arange(n_raw, n_raw + plan.layout.n_columns, dtype=np.int32)
        return np.concatenate([raw, augmented]) if plan.sees_raw else augmented

    def add_layer(self, n_jobs, show_bar: bool) -> tuple[dict[str, float], np.ndarray]:
        """Add the next layer; what there is to say of it, and the probabilities so far."""
        start = perf_counter()
        number = len(self.model.layers)
        layer, vectors, seconds = self._layer(number, n_jobs, show_bar)
        start -= seconds
        distribution = _distribution(self.samples, self.reweighting)
        self.trace.weights.append(put_aside(distribution))
        self.trace.vectors.append(vectors)
        self.trace.member_scores.append(np.array([*map(self.plan.score, vectors)]))
        layer_score = self._listen(vectors)
        self._weigh(number)
        self.model.layers.append(layer)
        self.model.alphas.append(self.alphas)
        record, probabilities = self._judge()
        record |= {
            "layer": number + 1,
            "layer_score": layer_score,
            "effective_samples": effective_sample_size(distribution),
            "time": perf_counter() - start,
        }
        return record, probabilities

    def _layer(self, number: int, n_jobs, show_bar) -> tuple[Layer, list[np.ndarray], float]:
        """A layer, its vectors, and the seconds that growing it took a fit before this one."""
        if self.checkpoint is None:
            return *self._grow(number, n_jobs, show_bar), 0.0
        stored = self.checkpoint.load(number, self._stored)
        if stored is not None:
            return stored
        start = perf_counter()
        grown = self._grow(number, n_jobs, show_bar)
        self.checkpoint.save(number, *grown, perf_counter() - start)
        return *grown, 0.0

    def _stored(self, layer, vectors, seconds) -> tuple[Layer, list[np.ndarray], float]:
        """The parts of a layer's checkpoint, checked."""
        shape = len(self.samples.labels), self.samples.n_classes
        if not isinstance(layer, Layer) or len(layer.members) != len(vectors):
            raise ValueError("it holds no layer")
        if any(of_forest.shape != shape for of_forest in vectors):
            raise ValueError(f"its vectors must have shape {shape}")
        return layer, vectors, float(seconds)

    def _grow(self, number: int, n_jobs, show_bar) -> tuple[Layer, list[np.ndarray]]:
        augmented = None
        if number:
            first = self.model.n_raw
            for part in self._augmented():
                self.table.replace_columns(
                    first, part, sample_weight=self.samples.weights.row, n_jobs=n_jobs
                )
                first += part.shape[1]
                del part  # the room of a column for each sample while the layer grows
            if self.numbers is not None:
                augmented = np.hstack(list(self._augmented()))
        return grow_layer(
            self.plan.forests(number),
            self.samples,
            LayerInput(
                self.table,
                self.numbers,
                augmented,
                self.plan.layout.n_columns,
                self._seen_columns(number),
                self.plan.folds(number),
                self.reweighting,
                self.plan.redraw,
                self.plan.refit,
            ),
            (*self.entropy, 0, number),
            name=f"layer {number + 1}",
            n_jobs=n_jobs,
            verbose=show_bar,
        )

    def _listen(self, vectors: list[np.ndarray]) -> float:
        """Take in what the new layer's forests say; the score of what they say together."""
        alone = mean_of(vectors)
        self.oof_vectors.append(vectors if self.plan.layout.per_forest else [put_aside(alone)])
        margins = class_margins(alone, self.samples.labels)
        self.layer_margins = np.column_stack([self.layer_margins, margins])
        return self.plan.score(alone)

    def _weigh(self, number: int) -> None:
        """Coefficients and reweighting factors with the new layer."""
        samples, plan = self.samples, self.plan
        history = MarginHistory(
            self.layer_margins,
            self.alphas,
            samples.weights.row,
            samples.order,
            (*self.entropy, 2, number),
        )
        self.alphas = plan.rule(history)
        if plan.reweighting is not None:
            self.reweighting = plan.reweighting(history, self.alphas)
        if number and isinstance(plan.rule, LastLayer):
            self.oof_vectors[-2] = [None] * len(self.oof_vectors[-1])  # not used again

    def _augmented(self) -> Iterator[np.ndarray]:
        """The augmented features of the next layer, in parts side by side."""
        for of_layers in zip(*self.oof_vectors, strict=True):
            yield combine(of_layers, self.alphas)

    def _judge(self) -> tuple[dict[str, float], np.ndarray]:
        labels, weight = self.samples.labels, self.samples.weights.row
        probabilities = mean_of(self._augmented())
        margins = class_margins(probabilities, labels)
        self.trace.margins.append(put_aside(margins))
        mean, spread = margin_moments(margins, weight)
        right = probabilities.argmax(axis=1) == labels
        return {
            "score": self.plan.score(probabilities),
            "alpha": self.alphas[-1],
            "accuracy": float(np.average(right, weights=weight)),
            "margin_mean": mean,
            "margin_std": spread,
            "margin_ratio": margin_ratio(margins, weight),
        }, probabilities


def grow_cascade(
    table: BinnedTable,
    numbers: np.ndarray | None,
    samples: Samples,
    plan: CascadePlan,
    entropy: Sequence[int],
    *,
    n_jobs=None,
    verbose=0,
    keep_vectors=False,
    checkpoint: Checkpoint | None = None,
) -> tuple[CascadeModel, Trace]:
    """Fit a cascade.

    Parameters
    ----------
    table : BinnedTable
        The raw features, and spare columns on the right for those that a layer adds, which are
        written over.
    numbers : ndarray of shape (n_samples, n_raw) or None
        The raw features, if some forest is not one of this package.
    samples : Samples
    plan : CascadePlan
    entropy : sequence of int
        Of all random streams.
    n_jobs : int, default=None
    verbose : int, default=0
        1 prints a line for each layer, 2 shows a bar that counts trees as well.
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
    growth = _Growth(table, numbers, samples, plan, entropy, checkpoint)
    model, trace = growth.model, growth.trace
    records: list[dict[str, float]] = []
    oof_probabilities: dict[int, np.ndarray] = {}  # by the number of layers that may be kept
    best = improved = 0
    for number in range(plan.n_layers):
        record, probabilities = growth.add_layer(n_jobs, verbose > 1)
        records.append(record)
        if verbose:
            print(_layer_line(record))
        if not keep_vectors:
            trace.vectors.clear()
        if plan.patience is None or number == 0 or _rank(record) > _rank(records[best]):
            best = number
            if plan.one_se is None:
                oof_probabilities.clear()
        if best == number or plan.one_se is not None:
            oof_probabilities[number] = put_aside(probabilities)
        if plan.one_se is not None:
            plan.one_se.add(probabilities, record["score"])
        del probabilities  # what is wanted of them has been put aside
        before = records[improved]["score"]
        if record["score"] > before + plan.tol(before):
            improved = number
        elif (
            plan.patience is not None
            and number - improved >= plan.patience
            and number + 1 >= len(plan.grains)
        ):
            break
    last = best if plan.one_se is None else plan.one_se.below(best)
    trace.probabilities = np.array(oof_probabilities[last])
    trace.stop_reason = _stop_reason(records, last, best, improved, plan)
    if verbose:
        print(trace.stop_reason)
    trace.history = {name: np.array([record[name] for record in records]) for name in HISTORY}
    for kept in (model.layers, model.alphas, trace.vectors):
        del kept[last + 1 :]
    return model, trace


# What is oof_probabilities of each layer, in this order.
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
