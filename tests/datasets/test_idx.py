import contextlib
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst
from made_data import idx_file
from mddf.datasets import DataFileError
from mddf.datasets._io.idx import parse, read_idx
from mddf.datasets._io.parsed import check
from mddf.datasets._io.spec import Idx, Part
from mddf.datasets._registry import SPECS

MADE = replace(SPECS["mnist"], format=Idx(4), parts=(Part({0: 1, 7: 2}), Part({7: 1})))


def contents(**changed):
    files = {
        "train-images-idx3-ubyte": idx_file(range(12), (3, 2, 2)),
        "train-labels-idx1-ubyte": idx_file([7, 0, 7], (3,)),
        "t10k-images-idx3-ubyte": idx_file([255, 0, 1, 2], (1, 2, 2)),
        "t10k-labels-idx1-ubyte": idx_file([7], (1,)),
    }
    return files | {key.replace("_", "-"): value for key, value in changed.items()}


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


@pytest.mark.parametrize("change", [b"", b"\0", bytes(3)])
def test_length_that_the_header_does_not_give(change):
    content = idx_file(range(12), (3, 2, 2))
    content = content + change if change else content[:-1]
    with pytest.raises(DataFileError, match=r"has 28 bytes .* (27|29|31) bytes"):
        read_idx(content, "images", 3)


def test_sizes_do_not_overflow():
    header = idx_file([], (2**32 - 1,) * 3)
    with pytest.raises(DataFileError, match=f"has {16 + (2**32 - 1) ** 3} bytes"):
        read_idx(header, "images", 3)


def test_labels_in_place_of_images():
    with pytest.raises(DataFileError, match=r"begins with 00000803 .* got 00000801"):
        read_idx(idx_file([1, 2], (2,)), "images", 3)


def test_parse():
    parsed = parse(MADE, contents())
    check(MADE, parsed)
    train, test = parsed.blocks
    assert train.X.dtype == np.uint8
    assert train.X.tolist() == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9, 10, 11]]
    assert train.y.tolist() == [7, 0, 7]
    assert test.X.tolist() == [[255, 0, 1, 2]]
    assert parsed.feature_names == ("pixel_0_0", "pixel_0_1", "pixel_1_0", "pixel_1_1")


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"t10k_images_idx3_ubyte": idx_file(range(6), (1, 2, 3))}, "2 x 2 pixels"),
        ({"train_labels_idx1_ubyte": idx_file([7, 0], (2,))}, "must hold 2 images"),
        ({"train_labels_idx1_ubyte": idx_file([7, 0, 10], (3,))}, "row 2: label must be one of"),
    ],
)
def test_parse_refuses(changed, message):
    with pytest.raises(DataFileError, match=message):
        parse(MADE, contents(**changed))
