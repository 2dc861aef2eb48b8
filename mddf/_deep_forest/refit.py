"""Layers of a deep forest that are kept, with members that are refitted on all samples."""

from __future__ import annotations

import pickle
from dataclasses import dataclass
from io import BytesIO
from typing import Any

import numpy as np

from mddf._base.deadline import TimeIsUp
from mddf._base.serialization import to_plain
from mddf._deep_forest.fit_report import FitReport, Leaderboard
from mddf._deep_forest.fold_trainer import FoldTrainer, is_large_table
from mddf._deep_forest.stack import GrownLayer, Stack
from mddf._fitted.fitted_model import FittedMember, Stage
from mddf._gradient.rounds import MOST_TIMES, most_rounds
from mddf._members.boosted import BoostedFolds, BoostedModel
from mddf._members.external_member import ExternalMember
from mddf._members.spec import MemberSpec
from mddf._training.layer_trainer import LayerInput, LayerJob, Split
from mddf._training.seeds import Purpose

# Share of the remaining time for a refit on all samples. Set by hand.
_REFIT_SHARE = 0.85
# Boosted trees of all samples have more rounds than those of a fold by this factor, since they
# have more rows. On 14 development sets of regression, the factors 1 and 1.15 differed by less
# than 0.1 %.
_ROUNDS_FACTOR = 1.15


@dataclass(frozen=True)
class KeptLayers:
    """Layers that are kept, and the out-of-fold vectors of their members."""

    stages: list[Stage]
    vectors: list[np.ndarray]  # of each layer, shape (n_members, n_samples, n_columns)


def keep_layers(
    stack: Stack,
    report: FitReport,
    leaderboard: Leaderboard,  # the "bytes" of its rows are set
    *,
    refit: bool,  # whether members are trained once more on all samples
) -> KeptLayers:
    """Keep the layers up to the last one with a weight, and the members that are needed."""
    weights = stack.weights_by_layer()
    while len(weights) > 1 and not weights[-1].any():
        weights.pop()
    stages = []
    vectors = []
    for number, layer_weights in enumerate(weights):
        layer = stack.layers[number]
        trained = layer.trained
        # Members without a weight are kept if their vectors are passed on to the next layer.
        has_next = number + 1 < len(weights)
        inputs = layer.inputs if has_next else []
        kept = [i for i, weight in enumerate(layer_weights) if weight > 0 or i in inputs]
        models = {i: _models_of_folds(stack, trained.models[i]) for i in kept}
        if refit:
            models |= _refitted_in_time(stack, number, kept, report)
        members = [
            _fitted_member(stack.trainer, layer, i, models[i], float(layer_weights[i]))
            for i in kept
        ]
        sizes = {
            member.name: _size(member.models, is_plain=trained.members[i].is_plain)
            for i, member in zip(kept, members, strict=True)
        }
        for row in leaderboard.rows:
            if row["layer"] == number + 1:
                row["bytes"] = sizes.get(row["member"], 0)
        vectors.append(trained.vectors[kept])
        before = stack.layers[number - 1].features if number else None
        stage = Stage(
            members,
            stack.trainer.table.bins.columns(0, 0) if before is None else before.bins,
            inputs=[kept.index(i) for i in inputs],
            average_weights=layer.average_weights if has_next else None,
            # Only the layer before it is the input of a layer.
            alphas=np.append(np.zeros(number), 1.0),
            importances=None if number else _importances(stack.trainer, layer, models, weights[0]),
        )
        stages.append(stage)
    return KeptLayers(stages, vectors)


def _size(models: list[Any], *, is_plain: bool) -> int:
    """Bytes of pickled models."""
    file = BytesIO()
    pickler = pickle.Pickler(file)
    # Without a memo, the size does not depend on which objects are shared, which is different
    # after a checkpoint. Objects of other packages may have cycles, which need the memo.
    pickler.fast = is_plain
    pickler.dump(to_plain(models))
    return file.tell()


def _models_of_folds(stack: Stack, models: list[Any]) -> list[Any]:
    """Models of the folds that can predict: in time order, the one that saw the longest past."""
    return models[:1] if stack.trainer.is_in_time_order else models


def _fitted_member(
    trainer: FoldTrainer, layer: GrownLayer, i: int, models: list[Any], weight: float
) -> FittedMember:
    spec = layer.trained.members[i]
    fields: dict[str, Any] = {
        "n_columns": trainer.task.n_columns,
        "unit": trainer.task.leaf_scale,
        "is_rounded": spec.is_forest,
        "weight": weight,
        "exponent": layer.exponents[i],
        "name": spec.name,
    }
    if spec.is_forest:
        return FittedMember([block for result in models for block in result.trees], **fields)
    if spec.is_boosted:
        return BoostedFolds(models, **fields)
    frames = trainer.frames if spec.is_external else None
    columns = None if frames is None else frames.columns
    return ExternalMember(models, **fields, frame_columns=columns)


