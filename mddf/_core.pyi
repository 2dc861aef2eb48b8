"""Compiled core.

Arrays must have exactly the dtype named and be C-contiguous; everything is checked before memory
is read, and what does not fit raises ValueError. The GIL is released while a function works.
"""

import numpy as np
from numpy.typing import NDArray

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

    Returns
    -------
    voter, step, objective, edge, n_voters
        As in `quadboost_path`, with the weighted mean of exp(-y f) as objective and the edge in
        place of the correlation.
    """
