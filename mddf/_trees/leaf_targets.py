"""Training targets that are kept by leaf, and quantiles from them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

import numpy as np

from mddf import _core
from mddf._base.messages import short
from mddf._base.serialization import register_serializable
from mddf._trees.arrays import is_mapped

# Shares are sums of doubles: a quantile is reached when less than this is missing.
_SLACK = 1e-9
# Of LeafTargets: kinds of numbers, and dimensions.
_PARTS = (
    ("y", "f", 2),
    ("weights", "f", 1),
    ("leaves", "i", 1),
    ("tree_start", "i", 1),
    ("rows", "i", 1),
    ("leaf_start", "i", 1),
)


@register_serializable("leaf targets")
@dataclass(frozen=True, eq=False)
class LeafTargets:
    """Some of the training targets in each leaf of some trees.

    As trees are, they are checked once, so that none can lead out of bounds or ask for more than
    was kept: when they are unpickled or, if a file is mapped into memory, when first used.

    Attributes
    ----------
    y : ndarray of float64 of shape (n_samples, n_outputs)
    weights : ndarray of float64 of shape (n_samples,)
    leaves : ndarray of int64 of shape (n_leaves,)
        Numbers of leaves, ascending within a tree; tree after tree.
    tree_start : ndarray of int64 of shape (n_trees + 1,)
        Where those of a tree begin.
    rows : ndarray of int32
        The samples that are kept; leaf after leaf.
    leaf_start : ndarray of int64 of shape (n_leaves + 1,)
        Where those of a leaf begin.
    """

    y: np.ndarray
    weights: np.ndarray
    leaves: np.ndarray
    tree_start: np.ndarray
    rows: np.ndarray
    leaf_start: np.ndarray

    def __getstate__(self) -> dict[str, Any]:
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        try:
            self.__init__(**state)  # type: ignore[misc]
        except TypeError as error:
            raise ValueError(f"kept targets: these are not their parts: {error}") from error
        if not any(map(is_mapped, state.values())):
            _ = self.most

    @cached_property
    def most(self) -> int:
        """The most samples that are kept of a leaf; found with a check of all parts."""
        for name, kind, n_dimensions in _PARTS:
            array = getattr(self, name)
            fits = isinstance(array, np.ndarray) and array.dtype.kind == kind
            _require(
                fits and array.ndim == n_dimensions,
                f"{name} must be an array of kind {kind!r} with {n_dimensions} dimensions",
            )
        n_samples = len(self.y)
        _require(len(self.weights) == n_samples, "weights must be one for each sample")
        _require(_splits(self.tree_start, len(self.leaves)), "tree_start must rise to all leaves")
        _require(_splits(self.leaf_start, len(self.rows)), "leaf_start must rise to all rows")
        _require(len(self.leaf_start) == len(self.leaves) + 1, "leaf_start must be of each leaf")
        inside = self.rows.min() >= 0 and self.rows.max() < n_samples
        _require(inside, f"rows must be from 0 to {n_samples - 1}")
        # A tree keeps a sample in one leaf.
        of_trees = np.diff(self.leaf_start[self.tree_start])
        _require(of_trees.max() <= n_samples, f"a tree must keep at most {n_samples} rows")
        return int(np.diff(self.leaf_start).max())

    @classmethod
    def keep(
        cls,
        most: int,
        trees: Any,
        codes: np.ndarray,
        y: Any,
        weights: Any,
        hashes: Any,
        seeds: np.ndarray,
    ) -> LeafTargets:
        """Keep up to `most` samples of each leaf.

        Parameters
        ----------
        most : int
        trees : list of ValueTrees
        codes : ndarray of uint8 of shape (n_samples, n_columns)
        y : ndarray of float64 of shape (n_samples, n_outputs)
        weights : ndarray of float64 of shape (n_samples,)
            Samples without weight are not kept.
        hashes : ndarray of uint64 of shape (n_samples,)
            What a sample holds; together with a tree's seed, it decides who is kept.
        seeds : ndarray of uint64 of shape (n_trees,)
        """
        leaves, rows, counts = [], [], []
        there = np.flatnonzero(weights > 0).astype(np.int32)
        for seed, of_tree in zip(seeds, _leaf_columns(trees, codes), strict=True):
            keys = (hashes[there] ^ seed) * np.uint64(0x9E3779B97F4A7C15)
            order = there[np.lexsort((keys, of_tree[there]))]
            in_order = of_tree[order]
            first = np.flatnonzero(np.diff(in_order, prepend=-1))
            sizes = np.diff(first, append=len(order))
            rank = np.arange(len(order)) - np.repeat(first, sizes)
            leaves.append(in_order[first])
            rows.append(order[rank < most])
            counts.append(np.minimum(sizes, most))
        tree_start = np.cumsum([0, *map(len, leaves)])
        leaf_start = np.cumsum(np.concatenate([[0], *counts]))
        return cls(
            y, weights, np.concatenate(leaves), tree_start, np.concatenate(rows), leaf_start
        )

    def find(self, trees: Any, codes: np.ndarray) -> np.ndarray:
        """The leaves that rows end in, by their place among `leaves`: (n_rows, n_trees)."""
        found = np.empty((len(codes), len(self.tree_start) - 1), np.int64)
        for t, of_tree in enumerate(_leaf_columns(trees, codes)):
            begin, end = self.tree_start[t : t + 2]
            leaves = self.leaves[begin:end]
            if len(codes) < len(leaves):
                found[:, t] = begin + np.searchsorted(leaves, of_tree)
                continue
            place = np.zeros(leaves[-1] + 1, np.int64)
            place[leaves] = np.arange(begin, end)
            found[:, t] = place[np.minimum(of_tree, leaves[-1])]
        return found

    @classmethod
    def joined(cls, parts: Sequence[LeafTargets]) -> LeafTargets:
        """Those of several fits as one."""
        if len(parts) == 1:
            return parts[0]
        n_samples = np.cumsum([0, *(len(part.y) for part in parts)])
        n_rows = np.cumsum([0, *(len(part.rows) for part in parts)])
        n_leaves = np.cumsum([0, *(len(part.leaves) for part in parts)])
        each = range(len(parts))
        return cls(
            np.concatenate([part.y for part in parts]),
            np.concatenate([part.weights for part in parts]),
            np.concatenate([part.leaves for part in parts]),
            np.concatenate([[0], *(parts[i].tree_start[1:] + n_leaves[i] for i in each)]),
            np.concatenate([parts[i].rows + n_samples[i] for i in each]).astype(np.int32),
            np.concatenate([[0], *(parts[i].leaf_start[1:] + n_rows[i] for i in each)]),
        )


def _require(holds: Any, message: str) -> None:
    if not holds:
        raise ValueError(f"kept targets: {message}")


def _splits(start: np.ndarray, n: int) -> bool:
    """Whether parts begin there of something of length `n`, none of them empty."""
    ends = len(start) > 1 and start[0] == 0 and start[-1] == n
    return bool(ends and np.all(start[:-1] < start[1:]))


def _leaf_columns(trees: Any, codes: np.ndarray) -> Iterator[np.ndarray]:
    """The leaves that rows end in, tree by tree."""
    for block in trees:
        found = np.empty((len(codes), block.n_trees), np.int64)
        block.leaf_indices(codes, 0, len(codes), found)
        yield from np.ascontiguousarray(found.T)


def check_quantiles(quantiles: Any) -> np.ndarray:
    """Quantiles as float64 of shape (n_quantiles,)."""
    try:
        found = np.asarray(quantiles, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"quantiles must be numbers from 0 to 1, got {short(quantiles)}"
        ) from error
    if found.ndim != 1 or found.size == 0 or not np.all((found >= 0) & (found <= 1)):
        raise ValueError(
            f"quantiles must be a list of numbers from 0 to 1, got {short(quantiles)}"
        )
    return found


def predict_quantiles(
    parts: Sequence[tuple[LeafTargets, list[Any]]], codes: np.ndarray, quantiles: np.ndarray
) -> np.ndarray:
    """Quantiles of the targets that share leaves with each row.

    Parameters
    ----------
    parts : sequence of (LeafTargets, list of ValueTrees)
    codes : ndarray of uint8 of shape (n_rows, n_columns)
    quantiles : ndarray of shape (n_quantiles,)

    Returns
    -------
    ndarray of shape (n_rows, n_outputs, n_quantiles)
    """
    for targets, trees in parts:
        fits = len(targets.tree_start) - 1 == sum(block.n_trees for block in trees)
        _require(targets.most and fits, "they must be of as many trees as there are")
    targets = LeafTargets.joined([targets for targets, _ in parts])
    leaves = targets.find([block for _, trees in parts for block in trees], codes)
    shares = np.maximum(quantiles - _SLACK, _SLACK)
    starts, rows = (np.ascontiguousarray(a) for a in (targets.leaf_start, targets.rows))
    weights = np.ascontiguousarray(targets.weights)
    out = np.empty((len(codes), targets.y.shape[1], len(quantiles)))
    for j, y in enumerate(targets.y.T):
        order = np.argsort(y, kind="stable")
        rank = np.empty(len(y), np.int32)
        rank[order] = np.arange(len(y), dtype=np.int32)
        out[:, j] = y[order][_core.leaf_quantiles(leaves, starts, rows, weights, rank, shares)]
    return out
