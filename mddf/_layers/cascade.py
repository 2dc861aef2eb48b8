"""Growth of the cascades mdDF and gcForest: layer by layer, until the scores no longer improve."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from time import perf_counter
from typing import Any

import numpy as np

from mddf._base.progress import is_told, tell_line
from mddf._fitted.calibration import UNCALIBRATED, Calibration, fit_calibration
from mddf._fitted.fitted_model import Stage
from mddf._fitted.vector_layout import combine
from mddf._layers.cascade_folds import LayerFolds
from mddf._layers.cascade_stopping import Stopper
from mddf._layers.checkpoints import Checkpoint
from mddf._layers.evidence import Evidence
from mddf._layers.margin_loss import (
    MarginHistory,
    class_margins,
    effective_sample_size,
    margin_moments,
    margin_ratio,
)
from mddf._layers.member import Member, fit_all
from mddf._layers.memmap import mean_of, put_aside
from mddf._layers.rules import LayerRules, LayerView, read_only
from mddf._layers.seeds import Purpose
from mddf._layers.trainer import Job, LayerInput, Split, SumOfTrees, Trainer, splits_from_folds
from mddf._resampling.folds import Folds
from mddf._trees.grower import OUT_OF_BAG

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


class Cascade:
    """A cascade that is being grown: its layers and their out-of-fold results."""

    def __init__(
        self,
        trainer: Trainer,  # the spare columns of its table are overwritten
        rules: LayerRules,
        members: Sequence[Member],  # of each layer, before the rules limit their depth
        folds: LayerFolds,
        *,
        refit: bool,  # keep forests of all samples rather than forests of the folds
        grains: Sequence[np.ndarray],  # features of the layers, in turn
        n_added: int,  # number of columns that a layer adds
        passes_all: bool,  # whether a layer passes on the vectors of all members, not their mean
    ) -> None:
        self.trainer = trainer
        self.rules = rules
        self.members = members
        self.folds = folds
        self.refit = refit
        self.grains = grains
        self.n_added = n_added
        self.passes_all = passes_all
        self.stages: list[Stage] = []
        self.calibration: Calibration = UNCALIBRATED
        self.stop_reason = ""  # why no more layers were trained, and how many are kept
        # (n_samples, n_classes): out-of-fold probabilities of the kept layers together.
        self.probabilities = np.empty((0, 0))
        # For all layers that were trained: figures, out-of-fold margins of the layers so far
        # together, weights of the samples of sum 1, and scores of the forests alone.
        self.history: dict[str, np.ndarray] = {}
        self.margins: list[np.ndarray] = []
        self.weights: list[np.ndarray] = []
        self.member_scores: list[np.ndarray] = []
        # Out-of-fold vectors (n_samples, n_classes) of each layer's members, if they are needed.
        self.vectors: list[list[np.ndarray]] = []

        # State from which the next layer is made: margins of each layer alone, coefficients, and
        # factors of the samples' weights.
        self.layer_margins = np.empty((trainer.n_samples, 0))
        self.alphas = np.empty(0)
        self.reweighting: np.ndarray | None = None
        # For each layer, its vectors in parts that lie side by side in the table: one for each
        # member, or their mean. Nothing is kept of a layer that is not used again.
        self._passed_on: list[list[np.ndarray]] = []
        # (n_samples, n_added): columns of the last layer's regions, in place of its vectors
        self._region_columns = np.empty((0, 0))
        # Decisions of the user's rules: rows that did not leave, features of the next layer (None:
        # as planned), the factor of its trees, and their depth limit (None: as planned).
        self.active = np.ones(trainer.n_samples, bool)
        self._last_vectors: list[np.ndarray] = []  # which rows that left keep
        self._columns: np.ndarray | None = None
        self._tree_factor = 1.0
        self._max_depth: int | None = None

    def too_few_rows(self) -> str:
        """Why the next layer cannot be trained; empty if it can."""
        n_active = int(self.active.sum())
        is_enough = n_active >= min(_MIN_ACTIVE_ROWS, len(self.active))
        return "" if is_enough else f"all rows but {n_active} have left"

    def train_layer(
        self, number: int, folds: Folds | None
    ) -> tuple[Stage, list[np.ndarray], float]:
        """Put the augmented features into the table, and train the members.

        Returns the layer, the out-of-fold vectors of each member, and the seconds that it took.
        """
        start = perf_counter()
        trainer = self.trainer
        added = None
        if number:
            trainer.append_features(self._features_for_next())
            if trainer.numbers is not None:
                added = np.hstack(list(self._features_for_next()))
        layer_input = LayerInput(
            self._input_columns(number), self.reweighting, self.rules.redraws, added
        )
        entropy = trainer.seeds.entropy_for(Purpose.FORESTS, number)
        job = Job(
            splits=layer_splits(
                folds,
                trainer.all_rows[self.active],
                refit=self.refit,
                in_time_order=trainer.is_in_time_order,
            ),
            entropy_of=lambda i: entropy if i is None else (*entropy, i),
            aggregator=SumOfTrees(trainer.task),
            layer_input=layer_input,
            description=f"layer {number + 1}",
            numbers_forests=True,
        )
        depth = self.rules.depth_of_random_forests(number)
        members = [
            member.limited(depth)
            .with_max_depth(self._max_depth)
            .with_tree_factor(self._tree_factor)
            for member in self.members
        ]
        evidence = {}
        for i, fits in fit_all(dict(enumerate(members)), trainer, job):
            evidence[i] = Evidence.from_fits(members[i], fits, trainer, job)
        models = [evidence[i].models for i in range(len(members))]
        vectors = [evidence[i].vectors for i in range(len(members))]
        stage = stage_of_models(trainer, members, models, layer_input.columns)
        if self.rules.columns_of_regions is not None:
            stage = replace(stage, augmentation=self.rules.columns_of_regions)
            self._region_columns = self._columns_of_regions(stage, job.splits)
        if not self.active.all():
            vectors = [
                put_aside(np.where(self.active[:, None], new, last))
                for new, last in zip(vectors, self._last_vectors, strict=True)
            ]
        return stage, vectors, perf_counter() - start

    def _input_columns(self, number: int) -> np.ndarray:
        """Input columns of a layer, among the features and the columns of the layer before."""
        raw = self.grains[number % len(self.grains)] if self._columns is None else self._columns
        if number == 0 or not self.rules.passes_vectors:
            return raw
        n_features = self.trainer.n_features
        augmented = np.arange(n_features, n_features + self.n_added, dtype=np.int32)
        return np.concatenate([raw, augmented]) if self.rules.passes_features else augmented

    def _columns_of_regions(self, stage: Stage, splits: Sequence[Split]) -> np.ndarray:
        """Columns of held-out rows, which the forests of their folds make; NaN for other rows."""
        trainer = self.trainer
        total = np.zeros((trainer.n_samples, self.n_added))
        n_times = np.zeros(trainer.n_samples)
        for number, split in enumerate(splits):
            held_out = split.held_out_rows()
            # The blocks of all folds follow each other, as many for each fold.
            members = []
            for member in stage.members:
                n_blocks = len(member.models) // len(splits)
                models = member.models[number * n_blocks : (number + 1) * n_blocks]
                members.append(replace(member, models=models))
            fold = replace(stage, members=members)
            total[held_out] += fold.columns_of_regions(
                trainer.table.codes[held_out], trainer.table.bins, trainer.n_features, self.n_added
            )
            n_times[held_out] += 1
        with np.errstate(invalid="ignore"):
            return total / n_times[:, None]

    def _features_for_next(self) -> Iterator[np.ndarray]:
        """Features that the layers so far add for the next one, in parts side by side."""
        if self.rules.columns_of_regions is not None:
            yield self._region_columns
        else:
            yield from self._mean_vectors()

    def _mean_vectors(self) -> Iterator[np.ndarray]:
        """Class vectors of the layers so far together, in the parts that layers pass on."""
        for parts_of_layers in zip(*self._passed_on, strict=True):
            yield combine(parts_of_layers, self.alphas)

    def add(
        self, stage: Stage, vectors: list[np.ndarray], score: Callable[..., float]
    ) -> tuple[dict[str, float], np.ndarray]:
        """Add a layer: find the coefficients, and score the layers so far together.

        Returns the figures of the layer, and the out-of-fold probabilities of all layers.
        """
        start = perf_counter()
        task = self.trainer.task
        number = len(self.stages)
        distribution = self._sample_distribution()
        self.weights.append(put_aside(distribution))
        self.member_scores.append(np.array([*map(score, vectors)]))
        mean = mean_of(vectors)
        self._passed_on.append(vectors if self.passes_all else [put_aside(mean)])
        self._find_coefficients(number, mean)
        layer_score = score(mean)
        # A weighted mean of ones can exceed 1 by a bit, which metrics of scikit-learn refuse.
        probabilities = np.minimum(mean_of(self._mean_vectors()), 1.0)
        margins = class_margins(probabilities, task.target)
        self.margins.append(put_aside(margins))
        margin_mean, margin_std = margin_moments(margins, task.weight)
        is_correct = probabilities.argmax(axis=1) == task.target
        record = {
            "layer": number + 1,
            "score": score(probabilities),
            "layer_score": layer_score,
            "alpha": self.alphas[-1],
            "accuracy": float(np.average(is_correct, weights=task.weight)),
            "margin_mean": margin_mean,
            "margin_std": margin_std,
            "margin_ratio": margin_ratio(margins, task.weight),
            "effective_samples": effective_sample_size(distribution),
            "active_samples": int(self.active.sum()),
        }
        average_weights = None if self.passes_all else np.ones(len(vectors))
        self.stages.append(replace(stage, average_weights=average_weights, alphas=self.alphas))
        record["time"] = perf_counter() - start
        return record, probabilities

    def _sample_distribution(self) -> np.ndarray:
        """Weights of the samples in a layer, of sum 1; 0 for rows that are not active."""
        row_weight = self.trainer.weights.row
        weights = np.ones(self.trainer.n_samples) if row_weight is None else row_weight.copy()
        if self.reweighting is not None:
            weights *= self.reweighting
        weights[~self.active] = 0.0
        return weights / weights.sum()

    def _find_coefficients(self, number: int, mean: np.ndarray) -> None:
        """Find the coefficients of the layers from their margins, and weights of the next one."""
        trainer = self.trainer
        margins = class_margins(mean, trainer.task.target)
        self.layer_margins = np.column_stack([self.layer_margins, margins])
        margin_history = MarginHistory(
            margins=self.layer_margins,
            before=self.alphas,
            weight=trainer.task.weight,
            order=trainer.order,
            entropy=trainer.seeds.entropy_for(Purpose.COEFFICIENTS, number),
        )
        self.alphas = self.rules.coefficients(margin_history)
        factors = self.rules.weight_factors(margin_history, self.alphas)
        if factors is not None:
            if trainer.without_past is not None:
                # Their margins are unknown: their weights stay.
                factors[trainer.without_past] = 1.0
            self.reweighting = factors
        if number and self.rules.last_layer_predicts:
            # The vectors of the layers before can be freed.
            self._passed_on[-2] = [np.empty(0)] * len(self._passed_on[-1])

    def view(
        self,
        X: Any,
        vectors: list[np.ndarray],
        probabilities: np.ndarray,
        history: Sequence[dict[str, float]],
        folds: Folds | None,
    ) -> LayerView:
        """State after the last layer, as the user's rules read it; its arrays are read-only."""
        weight = self.trainer.weights.row
        return LayerView(
            number=len(self.stages),
            X=X,
            y=read_only(self.trainer.task.target),
            sample_weight=np.ones(self.trainer.n_samples) if weight is None else read_only(weight),
            class_vectors=np.stack(vectors),
            probabilities=read_only(probabilities),
            margins=read_only(self.layer_margins),
            alphas=read_only(self.alphas),
            active=read_only(self.active),
            history=history,
            n_folds=1 if folds is None else len(folds),
            n_added=self.n_added,
        )

    def apply_rules(self, view: LayerView, vectors: list[np.ndarray]) -> bool:
        """Apply the user's rules to the next layer; return whether one stops the cascade."""
        rules = self.rules
        gate = rules.gate(view)
        if gate is not None:
            self.stages[-1] = replace(self.stages[-1], gate=gate)
            self.active = self.active & (view.confidence < gate)
            view = replace(view, active=read_only(self.active))
        self._last_vectors = vectors
        if self.active.any():
            self.reweighting = rules.factors(view, self.reweighting)
            self._columns = rules.raw_columns(view, self.trainer.n_features)
            self._tree_factor = rules.tree_factor(view)
            self._max_depth = rules.depth_limit(view)
        return rules.is_over(view)


