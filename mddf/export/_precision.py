"""Single or double precision of a graph's inputs and outputs."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from numpy.typing import NDArray

from mddf._base.messages import short, warn
from mddf._fitted.fitted_model import FittedStages

_REMEDY = (
    "For rows next to thresholds its predictions may differ from Python's. Pass "
    "dtype=numpy.float64 to to_onnx and onnx_inputs, or dtype=numpy.float32 to accept this"
)


def check_dtype(dtype: npt.DTypeLike | None) -> np.dtype:
    """Validate the parameter `dtype`; None is single precision."""
    try:
        precision = np.dtype(np.float32 if dtype is None else dtype)
    except TypeError:
        precision = None
    if precision not in (np.float32, np.float64):
        raise ValueError(f"dtype must be float32 or float64, got {short(dtype)}")
    return precision


def lossy_columns(fitted: FittedStages) -> NDArray[np.bool_]:
    """Mark the columns used by the model whose training values single precision rounds.

    The values of bins show that. A bin of several numbers stores only the middle of the lowest
    and the highest: a column with such bins counts as rounded unless all middles are exact.
    """
    bins = fitted.binner.bins_
    with np.errstate(over="ignore"):
        is_rounded = bins.values.astype(np.float32) != bins.values
    return np.logical_or.reduceat(is_rounded, bins.start[:-1]) & _used_columns(fitted)


def warn_of_rounding(names: list[str], lossy: NDArray[np.bool_]) -> None:
    """Warn if single precision rounds training values of columns that the model uses."""
    if lossy.any():
        warn(
            "the graph takes single precision, which rounds training values in "
            f"{np.count_nonzero(lossy)} of {len(names)} columns ({names[np.argmax(lossy)]!r} is "
            f"the first). {_REMEDY}",
        )


def warn_of_rounded_steps() -> None:
    """Warn that single precision may round the inputs of a pipeline."""
    warn(
        "the graph takes single precision, and a pipeline does not store whether that holds its "
        f"training values. {_REMEDY}",
    )


def _used_columns(fitted: FittedStages) -> np.ndarray:
    """Mark the features that a tree splits by, or that a member without trees takes."""
    n_columns = fitted.n_raw
    used = np.zeros(n_columns, bool)
    for block in fitted.trees():
        block_columns = np.zeros(block.n_columns, np.bool_)
        block.mark_columns(block_columns)
        used |= block_columns[:n_columns]
    for stage in fitted.stages:
        if not all(member.has_trees for member in stage.members):
            columns = np.arange(n_columns) if stage.columns is None else stage.columns
            used[columns[columns < n_columns]] = True
    return used
