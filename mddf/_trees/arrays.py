"""GrowthResult trees as plain data."""

from __future__ import annotations

import mmap
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, ClassVar, Self

import numpy as np

from mddf import _core
from mddf._base.serialization import register_serializable
from mddf._binning.bins import Bins


@dataclass(frozen=True)
class Numbers:
    """Rows that are not coded.

    Attributes
    ----------
    cells : ndarray of float64 or float32 of shape (n_rows, n_columns)
        NaN is missing; no infinities.
    bins : Bins
        Those of the table that trees were grown on, none of them of categories.
    """

    cells: np.ndarray
    bins: Bins

    def __len__(self) -> int:
        return len(self.cells)


class TreeBlock:
    """A block of trees: plain arrays, which prediction reads where they are.

    The arrays are read-only, and checked once, so that none can lead out of bounds: when the
    trees are made or unpickled or, if a file is mapped into memory, when they are first used.
    Looking at every node would otherwise read the whole file, where mapping it takes no time.
    """

    _numbers: ClassVar[tuple[str, ...]]
    _dtypes: ClassVar[dict[str, type]]
    _reader_type: ClassVar[type]
    _reader: Any
    nodes: np.ndarray
    tree_start: np.ndarray

    def __post_init__(self) -> None:
        mapped = False
        for name, dtype in self._dtypes.items():
            array = _read_only(name, getattr(self, name), dtype)
            object.__setattr__(self, name, array)
            mapped |= is_mapped(array)
        reader = self._reader_type(*self.parts())
        if not mapped:
            reader.check()
        object.__setattr__(self, "_reader", reader)

    @classmethod
    def _grown(cls, reader: Any) -> Any:
        """Trees that the kernel has just made."""
        trees = cls.__new__(cls)
        names = (*cls._numbers, *cls._dtypes, "_reader")
        for name, value in zip(names, (*reader.parts(), reader), strict=True):
            object.__setattr__(trees, name, value)
        return trees

    def check(self) -> None:
        """Refuse arrays that lead out of bounds; done already, unless a file is mapped."""
        self._reader.check()

    def parts(self) -> tuple[Any, ...]:
        """The arguments that make these trees."""
        return tuple(self.__getstate__().values())

    def __getstate__(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in (*self._numbers, *self._dtypes)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        try:
            self.__init__(**state)  # type: ignore[misc]
        except TypeError as error:
            raise ValueError(f"trees: these are not the parts of trees: {error}") from error

    def __sizeof__(self) -> int:
        return self.n_bytes

    @property
    def width(self) -> int:
        """Numbers of a prediction: classes, or outputs."""
        return getattr(self, self._numbers[0])

    @property
    def n_trees(self) -> int:
        """Number of trees."""
        return len(self.tree_start) - 1

    def each(self) -> Iterator[Self]:
        """The trees one by one; they share the arrays of the leaves."""
        parts = self.__getstate__()
        for first, end in pairwise(self.tree_start.tolist()):
            start = np.array([0, end - first], np.int64)
            yield type(self)(**{**parts, "nodes": self.nodes[first:end], "tree_start": start})

    @property
    def n_nodes(self) -> int:
        """Number of nodes of all trees, leaves included."""
        return self._reader.n_nodes()

    @property
    def n_bytes(self) -> int:
        """Bytes that the arrays take."""
        return sum(getattr(self, name).nbytes for name in self._dtypes)

    def mark_columns(self, out: np.ndarray) -> None:
        """Set `out`, bool of shape (n_columns,), to True where some tree asks for a column."""
        self._reader.mark_columns(out)

    def _add(
        self, method: str, rows: Any, first: Any, last: Any, out: np.ndarray, cancel: Any
    ) -> None:
        if isinstance(rows, Numbers):
            add = getattr(self._reader, f"{method}_of_numbers")
            add(rows.cells, rows.bins.edges, rows.bins.start, first, last, out, cancel)
        else:
            getattr(self._reader, method)(rows, first, last, out, cancel)

    def leaf_indices(
        self, codes: np.ndarray, first: int, last: int, out: np.ndarray, cancel: Any = None
    ) -> None:
        """Write the leaves that rows [first, last) end in to `out`, int64 (n_rows, n_trees)."""
        self._reader.leaf_indices(codes, first, last, out, cancel)


@register_serializable("classification trees")
@dataclass(frozen=True, eq=False, repr=False)
class Trees(TreeBlock):
    """Trees whose leaves hold class distributions.

    Attributes
    ----------
    n_classes, n_columns : int
    nodes : ndarray of uint64
        Eight bytes a node, as ``_kernel/forest/tree/trees.hpp`` lays them out; tree after tree.
    tree_start : ndarray of int64 of shape (n_trees + 1,)
        The words of tree t are ``nodes[tree_start[t]:tree_start[t + 1]]``.
    leaf_start : ndarray of uint32 of shape (n_distributions + 1,)
        Where in the next two each distribution starts that is not of one class.
    leaf_class : ndarray of uint16
    leaf_probability : ndarray of float32
    """

    n_classes: int
    n_columns: int
    nodes: np.ndarray
    tree_start: np.ndarray
    leaf_start: np.ndarray
    leaf_class: np.ndarray
    leaf_probability: np.ndarray
    _reader: _core.TreeReader = field(init=False)

    _numbers = ("n_classes", "n_columns")
    _dtypes = {
        "nodes": np.uint64,
        "tree_start": np.int64,
        "leaf_start": np.uint32,
        "leaf_class": np.uint16,
        "leaf_probability": np.float32,
    }
    _reader_type = _core.TreeReader

    def add_probabilities(
        self, rows: Any, first: int, last: int, out: np.ndarray, cancel: Any = None
    ) -> None:
        """Add the sum over the trees of the class distributions of rows [first, last) to `out`.

        Parameters
        ----------
        rows : ndarray of uint8 of shape (n_rows, n_columns) or Numbers
            Codes, or what would be coded.
        first, last : int
        out : ndarray of float64 of shape (n_rows, n_classes)
            Only rows of the range are touched.
        cancel : _core.Cancel, default=None
            What may stop the work.
        """
        self._add("add_probabilities", rows, first, last, out, cancel)


@register_serializable("regression trees")
@dataclass(frozen=True, eq=False, repr=False)
class ValueTrees(TreeBlock):
    """Trees whose leaves hold the means of numbers.

    Attributes
    ----------
    n_outputs, n_columns : int
    nodes : ndarray of uint64
    tree_start : ndarray of int64 of shape (n_trees + 1,)
        Both as in Trees.
    leaf_value : ndarray of float64 of shape (n_leaves * n_outputs,)
        From -1 to 1: see `mddf._targets.kernel_targets.Values` for the unit.
    """

    n_outputs: int
    n_columns: int
    nodes: np.ndarray
    tree_start: np.ndarray
    leaf_value: np.ndarray
    _reader: _core.ValueTreeReader = field(init=False)

    _numbers = ("n_outputs", "n_columns")
    _dtypes = {"nodes": np.uint64, "tree_start": np.int64, "leaf_value": np.float64}
    _reader_type = _core.ValueTreeReader

    def add_values(
        self, rows: Any, first: int, last: int, out: np.ndarray, cancel: Any = None
    ) -> None:
        """Add the sum over the trees of the means of rows [first, last) to `out`.

        Parameters
        ----------
        rows : ndarray of uint8 of shape (n_rows, n_columns) or Numbers
            Codes, or what would be coded.
        first, last : int
        out : ndarray of float64 of shape (n_rows, n_outputs)
            Only rows of the range are touched.
        cancel : _core.Cancel, default=None
            What may stop the work.
        """
        self._add("add_values", rows, first, last, out, cancel)


def shares(sums: np.ndarray) -> np.ndarray:
    """Rows of sums over trees, scaled to sum 1; NaN where there was no tree.

    Leaves hold probabilities in single precision, so that the number of trees would not do.
    """
    with np.errstate(invalid="ignore"):
        return sums / sums.sum(axis=1, keepdims=True)


def grown_trees(reader: _core.TreeReader | _core.ValueTreeReader) -> Trees | ValueTrees:
    """Trees that the kernel has just made."""
    return (Trees if isinstance(reader, _core.TreeReader) else ValueTrees)._grown(reader)


def _read_only(name: str, array: Any, dtype: Any) -> np.ndarray:
    if not isinstance(array, np.ndarray) or array.dtype != dtype or array.ndim != 1:
        kind = np.dtype(dtype)
        raise ValueError(f"trees: {name} must be an array of {kind} with one dimension")
    array = np.require(array, requirements=["C", "A"]).view(np.ndarray)
    array.flags.writeable = False
    return array


def is_mapped(array: Any) -> bool:
    """Whether an array lies in a file that is mapped into memory."""
    while array is not None and not isinstance(array, mmap.mmap):
        array = getattr(array, "base", None)
    return array is not None
