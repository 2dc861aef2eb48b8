import numpy as np
import pytest

from mddf._sampling import (
    canonical_order,
    cumulative_weights,
    n_draws,
    plan_sampling,
    scale_weights,
    whole_weights,
)


@pytest.fixture
def table():
    rng = np.random.default_rng(0)
    return rng.integers(0, 5, (60, 9)).astype(np.uint8), rng.integers(0, 3, 60).astype(np.uint16)


def plan(table, **changes):
    options = {
        "sample_weight": None,
        "class_weight": None,
        "bootstrap": True,
        "max_samples": None,
        "balance_trees": False,
    }
    return plan_sampling(*table, **{**options, **changes})


def test_canonical_order_depends_on_what_rows_hold(table):
    codes, labels = table
    rng = np.random.default_rng(1)
    rows = rng.permutation(60)[:40]
    order = canonical_order(codes, labels, rows)
    assert order.dtype == np.int32
    assert sorted(order) == sorted(rows)
    shuffled = rng.permutation(60)
    place = np.argsort(shuffled)
    moved = canonical_order(codes[shuffled], labels[shuffled], place[rng.permutation(rows)])
    assert np.array_equal(codes[shuffled][moved], codes[order])
    assert np.array_equal(labels[shuffled][moved], labels[order])


def test_equal_rows_stay_together_and_in_order():
    codes = np.tile(np.array([[1, 2], [3, 4], [1, 3]], np.uint8), (4, 1))
    order = canonical_order(codes, np.zeros(12, np.uint16), np.arange(12))
    assert sorted(order[:4].tolist()) == order[:4].tolist()
    assert len({codes[row].tobytes() for row in order[:4]}) == 1


@pytest.mark.parametrize(
    ("weights", "whole"),
    [
        ([1, 2, 0], True),
        ([1.5, 2], False),
        ([2.0**53], True),
        ([2.0**53, 2], False),
        ([0.0], True),
    ],
)
def test_whole_weights(weights, whole):
    assert whole_weights(np.array(weights, float)) is whole


def test_n_draws():
    assert n_draws(None, 50, None) == 50
    assert n_draws(7, 50, None) == 7
    assert n_draws(0.5, 50, None) == 25
    assert n_draws(1e-9, 50, None) == 1
    assert n_draws(2.0, 50, None) == 100
    assert n_draws(None, 3, np.array([2.0, 0.0, 5.0])) == 7
    assert n_draws(None, 3, np.array([2.0, 0.5, 5.0])) == 3
    assert n_draws(0.5, 3, np.array([2.0, 0.0, 6.0])) == 4
    with pytest.raises(
        ValueError, match=r"max_samples must .* at most 2147483646 .* got 3000000000"
    ):
        n_draws(None, 2, np.array([1e9, 2e9]))


def test_cumulative_weights():
    found = cumulative_weights(np.array([3.0, 0.0, 2.0]))
    assert found.dtype == np.uint64
    assert found.tolist() == [3, 3, 5]
    rng = np.random.default_rng(2)
    for scale in (1e-250, 1e-3, 1.0, 1e250):
        weights = rng.exponential(size=100) * scale
        steps = np.diff(cumulative_weights(scale_weights(weights)).astype(float), prepend=0)
        np.testing.assert_allclose(steps / steps.sum(), weights / weights.sum(), rtol=1e-9)


def test_scale_weights():
    for weights in ([0.3, 1e200, 0], [1e-310, 1e-320], [1e308, 1.5e308], [2.5], [1e300]):
        given = np.array(weights)
        scaled = scale_weights(given)
        assert 0.5 <= scaled.max() < 1
        np.testing.assert_allclose(scaled / scaled.max(), given / given.max())
    whole = np.array([3.0, 4.0])
    assert scale_weights(whole) is whole


def test_without_a_bootstrap(table):
    sampling = plan(table, bootstrap=False)
    assert sampling.rows.tolist() == list(range(60))
    assert sampling.rows.dtype == np.int32
    assert (sampling.n_draws, sampling.weights, sampling.cumulative) == (0, None, None)
    weights = np.arange(60) % 3.0
    sampling = plan(table, bootstrap=False, sample_weight=weights)
    assert np.array_equal(sampling.rows, np.flatnonzero(weights))
    assert np.array_equal(sampling.weights, weights)
    sampling = plan(table, bootstrap=False, balance_trees=True)
    assert sampling.balance
    assert (sampling.weights == 1).all()


def test_class_weights(table):
    factors = np.array([0.0, 1.0, 4.0])
    sampling = plan(table, bootstrap=False, class_weight=factors)
    assert np.array_equal(sampling.weights, factors[table[1]])
    assert np.array_equal(sampling.rows, np.flatnonzero(table[1]))
    sampling = plan(table, class_weight=factors, sample_weight=np.full(60, 2.0))
    steps = np.diff(sampling.cumulative.astype(int), prepend=0)
    assert np.array_equal(steps, 2 * factors[table[1]][sampling.rows])
    assert sampling.n_draws == 120
    assert sampling.weights is None


def test_bootstrap(table):
    sampling = plan(table, max_samples=0.5, balance_trees=True)
    assert np.array_equal(sampling.rows, canonical_order(*table, np.arange(60)))
    assert sampling.n_draws == 30
    assert sampling.cumulative is None
    assert sampling.balance
    assert (sampling.weights == 1).all()


def test_nothing_left(table):
    with pytest.raises(ValueError, match=r"sample_weight and class_weight .* got none"):
        plan(table, class_weight=np.zeros(3))
