# Written by scripts/make_stub.py.
# mypy: disable-error-code="overload-cannot-match"
"""
Compiled core.

Arrays must have exactly the dtype named and be C-contiguous where nothing else is said; everything
is checked before memory is read, and what does not fit raises ValueError or TypeError. The GIL is
released while a function works.
"""

import enum
from collections.abc import Callable
from typing import Annotated, overload

import numpy
from numpy.typing import NDArray

class Cancelled(RuntimeError):
    pass

class Cancel:
    """A request to stop, shared by all calls that work on one thing."""

    def __init__(self) -> None: ...
    def stop(self) -> None:
        """
        Stop all calls that were given this, and wait until they have raised Cancelled.
        """

    def __reduce__(self) -> tuple: ...

@overload
def find_bins(
    x: Annotated[NDArray[numpy.float64], dict(shape=(None, None), device="cpu", writable=False)],
    weights: Annotated[
        NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ]
    | None,
    first: int,
    last: int,
    max_bins: int,
    cancel: Cancel | None = None,
) -> tuple: ...
@overload
def find_bins(
    x: Annotated[NDArray[numpy.float32], dict(shape=(None, None), device="cpu", writable=False)],
    weights: Annotated[
        NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ]
    | None,
    first: int,
    last: int,
    max_bins: int,
    cancel: Cancel | None = None,
) -> tuple: ...
@overload
def find_bins(
    x: Annotated[NDArray[numpy.int64], dict(shape=(None, None), device="cpu", writable=False)],
    weights: Annotated[
        NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ]
    | None,
    first: int,
    last: int,
    max_bins: int,
    cancel: Cancel | None = None,
) -> tuple: ...
@overload
def find_bins(
    x: Annotated[NDArray[numpy.int32], dict(shape=(None, None), device="cpu", writable=False)],
    weights: Annotated[
        NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ]
    | None,
    first: int,
    last: int,
    max_bins: int,
    cancel: Cancel | None = None,
) -> tuple: ...
@overload
def find_bins(
    x: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), device="cpu", writable=False)],
    weights: Annotated[
        NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ]
    | None,
    first: int,
    last: int,
    max_bins: int,
    cancel: Cancel | None = None,
) -> tuple:
    """
    Find the bins of columns [first, last) of a table.

    Parameters
    ----------
    x : array of shape (n_rows, n_columns)
        float64, float32, int64, int32 or uint8, any strides. NaN is missing; no infinities.
    weights : float64 array of shape (n_rows,) or None
        Rows whose weight is not positive do not count.
    first, last : int
    max_bins : int
        From 2 to 255.
    cancel : Cancel or None
        What may stop the work.

    Returns
    -------
    edges : float64 array of shape (n_bins,)
        Upper edges of the bins of all these columns; the last one of a column is infinite.
    values : float64 array of shape (n_bins,)
        What stands for each bin.
    counts : int64 array of shape (last - first,)
        Number of bins of each column.
    """

