"""A layer of a cascade: forests that are grown on folds and vote for what they did not see."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from itertools import islice

import numpy as np
from sklearn.base import clone

from mddf._base.messages import short
from mddf._base.serialization import register_serializable
from mddf._data.binning import BinnedTable, Bins
from mddf._data.folds import Folds
from mddf._data.sampling import RowWeights, plan_sampling
from mddf._data.validation import is_list
from mddf._data.vectors import put_aside
from mddf._ensemble.stages import GRAIN, StageMember, shown_numbers
from mddf._forest.base import BaseForest
from mddf._forest.classifiers import CompletelyRandomForestClassifier, RandomForestClassifier
from mddf._members.external import check_external, check_takes_weights
from mddf._members.external_fit import fit_external
from mddf._members.named import split_names
from mddf._members.stages import ExternalMember
from mddf._trees import grower

OUT_OF_BAG = "oob"
FOREST_NAMES = ("random", "completely-random")


@dataclass(frozen=True)
class Samples:
    """What all layers are trained on.

    Attributes
    ----------
    labels : ndarray of uint16 of shape (n_samples,)
    n_classes : int
    weights : RowWeights
    order : ndarray of int32 of shape (n_samples,)
        All rows, in an order that depends on what they hold: bootstraps draw from it.
    """

    labels: np.ndarray
    n_classes: int
    weights: RowWeights
    order: np.ndarray


@dataclass(frozen=True)
class LayerInput:
    """What one layer is trained on.

    Attributes
    ----------
    table : BinnedTable
    numbers : ndarray of shape (n_samples, n_raw) or None
        The raw features, for classifiers that are not forests of this package.
    augmented : ndarray of shape (n_samples, n_augmented) or None
        The features of the layer before, which are the last columns of `table`, for the same.
    n_augmented : int
    columns : ndarray of int32
        Which columns of `table` the layer sees.
    folds : list of (train, held out) or None
        None for one fold that trains on all samples and predicts them out of bag.
    reweighting : ndarray of shape (n_samples,) or None
        Factors that the layer before makes of the samples' weights.
    redraw : bool
        Draw samples in proportion to these factors rather than weigh them.
    refit : bool
        Keep models of all samples rather than those of the folds.
    """

    table: BinnedTable
    numbers: np.ndarray | None
    augmented: np.ndarray | None
    n_augmented: int
    columns: np.ndarray
    folds: Folds | None
    reweighting: np.ndarray | None
    redraw: bool
    refit: bool = False

    @property
    def parts(self) -> list[tuple]:
        """Rows of each model: trained on, held out, and whether the model is kept."""
        everything = np.arange(self.table.n_rows, dtype=np.int32)
        if self.folds is None:
            return [(everything, grower.OUT_OF_BAG, True)]
        parts: list[tuple] = [(*fold, not self.refit) for fold in self.folds]
        return [*parts, (everything, None, True)] if self.refit else parts


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
) -> list:
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
    for name, forest in split_names("forests", forests, own_parameters):
        if isinstance(forest, str):
            if forest not in FOREST_NAMES:
                raise ValueError(
                    f"forests must hold classifiers or names out of {FOREST_NAMES}, "
                    f"got {short(forest)}"
                )
            resolved.append(named_forest(forest, n_estimators, out_of_bag))
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
        resolved.append(forest)
    return resolved


def limit_depth(forest, max_depth: int | None):
    """The forest with a depth limit, if it is a random one that has none of its own."""
    if max_depth is None or not isinstance(forest, RandomForestClassifier):
        return forest
    return (
        forest if forest.max_depth is not None else clone(forest).set_params(max_depth=max_depth)
    )


def _blocks(
    forests: dict[int, BaseForest], samples: Samples, layer: LayerInput, seeds
) -> Iterator[grower.Block]:
    """What is grown for each forest and fold; forests that sample alike share how."""
    samplings: dict[tuple, grower.Sampling] = {}
    for number, forest in forests.items():
        most = forest.max_samples if forest.bootstrap else None
        for k, (train, held_out, keep) in enumerate(layer.parts):
            key = (forest.bootstrap, most, k)
            if key not in samplings:
                samplings[key] = plan_sampling(
                    samples.order,
                    samples.weights,
                    train=train,
                    bootstrap=forest.bootstrap,
                    max_samples=most,
                    reweighting=layer.reweighting,
                    redraw=layer.redraw,
                )
            sampling = samplings[key]
            yield grower.Block(
                seeds=grower.draw_seeds((*seeds, number, k), forest.n_estimators),
                options=forest._tree_options(len(sampling.rows), len(layer.columns)),
                sampling=sampling,
                columns=layer.columns,
                held_out=held_out,
                importances=keep,
                keep=keep,
            )


def _make_class_vectors(sums: np.ndarray) -> np.ndarray:
    """Turn sums over trees into class vectors, NaN where there was no tree, in their place."""
    with np.errstate(invalid="ignore"):
        sums /= sums.sum(axis=1, keepdims=True)
    sums /= GRAIN
    np.rint(sums, out=sums)
    sums *= GRAIN
    return sums


def _make_held_out_vectors(sums: np.ndarray, samples: Samples) -> np.ndarray:
    """The same, with the classes' shares where there was no tree; in a file if they are large."""
    vectors = _make_class_vectors(sums)
    unseen = np.isnan(vectors[:, 0])
    if unseen.any():
        prior = np.bincount(samples.labels, samples.weights.row, minlength=samples.n_classes)
        vectors[unseen] = prior / prior.sum()
    return put_aside(vectors)


