"""Features of kernels and logistic regressions of the kernel against the slow twin, bit by bit."""

import hashlib

import naive_logistic
import numpy as np
import pytest
from compiled import _core
from narrow_vectors import hashed_with_narrow_vectors, needs_wide_vectors
from scipy.linalg import cholesky
from scipy.optimize import minimize

REFUSED = (ValueError, TypeError)


def kernel_of(n, m, *, width=1.0, seed=0):
    X = np.random.default_rng([n, m, seed]).normal(size=(n, 3))
    distances = np.square(X[:, None] - X[None, :m]).sum(axis=2)
    return np.exp(-distances / width)


def problem(n=40, n_features=5, n_classes=3, seed=0, **options):
    rng = np.random.default_rng([n, n_features, n_classes, seed])
    n_scores = 1 if n_classes == 2 else n_classes
    return {
        "features": rng.normal(size=(n, n_features)),
        "labels": rng.integers(0, n_classes, n).astype(np.int32),
        "weights": rng.uniform(0.1, 2, n),
        "offsets": rng.normal(size=n_scores),
        "start": np.zeros((n_scores, n_features)),
        "penalty": 0.5,
        "tolerance": 1e-6,
        **options,
    }


CASES = {
    "three classes": problem(),
    "two classes": problem(n_classes=2),
    "nine classes": problem(n=30, n_classes=9),
    "whole partial sums": problem(n_features=16),
    "a feature more": problem(n_features=17, n_classes=2),
    "one row": problem(n=1),
    "one feature": problem(n_features=1),
    "more features than rows": problem(n=8, n_features=20, n_classes=2, penalty=0.01),
    "weak penalty": problem(penalty=1e-4),
    "strong penalty": problem(penalty=100.0),
    "weights of 0": problem(weights=np.arange(40) % 2 * 1.0),
    "one class of two": problem(n_classes=2, labels=np.ones(40, np.int32)),
    "a start": problem(start=np.ones((3, 5))),
    "a far start": problem(n_classes=2, start=np.full((1, 5), 40.0)),
    "rough": problem(tolerance=0.05),
}


def test_fits_match_a_slow_twin():
    for case in CASES:
        result = _core.fit_logistic(**CASES[case])
        assert np.array_equal(result, naive_logistic.fit(**CASES[case]))


def test_fits_have_the_least_loss():
    for case in [name for name in CASES if name != "rough"]:
        data = CASES[case] | {"tolerance": 1e-9}
        start = data["start"]
        arrays = {k: data[k] for k in ("features", "labels", "weights", "offsets", "penalty")}
        twin = naive_logistic.Problem(**arrays)

        def loss(coefficients, twin=twin, start=start):
            value, gradient, _ = twin.at(coefficients.reshape(start.shape))
            return value, gradient.ravel()

        least = minimize(loss, np.zeros(start.size), jac=True, options={"maxiter": 300}).fun
        assert loss(_core.fit_logistic(**data))[0] <= least + 1e-6


@pytest.mark.parametrize(("n", "m"), [(1, 1), (5, 5), (20, 16), (23, 17), (70, 33), (600, 3)])
def test_features_match_a_slow_twin(n, m):
    for width in [1.0, 1e6]:
        kernel = kernel_of(n, m, width=width)
        features, root = _core.kernel_features(kernel, 1e-6)
        twin_features, twin_root = naive_logistic.features(kernel, 1e-6)
        assert np.array_equal(root, twin_root)
        assert np.array_equal(features, twin_features)
        expected = cholesky(kernel[:m] + 1e-6 * np.eye(m), lower=True)
        np.testing.assert_allclose(root, expected, atol=1e-8)
        np.testing.assert_allclose(features @ root.T, kernel, atol=1e-9)


def test_equal_landmarks_have_finite_features():
    kernel = np.ones((30, 20))
    features, _ = _core.kernel_features(kernel, 1e-6)
    assert np.isfinite(features).all()
    np.testing.assert_allclose(features @ features.T, 1, atol=1e-4)


@pytest.mark.parametrize(("n", "m"), [(0, 3), (1, 1), (3, 7)])
def test_transposed_systems(n, m):
    _, root = _core.kernel_features(kernel_of(m, m), 1e-3)
    rows = np.random.default_rng(0).normal(size=(n, m))
    solutions = _core.solve_transposed(root, rows)
    np.testing.assert_allclose(solutions @ root, rows, atol=1e-9)


def hashed():
    """A hash of all results."""
    result = hashlib.sha256()
    for data in CASES.values():
        result.update(_core.fit_logistic(**data).tobytes())
    for n, m in ((20, 16), (70, 33), (600, 3)):
        for array in _core.kernel_features(kernel_of(n, m), 1e-6):
            result.update(array.tobytes())
    return result.hexdigest()


@needs_wide_vectors
def test_wide_vectors_change_no_bit():
    assert hashed_with_narrow_vectors(__file__) == hashed()


def test_wrong_arguments_of_fits_are_refused():
    for options, message in [
        ({"features": np.zeros((0, 5))}, "rows of features"),
        ({"features": np.full((40, 5), np.nan)}, "features: expected finite numbers, got nan"),
        ({"features": np.zeros((40, 5), np.float32)}, "incompatible"),
        ({"labels": np.full(40, 3, np.int32)}, "labels: expected classes, got 3"),
        ({"labels": np.full(40, -1, np.int32)}, "labels: expected classes, got -1"),
        ({"labels": np.zeros(39, np.int32)}, "labels must have length 40, got 39"),
        ({"weights": np.full(40, -1.0)}, "weights: expected numbers from 0 on"),
        ({"weights": np.full(40, np.inf)}, "weights: expected finite numbers"),
        ({"weights": np.ones(41)}, "weights must have length 40, got 41"),
        ({"offsets": np.ones(2)}, "offsets must have length 3, got 2"),
        ({"offsets": np.full(3, np.nan)}, "offsets: expected finite numbers"),
        ({"start": np.zeros((3, 4))}, "columns of start must have length 5, got 4"),
        ({"start": np.zeros((0, 5))}, "rows of start"),
        ({"start": np.full((3, 5), np.inf)}, "start: expected finite numbers"),
        ({"penalty": 0.0}, "penalty: expected a finite number above 0"),
        ({"tolerance": np.nan}, "tolerance: expected a finite number above 0"),
    ]:
        with pytest.raises(REFUSED, match=message):
            _core.fit_logistic(**problem() | options)


def test_wrong_arguments_of_features_are_refused():
    for arguments, message in [
        ((np.zeros((3, 0)), 1e-6), "columns of kernel"),
        ((np.zeros((3, 4)), 1e-6), "rows of kernel: expected at least 4"),
        ((np.full((4, 3), np.inf), 1e-6), "kernel: expected finite numbers"),
        ((np.ones((4, 3)), 0.0), "jitter: expected a finite number above 0"),
    ]:
        with pytest.raises(REFUSED, match=message):
            _core.kernel_features(*arguments)


def test_wrong_arguments_of_systems_are_refused():
    with pytest.raises(REFUSED, match="columns of root must have length 3, got 2"):
        _core.solve_transposed(np.eye(3)[:, :2].copy(), np.ones((1, 3)))
    with pytest.raises(REFUSED, match="columns of rows must have length 3, got 2"):
        _core.solve_transposed(np.eye(3), np.ones((1, 2)))
