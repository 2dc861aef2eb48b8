"""What parameters may be, and errors that say which one they are about."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from numbers import Integral, Real

import numpy as np
from sklearn.utils._param_validation import Interval


class Within(Interval):
    """Numbers of an interval; all that is no number of Python's or numpy's is outside."""

    def __contains__(self, value) -> bool:
        if isinstance(value, float | np.floating):
            return super().__contains__(float(value))
        return isinstance(value, Integral) and super().__contains__(value)


def finite(least: float = 0, closed: str = "both") -> Within:
    """Real numbers from `least` that a float holds; `closed` "right" leaves `least` out."""
    return Within(Real, least, float(np.finfo(np.float64).max), closed=closed)


@contextmanager
def naming(parameter: str) -> Iterator[None]:
    """Have errors about the value of a parameter name it: where they do not, it is put first."""
    try:
        yield
    except (ValueError, TypeError, OverflowError) as error:
        if re.search(rf"\b{parameter}\b", str(error)):
            raise
        kind = TypeError if isinstance(error, TypeError) else ValueError
        raise kind(f"{parameter} cannot be used: {error}") from error
