"""Categories with many levels as numbers."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

from mddf._binning.binner import Binner
from mddf._input.frame import FrameTable
from mddf._input.table import ArrayTable

NAMES = np.array([f"town {i:04}" for i in range(400)])


def table(numbers, make):
    """A column of names and a column of numbers, missing where a number is below 0."""
    names = [None if i < 0 else NAMES[i] for i in numbers]
    return FrameTable(make({"town": names, "other": np.arange(len(numbers), dtype=float)}))


@pytest.mark.filterwarnings("ignore:.*identifier of subjects")
@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame], ids=["pandas", "polars"])
@pytest.mark.parametrize("n", [5, 2000])
def test_numbers_are_places_in_order(make, n):
    binner = Binner("from_dtype", many_levels=32)
    binner.fit_transform(table(np.arange(900) % 300, make))
    assert binner.columns_of_many_levels() == [0]
    numbers = np.random.default_rng(0).integers(-1, 310, n)
    result = binner.levels(table(numbers, make), [0])
    assert result.counts.tolist() == [300]
    expected = np.where(numbers < 0, 300, np.minimum(numbers, 301))
    expected = np.where(numbers >= 300, 301, expected)
    assert np.array_equal(result.numbers[:, 0], expected)


def test_a_column_without_anything_is_missing():
    binner = Binner("from_dtype", many_levels=32)
    binner.fit_transform(table(np.arange(40), pd.DataFrame))
    empty = FrameTable(pd.DataFrame({"town": [None, None], "other": [0.0, 1.0]}))
    assert binner.levels(empty, [0]).numbers.tolist() == [[40], [40]]


@pytest.mark.parametrize("dtype", [float, int, object])
def test_arrays(dtype):
    X = np.arange(120).reshape(60, 2).astype(dtype)
    binner = Binner([0, 1], many_levels=32)
    binner.fit_transform(ArrayTable(X))
    other = np.array([[0, 119], [7, 1]]).astype(dtype)
    result = binner.levels(ArrayTable(other), [0, 1])
    assert result.numbers.tolist() == [[0, 59], [61, 0]]


def test_different_pairs_have_different_keys():
    binner = Binner([0, 1], many_levels=2)
    X = np.array([[i, j] for i in range(7) for j in range(5)], float)
    binner.fit_transform(ArrayTable(X))
    missing = np.array([[np.nan, 0.0], [np.nan, 9.0], [9.0, np.nan], [9.0, 0.0]])
    result = binner.levels(ArrayTable(np.vstack([X, missing])), [0, 1])
    assert len(np.unique(result.keys([0, 1]))) == 39
    assert len(np.unique(result.keys([1]))) == 7


@pytest.mark.filterwarnings("ignore:.*identifier of subjects")
def test_columns_with_few_levels_are_not_high_cardinality():
    binner = Binner("from_dtype", many_levels=41)
    binner.fit_transform(table(np.arange(80) % 40, pd.DataFrame))
    assert binner.columns_of_many_levels() == []
