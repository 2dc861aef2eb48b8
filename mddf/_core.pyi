# Written by mddf/_kernel/make_stub.py.
# mypy: disable-error-code="overload-cannot-match"
import enum
from collections.abc import Callable, Sequence
from typing import Annotated, overload

import numpy
from numpy.typing import NDArray

ReadFloat64Table = Annotated[
    NDArray[numpy.float64], dict(shape=(None, None), device="cpu", writable=False)
]
ReadFloat64sInOrder = Annotated[
    NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)
]
ReadFloat32Table = Annotated[
    NDArray[numpy.float32], dict(shape=(None, None), device="cpu", writable=False)
]
ReadInt64Table = Annotated[
    NDArray[numpy.int64], dict(shape=(None, None), device="cpu", writable=False)
]
ReadInt32Table = Annotated[
    NDArray[numpy.int32], dict(shape=(None, None), device="cpu", writable=False)
]
ReadUint8Table = Annotated[
    NDArray[numpy.uint8], dict(shape=(None, None), device="cpu", writable=False)
]
Uint8TableInOrder = Annotated[
    NDArray[numpy.uint8], dict(shape=(None, None), order="C", device="cpu")
]
ReadInt64sInOrder = Annotated[
    NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)
]
ReadUint8sInOrder = Annotated[
    NDArray[numpy.uint8], dict(shape=(None,), order="C", device="cpu", writable=False)
]
ReadBool_sInOrder = Annotated[
    NDArray[numpy.bool_], dict(shape=(None,), order="C", device="cpu", writable=False)
]
ReadInt32sInOrder = Annotated[
    NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)
]
ReadFloat32sInOrder = Annotated[
    NDArray[numpy.float32], dict(shape=(None,), order="C", device="cpu", writable=False)
]
ReadUint8TableInOrder = Annotated[
    NDArray[numpy.uint8], dict(shape=(None, None), order="C", device="cpu", writable=False)
]
ReadUint16sInOrder = Annotated[
    NDArray[numpy.uint16], dict(shape=(None,), order="C", device="cpu", writable=False)
]
Uint64s = Annotated[NDArray[numpy.uint64], dict(shape=(None,))]
ReadInt64TableInOrder = Annotated[
    NDArray[numpy.int64], dict(shape=(None, None), order="C", device="cpu", writable=False)
]
Int32Table = Annotated[NDArray[numpy.int32], dict(shape=(None, None))]
ReadUint64sInOrder = Annotated[
    NDArray[numpy.uint64], dict(shape=(None,), order="C", device="cpu", writable=False)
]
ReadUint32sInOrder = Annotated[
    NDArray[numpy.uint32], dict(shape=(None,), order="C", device="cpu", writable=False)
]
Float64TableInOrder = Annotated[
    NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu")
]
Int64TableInOrder = Annotated[
    NDArray[numpy.int64], dict(shape=(None, None), order="C", device="cpu")
]
Bool_sInOrder = Annotated[NDArray[numpy.bool_], dict(shape=(None,), order="C", device="cpu")]
Float64s = Annotated[NDArray[numpy.float64], dict(shape=(None,))]
ReadFloat64TableInOrder = Annotated[
    NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)
]
ReadInt32TableInOrder = Annotated[
    NDArray[numpy.int32], dict(shape=(None, None), order="C", device="cpu", writable=False)
]
ReadUint8Array = Annotated[NDArray[numpy.uint8], dict(writable=False)]
ReadInt32Array = Annotated[NDArray[numpy.int32], dict(writable=False)]
ReadInt8sInOrder = Annotated[
    NDArray[numpy.int8], dict(shape=(None,), order="C", device="cpu", writable=False)
]
Float64Table = Annotated[NDArray[numpy.float64], dict(shape=(None, None))]
Int32s = Annotated[NDArray[numpy.int32], dict(shape=(None,))]
Uint32s = Annotated[NDArray[numpy.uint32], dict(shape=(None,))]
Int64s = Annotated[NDArray[numpy.int64], dict(shape=(None,))]
ReadUint64TableInOrder = Annotated[
    NDArray[numpy.uint64], dict(shape=(None, None), order="C", device="cpu", writable=False)
]
ReadInt16TableInOrder = Annotated[
    NDArray[numpy.int16], dict(shape=(None, None), order="C", device="cpu", writable=False)
]
Int32TableInOrder = Annotated[
    NDArray[numpy.int32], dict(shape=(None, None), order="C", device="cpu")
]
ReadFloat64Array = Annotated[NDArray[numpy.float64], dict(writable=False)]
ReadFloat32TableInOrder = Annotated[
    NDArray[numpy.float32], dict(shape=(None, None), order="C", device="cpu", writable=False)
]
Float32Table = Annotated[NDArray[numpy.float32], dict(shape=(None, None))]
Float32s = Annotated[NDArray[numpy.float32], dict(shape=(None,))]
ReadFloat64Array3dInOrder = Annotated[
    NDArray[numpy.float64], dict(shape=(None, None, None), order="C", device="cpu", writable=False)
]
Float64Array3dInOrder = Annotated[
    NDArray[numpy.float64], dict(shape=(None, None, None), order="C", device="cpu")
]
Float64Array4dInOrder = Annotated[
    NDArray[numpy.float64], dict(shape=(None, None, None, None), order="C", device="cpu")
]
Int8Table = Annotated[NDArray[numpy.int8], dict(shape=(None, None))]
ReadInt8TableInOrder = Annotated[
    NDArray[numpy.int8], dict(shape=(None, None), order="C", device="cpu", writable=False)
]

