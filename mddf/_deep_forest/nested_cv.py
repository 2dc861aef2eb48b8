"""Layers of a deep forest fitted without each fold, on which the next layer is then judged.

Out-of-fold vectors are made from the labels of the other folds. A layer that is trained on them
in one fold can therefore learn to read the labels of the rows that it is judged on: among equal
or near rows, a vector is the mean label of the others. Here the vectors of the rows that an outer
fold trains on come from models that saw neither them nor the fold, and those of the rows that it
holds out from models as they are at prediction time, which saw all other rows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any

import numpy as np

from mddf._binning.bins import Bins
from mddf._deep_forest.fold_trainer import Features, OutOfFoldLayer, Training, parts_of
from mddf._members.spec import MemberSpec
from mddf._resampling.folds import Folds, gives_folds, make_folds
from mddf._training.layer_trainer import LayerInput, MeanOfFolds
from mddf._trees.grower import GrowthResult

_N_FOLDS = 4
_LEAST_FOLDS = 3

# From vectors (n_members, n_rows, n_columns) and their rows: binned features, margins or None.
Reader = Callable[[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray | None]]


def outer_folds(
    cv: Any, folds: Folds, X: Any, y: Any, strata: np.ndarray, seed: int, groups: Any
) -> Folds:
    """Folds on which later layers are judged: four, or the folds that `cv` gives, merged to four.

    Parameters
    ----------
    cv : int, splitter, iterable of (train, test) or None
    folds : list of (train, held out)
        Those of `cv`.
    X, y, strata, seed, groups
        As in :func:`mddf._resampling.folds.make_folds`.

    Returns
    -------
    list of (train, held out)
        Each row is held out once.
    """
    if not gives_folds(cv):
        return make_folds(_N_FOLDS, X, y, strata, seed, groups=groups)
    taken = np.zeros(len(strata), bool)
    parts = []
    for train, held_out in folds:
        own = held_out[~taken[held_out]]
        taken[own] = True
        if len(own):
            parts.append((train, own))
    merged = []
    for numbers in np.array_split(np.arange(len(parts)), min(_N_FOLDS, len(parts))):
        train = reduce(np.intersect1d, [parts[i][0] for i in numbers])
        merged.append((train, np.sort(np.concatenate([parts[i][1] for i in numbers]))))
    return merged


class NestedFolds:
    """What a later layer sees of the layer before, for each outer fold.

    Parameters
    ----------
    training : Training
    entropy : sequence of int
        Of the seeds.

    Attributes
    ----------
    folds : list of (train, held out)
        The outer folds.
    level : int
        Of the layer whose features are there, from 1; 0: none yet.
    """

    def __init__(self, training: Training, entropy: Sequence[int]) -> None:
        self.training, self.entropy = training, entropy
        self.folds = training.outer_folds
        self._folding = MeanOfFolds.of(training.task, self.folds)
        self.level = 0
        self._codes: list[np.ndarray] = []
        self._margins: list[np.ndarray] = []
        self._bins: Bins | None = None
        self._pairs: set[tuple[int, int]] = set()

    def why_not(self) -> str:
        """Why the folds cannot be nested; nothing if they can."""
        if len(self.folds) < _LEAST_FOLDS:
            return f"a later layer needs at least {_LEAST_FOLDS} folds, got {len(self.folds)}"
        weight = self.training.weights.row
        for i in range(len(self.folds)):
            for j in range(i):
                train, _ = self._pair(i, j)
                if len(train) == 0 or (weight is not None and not weight[train].any()):
                    return "a later layer needs samples to train on without any two of the folds"
        return ""

    def start(self, features: Features, margins: np.ndarray | None) -> None:
        """Begin with the out-of-fold features of all rows, which those to train on replace."""
        self._codes = [features.codes.copy() for _ in self.folds]
        self._margins = [] if margins is None else [margins.copy() for _ in self.folds]
        self._bins, self.level = features.bins, 1

    def margins(self, outer: int) -> np.ndarray:
        """Of the first layer's vote, shape (n_samples,)."""
        return self._margins[outer]

    def fit_pairs(
        self, outer: Sequence[int], members: list[MemberSpec], models: list[Any], read: Reader
    ) -> None:
        """Fit the first layer without each pair of folds that these outer folds are part of.

        Parameters
        ----------
        outer : sequence of int
        members : list of MemberSpec
            Whose vectors the second layer sees.
        models : list of list
            Theirs of the folds, which tell how long boosting goes on.
        read : callable
        """
        numbers = range(len(self.folds))
        wanted = {(min(i, j), max(i, j)) for i in outer for j in numbers if i != j}
        pairs = sorted(wanted - self._pairs)
        if not pairs:
            return
        self._pairs.update(pairs)
        parts = [self._pair(*pair) for pair in pairs]
        vectors = self._vectors(members, models, parts, pairs[0][0])
        for number, ((i, j), (_, rows)) in enumerate(zip(pairs, parts, strict=True)):
            codes, margins = read(np.stack([of_one[number] for of_one in vectors]), rows)
            for one, other in ((i, j), (j, i)):
                there = np.isin(rows, self.folds[other][1], assume_unique=True)
                self._codes[one][rows[there]] = codes[there]
                if margins is not None:
                    self._margins[one][rows[there]] = margins[there]

    def _pair(self, i: int, j: int) -> tuple[np.ndarray, np.ndarray]:
        """Rows to train on without two folds, and those of the two."""
        (train, held_out), (other_train, other) = self.folds[i], self.folds[j]
        return np.intersect1d(train, other_train), np.union1d(held_out, other)

    def _vectors(
        self, members: list[MemberSpec], models: list[Any], parts: Folds, seed: int
    ) -> list[list[np.ndarray]]:
        """For each member of the first layer, for each part: vectors of the rows held out."""
        forests = [i for i, member in enumerate(members) if member.is_forest]
        view = LayerInput(self.training.raw_columns)
        grown = self._grow([members[i] for i in forests], view, (0, seed), parts)
        found = dict(zip(forests, map(self._read_sums, grown), strict=True))
        for i, (member, of_folds) in enumerate(zip(members, models, strict=True)):
            if member.is_forest:
                continue
            entropy, of_pairs = (*self.entropy, 1, i, seed), parts_of(parts)
            if member.is_boosted:
                fitted = self.training.boost(member, of_pairs, entropy, of_folds[0].rounds)
            else:
                fitted = self.training.fit_member(member, of_pairs, entropy)
            found[i] = [vectors for _, vectors in fitted]
        return [found[i] for i in range(len(members))]

    def advance(self, members: list[MemberSpec], features: Features, read: Reader) -> None:
        """Go on to the features that these members, of the layer before, make of theirs."""
        following = []
        for outer, (train, _) in enumerate(self.folds):
            parts = [
                (np.intersect1d(train, other), np.intersect1d(train, held_out))
                for inner, (other, held_out) in enumerate(self.folds)
                if inner != outer
            ]
            entropy = (2, self.level, outer)
            grown = self._grow(members, LayerInput(self._show(outer)), entropy, parts)
            of_outer = features.codes.copy()
            vectors = zip(*map(self._read_sums, grown), strict=True)
            for (_, rows), of_part in zip(parts, vectors, strict=True):
                of_outer[rows] = read(np.stack(of_part), rows)[0]
            following.append(of_outer)
        self._codes, self._bins, self.level = following, features.bins, self.level + 1

    def grow(
        self,
        outer: int,
        members: list[MemberSpec],
        reweighting: np.ndarray | None,
        entropy: Sequence[int],
        *,
        keep: bool = False,
    ) -> list[GrowthResult]:
        """Grow forests on the features of an outer fold, which is held out."""
        view, entropy = LayerInput(self._show(outer), reweighting), (*entropy, outer)
        grown = self._grow(members, view, entropy, self.folds[outer : outer + 1], keep)
        return [of_fold for (of_fold,) in grown]

    def _show(self, outer: int) -> np.ndarray:
        """Put the features of an outer fold into the table; its columns."""
        assert self._bins is not None
        return self.training.show(Features(self._codes[outer], self._bins))

    def flattered(
        self, members: list[MemberSpec], features: Features, entropy: Sequence[int]
    ) -> OutOfFoldLayer:
        """The layer on the first outer fold, with out-of-fold features, which flatter it."""
        view = LayerInput(self.training.show(features))
        grown = self._grow(members, view, entropy, self.folds[:1])
        return self.joined(members, [[of_fold for (of_fold,) in grown]], self.folds[0][1])

    def joined(
        self,
        members: list[MemberSpec],
        looks: list[list[GrowthResult]],
        rows: np.ndarray | None = None,
    ) -> OutOfFoldLayer:
        """What forests on the first of the outer folds, or on all, predict of rows held out.

        Parameters
        ----------
        members : list of MemberSpec
        looks : list of list of GrowthResult
            For each fold, for each member.
        rows : ndarray of int, default=None
            Those of the folds, in the order in which they are wanted; None for all by number.
        """
        vectors = np.concatenate([np.stack(self._read_sums(of_fold)) for of_fold in looks], axis=1)
        if rows is None:
            held_out = np.concatenate([held_out for _, held_out in self.folds])
            vectors = vectors[:, np.argsort(held_out)]
        models = [list(of_member) for of_member in zip(*looks, strict=True)]
        return OutOfFoldLayer(members, vectors, models, np.zeros(len(members)), [])

    def _grow(
        self,
        members: list[MemberSpec],
        view: LayerInput,
        entropy: Sequence[int],
        folds: Folds,
        keep: bool = False,
    ) -> list[list[GrowthResult]]:
        parts, entropy = parts_of(folds, keep), (*self.entropy, *entropy)
        return self.training.grow_all(members, view, parts, entropy, "nested folds")

    def _read_sums(self, of_parts: list[GrowthResult]) -> list[np.ndarray]:
        return [self._folding.read(part) for part in of_parts]
