"""Single or double precision of what goes into graphs and comes out."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from mddf._base.messages import short, warn
from mddf._fitted.fitted_model import FittedStages


def checked(dtype: Any) -> np.dtype:
    """The parameter `dtype`; None is single precision."""
    try:
        found = np.dtype(np.float32 if dtype is None else dtype)
    except TypeError:
        found = None
    if found not in (np.float32, np.float64):
        raise ValueError(f"dtype must be float32 or float64, got {short(dtype)}")
    return found


def lossy_columns(fitted: FittedStages) -> NDArray[np.bool_]:
    """Columns that matter, of which single precision does not hold what fit saw.

    The values of bins show that. A bin of several numbers knows the middle of the lowest and the
    highest alone: a column with such bins is real numbers, unless all middles are held.
    """
    bins = fitted.binner.bins_
    with np.errstate(over="ignore"):
        is_rounded = bins.values.astype(np.float32) != bins.values
    return np.logical_or.reduceat(is_rounded, bins.start[:-1]) & _matter(fitted)


def warn_of_rounding(names: list[str], lossy: NDArray[np.bool_]) -> None:
    """Warn if single precision does not hold numbers that fit saw in columns which matter."""
    if lossy.any():
        warn(
            "the graph takes single precision, which rounds numbers such as fit saw in "
            f"{np.count_nonzero(lossy)} of {len(names)} columns ({names[np.argmax(lossy)]!r} is "
            "the first): of rows next to thresholds it may say other things than Python does. "
            "Pass dtype=numpy.float64 to to_onnx and onnx_inputs, or dtype=numpy.float32 if that "
            "is meant",
        )


def warn_of_rounded_steps() -> None:
    """Warn that single precision may not hold what goes into a pipeline."""
    warn(
        "the graph takes single precision, and a pipeline does not keep whether that holds the "
        "numbers which fit saw: of rows next to thresholds it may say other things than Python "
        "does. Pass dtype=numpy.float64 to to_onnx and onnx_inputs, or dtype=numpy.float32 if "
        "that is meant",
    )


def _matter(fitted: FittedStages) -> np.ndarray:
    """Which raw columns some tree asks for, or a member sees that is no forest of mddf."""
    n_columns = fitted.n_raw
    matter = np.zeros(n_columns, bool)
    for block in fitted.trees():
        used = np.zeros(block.n_columns, np.bool_)
        block.mark_columns(used)
        matter |= used[:n_columns]
    for stage in fitted.stages:
        if not all(member.has_trees for member in stage.members):
            seen = np.arange(n_columns) if stage.columns is None else stage.columns
            matter[seen[seen < n_columns]] = True
    return matter
