"""Forests and the layers of cascades as the same thing: forests that ask a coded table."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import is_regressor
from sklearn.utils.validation import check_is_fitted

from mddf._base.messages import short
from mddf._cascade import model as cascade_model
from mddf._cascade.estimator import BaseCascade
from mddf._data.binning import Bins, apply_bins, join_bins
from mddf._data.table import read_table
from mddf._deep_forest.classifier import DeepForestClassifier
from mddf._deep_forest.regressor import DeepForestRegressor
from mddf._forest.base import BaseForest
from mddf._forest.regressor_base import BaseForestRegressor
from mddf._trees import grower
from mddf._trees.arrays import TreeArrays

_KINDS: dict[Any, str] = {
    BaseForest: "forest",
    BaseCascade: "cascade",
    DeepForestClassifier: "deep forest",
    BaseForestRegressor: "forest",
    DeepForestRegressor: "deep forest",
}


@dataclass(frozen=True)
class Stage:
    """A forest, or a layer of a cascade.

    Attributes
    ----------
    bins : Bins
        Of all columns that the trees may ask: the features, and what the layer before adds.
    members : list
        For each forest its blocks of trees; for a classifier from outside, the fitted clones.
    columns : ndarray of int
        Which of the columns the members see.
    unit : float or ndarray of shape (n_outputs,)
        What the leaves hold multiples of.
    """

    bins: Bins
    members: list[list]
    columns: np.ndarray
    unit: float | np.ndarray = 1.0

    def blocks(self, forest: int | None) -> list[Any]:
        """The blocks of trees of one forest, or of all."""
        chosen = self.members if forest is None else [self.members[forest]]
        if external := [found for found in chosen if not isinstance(found[0], TreeArrays)]:
            readable = [i for i, f in enumerate(self.members) if isinstance(f[0], TreeArrays)]
            raise TypeError(
                "only forests of mddf have trees that can be read, which in this layer are "
                f"those of forest={readable}; got {short(external[0][0])}"
            )
        return [trees for found in chosen for trees in found]


def kind_of(model) -> str:
    """What a fitted model is: "forest", "cascade" or "deep forest"; others are refused.

    So is a subclass that predicts in a way of its own.
    """
    for base, kind in _KINDS.items():
        if isinstance(model, base):
            check_is_fitted(model)
            method = response_method(model)
            if getattr(type(model), method) is getattr(base, method):
                return kind
    raise TypeError(
        "model must be a forest of mddf, an MDDFClassifier, a GCForestClassifier, a "
        f"DeepForestClassifier or a DeepForestRegressor, got {short(model)}"
    )


def response_method(model) -> str:
    """The method that gives a model's predictions in full."""
    return "predict" if is_regressor(model) else "predict_proba"


def refuse_untraceable(model, remedy: str) -> None:
    """Refuse a model whose average is not linear in its layers' vectors, or not one of trees."""
    if kind_of(model) == "deep forest":
        raise TypeError(
            f"the average of a {type(model).__name__} is not a sum over trees, so that "
            f"contributions cannot be passed back through its layers; use {remedy}"
        )
    for stage in model_stages(model):
        for first, *_ in stage.members:
            if not isinstance(first, TreeArrays):
                raise TypeError(
                    f"only forests of mddf have trees that can be read, and a layer of the "
                    f"{type(model).__name__} has {short(first)}; use {remedy}"
                )


def only_trees(model) -> bool:
    """Whether all that a model says comes from trees, which ask for the bins of cells."""
    members = [first for stage in model_stages(model) for first, *_ in stage.members]
    return all(isinstance(first, TreeArrays) for first in members)


def model_stages(model) -> list[Stage]:
    """The stages of a fitted model: one for a forest, one for each layer of a cascade."""
    kind = kind_of(model)
    raw = model._binner.bins_
    everything = np.arange(raw.n_columns)
    if kind == "forest":
        unit = np.ldexp(1.0, model._exponents) if is_regressor(model) else 1.0
        return [Stage(raw, [model._trees], everything, unit)]
    if kind == "deep forest":
        return [
            Stage(
                join_bins(raw, layer.bins),
                [v.models for v in layer.members],
                everything,
                layer.members[0].unit,
            )
            for layer in model._layers
        ]
    return [
        Stage(
            join_bins(raw, layer.bins),
            [_flat(of_forest) for of_forest in layer.members],
            layer.columns,
        )
        for layer in model._cascade.layers
    ]


def _flat(of_forest: list) -> list:
    """Blocks of trees of all folds, or classifiers."""
    if not isinstance(of_forest[0], list):
        return of_forest
    return [trees for of_fold in of_forest for trees in of_fold]


def coded_stages(model, X) -> Iterator[np.ndarray]:
    """Rows as each stage sees them.

    Yields
    ------
    codes : ndarray of uint8 of shape (n_rows, n_columns)
        Written over for the next stage.
    """
    table = read_table(model, X, reset=False, categorical_features=model.categorical_features)
    codes = model._binner.transform(table, n_spare=_n_spare(model))
    for _ in _ask(model, codes, model._binner.numbers(table), model.n_jobs):
        yield codes


def predict_numbers(model, numbers: np.ndarray, *, n_jobs=None) -> np.ndarray:
    """What a model says of rows as numbers, categories as codes, NaN where missing.

    Probabilities, or numbers of shape (n_rows, n_outputs).
    """
    raw = apply_bins(np.ascontiguousarray(numbers, float), model._binner.bins_)
    codes = np.hstack([raw, np.zeros((len(raw), _n_spare(model)), np.uint8)])
    *_, probabilities = _ask(model, codes, numbers, n_jobs)
    return probabilities


def _n_spare(model) -> int:
    """Columns for class vectors beside the features."""
    kind = kind_of(model)
    if kind == "forest":
        return 0
    return model._cascade.layout.n_columns if kind == "cascade" else model._n_spare


def _ask(model, codes, numbers, n_jobs) -> Iterator[np.ndarray]:
    """What a model says up to each stage; `codes` are what the stage saw."""
    kind = kind_of(model)
    if kind == "cascade":
        for _, probabilities in cascade_model.stages(
            model._cascade, codes, numbers, n_jobs=n_jobs
        ):
            yield model._cascade.calibration(probabilities)
    elif kind == "deep forest":
        yield from model._votes(model._layer_vectors(codes, numbers, n_jobs))
    else:
        n_columns = model.n_outputs_ if is_regressor(model) else len(model.classes_)
        means = grower.mean_vectors(model._trees, codes, n_columns, n_jobs=n_jobs)
        yield means * model_stages(model)[0].unit
