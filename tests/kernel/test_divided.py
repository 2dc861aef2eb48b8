"""Sums over the rows of a shard, and the rows that trees draw from it."""

import numpy as np
import pytest
from compiled import _core

BINS = np.array([4, 7, 255])


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def made_table(rng, n=200):
    codes = np.column_stack([rng.integers(0, n_bins, n) for n_bins in BINS]).astype(np.uint8)
    codes[rng.random(codes.shape) < 0.1] = 255
    start = np.concatenate([[0], BINS.cumsum()])
    values = np.concatenate([np.arange(n_bins, dtype=float) for n_bins in BINS])
    return codes, _core.BinnedTable(codes, None, values, start, np.zeros(3, np.uint8))


def made_node(rng, n=200):
    rows = np.flatnonzero(rng.random(n) < 0.6).astype(np.uint32)
    return rows, rng.integers(1, 5, len(rows)).astype(np.uint32)


def test_draws_of_shards_are_those_of_one_table(rng):
    for is_weighted in [False, True]:
        for n_draws in [1, 500, 20_000]:
            n = 300
            order = rng.permutation(n).astype(np.int32)
            cumulative = None
            if is_weighted:
                cumulative = np.cumsum(rng.integers(1, 2**40, n)).astype(np.uint64)
            sampling = _core.Sampling(order, n_draws=n_draws, cumulative=cumulative)
            expected = _core.sample_counts(sampling, n, 7)
            counts = np.zeros(n, np.uint32)
            for shard in (0, 1, 2):
                places = np.flatnonzero(order % 3 == shard)
                if is_weighted:
                    starts = np.concatenate([[np.uint64(0)], cumulative])[places]
                    total = int(cumulative[-1])
                    own = _core.draw_divided(7, n_draws, total, starts, cumulative[places])
                else:
                    own = _core.draw_divided_uniformly(7, n_draws, n, places.astype(np.uint64))
                counts[order[places]] = own
            np.testing.assert_array_equal(counts, expected)


def test_a_shard_without_rows_draws_none():
    none = np.zeros(0, np.uint64)
    assert len(_core.draw_divided(0, 50, 10, none, none)) == 0
    assert len(_core.draw_divided_uniformly(0, 50, 10, none)) == 0


def test_counts_of_bins(rng):
    codes, table = made_table(rng)
    rows, counts = made_node(rng)
    labels = rng.integers(0, 3, 200).astype(np.uint16) * 5
    present = np.array([0, 5, 10], np.uint16)
    columns = np.array([2, 0], np.int32)
    cells = _core.count_shard_bins(table, rows, counts, labels, present, columns)
    expected = []
    for column in columns:
        for code in [*range(BINS[column]), 255]:
            in_bin = codes[rows, column] == code
            expected.append(np.count_nonzero(in_bin))
            expected += [counts[in_bin & (labels[rows] == label)].sum() for label in present]
    np.testing.assert_array_equal(cells, expected)


def test_sums_of_targets(rng):
    for shift in [0, 1, 9, 40]:
        codes, table = made_table(rng)
        rows, counts = made_node(rng)
        targets = rng.integers(-(2**61), 2**61, 200)
        least = int(targets[rows].min())
        n_rows, weight, low_target, high_target, low, high = _core.add_up_shard(
            rows, counts, targets
        )
        assert (n_rows, weight) == (len(rows), counts.sum())
        assert (low_target, high_target) == (least, targets[rows].max())
        pairs = list(zip(targets[rows].tolist(), counts.tolist(), strict=True))
        assert (high << 64) + low == sum((target + 2**61) * count for target, count in pairs)
        columns = np.array([1], np.int32)
        if shift < 12:  # sums must stay below 2^62
            targets //= 2**12
            least = int(targets[rows].min())
            pairs = list(zip(targets[rows].tolist(), counts.tolist(), strict=True))
        cells = _core.add_up_shard_bins(table, rows, counts, targets, columns, least, shift)
        expected = []
        for code in [*range(BINS[1]), 255]:
            in_bin = codes[rows, 1] == code
            parts = [
                ((target - least) * count) >> shift
                for (target, count), is_counted in zip(pairs, in_bin, strict=True)
                if is_counted
            ]
            expected += [np.count_nonzero(in_bin), counts[in_bin].sum(), sum(parts)]
        np.testing.assert_array_equal(cells, expected)


def test_rows_are_divided(rng):
    codes, table = made_table(rng)
    rows, counts = made_node(rng)
    left_codes = (rng.random(256) < 0.5).astype(np.uint8)
    for column in range(3):
        children = _core.divide_shard_rows(table, rows, counts, column, left_codes)
        goes_left = left_codes[codes[rows, column]] > 0
        sides = (goes_left, ~goes_left)
        for (child_rows, child_counts), in_bin in zip(children, sides, strict=True):
            np.testing.assert_array_equal(child_rows, rows[in_bin])
            np.testing.assert_array_equal(child_counts, counts[in_bin])


def test_wrong_arguments(rng):
    _, table = made_table(rng)
    rows, counts = made_node(rng)
    labels = np.zeros(200, np.uint16)
    columns = np.array([0], np.int32)
    present = np.array([0], np.uint16)
    too_far = rows + np.uint32(100)
    with pytest.raises(ValueError, match="rows: expected rows of the table"):
        _core.count_shard_bins(table, too_far, counts, labels, present, columns)
    with pytest.raises(ValueError, match="counts must have length"):
        _core.count_shard_bins(table, rows, counts[1:], labels, present, columns)
    with pytest.raises(ValueError, match="columns: expected columns of the table"):
        _core.count_shard_bins(table, rows, counts, labels, present, columns + np.int32(3))
    with pytest.raises(ValueError, match="left_codes must have length 256"):
        _core.divide_shard_rows(table, rows, counts, 0, np.zeros(2, np.uint8))
    with pytest.raises(ValueError, match="places: expected numbers below total"):
        _core.draw_divided_uniformly(0, 5, 3, np.array([3], np.uint64))
    seeds = np.zeros(1, np.uint64)
    best_first = _core.TreeOptions(max_leaf_nodes=4)
    with pytest.raises(ValueError, match="options: divided rows are grown depth first"):
        _core.grow_divided_classes(table, 2, best_first, seeds, 0, object(), 64)
    with pytest.raises(ValueError, match="most_copied: expected 64 to"):
        _core.grow_divided_classes(table, 2, _core.TreeOptions(), seeds, 0, object(), 63)
