import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mddf.analysis import (
    kernel_rademacher_bounds,
    leaf_rademacher_complexity,
    massart_complexity,
    partition_complexity,
    rademacher_complexity,
    tree_rademacher_complexity,
    vote_complexity,
)


def all_signs(n):
    return list(itertools.product([-1, 1], repeat=n))


def brute_force(hypotheses):
    """Mean over all sign vectors of the best correlation, in plain Python."""
    m = len(hypotheses[0])
    suprema = [
        max(sum(s * v for s, v in zip(sigma, h, strict=True)) for h in hypotheses) / m
        for sigma in all_signs(m)
    ]
    return sum(suprema) / len(suprema)


@given(st.integers(0, 10**6), st.integers(1, 7), st.integers(1, 5))
@settings(max_examples=25, deadline=None)
def test_all_signs_of_a_finite_set(seed, n_samples, n_hypotheses):
    values = np.random.default_rng(seed).normal(size=(n_hypotheses, n_samples))
    exact = rademacher_complexity(values, n_draws=None)
    assert exact.value == pytest.approx(brute_force(values.tolist()), abs=1e-12)
    assert (exact.standard_error, exact.n_draws) == (0.0, 2**n_samples)
    both = rademacher_complexity(values, symmetric=True, n_draws=None).value
    assert both == pytest.approx(brute_force([*values.tolist(), *(-values).tolist()]), abs=1e-12)
    largest = np.sqrt(np.mean(values**2, axis=1)).max()
    assert both <= massart_complexity(2 * n_hypotheses, n_samples, largest) + 1e-12


def test_convex_combinations_have_the_same_complexity():
    random = np.random.default_rng(0)
    values = random.normal(size=(3, 6))
    mixtures = random.dirichlet(np.ones(3), size=50) @ values
    alone = rademacher_complexity(values, n_draws=None).value
    together = rademacher_complexity(np.concatenate([values, mixtures]), n_draws=None).value
    assert together == pytest.approx(alone, abs=1e-12)


def test_random_signs_estimate_the_mean():
    values = np.random.default_rng(1).normal(size=(4, 10))
    exact = rademacher_complexity(values, n_draws=None).value
    drawn = rademacher_complexity(values, n_draws=20_000, random_state=0)
    assert abs(drawn.value - exact) < 4 * drawn.standard_error < 0.02
    assert drawn.upper == drawn.value + 2 * drawn.standard_error
    assert rademacher_complexity(values, random_state=3) == rademacher_complexity(
        values, random_state=3
    )


def stumps_by_hand(X):
    """Labellings by all thresholds of all features in both directions, and by constants."""
    labellings = [[1.0] * len(X)]
    for column in np.asarray(X).T:
        for threshold in sorted(set(column)):
            labellings.append([1.0 if value > threshold else -1.0 for value in column])
    return labellings + [[-label for label in labels] for labels in labellings]


def test_stumps_are_searched_exhaustively():
    for seed in range(4):
        X = np.random.default_rng(seed).integers(0, 5, size=(8, 2)).astype(float)
        estimate = tree_rademacher_complexity(X, n_draws=None)
        assert estimate.value == pytest.approx(brute_force(stumps_by_hand(X)), abs=1e-12)


def test_deeper_trees_lie_between_stumps_and_all_trees():
    X = np.random.default_rng(5).integers(0, 4, size=(7, 2)).astype(float)
    stumps = stumps_by_hand(X)
    splits = [np.array(labels) > 0 for labels in stumps]
    trees = {
        tuple(np.where(split, first, second))
        for split in splits
        for first in stumps
        for second in stumps
    }
    all_trees = brute_force(list(trees))
    result = tree_rademacher_complexity(X, max_depth=2, n_draws=None).value
    assert tree_rademacher_complexity(X, n_draws=None).value <= result <= all_trees + 1e-12


def leaf_functions(column):
    """Labellings that are constant on the leaves of a tree."""
    leaves = sorted(set(column))
    for values in all_signs(len(leaves)):
        yield [values[leaves.index(leaf)] for leaf in column]


@given(st.integers(0, 10**6))
@settings(max_examples=20, deadline=None)
def test_leaves_of_a_forest(seed):
    leaves = np.random.default_rng(seed).integers(0, 3, size=(7, 2)) * 5
    functions = [f for column in leaves.T.tolist() for f in leaf_functions(column)]
    estimate = leaf_rademacher_complexity(leaves, n_draws=None)
    assert estimate.value == pytest.approx(brute_force(functions), abs=1e-12)
    alone = [leaf_rademacher_complexity(leaves[:, [t]], n_draws=None).value for t in range(2)]
    np.testing.assert_allclose(partition_complexity(leaves), alone, atol=1e-12)
    assert partition_complexity(leaves).max() <= estimate.value + 1e-12


def test_kernels():
    random = np.random.default_rng(2)
    for _ in range(20):
        factor = random.normal(size=(6, 3))
        kernel = factor @ factor.T
        exact = np.mean([np.sqrt(np.array(s) @ kernel @ np.array(s)) for s in all_signs(6)]) / 6
        lower, upper = kernel_rademacher_bounds(kernel)
        assert lower <= exact <= upper
    # A kernel of rank 1 on two rows attains the lower bound, the identity the upper one.
    assert kernel_rademacher_bounds(np.ones((2, 2)))[0] == pytest.approx(0.5)
    assert kernel_rademacher_bounds(np.eye(4))[1] == pytest.approx(0.5)


def test_lemma_1_of_quadboost():
    """For each sign vector, Hölder's inequality gives the best weights of the best learners."""
    for p in [1, 1.5, 2, 3, np.inf]:
        random = np.random.default_rng(4)
        half = random.normal(size=(3, 5))
        H = np.concatenate([half, -half])
        q = {1: np.inf, np.inf: 1}.get(p) or p / (p - 1)
        for n in (1, 2, 3):
            tuples = list(itertools.combinations_with_replacement(range(len(H)), n))
            best = [
                max(np.linalg.norm(H[list(chosen)] @ sigma / 5, ord=q) for chosen in tuples)
                for sigma in map(np.array, all_signs(5))
            ]
            complexity = rademacher_complexity(H, n_draws=None).value
            assert vote_complexity(complexity, n, p) == pytest.approx(np.mean(best))
            # No drawn vote of unit norm does better for its sign vector.
            alpha = random.normal(size=(200, n))
            alpha /= np.linalg.norm(alpha, ord=p, axis=1)[:, None]
            for sigma, limit in zip(all_signs(5), best, strict=True):
                values = H[random.integers(0, len(H), (200, n))] @ np.array(sigma) / 5
                assert ((alpha * values).sum(axis=1) <= limit + 1e-12).all()
