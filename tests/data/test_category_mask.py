"""Which columns are categories."""

import numpy as np
import pandas as pd
import pytest
from table_cases import read

from mddf._data.category_mask import category_mask


@pytest.fixture
def frame():
    return pd.DataFrame(
        {
            "size": [1.5, np.nan, 3.0, 1.0],
            "color": pd.Categorical(["red", "blue", None, "red"]),
            "word": ["a", "b", "a", None],
            "count": [1, 2, 3, 4],
            "flag": [True, False, True, True],
        }
    )


def test_mask_given(frame):
    table = read(np.zeros((3, 5)))
    assert category_mask(table, [True, False, True, False, False]).tolist() == [1, 0, 1, 0, 0]
    assert category_mask(table, [0, -1]).tolist() == [1, 0, 0, 0, 1]
    assert category_mask(table, np.array([], int)).tolist() == [0] * 5
    assert category_mask(table, []).tolist() == [0] * 5
    assert not category_mask(table, None).any()
    assert not category_mask(table, "from_dtype").any()
    assert category_mask(read(frame), ["count", "size"]).tolist() == [1, 0, 0, 1, 0]
    assert not category_mask(read(frame), None).any()


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("auto", r"'from_dtype'.*got 'auto'"),
        ([[True]], r"one dimension, got an array of shape \(1, 1\)"),
        ([True, False], "each of the 5 columns of X, got 2"),
        ([5], r"below 5.*got \[5\]"),
        ([-6], r"below 5.*got \[-6\]"),
        (["shape"], "names 'shape', which is not a column of X"),
    ],
)
def test_masks_that_do_not_fit(frame, value, message):
    with pytest.raises(ValueError, match=f"categorical_features.*{message}"):
        category_mask(read(frame), value)


def test_names_need_a_frame():
    with pytest.raises(ValueError, match=r"categorical_features .* if X is a data frame.*array"):
        category_mask(read(np.zeros((2, 2))), ["a"])
