"""Trees of means against slow twins."""

import pickle

import naive
import numpy as np
import pytest
from compiled import _core
from forest_cases import NO_LIMIT, OUT_OF_BAG, same_trees
from hypothesis import given, settings
from hypothesis import strategies as st
from value_cases import check_value_tree, importances, make_values, mean, predictions

KINDS = {
    "numeric": {},
    "missing": {"missing": 0.25},
    "categories": {"categories": 1.0},
    "missing categories": {"categories": 1.0, "missing": 0.2},
    "all": {"categories": 0.4, "missing": 0.15},
    "outputs": {"n_outputs": 3, "missing": 0.1},
    "all outputs": {"n_outputs": 2, "missing": 0.1, "categories": 0.4},
}
OPTIONS = [
    {},
    {"max_features": 1},
    {"random_thresholds": True, "max_features": 1},
    {"random_thresholds": True, "max_features": 2},
    {"random_thresholds": True, "max_features": 1, "min_samples_leaf": 2},
]
some_options = pytest.mark.parametrize("options", OPTIONS)


def test_every_split_is_the_best():
    for kind in KINDS:
        for weighted in [False, True]:
            rng = np.random.default_rng([len(kind), weighted])
            for seed in range(12):
                case = make_values(rng, int(rng.integers(2, 25)), weighted=weighted, **KINDS[kind])
                check_value_tree(naive.decode(case.grow([seed]))[0], case)


@pytest.mark.parametrize(("n_rows", "n_bins"), [(70, 200), (150, 255), (150, 6)])
def test_larger_nodes(n_rows, n_bins):
    rng = np.random.default_rng([n_rows, n_bins])
    case = make_values(rng, n_rows, 6, 3, n_bins, missing=0.1, categories=0.2)
    check_value_tree(naive.decode(case.grow([7], max_depth=3))[0], case, max_depth=3)


def test_limits():
    for limits in [
        {"max_depth": 2},
        {"min_samples_split": 9},
        {"min_samples_leaf": 4},
        {"min_weight_leaf": 0.125},
        {"max_depth": 4, "min_samples_leaf": 2, "min_weight_leaf": 0.0625},
        {"max_depth": 0},
    ]:
        for weighted in [False, True]:
            for random_thresholds in [False, True]:
                rng = np.random.default_rng([weighted, len(str(limits))])
                for seed in range(8):
                    case = make_values(rng, 20, weighted=weighted, missing=0.1, categories=0.3)
                    trees = case.grow([seed], random_thresholds=random_thresholds, **limits)
                    (nodes,) = naive.decode(trees)
                    if not random_thresholds:
                        check_value_tree(nodes, case, **limits)
                        continue
                    weights = case.given_weights()
                    rows = np.flatnonzero(weights)
                    for node, node_rows, depth in naive.visit(nodes, case.codes, rows):
                        assert depth <= limits.get("max_depth", NO_LIMIT)
                        assert len(node_rows) >= limits.get("min_samples_leaf", 1)
                        assert (
                            weights[node_rows].sum()
                            >= limits.get("min_weight_leaf", 0) * weights.sum()
                        )
                        assert node.is_leaf or len(node_rows) >= limits.get("min_samples_split", 2)


@some_options
def test_prediction_importances_and_leaves(options):
    rng = np.random.default_rng(len(str(options)))
    for seed in range(20):
        n_outputs = 1 + seed % 3
        case = make_values(rng, missing=0.1, categories=0.3, n_outputs=n_outputs)
        trees, _, _, result = case.grow_all([seed, 5], importances=True, **options)
        for nodes, of_tree in zip(naive.decode(trees), result, strict=True):
            expected = importances(nodes, case)
            np.testing.assert_allclose(of_tree, expected, rtol=1e-6, atol=1e-9 * expected.sum())
        counts = np.diff(case.start)
        new = (rng.random((30, case.n_columns)) * counts).astype(np.uint8)
        new[rng.random(new.shape) < 0.2] = naive.MISSING
        out = np.full((30, n_outputs), 0.5)
        trees.reader.add_leaf_values(new, 0, 30, out)
        assert np.allclose(out - 0.5, predictions(trees, new), rtol=1e-12, atol=1e-12)
        leaves = np.zeros((30, 2), np.int64)
        trees.reader.leaf_indices(new, 0, 30, leaves)
        assert np.array_equal(leaves, naive.leaves(trees, new))
        assert trees.n_nodes == sum(map(len, naive.decode(trees)))


@pytest.mark.parametrize("exponent", [-300, 0, 40, 300])
def test_real_weights(exponent):
    rng = np.random.default_rng(10)
    for seed in range(10):
        case = make_values(rng, 60, missing=0.1, kind="plain")
        weights = rng.exponential(size=60) * (rng.random(60) < 0.8)
        case.weights = np.ldexp(weights, exponent)
        (nodes,) = naive.decode(case.grow([seed], max_depth=3))
        for node, node_rows, _ in naive.visit(nodes, case.codes, np.flatnonzero(weights)):
            if node.is_leaf:
                expected = float(mean(case.fixed[node_rows], weights[node_rows])[0]) * 2.0**-61
                assert abs(node.value[0] - expected) < 1e-7


def test_tiny_weights_are_not_rounded_to_zero():
    case = make_values(np.random.default_rng(1), 4, 1, n_bins=9, kind="plain")
    case.codes[:] = 0
    case.weights = np.array([1.0, 1e-30, 0.5, 0.25])
    for depth in (0, 3):
        (nodes,) = naive.decode(case.grow([1], max_depth=depth))
        expected = float(mean(case.fixed, case.weights)[0]) * 2.0**-61
        assert abs(nodes[0].value[0] - expected) < 1e-8


