"""A layer of a cascade: forests that are grown on folds and vote for what they did not see."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from mddf._cascade.model import Layer
from mddf._members.spec import MemberSpec
from mddf._resampling.folds import Folds
from mddf._training.layer_trainer import LayerInput, LayerTrainer, Split, SumOfTrees, Trained
from mddf._trees import grower


def layer_parts(folds: Folds | None, everything: np.ndarray, refit: bool) -> list[Split]:
    """Rows of each model of a layer.

    Parameters
    ----------
    folds : list of (train, held out) or None
        None for one part that trains on all rows and predicts them out of bag.
    everything : ndarray of int32
        All rows.
    refit : bool
        Keep models of all samples rather than those of the folds.
    """
    if folds is None:
        return [Split(everything, grower.OUT_OF_BAG)]
    parts = [Split(train, held_out, not refit) for train, held_out in folds]
    return [*parts, Split(everything, None)] if refit else parts


def grow_layer(
    trainer: LayerTrainer,
    members: Sequence[MemberSpec],
    view: LayerInput,
    parts: Sequence[Split],
    seeds: Sequence[int],
    *,
    name: str = "layer",
) -> tuple[Layer, list[np.ndarray]]:
    """Fit a layer.

    Parameters
    ----------
    trainer : LayerTrainer
    members : sequence of MemberSpec
    view : LayerInput
    parts : sequence of Split
    seeds : sequence of int
        Entropy of the layer's random streams.
    name : str
        What the bar says.

    Returns
    -------
    layer : Layer
    vectors : list of ndarray of shape (n_samples, n_classes)
        Each forest's class distributions of the samples, from the folds that held them out.
    """
    folding = SumOfTrees(trainer.task)
    forests = {i: member for i, member in enumerate(members) if member.is_forest}
    trained = trainer.train_forests(forests, view, parts, seeds, name, folding)
    importances = None
    if len(forests) == len(members):
        importances = np.zeros(trainer.table.bins.n_columns)
        for grown in (grown for i in forests for grown in _kept(trained[i], parts)):
            importances += grown.importances
        importances /= importances.sum() or 1
    for i, member in enumerate(members):
        if i not in forests:
            trained[i] = trainer.train_estimator(member, view, parts, (*seeds, i), folding)
    kept: list[list[Any]] = [list(_kept(trained[i], parts)) for i in range(len(members))]
    for i in forests:
        kept[i] = [grown.trees for grown in kept[i]]
    bins = trainer.table.bins
    layer = Layer(kept, bins.columns(trainer.n_raw, bins.n_columns), view.columns, importances)
    return layer, [trained[i].vectors for i in range(len(members))]


def _kept(trained: Trained, parts: Sequence[Split]) -> Iterable[Any]:
    return (model for model, part in zip(trained.models, parts, strict=True) if part.keep)