class Cancelled(RuntimeError):
    pass

class Cancel:
    def __init__(self) -> None: ...
    def stop(self) -> None: ...
    def __reduce__(self) -> tuple: ...

@overload
def find_bins(
    x: ReadFloat64Table,
    weights: ReadFloat64sInOrder | None,
    first: int,
    last: int,
    max_bins: int,
    cancel: Cancel | None = None,
) -> tuple: ...
@overload
def find_bins(
    x: ReadFloat32Table,
    weights: ReadFloat64sInOrder | None,
    first: int,
    last: int,
    max_bins: int,
    cancel: Cancel | None = None,
) -> tuple: ...
@overload
def find_bins(
    x: ReadInt64Table,
    weights: ReadFloat64sInOrder | None,
    first: int,
    last: int,
    max_bins: int,
    cancel: Cancel | None = None,
) -> tuple: ...
@overload
def find_bins(
    x: ReadInt32Table,
    weights: ReadFloat64sInOrder | None,
    first: int,
    last: int,
    max_bins: int,
    cancel: Cancel | None = None,
) -> tuple: ...
@overload
def find_bins(
    x: ReadUint8Table,
    weights: ReadFloat64sInOrder | None,
    first: int,
    last: int,
    max_bins: int,
    cancel: Cancel | None = None,
) -> tuple: ...
@overload
def bin_by_rank(
    x: ReadFloat64Table,
    first: int,
    last: int,
    out: Uint8TableInOrder,
    first_column: int = 0,
    by_column: Uint8TableInOrder | None = None,
    cancel: Cancel | None = None,
) -> tuple: ...
@overload
def bin_by_rank(
    x: ReadFloat32Table,
    first: int,
    last: int,
    out: Uint8TableInOrder,
    first_column: int = 0,
    by_column: Uint8TableInOrder | None = None,
    cancel: Cancel | None = None,
) -> tuple: ...
@overload
def bin_by_rank(
    x: ReadInt64Table,
    first: int,
    last: int,
    out: Uint8TableInOrder,
    first_column: int = 0,
    by_column: Uint8TableInOrder | None = None,
    cancel: Cancel | None = None,
) -> tuple: ...
@overload
def bin_by_rank(
    x: ReadInt32Table,
    first: int,
    last: int,
    out: Uint8TableInOrder,
    first_column: int = 0,
    by_column: Uint8TableInOrder | None = None,
    cancel: Cancel | None = None,
) -> tuple: ...
@overload
def bin_by_rank(
    x: ReadUint8Table,
    first: int,
    last: int,
    out: Uint8TableInOrder,
    first_column: int = 0,
    by_column: Uint8TableInOrder | None = None,
    cancel: Cancel | None = None,
) -> tuple: ...
@overload
def apply_bins(
    x: ReadFloat64Table,
    edges: ReadFloat64sInOrder,
    bin_start: ReadInt64sInOrder,
    categorical: ReadUint8sInOrder,
    first: int,
    last: int,
    out: Uint8TableInOrder,
    first_column: int = 0,
    by_column: Uint8TableInOrder | None = None,
    wanted: ReadBool_sInOrder | None = None,
    cancel: Cancel | None = None,
) -> None: ...
@overload
def apply_bins(
    x: ReadFloat32Table,
    edges: ReadFloat64sInOrder,
    bin_start: ReadInt64sInOrder,
    categorical: ReadUint8sInOrder,
    first: int,
    last: int,
    out: Uint8TableInOrder,
    first_column: int = 0,
    by_column: Uint8TableInOrder | None = None,
    wanted: ReadBool_sInOrder | None = None,
    cancel: Cancel | None = None,
) -> None: ...
@overload
def apply_bins(
    x: ReadInt64Table,
    edges: ReadFloat64sInOrder,
    bin_start: ReadInt64sInOrder,
    categorical: ReadUint8sInOrder,
    first: int,
    last: int,
    out: Uint8TableInOrder,
    first_column: int = 0,
    by_column: Uint8TableInOrder | None = None,
    wanted: ReadBool_sInOrder | None = None,
    cancel: Cancel | None = None,
) -> None: ...
@overload
def apply_bins(
    x: ReadInt32Table,
    edges: ReadFloat64sInOrder,
    bin_start: ReadInt64sInOrder,
    categorical: ReadUint8sInOrder,
    first: int,
    last: int,
    out: Uint8TableInOrder,
    first_column: int = 0,
    by_column: Uint8TableInOrder | None = None,
    wanted: ReadBool_sInOrder | None = None,
    cancel: Cancel | None = None,
) -> None: ...
@overload
def apply_bins(
    x: ReadUint8Table,
    edges: ReadFloat64sInOrder,
    bin_start: ReadInt64sInOrder,
    categorical: ReadUint8sInOrder,
    first: int,
    last: int,
    out: Uint8TableInOrder,
    first_column: int = 0,
    by_column: Uint8TableInOrder | None = None,
    wanted: ReadBool_sInOrder | None = None,
    cancel: Cancel | None = None,
) -> None: ...
@overload
def to_bytes(
    x: ReadFloat64Table,
    first: int,
    last: int,
    out: Uint8TableInOrder,
    first_column: int = 0,
    cancel: Cancel | None = None,
) -> bool: ...
@overload
def to_bytes(
    x: ReadFloat32Table,
    first: int,
    last: int,
    out: Uint8TableInOrder,
    first_column: int = 0,
    cancel: Cancel | None = None,
) -> bool: ...
@overload
def to_bytes(
    x: ReadInt64Table,
    first: int,
    last: int,
    out: Uint8TableInOrder,
    first_column: int = 0,
    cancel: Cancel | None = None,
) -> bool: ...
@overload
def to_bytes(
    x: ReadInt32Table,
    first: int,
    last: int,
    out: Uint8TableInOrder,
    first_column: int = 0,
    cancel: Cancel | None = None,
) -> bool: ...
@overload
def find_bins_of_sparse(
    cells: ReadFloat64sInOrder,
    rows: ReadInt32sInOrder,
    start: ReadInt64sInOrder,
    n_rows: int,
    first: int,
    last: int,
    max_bins: int,
    cancel: Cancel | None = None,
) -> tuple: ...
@overload
def find_bins_of_sparse(
    cells: ReadFloat32sInOrder,
    rows: ReadInt32sInOrder,
    start: ReadInt64sInOrder,
    n_rows: int,
    first: int,
    last: int,
    max_bins: int,
    cancel: Cancel | None = None,
) -> tuple: ...
@overload
def apply_bins_to_sparse(
    cells: ReadFloat64sInOrder,
    rows: ReadInt32sInOrder,
    start: ReadInt64sInOrder,
    n_rows: int,
    edges: ReadFloat64sInOrder,
    bin_start: ReadInt64sInOrder,
    first: int,
    last: int,
    out: Uint8TableInOrder,
    first_column: int = 0,
    by_column: Uint8TableInOrder | None = None,
    cancel: Cancel | None = None,
) -> None: ...
@overload
def apply_bins_to_sparse(
    cells: ReadFloat32sInOrder,
    rows: ReadInt32sInOrder,
    start: ReadInt64sInOrder,
    n_rows: int,
    edges: ReadFloat64sInOrder,
    bin_start: ReadInt64sInOrder,
    first: int,
    last: int,
    out: Uint8TableInOrder,
    first_column: int = 0,
    by_column: Uint8TableInOrder | None = None,
    cancel: Cancel | None = None,
) -> None: ...
def hash_rows(
    codes: ReadUint8TableInOrder, n_columns: int, labels: ReadUint16sInOrder
) -> Uint64s: ...
def leaf_quantiles(
    leaves: ReadInt64TableInOrder,
    leaf_start: ReadInt64sInOrder,
    rows: ReadInt32sInOrder,
    weights: ReadFloat64sInOrder,
    rank: ReadInt32sInOrder,
    shares: ReadFloat64sInOrder,
    cancel: Cancel | None = None,
) -> Int32Table: ...