def _fit_classifiers(classifier, samples: Samples, layer: LayerInput, seeds, n_jobs, name):
    """Fit a classifier on each fold; its members, and their vectors of those held out."""
    weights = samples.weights.row
    if layer.reweighting is not None:
        weights = layer.reweighting * (1 if weights is None else weights)
    assert layer.numbers is not None
    X = shown_numbers(layer.numbers, layer.augmented, layer.columns)
    parts = [(train, held_out) for train, held_out, _ in layer.parts]
    fitted = fit_external(
        classifier, X, samples.labels, samples.n_classes, weights, parts, seeds, n_jobs, name
    )
    members, sums = [], np.zeros((len(samples.labels), samples.n_classes))
    for (_, held_out, keep), (model, vectors) in zip(layer.parts, fitted, strict=True):
        if held_out is not None:
            sums[held_out] += vectors
        if keep:
            members.append(model)
    return members, _make_held_out_vectors(sums, samples)


def _grow_forests(forests, samples: Samples, layer: LayerInput, seeds, n_jobs, verbose, name):
    """Grow forests of this package on all folds, in one go."""
    blocks = list(_blocks(forests, samples, layer, seeds))
    grown = grower.growing(
        layer.table,
        grower.ClassTarget(samples.labels, samples.n_classes),
        blocks,
        n_jobs=n_jobs,
        verbose=verbose,
        description=name,
    )
    with closing(grown):
        return _gathered(forests, samples, layer, zip(blocks, grown, strict=True))


def _gathered(forests, samples: Samples, layer: LayerInput, grown):
    """Members and vectors of each forest, and the sum of importances, from blocks that grow."""
    members: dict[int, list] = {number: [] for number in forests}
    vectors = {}
    importances = np.zeros(layer.table.bins.n_columns)
    for number in forests:
        sums = np.zeros((len(samples.labels), samples.n_classes))
        for block, of_part in islice(grown, len(layer.parts)):
            if of_part.sums is not None:
                held_out = block.held_out
                if held_out is grower.OUT_OF_BAG:
                    held_out = block.sampling.rows
                sums[held_out] += of_part.sums
            if block.keep:
                assert of_part.importances is not None
                members[number].append(of_part.trees)
                importances += of_part.importances
            del of_part
        vectors[number] = _make_held_out_vectors(sums, samples)
        del sums
    return members, vectors, importances


def grow_layer(
    forests,
    samples: Samples,
    layer: LayerInput,
    seeds,
    *,
    n_jobs=None,
    verbose=False,
    name="layer",
) -> tuple[Layer, list[np.ndarray]]:
    """Fit a layer.

    Parameters
    ----------
    forests : list of BaseForest or classifiers
    samples : Samples
    layer : LayerInput
    seeds : tuple of int
        Entropy of the layer's random streams.
    n_jobs : int, default=None
    verbose : bool, default=False
        Show a bar that counts trees.
    name : str
        What the bar says.

    Returns
    -------
    layer : Layer
    vectors : list of ndarray of shape (n_samples, n_classes)
        Each forest's class distributions of the samples, from the folds that held them out.
    """
    own = {i: forest for i, forest in enumerate(forests) if isinstance(forest, BaseForest)}
    members, vectors, importances = {}, {}, None
    if own:
        members, vectors, importances = _grow_forests(
            own, samples, layer, seeds, n_jobs, verbose, name
        )
    for i, classifier in enumerate(forests):
        if i not in own:
            called = f"{type(classifier).__name__} of forests[{i}]"
            members[i], vectors[i] = _fit_classifiers(
                classifier, samples, layer, (*seeds, i), n_jobs, called
            )
    if importances is not None and len(own) == len(forests):
        importances /= importances.sum() or 1
    else:
        importances = None
    all_bins = layer.table.bins
    fitted = Layer(
        [members[i] for i in range(len(forests))],
        all_bins.columns(all_bins.n_columns - layer.n_augmented, all_bins.n_columns),
        layer.columns,
        importances,
    )
    return fitted, [vectors[i] for i in range(len(forests))]
