"""Growing a cascade layer by layer, and asking one."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from time import perf_counter

import numpy as np

from mddf._binning import BinnedTable, apply_bins
from mddf._folds import Folds
from mddf._layer import Layer, LayerInput, Samples, grow_layer, layer_vectors
from mddf._margin_loss import (
    class_margins,
    effective_sample_size,
    margin_moments,
    margin_ratio,
)

# From the margins of all layers so far, shape (n_samples, n_layers), and the coefficients after
# the layer before: the layers' coefficients, and the factors of the samples' weights or None.
Rule = Callable[[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray | None]]


@dataclass(frozen=True)
class CascadePlan:
    """What a cascade is to be.

    Attributes
    ----------
    forests : callable
        From the number of a layer, 0 for the first one, to the list of its forests.
    folds : callable
        From the number of a layer to its folds; None means out-of-bag predictions.
    rule : callable
        Coefficients and weights; see ``Rule``.
    score : callable
        From out-of-fold probabilities to a number, larger if better.
    n_layers : int
        Most layers.
    patience : int or None
        Layers without a better score before the cascade stops; None grows all and keeps all.
    tol : float
        How much better that has to be.
    grains : sequence of ndarray of int32
        Raw columns that the layers see, in turn.
    sees_raw, sees_augmented : bool
        Whether layers after the first see raw features and those of the layer before.
    per_forest : bool
        Hand on each forest's class vector rather than their mean.
    resample : bool
        Draw by the factors of the rule rather than weigh.
    only_last : bool
        The rule gives all layers but the last one a coefficient of 0, so that earlier vectors
        need not be kept.
    """

    forests: Callable[[int], list]
    folds: Callable[[int], Folds | None]
    rule: Rule
    score: Callable[[np.ndarray], float]
    n_layers: int
    patience: int | None
    tol: float
    grains: Sequence[np.ndarray]
    sees_raw: bool
    sees_augmented: bool
    per_forest: bool
    resample: bool
    only_last: bool


@dataclass
class Cascade:
    """A fitted cascade.

    Attributes
    ----------
    layers : list of Layer
        Those that are kept.
    alphas : list of ndarray
        For each layer, the coefficients of it and those before once it was grown.
    history : dict of str to ndarray of shape (n_grown,)
        Of all layers that were grown.
    margins : list of ndarray of shape (n_samples,)
        Of all layers that were grown: out-of-fold margins of the layers so far together.
    weights : list of ndarray of shape (n_samples,)
        Of all layers that were grown: what they weighed the samples by, of sum 1.
    vectors : list of ndarray of shape (n_forests, n_samples, n_classes)
        Out-of-fold class vectors of the kept layers, if they are wanted.
    probabilities : ndarray of shape (n_samples, n_classes)
        Out-of-fold, of the kept layers together.
    """

    layers: list[Layer] = field(default_factory=list)
    alphas: list[np.ndarray] = field(default_factory=list)
    history: dict[str, np.ndarray] = field(default_factory=dict)
    margins: list[np.ndarray] = field(default_factory=list)
    weights: list[np.ndarray] = field(default_factory=list)
    vectors: list[np.ndarray] = field(default_factory=list)
    probabilities: np.ndarray = field(default_factory=lambda: np.empty((0, 0)))


def reduce_forests(vectors: np.ndarray, per_forest: bool) -> np.ndarray:
    """What a layer hands on of its forests' vectors (n_forests, n_samples, n_classes)."""
    if not per_forest:
        return vectors.mean(axis=0)
    return np.ascontiguousarray(vectors.transpose(1, 0, 2)).reshape(vectors.shape[1], -1)


def mean_vector(features: np.ndarray, n_classes: int) -> np.ndarray:
    """The mean over forests of what :func:`reduce_forests` gave."""
    if features.shape[1] == n_classes:
        return features
    return features.reshape(len(features), -1, n_classes).mean(axis=1)


def combine(vectors: Sequence[np.ndarray], alphas: np.ndarray) -> np.ndarray:
    """Mean of the layers' features, weighted by their coefficients, of which one is not 0."""
    used = np.flatnonzero(alphas)
    total = vectors[used[0]] * (alphas[used[0]] / alphas.sum())
    for layer in used[1:]:
        total += vectors[layer] * (alphas[layer] / alphas.sum())
    return total


