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
from mddf._deep_forest.layers import DeepLayer, FittedMember
from mddf._deep_forest.stack import GrownLayer, OutOfFoldLayer, Stack
from mddf._gradient.rounds import MOST_TIMES, most_rounds
from mddf._members.boosted import BoostedModel
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

    layers: list[DeepLayer]
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
    layers = []
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
        leaf_scale = stack.trainer.task.leaf_scale
        members = [
            _fitted_member(layer, i, models[i], float(layer_weights[i]), leaf_scale) for i in kept
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
        fitted_layer = DeepLayer(
            members,
            inputs=[kept.index(i) for i in inputs],
            average_weights=layer.average_weights if has_next else None,
            bins=stack.trainer.table.bins.columns(0, 0) if before is None else before.bins,
            tried=None if number else _importances_without_forests(trained, members),
        )
        layers.append(fitted_layer)
    return KeptLayers(layers, vectors)


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
    layer: GrownLayer, i: int, models: list[Any], weight: float, leaf_scale: float | np.ndarray
) -> FittedMember:
    spec = layer.trained.members[i]
    importances = None
    if spec.is_forest:
        importances = np.sum([result.importances for result in models], axis=0)
        models = [trees for result in models for trees in result.trees]
    return FittedMember(
        spec.name,
        weight,
        layer.exponents[i],
        models,
        spec.is_forest,
        importances=importances,
        unit=leaf_scale,
        is_external=spec.is_external,
    )


def _importances_without_forests(
    layer: OutOfFoldLayer, members: list[FittedMember]
) -> list[np.ndarray] | None:
    """Importances to all forests that were trained, if none is kept."""
    if any(member.is_forest for member in members):
        return None
    trained = [
        np.sum([result.importances for result in models], axis=0)
        for member, models in zip(layer.members, layer.models, strict=True)
        if member.is_forest
    ]
    return [*trained, *layer.pruned_importances]


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
