"""Growth of the multi-label deep forest: its layers, the reuse of vectors, and when it stops."""

from __future__ import annotations

from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy as np

from mddf._base.messages import short
from mddf._base.progress import tell_line
from mddf._base.serialization import register_serializable
from mddf._base.validation import is_list
from mddf._fitted.fitted_model import Stage
from mddf._forest.classifiers import (
    BaseForestClassifier,
    CompletelyRandomForestClassifier,
    RandomForestClassifier,
)
from mddf._layers.cascade import layer_splits, stage_of_models
from mddf._layers.cascade_folds import LayerFolds
from mddf._layers.cascade_stopping import Stopper
from mddf._layers.checkpoints import Checkpoint
from mddf._layers.evidence import Evidence
from mddf._layers.member import ForestMember, fit_all
from mddf._layers.memmap import put_aside
from mddf._layers.seeds import Purpose
from mddf._layers.trainer import Job, LayerInput, MeanOfFolds, Trainer, one_stream
from mddf._resampling.folds import Folds

from .measures import MEASURES, measure_value
from .reuse import FeatureReuse, LabelledPredictions, ReusingStage

# Classes of the named forests, with the parameters in which they differ.
_FORESTS: dict[str, tuple[type[BaseForestClassifier], dict[str, Any]]] = {
    "random": (RandomForestClassifier, {}),
    "extremely-random": (CompletelyRandomForestClassifier, {"max_features": "sqrt"}),
    "completely-random": (CompletelyRandomForestClassifier, {}),
}
# Figures of each layer, in this order.
HISTORY = ("layer", "score", "measure", "reused", "threshold", "time")


@dataclass(frozen=True)
class LabelForests:
    """Forests of the layers, which grow in size and depth from layer to layer."""

    names: list[str]
    n_estimators: int  # trees of a forest of the first layer, on each fold
    n_more: int  # additional trees of each later layer
    most: int  # trees that no layer exceeds, unless the first one does
    depth_step: int | None  # depth limit of the first layer, and what each later one adds

    @classmethod
    def from_names(cls, names: Any, **sizes: Any) -> LabelForests:
        """Check the parameter `forests`."""
        if (
            not is_list(names)
            or len(names) == 0
            or not all(isinstance(name, str) and name in _FORESTS for name in names)
        ):
            raise ValueError(
                f"forests must be a list of names out of {tuple(_FORESTS)}, got {short(names)}"
            )
        return cls(list(names), **sizes)

    def members(self, number: int) -> list[ForestMember]:
        """Forests of a layer; the first one is number 0."""
        most = max(self.most, self.n_estimators)
        n_estimators = min(self.n_estimators + number * self.n_more, most)
        max_depth = None if self.depth_step is None else self.depth_step * (number + 1)
        members = []
        for name in self.names:
            kind, options = _FORESTS[name]
            forest = kind(n_estimators, max_depth=max_depth, **options)
            members.append(ForestMember(name, forest))
        return members


@register_serializable("layer of labels")
@dataclass(frozen=True)
class LabelLayer:
    """A layer with its out-of-fold vectors, after the reuse."""

    stage: ReusingStage
    vectors: np.ndarray  # (n_forests, n_samples, n_labels)
    reused: float  # share of the vectors taken from the layer before
    seconds: float

    @property
    def probabilities(self) -> np.ndarray:
        """Mean over the forests, (n_samples, n_labels)."""
        mean: np.ndarray = self.vectors.mean(axis=0)
        return mean


@dataclass
class GrownLabelForest:
    """Layers of a multi-label deep forest that are kept."""

    stages: list[ReusingStage]
    vectors: list[np.ndarray]  # out-of-fold vectors of each layer
    stop_reason: str


