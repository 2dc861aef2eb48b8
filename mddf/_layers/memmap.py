"""Large arrays in temporary files."""

from __future__ import annotations

from collections.abc import Iterable
from tempfile import TemporaryFile

import numpy as np

# Smaller arrays (in bytes) stay in memory: a file saves too little. Not tuned.
_MIN_FILE_BYTES = 2**22


def put_aside(array: np.ndarray) -> np.ndarray:
    """Move a large array to a temporary file, which disappears with the last reference to it.

    The array stays in memory if there is no room for the file.
    """
    if array.nbytes < _MIN_FILE_BYTES:
        return array
    try:
        with TemporaryFile() as file:
            file.write(np.ascontiguousarray(array).data)
            file.flush()
            return np.asarray(np.memmap(file, array.dtype, "r", shape=array.shape))
    except OSError:
        return array


def mean_of(arrays: Iterable[np.ndarray]) -> np.ndarray:
    """Mean of arrays that are produced one after the other."""
    rest = iter(arrays)
    total = next(rest).copy()
    n = 1
    for array in rest:
        total += array
        n += 1
    total /= n
    return total