class TreeReader:
    def __init__(
        self,
        n_classes: int,
        n_columns: int,
        nodes: ReadUint64sInOrder,
        tree_start: ReadInt64sInOrder,
        leaf_start: ReadUint32sInOrder,
        leaf_class: ReadUint16sInOrder,
        leaf_probability: ReadFloat32sInOrder,
    ) -> None: ...
    def parts(self) -> tuple: ...
    def check(self) -> None: ...
    def n_nodes(self) -> int: ...
    def add_leaf_values(
        self,
        codes: ReadUint8TableInOrder,
        first: int,
        last: int,
        out: Float64TableInOrder,
        cancel: Cancel | None = None,
    ) -> None: ...
    @overload
    def add_leaf_values_of_numbers(
        self,
        x: ReadFloat64Table,
        edges: ReadFloat64sInOrder,
        bin_start: ReadInt64sInOrder,
        first: int,
        last: int,
        out: Float64TableInOrder,
        cancel: Cancel | None = None,
    ) -> None: ...
    @overload
    def add_leaf_values_of_numbers(
        self,
        x: ReadFloat32Table,
        edges: ReadFloat64sInOrder,
        bin_start: ReadInt64sInOrder,
        first: int,
        last: int,
        out: Float64TableInOrder,
        cancel: Cancel | None = None,
    ) -> None: ...
    def leaf_indices(
        self,
        codes: ReadUint8TableInOrder,
        first: int,
        last: int,
        out: Int64TableInOrder,
        cancel: Cancel | None = None,
    ) -> None: ...
    def mark_columns(self, out: Bool_sInOrder) -> None: ...
    @staticmethod
    def joined(blocks: Sequence[TreeReader]) -> TreeReader: ...

