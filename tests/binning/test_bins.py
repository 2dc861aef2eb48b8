"""Bins and codes of numbers, compared with slow twins."""

import threading

import limits
import naive
import numpy as np
import pytest
from forest_cases import bin_table
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from mddf._binning.bins import apply_bins, bin_by_rank, find_bins, join_bins

DTYPES = ["f8", "f4", "i8", "i4", "u1"]


def make_column(rng, n):
    """Values with ties, of many scales and signs."""
    kind = rng.integers(7)
    if kind == 0:
        return rng.integers(0, 256, n).astype(float)
    if kind == 1:
        return rng.normal(size=n) * 10.0 ** rng.integers(-300, 300)
    if kind == 2:
        return rng.integers(-3000, 3000, n) / 4
    if kind == 3:
        return np.round(rng.exponential(size=n), int(rng.integers(3)))
    if kind == 4:
        return rng.choice([0.0, -0.0, 1e-320, -1e-320, 1e308, -1e308, 5.5], n)
    if kind == 5:
        return rng.integers(0, 1500, n).astype(float)
    return np.where(rng.random(n) < 0.6, 3.0, rng.normal(size=n))


def compare(x, weights, max_bins):
    """Compare the bins and codes of a table with the twin."""
    bins = find_bins(x, sample_weight=weights, max_bins=max_bins)
    codes = apply_bins(x, bins)
    for c in range(x.shape[1]):
        edges, values = naive.find_bins(x[:, c], weights, max_bins)
        part = bins.columns(c, c + 1)
        assert np.array_equal(part.edges, np.append(edges, np.inf))
        assert np.array_equal(part.values, values)
        assert np.array_equal(codes[:, c], naive.apply_bins(x[:, c], part.edges))
    if weights is None and len(x) <= max_bins:
        compare_by_rank(x, bins, codes)
    return bins, codes


def compare_by_rank(x, bins, codes):
    """Compare bins and codes that are found in one step with those of two steps."""
    n_rows, n_columns = x.shape
    out, by_column = (np.full(shape, 99, np.uint8) for shape in ((n_rows, n_columns + 3),) * 2)
    by_column = by_column.T.copy()
    for more in ({}, {"by_column": by_column}):
        result = bin_by_rank(x, out=out, first_column=2, **more)
        for name in ("edges", "values", "start", "categorical"):
            assert np.array_equal(getattr(result, name), getattr(bins, name))
        assert np.array_equal(out[:, 2:-1], codes)
        assert (out[:, [0, 1, -1]] == 99).all()
    assert np.array_equal(by_column, out.T)


@pytest.mark.parametrize("max_bins", [2, 7, 255])
def test_bins_and_codes_match_a_slow_twin(max_bins):
    for weighted in [False, True]:
        rng = np.random.default_rng([max_bins, weighted])
        for _ in range(25):
            n, p = int(rng.choice([1, 2, 30, 400])), int(rng.integers(1, 5))
            x = np.column_stack([make_column(rng, n) for _ in range(p)])
            x[rng.random((n, p)) < rng.choice([0, 0.2])] = np.nan
            weights = rng.integers(0, 9, n) / 4 if weighted else None
            compare(x, weights, max_bins)


def test_codes_of_any_number_of_rows():
    for n_rows in [1, 7, 8, 9, 255, 256, 1023, 1024, 1100]:
        for dtype in ["f8", "f4"]:
            rng = np.random.default_rng(5)
            bins = find_bins(np.column_stack([make_column(rng, 1500) for _ in range(8)]))
            x = np.column_stack([make_column(rng, n_rows) for _ in range(8)])
            with np.errstate(over="ignore"):
                x = x.astype(dtype)
            x[np.isinf(x) | (rng.random(x.shape) < 0.05)] = np.nan
            codes = apply_bins(x, bins)
            for c in range(8):
                assert np.array_equal(
                    codes[:, c], naive.apply_bins(x[:, c], bins.columns(c, c + 1).edges)
                )
            for view in (x, np.asfortranarray(x)):
                for share in (0, 0.1, 0.5):
                    is_wanted = rng.random(8) < share
                    result = apply_bins(
                        view, bins, wanted=is_wanted, out=np.full(x.shape, 99, np.uint8)
                    )
                    assert np.array_equal(result[:, is_wanted], codes[:, is_wanted])
                    unwanted_codes = result[:, ~is_wanted]
                    assert (
                        (unwanted_codes == 99) | (unwanted_codes == codes[:, ~is_wanted])
                    ).all()


