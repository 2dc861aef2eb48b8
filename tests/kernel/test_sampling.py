"""Bootstrap, held-out rows, seeds, and changes that must not affect a tree."""

import naive
import numpy as np
import pytest
from compiled import _core
from forest_cases import NO_LIMIT, OUT_OF_BAG, check_tree, make_case, same_trees
from hypothesis import given, settings
from hypothesis import strategies as st


def drawn(case, seeds, **options):
    """How often each row was drawn, from the leaves of trees in which every row is a class."""
    case.labels = np.arange(case.n_rows, dtype=np.uint16)
    case.n_classes = case.n_rows
    trees = case.grow(seeds, max_depth=0, **options)
    counts = np.zeros((len(seeds), case.n_rows))
    for nodes, row in zip(naive.decode(trees), counts, strict=True):
        for label, share in nodes[0].distribution.items():
            row[label] = share * options["n_draws"]
    np.testing.assert_allclose(counts, np.rint(counts), atol=1e-4)
    return np.rint(counts).astype(int)


def test_draws_match_a_slow_twin():
    rng = np.random.default_rng(0)
    for _ in range(30):
        case = make_case(rng)
        rows = rng.permutation(case.n_rows)[: rng.integers(1, case.n_rows + 1)].astype(np.int32)
        seeds = rng.integers(0, 2**64, 5, dtype=np.uint64)
        n_draws = int(rng.integers(1, 50))
        cumulative = None
        if rng.integers(2):
            steps = rng.integers(0, 9, len(rows)) * int(rng.choice([1, 2**40, 2**55]))
            steps[rng.integers(len(rows))] += 1
            cumulative = np.cumsum(steps, dtype=np.uint64)
        result = drawn(case, seeds, n_draws=n_draws, rows=rows, cumulative=cumulative)
        for seed, counts in zip(seeds, result, strict=True):
            expected = naive.bootstrap(seed, rows, n_draws, case.n_rows, cumulative)
            assert np.array_equal(counts, expected)


@pytest.mark.parametrize("entropy", [False, True])
def test_trees_grow_on_their_drawn_rows(entropy):
    rng = np.random.default_rng([3, entropy])
    for seed in range(40):
        case = make_case(rng, missing=0.1, categories=0.3, weighted=bool(seed % 2))
        n_draws = int(rng.integers(1, 2 * case.n_rows))
        if case.weights is not None:
            case.weights += 0.125
        trees = case.grow([seed], n_draws=n_draws, entropy=entropy)
        counts = naive.bootstrap(seed, case.rows, n_draws, case.n_rows)
        weights = counts * (1.0 if case.weights is None else case.weights)
        check_tree(naive.decode(trees)[0], case, weights=weights, entropy=entropy)


def test_balanced_classes_in_every_sample():
    rng = np.random.default_rng(4)
    for seed in range(40):
        case = make_case(rng, weighted=True)
        case.weights += 0.125
        n_draws = 0 if seed % 4 == 0 else case.n_rows
        (nodes,) = naive.decode(case.grow([seed], n_draws=n_draws, balance=True))
        counts = np.ones(case.n_rows, int)
        if n_draws:
            counts = naive.bootstrap(seed, case.rows, n_draws, case.n_rows)
        weights = counts * case.weights
        of_class = np.bincount(case.labels, weights, case.n_classes)
        weights = weights / np.where(of_class > 0, of_class, 1)[case.labels]
        check_tree(nodes, case, weights=weights, exact=False)


def test_held_out_predictions_use_exactly_these_trees():
    rng = np.random.default_rng(5)
    for seed in range(20):
        case = make_case(rng, missing=0.1, categories=0.3)
        held_out = rng.integers(0, case.n_rows, 9).astype(np.int32)
        trees, sums, n_trees, _ = case.grow_all(
            range(seed, seed + 4),
            rows=case.rows[::2].copy(),
            held_out=held_out,
            random_thresholds=bool(seed % 2),
        )
        expected = naive.probabilities(trees, case.codes[held_out], case.n_classes)
        assert np.array_equal(sums, expected)
        assert (n_trees == 4).all()