class ValueTreeReader:
    def __init__(
        self,
        n_outputs: int,
        n_columns: int,
        nodes: ReadUint64sInOrder,
        tree_start: ReadInt64sInOrder,
        leaf_value: ReadFloat64sInOrder,
    ) -> None: ...
    def parts(self) -> tuple: ...
    def check(self) -> None: ...
    def n_nodes(self) -> int: ...
    def add_leaf_values(
        self,
        codes: ReadUint8TableInOrder,
        first: int,
        last: int,
        out: Float64TableInOrder,
        cancel: Cancel | None = None,
    ) -> None: ...
    @overload
    def add_leaf_values_of_numbers(
        self,
        x: ReadFloat64Table,
        edges: ReadFloat64sInOrder,
        bin_start: ReadInt64sInOrder,
        first: int,
        last: int,
        out: Float64TableInOrder,
        cancel: Cancel | None = None,
    ) -> None: ...
    @overload
    def add_leaf_values_of_numbers(
        self,
        x: ReadFloat32Table,
        edges: ReadFloat64sInOrder,
        bin_start: ReadInt64sInOrder,
        first: int,
        last: int,
        out: Float64TableInOrder,
        cancel: Cancel | None = None,
    ) -> None: ...
    def leaf_indices(
        self,
        codes: ReadUint8TableInOrder,
        first: int,
        last: int,
        out: Int64TableInOrder,
        cancel: Cancel | None = None,
    ) -> None: ...
    def mark_columns(self, out: Bool_sInOrder) -> None: ...
    @staticmethod
    def joined(blocks: Sequence[ValueTreeReader]) -> ValueTreeReader: ...

