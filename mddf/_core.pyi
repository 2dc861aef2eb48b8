# Written by scripts/make_stub.py.
# mypy: disable-error-code="overload-cannot-match"
"""Compiled core of mddf."""

import enum
from collections.abc import Callable
from typing import Annotated, overload

import numpy
from numpy.typing import NDArray

class Cancelled(RuntimeError):
    pass

class Cancel:
    def __init__(self) -> None: ...
    def stop(self) -> None: ...
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
) -> tuple: ...
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
) -> None: ...
def hash_rows(
    codes: Annotated[
        NDArray[numpy.uint8], dict(shape=(None, None), order="C", device="cpu", writable=False)
    ],
    n_columns: int,
    labels: Annotated[
        NDArray[numpy.uint16], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
) -> Annotated[NDArray[numpy.uint64], dict(shape=(None,))]: ...

class TreeReader:
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
    def parts(self) -> tuple: ...
    def check(self) -> None: ...
    def n_nodes(self) -> int: ...
    def add_probabilities(
        self,
        codes: Annotated[
            NDArray[numpy.uint8], dict(shape=(None, None), order="C", device="cpu", writable=False)
        ],
        first: int,
        last: int,
        out: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu")],
        cancel: Cancel | None = None,
    ) -> None: ...
    def leaf_indices(
        self,
        codes: Annotated[
            NDArray[numpy.uint8], dict(shape=(None, None), order="C", device="cpu", writable=False)
        ],
        first: int,
        last: int,
        out: Annotated[NDArray[numpy.int64], dict(shape=(None, None), order="C", device="cpu")],
        cancel: Cancel | None = None,
    ) -> None: ...

class BinnedTable:
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
    ) -> None: ...
    def __reduce__(self) -> tuple: ...

class ClassTarget:
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

class Sampling:
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
    OUT_OF_BAG = 0

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
def wide_vectors_supported() -> bool: ...

class RankedFeatures:
    def __init__(self, x: Annotated[NDArray, dict(device="cpu", writable=False)]) -> None: ...
    @property
    def n_rows(self) -> int: ...
    @property
    def n_features(self) -> int: ...
    @property
    def code_bytes(self) -> int: ...
    def search(
        self,
        signed_weight: Annotated[NDArray, dict(device="cpu", writable=False)],
        penalty: Annotated[NDArray, dict(device="cpu", writable=False)],
        scale: float,
        max_depth: int,
        mode: str,
    ) -> tuple: ...

def tree_labels(
    x: Annotated[NDArray, dict(device="cpu", writable=False)],
    feature: Annotated[NDArray, dict(device="cpu", writable=False)],
    threshold: Annotated[NDArray, dict(device="cpu", writable=False)],
    left: Annotated[NDArray, dict(device="cpu", writable=False)],
    right: Annotated[NDArray, dict(device="cpu", writable=False)],
    label: Annotated[NDArray, dict(device="cpu", writable=False)],
    start: Annotated[NDArray, dict(device="cpu", writable=False)],
) -> NDArray[numpy.int8]: ...
def tree_votes(
    x: Annotated[NDArray, dict(device="cpu", writable=False)],
    weight: Annotated[NDArray, dict(device="cpu", writable=False)],
    feature: Annotated[NDArray, dict(device="cpu", writable=False)],
    threshold: Annotated[NDArray, dict(device="cpu", writable=False)],
    left: Annotated[NDArray, dict(device="cpu", writable=False)],
    right: Annotated[NDArray, dict(device="cpu", writable=False)],
    label: Annotated[NDArray, dict(device="cpu", writable=False)],
    start: Annotated[NDArray, dict(device="cpu", writable=False)],
) -> NDArray[numpy.float64]: ...
def voter_edges(
    values: Annotated[NDArray, dict(device="cpu", writable=False)],
    signed_weight: Annotated[NDArray, dict(device="cpu", writable=False)],
) -> NDArray[numpy.float64]: ...
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
) -> tuple: ...
def adaboost_path(
    values: Annotated[NDArray, dict(device="cpu", writable=False)],
    y: Annotated[NDArray, dict(device="cpu", writable=False)],
    weight: Annotated[NDArray, dict(device="cpu", writable=False)],
    n_rounds: int,
    least_error: float,
    progress: Callable,
) -> tuple: ...
