import contextlib

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst
from made_data import idx_file
from mddf.datasets import DataFileError
from mddf.datasets._io.idx import read_idx

arrays = npst.arrays(np.uint8, npst.array_shapes(min_dims=1, max_dims=3, min_side=0, max_side=5))


@given(arrays)
def test_round_trip(values):
    content = idx_file(values.tobytes(), values.shape)
    np.testing.assert_array_equal(read_idx(content, "a", values.ndim), values)


@given(arrays, st.integers(0, 40), st.integers(0, 4), st.binary(max_size=4), st.integers(1, 3))
def test_changed_files_are_read_as_they_are_or_refused(values, start, n_removed, added, n_axes):
    whole = idx_file(values.tobytes(), values.shape)
    content = whole[:start] + added + whole[start + n_removed :]
    values = None
    with contextlib.suppress(DataFileError):
        values = read_idx(content, "a", n_axes)
    if values is not None:
        assert idx_file(values.tobytes(), values.shape) == content
