"""Training targets stored by leaf, and quantiles computed from them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, fields
from functools import cached_property

import numpy as np
import numpy.typing as npt

from mddf import _core
from mddf._base.messages import short
from mddf._base.serialization import register_serializable
from mddf._trees.arrays import TreeBlock, is_mapped

# Cumulative shares are sums of doubles, whose rounding errors are far below this: a quantile is
# reached when less than this is missing.
_SLACK = 1e-9
# Fields of LeafTargets, each with the kind of its dtype and its number of dimensions.
_FIELD_TYPES = (
    ("y", "f", 2),
    ("weights", "f", 1),
    ("leaves", "i", 1),
    ("tree_start", "i", 1),
    ("rows", "i", 1),
    ("leaf_start", "i", 1),
)
# Multiplier of a hash: 2^64 divided by the golden ratio, which spreads consecutive numbers.
_HASH_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)


@register_serializable("leaf targets")
@dataclass(frozen=True, eq=False)
class LeafTargets:
    """Training samples stored for the leaves of some trees, a limited number for each leaf.

    As in trees, the arrays are checked once, so that no index leads out of bounds: when they are
    unpickled or, if they are mapped from a file, when they are first used.
    """

    y: np.ndarray  # (n_samples, n_outputs), float64
    weights: np.ndarray  # (n_samples,), float64
    leaves: np.ndarray  # int64: indices of the leaves, tree after tree, ascending within a tree
    tree_start: np.ndarray  # (n_trees + 1,), int64: first entry of each tree in `leaves`
    rows: np.ndarray  # int32: the stored samples, leaf after leaf
    leaf_start: np.ndarray  # (n_leaves + 1,), int64: first entry of each leaf in `rows`

    def __getstate__(self) -> dict[str, np.ndarray]:
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def __setstate__(self, state: dict[str, np.ndarray]) -> None:
        try:
            self.__init__(**state)  # type: ignore[misc]
        except TypeError as error:
            raise ValueError(f"kept targets: the state does not fit: {error}") from error
        if not any(map(is_mapped, state.values())):
            _ = self.max_per_leaf

    @property
    def n_trees(self) -> int:
        return len(self.tree_start) - 1

    @cached_property
    def max_per_leaf(self) -> int:
        """Largest number of samples stored for a leaf; computing it checks all arrays."""
        for name, kind, n_dimensions in _FIELD_TYPES:
            array = getattr(self, name)
            fits = isinstance(array, np.ndarray) and array.dtype.kind == kind
            _require(
                fits and array.ndim == n_dimensions,
                f"{name} must be an array of kind {kind!r} with {n_dimensions} dimensions",
            )
        n_samples = len(self.y)
        _require(len(self.weights) == n_samples, "weights must have one entry for each sample")
        _require(
            _are_starts(self.tree_start, len(self.leaves)),
            "tree_start must rise from 0 to the number of leaves",
        )
        _require(
            _are_starts(self.leaf_start, len(self.rows)),
            "leaf_start must rise from 0 to the number of rows",
        )
        _require(
            len(self.leaf_start) == len(self.leaves) + 1,
            "leaf_start must have one entry more than leaves",
        )
        is_inside = self.rows.min() >= 0 and self.rows.max() < n_samples
        _require(is_inside, f"rows must be from 0 to {n_samples - 1}")
        # In each tree, a sample lies in a single leaf.
        n_per_tree = np.diff(self.leaf_start[self.tree_start])
        _require(n_per_tree.max() <= n_samples, f"a tree must keep at most {n_samples} rows")
        return int(np.diff(self.leaf_start).max())

    @classmethod
    def from_samples(
        cls,
        trees: Iterable[TreeBlock],
        codes: np.ndarray,
        y: np.ndarray,
        *,
        weights: np.ndarray,
        hashes: np.ndarray,
        seeds: np.ndarray,
        max_per_leaf: int,
    ) -> LeafTargets:
        """Store up to `max_per_leaf` samples of each leaf, among the samples with weight.

        `hashes`, of the samples' contents, and the `seeds` of the trees decide which samples are
        stored, so that the order of the samples does not matter.
        """
        leaves = []
        rows = []
        counts = []
        candidates = np.flatnonzero(weights > 0).astype(np.int32)
        for seed, tree_leaves in zip(seeds, _leaves_by_tree(trees, codes), strict=True):
            keys = (hashes[candidates] ^ seed) * _HASH_MULTIPLIER
            order = candidates[np.lexsort((keys, tree_leaves[candidates]))]
            sorted_leaves = tree_leaves[order]
            first = np.flatnonzero(np.diff(sorted_leaves, prepend=-1))
            sizes = np.diff(first, append=len(order))
            rank_in_leaf = np.arange(len(order)) - np.repeat(first, sizes)
            leaves.append(sorted_leaves[first])
            rows.append(order[rank_in_leaf < max_per_leaf])
            counts.append(np.minimum(sizes, max_per_leaf))
        return cls(
            y=y,
            weights=weights,
            leaves=np.concatenate(leaves),
            tree_start=np.cumsum([0, *map(len, leaves)]),
            rows=np.concatenate(rows),
            leaf_start=np.cumsum(np.concatenate([[0], *counts])),
        )

    def leaf_positions(self, trees: Iterable[TreeBlock], codes: np.ndarray) -> np.ndarray:
        """Position in `leaves` of the leaf that each row ends in, shape (n_rows, n_trees)."""
        positions = np.empty((len(codes), self.n_trees), np.int64)
        for t, row_leaves in enumerate(_leaves_by_tree(trees, codes)):
            begin, end = self.tree_start[t : t + 2]
            leaves = self.leaves[begin:end]
            # For few rows, a search in the tree's leaves is faster than a table of all of them.
            if len(codes) < len(leaves):
                positions[:, t] = begin + np.searchsorted(leaves, row_leaves)
                continue
            position_of_leaf = np.zeros(leaves[-1] + 1, np.int64)
            position_of_leaf[leaves] = np.arange(begin, end)
            positions[:, t] = position_of_leaf[np.minimum(row_leaves, leaves[-1])]
        return positions

    @classmethod
    def concatenate(cls, fits: Sequence[LeafTargets]) -> LeafTargets:
        """Join the stored targets of several fits, whose trees follow each other."""
        if len(fits) == 1:
            return fits[0]
        n_samples = np.cumsum([0, *(len(fit.y) for fit in fits)])
        n_rows = np.cumsum([0, *(len(fit.rows) for fit in fits)])
        n_leaves = np.cumsum([0, *(len(fit.leaves) for fit in fits)])
        rows = [fit.rows + n_samples[i] for i, fit in enumerate(fits)]
        tree_starts = [fit.tree_start[1:] + n_leaves[i] for i, fit in enumerate(fits)]
        leaf_starts = [fit.leaf_start[1:] + n_rows[i] for i, fit in enumerate(fits)]
        return cls(
            y=np.concatenate([fit.y for fit in fits]),
            weights=np.concatenate([fit.weights for fit in fits]),
            leaves=np.concatenate([fit.leaves for fit in fits]),
            tree_start=np.concatenate([[0], *tree_starts]),
            rows=np.concatenate(rows).astype(np.int32),
            leaf_start=np.concatenate([[0], *leaf_starts]),
        )


def _require(condition: bool | np.bool_, message: str) -> None:
    if not condition:
        raise ValueError(f"kept targets: {message}")


def _are_starts(start: np.ndarray, n: int) -> bool:
    """Whether `start` cuts `n` entries into parts, none of them empty."""
    has_ends = len(start) > 1 and start[0] == 0 and start[-1] == n
    return bool(has_ends and np.all(start[:-1] < start[1:]))


def _leaves_by_tree(trees: Iterable[TreeBlock], codes: np.ndarray) -> Iterator[np.ndarray]:
    """For each tree, yield the leaf that each row ends in."""
    for block in trees:
        leaves = np.empty((len(codes), block.n_trees), np.int64)
        block.reader.leaf_indices(codes, 0, len(codes), leaves)
        yield from np.ascontiguousarray(leaves.T)


def check_quantiles(quantiles: npt.ArrayLike) -> np.ndarray:
    """Return quantiles as float64 of shape (n_quantiles,), or raise ValueError."""
    try:
        levels = np.asarray(quantiles, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"quantiles must be numbers from 0 to 1, got {short(quantiles)}"
        ) from error
    if levels.ndim != 1 or levels.size == 0 or not np.all((levels >= 0) & (levels <= 1)):
        raise ValueError(
            f"quantiles must be a list of numbers from 0 to 1, got {short(quantiles)}"
        )
    return levels


def predict_quantiles(
    fits: Sequence[tuple[LeafTargets, Sequence[TreeBlock]]],
    codes: np.ndarray,
    quantiles: np.ndarray,
) -> np.ndarray:
    """Compute quantiles of the training targets that share leaves with each row.

    There are several `fits` after a warm start. The result has the shape (n_rows, n_outputs,
    n_quantiles).
    """
    for leaf_targets, trees in fits:
        n_trees = sum(block.n_trees for block in trees)
        _require(
            leaf_targets.max_per_leaf > 0 and leaf_targets.n_trees == n_trees,
            f"they must belong to {n_trees} trees, got {leaf_targets.n_trees}",
        )
    targets = LeafTargets.concatenate([leaf_targets for leaf_targets, _ in fits])
    leaves = targets.leaf_positions([block for _, trees in fits for block in trees], codes)
    shares = np.maximum(quantiles - _SLACK, _SLACK)
    leaf_start = np.ascontiguousarray(targets.leaf_start)
    rows = np.ascontiguousarray(targets.rows)
    weights = np.ascontiguousarray(targets.weights)
    predicted = np.empty((len(codes), targets.y.shape[1], len(quantiles)))
    for j, y in enumerate(targets.y.T):
        # The kernel compares ranks, which are exact where targets are equal.
        order = np.argsort(y, kind="stable")
        rank = np.empty(len(y), np.int32)
        rank[order] = np.arange(len(y), dtype=np.int32)
        ranks = _core.leaf_quantiles(leaves, leaf_start, rows, weights, rank, shares)
        predicted[:, j] = y[order][ranks]
    return predicted
