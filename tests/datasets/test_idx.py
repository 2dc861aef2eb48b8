import contextlib

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst
from made_data import idx_file
from mddf.datasets import DataFileError
from mddf.datasets._io.idx import read_idx


@given(npst.arrays(np.uint8, npst.array_shapes(min_dims=1, max_dims=3, min_side=0, max_side=5)))
def test_round_trip(values):
    content = idx_file(values.tobytes(), values.shape)
    np.testing.assert_array_equal(read_idx(content, "a", values.ndim), values)


@given(st.binary(max_size=40), st.integers(1, 3))
def test_any_bytes_are_read_or_refused(content, n_axes):
    values = None
    with contextlib.suppress(DataFileError):
        values = read_idx(content, "a", n_axes)
    if values is not None:
        assert idx_file(values.tobytes(), values.shape) == content
