"""A layer of a cascade: members that are trained on folds and predict the held-out rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from mddf._fitted.fitted_model import FittedMember, Stage
from mddf._members.external_member import ExternalMember
from mddf._members.spec import MemberSpec
from mddf._resampling.folds import Folds
from mddf._training.layer_trainer import (
    LayerJob,
    LayerTrainer,
    OutOfFoldAggregator,
    Split,
    SumOfTrees,
    TrainedMember,
    splits_from_folds,
)
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
    members: Sequence[MemberSpec],
    job: LayerJob,
    aggregator: OutOfFoldAggregator | None = None,  # the default suits classes of one output
) -> tuple[Stage, list[np.ndarray]]:
    """Train a layer, which passes the vectors of all members on."""
    if aggregator is None:
        aggregator = SumOfTrees(trainer.task)
    forests = {i: member for i, member in enumerate(members) if member.is_forest}
    trained = trainer.train_forests(forests, job, aggregator)
    importances = None
    if len(forests) == len(members):
        importances = _importances(trainer, trained, job)
    for i, member in enumerate(members):
        if i not in forests:
            fits = trainer.fit_estimator(
                member.model,
                job.splits,
                (*job.entropy, i),
                name=member.name,
                layer_input=job.layer_input,
            )
            vectors = trainer.out_of_fold_vectors(fits, job.splits, aggregator)
            trained[i] = TrainedMember([model for model, _ in fits], vectors)
    fitted_members: list[FittedMember] = []
    n_columns = trainer.task.n_columns
    for i, member in enumerate(members):
        models = _kept_models(trained[i], job)
        if i in forests:
            trees = [block for result in models for block in result.trees]
            fitted_members.append(FittedMember(trees, n_columns, name=member.name))
        else:
            fitted_members.append(ExternalMember(models, n_columns, name=member.name))
    bins = trainer.table.bins
    stage = Stage(
        fitted_members,
        bins.columns(trainer.n_features, bins.n_columns),
        inputs=list(range(len(members))),
        columns=job.layer_input.columns,
        importances=importances,
    )
    return stage, [trained[i].vectors for i in range(len(members))]


def _importances(
    trainer: LayerTrainer, trained: dict[int, TrainedMember], job: LayerJob
) -> np.ndarray:
    """Mean decrease of impurity over all forests that are kept, of sum 1 or all zero."""
    importances = np.zeros(trainer.table.bins.n_columns)
    for member in trained.values():
        for result in _kept_models(member, job):
            importances += result.importances
    importances /= importances.sum() or 1
    return importances


def _kept_models(trained: TrainedMember, job: LayerJob) -> list[Any]:
    return [model for model, split in zip(trained.models, job.splits, strict=True) if split.keep]
