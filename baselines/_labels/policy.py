"""Policy of the multi-label deep forest: its layers, the reuse of vectors, and when it stops."""

from __future__ import annotations

from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy as np

from mddf._base.memmap import put_aside
from mddf._base.messages import short
from mddf._base.validation import is_list
from mddf._cascade.layer import grow_layer, layer_splits
from mddf._cascade.plan import LayerFolds
from mddf._cascade.stopping import Stopper
from mddf._forest.base_classifier import BaseForest
from mddf._forest.classifiers import CompletelyRandomForestClassifier, RandomForestClassifier
from mddf._resampling.folds import Folds
from mddf._training.layer_builder import LayerPolicy, Stop
from mddf._training.layer_trainer import LayerInput, LayerJob, LayerTrainer, MeanOfFolds
from mddf._training.member import ForestMember
from mddf._training.seeds import Purpose

from .measures import MEASURES, measure_value
from .reuse import FeatureReuse, LabelledPredictions, ReusingStage

# Classes of the named forests, with the parameters in which they differ.
_FORESTS: dict[str, tuple[type[BaseForest], dict[str, Any]]] = {
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


@dataclass(frozen=True)
class LabelProposal:
    """Members of a layer, their input columns, and the folds on which they are trained."""

    members: list[ForestMember]
    columns: np.ndarray
    folds: Folds


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


class LabelPolicy(LayerPolicy[LabelProposal, LabelLayer, dict[str, float]]):
    """Decisions of a multi-label deep forest.

    All layers are trained and kept until `keep_best_layers`.
    """

    def __init__(
        self,
        trainer: LayerTrainer,  # the spare columns of its table are overwritten
        forests: LabelForests,
        folds: LayerFolds,
        stopper: Stopper,
        *,
        measure: str,
        reuse: bool,  # whether layers can reuse the vectors of the layer before
        refit: bool,  # keep forests of all samples rather than forests of the folds
        verbose: bool = False,  # whether a line is printed for each layer
    ) -> None:
        self.trainer = trainer
        self.forests = forests
        self.folds = folds
        self.stopper = stopper
        self.measure = measure
        self.reuse = reuse
        self.refit = refit
        self.verbose = verbose
        self.vectors: list[np.ndarray] = []  # of the layers so far
        self.stages: list[ReusingStage] = []

    def propose(self, number: int) -> LabelProposal:
        """Forests of a layer; their input is the features and the vectors of the layer before."""
        n_added = len(self.forests.names) * self.trainer.task.n_columns if number else 0
        folds = self.folds.for_layer(number)
        assert folds is not None
        return LabelProposal(
            self.forests.members(number),
            np.arange(self.trainer.n_features + n_added, dtype=np.int32),
            folds,
        )

    def train(self, number: int, proposal: LabelProposal) -> LabelLayer:
        """Train the forests, and reuse vectors of the layer before where it was better."""
        start = perf_counter()
        trainer = self.trainer
        if number:
            trainer.append_features(self.vectors[-1])
        job = LayerJob(
            LayerInput(proposal.columns),
            layer_splits(
                proposal.folds,
                trainer.all_rows,
                refit=self.refit,
                in_time_order=trainer.is_in_time_order,
            ),
            self.folds.seeds.entropy_for(Purpose.FORESTS, number),
            f"layer {number + 1}",
        )
        aggregator = MeanOfFolds.from_folds(trainer.task, proposal.folds)
        stage, new_vectors = grow_layer(trainer, proposal.members, job, aggregator)
        vectors = np.stack(new_vectors)
        reuse = None
        reused = 0.0
        if number and self.reuse:
            predictions = LabelledPredictions(
                trainer.task.target,
                vectors.mean(axis=0),
                before=self.vectors[-1].mean(axis=0),
                weight=trainer.task.weight,
            )
            reuse = FeatureReuse.from_training(self.measure, predictions)
            reused = float(reuse.reused(predictions.probabilities).mean())
            vectors = reuse.apply(vectors, self.vectors[-1])
        return LabelLayer(
            ReusingStage(
                stage.members,
                stage.added_bins,
                stage.inputs,
                # Only the layer before it is the input of a layer.
                alphas=np.append(np.zeros(number), 1.0),
                columns=stage.columns,
                importances=stage.importances,
                reuse=reuse,
            ),
            put_aside(vectors),
            reused,
            perf_counter() - start,
        )

    def evaluate(self, number: int, layer: LabelLayer) -> dict[str, float]:
        """Figures of a layer on out-of-fold predictions."""
        labels = self.trainer.task.target
        weight = self.trainer.task.weight
        probabilities = layer.probabilities
        reuse = layer.stage.reuse
        return {
            "layer": number + 1,
            "score": -MEASURES[self.measure].mean_loss(labels, probabilities, weight),
            "measure": measure_value(self.measure, labels, probabilities, weight),
            "reused": layer.reused,
            "threshold": np.nan if reuse is None or reuse.labels is not None else reuse.threshold,
            "time": layer.seconds,
        }

    def accept(self, number: int, layer: LabelLayer, evaluation: dict[str, float]) -> Stop | None:
        """Add the layer, and stop if the measure no longer improves."""
        self.stages.append(layer.stage)
        self.vectors.append(layer.vectors)
        if self.verbose:
            print(
                f"layer {number + 1}: out-of-fold {self.measure} {evaluation['measure']:.4f}, "
                f"{evaluation['reused']:.1%} reused, {evaluation['time']:.1f} s"
            )
        is_over = self.stopper.is_over(evaluation, layer.probabilities)
        return Stop("the measure does not improve") if is_over else None

    def keep_best_layers(self) -> str:
        """Drop the layers after the best one; returns why the cascade stopped."""
        kept = self.stopper.kept()
        n_kept = kept.last_layer + 1
        del self.stages[n_kept:]
        del self.vectors[n_kept:]
        if self.verbose:
            print(kept.reason)
        return kept.reason

    def to_store(self, layer: LabelLayer) -> tuple[Any, ...]:
        return layer.stage, layer.vectors, layer.reused, layer.seconds

    def from_stored(self, proposal: LabelProposal, *parts: Any) -> LabelLayer:
        stage, vectors, reused, seconds = parts
        shape = (len(proposal.members), self.trainer.n_samples, self.trainer.task.n_columns)
        if not isinstance(stage, ReusingStage) or np.shape(vectors) != shape:
            raise ValueError(f"it holds no layer with vectors of shape {shape}")
        return LabelLayer(stage, vectors, float(reused), float(seconds))
