"""Policy of mdDF and gcForest: inputs of a layer, coefficients of layers, early stopping."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from time import perf_counter
from typing import Any

import numpy as np

from mddf._base.memmap import put_aside
from mddf._base.progress import is_told, tell_line
from mddf._binning.binner import Binner
from mddf._cascade.history import CascadeHistory
from mddf._cascade.layer import grow_layer, layer_splits
from mddf._cascade.plan import CascadePlan
from mddf._cascade.rules import LayerRules, LayerView
from mddf._cascade.stopping import Stopper
from mddf._ensemble.blending import UNCALIBRATED, calibration
from mddf._ensemble.margin_loss import (
    class_margins,
    effective_sample_size,
    margin_moments,
    margin_ratio,
)
from mddf._fitted.fitted_model import FittedStages, Stage
from mddf._training.layer_builder import LayerPolicy, Stop
from mddf._training.layer_trainer import LayerInput, LayerJob, LayerTrainer, Split
from mddf._training.member import Member
from mddf._training.seeds import Purpose

# With fewer rows that did not leave, no layer is trained: two folds need two rows each.
_MIN_ACTIVE_ROWS = 4
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
    "active_samples",
    "time",
)


@dataclass
class Trace:
    """Record of how a cascade was built, for all layers that were trained."""

    history: dict[str, np.ndarray] = field(default_factory=dict)  # (n_trained,)
    # (n_samples,): out-of-fold margins of the layers so far together.
    margins: list[np.ndarray] = field(default_factory=list)
    # (n_samples,): weights of the samples, of sum 1.
    weights: list[np.ndarray] = field(default_factory=list)
    # (n_forests,): out-of-fold scores of a layer's forests alone.
    member_scores: list[np.ndarray] = field(default_factory=list)
    # (n_samples, n_classes): out-of-fold class vectors of the kept layers' forests, if they are
    # needed.
    vectors: list[list[np.ndarray]] = field(default_factory=list)
    # (n_samples, n_classes): out-of-fold probabilities of the kept layers together.
    probabilities: np.ndarray = field(default_factory=lambda: np.empty((0, 0)))
    stop_reason: str = ""  # why no more layers were trained, and how many are kept


@dataclass(frozen=True)
class LayerProposal:
    """Members of a layer, their input columns, and the splits on which they are trained."""

    members: list[Member]
    columns: np.ndarray
    splits: list[Split]
    n_folds: int  # 1 for out-of-bag predictions


@dataclass(frozen=True)
class TrainedLayer:
    """A layer with its out-of-fold vectors."""

    stage: Stage
    vectors: list[np.ndarray]  # (n_samples, n_classes): one for each forest
    n_folds: int  # as in the proposal
    seconds: float  # time of the training, perhaps in a fit that was interrupted


@dataclass(frozen=True)
class LayerEvaluation:
    """Figures of a layer, and the out-of-fold probabilities of the layers up to it."""

    record: dict[str, float]
    probabilities: np.ndarray


class CascadePolicy(LayerPolicy[LayerProposal, TrainedLayer, LayerEvaluation]):
    """Decisions of a cascade, whose kind says what differs between mdDF and gcForest.

    Every layer is trained and added to the history. Which of them are kept is decided at the end.
    """

    def __init__(
        self,
        trainer: LayerTrainer,  # the spare columns of its table are overwritten
        plan: CascadePlan,
        # From out-of-fold probabilities to a number, larger if better.
        score: Callable[..., float],
        stopper: Stopper,
        *,
        verbose: bool = False,  # whether a line is printed for each layer
        keep_vectors: bool = False,  # whether the out-of-fold class vectors are kept in the trace
        # Rules of the user, and the features that they see.
        rules: LayerRules | None = None,
        X: Any = None,
    ) -> None:
        self.trainer = trainer
        self.plan = plan
        self.score = score
        self.stopper = stopper
        self.seeds = plan.layer_folds.seeds
        self.verbose = verbose
        self.keep_vectors = keep_vectors
        self.rules = rules
        self.X = X
        self.active = np.ones(trainer.n_samples, bool)  # rows that did not leave
        # Decisions of the rules about the next layer, and vectors that rows that leave keep.
        self._next_columns: np.ndarray | None = None
        self._tree_factor = 1.0
        self._last_vectors: list[np.ndarray] = []
        self.history = CascadeHistory(trainer, plan)
        self.stages: list[Stage] = []
        self.calibration = UNCALIBRATED
        self.trace = Trace()

    def propose(self, number: int) -> LayerProposal | Stop:
        """Members and columns of a layer, from the plan and the rules."""
        n_active = int(self.active.sum())
        if n_active < min(_MIN_ACTIVE_ROWS, self.trainer.n_samples):
            return self._end(f"all rows but {n_active} have left")
        folds = self.plan.folds(number, self.active)
        return LayerProposal(
            self.plan.members(number, self._tree_factor),
            self.plan.columns(number, self.trainer.n_features, self._next_columns),
            layer_splits(
                folds,
                self.trainer.all_rows[self.active],
                refit=self.plan.refit,
                in_time_order=self.trainer.is_in_time_order,
            ),
            1 if folds is None else len(folds),
        )

    def _end(self, reason: str) -> Stop:
        """Stop for a reason other than the scores, which users read in `stop_reason_`."""
        self.stopper.ended_by = reason
        return Stop(reason)

    def train(self, number: int, proposal: LayerProposal) -> TrainedLayer:
        """Put the augmented features into the table, and train the members."""
        start = perf_counter()
        added = None
        if number:
            self.trainer.append_features(self.history.augmented_features())
            if self.trainer.numbers is not None:
                added = np.hstack(list(self.history.augmented_features()))
        layer_input = LayerInput(
            proposal.columns, self.history.reweighting, self.plan.kind.redraw, added
        )
        job = LayerJob(
            layer_input,
            proposal.splits,
            self.seeds.entropy_for(Purpose.FORESTS, number),
            f"layer {number + 1}",
        )
        stage, vectors = grow_layer(self.trainer, proposal.members, job)
        if not self.active.all():
            vectors = [
                put_aside(np.where(self.active[:, None], new, last))
                for new, last in zip(vectors, self._last_vectors, strict=True)
            ]
        return TrainedLayer(stage, vectors, proposal.n_folds, perf_counter() - start)

    def evaluate(self, number: int, layer: TrainedLayer) -> LayerEvaluation:
        """Find the coefficients of the layers so far, and score them together."""
        start = perf_counter()
        distribution = self.history.sample_distribution(self.active)
        self.trace.weights.append(put_aside(distribution))
        self.trace.member_scores.append(np.array([*map(self.score, layer.vectors)]))
        entropy = self.seeds.entropy_for(Purpose.COEFFICIENTS, number)
        layer_score = self.score(self.history.add(layer.vectors, entropy))
        probabilities = self.history.probabilities()
        record = self._figures(probabilities) | {
            "layer": number + 1,
            "layer_score": layer_score,
            "effective_samples": effective_sample_size(distribution),
            "active_samples": int(self.active.sum()),
        }
        record["time"] = layer.seconds + perf_counter() - start
        return LayerEvaluation(record, probabilities)

    def _figures(self, probabilities: np.ndarray) -> dict[str, float]:
        """Figures of the layers so far together."""
        labels = self.trainer.task.target
        weight = self.trainer.task.weight
        margins = class_margins(probabilities, labels)
        self.trace.margins.append(put_aside(margins))
        margin_mean, margin_std = margin_moments(margins, weight)
        is_correct = probabilities.argmax(axis=1) == labels
        return {
            "score": self.score(probabilities),
            "alpha": self.history.alphas[-1],
            "accuracy": float(np.average(is_correct, weights=weight)),
            "margin_mean": margin_mean,
            "margin_std": margin_std,
            "margin_ratio": margin_ratio(margins, weight),
        }

    def accept(self, number: int, layer: TrainedLayer, evaluation: LayerEvaluation) -> Stop | None:
        """Add the layer, and stop if the scores no longer improve."""
        average_weights = None if self.plan.passes_all else np.ones(len(layer.vectors))
        self.stages.append(
            replace(layer.stage, average_weights=average_weights, alphas=self.history.alphas)
        )
        if self.keep_vectors:
            self.trace.vectors.append(layer.vectors)
        if is_told(self.verbose):
            tell_line(_line_for_layer(evaluation.record), verbose=self.verbose)
        is_over = self.stopper.is_over(evaluation.record, evaluation.probabilities)
        if self.rules is not None and self._apply_rules(self.rules, number, layer, evaluation):
            return self._end("the rule `stop` ended the cascade")
        return Stop("the score does not improve") if is_over else None

    def _apply_rules(
        self, rules: LayerRules, number: int, layer: TrainedLayer, evaluation: LayerEvaluation
    ) -> bool:
        """Apply the user's rules to the next layer; return whether one stops the cascade."""
        view = self._view(number, layer, evaluation)
        gate = rules.gate(view)
        if gate is not None:
            self.stages[-1] = replace(self.stages[-1], gate=gate)
            self.active = self.active & (view.confidence < gate)
            view = replace(view, active=self.active)
        self._last_vectors = layer.vectors
        if self.active.any():
            self.history.reweighting = rules.factors(view, self.history.reweighting)
            self._next_columns = rules.raw_columns(view, self.trainer.n_features)
            self._tree_factor = rules.tree_factor(view)
        return rules.is_over(view)

    def _view(self, number: int, layer: TrainedLayer, evaluation: LayerEvaluation) -> LayerView:
        trainer = self.trainer
        weight = trainer.weights.row
        return LayerView(
            number=number + 1,
            X=self.X,
            y=trainer.task.target,
            sample_weight=np.ones(trainer.n_samples) if weight is None else weight,
            class_vectors=np.stack(layer.vectors),
            probabilities=evaluation.probabilities,
            margins=self.history.margins,
            alphas=self.history.alphas,
            active=self.active,
            history=self.stopper.records,
            n_folds=layer.n_folds,
            n_added=self.plan.n_added,
        )

    def keep_best_layers(self) -> None:
        """Drop the layers after the last one that is kept, and complete the trace."""
        kept = self.stopper.kept()
        self.trace.probabilities = kept.probabilities
        self.trace.stop_reason = kept.reason
        tell_line(kept.reason, verbose=self.verbose)
        self.trace.history = self.stopper.history(HISTORY)
        n_kept = kept.last_layer + 1
        del self.stages[n_kept:]
        del self.trace.vectors[n_kept:]

    def calibrate(self) -> None:
        """Calibrate the average of the kept layers by their out-of-fold probabilities."""
        labels = self.trainer.task.target
        weight = self.trainer.task.weight
        self.calibration = calibration(self.trace.probabilities, labels, weight)

    def fitted(self, binner: Binner) -> FittedStages:
        """The kept layers as a model that predicts."""
        return FittedStages(
            binner,
            self.stages,
            self.plan.n_added,
            calibration=self.calibration,
            is_at_most_one=True,
        )

    def to_store(self, layer: TrainedLayer) -> tuple[Any, ...]:
        return layer.stage, layer.vectors, layer.seconds

    def from_stored(self, proposal: LayerProposal, *parts: Any) -> TrainedLayer:
        stage, vectors, seconds = parts
        shape = self.trainer.n_samples, self.plan.n_classes
        if not isinstance(stage, Stage) or len(stage.members) != len(vectors):
            raise ValueError("it holds no layer")
        if any(forest_vectors.shape != shape for forest_vectors in vectors):
            raise ValueError(f"its vectors must have shape {shape}")
        return TrainedLayer(stage, vectors, proposal.n_folds, float(seconds))


def _line_for_layer(record: dict[str, float]) -> str:
    return (
        f"layer {record['layer']}: out-of-fold accuracy {record['accuracy']:.4f}, score "
        f"{record['score']:.4f} (layer alone {record['layer_score']:.4f}), margin ratio "
        f"{record['margin_ratio']:.3f}, effective samples {record['effective_samples']:.0f}, "
        f"{record['time']:.1f} s"
    )