def resolve_grains(grains, n_features: int) -> list[np.ndarray]:
    """Columns of each grain, from the parameter of that name; None is one with all."""
    everything = np.arange(n_features, dtype=np.int32)
    if grains is None:
        return [everything]
    resolved = []
    for grain in grains:
        try:
            chosen = grain if isinstance(grain, slice) else np.asarray(grain)
            resolved.append(everything[chosen])
        except (IndexError, TypeError, ValueError) as error:
            raise ValueError(
                f"grains must hold slices or column numbers below {n_features}, the number of "
                f"columns of X; got {grain!r}"
            ) from error
    if not resolved or any(columns.ndim != 1 or len(columns) == 0 for columns in resolved):
        raise ValueError(
            "grains must be a list of slices or arrays of column numbers, none of them empty, "
            f"got {grains!r}"
        )
    return resolved


def _columns(plan: CascadePlan, number: int, n_raw: int, n_augmented: int) -> np.ndarray:
    raw = plan.grains[number % len(plan.grains)]
    if number == 0 or not plan.sees_augmented:
        return raw
    augmented = np.arange(n_raw, n_raw + n_augmented, dtype=np.int32)
    return np.concatenate([raw, augmented]) if plan.sees_raw else augmented


def _layer_line(record: dict[str, float]) -> str:
    return (
        f"layer {record['layer']}: out-of-fold accuracy {record['accuracy']:.4f}, score "
        f"{record['score']:.4f} (layer alone {record['layer_score']:.4f}), margin ratio "
        f"{record['margin_ratio']:.3f}, effective samples {record['effective_samples']:.0f}, "
        f"{record['time']:.1f} s"
    )


def _rank(record: dict[str, float]) -> tuple[float, float]:
    """By the score, and between equal ones, which small sets have often, by the margins."""
    return record["score"], record["margin_mean"]


def _distribution(samples: Samples, factors: np.ndarray | None) -> np.ndarray:
    weights = np.ones(len(samples.labels)) if samples.weights is None else samples.weights.copy()
    if factors is not None:
        weights *= factors
    return weights / weights.sum()


@dataclass
class _State:
    """What the layers so far leave to the next one."""

    table: BinnedTable
    augmented: np.ndarray  # features of the last layer, (n_samples, n_augmented)
    factors: np.ndarray | None = None
    alphas: np.ndarray = field(default_factory=lambda: np.empty(0))
    features: list = field(default_factory=list)  # of each layer alone
    layer_margins: list = field(default_factory=list)


def _add_layer(
    cascade: Cascade, state: _State, numbers, samples: Samples, plan: CascadePlan, entropy, options
) -> tuple[dict[str, float], np.ndarray]:
    """Grow the next layer; what there is to say of it, and the probabilities so far."""
    start = perf_counter()
    number = len(cascade.layers)
    n_augmented = state.augmented.shape[1]
    n_raw = state.table.bins.n_columns - n_augmented
    if number:
        state.table = state.table.replace_columns(
            n_raw, state.augmented, sample_weight=samples.weights, n_jobs=options["n_jobs"]
        )
    columns = _columns(plan, number, n_raw, n_augmented)
    distribution = _distribution(samples, state.factors)
    layer, vectors = grow_layer(
        plan.forests(number),
        samples,
        LayerInput(
            state.table,
            numbers,
            state.augmented,
            columns,
            plan.folds(number),
            state.factors,
            plan.resample,
        ),
        (*entropy, number),
        name=f"layer {number + 1}",
        **options,
    )
    state.features.append(reduce_forests(vectors, plan.per_forest))
    alone = mean_vector(state.features[-1], samples.n_classes)
    state.layer_margins.append(class_margins(alone, samples.labels))
    state.alphas, state.factors = plan.rule(np.column_stack(state.layer_margins), state.alphas)
    state.augmented = combine(state.features, state.alphas)
    if plan.only_last:
        state.features[-1] = None
    probabilities = mean_vector(state.augmented, samples.n_classes)
    margins = class_margins(probabilities, samples.labels)
    right = probabilities.argmax(axis=1) == samples.labels
    accuracy = float(np.average(right, weights=samples.weights))
    mean, spread = margin_moments(margins, samples.weights)
    cascade.layers.append(layer)
    cascade.alphas.append(state.alphas)
    cascade.vectors.append(vectors)
    cascade.margins.append(margins)
    cascade.weights.append(distribution)
    return {
        "layer": number + 1,
        "score": plan.score(probabilities),
        "layer_score": plan.score(alone),
        "alpha": state.alphas[-1],
        "accuracy": accuracy,
        "margin_mean": mean,
        "margin_std": spread,
        "margin_ratio": margin_ratio(margins, samples.weights),
        "effective_samples": effective_sample_size(distribution),
        "time": perf_counter() - start,
    }, probabilities


