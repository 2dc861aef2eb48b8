"""Sets by name or from a CSV file, their splits and encodings."""

import numpy as np
import pytest


@pytest.fixture
def data(script):
    return script("_lab.data")


def test_standard_split_and_random_splits(data, data_home):
    yeast = data.Source("yeast", str(data_home))
    first, second = (data.split(yeast, seed) for seed in (0, 1))
    assert (len(first.y), len(first.y_test)) == (1038, 446)
    assert not np.array_equal(first.y_test, second.y_test)
    satimage = data.Source("satimage", str(data_home))
    first, second = (data.split(satimage, seed) for seed in (0, 1))
    assert (len(first.y), len(first.y_test)) == (4435, 2000)
    assert np.array_equal(first.y_test, second.y_test)
    few = data.split(satimage, 0, max_train=500)
    assert (len(few.y), len(few.y_test)) == (500, 2000)
    counts = np.unique(few.y, return_counts=True)[1] / 500
    assert counts == pytest.approx(np.unique(first.y, return_counts=True)[1] / 4435, abs=0.003)


def test_realistic_sets_leave_out_columns_known_too_late(data, data_home):
    from argparse import Namespace

    # The first one is left out already.
    options = Namespace(data_home=str(data_home), drop=["duration", "age"])
    result = data.load(data.sources(options, ["bank"], realistic=True)["bank"]).X
    assert not {"duration", "age"} & set(result)
    assert "job" in result
    options.drop = []
    assert data.sources(options, ["bank"], realistic=True)["bank"].options
    assert not data.sources(options, ["bank"])["bank"].options


def test_nested_subsets(data):
    y = np.repeat(["a", "b", "c"], [100, 60, 3])
    result = {s: data.nested_subset(y, s, seed=0) for s in (0.01, 0.1, 0.5, 1.0)}
    counts = [[int(np.sum(y[rows] == label)) for label in "abc"] for rows in result.values()]
    assert counts == [[1, 1, 1], [10, 6, 1], [50, 30, 2], [100, 60, 3]]
    for smaller, larger in zip(result.values(), list(result.values())[1:], strict=False):
        assert set(smaller) < set(larger)
    assert not np.array_equal(data.nested_subset(y, 0.1, seed=1), result[0.1])


def test_medians_of_training_rows_fill_gaps(data):
    numbers = data.to_numbers().fit(np.array([[1.0, np.nan], [3.0, 5.0]]))
    np.testing.assert_array_equal(numbers.transform([[np.nan, np.nan]]), [[2, 5]])
