"""Bins and codes of numbers, compared with slow twins."""

import threading

import naive
import numpy as np
import pytest
from binning_cases import make_column
from forest_cases import bin_table
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from mddf._binning.bins import apply_bins, bin_by_rank, find_bins, join_bins, narrowed

DTYPES = ["f8", "f4", "i8", "i4", "u1"]


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


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("max_bins", [2, 7, 255])
def test_bins_and_codes_match_a_slow_twin(max_bins, weighted):
    rng = np.random.default_rng([max_bins, weighted])
    for _ in range(25):
        n, p = int(rng.choice([1, 2, 30, 400])), int(rng.integers(1, 5))
        x = np.column_stack([make_column(rng, n) for _ in range(p)])
        x[rng.random((n, p)) < rng.choice([0, 0.2])] = np.nan
        weights = rng.integers(0, 9, n) / 4 if weighted else None
        compare(x, weights, max_bins)


@pytest.mark.parametrize("weighted", [False, True])
def test_no_more_rows_than_bins(weighted):
    rng = np.random.default_rng([4, weighted])
    for n in (1, 3, 64, 65, 100, 128, 129, 254, 255, 256):
        x = np.column_stack([make_column(rng, n) for _ in range(9)])
        x[:, 0] = 1 + rng.integers(0, n, n) * 2.0**-50  # different as doubles only
        x[rng.random(x.shape) < 0.1] = np.nan
        compare(x, rng.integers(0, 9, n) / 4 if weighted else None, 255)
        compare(x, rng.integers(0, 9, n) / 4 if weighted else None, 64)


@pytest.mark.parametrize("n_rows", [1, 7, 8, 9, 255, 256, 1023, 1024, 1100])
@pytest.mark.parametrize("dtype", ["f8", "f4"])
def test_codes_of_any_number_of_rows(n_rows, dtype):
    rng = np.random.default_rng(5)
    bins = find_bins(np.column_stack([make_column(rng, 1500) for _ in range(8)]))
    x = np.column_stack([make_column(rng, n_rows) for _ in range(8)])
    with np.errstate(over="ignore"):
        x = x.astype(dtype)
    x[np.isinf(x) | (rng.random(x.shape) < 0.05)] = np.nan
    codes = apply_bins(x, bins)
    for c in range(8):
        assert np.array_equal(codes[:, c], naive.apply_bins(x[:, c], bins.columns(c, c + 1).edges))
    for view in (x, np.asfortranarray(x)):
        for share in (0, 0.1, 0.5):
            is_wanted = rng.random(8) < share
            result = apply_bins(view, bins, wanted=is_wanted, out=np.full(x.shape, 99, np.uint8))
            assert np.array_equal(result[:, is_wanted], codes[:, is_wanted])
            unwanted_codes = result[:, ~is_wanted]
            assert ((unwanted_codes == 99) | (unwanted_codes == codes[:, ~is_wanted])).all()


def test_many_columns_and_rows():
    # Wider than a block of columns; enough rows for several threads and for lookup tables.
    rng = np.random.default_rng(1)
    x = np.column_stack([make_column(rng, 5000) for _ in range(40)])
    bins = find_bins(x)
    for c in range(40):
        edges, values = naive.find_bins(x[:, c])
        part = bins.columns(c, c + 1)
        assert np.array_equal(part.edges, np.append(edges, np.inf))
        assert np.array_equal(part.values, values)
        expected = np.searchsorted(edges, x[:, c], side="left")
        assert np.array_equal(apply_bins(x, bins)[:, c], expected)


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


@pytest.mark.parametrize("kind", UNEVEN)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_uneven_columns(kind, dtype):
    with np.errstate(over="ignore"):
        x = UNEVEN[kind](np.random.default_rng(7), 6000).astype(dtype)[:, None]
    x[np.isinf(x)] = 0
    bins = find_bins(x)
    edges, values = naive.find_bins(x[:, 0].astype(float))
    assert np.array_equal(bins.edges[:-1], edges)
    assert np.array_equal(bins.values, values)
    expected = np.searchsorted(edges, x[:, 0].astype(float))
    assert np.array_equal(apply_bins(x, bins)[:, 0], np.where(np.isnan(x[:, 0]), 255, expected))


