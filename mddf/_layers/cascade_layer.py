"""A layer of a cascade: members that are trained on folds and predict the held-out rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from mddf._fitted.fitted_model import Stage
from mddf._layers.layer_trainer import (
    LayerJob,
    LayerTrainer,
    OutOfFoldAggregator,
    Split,
    SumOfTrees,
    TrainedMember,
    splits_from_folds,
)
from mddf._layers.member import Member, by_kind
from mddf._resampling.folds import Folds
from mddf._trees import grower


def layer_splits(
    folds: Folds | None, all_rows: np.ndarray, *, refit: bool, in_time_order: bool = False
) -> list[Split]:
    """Rows of each model of a layer.

    Without a refit, models of all folds predict; in time order, the first one, which saw the
    longest past.
    """
    if folds is None:
        return [Split(all_rows, grower.OUT_OF_BAG)]
    splits = splits_from_folds(folds, keep=not refit)
    if in_time_order:
        splits[1:] = splits_from_folds(folds[1:])
    return [*splits, Split(all_rows, None)] if refit else splits


def grow_layer(
    trainer: LayerTrainer,
    members: Sequence[Member],
    job: LayerJob,
    aggregator: OutOfFoldAggregator | None = None,  # the default suits classes of one output
) -> tuple[Stage, list[np.ndarray]]:
    """Train a layer, which passes the vectors of all members on."""
    if aggregator is None:
        aggregator = SumOfTrees(trainer.task)
    trained: dict[int, TrainedMember] = {}
    for kind, group in by_kind(dict(enumerate(members))):
        trained |= kind.train_in_cascade(group, trainer, job, aggregator)
    kept_models = [_kept_models(trained[i], job) for i in range(len(members))]
    bins = trainer.table.bins
    stage = Stage(
        [
            member.freeze(models, trainer)
            for member, models in zip(members, kept_models, strict=True)
        ],
        bins.columns(trainer.n_features, bins.n_columns),
        inputs=list(range(len(members))),
        columns=job.layer_input.columns,
        importances=_importances(trainer, members, kept_models),
    )
    return stage, [trained[i].vectors for i in range(len(members))]


def _importances(
    trainer: LayerTrainer, members: Sequence[Member], models: Sequence[list[Any]]
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


def _kept_models(trained: TrainedMember, job: LayerJob) -> list[Any]:
    return [model for model, split in zip(trained.models, job.splits, strict=True) if split.keep]