def exp(values: ReadFloat64sInOrder) -> Float64s: ...
def log(values: ReadFloat64sInOrder) -> Float64s: ...
def descend_on_simplex(
    columns: ReadFloat64TableInOrder,
    offset: ReadFloat64sInOrder,
    batches: ReadInt32TableInOrder,
    start: ReadFloat64sInOrder,
    step: float,
    target: float,
    below: float,
    above: float,
) -> Float64s: ...

class BinnedTable:
    @overload
    def __init__(
        self,
        codes: Uint8TableInOrder,
        by_column: Uint8TableInOrder | None,
        values: ReadFloat64sInOrder,
        bin_start: ReadInt64sInOrder,
        categorical: ReadUint8sInOrder,
    ) -> None: ...
    @overload
    def __init__(
        self,
        codes: ReadUint8TableInOrder,
        by_column: ReadUint8TableInOrder | None,
        values: ReadFloat64sInOrder,
        bin_start: ReadInt64sInOrder,
        categorical: ReadUint8sInOrder,
    ) -> None: ...
    @property
    def codes(self) -> ReadUint8Array: ...
    @property
    def by_column(self) -> ReadUint8Array | None: ...
    def replace_columns(
        self,
        first: int,
        codes: ReadUint8TableInOrder,
        values: ReadFloat64sInOrder,
        bin_start: ReadInt64sInOrder,
        categorical: ReadUint8sInOrder,
    ) -> None: ...

class ColumnTable:
    def __init__(
        self,
        codes: ReadUint8TableInOrder,
        bin_start: ReadInt64sInOrder,
        categorical: ReadUint8sInOrder,
    ) -> None: ...

class ClassTarget:
    def __init__(self, labels: ReadUint16sInOrder, n_classes: int) -> None: ...
    def __reduce__(self) -> tuple: ...

class ValueTarget:
    def __init__(self, fixed: ReadInt64TableInOrder, scale: ReadFloat64sInOrder) -> None: ...
    def __reduce__(self) -> tuple: ...

class Sampling:
    def __init__(
        self,
        rows: ReadInt32sInOrder,
        n_draws: int = 0,
        cumulative: ReadUint64sInOrder | None = None,
        weights: ReadFloat64sInOrder | None = None,
        balance: bool = False,
        parts: ReadInt64sInOrder | None = None,
        whole_parts: bool = False,
    ) -> None: ...
    @property
    def rows(self) -> ReadInt32Array: ...
    @property
    def n_draws(self) -> int: ...
    def __reduce__(self) -> tuple: ...

