"""Sliding windows over images and sequences: their positions and contents."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from math import prod
from numbers import Integral
from typing import Any

import numpy as np

from mddf._base.messages import short
from mddf._base.serialization import register_serializable

# Shares of an image or a sequence that the windows of gcForest cover.
AUTO_SHARES = (1 / 16, 1 / 8, 1 / 4)
# Names of the axes of a grid with one or two axes.
_AXES = {1: ("t",), 2: ("y", "x")}


@register_serializable("sliding window")
@dataclass(frozen=True)
class WindowSpec:
    """A window size on a grid with one axis (sequences) or two (images).

    Attributes
    ----------
    size : tuple of int
        Side of the window along each axis of the grid.
    positions : tuple of int
        Number of windows along each axis.
    stride : tuple of int
        Steps between neighbouring windows.
    pool : int
        Number of neighbouring positions along each axis that are pooled; 1 for no pooling.
    """

    size: tuple[int, ...]
    positions: tuple[int, ...]
    stride: tuple[int, ...]
    pool: int

    @property
    def n_windows(self) -> int:
        """Number of windows of a sample."""
        return prod(self.positions)

    @property
    def pooled(self) -> tuple[int, ...]:
        """Positions along each axis after pooling; the last may pool fewer than the others."""
        return tuple(-(-n // self.pool) for n in self.positions)

    def view(self, codes: np.ndarray) -> np.ndarray:
        """View all windows without a copy: (n_samples, *positions, *size, n_channels).

        `codes` have the shape (n_samples, *grid, n_channels).
        """
        axes = tuple(range(1, codes.ndim - 1))
        windows = np.lib.stride_tricks.sliding_window_view(codes, self.size, axis=axes)
        strided = windows[(slice(None), *(slice(None, None, step) for step in self.stride))]
        return np.moveaxis(strided, len(axes) + 1, -1)

    def rows(self, codes: np.ndarray) -> np.ndarray:
        """Copy all windows to rows: (n_samples * n_windows, cells of a window)."""
        return np.ascontiguousarray(self.view(codes)).reshape(len(codes) * self.n_windows, -1)

    def columns(self, codes: np.ndarray) -> np.ndarray:
        """Copy all windows to columns: (cells of a window, n_samples * n_windows)."""
        view = self.view(codes)
        n_axes = len(self.size)
        cells = (*range(n_axes + 1, view.ndim), *range(n_axes + 1))
        by_cell = np.ascontiguousarray(view.transpose(cells))
        return by_cell.reshape(-1, len(codes) * self.n_windows)

    def pool_positions(self, vectors: np.ndarray, pooling: str | None) -> np.ndarray:
        """Pool the class vectors of all windows, and put them in a row for each sample.

        `vectors` have the shape (n_samples * n_windows, n_classes), the result (n_samples,
        prod(pooled) * n_classes). `pooling` is ignored if `pool` is 1.
        """
        n_classes = vectors.shape[1]
        pooled = vectors.reshape(-1, *self.positions, n_classes)
        if self.pool > 1:
            for axis, n in enumerate(self.positions, start=1):
                first = np.arange(0, n, self.pool)
                if pooling == "max":
                    pooled = np.maximum.reduceat(pooled, first, axis=axis)
                else:
                    n_pooled = np.diff(np.append(first, n))
                    shape = [-1 if a == axis else 1 for a in range(pooled.ndim)]
                    pooled = np.add.reduceat(pooled, first, axis=axis) / n_pooled.reshape(shape)
        return pooled.reshape(len(pooled), -1)

    def names(self, forest: str, classes: Sequence[Any]) -> list[str]:
        """Names of the columns of `pool_positions`."""
        size = "x".join(map(str, self.size))
        axes = _AXES[len(self.size)]
        return [
            f"window{size}_{forest}_"
            + "_".join(f"{axis}{i}" for axis, i in zip(axes, place, strict=True))
            + f"_{label}"
            for place in product(*map(range, self.pooled))
            for label in classes
        ]


def resolve_grid(shape: Any, sample_shape: tuple[int, ...]) -> tuple[int, ...]:
    """Determine the axes that windows slide along; further axes of a sample are channels."""
    if len(sample_shape) > 3:
        raise ValueError(
            f"X must have 2 to 4 dimensions, (n_samples, ...), got samples of shape {sample_shape}"
        )
    if shape is None:
        return sample_shape[:2]
    grid = _as_sizes(shape)
    if grid is None or not 1 <= len(grid) <= 2:
        raise ValueError(
            "shape must be None, (length,) or (height, width), whole numbers of at least 1, "
            f"got {short(shape)}"
        )
    fits = (
        sample_shape[0] % prod(grid) == 0
        if len(sample_shape) == 1
        else sample_shape[: len(grid)] == grid
    )
    if not fits:
        raise ValueError(
            f"shape={short(shape)} must be the first axes of the samples of X; if X is a table, "
            "its product must divide the number of columns; got samples of shape "
            f"{sample_shape}"
        )
    return grid


def window_specs(windows: Any, strides: Any, grid: tuple[int, ...], pool: int) -> list[WindowSpec]:
    """Resolve the parameters `windows` and `strides`."""
    if isinstance(windows, str):
        sizes = auto_sizes(grid)
    else:
        sizes = [_window_size(window, grid) for window in windows]
    if not sizes:
        raise ValueError(f"windows must be 'auto' or have at least one size, got {short(windows)}")
    if isinstance(strides, Integral):
        strides = [strides] * len(sizes)
    elif len(strides) != len(sizes):
        raise ValueError(
            f"strides must be one number or one entry for each of the {len(sizes)} windows, "
            f"got {short(strides)}"
        )
    specs = []
    for size, window_stride in zip(sizes, strides, strict=True):
        stride = _as_sizes(_along_all_axes(window_stride, grid))
        if stride is None or len(stride) != len(grid):
            raise ValueError(
                f"strides must be whole numbers of at least 1, or {len(grid)} of them for a "
                f"window, got {short(window_stride)}"
            )
        positions = tuple(
            (side - window) // step + 1
            for side, window, step in zip(grid, size, stride, strict=True)
        )
        specs.append(WindowSpec(size=size, positions=positions, stride=stride, pool=pool))
    return specs


def auto_sizes(grid: tuple[int, ...]) -> list[tuple[int, ...]]:
    """Sizes of windows that cover 1/16, 1/8 and 1/4 of a sequence, or of an image's pixels."""
    if len(grid) == 1:
        sizes = [(max(1, int(grid[0] * share)),) for share in AUTO_SHARES]
    else:
        sizes = [tuple(max(1, round(side * share**0.5)) for side in grid) for share in AUTO_SHARES]
    return list(dict.fromkeys(sizes))


def _window_size(window: Any, grid: tuple[int, ...]) -> tuple[int, ...]:
    size = _as_sizes(_along_all_axes(window, grid))
    if (
        size is None
        or len(size) != len(grid)
        or any(w > side for w, side in zip(size, grid, strict=True))
    ):
        raise ValueError(
            f"windows must be 'auto' or sizes, each a whole number or {len(grid)} of them, of at "
            f"least 1 and at most {grid}, the samples' shape; got {short(window)}"
        )
    return size


def _along_all_axes(value: Any, grid: tuple[int, ...]) -> Any:
    """Repeat a single number for each axis."""
    return (value,) * len(grid) if isinstance(value, Integral) else value


def _as_sizes(values: Any) -> tuple[int, ...] | None:
    """Convert a sequence of whole numbers of at least 1 to a tuple; None for other values."""
    if not isinstance(values, Sequence | np.ndarray) or isinstance(values, str):
        return None
    if not all(isinstance(v, Integral) and not isinstance(v, bool) for v in values):
        return None
    sizes = tuple(int(v) for v in values)
    return sizes if all(size >= 1 for size in sizes) else None