def grow_cascade(
    table: BinnedTable,
    numbers: np.ndarray | None,
    n_augmented: int,
    samples: Samples,
    plan: CascadePlan,
    entropy: Sequence[int],
    *,
    n_jobs=None,
    verbose=0,
    keep_vectors=False,
) -> Cascade:
    """Fit a cascade.

    Parameters
    ----------
    table : BinnedTable
        The raw features, and `n_augmented` spare columns on the right, which are written over.
    numbers : ndarray of shape (n_samples, n_raw) or None
        The raw features, if some forest is not one of this package.
    n_augmented : int
    samples : Samples
    plan : CascadePlan
    entropy : sequence of int
        Of all random streams.
    n_jobs : int, default=None
    verbose : int, default=0
        1 prints a line for each layer, 2 shows a bar that counts trees as well.
    keep_vectors : bool, default=False
        Whether the out-of-fold class vectors are wanted.

    Returns
    -------
    Cascade
    """
    cascade = Cascade()
    state = _State(table, np.zeros((table.n_rows, n_augmented)))
    options = {"n_jobs": n_jobs, "verbose": verbose > 1}
    records: list[dict[str, float]] = []
    best = improved = 0
    for number in range(plan.n_layers):
        record, probabilities = _add_layer(
            cascade, state, numbers, samples, plan, entropy, options
        )
        records.append(record)
        if verbose:
            print(_layer_line(record))
        if not keep_vectors:
            cascade.vectors.clear()
        if plan.patience is None or number == 0 or _rank(record) > _rank(records[best]):
            best, cascade.probabilities = number, probabilities
        if record["score"] > records[improved]["score"] + plan.tol:
            improved = number
        elif (
            plan.patience is not None
            and number - improved >= plan.patience
            and number + 1 >= len(plan.grains)
        ):
            break
    cascade.history = {name: np.array([record[name] for record in records]) for name in records[0]}
    for kept in (cascade.layers, cascade.alphas, cascade.vectors):
        del kept[best + 1 :]
    return cascade


def stages(
    cascade: Cascade,
    numbers: np.ndarray,
    raw_bins,
    n_classes: int,
    *,
    n_jobs=None,
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Ask the layers in turn about new samples.

    Parameters
    ----------
    cascade : Cascade
    numbers : ndarray of shape (n_samples, n_raw)
    raw_bins : Bins
    n_classes : int
    n_jobs : int, default=None

    Yields
    ------
    vectors : ndarray of shape (n_forests, n_samples, n_classes)
        The layer's own.
    probabilities : ndarray of shape (n_samples, n_classes)
        Of the layers so far together.
    """
    n_raw = raw_bins.n_columns
    n_augmented = cascade.layers[0].bins.n_columns
    codes = np.zeros((len(numbers), n_raw + n_augmented), np.uint8)
    apply_bins(numbers, raw_bins, out=codes, n_jobs=n_jobs)
    augmented = np.zeros((len(numbers), n_augmented))
    features: list = []
    for layer, alphas in zip(cascade.layers, cascade.alphas, strict=True):
        if features:
            apply_bins(augmented, layer.bins, out=codes, first_column=n_raw, n_jobs=n_jobs)
        vectors = layer_vectors(layer, codes, numbers, augmented, n_classes, n_jobs=n_jobs)
        features.append(reduce_forests(vectors, per_forest=n_augmented > n_classes))
        augmented = combine(features, alphas)
        yield vectors, mean_vector(augmented, n_classes)