def grow_cascade(
    cascade: Cascade,
    # From out-of-fold probabilities to a number, larger if better.
    score: Callable[..., float],
    stopper: Stopper,
    *,
    checkpoint: Checkpoint,
    calibrates: bool = False,
    verbose: bool = False,  # whether a line is printed for each layer
    keep_vectors: bool = False,  # whether the out-of-fold class vectors are kept
    X: Any = None,  # the features, as the user's rules get them
) -> None:
    """Grow the layers of a cascade, whose rules say what differs between mdDF and gcForest.

    Every layer is trained and added. Which of them are kept is decided at the end.
    """
    trainer = cascade.trainer
    for number in range(stopper.n_layers):
        # 1. Train the members on folds of the rows that did not leave.
        stopper.ended_by = cascade.too_few_rows()
        if stopper.ended_by:
            break
        folds = cascade.folds.for_layer(number, cascade.active)
        if folds is not None and not folds:
            stopper.ended_by = "all rows that are left are in one fold of cv"
            break
        layer = checkpoint.load(number)
        if layer is None:
            layer = cascade.train_layer(number, folds)
            checkpoint.save(number, layer)
        stage, vectors, seconds = layer

        # 2. Add the layer, and score the layers so far together.
        record, probabilities = cascade.add(stage, vectors, score)
        record["time"] += seconds
        if keep_vectors:
            cascade.vectors.append(vectors)
        if is_told(verbose):
            tell_line(_line_for_layer(record), verbose=verbose)

        # 3. Stop if the scores no longer improve, or if the user's rules say so.
        is_over = stopper.is_over(record, probabilities)
        if cascade.rules.reads_layers:
            view = cascade.view(X, vectors, probabilities, stopper.records, folds)
            if cascade.apply_rules(view, vectors):
                stopper.ended_by = "the rule `stop` ended the cascade"
                break
        if is_over:
            break

    # 4. Keep the layers up to the best one, and calibrate their average.
    cascade.probabilities = np.array(stopper.probabilities)
    cascade.stop_reason = stopper.reason()
    tell_line(cascade.stop_reason, verbose=verbose)
    cascade.history = stopper.history(HISTORY)
    del cascade.stages[stopper.last_kept + 1 :]
    del cascade.vectors[stopper.last_kept + 1 :]
    if calibrates:
        task = trainer.task
        cascade.calibration = fit_calibration(cascade.probabilities, task.target, task.weight)