@some_options
def test_wide_vectors_grow_the_same_trees(options):
    for n_rows in [3, 40, 64, 65, 200]:
        rng = np.random.default_rng(n_rows)
        for seed in range(12):
            case = make_values(
                rng, n_rows, int(rng.choice([1, 3, 70])), missing=0.1 * (seed % 2), categories=0.2
            )
            if seed % 4 == 3:
                case.weights = rng.exponential(size=n_rows)
            chosen = options | {"n_draws": n_rows * (seed % 3), "importances": True}
            if seed % 5 == 0:
                chosen["max_depth"] = 3
            wide, plain = (
                case.grow_all([seed, 2**63], wide_vectors=wide, **chosen) for wide in (True, False)
            )
            assert same_trees(wide[0], plain[0])
            np.testing.assert_allclose(wide[3], plain[3], rtol=1e-9, atol=1e-12)


def test_held_out_rows_and_bootstrap():
    rng = np.random.default_rng(12)
    case = make_values(rng, 40, missing=0.1, n_outputs=2)
    seeds = [3, 4, 5]
    trees, sums, n_trees, _ = case.grow_all(seeds, n_draws=40, held_out=OUT_OF_BAG)
    expected, counted = np.zeros((40, 2)), np.zeros(40, int)
    for seed, nodes in zip(seeds, naive.decode(trees), strict=True):
        drawn = naive.bootstrap(seed, case.rows, 40, 40)
        check_value_tree(nodes, case, rows=np.repeat(case.rows, drawn))
        for row in np.flatnonzero(drawn == 0):
            expected[row] += naive.find_leaf(nodes, case.codes[row]).value
            counted[row] += 1
    assert np.array_equal(n_trees, counted)
    np.testing.assert_allclose(sums[:, ::2] + sums[:, 1::2], expected, rtol=1e-14, atol=2.0**-62)
    apart = [case.grow_all([seed], n_draws=40, held_out=OUT_OF_BAG)[1] for seed in seeds]
    assert np.array_equal(sums, apart[2] + apart[0] + apart[1])


def test_a_heavy_tail_does_not_blunt_the_rest():
    """One target a billion times the others: nodes without it split as if it did not exist."""
    case = make_values(np.random.default_rng(13), 60, 4, n_bins=40, kind="plain")
    case.codes[:, 0] = 0
    case.codes[0, 0] = case.start[1] - 1 or 1
    case.start = np.array([0, 2, *(2 + np.cumsum(np.diff(case.start)[1:]))])
    case.values = np.concatenate([np.arange(np.diff(case.start)[c]) for c in range(4)]) * 1.0
    case.codes[0, 0], case.categorical[:] = 1, 0
    case.fixed >>= 30
    case.fixed[0] = 1 << 60
    check_value_tree(naive.decode(case.grow([1]))[0], case)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.tuples(st.integers(0, 3), st.integers(0, 3), st.integers(-(2**61), 2**61)), min_size=1
    ),
    st.integers(0, 2**64 - 1),
    st.booleans(),
)
def test_any_table_of_two_columns(cells, seed, random_thresholds):
    case = make_values(np.random.default_rng(0), len(cells), 2)
    table = np.array([cell[:2] for cell in cells], np.uint8)
    table[table == 3] = naive.MISSING
    case.codes, case.fixed = table, np.array([[cell[2]] for cell in cells], np.int64)
    case.values, case.start = np.arange(6.0), np.array([0, 3, 6])
    case.categorical[:] = [0, 1]
    (nodes,) = naive.decode(case.grow([seed], random_thresholds=random_thresholds))
    check_value_tree(nodes, case, best_split=not random_thresholds)


def test_targets_that_do_not_do():
    ones = np.ones(1)
    for fixed, scale, message in [
        (np.full((2, 1), 2**61 + 1), ones, "fixed: expected numbers from"),
        (np.full((2, 1), -(2**63)), ones, "fixed: expected numbers from"),
        (np.zeros((2, 1), np.int64), np.ones(2), "scale"),
        (np.zeros((2, 1), np.int64), -ones, "scale: expected shares"),
        (np.zeros((2, 1), np.int64), np.full(1, np.nan), "scale: expected shares"),
        (np.zeros((2, 0), np.int64), np.ones(0), "columns of fixed"),
    ]:
        with pytest.raises(ValueError, match=message):
            _core.ValueTarget(fixed, scale)
    with pytest.raises(TypeError):
        _core.ValueTarget(np.zeros((2, 1)), ones)
    case = make_values(np.random.default_rng(0), 9, 2)
    case.fixed = case.fixed[:-1].copy()
    with pytest.raises(ValueError, match="target must have length 9, got 8"):
        case.grow()
    _, (fixed, scale) = pickle.loads(pickle.dumps(case.target())).__reduce__()
    assert np.array_equal(fixed, case.fixed)
    assert np.array_equal(scale, case.scale)


def test_trees_that_cannot_be_read():
    trees = make_values(np.random.default_rng(0), 30, 3, n_outputs=2).grow([1, 2])
    same = pickle.loads(pickle.dumps(trees))
    assert same_trees(trees, same)
    n_outputs, n_columns, nodes, start, values = trees.parts()
    for parts in [
        (0, n_columns, nodes, start, values),
        (3, n_columns, nodes, start, values[:-1]),
        (n_outputs, n_columns, nodes, start, values[:-2]),
        (n_outputs, n_columns, nodes[:-1], start, values),
        (n_outputs, n_columns, nodes, start, np.where(values == values[0], np.nan, values)),
        (n_outputs, n_columns, nodes, start, values.astype(np.float32)),
    ]:
        with pytest.raises(ValueError, match="trees: "):
            type(trees)(*parts)
