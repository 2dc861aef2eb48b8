"""Forests and the layers of cascades as the same thing: forests that ask a coded table."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from sklearn.utils.validation import check_is_fitted

from mddf import _cascade, _growing
from mddf._binning import Bins, apply_bins, join_bins
from mddf._cascade_estimator import BaseCascade
from mddf._forest import BaseForest
from mddf._table import read_table
from mddf._trees import Trees


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
    """

    bins: Bins
    members: list[list]
    columns: np.ndarray

    def blocks(self, forest: int | None) -> list[Trees]:
        """The blocks of trees of one forest, or of all."""
        chosen = self.members if forest is None else [self.members[forest]]
        if guests := [found for found in chosen if not isinstance(found[0], Trees)]:
            raise TypeError(
                "only forests of mddf have trees that can be read, got a layer with "
                f"{guests[0][0]!r}"
            )
        return [trees for found in chosen for trees in found]


def is_cascade(model) -> bool:
    """Whether a model is a cascade rather than a forest; others are refused.

    So is a cascade whose class predicts in a way of its own.
    """
    if isinstance(model, BaseForest):
        check_is_fitted(model)
        return False
    if isinstance(model, BaseCascade):
        check_is_fitted(model)
        if type(model).predict_proba is BaseCascade.predict_proba:
            return True
    raise TypeError(
        f"model must be a forest of mddf, an MDDFClassifier or a GCForestClassifier, got {model!r}"
    )


def model_stages(model) -> list[Stage]:
    """The stages of a fitted model: one for a forest, one for each layer of a cascade."""
    cascade = is_cascade(model)
    raw = model._binner.bins_
    if not cascade:
        return [Stage(raw, [model._trees], np.arange(raw.n_columns))]
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


def coded_stages(model, X) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Rows as each stage sees them, and what the model says of them up to that stage.

    Yields
    ------
    codes : ndarray of uint8 of shape (n_rows, n_columns)
        Written over for the next stage.
    probabilities : ndarray of shape (n_rows, n_classes)
    """
    table = read_table(model, X, reset=False, categorical_features=model.categorical_features)
    if not is_cascade(model):
        yield model._binner.transform(table), model.predict_proba(X)
        return
    cascade = model._cascade
    codes = model._binner.transform(table, n_spare=cascade.layout.n_columns)
    numbers = model._binner.numbers(table) if cascade.needs_numbers else None
    for _, probabilities in _cascade.stages(cascade, codes, numbers, n_jobs=model.n_jobs):
        yield codes, probabilities


def predict_numbers(model, numbers: np.ndarray, *, n_jobs=None) -> np.ndarray:
    """`predict_proba` of rows as numbers, categories as codes, NaN where missing."""
    bins = model._binner.bins_
    codes = apply_bins(np.ascontiguousarray(numbers, float), bins)
    if not is_cascade(model):
        sums = np.zeros((len(codes), len(model.classes_)))
        _growing.add_probabilities(model._trees, codes, sums, n_jobs=n_jobs)
        return _growing.shares(sums)
    cascade = model._cascade
    spare = np.zeros((len(codes), cascade.layout.n_columns), np.uint8)
    table = np.hstack([codes, spare])
    *_, (_, probabilities) = _cascade.stages(cascade, table, numbers, n_jobs=n_jobs)
    return probabilities