@overload
def apply_bins(
    x: Annotated[NDArray[numpy.float64], dict(shape=(None, None), device="cpu", writable=False)],
    edges: Annotated[
        NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    bin_start: Annotated[
        NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    categorical: Annotated[
        NDArray[numpy.uint8], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    first: int,
    last: int,
    out: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order="C", device="cpu")],
    first_column: int = 0,
    by_column: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order="C", device="cpu")]
    | None = None,
    cancel: Cancel | None = None,
) -> None: ...
@overload
def apply_bins(
    x: Annotated[NDArray[numpy.float32], dict(shape=(None, None), device="cpu", writable=False)],
    edges: Annotated[
        NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    bin_start: Annotated[
        NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    categorical: Annotated[
        NDArray[numpy.uint8], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    first: int,
    last: int,
    out: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order="C", device="cpu")],
    first_column: int = 0,
    by_column: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order="C", device="cpu")]
    | None = None,
    cancel: Cancel | None = None,
) -> None: ...
@overload
def apply_bins(
    x: Annotated[NDArray[numpy.int64], dict(shape=(None, None), device="cpu", writable=False)],
    edges: Annotated[
        NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    bin_start: Annotated[
        NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    categorical: Annotated[
        NDArray[numpy.uint8], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    first: int,
    last: int,
    out: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order="C", device="cpu")],
    first_column: int = 0,
    by_column: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order="C", device="cpu")]
    | None = None,
    cancel: Cancel | None = None,
) -> None: ...
@overload
def apply_bins(
    x: Annotated[NDArray[numpy.int32], dict(shape=(None, None), device="cpu", writable=False)],
    edges: Annotated[
        NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    bin_start: Annotated[
        NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    categorical: Annotated[
        NDArray[numpy.uint8], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    first: int,
    last: int,
    out: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order="C", device="cpu")],
    first_column: int = 0,
    by_column: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order="C", device="cpu")]
    | None = None,
    cancel: Cancel | None = None,
) -> None: ...
@overload
def apply_bins(
    x: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), device="cpu", writable=False)],
    edges: Annotated[
        NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    bin_start: Annotated[
        NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    categorical: Annotated[
        NDArray[numpy.uint8], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    first: int,
    last: int,
    out: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order="C", device="cpu")],
    first_column: int = 0,
    by_column: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order="C", device="cpu")]
    | None = None,
    cancel: Cancel | None = None,
) -> None:
    """
    Write the codes of rows [first, last) of a table.

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
    cancel : Cancel or None
        What may stop the work.
    """

def hash_rows(
    codes: Annotated[
        NDArray[numpy.uint8], dict(shape=(None, None), order="C", device="cpu", writable=False)
    ],
    n_columns: int,
    labels: Annotated[
        NDArray[numpy.uint16], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
) -> Annotated[NDArray[numpy.uint64], dict(shape=(None,))]:
    """
    Return a fingerprint of the first n_columns codes of each row and its label.
    """

class TreeReader:
    """
    Trees in arrays that are read in place; see mddf._trees.Trees, which wraps it.
    """

    def __init__(
        self,
        n_classes: int,
        n_columns: int,
        nodes: Annotated[
            NDArray[numpy.uint64], dict(shape=(None,), order="C", device="cpu", writable=False)
        ],
        tree_start: Annotated[
            NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)
        ],
        leaf_start: Annotated[
            NDArray[numpy.uint32], dict(shape=(None,), order="C", device="cpu", writable=False)
        ],
        leaf_class: Annotated[
            NDArray[numpy.uint16], dict(shape=(None,), order="C", device="cpu", writable=False)
        ],
        leaf_probability: Annotated[
            NDArray[numpy.float32], dict(shape=(None,), order="C", device="cpu", writable=False)
        ],
    ) -> None: ...
    def parts(self) -> tuple:
        """Return the arguments of the constructor."""

    def check(self) -> None:
        """
        Look at every word of the arrays, if that has not been done.

        All other methods but parts do it first. ValueError if a word is wrong.
        """

    def n_nodes(self) -> int:
        """Return the number of nodes of all trees, leaves included."""

    def add_probabilities(
        self,
        codes: Annotated[
            NDArray[numpy.uint8], dict(shape=(None, None), order="C", device="cpu", writable=False)
        ],
        first: int,
        last: int,
        out: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu")],
        cancel: Cancel | None = None,
    ) -> None:
        """
        Add the sum over the trees of what the leaves of a range of rows hold.

        Parameters
        ----------
        codes : uint8 array of shape (n_rows, n_columns)
        first, last : int
            The range.
        out : float64 array of shape (n_rows, n_classes or n_outputs)
            Only rows of the range are touched.
        cancel : Cancel or None
            What may stop the work.
        """

    def leaf_indices(
        self,
        codes: Annotated[
            NDArray[numpy.uint8], dict(shape=(None, None), order="C", device="cpu", writable=False)
        ],
        first: int,
        last: int,
        out: Annotated[NDArray[numpy.int64], dict(shape=(None, None), order="C", device="cpu")],
        cancel: Cancel | None = None,
    ) -> None:
        """
        Write the leaf that each row of a range ends in to out (n_rows, n_trees).
        """

