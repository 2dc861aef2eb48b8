"""Layers of a deep forest fitted without each fold, on which the next layer is then evaluated.

Out-of-fold vectors are made from the labels of the other folds. A layer that is trained on them
in one fold can therefore learn to read the labels of the rows on which it is evaluated: among
equal or near rows, a vector is the mean label of the others. Here the vectors of the rows that an
outer fold trains on come from models that saw neither them nor the fold. The vectors of the rows
that it holds out come from models as they are at prediction time, which saw all other rows.

In time order, nothing has to be fitted without a fold: all out-of-fold vectors of the rows on
which a fold trains come from models of their own past, before the rows that the fold holds out.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import reduce
from typing import Any

import numpy as np
import numpy.typing as npt

from mddf._binning.bins import Bins
from mddf._layers.member import ForestMember, fit_all, members_of_later_layers
from mddf._layers.member_options import reweighting_factors
from mddf._layers.seeds import Purpose
from mddf._layers.stack import Stack
from mddf._layers.trainer import (
    Features,
    Job,
    LayerInput,
    Trainer,
    one_stream,
    splits_from_folds,
)
from mddf._members.fit import Fit
from mddf._resampling.folds import Folds, gives_folds, make_folds, rows_never_held_out

# Outer folds. The first layer is fitted without each pair of them: six times for four folds, ten
# times for five. The number is a compromise between time and training rows, and was not tuned.
_N_OUTER_FOLDS = 4
# Without a pair of two folds, no row is left to train on.
_MIN_OUTER_FOLDS = 3


def make_outer_folds(
    cv: Any,
    folds: Folds,  # folds that `cv` gives
    *,
    X: Any,  # as in `make_folds`, like y, labels and groups
    y: np.ndarray,
    strata: np.ndarray,
    seed: int,
    groups: npt.ArrayLike | None,
) -> Folds:
    """Folds on which later layers are evaluated: four, or the folds of `cv`, merged to four.

    Folds in time order stay as they are.
    """
    if not gives_folds(cv):
        return make_folds(_N_OUTER_FOLDS, X, y, strata, seed, groups=groups)
    if len(rows_never_held_out(folds, len(strata))):
        return folds
    is_held_out = np.zeros(len(strata), bool)
    disjoint_folds = []
    for train, held_out in folds:
        new_rows = held_out[~is_held_out[held_out]]
        is_held_out[new_rows] = True
        if len(new_rows):
            disjoint_folds.append((train, new_rows))
    n_merged = min(_N_OUTER_FOLDS, len(disjoint_folds))
    merged = []
    for numbers in np.array_split(np.arange(len(disjoint_folds)), n_merged):
        train = reduce(np.intersect1d, [disjoint_folds[i][0] for i in numbers])
        held_out = np.concatenate([disjoint_folds[i][1] for i in numbers])
        merged.append((train, np.sort(held_out)))
    return merged


class NestedInputs:
    """Input of a later layer for each outer fold."""

    def __init__(self, stack: Stack) -> None:
        self.trainer = stack.trainer
        self.stack = stack
        self.folds = stack.trainer.outer_folds
        # Number of the layer whose input is held, from 1; None at the beginning.
        self.layer: int | None = None
        # For each outer fold, the codes that the layer adds to the features, and margins of the
        # first layer.
        self._codes: list[np.ndarray] = []
        self._margins: list[np.ndarray] = []
        self._bins: Bins | None = None
        self._fitted_pairs: set[tuple[int, int]] = set()

    def reason_not_to_nest(self) -> str:
        """Why the folds cannot be nested; empty if they can."""
        if self.trainer.is_in_time_order:
            return ""
        if len(self.folds) < _MIN_OUTER_FOLDS:
            return f"a later layer needs at least {_MIN_OUTER_FOLDS} folds, got {len(self.folds)}"
        weight = self.trainer.weights.row
        for i in range(len(self.folds)):
            for j in range(i):
                train, _ = self._without_pair(i, j)
                if len(train) == 0 or (weight is not None and not weight[train].any()):
                    return "a later layer needs samples to train on without any two of the folds"
        return ""

    def prepare(self, number: int, outer_folds: Iterable[int]) -> None:
        """Make the input of a layer for some outer folds."""
        if self.layer is None:
            self._start()
        if self.layer == 1 and not self.trainer.is_in_time_order:
            # A fit that goes on with a later layer takes the steps of one that was not stopped.
            all_folds = range(len(self.folds))
            steps = [outer_folds] if number == 1 else [[0], all_folds[1:]]
            for folds_of_step in steps:
                self._fit_pairs(list(folds_of_step))
        assert self.layer is not None
        while self.layer < number:
            self._advance(self.layer)

    def _start(self) -> None:
        """Begin with the out-of-fold features of all rows, which training rows then replace."""
        features = self.stack.features_for(1)
        margins = self.stack.margins()
        self._codes = [features.codes.copy() for _ in self.folds]
        self._margins = [] if margins is None else [margins.copy() for _ in self.folds]
        self._bins = features.bins
        self.layer = 1

    def layer_input(self, outer: int, strength: float = 0.0) -> LayerInput:
        """Put the features of an outer fold into the table; returns them as input of a layer.

        With a `strength`, the samples on which the fold trains are reweighted by their margins.
        """
        assert self._bins is not None
        features = Features(self._codes[outer], self._bins)
        factors = None
        if strength:
            train, _ = self.folds[outer]
            factors = reweighting_factors(self._margins[outer], self.trainer, strength, train)
        return LayerInput(self.trainer.put_into_table(features), factors)

    def grow(
        self, forests: Sequence[ForestMember], outer: int, strength: float, *, keep: bool
    ) -> list[list[Fit]]:
        """Grow the forests of the layer without an outer fold; returns a list for each forest."""
        layer_input = self.layer_input(outer, strength)
        assert self.layer is not None
        entropy = self.trainer.seeds.entropy_for(Purpose.NESTED_LAYER, self.layer, outer)
        fold = self.folds[outer : outer + 1]
        return grow_on_folds(forests, self.trainer, layer_input, fold, entropy, keep=keep)

    def _fit_pairs(self, outer_folds: Sequence[int]) -> None:
        """Fit the first layer without each pair of folds that includes one of these folds."""
        n_folds = len(self.folds)
        needed = {(min(i, j), max(i, j)) for i in outer_folds for j in range(n_folds) if i != j}
        pairs = sorted(needed - self._fitted_pairs)
        if not pairs:
            return
        self._fitted_pairs.update(pairs)
        first_layer = self.stack.layers[0]
        members = [first_layer.evidence[i].member for i in first_layer.inputs]
        splits = [self._without_pair(i, j) for i, j in pairs]
        seed = pairs[0][0]

        def entropy_of(number: int | None) -> tuple[int, ...]:
            if number is None:
                return self.trainer.seeds.entropy_for(Purpose.PAIR_FORESTS, seed)
            return self.trainer.seeds.entropy_for(Purpose.PAIR_ESTIMATORS, number, seed)

        job = Job(
            splits=splits_from_folds(splits), entropy_of=entropy_of, description="nested folds"
        )
        # Vectors of the held-out rows, for each split and each input of the second layer.
        vectors: list[dict[int, np.ndarray]] = [{} for _ in splits]
        for i, fits in fit_all(dict(enumerate(members)), self.trainer, job):
            for vectors_of_split, fit in zip(vectors, fits, strict=True):
                vectors_of_split[i] = fit.vectors
        # Once there is a second layer, samples are not reweighted any more.
        with_margins = bool(self._margins) and len(self.stack.layers) == 1
        for (i, j), (_, rows), by_member in zip(pairs, splits, vectors, strict=True):
            input_vectors = np.stack([by_member[number] for number in range(len(members))])
            replacements = [(self._codes, self.stack.codes_for(1, input_vectors))]
            if with_margins:
                margins = self.stack.first_layer_margins(input_vectors, rows)
                replacements.append((self._margins, margins))
            for outer, inner in ((i, j), (j, i)):
                is_inner = np.isin(rows, self.folds[inner][1], assume_unique=True)
                for arrays, values in replacements:
                    arrays[outer][rows[is_inner]] = values[is_inner]

    def _without_pair(self, i: int, j: int) -> tuple[np.ndarray, np.ndarray]:
        """Rows to train on without two folds, and the rows that the two hold out."""
        train_i, held_out_i = self.folds[i]
        train_j, held_out_j = self.folds[j]
        return np.intersect1d(train_i, train_j), np.union1d(held_out_i, held_out_j)

    def _advance(self, number: int) -> None:
        """Go on from the input of a layer to the input of the next one."""
        layer = self.stack.layers[number]
        features = self.stack.features_for(number + 1)
        next_codes = [features.codes for _ in self.folds]
        if not self.trainer.is_in_time_order:
            members = members_of_later_layers(layer.evidence[i].member for i in layer.inputs)
            next_codes = [
                self._codes_without_fold(outer, number, members)
                for outer in range(len(self.folds))
            ]
        self._codes = next_codes
        self._bins = features.bins
        self.layer = number + 1

    def _codes_without_fold(
        self, outer: int, number: int, members: list[ForestMember]
    ) -> np.ndarray:
        """Codes of the next layer's input, where rows of other folds do not know the fold."""
        train, _ = self.folds[outer]
        inner_folds = [
            (np.intersect1d(train, inner_train), np.intersect1d(train, inner_held_out))
            for inner, (inner_train, inner_held_out) in enumerate(self.folds)
            if inner != outer
        ]
        entropy = self.trainer.seeds.entropy_for(Purpose.NESTED_VECTORS, number, outer)
        fits_of_members = grow_on_folds(
            members, self.trainer, self.layer_input(outer), inner_folds, entropy
        )
        codes = self.stack.features_for(number + 1).codes.copy()
        for fits in zip(*fits_of_members, strict=True):
            vectors = np.stack([fit.vectors for fit in fits])
            codes[fits[0].held_out] = self.stack.codes_for(number + 1, vectors)
        return codes


def grow_on_folds(
    members: Sequence[ForestMember],
    trainer: Trainer,
    layer_input: LayerInput,
    folds: Folds,
    entropy: Sequence[int],
    *,
    keep: bool = False,
) -> list[list[Fit]]:
    """Grow the forests of a layer; returns a fit for each fold, for each member."""
    job = Job(
        splits=splits_from_folds(folds, keep=keep),
        entropy_of=one_stream(entropy),
        layer_input=layer_input,
        description="nested folds",
    )
    fits_of_members = []
    for _, fits in fit_all(dict(enumerate(members)), trainer, job):
        fits_of_members.append(list(fits))
    return fits_of_members
