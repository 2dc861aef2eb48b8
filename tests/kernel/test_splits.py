"""Every node of best-split trees against the slow twin."""

import naive
import numpy as np
import pytest
from forest_cases import check_tree, make_case

KINDS = {
    "numeric": {},
    "missing": {"missing": 0.25},
    "categories": {"categories": 1.0, "n_classes": 2},
    "missing categories": {"categories": 1.0, "n_classes": 2, "missing": 0.2},
    "all": {"categories": 0.4, "missing": 0.15},
}


def test_every_split_is_the_best():
    for kind in KINDS:
        for entropy in [False, True]:
            for weighted in [False, True]:
                rng = np.random.default_rng([len(kind), weighted, entropy])
                for seed in range(40):
                    case = make_case(rng, weighted=weighted, **KINDS[kind])
                    trees = case.grow([seed], entropy=entropy)
                    check_tree(naive.decode(trees)[0], case, entropy=entropy)


# Sizes at which the kernel uses other methods: sorting, packed and plain histograms.
def test_larger_nodes():
    for n_rows, n_bins, n_classes in [
        (33, 200, 2),
        (150, 255, 3),
        (150, 255, 7),
        (400, 12, 2),
        (400, 12, 3),
        (400, 12, 9),
    ]:
        for entropy in [False, True]:
            for weighted in [False, True]:
                rng = np.random.default_rng([n_rows, n_bins, n_classes, weighted, entropy])
                for missing in (0, 0.1):
                    case = make_case(
                        rng,
                        n_rows,
                        4,
                        n_classes,
                        n_bins,
                        missing=missing,
                        weighted=weighted,
                        categories=0.2,
                    )
                    trees = case.grow([7], entropy=entropy)
                    check_tree(naive.decode(trees)[0], case, entropy=entropy)


def test_middle_sized_nodes_of_several_classes():
    for n_classes in [4, 13, 16, 17, 32, 33]:
        for common in [0.0, 0.5, 0.9]:
            # sums of 16 or 64 bits, columns of which most samples have the lowest code
            rng = np.random.default_rng([n_classes, int(10 * common)])
            for missing in (0, 0.1):
                case = make_case(rng, 150, 4, n_classes, 60, missing=missing)
                case.codes[rng.random(case.codes.shape) < common] = 0
                (nodes,) = naive.decode(case.grow([1], max_features=4, max_depth=3))
                check_tree(nodes, case, max_depth=3)


def test_limits_are_honoured_and_the_best_split_within_them_taken():
    for limits in [
        {"max_depth": 2},
        {"min_samples_split": 9},
        {"min_samples_leaf": 4},
        {"min_weight_leaf": 0.125},
        {"max_depth": 4, "min_samples_leaf": 2, "min_weight_leaf": 0.0625},
        {"max_depth": 0},
    ]:
        for weighted in [False, True]:
            rng = np.random.default_rng([weighted, len(str(limits))])
            for seed in range(30):
                case = make_case(rng, weighted=weighted, missing=0.1, categories=0.3, n_classes=2)
                trees = case.grow([seed], **limits)
                check_tree(naive.decode(trees)[0], case, **limits)


def test_only_candidate_columns_are_split():
    rng = np.random.default_rng(3)
    for seed in range(40):
        case = make_case(rng, n_columns=6, missing=0.1)
        columns = np.sort(rng.choice(6, 3, replace=False)).astype(np.int32)
        trees = case.grow([seed], columns=columns, max_features=3)
        check_tree(naive.decode(trees)[0], case, columns=columns.tolist())


def test_row_subsets_and_repeated_rows():
    rng = np.random.default_rng(4)
    for seed in range(60):
        case = make_case(rng, missing=0.1, categories=0.2, n_classes=2, weighted=bool(seed % 2))
        rows = rng.integers(0, case.n_rows, rng.integers(1, case.n_rows + 9)).astype(np.int32)
        if case.weights is not None:
            case.weights[rows[0]] = 1
        trees = case.grow([seed], rows=rows)
        check_tree(naive.decode(trees)[0], case, rows=rows)


@pytest.mark.parametrize("random_thresholds", [False, True])
@pytest.mark.parametrize("entropy", [False, True])
def test_importances_are_the_decreases_of_impurity(entropy, random_thresholds):
    rng = np.random.default_rng([5, entropy, random_thresholds])
    for seed in range(60):
        case = make_case(rng, missing=0.1, categories=0.2, weighted=seed % 3 == 0)
        trees, _, _, result = case.grow_all(
            [seed, seed + 99],
            importances=True,
            entropy=entropy,
            random_thresholds=random_thresholds,
            max_features=1 + seed % case.n_columns,
        )
        weights = case.given_weights()
        for nodes, of_tree in zip(naive.decode(trees), result, strict=True):
            expected = naive.importances(
                nodes,
                case.codes,
                np.flatnonzero(weights > 0),
                case.labels,
                weights,
                case.n_classes,
                case.n_columns,
                entropy,
            )
            np.testing.assert_allclose(of_tree, expected, atol=1e-9 * weights.sum())


def test_prediction_of_any_codes():
    rng = np.random.default_rng(6)
    for seed in range(60):
        case = make_case(rng, missing=0.1 * (seed % 2), categories=0.4 * (seed % 4 > 1))
        trees = case.grow(range(5), random_thresholds=bool(seed % 3 == 0), max_features=1)
        counts = np.diff(case.start)
        new = (rng.random((50, case.n_columns)) * counts).astype(np.uint8)
        new[rng.random(new.shape) < 0.2] = naive.MISSING
        expected = naive.probabilities(trees, new, case.n_classes), naive.leaves(trees, new)
        for n, times in ((1, 1), (9, 1), (50, 1), (50, 50)):  # each a different traversal
            codes = np.tile(new[:n], (times, 1))
            out = np.full((len(codes), case.n_classes), 0.5)
            trees.reader.add_leaf_values(codes, 0, len(codes), out)
            assert np.array_equal(out - 0.5, np.tile(expected[0][:n], (times, 1)))
            result = np.zeros((len(codes), 5), np.int64)
            trees.reader.leaf_indices(codes, 0, len(codes), result)
            assert np.array_equal(result, np.tile(expected[1][:n], (times, 1)))
        assert trees.n_nodes == sum(map(len, naive.decode(trees)))


def test_real_weights():
    rng = np.random.default_rng(8)
    for seed in range(60):
        case = make_case(rng, missing=0.1, n_rows=60)
        case.weights = rng.exponential(size=60) * (rng.random(60) < 0.8)
        nodes = naive.decode(case.grow([seed]))[0]
        rows = np.flatnonzero(case.weights)
        for node, node_rows, _ in naive.visit(nodes, case.codes, rows):
            expected = np.bincount(case.labels[node_rows], case.weights[node_rows], case.n_classes)
            if node.is_leaf:
                expected /= expected.sum()
                result = [node.distribution.get(c, 0) for c in range(case.n_classes)]
                np.testing.assert_allclose(result, expected, atol=2.0**-24)