@pytest.mark.parametrize("dtype", DTYPES)
def test_types_and_strides(dtype):
    rng = np.random.default_rng(2)
    k = 21  # some of them are read in squares
    for n in (50, 600):
        x = (rng.integers(0, 250, (n, k)) if dtype[0] in "iu" else rng.normal(size=(n, k))).astype(
            dtype
        )
        expected = find_bins(x.astype(float))
        codes = apply_bins(x.astype(float), expected)
        wide = np.zeros((2 * n, 3 * k), dtype)
        wide[::2, ::3] = x
        packed = np.zeros(n, [("pad", "u1"), ("x", dtype, k)])
        packed["x"] = x
        back = np.ascontiguousarray(x[::-1, ::-1])[::-1, ::-1]
        beside = np.zeros((2 * n, k + 3), dtype)
        beside[::2, 2 : 2 + k] = x
        turned = np.ascontiguousarray(x[::-1])[::-1]
        views = (x, np.asfortranarray(x), wide[::2, ::3], packed["x"], back, turned)
        for view in (*views, beside[::2, 2 : 2 + k]):
            bins = find_bins(view)
            assert np.array_equal(bins.edges, expected.edges)
            assert np.array_equal(bins.values, expected.values)
            assert np.array_equal(bins.start, expected.start)
            assert np.array_equal(apply_bins(view, bins), codes)
        same = np.broadcast_to(x[:, :1], x.shape)
        first = expected.columns(0, 1)
        assert np.array_equal(find_bins(same).edges, np.tile(first.edges, k))
        assert (apply_bins(same, join_bins(*[first] * k)) == codes[:, :1]).all()


UNEVEN = {
    "heavy tails": lambda rng, n: rng.standard_cauchy(n),
    "all magnitudes": lambda rng, n: rng.choice([-1, 1], n) * 10 ** rng.uniform(-300, 300, n),
    "range beyond doubles": lambda rng, n: rng.uniform(-1, 1, n) * 1.7e308,
    "denormal": lambda rng, n: rng.integers(-400, 400, n) * 5e-324,
    "one long tail": lambda rng, n: np.exp(4 * rng.normal(size=n)),
    "small and whole": lambda rng, n: np.where(
        rng.random(n) < 0.1, np.nan, np.minimum(rng.geometric(0.004, n), 1023)
    ),
    "whole but for the last": lambda rng, n: np.append(rng.integers(0, 900, n - 1), 0.5),
    "clusters": lambda rng, n: 10.0 ** rng.integers(-9, 9, n) + 1e-12 * rng.random(n),
    "ties beside noise": lambda rng, n: np.where(rng.random(n) < 0.5, 0.5, rng.normal(size=n)),
    "whole and missing": lambda rng, n: np.where(
        rng.random(n) < 0.1, np.nan, rng.integers(-5, 2000, n)
    ),
}


def test_uneven_columns():
    for kind in UNEVEN:
        for dtype in [np.float64, np.float32]:
            with np.errstate(over="ignore"):
                x = UNEVEN[kind](np.random.default_rng(7), 6000).astype(dtype)[:, None]
            x[np.isinf(x)] = 0
            bins = find_bins(x)
            edges, values = naive.find_bins(x[:, 0].astype(float))
            assert np.array_equal(bins.edges[:-1], edges)
            assert np.array_equal(bins.values, values)
            expected = np.searchsorted(edges, x[:, 0].astype(float))
            assert np.array_equal(
                apply_bins(x, bins)[:, 0], np.where(np.isnan(x[:, 0]), 255, expected)
            )


def test_whole_numbers_side_by_side():
    for dtype in DTYPES:
        rng = np.random.default_rng(9)
        x = (rng.integers(0, 250, (400, 150)) * (rng.random((400, 150)) < 0.3)).astype(dtype)
        x[:, 3] = 0
        bins = find_bins(x)
        other = x.copy()  # with cells that are in no table, in some blocks of rows and columns
        other[150, 2], other[300, 140], other[301, 3] = (250, 251, 7)
        if dtype[0] == "f":
            other[10, 20], other[151, 2], other[302, 149] = (np.nan, -1.5, 0.25)
        for table in (x, other):
            codes = apply_bins(table, bins)
            for c in range(150):
                edges = bins.columns(c, c + 1).edges
                values, numbers = np.unique(table[:, c], return_inverse=True)
                assert np.array_equal(codes[:, c], naive.apply_bins(values, edges)[numbers])


@settings(max_examples=150, deadline=None)
@given(
    st.lists(st.floats(allow_infinity=False, width=64), min_size=1, max_size=60),
    st.integers(2, 12),
)
def test_any_column(values, max_bins):
    x = np.array(values)[:, None]
    bins, codes = compare(x, None, max_bins)
    present = ~np.isnan(x[:, 0])
    assert (np.diff(bins.edges) > 0).all()
    assert (codes[~present] == naive.MISSING).all()
    assert (codes[present] < len(bins.values)).all()
    order = np.argsort(x[present, 0])
    assert (np.diff(codes[present, 0][order].astype(int)) >= 0).all()
    n_distinct = len(np.unique(x[present, 0] + 0.0))
    assert len(np.unique(codes[present])) == (len(bins.values) if n_distinct else 0)
    if n_distinct <= max_bins:
        assert len(bins.values) == max(1, n_distinct)
    else:
        assert 2 <= len(bins.values) <= max_bins