@pytest.mark.parametrize("weighted_draws", [False, True])
def test_out_of_bag_rows_are_not_drawn(weighted_draws):
    rng = np.random.default_rng([6, weighted_draws])
    for _ in range(15):
        case = make_case(rng, missing=0.1, categories=0.3)
        rows = rng.permutation(case.n_rows).astype(np.int32)[: max(2, case.n_rows // 2)]
        cumulative = None
        if weighted_draws:
            cumulative = np.cumsum(rng.integers(1, 9, len(rows)), dtype=np.uint64)
        seeds = rng.integers(0, 2**63, 6).astype(np.uint64)
        trees, sums, n_trees, _ = case.grow_all(
            seeds,
            rows=rows,
            n_draws=len(rows),
            cumulative=cumulative,
            held_out=OUT_OF_BAG,
        )
        expected, expected_n = np.zeros_like(sums), np.zeros(len(rows), int)
        for seed, nodes in zip(seeds, naive.decode(trees), strict=True):
            counts = naive.bootstrap(seed, rows, len(rows), case.n_rows, cumulative)
            for i, row in enumerate(rows):
                if counts[row] == 0:
                    expected_n[i] += 1
                    for label, p in naive.find_leaf(nodes, case.codes[row]).distribution.items():
                        expected[i, label] += p
        assert np.array_equal(n_trees, expected_n)
        assert np.array_equal(sums, expected)


OPTIONS = [
    {},
    {"max_features": 2},
    {"max_features": 1, "random_thresholds": True},
    {"max_features": 3, "random_thresholds": True},
    {"max_features": 2, "n_draws": 40, "entropy": True},
]


@pytest.mark.parametrize("options", OPTIONS)
def test_a_tree_depends_on_its_seed_alone(options):
    case = make_case(np.random.default_rng(7), 40, 4, 3, 9, missing=0.1, categories=0.3)
    seeds = np.array([3, 1, 2**64 - 1, 0, 3], np.uint64)
    together = case.grow(seeds, **options)
    assert same_trees(together, case.grow(seeds, **options))
    decoded = naive.decode(together)
    assert decoded[0] == decoded[4]
    assert decoded == [naive.decode(case.grow([seed], **options))[0] for seed in seeds]
    if options:
        assert decoded[0] != decoded[1]


def moved_columns(case, order):
    """The case with its columns in another order."""
    parts = [slice(case.start[c], case.start[c + 1]) for c in order]
    moved = case.take(case.rows)
    moved.codes = np.ascontiguousarray(case.codes[:, order])
    moved.values = np.concatenate([case.values[part] for part in parts])
    moved.start = np.concatenate([[0], np.cumsum(np.diff(case.start)[order])]).astype(np.int64)
    moved.categorical = case.categorical[order]
    return moved


@pytest.mark.parametrize("options", OPTIONS)
def test_the_order_of_columns_does_not_matter_for_equal_draws(options):
    rng = np.random.default_rng(9)
    for seed in range(40):
        case = make_case(rng, n_columns=5, missing=0.1, categories=0.3)
        order = rng.permutation(5)
        place = np.argsort(order).astype(np.int32)
        trees = naive.decode(case.grow([seed], **options))
        moved = naive.decode(moved_columns(case, order).grow([seed], columns=place, **options))
        for nodes in moved:
            for node in nodes.values():
                if not node.is_leaf:
                    node.column = int(order[node.column])
        assert moved == trees


@pytest.mark.parametrize("options", [*OPTIONS[:-1], {"max_features": 2, "n_draws": 40}])
def test_the_names_of_classes_do_not_matter(options):
    rng = np.random.default_rng(10)
    for seed in range(40):
        # More classes than occur: the numbers may change by more than their order.
        case = make_case(rng, missing=0.1, categories=0.3 * options.get("random_thresholds", 0))
        names = rng.permutation(300)[: case.n_classes].astype(np.uint16)
        trees = naive.decode(case.grow([seed], **options))
        case.labels, case.n_classes = names[case.labels], 300
        renamed = naive.decode(case.grow([seed], **options))
        for nodes in trees:
            for node in nodes.values():
                distribution = {int(names[c]): p for c, p in node.distribution.items()}
                node.distribution = distribution
        assert renamed == trees


@pytest.mark.parametrize("entropy", [False, True])
def test_rows_that_are_drawn_very_often(entropy):
    """Counts above 16 bits, also in blocks where some trees have smaller counts."""
    case = make_case(np.random.default_rng(11), n_rows=9, n_classes=3)
    for n_draws in (500_000, 586_500, 600_000):
        options = {"n_draws": n_draws, "entropy": entropy, "min_samples_leaf": 2}
        trees = naive.decode(case.grow(range(6), **options))
        case.weights = np.ones(9)
        assert naive.decode(case.grow(range(6), **options)) == trees
        case.weights = None


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3), st.integers(0, 2)), min_size=1),
    st.integers(0, 2**64 - 1),
    st.booleans(),
)
def test_any_table_of_two_columns(cells, seed, random_thresholds):
    case = make_case(np.random.default_rng(0), n_rows=len(cells), n_columns=2, n_classes=3)
    table = np.array(cells, np.uint8)
    codes = table[:, :2].copy()
    codes[codes == 3] = naive.MISSING
    case.codes, case.labels = codes, table[:, 2].astype(np.uint16)
    case.values, case.start = np.arange(6.0), np.array([0, 3, 6])
    case.categorical[:] = [0, 1]
    (nodes,) = naive.decode(
        case.grow([seed], random_thresholds=random_thresholds, max_depth=NO_LIMIT)
    )
    check_tree(nodes, case, best_split=not random_thresholds)