class Loss(enum.Enum):
    SQUARED_ERROR = 0

    POISSON = 1

    ABSOLUTE_ERROR = 2

    ENTROPY = 3

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
        max_leaf_nodes: int = 0,
        min_decrease: float = 0.0,
        prune: float = 0.0,
        loss: Loss = Loss.SQUARED_ERROR,
        monotonic: ReadInt8sInOrder | None = None,
    ) -> None: ...
    @property
    def entropy(self) -> bool: ...
    def __reduce__(self) -> tuple: ...

class HeldOut(enum.Enum):
    OUT_OF_BAG = 0

@overload
def grow(
    table: BinnedTable,
    target: ClassTarget,
    sampling: Sampling,
    options: TreeOptions,
    seeds: ReadUint64sInOrder,
    *,
    columns: ReadInt32sInOrder | None = None,
    held_out: HeldOut | ReadInt32sInOrder | None = None,
    importances: bool = False,
    cancel: Cancel | None = None,
) -> tuple[TreeReader, Float64Table | None, Int32s | None, Float64Table | None]: ...
@overload
def grow(
    table: BinnedTable,
    target: ValueTarget,
    sampling: Sampling,
    options: TreeOptions,
    seeds: ReadUint64sInOrder,
    *,
    columns: ReadInt32sInOrder | None = None,
    held_out: HeldOut | ReadInt32sInOrder | None = None,
    importances: bool = False,
    cancel: Cancel | None = None,
) -> tuple[ValueTreeReader, Float64Table | None, Int32s | None, Float64Table | None]: ...
def sample_counts(
    sampling: Sampling, n_rows: int, seed: int, cancel: Cancel | None = None
) -> Uint32s: ...
def grow_divided_classes(
    table: BinnedTable,
    n_classes: int,
    options: TreeOptions,
    seeds: ReadUint64sInOrder,
    n_draws: int,
    rows: object,
    most_copied: int,
    cancel: Cancel | None = None,
) -> tuple[TreeReader, Float64Table]: ...
def grow_divided_values(
    table: BinnedTable,
    options: TreeOptions,
    seeds: ReadUint64sInOrder,
    n_draws: int,
    rows: object,
    most_copied: int,
    cancel: Cancel | None = None,
) -> tuple[ValueTreeReader, Float64Table]: ...
def draw_divided(
    seed: int,
    n_draws: int,
    total: int,
    starts: ReadUint64sInOrder,
    ends: ReadUint64sInOrder,
    cancel: Cancel | None = None,
) -> Uint32s: ...
def draw_divided_uniformly(
    seed: int, n_draws: int, total: int, places: ReadUint64sInOrder, cancel: Cancel | None = None
) -> Uint32s: ...
def divide_shard_rows(
    table: BinnedTable,
    rows: ReadUint32sInOrder,
    counts: ReadUint32sInOrder,
    column: int,
    left_codes: ReadUint8sInOrder,
    cancel: Cancel | None = None,
) -> tuple[tuple[Uint32s, Uint32s], tuple[Uint32s, Uint32s]]: ...
def count_shard_bins(
    table: BinnedTable,
    rows: ReadUint32sInOrder,
    counts: ReadUint32sInOrder,
    labels: ReadUint16sInOrder,
    present: ReadUint16sInOrder,
    columns: ReadInt32sInOrder,
    cancel: Cancel | None = None,
) -> Uint32s: ...
def add_up_shard_bins(
    table: BinnedTable,
    rows: ReadUint32sInOrder,
    counts: ReadUint32sInOrder,
    targets: ReadInt64sInOrder,
    columns: ReadInt32sInOrder,
    least: int,
    shift: int,
    cancel: Cancel | None = None,
) -> Int64s: ...
def add_up_shard(
    rows: ReadUint32sInOrder, counts: ReadUint32sInOrder, targets: ReadInt64sInOrder
) -> tuple[int, int, int, int, int, int]: ...

