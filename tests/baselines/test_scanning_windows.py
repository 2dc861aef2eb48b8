from itertools import product

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from mddf.baselines._windows import WindowSpec, auto_sizes
from naive_windows import naive_pool, naive_windows


@st.composite
def grids(draw):
    grid = draw(st.lists(st.integers(1, 6), min_size=1, max_size=2))
    size = [draw(st.integers(1, side)) for side in grid]
    stride = [draw(st.integers(1, 4)) for _ in grid]
    return tuple(grid), tuple(size), tuple(stride), draw(st.integers(1, 3))


@settings(deadline=None, max_examples=60)
@given(grids(), st.sampled_from([None, "mean", "max"]))
def test_windows_and_pooling(case, pooling):
    grid, size, stride, n_channels = case
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 256, (3, *grid, n_channels)).astype(np.uint8)
    positions = tuple((g - w) // s + 1 for g, w, s in zip(grid, size, stride, strict=True))
    spec = WindowSpec(size, positions, stride, 1 if pooling is None else 2)
    assert np.shares_memory(spec.view(codes), codes)
    expected = [naive_windows(sample, size, stride) for sample in codes]
    assert list(expected[0]) == list(product(*map(range, positions)))
    rows = [window for windows in expected for window in windows.values()]
    assert np.array_equal(spec.rows(codes), rows)
    assert np.array_equal(spec.columns(codes), np.transpose(rows))
    vectors = rng.random((3 * spec.n_windows, 2))
    pooled = spec.pool_positions(vectors, pooling)
    for i, part in enumerate(vectors.reshape(3, *positions, 2)):
        pooled_cells = part.reshape(-1)
        if pooling is not None:
            pooled_cells = np.concatenate(list(naive_pool(part, positions, pooling).values()))
        np.testing.assert_allclose(pooled[i], pooled_cells)
    assert len(spec.names("random", ["a", "b"])) == pooled.shape[1]


def test_the_rule_of_gcforest():
    for grid, sizes in [
        ((28, 28), [(7, 7), (10, 10), (14, 14)]),
        ((128,), [(8,), (16,), (32,)]),
        ((30,), [(1,), (3,), (7,)]),
        ((1,), [(1,)]),
        ((1, 1), [(1, 1)]),
        ((3, 40), [(1, 10), (1, 14), (2, 20)]),
    ]:
        assert auto_sizes(grid) == sizes