@pytest.mark.parametrize("weights", [[1e308, 1e308], [1.7e308, 0], [2.0**320, 1e250]])
def test_weights_whose_sums_or_products_overflow_are_refused(weights):
    rows = np.arange(2, dtype=np.int32)
    with pytest.raises(ValueError, match=r"weights: expected a sum of at most 2\^320"):
        _core.Sampling(rows, weights=np.array(weights, float))
    _core.Sampling(rows, weights=np.array([2.0**255, 0]))


@pytest.mark.parametrize("how", ["uniform", "by weight", "whole"])
def test_draws_from_parts_match_a_slow_twin(how):
    rng = np.random.default_rng(len(how))
    for seed in range(20):
        rows = rng.permutation(20)[: rng.integers(2, 20)].astype(np.int32)
        inner = rng.choice(np.arange(1, len(rows)), rng.integers(0, len(rows)), replace=False)
        parts = np.array([0, *np.sort(inner), len(rows)], np.int64)
        cumulative = None
        if how == "by weight":
            weights = rng.integers(1, 9, len(rows))
            cumulative = np.concatenate(
                [np.cumsum(part) for part in np.split(weights, parts[1:-1])]
            ).astype(np.uint64)
        whole = how == "whole"
        sampling = _core.Sampling(
            rows, n_draws=7, cumulative=cumulative, parts=parts, whole_parts=whole
        )
        result = _core.sample_counts(sampling, 20, seed)
        expected = naive.bootstrap(seed, rows, 7, 20, cumulative, parts, whole)
        assert np.array_equal(result, expected)


def test_invalid_parts():
    rows, sums = np.arange(4, dtype=np.int32), np.array([1, 2, 0, 0], np.uint64)
    for parts, options, message in [
        ([0, 2], {}, "parts: expected to begin with 0 and end with"),
        ([1, 4], {}, "parts: expected to begin with 0 and end with"),
        ([4], {}, "parts: expected to begin with 0 and end with"),
        ([0, 2, 2, 4], {}, "parts: expected no empty part"),
        ([0, 2, 4], {"cumulative": sums}, "cumulative: expected a positive total"),
        ([0, 4], {"cumulative": sums}, "cumulative: expected sums that do not fall"),
        ([0, 4], {"cumulative": sums + 1, "whole_parts": True}, "cumulative|whole_parts"),
        (None, {"whole_parts": True}, "whole_parts: only with parts"),
    ]:
        part_starts = None if parts is None else np.array(parts, np.int64)
        with pytest.raises(ValueError, match=message):
            _core.Sampling(rows, n_draws=2, parts=part_starts, **options)