class BoostOptions:
    def __init__(
        self,
        loss: str,
        *,
        n_classes: int = 2,
        symmetric: bool = True,
        learning_rate: float = 0.1,
        max_depth: int = 6,
        max_leaf_nodes: int = 31,
        min_samples_leaf: int = 1,
        l2: float = 0.0,
        max_features: int = 2147483647,
        subsample: float = 1.0,
        n_copies: int = 1,
        quantile: float = 0.5,
        category_smoothing: float = 10.0,
        monotonic: ReadInt8sInOrder | None = None,
        interactions: ReadUint8TableInOrder | None = None,
        counting: str = "cheaper",
        wide_vectors: bool = True,
        tweedie_power: float = 1.5,
        n_outputs: int = 1,
        slope_l2: float | None = None,
        newton_splits: bool = True,
        histogram_bytes: int = 536870912,
    ) -> None: ...
    @property
    def linear_leaves(self) -> bool: ...
    @property
    def symmetric(self) -> bool: ...

class GradientTrees:
    def __init__(
        self,
        first_split: ReadInt64sInOrder,
        first_leaf: ReadInt64sInOrder,
        column: ReadInt32sInOrder,
        shift: ReadUint8sInOrder,
        threshold: ReadUint8sInOrder,
        set: ReadInt32sInOrder,
        left: ReadInt32sInOrder,
        right: ReadInt32sInOrder,
        sets: ReadUint64TableInOrder,
        values: ReadFloat64TableInOrder,
        symmetric: bool,
        n_columns: int,
        first_slope: ReadInt64sInOrder | None = None,
        slope_column: ReadInt32sInOrder | None = None,
        slopes: ReadFloat64TableInOrder | None = None,
        positions: ReadInt16TableInOrder | None = None,
    ) -> None: ...
    def add_raw(
        self,
        codes: ReadUint8TableInOrder,
        first: int,
        last: int,
        out: Float64TableInOrder,
        cancel: Cancel | None = None,
    ) -> None: ...
    def leaves(
        self, codes: ReadUint8TableInOrder, out: Int32TableInOrder, cancel: Cancel | None = None
    ) -> None: ...

class BoostTeam:
    def __init__(self, n_threads: int) -> None: ...
    def help(self, cancel: Cancel | None = None) -> int: ...
    def close(self) -> None: ...

class GradientBooster:
    def __init__(
        self,
        table: BinnedTable | ColumnTable,
        y: ReadFloat64sInOrder,
        weights: ReadFloat64sInOrder | None,
        train: ReadInt32sInOrder,
        held_out: ReadInt32sInOrder,
        options: BoostOptions,
        start: ReadFloat64TableInOrder | None = None,
        cancel: Cancel | None = None,
        keys: ReadUint64sInOrder | None = None,
        offset: ReadFloat64TableInOrder | None = None,
        communicator: object | None = None,
        positions: ReadInt16TableInOrder | None = None,
    ) -> None: ...
    def grow(
        self,
        seeds: ReadUint64sInOrder,
        patience: int = 0,
        tol: float = 0.0,
        watch_training: bool = False,
        team: BoostTeam | None = None,
        cancel: Cancel | None = None,
        rates: ReadFloat64sInOrder | None = None,
    ) -> bool: ...
    def trees(self) -> dict: ...
    def losses(self) -> Float64s: ...
    def train_losses(self) -> Float64s: ...
    def raw(self, best: bool = True) -> Float64Table: ...
    def set_gradients(
        self, gradient: ReadFloat64TableInOrder, hessian: ReadFloat64TableInOrder
    ) -> None: ...
    def train_raw(self) -> ReadFloat64Array: ...
    def held_out_raw(self) -> ReadFloat64Array: ...
    @property
    def start(self) -> Float64s: ...
    @property
    def large_residual(self) -> float: ...
    @large_residual.setter
    def large_residual(self, arg: float, /) -> None: ...
    @property
    def best_round(self) -> int: ...
    @property
    def n_rounds(self) -> int: ...

