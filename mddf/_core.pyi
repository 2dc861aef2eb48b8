"""Compiled core.

Arrays must have exactly the dtype named and be C-contiguous where nothing else is said; everything
is checked before memory is read, and what does not fit raises ValueError or TypeError. The GIL is
released while a function works.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

# Forests

class TreeReader:
    """Trees in arrays that are read in place; see mddf._trees.Trees, which wraps it."""

    def __init__(
        self,
        n_classes: int,
        n_columns: int,
        nodes: NDArray[np.uint64],
        tree_start: NDArray[np.int64],
        leaf_start: NDArray[np.uint32],
        leaf_class: NDArray[np.uint16],
        leaf_probability: NDArray[np.float32],
    ) -> None: ...
    def parts(self) -> tuple[Any, ...]:
        """Return the arguments of the constructor."""
    def check(self) -> None:
        """Look at every word of the arrays, if that has not been done: ValueError if one is wrong.

        All other methods but parts do it first.
        """
    def n_nodes(self) -> int:
        """Return the number of nodes of all trees, leaves included."""
    def add_probabilities(
        self, bins: NDArray[np.uint8], first: int, last: int, out: NDArray[np.float64]
    ) -> None:
        """Add the sum over the trees of the class distributions of a range of rows.

        Parameters
        ----------
        bins : uint8 array of shape (n_rows, n_columns)
        first, last : int
            The range.
        out : float64 array of shape (n_rows, n_classes)
            Only rows of the range are touched.
        """
    def leaf_indices(
        self, bins: NDArray[np.uint8], first: int, last: int, out: NDArray[np.int64]
    ) -> None:
        """Write the leaf that each row of a range ends in to out (n_rows, n_trees)."""

def find_bins(
    x: NDArray[Any],
    weights: NDArray[np.float64] | None,
    first: int,
    last: int,
    max_bins: int,
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.int64]]:
    """Find the bins of columns [first, last) of a table.

    Parameters
    ----------
    x : array of shape (n_rows, n_columns)
        float64, float32, int64, int32 or uint8, any strides. NaN is missing; no infinities.
    weights : float64 array of shape (n_rows,) or None
        Rows whose weight is not positive do not count.
    first, last : int
    max_bins : int
        From 2 to 255.

    Returns
    -------
    edges : float64 array of shape (n_bins,)
        Upper edges of the bins of all these columns; the last one of a column is infinite.
    values : float64 array of shape (n_bins,)
        What stands for each bin.
    counts : int64 array of shape (last - first,)
        Number of bins of each column.
    """

def apply_bins(
    x: NDArray[Any],
    edges: NDArray[np.float64],
    bin_start: NDArray[np.int64],
    categorical: NDArray[np.uint8],
    first: int,
    last: int,
    out: NDArray[np.uint8],
    first_column: int = 0,
    by_column: NDArray[np.uint8] | None = None,
) -> None:
    """Write the codes of rows [first, last) of a table.

    Parameters
    ----------
    x : array of shape (n_rows, n_columns)
        As for find_bins.
    edges : float64 array
        The bins of column c are edges[bin_start[c]:bin_start[c + 1]].
    bin_start : int64 array of shape (n_columns + 1,)
    categorical : uint8 array of shape (n_columns,)
        Columns that hold codes already; what is not one of them becomes missing, 255.
    first, last : int
    out : uint8 array of shape (n_rows, at least first_column + n_columns)
        Receives the codes, from first_column on.
    first_column : int
    by_column : uint8 array of the shape of out, transposed, or None
        Receives them once more.
    """

def hash_rows(
    bins: NDArray[np.uint8], n_columns: int, labels: NDArray[np.uint16]
) -> NDArray[np.uint64]:
    """Return a fingerprint of the first n_columns codes of each row and its label."""

def grow(
    bins: NDArray[np.uint8],
    values: NDArray[np.float64],
    bin_start: NDArray[np.int64],
    categorical: NDArray[np.uint8],
    labels: NDArray[np.uint16],
    n_classes: int,
    columns: NDArray[np.int32],
    rows: NDArray[np.int32],
    seeds: NDArray[np.uint64],
    *,
    weights: NDArray[np.float64] | None = None,
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
    sums: NDArray[np.float64] | None = None,
    n_trees: NDArray[np.int32] | None = None,
    importances: NDArray[np.float64] | None = None,
    by_column: NDArray[np.uint8] | None = None,
) -> TreeReader:
    """Grow one tree per seed on some rows and columns of a coded table.

    Parameters
    ----------
    bins : uint8 array of shape (n_rows, n_columns)
        Codes below the number of bins of their column, or 255 for missing.
    values, bin_start, categorical
        The bins, as find_bins and apply_bins have them.
    labels : uint16 array of shape (n_rows,)
        Below n_classes.
    n_classes : int
    columns : int32 array
        Columns that may be split.
    rows : int32 array
        Rows to grow on.
    seeds : uint64 array of shape (n_trees,)
    weights : float64 array of shape (n_rows,) or None
        Not negative.
    cumulative : uint64 array of shape (len(rows),) or None
        A bootstrap draws rows in proportion to the steps of these sums; None: uniformly.
    n_draws : int
        Rows drawn with replacement for each tree; 0: every row once.
    balance : bool
        Scale the weights to be the same for all classes of a tree's samples.
    entropy, random_thresholds, max_features, max_depth, min_samples_split, min_samples_leaf
        As in mddf._growing.TreeOptions.
    min_weight_leaf : float
        Least weight of a leaf, as a share of that of the tree's samples.
    held_out_rows : int32 array or None
        Rows to predict by all trees, or
    out_of_bag : bool
        whether to predict of `rows` those that a tree did not draw.
    sums : float64 array of shape (rows held out, n_classes) or None
        The predictions are added here.
    n_trees : int32 array of shape (rows held out,) or None
        And their number here.
    importances : float64 array of shape (n_trees, n_columns) or None
        Each column's decrease of impurity, weighted by the samples, is added here.
    by_column : uint8 array of shape (n_columns, n_rows) or None
        The table transposed: not needed, but large tables are faster with it.
    """

def use_wide_vectors(use: bool) -> bool:
    """Switch vector instructions on, where the processor has them, or off; return what was set."""

# Boosting

class RankedFeatures:
    """Features replaced by the ranks of their distinct values, for exact threshold searches.

    Parameters
    ----------
    x : float64 array of shape (n_rows, n_features)
        Finite values, at least one row and one column.

    Raises
    ------
    ValueError
        If x is empty, not finite, or of another dtype, number of dimensions or layout.
    """

    def __init__(self, x: NDArray[np.float64]) -> None: ...
    @property
    def n_rows(self) -> int:
        """Number of rows."""
    @property
    def n_features(self) -> int:
        """Number of columns."""
    @property
    def code_bytes(self) -> int:
        """Bytes of a rank: 1 up to 256 distinct values per feature, 2 up to 65536, else 4."""
    def search(
        self,
        signed_weight: NDArray[np.float64],
        penalty: NDArray[np.float64],
        scale: float,
        max_depth: int,
        mode: str,
    ) -> tuple[
        NDArray[np.int32],
        NDArray[np.float64],
        NDArray[np.int32],
        NDArray[np.int32],
        NDArray[np.int8],
        NDArray[np.float64],
        NDArray[np.int8],
        float,
    ]:
        """Find the tree with labels in {-1, +1} that maximises edge / 2 - scale * penalty[size].

        Parameters
        ----------
        signed_weight : float64 array of shape (n_rows,)
            Weight times label of every row, finite; the absolute values should sum to 1.
        penalty : float64 array of shape (n,), n >= 1
            By size of the tree; sizes of n and more cost what the last entry says.
        scale : float
            Multiplies the penalty, >= 0.
        max_depth : int
            At least 1.
        mode : {"layerwise", "greedy", "stumps"}
            "layerwise": a constant, the best stump, then the best tree with one more layer of
            leaves than the last, and so on; size counts nodes. "greedy": one tree, breadth first,
            where a split must raise the criterion. "stumps": a constant or a stump (size 1), and
            with max_depth >= 2 the best stump followed by one question on both sides (size 2).

        Returns
        -------
        feature, threshold, left, right, label, gain : arrays of shape (n_nodes,)
            The tree: int32, float64, int32, int32, int8, float64. Leaves have feature -1; values
            up to the threshold go left; gain is what a split added to the edge.
        prediction : int8 array of shape (n_rows,)
            The label that every row gets.
        edge : float
            sum_i signed_weight_i * prediction_i.
        """

def tree_labels(
    x: NDArray[np.float64],
    feature: NDArray[np.int32],
    threshold: NDArray[np.float64],
    left: NDArray[np.int32],
    right: NDArray[np.int32],
    label: NDArray[np.int8],
    start: NDArray[np.int64],
) -> NDArray[np.int8]:
    """Labels that trees give to rows.

    Parameters
    ----------
    x : float64 array of shape (n_rows, n_features)
        Rows.
    feature, threshold, left, right, label : arrays of shape (n_nodes,)
        Nodes of all trees one after another, as `RankedFeatures.search` returns them. Children
        count from the start of their tree and come after their parent.
    start : int64 array of shape (n_trees + 1,)
        Where the nodes of each tree start; the last entry is n_nodes.

    Returns
    -------
    int8 array of shape (n_trees, n_rows)
        The labels.
    """

def tree_votes(
    x: NDArray[np.float64],
    weight: NDArray[np.float64],
    feature: NDArray[np.int32],
    threshold: NDArray[np.float64],
    left: NDArray[np.int32],
    right: NDArray[np.int32],
    label: NDArray[np.int8],
    start: NDArray[np.int64],
) -> NDArray[np.float64]:
    """Weighted sum of the labels that trees give to rows.

    Parameters
    ----------
    x : float64 array of shape (n_rows, n_features)
        Rows.
    weight : float64 array of shape (n_trees,)
        Weight of every tree.
    feature, threshold, left, right, label, start
        As in `tree_labels`.

    Returns
    -------
    float64 array of shape (n_rows,)
        The sums.
    """

def voter_edges(
    values: NDArray[np.int8] | NDArray[np.float64], signed_weight: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Inner products of the rows of `values`, shape (n_voters, n_rows), with `signed_weight`.

    Parameters
    ----------
    values : int8 or float64 array of shape (n_voters, n_rows)
        Values of voters on rows.
    signed_weight : float64 array of shape (n_rows,)
        Weight times label.

    Returns
    -------
    float64 array of shape (n_voters,)
        The edges.
    """