def test_single_precision_on_bins_of_double_precision():
    x = np.random.default_rng(8).normal(size=(3000, 1))
    bins = find_bins(x)
    near = bins.edges[:-1].astype(np.float32)
    new = np.concatenate([np.nextafter(near, np.float32(side)) for side in (-9, 0, 9)] + [near])
    new = np.tile(new, 2)[:, None]  # enough of them to prepare a look-up
    expected = np.searchsorted(bins.edges[:-1], new.astype(float))
    assert np.array_equal(apply_bins(new, bins), expected)


@pytest.mark.parametrize("dtype", DTYPES)
def test_whole_numbers_side_by_side(dtype):
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


@pytest.mark.parametrize(
    ("n_columns", "max_bins"),
    [(1, 2), (1, 60), (1, 255), (63, 60), (64, 2), (64, 255), (65, 60), (130, 255)],
)
def test_bytes(n_columns, max_bins):
    rng = np.random.default_rng(n_columns)
    most = rng.choice([1, 2, 50, 256], n_columns)
    x = (rng.random((1000, n_columns)) ** 3 * most).astype(np.uint8)
    x[:256, 0] = np.arange(256)  # more values than bins
    compare(x, None, max_bins)
    expected = find_bins(x.astype(float), max_bins=max_bins)
    assert np.array_equal(find_bins(x, max_bins=max_bins, n_jobs=2).edges, expected.edges)
    every = np.repeat(np.arange(256, dtype=np.uint8)[:, np.newaxis], n_columns, axis=1)
    assert np.array_equal(apply_bins(every, expected), apply_bins(every.astype(float), expected))


@pytest.mark.parametrize("dtype", [d for d in DTYPES if np.dtype(d) != np.uint8])
def test_tables_of_whole_numbers_are_narrowed(dtype, monkeypatch):
    rng = np.random.default_rng(3)
    x = rng.integers(0, 256, (9000, 9)).astype(dtype)
    monkeypatch.setattr("mddf._binning.bins.useful_jobs", lambda size, n_jobs: 2)
    room = np.zeros((len(x), 12), np.uint8)
    result = narrowed(x, room, 2)
    assert np.shares_memory(result, room)
    assert np.array_equal(result, x)
    assert not room[:, [0, 1, 11]].any()
    column = np.ones((70_000, 1), dtype)
    assert np.array_equal(narrowed(column, np.empty(column.shape, np.uint8)), column)
    for place in [(0, 0), (0, 8), (4000, 3), (8999, 8)]:
        for other in [-1, 256, 2**31 - 1, 0.5, 254.999, np.nan, np.inf, -np.inf]:
            if np.dtype(dtype).kind == "f" or other == int(np.nan_to_num(other)):
                wrong = x.copy()
                wrong[place] = other
                assert narrowed(wrong, room) is wrong
    for unlike in (np.asfortranarray(x), x[:, ::-1], x[:100]):
        assert narrowed(unlike, room) is unlike
    if np.dtype(dtype).kind == "f":
        x[x == 0] = -0.0
        assert np.array_equal(narrowed(x, room), x)
        assert narrowed(sparse.csc_matrix(x), room).dtype == dtype


@pytest.mark.parametrize("n_columns", [3, 140])
def test_bytes_are_coded_without_a_copy(n_columns):
    x = np.random.default_rng(0).integers(0, 256, (600, n_columns), dtype=np.uint8)
    bins = find_bins(x, max_bins=20)
    room = np.zeros((600, n_columns + 2), np.uint8)
    room[:, 1:-1] = x
    apply_bins(room[:, 1:-1], bins, out=room, first_column=1)
    assert np.array_equal(room[:, 1:-1], apply_bins(x, bins))
    assert not room[:, [0, -1]].any()


