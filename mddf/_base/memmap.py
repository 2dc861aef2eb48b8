"""Class vectors of many samples, out of memory's way."""

from __future__ import annotations

from collections.abc import Iterable
from tempfile import TemporaryFile

import numpy as np

# Arrays of so many bytes are worth a file.
_MANY_BYTES = 2**22


def put_aside(array: np.ndarray) -> np.ndarray:
    """The array, if it is large in a temporary file, which goes when nobody holds it any more.

    In memory if there is no room for the file.
    """
    if array.nbytes < _MANY_BYTES:
        return array
    try:
        with TemporaryFile() as file:
            file.write(np.ascontiguousarray(array).data)
            file.flush()
            return np.asarray(np.memmap(file, array.dtype, "r", shape=array.shape))
    except OSError:
        return array


def mean_of(arrays: Iterable[np.ndarray]) -> np.ndarray:
    """The mean of arrays that come one after the other."""
    rest = iter(arrays)
    total, n = next(rest).copy(), 1
    for array in rest:
        total += array
        n += 1
    total /= n
    return total