def quadboost_path(
    values: NDArray[np.int8] | NDArray[np.float64],
    y: NDArray[np.float64],
    weight: NDArray[np.float64],
    penalty: str,
    lambda_: float,
    alpha_max: float,
    n_rounds: int,
    tolerance: float,
    progress: Callable[[int], object],
) -> tuple[
    NDArray[np.int64],
    NDArray[np.float64],
    NDArray[np.float64],
    NDArray[np.float64],
    NDArray[np.int64],
]:
    """Run QuadBoost: greedy coordinate descent on the weighted quadratic risk plus a penalty.

    Parameters
    ----------
    values : int8 or float64 array of shape (n_voters, n_rows)
        Finite values of the voters.
    y : float64 array of shape (n_rows,)
        Targets.
    weight : float64 array of shape (n_rows,)
        Positive, sum 1.
    penalty : {"none", "l1", "l2", "linf"}
        See QuadBoostClassifier.
    lambda_ : float
        Strength of "l1" and "l2", >= 0.
    alpha_max : float
        Largest absolute weight of "linf", > 0.
    n_rounds : int
        Most rounds.
    tolerance : float
        Stop when the best decrease is no larger.
    progress : callable
        Called now and then with the number of rounds made since the last call.

    Returns
    -------
    voter : int64 array of shape (n,)
        The voter moved in each of the n rounds made.
    step : float64 array of shape (n,)
        Change of its weight.
    objective : float64 array of shape (n,)
        After the round.
    correlation : float64 array of shape (n,)
        Of the voter with the residual before the round.
    n_voters : int64 array of shape (n,)
        With weight other than 0 after the round.
    """

def adaboost_path(
    values: NDArray[np.int8],
    y: NDArray[np.float64],
    weight: NDArray[np.float64],
    n_rounds: int,
    least_error: float,
    progress: Callable[[int], object],
) -> tuple[
    NDArray[np.int64],
    NDArray[np.float64],
    NDArray[np.float64],
    NDArray[np.float64],
    NDArray[np.int64],
]:
    """Run discrete AdaBoost over fixed voters; a negative edge takes the complement.

    Parameters
    ----------
    values : int8 array of shape (n_voters, n_rows)
        Values in {-1, +1}.
    y : float64 array of shape (n_rows,)
        Labels in {-1, +1}.
    weight : float64 array of shape (n_rows,)
        Positive, sum 1.
    n_rounds : int
        Most rounds; fewer when no voter is better than chance.
    least_error : float
        Smaller errors count as this and end the run; in (0, 0.5).
    progress : callable
        Called now and then with the number of rounds made since the last call.

    Returns
    -------
    voter, step, objective, edge, n_voters
        As in `quadboost_path`, with the weighted mean of exp(-y f) as objective and the edge in
        place of the correlation.
    """