def _importances(
    trainer: FoldTrainer, layer: GrownLayer, models: dict[int, list[Any]], weights: np.ndarray
) -> np.ndarray:
    """Importances of the features to the first layer's forests, weighted as in the average.

    If no forest is kept, it is the mean over all forests that were trained.
    """
    trained = layer.trained
    weighted = [
        # Forests without a weight, which only feed the next layer, decide if there are no others.
        (max(float(weights[i]), 1e-9), _sum_of_importances(results))
        for i, results in sorted(models.items())
        if trained.members[i].is_forest
    ]
    if not weighted:
        tried = [
            _sum_of_importances(results)
            for member, results in zip(trained.members, trained.models, strict=True)
            if member.is_forest
        ]
        weighted = [(1.0, importances) for importances in (*tried, *trained.pruned_importances)]
    total = np.zeros(trainer.n_features)
    for weight, importances in weighted:
        amounts = importances[: trainer.n_features]
        if amounts.any():
            total += weight * amounts / amounts.sum()
    return total / total.sum() if total.sum() > 0 else total


def _sum_of_importances(results: list[Any]) -> np.ndarray:
    total: np.ndarray = np.sum([result.importances for result in results], axis=0)
    return total


def _refitted_in_time(
    stack: Stack, number: int, kept: list[int], report: FitReport
) -> dict[int, list[Any]]:
    """Refitted models by the members' numbers; none if the time does not suffice."""
    try:
        with stack.trainer.clock.cut(_REFIT_SHARE, whole=True):
            return _refitted(stack, number, kept)
    except TimeIsUp:
        report.add_cut(
            f"layer {number + 1}",
            "not fitted again on all samples",
            n_rows=stack.trainer.n_samples,
        )
        return {}


def _refitted(stack: Stack, number: int, kept: list[int]) -> dict[int, list[Any]]:
    """Models of all samples.

    Boosted trees of a classifier keep the models of the folds, unless these saw only the past of
    their fold.
    """
    # Boosted trees of classes: on 36 development sets, models of all samples had 0.997 times the
    # log-loss (without the two best and the two worst sets), but up to 1.02 times on churn, and
    # areas under the curve that were no larger.
    trainer = stack.trainer
    layer = stack.layers[number]
    members = layer.trained.members
    splits = [Split(trainer.all_rows, None)]
    forests = [i for i in kept if members[i].is_forest]
    models: dict[int, list[Any]] = {}
    if forests:
        columns = trainer.feature_columns
        if number:
            columns = trainer.put_into_table(stack.features_for(number))
        job = LayerJob(
            LayerInput(columns, layer.reweighting),
            splits,
            trainer.seeds.entropy_for(Purpose.REFITTED_FORESTS, number),
            f"layer {number + 1} on all samples",
        )
        factor = trainer.task.refit_tree_factor
        results = trainer.grow_all([members[i].in_full(factor) for i in forests], job)
        models = dict(zip(forests, results, strict=True))
    for i in kept:
        spec = members[i]
        if spec.is_boosted and _n_refitted_boosting(trainer):
            entropy = trainer.seeds.entropy_for(Purpose.REFITTED_ESTIMATORS, i)
            models[i] = _refitted_boosting(trainer, spec, layer.trained.models[i][0], entropy)
        elif not (spec.is_forest or spec.is_boosted):
            entropy = trainer.seeds.entropy_for(Purpose.REFITTED_ESTIMATORS, i)
            fits = trainer.fit_member(spec, splits, entropy)
            models[i] = [model for model, _ in fits]
    return models


def _refitted_boosting(
    trainer: FoldTrainer,
    spec: MemberSpec,
    model_of_fold: BoostedModel,
    entropy: tuple[int, ...],
) -> list[BoostedModel]:
    """Models of boosted trees of all samples, with different seeds."""
    n_rounds = model_of_fold.rounds
    seeds: list[tuple[int, ...]] = [entropy]
    if not trainer.is_in_time_order:
        n_most = most_rounds(spec.model, any_held_out=True)
        if spec.kind is not None:
            n_most *= MOST_TIMES
        n_rounds = [min(round(_ROUNDS_FACTOR * n), n_most) for n in n_rounds]
        seeds = [(*entropy, number) for number in range(_n_refitted_boosting(trainer))]
    # The number of rounds is known, so that the rows held out do not matter.
    split = Split(trainer.all_rows, trainer.folds[0][1])
    return [
        trainer.boost(spec, [split], seed, n_rounds=n_rounds, goes_on=True)[0].model
        for seed in seeds
    ]


def _n_refitted_boosting(trainer: FoldTrainer) -> int:
    """Number of models as which boosted trees are fitted again on all samples."""
    # In time order, the first fold has seen nearly all samples, and one model replaces its model.
    if trainer.is_in_time_order:
        return 1
    n_models = trainer.task.n_refitted_boosting
    return min(n_models, 1) if is_large_table(trainer.task) else n_models


def refit_seconds(trainer: FoldTrainer, member: MemberSpec, seconds: float) -> float:
    """Seconds that a refit of a member is expected to take, if all its folds took `seconds`."""
    n_models = 1.0
    if member.is_forest:
        n_models = trainer.task.refit_tree_factor
    elif member.is_boosted:
        n_models = _ROUNDS_FACTOR * _n_refitted_boosting(trainer)
    return seconds * n_models / max(1, len(trainer.folds) - 1)
