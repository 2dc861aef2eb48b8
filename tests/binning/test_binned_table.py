"""Coded tables, some of whose columns are replaced."""

import numpy as np
import pytest
from forest_cases import bin_table


@pytest.mark.parametrize("n_rows", [50, 6000])
def test_replacing_columns_equals_binning_the_joined_table(n_rows):
    rng = np.random.default_rng(9)
    x = rng.normal(size=(n_rows, 90))
    added = np.round(rng.random((n_rows, 4)), 3)
    table = bin_table(x, n_spare=4)
    assert table.n_rows == n_rows
    assert (table.by_column is not None) == (n_rows == 6000)
    assert (table.codes[:, 90:] == 0).all()
    assert np.diff(table.bins.start)[90:].tolist() == [1, 1, 1, 1]
    for new in (rng.random((n_rows, 4)), added):
        table.replace_columns(90, new)
    joined = np.hstack([x, added])
    expected = bin_table(joined)
    for name in ("edges", "values", "start", "categorical"):
        assert np.array_equal(getattr(table.bins, name), getattr(expected.bins, name))
    assert np.array_equal(table.codes, expected.codes)
    if table.by_column is not None:
        assert np.array_equal(table.by_column, expected.by_column)
    # Some columns in the middle of the spare ones.
    table.replace_columns(91, added[:, 3:])
    joined[:, 91] = added[:, 3]
    assert np.array_equal(table.codes, bin_table(joined).codes)
