"""Growth of the cascades mdDF and gcForest: layer by layer, until the scores no longer improve."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from time import perf_counter
from typing import Any

import numpy as np

from mddf._base.memmap import put_aside
from mddf._base.progress import is_told, tell_line
from mddf._binning.binner import Binner
from mddf._fitted.calibration import UNCALIBRATED, Calibration, calibration
from mddf._fitted.fitted_model import FittedStages, Stage
from mddf._layers.cascade_history import CascadeHistory
from mddf._layers.cascade_layer import grow_layer, layer_splits
from mddf._layers.cascade_plan import CascadePlan
from mddf._layers.checkpoints import Checkpoint
from mddf._layers.layer_trainer import LayerInput, LayerJob, LayerTrainer
from mddf._layers.margin_loss import (
    class_margins,
    effective_sample_size,
    margin_moments,
    margin_ratio,
)
from mddf._layers.rules import LayerRules, LayerView
from mddf._layers.seeds import Purpose
from mddf._layers.stopping import Stopper
from mddf._resampling.folds import Folds

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
class GrownCascade:
    """Layers of a cascade that are kept, and how all layers were grown."""

    stages: list[Stage] = field(default_factory=list)
    calibration: Calibration = UNCALIBRATED
    # (n_trained,): figures of all layers that were trained, as are margins, weights and scores.
    history: dict[str, np.ndarray] = field(default_factory=dict)
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

    def fitted(self, binner: Binner, plan: CascadePlan) -> FittedStages:
        """The kept layers as a model that predicts."""
        return FittedStages(
            binner,
            self.stages,
            plan.n_added,
            calibration=self.calibration,
            is_at_most_one=True,
        )


@dataclass(frozen=True)
class TrainedLayer:
    """A layer with its out-of-fold vectors."""

    stage: Stage
    vectors: list[np.ndarray]  # (n_samples, n_classes): one for each forest
    seconds: float  # time of the training, perhaps in a fit that was interrupted


@dataclass
class NextLayer:
    """Decisions of the user's rules about the next layer."""

    active: np.ndarray  # (n_samples,): rows that did not leave
    vectors: list[np.ndarray] = field(default_factory=list)  # vectors that rows that left keep
    columns: np.ndarray | None = None  # features that it gets; None: as planned
    tree_factor: float = 1.0

    @property
    def too_few_rows(self) -> str:
        """Why the layer cannot be trained; empty if it can."""
        n_active = int(self.active.sum())
        is_enough = n_active >= min(_MIN_ACTIVE_ROWS, len(self.active))
        return "" if is_enough else f"all rows but {n_active} have left"


def grow_cascade(
    trainer: LayerTrainer,  # the spare columns of its table are overwritten
    plan: CascadePlan,
    # From out-of-fold probabilities to a number, larger if better.
    score: Callable[..., float],
    stopper: Stopper,
    *,
    checkpoint: Checkpoint | None = None,
    calibrates: bool = False,
    verbose: bool = False,  # whether a line is printed for each layer
    keep_vectors: bool = False,  # whether the out-of-fold class vectors are kept
    # Rules of the user, and the features that they see.
    rules: LayerRules | None = None,
    X: Any = None,
) -> GrownCascade:
    """Grow the layers of a cascade, whose kind says what differs between mdDF and gcForest.

    Every layer is trained and added to the history. Which of them are kept is decided at the end.
    """
    grown = GrownCascade()
    history = CascadeHistory(trainer, plan)
    next_layer = NextLayer(np.ones(trainer.n_samples, bool))
    for number in range(stopper.n_layers):
        # 1. Train the members on folds of the rows that did not leave.
        stopper.ended_by = next_layer.too_few_rows
        if stopper.ended_by:
            break
        folds = plan.folds(number, next_layer.active)
        layer = _stored_layer(checkpoint, number, trainer, plan)
        if layer is None:
            layer = _train_layer(number, trainer, plan, history, folds, next_layer)
            if checkpoint is not None:
                checkpoint.save(number, layer.stage, layer.vectors, layer.seconds)

        # 2. Find the coefficients of the layers so far, and score them together.
        record, probabilities = _evaluate(
            number, layer, trainer, plan, history, grown, score, next_layer.active
        )

        # 3. Keep the layer.
        average_weights = None if plan.passes_all else np.ones(len(layer.vectors))
        grown.stages.append(
            replace(layer.stage, average_weights=average_weights, alphas=history.alphas)
        )
        if keep_vectors:
            grown.vectors.append(layer.vectors)
        if is_told(verbose):
            tell_line(_line_for_layer(record), verbose=verbose)

        # 4. Stop if the scores no longer improve, or if the user's rules say so.
        is_over = stopper.is_over(record, probabilities)
        if rules is not None:
            view = _view(
                number, layer, probabilities, trainer, plan, history, stopper, next_layer, X, folds
            )
            if _apply_rules(rules, view, grown, history, next_layer, layer, trainer.n_features):
                stopper.ended_by = "the rule `stop` ended the cascade"
                break
        if is_over:
            break

    # 5. Keep the layers up to the best one, and calibrate their average.
    kept = stopper.kept()
    grown.probabilities = kept.probabilities
    grown.stop_reason = kept.reason
    tell_line(kept.reason, verbose=verbose)
    grown.history = stopper.history(HISTORY)
    del grown.stages[kept.last_layer + 1 :]
    del grown.vectors[kept.last_layer + 1 :]
    if calibrates:
        task = trainer.task
        grown.calibration = calibration(kept.probabilities, task.target, task.weight)
    return grown


