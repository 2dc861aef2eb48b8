"""Offsets: known parts of raw predictions, such as the logarithm of an exposure."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from mddf._base.messages import short
from mddf._base.validation import check_lengths
from mddf._gradient.losses import TargetKind
from mddf._targets.target_validation import numeric_array

# Largest offset of losses with exponentials. The kernel clips exponents at the same number.
_MAX_EXPONENT = 500.0
# Largest offset of other losses, in the unit of the kernel, which refuses numbers from 1e100 on.
_MAX_SCALED = 1e99


def read_offset(
    offset: npt.ArrayLike, X: object, target: TargetKind, name: str = "offset"
) -> np.ndarray:
    """Convert a user's offset to raw predictions of the kernel: float64 (n_rows, n_scores)."""
    values = numeric_array(offset, name)
    check_lengths(X, **{name: values})
    if values.dtype.kind not in "biuf":
        raise TypeError(f"{name} must hold numbers, got {short(values.ravel()[:1].tolist()[0])}")
    n_rows = len(values)
    values = values.astype(np.float64)
    n_scores = target.n_scores
    expected = "(n_samples,)" if n_scores == 1 else f"(n_samples, {n_scores})"
    is_column = n_scores == 1 and values.ndim == 1
    if not is_column and values.shape != (n_rows, n_scores):
        raise ValueError(f"{name} must have the shape {expected}, got {values.shape}")
    if not np.isfinite(values).all():
        row = int(np.flatnonzero(~np.isfinite(values).reshape(n_rows, -1).all(axis=1))[0])
        hint = ""
        if target.has_exponentials:
            hint = ". The logarithm of an exposure is finite if the exposure is above 0"
        value = short(values[row].tolist())
        raise ValueError(f"{name} must be finite, got {value} in row {row}{hint}")
    most = _MAX_EXPONENT
    if not target.has_exponentials:
        most = _MAX_SCALED * float(np.min(target.unit))
    size = np.abs(values).max(initial=0)
    if size > most:
        raise ValueError(f"{name} must have numbers from {-most:g} to {most:g}, got {size:g}")
    # -0.0 becomes 0.0, since rows are compared by their bits.
    return np.ascontiguousarray(values.reshape(n_rows, n_scores) / target.unit) + 0.0