class ValueTreeReader:
    """The same with means of numbers; see mddf._trees.ValueTrees."""

    def __init__(
        self,
        n_outputs: int,
        n_columns: int,
        nodes: Annotated[
            NDArray[numpy.uint64], dict(shape=(None,), order="C", device="cpu", writable=False)
        ],
        tree_start: Annotated[
            NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)
        ],
        leaf_value: Annotated[
            NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)
        ],
    ) -> None: ...
    def parts(self) -> tuple:
        """Return the arguments of the constructor."""

    def check(self) -> None:
        """
        Look at every word of the arrays, if that has not been done.

        All other methods but parts do it first. ValueError if a word is wrong.
        """

    def n_nodes(self) -> int:
        """Return the number of nodes of all trees, leaves included."""

    def add_values(
        self,
        codes: Annotated[
            NDArray[numpy.uint8], dict(shape=(None, None), order="C", device="cpu", writable=False)
        ],
        first: int,
        last: int,
        out: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu")],
        cancel: Cancel | None = None,
    ) -> None:
        """
        Add the sum over the trees of what the leaves of a range of rows hold.

        Parameters
        ----------
        codes : uint8 array of shape (n_rows, n_columns)
        first, last : int
            The range.
        out : float64 array of shape (n_rows, n_classes or n_outputs)
            Only rows of the range are touched.
        cancel : Cancel or None
            What may stop the work.
        """

    def leaf_indices(
        self,
        codes: Annotated[
            NDArray[numpy.uint8], dict(shape=(None, None), order="C", device="cpu", writable=False)
        ],
        first: int,
        last: int,
        out: Annotated[NDArray[numpy.int64], dict(shape=(None, None), order="C", device="cpu")],
        cancel: Cancel | None = None,
    ) -> None:
        """
        Write the leaf that each row of a range ends in to out (n_rows, n_trees).
        """

class BinnedTable:
    """
    A coded table, all of whose cells are checked when it is made.

    Parameters
    ----------
    codes : uint8 array of shape (n_rows, n_columns)
        Codes below the number of bins of their column, or 255 for missing. Only replace_columns
        may write into it from now on.
    by_column : uint8 array of shape (n_columns, n_rows) or None
        The same transposed: not needed, but large tables are faster with it.
    values : float64 array
        The values of column c's bins are values[bin_start[c]:bin_start[c + 1]].
    bin_start : int64 array of shape (n_columns + 1,)
    categorical : uint8 array of shape (n_columns,)
        Whether the codes of a column have no order.
    """

    @overload
    def __init__(
        self,
        codes: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order="C", device="cpu")],
        by_column: Annotated[
            NDArray[numpy.uint8], dict(shape=(None, None), order="C", device="cpu")
        ]
        | None,
        values: Annotated[
            NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)
        ],
        bin_start: Annotated[
            NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)
        ],
        categorical: Annotated[
            NDArray[numpy.uint8], dict(shape=(None,), order="C", device="cpu", writable=False)
        ],
    ) -> None: ...
    @overload
    def __init__(
        self,
        codes: Annotated[
            NDArray[numpy.uint8], dict(shape=(None, None), order="C", device="cpu", writable=False)
        ],
        by_column: Annotated[
            NDArray[numpy.uint8], dict(shape=(None, None), order="C", device="cpu", writable=False)
        ]
        | None,
        values: Annotated[
            NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)
        ],
        bin_start: Annotated[
            NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)
        ],
        categorical: Annotated[
            NDArray[numpy.uint8], dict(shape=(None,), order="C", device="cpu", writable=False)
        ],
    ) -> None: ...
    @property
    def codes(self) -> Annotated[NDArray[numpy.uint8], dict(writable=False)]: ...
    @property
    def by_column(self) -> Annotated[NDArray[numpy.uint8], dict(writable=False)] | None: ...
    def replace_columns(
        self,
        first: int,
        codes: Annotated[
            NDArray[numpy.uint8], dict(shape=(None, None), order="C", device="cpu", writable=False)
        ],
        values: Annotated[
            NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)
        ],
        bin_start: Annotated[
            NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)
        ],
        categorical: Annotated[
            NDArray[numpy.uint8], dict(shape=(None,), order="C", device="cpu", writable=False)
        ],
    ) -> None:
        """
        Write new columns over those from first on; the arguments are as for a table of these.

        ValueError, and nothing is changed, if they do not fit or trees are being grown here.
        """

    def __reduce__(self) -> tuple: ...

