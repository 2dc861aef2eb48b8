"""Detection of categorical columns."""

import numpy as np
import pandas as pd
import pytest

from mddf import GradientBoostingRegressor


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


def mask(X, categorical_features):
    """Mask of the columns of X that a model treats as categories."""
    model = GradientBoostingRegressor(max_iter=1, categorical_features=categorical_features)
    result = model.fit(X, np.arange(len(X))).is_categorical_
    return [False] * np.shape(X)[1] if result is None else result.tolist()


def test_explicit_mask(frame):
    X = np.zeros((3, 5))
    assert mask(X, [True, False, True, False, False]) == [1, 0, 1, 0, 0]
    assert mask(X, [0, -1]) == [1, 0, 0, 0, 1]
    assert mask(X, np.array([], int)) == mask(X, []) == [0] * 5
    assert mask(X, None) == mask(X, "from_dtype") == [0] * 5
    numbers = frame[["size", "count", "flag"]]
    assert mask(numbers, ["count", "size"]) == [1, 1, 0]
    assert mask(numbers, None) == mask(numbers, "from_dtype") == [0, 0, 0]
    assert mask(frame, "from_dtype") == [0, 1, 1, 0, 0]
    assert mask(frame, ["color", "word", "flag"]) == [0, 1, 1, 0, 1]


def test_masks_that_do_not_fit(frame):
    for value, message in [
        ([[True]], r"one dimension, got an array of shape \(1, 1\)"),
        ([True, False], "each of the 5 columns of X, got 2"),
        ([5], r"from -5 to 4.*got \[5\]"),
        ([-6], r"from -5 to 4.*got \[-6\]"),
        (["shape"], "names 'shape', which is not a column of X"),
    ]:
        with pytest.raises(ValueError, match=f"categorical_features.*{message}"):
            mask(frame, value)


def test_names_need_a_frame():
    with pytest.raises(ValueError, match=r"categorical_features .* if X is a data frame.*array"):
        mask(np.zeros((2, 2)), ["a"])
