"""Sparse tables have the same codes as dense tables."""

import numpy as np
import pytest
from binning_cases import make_column
from scipy import sparse

from mddf._binning.bins import apply_bins, find_bins


def sparse_table(rng, n_rows, n_columns, dtype="f8"):
    """A scipy matrix with missing cells, stored zeros and zeros of both signs."""
    x = np.column_stack([make_column(rng, n_rows) for _ in range(n_columns)])
    with np.errstate(over="ignore"):
        x = x.astype(dtype)
    x[np.isinf(x)] = 1
    x[:, 0] = 5  # no cell is 0
    x[rng.random(x.shape) < rng.choice([0, 0.5, 0.95])] = 0
    x[rng.random(x.shape) < rng.choice([0, 0.1])] = np.nan
    stored = (x != 0) | (rng.random(x.shape) < 0.05)
    rows, columns = np.nonzero(stored)
    return sparse.csc_matrix((x[rows, columns], (rows, columns)), x.shape), x


@pytest.mark.parametrize("max_bins", [2, 20, 255])
@pytest.mark.parametrize("dtype", ["f8", "f4"])
def test_sparse_tables_are_binned_as_dense_ones(max_bins, dtype):
    rng = np.random.default_rng(max_bins)
    for n_rows in (1, 2, 100, 255, 600):
        for _ in range(8):
            x, dense = sparse_table(rng, n_rows, int(rng.integers(1, 12)), dtype)
            bins, expected = (find_bins(X, max_bins=max_bins, n_jobs=2) for X in (x, dense))
            for name in ("edges", "values", "start", "categorical"):
                assert np.array_equal(getattr(bins, name), getattr(expected, name))
            weights = rng.integers(0, 3, n_rows) / 2
            for name in ("edges", "values", "start"):
                both = (find_bins(X, max_bins=max_bins, sample_weight=weights) for X in (x, dense))
                assert np.array_equal(*(getattr(of, name) for of in both))
            new, new_dense = sparse_table(rng, n_rows, dense.shape[1], dtype)
            assert np.array_equal(apply_bins(new, bins), apply_bins(new_dense, bins))


def test_sparse_tables_in_several_threads(monkeypatch):
    monkeypatch.setattr("mddf._binning.bins.useful_jobs", lambda size, n_jobs: n_jobs or 1)
    x, dense = sparse_table(np.random.default_rng(2), 40, 300)
    bins, expected = (find_bins(X, n_jobs=2) for X in (x, dense))
    assert np.array_equal(bins.edges, expected.edges)
    out = np.full((40, 300), 77, np.uint8)
    assert np.array_equal(apply_bins(x, bins, out=out, n_jobs=2), apply_bins(dense, bins))


def test_codes_of_sparse_tables_go_to_their_place():
    x, dense = sparse_table(np.random.default_rng(0), 40, 30)
    bins = find_bins(dense)
    out, by_column = np.full((40, 33), 77, np.uint8), np.full((33, 40), 77, np.uint8)
    apply_bins(x, bins, out=out, first_column=2, by_column=by_column, n_jobs=2)
    assert np.array_equal(out[:, 2:-1], apply_bins(dense, bins))
    assert np.array_equal(by_column, out.T)
    assert (out[:, [0, 1, -1]] == 77).all()