class ClassTarget:
    """
    Classes to be predicted.

    Parameters
    ----------
    labels : uint16 array of shape (n_rows,)
        Below n_classes.
    n_classes : int
        At most 65535.
    """

    def __init__(
        self,
        labels: Annotated[
            NDArray[numpy.uint16], dict(shape=(None,), order="C", device="cpu", writable=False)
        ],
        n_classes: int,
    ) -> None: ...
    @property
    def labels(self) -> Annotated[NDArray[numpy.uint16], dict(writable=False)]: ...
    @property
    def n_classes(self) -> int: ...
    def __reduce__(self) -> tuple: ...

class ValueTarget:
    """
    Numbers to be predicted, as whole multiples of a unit.

    Parameters
    ----------
    fixed : int64 array of shape (n_rows, n_outputs)
        From -2^61 to 2^61.
    scale : float64 array of shape (n_outputs,)
        What the squared error of each output counts, from 0 to 1.
    """

    def __init__(
        self,
        fixed: Annotated[
            NDArray[numpy.int64], dict(shape=(None, None), order="C", device="cpu", writable=False)
        ],
        scale: Annotated[
            NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)
        ],
    ) -> None: ...
    @property
    def fixed(self) -> Annotated[NDArray[numpy.int64], dict(writable=False)]: ...
    @property
    def scale(self) -> Annotated[NDArray[numpy.float64], dict(writable=False)]: ...
    def __reduce__(self) -> tuple: ...

class Sampling:
    """
    Which rows a tree is grown on, and with what weights.

    Parameters
    ----------
    rows : int32 array
        Candidates. Their order decides which of them a bootstrap draws.
    n_draws : int
        Rows drawn with replacement for each tree; 0 takes every row once.
    cumulative : uint64 array of shape (len(rows),) or None
        Cumulative sums of the whole-number weights that rows are drawn in proportion to.
    weights : float64 array of shape (n_rows,) or None
        Weights of all rows of the table in the trees themselves, not negative.
    balance : bool
        Scale the weights so that in each tree's samples all classes weigh the same.
    """

    def __init__(
        self,
        rows: Annotated[
            NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)
        ],
        n_draws: int = 0,
        cumulative: Annotated[
            NDArray[numpy.uint64], dict(shape=(None,), order="C", device="cpu", writable=False)
        ]
        | None = None,
        weights: Annotated[
            NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)
        ]
        | None = None,
        balance: bool = False,
    ) -> None: ...
    @property
    def rows(self) -> Annotated[NDArray[numpy.int32], dict(writable=False)]: ...
    @property
    def n_draws(self) -> int: ...
    @property
    def cumulative(self) -> Annotated[NDArray[numpy.uint64], dict(writable=False)] | None: ...
    @property
    def weights(self) -> Annotated[NDArray[numpy.float64], dict(writable=False)] | None: ...
    @property
    def balance(self) -> bool: ...
    def __reduce__(self) -> tuple: ...

