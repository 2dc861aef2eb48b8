"""Wide vectors and the second layout by columns change only the time."""

from functools import partial

import numpy as np
import pytest
from compiled import _core
from forest_cases import make_case, same_trees, trees_from_reader
from narrow_vectors import needs_wide_vectors


def both_results(function):
    """Results of a function with and without wide vectors."""
    return [function(wide_vectors=wide) for wide in (True, False)]


def options_of(rng, case, n):
    options = {
        "random_thresholds": bool(rng.integers(3)),
        "max_features": int(rng.choice([1, 1, 2, case.n_columns])),
        "entropy": bool(rng.integers(2)),
    }
    if rng.integers(2):
        options["n_draws"] = int(rng.integers(1, 2 * n + 1))
    if rng.integers(4) == 0:
        options["max_depth"] = int(rng.integers(1, 6))
    if rng.integers(4) == 0:
        options["min_samples_split"] = int(rng.integers(2, 20))
    if rng.integers(6) == 0:
        options["min_samples_leaf"] = 2
    return options


@needs_wide_vectors
def test_wide_vectors_grow_the_same_trees():
    for n_rows in [5, 20, 63, 64, 65, 130, 400]:
        for weighted in [False, True]:
            rng = np.random.default_rng([n_rows, weighted])
            for seed in range(30):
                case = make_case(
                    rng,
                    n_rows,
                    int(rng.choice([1, 3, 10, 15, 16, 17, 40, 64, 70])),
                    int(rng.choice([2, 3, 4, 20])),
                    int(rng.choice([2, 5, 40, 255])),
                    missing=float(rng.choice([0, 0.1, 0.5])),
                    categories=float(rng.choice([0, 0.3, 1])),
                    weighted=weighted,
                )
                if weighted:
                    case.weights += rng.random(n_rows)
                options = options_of(rng, case, n_rows)

                def grow(*, case=case, options=options, seed=seed, wide_vectors):
                    options = options | {"importances": True, "wide_vectors": wide_vectors}
                    return case.grow_all([seed, 7, 2**63 + seed], **options)

                (wide, *_, result), (plain, *_, expected) = both_results(grow)
                assert same_trees(wide, plain)
                np.testing.assert_allclose(result, expected, rtol=1e-9, atol=1e-9 * n_rows)


@needs_wide_vectors
def test_thresholds_that_are_scored_at_once():
    for n_draws in [None, 10, 64, 240, 255, 256, 300, 2000]:
        # which small nodes are when they try five columns or more and weigh up to 255
        rng = np.random.default_rng(n_draws or 0)
        for seed in range(60):
            case = make_case(
                rng,
                int(rng.choice([6, 7, 16, 17, 31, 32, 33, 48, 64])),
                int(rng.choice([5, 8, 16, 36, 70])),
                int(rng.choice([2, 3, 5, 30])),
                int(rng.choice([2, 3, 9, 40, 255])),
                missing=float(rng.choice([0, 0, 0.1])),
                categories=float(rng.choice([0, 0, 0.2])),
            )
            options = {"max_features": int(rng.choice([5, 6, case.n_columns]))}
            if n_draws:
                options["n_draws"] = n_draws
            wide, plain = both_results(partial(case.grow_all, [seed, seed + 1], **options))
            assert same_trees(wide[0], plain[0])


@needs_wide_vectors
def test_columns_are_turned_in_groups():
    for n_columns in [1, 2, 7, 15, 16, 17, 31, 32, 33, 63, 64, 65]:
        # of which the last one may not be full, in the last rows of a table too
        rng = np.random.default_rng(n_columns)
        for n_rows in (2, 3, 15, 16, 17, 31, 32, 33, 64):
            case = make_case(rng, n_rows, n_columns, 4, 250, missing=0.1)
            for random_thresholds in (False, True):
                options = {"max_features": 1, "random_thresholds": random_thresholds}
                wide, plain = both_results(partial(case.grow_all, [1, 2, 3], **options))
                assert same_trees(wide[0], plain[0])


@needs_wide_vectors
def test_best_sets_of_categories():
    for n_columns in [4, 70]:
        for n_classes in [2, 5, 20]:
            rng = np.random.default_rng([n_classes, n_columns])
            for seed in range(20):
                case = make_case(rng, 150, n_columns, n_classes, 30, missing=0.1, categories=0.7)
                wide, plain = both_results(partial(case.grow, [seed], max_features=3, n_draws=150))
                assert same_trees(wide, plain)


