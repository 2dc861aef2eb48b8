"""Trees as plain arrays, checked once and evaluated by the kernel."""

from __future__ import annotations

import mmap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from mddf import _core
from mddf._base.serialization import register_serializable

# The kernel's view of a block of trees. Methods with `first` and `last` handle these rows only.
Reader = _core.TreeReader | _core.ValueTreeReader


class TreeBlock:
    """A block of trees in read-only arrays.

    The arrays are checked once, so that no node leads out of bounds: when the block is made or
    unpickled or, if its arrays are mapped from a file, at the first prediction. Checking reads
    every node; to do so at once would read the whole file, and mapping is meant to avoid that.
    """

    _sizes: ClassVar[tuple[str, ...]]
    _dtypes: ClassVar[dict[str, type]]
    _reader_type: ClassVar[Any]
    reader: Reader  # the kernel checks and predicts through it
    nodes: np.ndarray
    tree_start: np.ndarray
    n_columns: int

    def __post_init__(self) -> None:
        mapped = False
        for name, dtype in self._dtypes.items():
            array = _read_only(name, getattr(self, name), dtype)
            object.__setattr__(self, name, array)
            mapped |= is_mapped(array)
        reader = self._reader_type(*self.parts())
        if not mapped:
            reader.check()
        object.__setattr__(self, "reader", reader)

    @classmethod
    def _from_reader(cls, reader: Reader) -> Self:
        """Make a block from trees that the kernel has just grown, which need no check."""
        trees = cls.__new__(cls)
        names = (*cls._sizes, *cls._dtypes, "reader")
        for name, value in zip(names, (*reader.parts(), reader), strict=True):
            object.__setattr__(trees, name, value)
        return trees

    @classmethod
    def joined(cls, blocks: Sequence[Self]) -> Self:
        """Join blocks to the block that one call of the kernel would have grown."""
        if len(blocks) == 1:
            return blocks[0]
        return cls._from_reader(cls._reader_type.joined([block.reader for block in blocks]))

    def parts(self) -> tuple[int | np.ndarray, ...]:
        """Return the constructor's arguments that make this block."""
        return tuple(self.__getstate__().values())

    def __getstate__(self) -> dict[str, int | np.ndarray]:
        return {name: getattr(self, name) for name in (*self._sizes, *self._dtypes)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        try:
            self.__init__(**state)  # type: ignore[misc]
        except TypeError as error:
            raise ValueError(f"trees: the state does not have the parts of trees: {error}") from (
                error
            )

    def __sizeof__(self) -> int:
        return self.n_bytes

    @property
    def width(self) -> int:
        """Number of values in a leaf: the number of classes or outputs."""
        raise NotImplementedError

    @property
    def n_trees(self) -> int:
        return len(self.tree_start) - 1

    def single_trees(self) -> Iterator[Self]:
        """Yield a block for every tree; these blocks share the arrays of the leaves."""
        parts = self.__getstate__()
        for first, end in pairwise(self.tree_start.tolist()):
            start = np.array([0, end - first], np.int64)
            yield type(self)(**{**parts, "nodes": self.nodes[first:end], "tree_start": start})

    @property
    def n_nodes(self) -> int:
        return self.reader.n_nodes()

    @property
    def n_bytes(self) -> int:
        return sum(getattr(self, name).nbytes for name in self._dtypes)

    def mark_columns(self, out: np.ndarray) -> None:
        """Set `out`, bool of shape (n_columns,), to True for columns that some node splits."""
        self.reader.mark_columns(out)


@register_serializable("classification trees")
@dataclass(frozen=True, eq=False, repr=False)
class Trees(TreeBlock):
    """Trees whose leaves hold class distributions."""

    n_classes: int
    n_columns: int
    # Nodes of eight bytes, tree after tree; `_kernel/forest/tree/trees.hpp` has the layout.
    nodes: np.ndarray
    tree_start: np.ndarray  # the words of tree t are `nodes[tree_start[t]:tree_start[t + 1]]`
    # (n_distributions + 1,): start of each distribution in the arrays below. Leaves with a single
    # class have no entry: their node holds the class.
    leaf_start: np.ndarray
    leaf_class: np.ndarray
    leaf_probability: np.ndarray
    reader: _core.TreeReader = field(init=False)

    _sizes = ("n_classes", "n_columns")
    _dtypes = {
        "nodes": np.uint64,
        "tree_start": np.int64,
        "leaf_start": np.uint32,
        "leaf_class": np.uint16,
        "leaf_probability": np.float32,
    }
    _reader_type = _core.TreeReader

    @property
    def width(self) -> int:
        return self.n_classes


@register_serializable("regression trees")
@dataclass(frozen=True, eq=False, repr=False)
class ValueTrees(TreeBlock):
    """Trees whose leaves hold mean targets."""

    n_outputs: int
    n_columns: int
    nodes: np.ndarray  # as in `Trees`
    tree_start: np.ndarray  # as in `Trees`
    # (n_leaves * n_outputs,), from -1 to 1; `mddf._targets.kernel_targets.Values` has the unit.
    leaf_value: np.ndarray
    reader: _core.ValueTreeReader = field(init=False)

    _sizes = ("n_outputs", "n_columns")
    _dtypes = {"nodes": np.uint64, "tree_start": np.int64, "leaf_value": np.float64}
    _reader_type = _core.ValueTreeReader

    @property
    def width(self) -> int:
        return self.n_outputs


def shares(sums: np.ndarray) -> np.ndarray:
    """Scale rows of sums over trees to sum 1; NaN for rows without any tree.

    Leaves hold probabilities in single precision, whose sum is not exactly 1: a division by the
    number of trees would leave that error in the result.
    """
    with np.errstate(invalid="ignore"):
        return sums / sums.sum(axis=1, keepdims=True)


def trees_from_reader(reader: Reader) -> Trees | ValueTrees:
    """Make a block from trees that the kernel has just grown."""
    if isinstance(reader, _core.TreeReader):
        return Trees._from_reader(reader)
    return ValueTrees._from_reader(reader)


def _read_only(name: str, array: object, dtype: npt.DTypeLike) -> np.ndarray:
    if not isinstance(array, np.ndarray) or array.dtype != dtype or array.ndim != 1:
        kind = np.dtype(dtype)
        raise ValueError(f"trees: {name} must be an array of {kind} with one dimension")
    array = np.require(array, requirements=["C", "A"]).view(np.ndarray)
    array.flags.writeable = False
    return array


def is_mapped(array: object) -> bool:
    """Whether an array lies in a file that is mapped into memory."""
    while array is not None and not isinstance(array, mmap.mmap):
        array = getattr(array, "base", None)
    return array is not None
