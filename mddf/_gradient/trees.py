"""Fitted boosted trees as arrays, and asking them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np

from mddf import _core
from mddf._base.parallel import chunks, in_threads, job_count
from mddf._base.serialization import register_serializable

# Arrays that predictions do not need, and those with an entry for each of theirs.
_OF_TRAINING = {"gain": "column", "weight": "values"}
# What the kernel has of arrays that are kept in smaller types.
_KERNELS = {"column": np.int32, "set": np.int32, "values": np.float64}
_SMALL: dict[str, Any] = {"column": np.uint16, "set": np.int16, "values": np.float32}
# So many trees times rows, some hundred microseconds, are worth a thread.
_FEW_WALKS = 2**16


@register_serializable("gradient boosted trees")
@dataclass(frozen=True)
class BoostedTrees:
    """Trees that add to raw predictions, in the order in which they were grown.

    Attributes
    ----------
    arrays : dict of str to ndarray
        As ``_core.GradientTrees`` has them, and what is known of training: ``gain``, what each
        split improved, and ``weight`` of the samples in each leaf. A leaf at the end of several
        ways down a symmetric tree has its weight at the first of them: where all on the right of
        a node weigh nothing, its level's split leaves it as it is. `compact` trees lack both.
    symmetric : bool
        Whether all leaves of a level are split alike.
    n_columns : int
    start : ndarray of shape (n_scores,)
        The raw prediction before the first tree.
    """

    arrays: dict[str, np.ndarray]
    symmetric: bool
    n_columns: int
    start: np.ndarray

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "cells"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        if self.arrays["values"].shape[1] != len(self.start):
            raise ValueError("boosted trees: start must have an entry for each column of values")
        _ = self.cells  # refuses what does not fit together
        for name, of in _OF_TRAINING.items():
            if name not in self.arrays:
                continue
            known, n = self.arrays[name], len(self.arrays[of])
            if known.shape != (n,) or not np.all((known >= 0) & (known < np.inf)):
                raise ValueError(f"boosted trees: {name} must have {n} numbers that are finite")

    @cached_property
    def cells(self) -> _core.GradientTrees:
        """What the kernel asks."""
        arrays = {
            name: array.astype(_KERNELS.get(name, array.dtype), copy=False)
            for name, array in self.arrays.items()
            if name not in _OF_TRAINING
        }
        return _core.GradientTrees(
            **arrays, symmetric=bool(self.symmetric), n_columns=int(self.n_columns)
        )

    @property
    def n_trees(self) -> int:
        """Number of trees."""
        return len(self.arrays["first_split"]) - 1

    @property
    def n_scores(self) -> int:
        """Numbers of a raw prediction."""
        return len(self.start)

    width = n_scores  # as blocks of other trees call them

    def compact(self) -> BoostedTrees:
        """The same in a third of the memory: values in single precision, nothing of training."""
        small = {name: of for name, of in self.arrays.items() if name not in _OF_TRAINING}
        for name, kind in _SMALL.items():
            array = small[name]
            if name == "values" or array.max(initial=0) <= np.iinfo(kind).max:
                small[name] = array.astype(kind)
        return BoostedTrees(small, self.symmetric, self.n_columns, self.start)

    @property
    def weight(self) -> np.ndarray:
        """Of the training samples in each leaf; 1 in those of `compact` trees."""
        return self.arrays.get("weight", np.ones(len(self.arrays["values"])))

    def first(self, n_trees: int) -> BoostedTrees:
        """The first trees alone."""
        return self if n_trees >= self.n_trees else self.between(0, n_trees)

    def between(self, first: int, last: int) -> BoostedTrees:
        """Trees `first` to `last` (not included) alone, from the same start."""
        if first == 0 and last == self.n_trees:
            return self
        starts = {name: self.arrays[name] for name in ("first_split", "first_leaf")}
        splits, leaves = (slice(*of[[first, last]].tolist()) for of in starts.values())
        chosen = {name: of[first : last + 1] - of[first] for name, of in starts.items()}
        for name, array in self.arrays.items():
            if name in ("values", "weight"):
                chosen[name] = array[leaves].copy()
            elif name not in ("sets", *starts):
                # Of symmetric trees, `left` and `right` are empty.
                chosen[name] = array[splits].copy()
        is_set = chosen["set"] >= 0  # sets are in the order of the splits
        n_before = int((self.arrays["set"][: splits.start] >= 0).sum())
        chosen["set"][is_set] -= np.int32(n_before)
        chosen["sets"] = self.arrays["sets"][n_before:][: is_set.sum()].copy()
        return BoostedTrees(chosen, self.symmetric, self.n_columns, self.start)

    def followed_by(self, others: BoostedTrees) -> BoostedTrees:
        """These trees and others, which were grown on from their raw predictions."""
        joined = {}
        for name, array in self.arrays.items():
            other = others.arrays[name]
            if name.startswith("first_"):
                other = other[1:] + array[-1]
            elif name == "set":
                other = np.where(other >= 0, other + np.int32(len(self.arrays["sets"])), other)
            joined[name] = np.concatenate([array, other.astype(array.dtype, copy=False)])
        return BoostedTrees(joined, self.symmetric, self.n_columns, self.start)

    def raw(
        self,
        codes: np.ndarray,
        n_jobs: int | None = None,
        *,
        trees: range | None = None,
        out: np.ndarray | None = None,
    ) -> np.ndarray:
        """Raw predictions of rows of codes, of shape (n_rows, n_scores).

        With `trees`, the predictions of these trees are added to the start, or to `out`.
        """
        if trees is None:
            trees = range(self.n_trees)
        if out is None:
            out = np.tile(self.start, (len(codes), 1))
        least = max(256, _FEW_WALKS // max(1, len(trees)))
        ranges = chunks(len(codes), job_count(n_jobs, len(codes) // least), least)
        if len(ranges) == 1:
            self.cells.add_raw(codes, trees.start, trees.stop, out)
        else:
            add = partial(_add_raw, cells=self.cells, codes=codes, trees=trees, out=out)
            in_threads(add, ranges, n_jobs)
        return out

    def staged(
        self, codes: np.ndarray, n_jobs: int | None = None, first: int = 0
    ) -> Iterator[np.ndarray]:
        """Raw predictions after each tree from `first` on: the same array, which changes."""
        out = self.raw(codes, n_jobs, trees=range(first))
        for tree in range(first, self.n_trees):
            yield self.raw(codes, n_jobs, trees=range(tree, tree + 1), out=out)

    def leaves(self, codes: np.ndarray) -> np.ndarray:
        """The leaf of each tree that each row ends in: int32 of shape (n_rows, n_trees)."""
        out = np.empty((len(codes), self.n_trees), np.int32)
        self.cells.leaves(codes, out)
        return out

    def mark_columns(self, used: np.ndarray) -> None:
        """Mark the columns that some tree asks for."""
        used[self.arrays["column"]] = True

    @property
    def n_nodes(self) -> int:
        """Number of splits and leaves; the split of a level of a symmetric tree is one."""
        return len(self.arrays["column"]) + len(self.arrays["values"])

    @property
    def n_bytes(self) -> int:
        """Memory that the arrays take."""
        return sum(array.nbytes for array in self.arrays.values())

    def importances(self) -> np.ndarray:
        """What the splits of each column improved in all, scaled to sum 1."""
        gains = np.bincount(self.arrays["column"], self.arrays["gain"], minlength=self.n_columns)
        total = gains.sum()
        return gains / total if total > 0 else gains


def _add_raw(
    first: int,
    last: int,
    cancel: _core.Cancel,
    *,
    cells: _core.GradientTrees,
    codes: np.ndarray,
    trees: range,
    out: np.ndarray,
) -> None:
    cells.add_raw(codes[first:last], trees.start, trees.stop, out[first:last], cancel)