@needs_wide_vectors
@pytest.mark.parametrize("min_samples_leaf", [1, 2])
def test_sums_are_taken_in_the_same_order(min_samples_leaf):
    rng = np.random.default_rng(min_samples_leaf)
    options = {"entropy": True, "max_features": 6, "min_samples_leaf": min_samples_leaf}
    for seed in range(60):
        case = make_case(rng, 400, 40, 6, 40)
        wide, plain = both_results(partial(case.grow, [seed, 7], **options))
        assert same_trees(wide, plain)


@pytest.mark.parametrize("n_classes", [2, 6, 20])
@pytest.mark.parametrize("shape", [(2100, 260), (8000, 70)])
def test_a_copy_by_columns(shape, n_classes):
    for random_thresholds in [False, True]:
        for weighted in [False, True]:
            # In the long table, nodes of 128 to 500 samples have near copies of their rows.
            rng = np.random.default_rng([n_classes, weighted])
            case = make_case(rng, *shape, n_classes, 60, missing=0.05, categories=0.1)
            assert case.codes.size > 2**19
            if weighted:
                case.weights = rng.random(case.n_rows)
            by_column = np.ascontiguousarray(case.codes.T)
            options = {"random_thresholds": random_thresholds, "max_features": 16, "max_depth": 12}
            if random_thresholds:
                options["max_features"] = 1
            with_copy = both_results(partial(case.grow, [1, 2], by_column=by_column, **options))
            without = both_results(partial(case.grow, [1, 2], **options))
            for trees in with_copy:
                for other in without:
                    assert same_trees(trees, other)


def sparse_case(rng, shape, share, **options):
    """A case with about this share of nonzero codes."""
    case = make_case(rng, *shape, 5, 60, **options)
    case.codes[rng.random(shape) > share] = 0
    return case


@needs_wide_vectors
def test_zeros_are_left_out_if_most_codes_are_0():
    for n_columns in [65, 95, 96, 97, 144, 145, 700, 1024, 1025]:
        rng = np.random.default_rng(n_columns)
        for share, missing in [(0, 0), (0.02, 0), (0.3, 0), (0.2, 0.1), (0.6, 0)]:
            case = sparse_case(rng, (2600, n_columns), share, missing=missing)
            for weighted in (False, True):
                case.weights = rng.random(case.n_rows) if weighted else None
                options = options_of(rng, case, case.n_rows)
                options |= {"random_thresholds": True, "max_features": 1}
                grow = partial(case.grow, [1, 2], **options)
                by_column = np.ascontiguousarray(case.codes.T)
                without, plain = both_results(partial(grow, by_column=by_column))
                assert same_trees(without, plain)
                assert same_trees(without, grow())


@needs_wide_vectors
def test_rows_with_categories_keep_their_zeros():
    rng = np.random.default_rng(2)
    case = sparse_case(rng, (2600, 100), 0.2, categories=0.1)
    by_column = np.ascontiguousarray(case.codes.T)
    options = {"random_thresholds": True, "max_features": 1}
    wide, plain = both_results(partial(case.grow, [1, 2], by_column=by_column, **options))
    assert same_trees(wide, plain)


def grow_completely_random(case, table, seed):
    """A completely random tree on a shared table."""
    options = _core.TreeOptions(random_thresholds=True, max_features=1)
    sampling, seeds = _core.Sampling(case.rows), np.array([seed], np.uint64)
    reader, *_ = _core.grow(table, case.target(), sampling, options, seeds)
    return trees_from_reader(reader)


def test_nonzero_rows_follow_their_table():
    rng = np.random.default_rng(3)
    case, other = (sparse_case(rng, (2600, 100), 0.2) for _ in range(2))
    table = case.table(np.ascontiguousarray(case.codes.T))
    grow = partial(grow_completely_random, case, seed=5)
    before = grow(table)
    table.replace_columns(0, other.codes, other.values, other.start, other.categorical)
    after = grow(table)
    assert not same_trees(before, after)
    assert same_trees(after, grow(other.table(np.ascontiguousarray(other.codes.T))))
    assert same_trees(after, grow(other.table()))
