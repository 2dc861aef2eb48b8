"""The compiled core. Arrays must have exactly these types and be C-contiguous, where nothing else is
said; everything else is refused with TypeError or ValueError before any memory is touched. All
functions release the interpreter lock while they work."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

_F64 = NDArray[np.float64]
_U8 = NDArray[np.uint8]
_I64 = NDArray[np.int64]

class Trees:
    """A block of grown trees. Cannot be changed; pickles as plain arrays."""

    n_classes: int
    n_columns: int
    @property
    def n_trees(self) -> int: ...
    @property
    def n_nodes(self) -> int: ...
    @property
    def n_bytes(self) -> int: ...
    def parts(self) -> tuple[Any, ...]:
        """The arguments of make_trees."""
    def add_probabilities(self, bins: _U8, first: int, last: int, out: _F64) -> None:
        """Add the sum over the trees of the class distributions of rows [first, last) of bins
        (n_rows, n_columns) to out (n_rows, n_classes)."""
    def leaf_indices(self, bins: _U8, first: int, last: int, out: _I64) -> None:
        """Write the leaf that rows [first, last) end in to out (n_rows, n_trees)."""

def make_trees(
    n_classes: int,
    n_columns: int,
    nodes: NDArray[np.uint64],
    tree_start: _I64,
    leaf_start: NDArray[np.uint32],
    leaf_class: NDArray[np.uint16],
    leaf_probability: NDArray[np.float32],
) -> Trees:
    """Trees from their parts, all of which are checked."""

def find_bins(
    x: NDArray[Any], weights: _F64 | None, first: int, last: int, max_bins: int
) -> tuple[_F64, _F64, _I64]:
    """Bins of columns [first, last) of x (n_rows, n_columns; float64, float32, int64, int32 or uint8,
    any strides; NaN is missing; no infinities). Rows whose weight is not positive do not count.
    Returns the bins' upper edges (the last one of a column infinite), the values that stand for them,
    and how many each column has."""

def apply_bins(
    x: NDArray[Any],
    edges: _F64,
    bin_start: _I64,
    categorical: _U8,
    first: int,
    last: int,
    out: _U8,
    first_column: int = 0,
    by_column: _U8 | None = None,
) -> None:
    """Write the codes of rows [first, last) of x to the same rows of out (n_rows, at least
    first_column + n_columns), from first_column on, and to by_column, which is out transposed. The
    bins of column c are edges[bin_start[c]:bin_start[c + 1]]. Missing is 255. A categorical column
    holds codes already; what is not one of them becomes missing."""

def hash_rows(bins: _U8, n_columns: int, labels: NDArray[np.uint16]) -> NDArray[np.uint64]:
    """A fingerprint of the first n_columns codes of each row and its label."""

def grow(
    bins: _U8,
    values: _F64,
    bin_start: _I64,
    categorical: _U8,
    labels: NDArray[np.uint16],
    n_classes: int,
    columns: NDArray[np.int32],
    rows: NDArray[np.int32],
    seeds: NDArray[np.uint64],
    *,
    weights: _F64 | None = None,
    cumulative: NDArray[np.uint64] | None = None,
    n_draws: int = 0,
    balance: bool = False,
    entropy: bool = False,
    random_thresholds: bool = False,
    max_features: int = 1,
    max_depth: int,
    min_samples_split: int = 2,
    min_samples_leaf: int = 1,
    min_weight_leaf: float = 0.0,
    held_out_rows: NDArray[np.int32] | None = None,
    out_of_bag: bool = False,
    sums: _F64 | None = None,
    n_trees: NDArray[np.int32] | None = None,
    importances: _F64 | None = None,
    by_column: _U8 | None = None,
) -> Trees:
    """Grow one tree per seed on the given rows of bins (n_rows, n_columns), splitting on the given
    columns only. `weights` and `labels` have one entry per row of bins. With n_draws, every tree
    draws that many of `rows` with replacement: uniformly, or in proportion to the steps of
    `cumulative` (one entry per row of `rows`). `sums` (rows held out, n_classes) and `n_trees` (rows
    held out) collect what the trees say of held_out_rows or, with out_of_bag, of those of `rows` that
    a tree did not draw. `importances` (n_trees, n_columns) receives each column's decrease of
    impurity, weighted by the samples. `by_column` is bins transposed; it is not needed but makes
    large tables faster."""

def use_wide_vectors(use: bool) -> bool:
    """Switch vector instructions on (where the processor has them) or off; for tests. Returns what
    was set before."""