class TreeOptions:
    """
    How trees are grown.

    Parameters
    ----------
    entropy : bool
        Entropy instead of the Gini impurity.
    random_thresholds : bool
        One threshold drawn at random for each candidate column instead of the best one.
    max_features : int
        Columns drawn for each node.
    max_depth, min_samples_split, min_samples_leaf : int
        Limits, in edges and samples.
    min_weight_leaf : float
        Least weight of a leaf, as a share of that of the tree's samples.
    wide_vectors : bool
        Use vector instructions where the processor has them. They change nothing but the time.
    """

    def __init__(
        self,
        entropy: bool = False,
        random_thresholds: bool = False,
        max_features: int = 1,
        max_depth: int = 2147483647,
        min_samples_split: int = 2,
        min_samples_leaf: int = 1,
        min_weight_leaf: float = 0.0,
        wide_vectors: bool = True,
    ) -> None: ...
    @property
    def entropy(self) -> bool: ...
    @property
    def random_thresholds(self) -> bool: ...
    @property
    def max_features(self) -> int: ...
    @property
    def max_depth(self) -> int: ...
    @property
    def min_samples_split(self) -> int: ...
    @property
    def min_samples_leaf(self) -> int: ...
    @property
    def min_weight_leaf(self) -> float: ...
    @property
    def wide_vectors(self) -> bool: ...
    def __reduce__(self) -> tuple: ...

class HeldOut(enum.Enum):
    """Rows that depend on the tree: those it did not draw."""

    OUT_OF_BAG = 0

@overload
def grow(
    table: BinnedTable,
    target: ClassTarget,
    sampling: Sampling,
    options: TreeOptions,
    seeds: Annotated[
        NDArray[numpy.uint64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    *,
    columns: Annotated[
        NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)
    ]
    | None = None,
    held_out: HeldOut
    | Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)]
    | None = None,
    importances: bool = False,
    cancel: Cancel | None = None,
) -> tuple[
    TreeReader,
    Annotated[NDArray[numpy.float64], dict(shape=(None, None))] | None,
    Annotated[NDArray[numpy.int32], dict(shape=(None,))] | None,
    Annotated[NDArray[numpy.float64], dict(shape=(None, None))] | None,
]: ...
@overload
def grow(
    table: BinnedTable,
    target: ValueTarget,
    sampling: Sampling,
    options: TreeOptions,
    seeds: Annotated[
        NDArray[numpy.uint64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    *,
    columns: Annotated[
        NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)
    ]
    | None = None,
    held_out: HeldOut
    | Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)]
    | None = None,
    importances: bool = False,
    cancel: Cancel | None = None,
) -> tuple[
    ValueTreeReader,
    Annotated[NDArray[numpy.float64], dict(shape=(None, None))] | None,
    Annotated[NDArray[numpy.int32], dict(shape=(None,))] | None,
    Annotated[NDArray[numpy.float64], dict(shape=(None, None))] | None,
]:
    """
    Grow one tree per seed.

    Parameters
    ----------
    table : BinnedTable
    target : ClassTarget or ValueTarget
        Of all rows of the table.
    sampling : Sampling
    options : TreeOptions
    seeds : uint64 array of shape (n_trees,)
    columns : int32 array or None
        Columns that may be split; None: all.
    held_out : int32 array, HeldOut.OUT_OF_BAG or None
        Rows to predict by all trees, or the sampling's by the trees that did not draw them.
    importances : bool
        Whether each column's decrease of impurity is wanted.
    cancel : Cancel or None
        What may stop the work.

    Returns
    -------
    trees : TreeReader or ValueTreeReader
    sums : float64 array of shape (rows held out, n_classes) or None
        Sums over trees of the class distributions of the rows held out. Of values: two columns for
        each output, whose sum is meant; both are exact for up to 2^20 trees.
    n_trees : int32 array of shape (rows held out,) or None
        And how many trees each has.
    importances : float64 array of shape (n_trees, n_columns) or None
        Each column's decrease of impurity, weighted by the samples. Of values: of the squared
        error, in units of the square of 2^61 times that of the target.
    """