def kernel_features(
    kernel: ReadFloat64TableInOrder, jitter: float
) -> tuple[Float64Table, Float64Table]: ...
def solve_transposed(
    root: ReadFloat64TableInOrder, rows: ReadFloat64TableInOrder
) -> Float64Table: ...
def fit_logistic(
    features: ReadFloat64TableInOrder,
    labels: ReadInt32sInOrder,
    weights: ReadFloat64sInOrder,
    offsets: ReadFloat64sInOrder,
    start: ReadFloat64TableInOrder,
    penalty: float,
    tolerance: float,
) -> Float64Table: ...
def train_network(
    inputs: ReadFloat32TableInOrder,
    targets: ReadFloat32TableInOrder,
    weights: ReadFloat32sInOrder | None,
    width: int,
    n_hidden: int,
    n_epochs: int,
    batch: int,
    rate: float,
    dropout: float,
    decay: float,
    are_classes: bool,
    seed: int,
) -> list[tuple[Float32Table, Float32s]]: ...
def dense_layer(
    inputs: ReadFloat64TableInOrder,
    weights: ReadFloat32TableInOrder,
    biases: ReadFloat32sInOrder,
    activate: bool,
) -> Float64Table: ...
def add_shapley_values(
    *,
    start: ReadInt64sInOrder,
    left: ReadInt64sInOrder,
    before: ReadInt64sInOrder,
    group: ReadInt64sInOrder,
    value: ReadFloat64TableInOrder,
    weights: ReadFloat64sInOrder,
    ratio: ReadFloat64Array3dInOrder,
    slope: ReadFloat64Array3dInOrder,
    leads: ReadUint8TableInOrder,
    contributions: Float64Array3dInOrder,
    interactions: Float64Array4dInOrder | None,
    cancel: Cancel | None = None,
) -> None: ...

class RankedFeatures:
    def __init__(self, x: ReadFloat64TableInOrder) -> None: ...
    def search(
        self,
        signed_weight: ReadFloat64sInOrder,
        penalty: ReadFloat64sInOrder,
        scale: float,
        max_depth: int,
        mode: str,
    ) -> tuple: ...

def tree_labels(
    x: ReadFloat64TableInOrder,
    feature: ReadInt32sInOrder,
    threshold: ReadFloat64sInOrder,
    left: ReadInt32sInOrder,
    right: ReadInt32sInOrder,
    label: ReadInt8sInOrder,
    start: ReadInt64sInOrder,
) -> Int8Table: ...
def tree_votes(
    x: ReadFloat64TableInOrder,
    weight: ReadFloat64sInOrder,
    feature: ReadInt32sInOrder,
    threshold: ReadFloat64sInOrder,
    left: ReadInt32sInOrder,
    right: ReadInt32sInOrder,
    label: ReadInt8sInOrder,
    start: ReadInt64sInOrder,
) -> Float64s: ...
@overload
def learner_edges(
    values: ReadInt8TableInOrder, signed_weight: ReadFloat64sInOrder
) -> Float64s: ...
@overload
def learner_edges(
    values: ReadFloat64TableInOrder, signed_weight: ReadFloat64sInOrder
) -> Float64s: ...
@overload
def quadboost_path(
    values: ReadInt8TableInOrder,
    y: ReadFloat64sInOrder,
    weight: ReadFloat64sInOrder,
    penalty: str,
    lambda_: float,
    alpha_max: float,
    n_rounds: int,
    tolerance: float,
    progress: Callable,
) -> tuple: ...
@overload
def quadboost_path(
    values: ReadFloat64TableInOrder,
    y: ReadFloat64sInOrder,
    weight: ReadFloat64sInOrder,
    penalty: str,
    lambda_: float,
    alpha_max: float,
    n_rounds: int,
    tolerance: float,
    progress: Callable,
) -> tuple: ...
def adaboost_path(
    values: ReadInt8TableInOrder,
    y: ReadFloat64sInOrder,
    weight: ReadFloat64sInOrder,
    n_rounds: int,
    least_error: float,
    progress: Callable,
) -> tuple: ...
def build_options() -> dict: ...
