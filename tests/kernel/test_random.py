"""Completely random trees and extra trees: distributions of their draws."""

import naive
import numpy as np
import pytest
from forest_cases import Case, check_tree, make_case
from scipy.stats import binomtest, chisquare


def make_numeric(codes, values, labels, n_classes=2):
    """A case whose columns all have the same values."""
    p = codes.shape[1]
    return Case(
        np.ascontiguousarray(codes, np.uint8),
        np.tile(np.asarray(values, float), p),
        np.arange(p + 1, dtype=np.int64) * len(values),
        np.zeros(p, np.uint8),
        np.asarray(labels, np.uint16),
        n_classes,
    )


def roots(trees):
    return [nodes[0] for nodes in naive.decode(trees)]


def test_every_split_separates_and_nothing_stops_early():
    for weighted in [False, True]:
        for max_features in [1, 2, 9]:
            rng = np.random.default_rng([max_features, weighted])
            for seed in range(50):
                case = make_case(rng, missing=0.1, categories=0.3, weighted=weighted)
                trees = case.grow([seed], random_thresholds=True, max_features=max_features)
                check_tree(naive.decode(trees)[0], case, best_split=False)


def test_limits():
    for limits in [{"max_depth": 2}, {"min_samples_split": 9}, {"max_depth": 0}, {"max_depth": 1}]:
        rng = np.random.default_rng(len(str(limits)))
        for seed in range(50):
            case = make_case(rng, missing=0.1, categories=0.3)
            trees = case.grow([seed], random_thresholds=True, max_features=1, **limits)
            check_tree(naive.decode(trees)[0], case, best_split=False, **limits)


def test_leaves_are_never_too_small():
    for max_features in [1, 3]:
        for limits in [{"min_samples_leaf": 3}, {"min_weight_leaf": 0.125}]:
            rng = np.random.default_rng([max_features, len(str(limits))])
            n_split = 0
            for seed in range(60):
                case = make_case(rng, missing=0.1, categories=0.3, weighted=bool(seed % 2))
                trees = case.grow(
                    [seed], random_thresholds=True, max_features=max_features, **limits
                )
                nodes = naive.decode(trees)[0]
                weights = case.given_weights()
                rows = np.flatnonzero(weights)
                n_split += len(nodes) > 1
                for _, node_rows, depth in naive.visit(nodes, case.codes, rows):
                    if depth == 0:
                        continue
                    assert len(node_rows) >= limits.get("min_samples_leaf", 1)
                    share = weights[node_rows].sum() / weights.sum()
                    assert share >= limits.get("min_weight_leaf", 0)
            assert n_split > 20


def test_extra_trees_use_the_best_drawn_split():
    # Two codes a column leave one threshold to draw, so that all columns make the best split.
    rng = np.random.default_rng(2)
    for seed in range(80):
        entropy = bool(seed % 2)
        case = make_case(rng, n_rows=60, n_bins=2, weighted=seed % 3 == 0, n_classes=2 + seed % 4)
        trees = case.grow([seed], random_thresholds=True, entropy=entropy)
        check_tree(naive.decode(trees)[0], case, entropy=entropy)


@pytest.mark.parametrize("n_rows", [40, 200])
def test_all_columns_that_vary_are_split_equally_often(n_rows):
    # Sparse columns: deep nodes know many columns to be constant, siblings know others.
    rng = np.random.default_rng(n_rows)
    codes = (rng.random((n_rows, 12)) < 0.25) * rng.integers(1, 4, (n_rows, 12))
    codes[:, [3, 7]] = 0
    case = make_numeric(codes, np.arange(4.0), rng.integers(0, 2, n_rows))
    n_trees = 30000 // n_rows
    trees = case.grow(rng.integers(0, 2**60, n_trees), random_thresholds=True, max_features=1)
    ranks = {}  # of the chosen column among those that vary, by how many these are
    first = np.zeros(12, int)
    for nodes in naive.decode(trees):
        for node, node_rows, depth in naive.visit(nodes, case.codes, case.rows):
            if node.is_leaf:
                continue
            vary = np.flatnonzero((case.codes[node_rows] != case.codes[node_rows[0]]).any(axis=0))
            ranks.setdefault(len(vary), []).append(list(vary).index(node.column))
            first[node.column] += depth == 0
    assert first[[3, 7]].sum() == 0
    assert chisquare(np.delete(first, [3, 7])).pvalue > 1e-3
    for n_vary, chosen in ranks.items():
        if n_vary > 1 and len(chosen) > 10 * n_vary:
            assert chisquare(np.bincount(chosen, minlength=n_vary)).pvalue > 1e-4, n_vary