def test_values_between_and_beyond_the_bins():
    rng = np.random.default_rng(3)
    for n_distinct in (1, 2, 5, 200, 2000):
        x = np.sort(rng.normal(size=n_distinct))[:, None]
        bins = find_bins(x)
        inner = bins.edges[:-1]
        new = np.concatenate(
            [inner, np.nextafter(inner, -np.inf), np.nextafter(inner, np.inf), rng.normal(size=99)]
        )
        new = np.append(new, [np.inf, -np.inf, np.nan, 1e308, -1e308])
        for repeat in (1, 40):  # few rows are searched, many are looked up in a grid
            table = np.tile(new, repeat)[:, None]
            expected = np.tile(naive.apply_bins(new, bins.edges), repeat)
            assert np.array_equal(apply_bins(table, bins)[:, 0], expected)


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


@pytest.mark.parametrize("max_bins", [5, 255])
def test_weight_k_is_k_rows(max_bins):
    rng = np.random.default_rng(4)
    for _ in range(20):
        x = np.column_stack([make_column(rng, 500) for _ in range(4)])
        weights = rng.integers(0, 4, 500)
        a = find_bins(x, sample_weight=weights, max_bins=max_bins)
        b = find_bins(np.repeat(x, weights, axis=0), max_bins=max_bins)
        assert np.array_equal(a.edges, b.edges)
        assert np.array_equal(a.values, b.values)


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


def test_bins_are_of_about_equal_weight():
    x = np.random.default_rng(6).normal(size=(51000, 1))
    counts = np.bincount(apply_bins(x, find_bins(x))[:, 0], minlength=255)
    assert counts.min() >= 195
    assert counts.max() <= 205
    # A heavy value has a bin of its own and leaves the others their share.
    x[:30000] = 0.25
    codes = apply_bins(x, find_bins(x))[:, 0]
    assert len(np.unique(codes)) == 255
    assert len(np.unique(x[codes == codes[0]])) == 1


@pytest.mark.parametrize(
    ("heavy", "max_bins"), [(-1, 2), (200, 2), (-1, 3), (50.5, 3), (200, 3), (99, 20), (200, 20)]
)
def test_a_heavy_value_has_its_own_bin_wherever_it_stands(heavy, max_bins):
    x = np.concatenate([np.arange(100.0) + 0.25, np.full(150, heavy)])[:, None]
    codes = apply_bins(x, find_bins(x, max_bins=max_bins))[:, 0]
    assert np.unique(x[codes == codes[-1]]) == [heavy]


def test_rows_without_weight_do_not_count():
    x = np.array([[1.0], [2.0], [50.0], [np.nan]])
    bins = find_bins(x, sample_weight=np.array([1, 1, 0, 1.0]))
    assert bins.values.tolist() == [1, 2]
    assert apply_bins(x, bins).ravel().tolist() == [0, 1, 1, 255]


def test_columns_without_values():
    x = np.full((5, 3), np.nan)
    bins = find_bins(x)
    assert bins.values.tolist() == [0, 0, 0]
    assert (apply_bins(x, bins) == 255).all()
    assert find_bins(np.empty((0, 2))).n_columns == 2


def test_categories():
    rng = np.random.default_rng(7)
    for n in (40, 600):
        x = rng.integers(0, 9, (n, 3)).astype(float)
        x[rng.random((n, 3)) < 0.2] = np.nan
        bins = find_bins(x, n_categories=[-1, 9, 6])
        assert bins.categorical.tolist() == [0, 1, 1]
        assert np.diff(bins.start)[1:].tolist() == [9, 6]
        x[:5, 1:] = [[-1, 99], [2.5, 6], [1e300, -1e300], [np.inf, -np.inf], [8, 5]]
        codes = apply_bins(x, bins)
        assert np.array_equal(codes[:, 0], naive.apply_bins(x[:, 0], bins.columns(0, 1).edges))
        for c in (1, 2):
            assert np.array_equal(codes[:, c], naive.apply_categories(x[:, c], [0, 9, 6][c]))


def test_n_jobs_changes_nothing(monkeypatch):
    monkeypatch.setattr("mddf._binning.bins.useful_jobs", lambda size, n_jobs: n_jobs or 1)
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