def grow_label_forest(
    trainer: Trainer,  # the spare columns of its table are overwritten
    forests: LabelForests,
    layer_folds: LayerFolds,
    stopper: Stopper,
    *,
    measure: str,
    reuse: bool,  # whether layers can reuse the vectors of the layer before
    refit: bool,  # keep forests of all samples rather than forests of the folds
    checkpoint: Checkpoint,
    verbose: bool = False,  # whether a line is printed for each layer
) -> GrownLabelForest:
    """Grow the layers of a multi-label deep forest, and keep them up to the best one."""
    layers: list[LabelLayer] = []
    for number in range(stopper.n_layers):
        # 1. Train the forests, on the features and the vectors of the layer before.
        before = layers[-1].vectors if layers else None
        folds = layer_folds.for_layer(number)
        assert folds is not None
        layer = checkpoint.load(number)
        if layer is None:
            job = _layer_job(number, trainer, folds, before, refit=refit)
            layer = _train_layer(
                number, trainer, forests, job, before, measure=measure, reuse=reuse
            )
            checkpoint.save(number, layer)

        # 2. Add the layer, and stop if the measure no longer improves.
        figures = _figures(number, trainer, layer, measure)
        layers.append(layer)
        tell_line(
            f"layer {number + 1}: out-of-fold {measure} {figures['measure']:.4f}, "
            f"{layer.reused:.1%} reused, {figures['time']:.1f} s",
            verbose=verbose,
        )
        if stopper.is_over(figures, layer.probabilities):
            break

    # 3. Drop the layers after the best one.
    reason = stopper.reason()
    tell_line(reason, verbose=verbose)
    layers = layers[: stopper.last_kept + 1]
    return GrownLabelForest(
        [layer.stage for layer in layers], [layer.vectors for layer in layers], reason
    )


def _layer_job(
    number: int,
    trainer: Trainer,
    folds: Folds,
    before: np.ndarray | None,
    *,
    refit: bool,
) -> Job:
    n_added = 0 if before is None else before.shape[0] * before.shape[2]
    entropy = trainer.seeds.entropy_for(Purpose.FORESTS, number)
    return Job(
        splits=layer_splits(
            folds, trainer.all_rows, refit=refit, in_time_order=trainer.is_in_time_order
        ),
        entropy_of=one_stream(entropy),
        aggregator=MeanOfFolds.from_folds(trainer.task, folds),
        layer_input=LayerInput(np.arange(trainer.n_features + n_added, dtype=np.int32)),
        description=f"layer {number + 1}",
    )


def grow_layer(
    trainer: Trainer, members: list[ForestMember], job: Job
) -> tuple[Stage, list[np.ndarray]]:
    """Train a layer; returns it with the out-of-fold vectors of its forests."""
    assert job.layer_input is not None
    evidence = [
        Evidence.from_fits(members[i], fits, trainer, job)  # all are forests, in their order
        for i, fits in fit_all(dict(enumerate(members)), trainer, job)
    ]
    stage = stage_of_models(
        trainer, members, [part.models for part in evidence], job.layer_input.columns
    )
    return stage, [part.vectors for part in evidence]


def _train_layer(
    number: int,
    trainer: Trainer,
    forests: LabelForests,
    job: Job,
    before: np.ndarray | None,
    *,
    measure: str,
    reuse: bool,
) -> LabelLayer:
    """Train the forests, and reuse vectors of the layer before where it was better."""
    start = perf_counter()
    if before is not None:
        trainer.append_features(before)
    stage, new_vectors = grow_layer(trainer, forests.members(number), job)
    vectors = np.stack(new_vectors)
    rule = None
    reused = 0.0
    if before is not None and reuse:
        predictions = LabelledPredictions(
            trainer.task.target,
            vectors.mean(axis=0),
            before=before.mean(axis=0),
            weight=trainer.task.weight,
        )
        rule = FeatureReuse.from_training(measure, predictions)
        reused = float(rule.reused(predictions.probabilities).mean())
        vectors = rule.apply(vectors, before)
    reusing_stage = ReusingStage(
        stage.members,
        stage.added_bins,
        stage.inputs,
        # Only the layer before it is the input of a layer.
        alphas=np.append(np.zeros(number), 1.0),
        columns=stage.columns,
        importances=stage.importances,
        reuse=rule,
    )
    return LabelLayer(reusing_stage, put_aside(vectors), reused, perf_counter() - start)


def _figures(number: int, trainer: Trainer, layer: LabelLayer, measure: str) -> dict[str, float]:
    """Figures of a layer on out-of-fold predictions."""
    labels = trainer.task.target
    weight = trainer.task.weight
    probabilities = layer.probabilities
    reuse = layer.stage.reuse
    return {
        "layer": number + 1,
        "score": -MEASURES[measure].mean_loss(labels, probabilities, weight),
        "measure": measure_value(measure, labels, probabilities, weight),
        "reused": layer.reused,
        "threshold": np.nan if reuse is None or reuse.labels is not None else reuse.threshold,
        "time": layer.seconds,
    }