def wide_vectors_supported() -> bool:
    """Return whether the processor has the vector instructions in use."""

class RankedFeatures:
    """
    Features replaced by the ranks of their distinct values, for exact threshold searches.

    Parameters
    ----------
    x : float64 array of shape (n_rows, n_features)
        Finite values, at least one row and one column.

    Raises
    ------
    ValueError
        If x is empty, not finite, or of another dtype, number of dimensions or layout.
    """

    def __init__(self, x: Annotated[NDArray, dict(device="cpu", writable=False)]) -> None: ...
    @property
    def n_rows(self) -> int:
        """Number of rows."""

    @property
    def n_features(self) -> int:
        """Number of columns."""

    @property
    def code_bytes(self) -> int:
        """
        Bytes of a rank: 1 up to 256 distinct values per feature, 2 up to 65536, else 4.
        """

    def search(
        self,
        signed_weight: Annotated[NDArray, dict(device="cpu", writable=False)],
        penalty: Annotated[NDArray, dict(device="cpu", writable=False)],
        scale: float,
        max_depth: int,
        mode: str,
    ) -> tuple:
        """
        Find the tree with labels in {-1, +1} that maximises edge / 2 - scale * penalty[size].

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
    x: Annotated[NDArray, dict(device="cpu", writable=False)],
    feature: Annotated[NDArray, dict(device="cpu", writable=False)],
    threshold: Annotated[NDArray, dict(device="cpu", writable=False)],
    left: Annotated[NDArray, dict(device="cpu", writable=False)],
    right: Annotated[NDArray, dict(device="cpu", writable=False)],
    label: Annotated[NDArray, dict(device="cpu", writable=False)],
    start: Annotated[NDArray, dict(device="cpu", writable=False)],
) -> Annotated[NDArray[numpy.int8], dict(shape=(None, None))]:
    """
    Labels that trees give to rows.

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
    x: Annotated[NDArray, dict(device="cpu", writable=False)],
    weight: Annotated[NDArray, dict(device="cpu", writable=False)],
    feature: Annotated[NDArray, dict(device="cpu", writable=False)],
    threshold: Annotated[NDArray, dict(device="cpu", writable=False)],
    left: Annotated[NDArray, dict(device="cpu", writable=False)],
    right: Annotated[NDArray, dict(device="cpu", writable=False)],
    label: Annotated[NDArray, dict(device="cpu", writable=False)],
    start: Annotated[NDArray, dict(device="cpu", writable=False)],
) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]:
    """
    Weighted sum of the labels that trees give to rows.

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
    values: Annotated[NDArray, dict(device="cpu", writable=False)],
    signed_weight: Annotated[NDArray, dict(device="cpu", writable=False)],
) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]:
    """
    Inner products of the rows of `values`, shape (n_voters, n_rows), with `signed_weight`.

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
    values: Annotated[NDArray, dict(device="cpu", writable=False)],
    y: Annotated[NDArray, dict(device="cpu", writable=False)],
    weight: Annotated[NDArray, dict(device="cpu", writable=False)],
    penalty: str,
    lambda_: float,
    alpha_max: float,
    n_rounds: int,
    tolerance: float,
    progress: Callable,
    wide_vectors: bool = True,
) -> tuple:
    """
    Run QuadBoost: greedy coordinate descent on the weighted quadratic risk plus a penalty.

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
    wide_vectors : bool
        Use vector instructions where the processor has them.

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
    values: Annotated[NDArray, dict(device="cpu", writable=False)],
    y: Annotated[NDArray, dict(device="cpu", writable=False)],
    weight: Annotated[NDArray, dict(device="cpu", writable=False)],
    n_rounds: int,
    least_error: float,
    progress: Callable,
) -> tuple:
    """
    Run discrete AdaBoost over fixed voters; a negative edge takes the complement.

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
