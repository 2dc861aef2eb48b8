"""A layer of a cascade: forests that are grown on folds and vote for what they did not see."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.base import clone

from mddf._base.messages import short
from mddf._base.serialization import register_serializable
from mddf._cascade.trainer import LayerTrainer, Part, SumOfTrees, Trained, View
from mddf._data.binning import Bins
from mddf._data.folds import Folds
from mddf._data.validation import is_list
from mddf._ensemble.stages import StageMember
from mddf._forest.classifiers import (
    BaseForest,
    CompletelyRandomForestClassifier,
    RandomForestClassifier,
)
from mddf._members.external import check_external, check_takes_weights
from mddf._members.members import MemberSpec
from mddf._members.named import split_names
from mddf._members.stages import ExternalMember
from mddf._trees import grower

OUT_OF_BAG = "oob"
FOREST_NAMES = ("random", "completely-random")


@register_serializable("cascade layer")
@dataclass
class Layer:
    """A fitted layer.

    Attributes
    ----------
    members : list of list
        For each forest, for each fold: a list of ``Trees``, or a fitted classifier. After a
        refit there is one, of all samples.
    bins : Bins
        Those of the features of the layer before, which this layer's table ended with.
    columns : ndarray of int32
        Which columns the layer sees.
    importances : ndarray of shape (n_columns,) or None
        Mean decrease of impurity over the forests, of sum 1 or all zero; None if not all forests
        are of this package.
    """

    members: list[list]
    bins: Bins
    columns: np.ndarray
    importances: np.ndarray | None

    def stage_members(self, n_classes: int) -> list[StageMember]:
        """The members as those of a stage: forests with the trees of all folds."""
        return [
            StageMember([block for trees in of_folds for block in trees], n_classes)
            if isinstance(of_folds[0], list)
            else ExternalMember(of_folds, n_classes)
            for of_folds in self.members
        ]


def named_forest(name: str, n_estimators: int, out_of_bag: bool) -> BaseForest:
    """The forest that is meant by "random" or "completely-random"."""
    if name == "random":
        return RandomForestClassifier(n_estimators)
    return CompletelyRandomForestClassifier(n_estimators, bootstrap=out_of_bag)


def resolve_forests(
    forests,
    n_estimators: int,
    *,
    out_of_bag: bool,
    weighted: bool,
    n_features: int,
    own_parameters,
) -> list[MemberSpec]:
    """The forests of a layer, from the parameter of that name.

    Parameters
    ----------
    forests : list
        Names and classifiers.
    n_estimators : int
        Trees of those that are named.
    out_of_bag : bool
        Whether they are to predict what their trees did not draw.
    weighted : bool
        Whether samples have weights, which all must take.
    n_features : int
        Columns that the first layer sees.
    own_parameters : iterable of str
        Those of the cascade, which no forest may be called.
    """
    if not is_list(forests) or len(forests) == 0:
        raise ValueError(f"forests must be a list of at least one, got {short(forests)}")
    resolved = []
    for i, (name, forest) in enumerate(split_names("forests", forests, own_parameters)):
        if isinstance(forest, str):
            if forest not in FOREST_NAMES:
                raise ValueError(
                    f"forests must hold classifiers or names out of {FOREST_NAMES}, "
                    f"got {short(forest)}"
                )
            made = named_forest(forest, n_estimators, out_of_bag)
            resolved.append(MemberSpec(forest, made, None))
            continue
        check_external("forests", forest, "classifier", n_features)
        own = isinstance(forest, BaseForest)
        if out_of_bag and not (own and forest.bootstrap):
            raise ValueError(
                "cv='oob' needs forests of this package with bootstrap=True: others have no "
                f"out-of-bag predictions; got {short(forest)}"
            )
        if own:
            forest._validate_params()
            forest._check_bootstrap()
        elif weighted:
            check_takes_weights("forests", name or type(forest).__name__, forest)
        called = f"{type(forest).__name__} of forests[{i}]"
        resolved.append(MemberSpec(called, forest, None))
    return resolved


def limit_depth(member: MemberSpec, max_depth: int | None) -> MemberSpec:
    """The member with a depth limit, if it is a random forest that has none of its own."""
    forest = member.model
    if max_depth is None or not isinstance(forest, RandomForestClassifier) or forest.max_depth:
        return member
    return replace(member, model=clone(forest).set_params(max_depth=max_depth))


def layer_parts(folds: Folds | None, everything: np.ndarray, refit: bool) -> list[Part]:
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
        return [Part(everything, grower.OUT_OF_BAG)]
    parts = [Part(train, held_out, not refit) for train, held_out in folds]
    return [*parts, Part(everything, None)] if refit else parts


def grow_layer(
    trainer: LayerTrainer,
    members: Sequence[MemberSpec],
    view: View,
    parts: Sequence[Part],
    seeds: Sequence[int],
    *,
    name: str = "layer",
) -> tuple[Layer, list[np.ndarray]]:
    """Fit a layer.

    Parameters
    ----------
    trainer : LayerTrainer
    members : sequence of MemberSpec
    view : View
    parts : sequence of Part
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


def _kept(trained: Trained, parts: Sequence[Part]) -> Iterable[Any]:
    return (model for model, part in zip(trained.models, parts, strict=True) if part.keep)
