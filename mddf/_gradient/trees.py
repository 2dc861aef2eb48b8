"""Boosted trees in arrays, and their predictions."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from mddf import _core
from mddf._base.parallel import chunks, in_threads, job_count
from mddf._base.serialization import register_serializable
from mddf._binning.bins import Bins

# Arrays that explanations read and predictions do not. Each has as many entries as a second array.
_TRAINING_ARRAYS = {"gain": "column", "weight": "values"}
# Types of the kernel for the arrays that `compact` trees keep in smaller types.
_KERNEL_TYPES = {
    "column": np.int32,
    "set": np.int32,
    "values": np.float64,
    "slope_column": np.int32,
    "slopes": np.float64,
}
_COMPACT_TYPES: dict[str, type] = {
    "column": np.uint16,
    "set": np.int16,
    "values": np.float32,
    "slope_column": np.uint16,
    "slopes": np.float32,
}
# Types of the arrays with an entry for each split.
_SPLIT_TYPES = {
    "column": np.int32,
    "shift": np.uint8,
    "threshold": np.uint8,
    "set": np.int32,
    "left": np.int32,
    "right": np.int32,
    "gain": float,
}
# Positions in linear leaves are whole numbers up to this one, which the kernel can add up exactly.
_MOST_POSITION = 256
_N_CODES = 256  # codes are bytes
# Fewest trees times rows for each thread: they take some hundred microseconds, more than a thread
# takes to start. Not tuned.
_MIN_LEAVES_PER_THREAD = 2**16
# Fewest rows for each thread, however many trees there are. Not tuned.
_MIN_ROWS_PER_THREAD = 256


@register_serializable("gradient boosted trees")
@dataclass(frozen=True)
class BoostedTrees:
    """Trees whose leaf values add up to raw predictions, in the order in which they were grown."""

    # Arguments of `_core.GradientTrees`, without slopes if leaves are constant, and two arrays of
    # training: `gain` is the decrease of the loss by each split, `weight` the total weight of the
    # training samples in each leaf. If a level of a symmetric tree leaves a node undivided,
    # several numbers denote its leaf: the first of them has the weight, the others have 0.
    # `compact` trees lack both arrays.
    arrays: dict[str, np.ndarray]
    symmetric: bool  # whether all nodes of a level have the same split
    n_columns: int
    start: np.ndarray  # (n_scores,): raw prediction before the first tree

    @classmethod
    def none(cls, n_columns: int, symmetric: bool) -> BoostedTrees:
        """The model of a single class."""
        arrays = {name: np.zeros(0, kind) for name, kind in _SPLIT_TYPES.items()}
        arrays |= {"first_split": np.zeros(1, np.int64), "first_leaf": np.zeros(1, np.int64)}
        arrays |= {
            "sets": np.zeros((0, 4), np.uint64),
            "values": np.zeros((0, 1)),
            "weight": np.zeros(0),
        }
        return cls(arrays, symmetric, n_columns, np.zeros(1))

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "kernel_trees"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        if self.arrays["values"].shape[1] != len(self.start):
            raise ValueError("boosted trees: start must have an entry for each column of values")
        _ = self.kernel_trees  # refuses arrays that do not fit together
        for name, counterpart in _TRAINING_ARRAYS.items():
            if name not in self.arrays:
                continue
            array = self.arrays[name]
            n = len(self.arrays[counterpart])
            if array.shape != (n,) or not np.all((array >= 0) & (array < np.inf)):
                raise ValueError(
                    f"boosted trees: {name} must have {n} finite numbers that are not negative"
                )

    @cached_property
    def kernel_trees(self) -> _core.GradientTrees:
        """Object of the kernel that checks the trees and evaluates them."""
        arrays = {
            name: array.astype(_KERNEL_TYPES.get(name, array.dtype), copy=False)
            for name, array in self.arrays.items()
            if name not in _TRAINING_ARRAYS
        }
        return _core.GradientTrees(
            **arrays, symmetric=bool(self.symmetric), n_columns=int(self.n_columns)
        )

    @property
    def n_trees(self) -> int:
        return len(self.arrays["first_split"]) - 1

    @property
    def has_linear_leaves(self) -> bool:
        """Whether the values of leaves are linear functions."""
        return "first_slope" in self.arrays

    @property
    def n_scores(self) -> int:
        return len(self.start)

    width = n_scores  # the name of this attribute in `TreeBlock`

    def compact(self) -> BoostedTrees:
        """Copy the trees without the arrays of training, with leaf values in single precision.

        The copy takes a third of the memory.
        """
        compact = {
            name: array for name, array in self.arrays.items() if name not in _TRAINING_ARRAYS
        }
        for name, dtype in _COMPACT_TYPES.items():
            if name not in compact:
                continue
            array = compact[name]
            if dtype == np.float32 or array.max(initial=0) <= np.iinfo(dtype).max:
                compact[name] = array.astype(dtype)
        return BoostedTrees(compact, self.symmetric, self.n_columns, self.start)

    @property
    def weight(self) -> np.ndarray:
        """Total weight of the training samples in each leaf; 1 in each leaf of `compact` trees."""
        return self.arrays.get("weight", np.ones(len(self.arrays["values"])))

    def first(self, n_trees: int) -> BoostedTrees:
        return self if n_trees >= self.n_trees else self.between(0, n_trees)

    def between(self, first: int, last: int) -> BoostedTrees:
        """Keep only the trees [first, last), with the same `start`."""
        if first == 0 and last == self.n_trees:
            return self
        first_split = self.arrays["first_split"][first : last + 1]
        first_leaf = self.arrays["first_leaf"][first : last + 1]
        splits = slice(first_split[0], first_split[-1])
        leaves = slice(first_leaf[0], first_leaf[-1])
        part = {
            "first_split": first_split - first_split[0],
            "first_leaf": first_leaf - first_leaf[0],
        }
        if self.has_linear_leaves:
            first_slope = self.arrays["first_slope"][leaves.start : leaves.stop + 1]
            slopes = slice(first_slope[0], first_slope[-1])
            part |= {
                "first_slope": first_slope - first_slope[0],
                "slope_column": self.arrays["slope_column"][slopes].copy(),
                "slopes": self.arrays["slopes"][slopes].copy(),
                "positions": self.arrays["positions"],
            }
        for name, array in self.arrays.items():
            if name in ("values", "weight"):
                part[name] = array[leaves].copy()
            elif name not in ("sets", *part):
                # `left` and `right` of symmetric trees are empty.
                part[name] = array[splits].copy()
        is_set = part["set"] >= 0  # sets are in the order of the splits
        n_before = int((self.arrays["set"][: splits.start] >= 0).sum())
        part["set"][is_set] -= np.int32(n_before)
        part["sets"] = self.arrays["sets"][n_before:][: is_set.sum()].copy()
        return BoostedTrees(part, self.symmetric, self.n_columns, self.start)

    def followed_by(self, later: BoostedTrees) -> BoostedTrees:
        """Append trees that were grown from the raw predictions of these trees."""
        joined = {}
        for name, array in self.arrays.items():
            added = later.arrays[name]
            if name == "positions":
                joined[name] = array
                continue
            if name.startswith("first_"):
                added = added[1:] + array[-1]
            elif name == "set":
                added = np.where(added >= 0, added + np.int32(len(self.arrays["sets"])), added)
            joined[name] = np.concatenate([array, added.astype(array.dtype, copy=False)])
        return BoostedTrees(joined, self.symmetric, self.n_columns, self.start)

    def raw(
        self,
        codes: np.ndarray,
        n_jobs: int | None = None,
        *,
        trees: range | None = None,
        out: np.ndarray | None = None,
    ) -> np.ndarray:
        """Raw predictions of coded rows: float64 of shape (n_rows, n_scores).

        `trees` restricts them to a range of trees. `out` is an array to add to, instead of the
        start.
        """
        if trees is None:
            trees = range(self.n_trees)
        if out is None:
            out = np.tile(self.start, (len(codes), 1))
        min_rows = max(_MIN_ROWS_PER_THREAD, _MIN_LEAVES_PER_THREAD // max(1, len(trees)))
        ranges = chunks(len(codes), job_count(n_jobs, len(codes) // min_rows), min_rows)

        def add(*, first: int, last: int, cancel: _core.Cancel | None) -> None:
            self.kernel_trees.add_raw(
                codes[first:last], trees.start, trees.stop, out[first:last], cancel
            )

        in_threads(add, ranges, n_jobs)
        return out

    def staged(self, codes: np.ndarray, n_jobs: int | None = None) -> Iterator[np.ndarray]:
        """Yield the raw predictions after each tree, always in the same array."""
        out = self.raw(codes, n_jobs, trees=range(0))
        for tree in range(self.n_trees):
            yield self.raw(codes, n_jobs, trees=range(tree, tree + 1), out=out)

    def leaves(self, codes: np.ndarray) -> np.ndarray:
        """Leaf of each tree that each row ends in: int32 of shape (n_rows, n_trees)."""
        out = np.empty((len(codes), self.n_trees), np.int32)
        self.kernel_trees.leaves(codes, out)
        return out

    def mark_columns(self, used: np.ndarray) -> None:
        """Set `used`, bool of shape (n_columns,), to True for columns that some node splits."""
        used[self.arrays["column"]] = True

    @property
    def n_nodes(self) -> int:
        """Number of splits and leaves; a level of a symmetric tree has one split."""
        return len(self.arrays["column"]) + len(self.arrays["values"])

    @property
    def n_bytes(self) -> int:
        return sum(array.nbytes for array in self.arrays.values())

    def importances(self) -> np.ndarray:
        """Gain of the splits of each column, scaled to sum 1; zeros without splits."""
        gains = np.bincount(self.arrays["column"], self.arrays["gain"], minlength=self.n_columns)
        total = gains.sum()
        return gains / total if total > 0 else gains


def code_positions(bins: Bins) -> np.ndarray:
    """Positions of all codes, which linear leaves read: int16 of shape (n_columns, 256).

    The positions of a numeric column are its ranks among the bins, from -256 to 256. They are 0
    for missing values, categories and codes without a bin. Ranks had less error than the values
    of the bins, standardised by their quartiles and bounded, on six of ten regression sets and
    more on three. Outliers do not matter to them.
    """
    positions = np.zeros((bins.n_columns, _N_CODES), np.int16)
    counts = np.diff(bins.start)
    for column in np.flatnonzero(bins.categorical == 0):
        n = int(counts[column])
        ranks = (2 * np.arange(n) + 1 - n) / n
        positions[column, :n] = np.rint(_MOST_POSITION * ranks)
    return positions