def _line_for_layer(record: dict[str, float]) -> str:
    return (
        f"layer {record['layer']}: out-of-fold accuracy {record['accuracy']:.4f}, score "
        f"{record['score']:.4f} (layer alone {record['layer_score']:.4f}), margin ratio "
        f"{record['margin_ratio']:.3f}, effective samples {record['effective_samples']:.0f}, "
        f"{record['time']:.1f} s"
    )


def layer_splits(
    folds: Folds | None, rows: np.ndarray, *, refit: bool, in_time_order: bool = False
) -> list[Split]:
    """Splits of the rows of a layer, one for each model.

    Without a refit, models of all folds predict; in time order, the first one, which saw the
    longest past.
    """
    if folds is None:
        return [Split(rows, OUT_OF_BAG)]
    splits = splits_from_folds(folds, keep=not refit)
    if in_time_order:
        splits[1:] = splits_from_folds(folds[1:])
    return [*splits, Split(rows, None)] if refit else splits


def stage_of_models(
    trainer: Trainer,
    members: Sequence[Member],
    models: Sequence[list[Any]],  # of each member
    columns: np.ndarray,  # input columns
) -> Stage:
    """A trained layer, which passes the vectors of all members on."""
    bins = trainer.table.bins
    return Stage(
        [member.freeze(kept, trainer) for member, kept in zip(members, models, strict=True)],
        bins.columns(trainer.n_features, bins.n_columns),
        inputs=list(range(len(members))),
        columns=columns,
        importances=_importances_of_layer(trainer, members, models),
    )


def _importances_of_layer(
    trainer: Trainer, members: Sequence[Member], models: Sequence[list[Any]]
) -> np.ndarray | None:
    """Mean decrease of impurity over all models, of sum 1 or all zero; None if it is unknown."""
    total = np.zeros(trainer.table.bins.n_columns)
    for member, models_of_member in zip(members, models, strict=True):
        importances = member.importances(models_of_member)
        if not importances:
            return None
        for importances_of_model in importances:
            total += importances_of_model
    total /= total.sum() or 1
    return total