@pytest.mark.parametrize("max_bins", [5, 60, 255])
def test_the_order_of_rows_does_not_matter(max_bins):
    rng = np.random.default_rng(5)
    for i in range(40):
        n = 3000
        x = np.column_stack([make_column(rng, n), np.arange(n) % 300])
        weights = [None, rng.choice([0.1, 0.2, 0.3, 0.7], n), rng.exponential(size=n)][i % 3]
        order = rng.permutation(n)
        a = find_bins(x, sample_weight=weights, max_bins=max_bins)
        weights = None if weights is None else weights[order]
        b = find_bins(x[order], sample_weight=weights, max_bins=max_bins)
        assert np.array_equal(a.edges, b.edges)
        assert np.array_equal(a.values, b.values)


def test_a_heavy_value_has_its_own_bin_wherever_it_stands():
    for heavy, max_bins in [(-1, 2), (200, 2), (-1, 3), (50.5, 3), (200, 3), (99, 20), (200, 20)]:
        x = np.concatenate([np.arange(100.0) + 0.25, np.full(150, heavy)])[:, None]
        codes = apply_bins(x, find_bins(x, max_bins=max_bins))[:, 0]
        assert np.unique(x[codes == codes[-1]]) == [heavy]


def test_rows_without_weight_do_not_count():
    x = np.array([[1.0], [2.0], [50.0], [np.nan]])
    bins = find_bins(x, sample_weight=np.array([1, 1, 0, 1.0]))
    assert bins.values.tolist() == [1, 2]
    assert apply_bins(x, bins).ravel().tolist() == [0, 1, 1, 255]


def test_n_jobs_changes_nothing(monkeypatch):
    limits.change(monkeypatch, jobs_of_bins=lambda size, n_jobs: n_jobs or 1)
    rng = np.random.default_rng(8)
    x = rng.normal(size=(9000, 20))
    expected = find_bins(x)
    codes = apply_bins(x, expected)
    for n_jobs in (2, 3):
        bins = find_bins(x, n_jobs=n_jobs)
        assert np.array_equal(bins.edges, expected.edges)
        assert np.array_equal(apply_bins(x, bins, n_jobs=n_jobs), codes)
        table = bin_table(np.tile(x, (1, 4)), join_bins(*[bins] * 4), n_jobs=n_jobs)
        assert np.array_equal(table.codes, np.tile(codes, (1, 4)))
        assert np.array_equal(table.by_column, table.codes.T)


def test_writing_into_the_table_meanwhile():
    """Changes of X by another thread while bins are found must not crash."""
    rng = np.random.default_rng(0)
    X = rng.integers(0, 300, (3000, 40)).astype(float)
    stop = threading.Event()

    def write():
        # Values that are ticked off, many others, and none at all take turns.
        while not stop.is_set():
            X[:] = rng.integers(0, 400, X.shape)
            X[:] = rng.normal(size=X.shape)
            X[:] = np.nan

    writer = threading.Thread(target=write)
    writer.start()
    try:
        for weights in (None, rng.random(3000)):
            for _ in range(60):
                bins = find_bins(X, sample_weight=weights)
                counts = np.diff(bins.start)
                assert (counts >= 1).all()
                assert (counts <= 255).all()
                for c in range(40):
                    edges = bins.edges[bins.start[c] : bins.start[c + 1]]
                    assert edges[-1] == np.inf
    finally:
        stop.set()
        writer.join()


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


def test_sparse_tables_are_binned_as_dense_ones():
    for max_bins in [2, 20, 255]:
        for dtype in ["f8", "f4"]:
            rng = np.random.default_rng(max_bins)
            for n_rows in (1, 2, 100, 255, 600):
                for _ in range(8):
                    x, dense = sparse_table(rng, n_rows, int(rng.integers(1, 12)), dtype)
                    bins, expected = (
                        find_bins(X, max_bins=max_bins, n_jobs=2) for X in (x, dense)
                    )
                    for name in ("edges", "values", "start", "categorical"):
                        assert np.array_equal(getattr(bins, name), getattr(expected, name))
                    weights = rng.integers(0, 3, n_rows) / 2
                    for name in ("edges", "values", "start"):
                        both = (
                            find_bins(X, max_bins=max_bins, sample_weight=weights)
                            for X in (x, dense)
                        )
                        assert np.array_equal(*(getattr(of, name) for of in both))
                    new, new_dense = sparse_table(rng, n_rows, dense.shape[1], dtype)
                    assert np.array_equal(apply_bins(new, bins), apply_bins(new_dense, bins))
