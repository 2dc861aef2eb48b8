"""Regression targets as multiples of a unit, and as integers."""

import numpy as np

from mddf._targets.kernel_targets import TargetScaling, Values


def test_resolution():
    """The unit of targets as documented."""
    rng = np.random.default_rng(0)
    y = np.concatenate([rng.normal(size=900), [1000.0, -3.0, 0.0]])[:, None]
    target = Values.from_targets(y, None)
    assert target.exponents.tolist() == [10]
    back = np.ldexp(target.key.astype(np.float64), target.exponents - 61)
    near = np.abs(y) >= 2.0
    assert np.array_equal(back[near], y[near])
    assert np.abs(back - y).max() <= 2.0**-62 * 2**10 + 2.0**-53


def test_units():
    y = np.array([[1e-300, 5.0, 3], [2e-300, 5.0, 1e300], [4e-300, 5.0, -1e300]])
    units = TargetScaling.from_targets(y, None)
    standard = units.standardize(y)
    np.testing.assert_allclose(standard.mean(axis=0), 0, atol=1e-15)
    np.testing.assert_allclose(standard.std(axis=0), [1, 0, 1])
    np.testing.assert_allclose(units.restore(standard), y, rtol=1e-15, atol=1e285)
    weights = np.array([2.0, 1, 0])
    repeated = TargetScaling.from_targets(y[[0, 0, 1]], None)
    np.testing.assert_allclose(TargetScaling.from_targets(y, weights).mean, repeated.mean)
    np.testing.assert_allclose(TargetScaling.from_targets(y, weights).spread, repeated.spread)