def _stored_layer(
    checkpoint: Checkpoint | None, number: int, trainer: LayerTrainer, plan: CascadePlan
) -> TrainedLayer | None:
    def restored(stage: Any, vectors: Any, seconds: Any) -> TrainedLayer:
        shape = trainer.n_samples, plan.n_classes
        if not isinstance(stage, Stage) or len(stage.members) != len(vectors):
            raise ValueError("it holds no layer")
        if any(forest_vectors.shape != shape for forest_vectors in vectors):
            raise ValueError(f"its vectors must have shape {shape}")
        return TrainedLayer(stage, vectors, float(seconds))

    return None if checkpoint is None else checkpoint.load(number, restored)


def _train_layer(
    number: int,
    trainer: LayerTrainer,
    plan: CascadePlan,
    history: CascadeHistory,
    folds: Folds | None,
    next_layer: NextLayer,
) -> TrainedLayer:
    """Put the augmented features into the table, and train the members."""
    start = perf_counter()
    added = None
    if number:
        trainer.append_features(history.augmented_features())
        if trainer.numbers is not None:
            added = np.hstack(list(history.augmented_features()))
    columns = plan.columns(number, trainer.n_features, next_layer.columns)
    splits = layer_splits(
        folds,
        trainer.all_rows[next_layer.active],
        refit=plan.refit,
        in_time_order=trainer.is_in_time_order,
    )
    job = LayerJob(
        LayerInput(columns, history.reweighting, plan.kind.redraw, added),
        splits,
        plan.layer_folds.seeds.entropy_for(Purpose.FORESTS, number),
        f"layer {number + 1}",
    )
    members = plan.members(number, next_layer.tree_factor)
    stage, vectors = grow_layer(trainer, members, job)
    if not next_layer.active.all():
        vectors = [
            put_aside(np.where(next_layer.active[:, None], new, last))
            for new, last in zip(vectors, next_layer.vectors, strict=True)
        ]
    return TrainedLayer(stage, vectors, perf_counter() - start)


def _evaluate(
    number: int,
    layer: TrainedLayer,
    trainer: LayerTrainer,
    plan: CascadePlan,
    history: CascadeHistory,
    grown: GrownCascade,
    score: Callable[..., float],
    active: np.ndarray,
) -> tuple[dict[str, float], np.ndarray]:
    """Figures of a layer, and the out-of-fold probabilities of the layers up to it."""
    start = perf_counter()
    task = trainer.task
    distribution = history.sample_distribution(active)
    grown.weights.append(put_aside(distribution))
    grown.member_scores.append(np.array([*map(score, layer.vectors)]))
    entropy = plan.layer_folds.seeds.entropy_for(Purpose.COEFFICIENTS, number)
    layer_score = score(history.add(layer.vectors, entropy))
    probabilities = history.probabilities()
    margins = class_margins(probabilities, task.target)
    grown.margins.append(put_aside(margins))
    margin_mean, margin_std = margin_moments(margins, task.weight)
    is_correct = probabilities.argmax(axis=1) == task.target
    record = {
        "layer": number + 1,
        "score": score(probabilities),
        "layer_score": layer_score,
        "alpha": history.alphas[-1],
        "accuracy": float(np.average(is_correct, weights=task.weight)),
        "margin_mean": margin_mean,
        "margin_std": margin_std,
        "margin_ratio": margin_ratio(margins, task.weight),
        "effective_samples": effective_sample_size(distribution),
        "active_samples": int(active.sum()),
    }
    record["time"] = layer.seconds + perf_counter() - start
    return record, probabilities


def _view(
    number: int,
    layer: TrainedLayer,
    probabilities: np.ndarray,
    trainer: LayerTrainer,
    plan: CascadePlan,
    history: CascadeHistory,
    stopper: Stopper,
    next_layer: NextLayer,
    X: Any,
    folds: Folds | None,
) -> LayerView:
    """The layers so far, as the user's rules see them."""
    weight = trainer.weights.row
    return LayerView(
        number=number + 1,
        X=X,
        y=trainer.task.target,
        sample_weight=np.ones(trainer.n_samples) if weight is None else weight,
        class_vectors=np.stack(layer.vectors),
        probabilities=probabilities,
        margins=history.margins,
        alphas=history.alphas,
        active=next_layer.active,
        history=stopper.records,
        n_folds=1 if folds is None else len(folds),
        n_added=plan.n_added,
    )


def _apply_rules(
    rules: LayerRules,
    view: LayerView,
    grown: GrownCascade,
    history: CascadeHistory,
    next_layer: NextLayer,
    layer: TrainedLayer,
    n_features: int,
) -> bool:
    """Apply the user's rules to the next layer; return whether one stops the cascade."""
    gate = rules.gate(view)
    if gate is not None:
        grown.stages[-1] = replace(grown.stages[-1], gate=gate)
        next_layer.active = next_layer.active & (view.confidence < gate)
        view = replace(view, active=next_layer.active)
    next_layer.vectors = layer.vectors
    if next_layer.active.any():
        history.reweighting = rules.factors(view, history.reweighting)
        next_layer.columns = rules.raw_columns(view, n_features)
        next_layer.tree_factor = rules.tree_factor(view)
    return rules.is_over(view)


def _line_for_layer(record: dict[str, float]) -> str:
    return (
        f"layer {record['layer']}: out-of-fold accuracy {record['accuracy']:.4f}, score "
        f"{record['score']:.4f} (layer alone {record['layer_score']:.4f}), margin ratio "
        f"{record['margin_ratio']:.3f}, effective samples {record['effective_samples']:.0f}, "
        f"{record['time']:.1f} s"
    )