@pytest.mark.parametrize("n_rows", [30, 300])
def test_thresholds_are_uniform_in_value(n_rows):
    values = np.array([-3.0, 0.0, 0.5, 1.0, 1.1, 4.0, 10.0])
    codes = np.arange(n_rows)[:, None] % len(values)
    case = make_numeric(codes, values, np.arange(n_rows) % 2)
    trees = case.grow(range(3000), random_thresholds=True, max_features=1, max_depth=1)
    cuts = np.bincount([root.threshold for root in roots(trees)], minlength=6)
    gaps = np.diff(values)
    assert chisquare(cuts, gaps / gaps.sum() * 3000).pvalue > 1e-3


# 255 values, by how they are spread.
POWERS = 10.0 ** np.linspace(-300, 308, 127)
SPREADS = {
    "evenly": np.arange(255.0),
    "normal": np.sort(np.random.default_rng(0).normal(size=255)),
    "heavy tails": np.sort(np.random.default_rng(0).standard_cauchy(255) ** 3),
    "two heaps": np.r_[np.linspace(0, 1, 128), np.linspace(1e9, 1e9 + 1, 127)],
    "all doubles": np.r_[-POWERS[::-1], 0, POWERS],
    "least doubles": np.arange(255) ** 2 * 5e-324,
    "neighbours": 1 + np.arange(255) ** 2 * 2.0**-52,
    "descending": np.arange(255.0)[::-1] ** 3,
    "not a number": np.r_[np.arange(254.0) ** 3, np.nan],
    "one is not a number": np.r_[np.arange(100.0), np.nan, np.arange(101.0, 255) ** 3],
}


@pytest.mark.parametrize("values", SPREADS.values(), ids=SPREADS)
def test_many_trees_at_once_equal_single_trees(values):
    for n_rows in [60, 300]:
        # The bins of thresholds are guessed where many are drawn, and the guesses mended.
        rng = np.random.default_rng(n_rows)
        case = make_numeric(
            rng.integers(255, size=(n_rows, 2)), values, rng.integers(2, size=n_rows)
        )
        at_once = naive.decode(case.grow(range(30), random_thresholds=True, max_features=1))
        for seed, tree in enumerate(at_once):
            (alone,) = naive.decode(case.grow([seed], random_thresholds=True, max_features=1))
            assert tree == alone


@pytest.mark.parametrize("n_rows", [30, 300])
def test_missing_values_go_either_way_equally_often(n_rows):
    codes = np.arange(n_rows)[:, None] % 4
    codes[codes == 3] = naive.MISSING
    case = make_numeric(codes, [0.0, 1.0, 2.0], np.arange(n_rows) % 2)
    trees = case.grow(range(2000), random_thresholds=True, max_features=1, max_depth=1)
    n_left = sum(root.missing_left for root in roots(trees))
    assert binomtest(n_left, 2000).pvalue > 1e-3


def test_one_value_is_separated_from_missing_values():
    codes = np.repeat([1, naive.MISSING], 20)[:, None]
    case = make_numeric(codes, [0.0, 1.0, 2.0], np.arange(40) % 2)
    for random_thresholds in (False, True):
        for root in roots(case.grow(range(9), random_thresholds=random_thresholds)):
            assert [root.goes_left(code) for code in (0, 1, 2, naive.MISSING)] == [1, 1, 1, 0]


@pytest.mark.parametrize("n_rows", [40, 400])
def test_categories_go_left_or_right_by_a_coin(n_rows):
    codes = np.arange(n_rows)[:, None] % 4
    case = make_numeric(codes, np.arange(6.0), np.arange(n_rows) % 2)
    case.categorical[:] = 1
    trees = case.grow(range(4000), random_thresholds=True, max_features=1, max_depth=1)
    set_counts = np.zeros(16, int)
    for root in roots(trees):
        set_counts[sum(1 << code for code in range(4) if root.goes_left(code))] += 1
    assert set_counts[0] == set_counts[15] == 0
    # All on one side: one category is drawn to go left.
    chance = np.array([1 / 16 + (1 / 32 if i.bit_count() == 1 else 0) for i in range(1, 15)])
    assert chisquare(set_counts[1:15], chance * 4000).pvalue > 1e-3


def test_constant_columns_count_as_drawn():
    # One of 5 varies, 2 are drawn: if both are constant, one that is not is looked for.
    rng = np.random.default_rng(5)
    codes = np.zeros((64, 5), np.uint8)
    codes[:, 2] = rng.integers(0, 2, 64)
    codes[:, 4] = labels = rng.integers(0, 2, 64)
    case = make_numeric(codes, [0.0, 1.0], labels)
    trees = case.grow(range(3000), max_features=2)
    wins = sum(root.column == 4 for root in roots(trees))
    # Both columns among the first two: 1 of 10; otherwise either comes first equally often.
    assert binomtest(wins, 3000, 0.1 + 0.9 / 2).pvalue > 1e-3
