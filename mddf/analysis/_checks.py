"""Checks of a number, a vector or margins; errors name the parameter."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mddf._base.messages import short
from mddf._base.validation import is_boolean, naming


def check_number(name: str, value: float, least: float, *, above: bool = False) -> None:
    """Refuse values that are not finite or below `least`; with `above`, also `least` itself."""
    with naming(name):
        fits = not is_boolean(value) and (value > least if above else value >= least)
        if not (fits and value < np.inf):
            sign = ">" if above else ">="
            raise ValueError(f"{name} must be finite and {sign} {least:g}; got {short(value)}")


def check_count(name: str, value: float, least: int) -> None:
    check_number(name, value, least)
    if value != int(value):
        raise ValueError(f"{name} must be a whole number; got {short(value)}")


def check_delta(delta: float) -> None:
    """Refuse probabilities of failure outside (0, 1)."""
    with naming("delta"):
        if not 0 < delta < 1:
            raise ValueError(f"delta must lie in (0, 1); got {short(delta)}")


def check_norm_order(p: float) -> None:
    with naming("p"):
        if not p >= 1:
            raise ValueError(f"p must be at least 1; got {short(p)}")


def finite_numbers(name: str, values: ArrayLike, least: float = -np.inf) -> NDArray[np.float64]:
    """Convert values to float64, and refuse any that are not finite or below `least`."""
    with naming(name):
        array = np.asarray(values, dtype=np.float64)
    wrong = array[~(np.isfinite(array) & (array >= least))]
    if len(wrong):
        bound = "" if least == -np.inf else f" and >= {least:g}"
        raise ValueError(f"{name} must be finite{bound}; got {float(wrong[0])!r}")
    return array


def finite_vector(name: str, values: ArrayLike, least: float = -np.inf) -> NDArray[np.float64]:
    array = finite_numbers(name, values, least)
    if array.ndim != 1:
        raise ValueError(f"{name} must be a 1-d array; got shape {array.shape}")
    return array


def some_margins(margins: ArrayLike) -> NDArray[np.float64]:
    sample = finite_vector("margins", margins)
    if len(sample) == 0:
        raise ValueError("margins must have at least one entry; got none")
    return sample


def margins_of_vote(margins: ArrayLike) -> NDArray[np.float64]:
    """Convert margins to a vector, and refuse margins outside [-1, 1]."""
    sample = some_margins(margins)
    largest = float(np.abs(sample).max())
    if largest > 1 + 1e-9:
        raise ValueError(f"margins must lie in [-1, 1]; got one of size {largest!r}")
    return sample


def checked_margins(margins: ArrayLike, rho: float, delta: float) -> NDArray[np.float64]:
    """Convert the margins of a bound to a vector, and check its other parameters."""
    sample = some_margins(margins)
    check_number("rho", rho, 0, above=True)
    check_delta(delta)
    return sample


def weight_shares(
    sample_weight: ArrayLike | None, n_samples: int, samples: str
) -> NDArray[np.float64]:
    """Sample weights divided by their sum; `samples` is the parameter that has the samples."""
    weight = np.ones(n_samples)
    if sample_weight is not None:
        weight = finite_vector("sample_weight", sample_weight, 0)
    if len(weight) != n_samples:
        raise ValueError(
            f"sample_weight must have an entry for each of the {n_samples} samples of {samples}; "
            f"got {len(weight)}"
        )
    with np.errstate(over="ignore"):
        total = weight.sum()
    # Shares of an infinite sum would all be 0.
    if not 0 < total < np.inf:
        raise ValueError(f"sample_weight must have a finite sum > 0; got {float(total)!r}")
    return weight / total
