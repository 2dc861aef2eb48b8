"""Hashes of the contents of arrays."""

from __future__ import annotations

from hashlib import blake2b

import numpy as np
import numpy.typing as npt

# Arrays are hashed in parts of about so many bytes, of which a copy fits into the cache.
_PART_BYTES = 2**18


def hash_of_arrays(*arrays: npt.ArrayLike) -> str:
    """Hash arrays by dtype, shape and contents, to recognize a table that has been seen before."""
    digest = blake2b(digest_size=16)
    for array in map(np.atleast_1d, arrays):
        digest.update(f"{array.dtype.str} {array.shape}".encode())
        n_rows = max(1, _PART_BYTES * len(array) // max(1, array.nbytes))
        # Columns of a table are not contiguous: each part is copied.
        for first in range(0, len(array), n_rows):
            digest.update(np.ascontiguousarray(array[first : first + n_rows]).data)
    return digest.hexdigest()
