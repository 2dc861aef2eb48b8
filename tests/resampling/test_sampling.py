import numpy as np
import pytest

from mddf._resampling.sampling import canonical_order, cumulative_weights, n_draws, plan_sampling
from mddf._targets.weights import row_weights, scale_weights


@pytest.fixture
def table():
    rng = np.random.default_rng(0)
    return rng.integers(0, 5, (60, 9)).astype(np.uint8), rng.integers(0, 3, 60).astype(np.uint16)


def plan(table, sample_weight=None, class_factors=None, **options):
    weights = row_weights(sample_weight, class_factors, table[1])
    return plan_sampling(canonical_order(*table), weights, **{"bootstrap": True, **options})


def test_canonical_order_depends_on_the_content_of_rows(table):
    codes, labels = table
    order = canonical_order(codes, labels)
    assert order.dtype == np.int32
    assert sorted(order) == list(range(60))
    shuffled = np.random.default_rng(1).permutation(60)
    moved = canonical_order(codes[shuffled], labels[shuffled])
    assert np.array_equal(codes[shuffled][moved], codes[order])
    assert np.array_equal(labels[shuffled][moved], labels[order])


def test_equal_rows_stay_together_and_in_order():
    codes = np.tile(np.array([[1, 2], [3, 4], [1, 3]], np.uint8), (4, 1))
    order = canonical_order(codes, np.zeros(12, np.uint16))
    assert sorted(order[:4].tolist()) == order[:4].tolist()
    assert len({codes[row].tobytes() for row in order[:4]}) == 1


def test_equal_rows_are_ordered_by_weight():
    codes, labels = np.zeros((5, 2), np.uint8), np.zeros(5, np.uint16)
    assert canonical_order(codes, labels, np.array([3, 0, 4, 1, 2])).tolist() == [1, 3, 4, 0, 2]


def test_n_draws():
    assert n_draws(None, 50, None) == 50
    assert n_draws(7, 50, None) == 7
    assert n_draws(0.5, 50, None) == 25
    assert n_draws(1e-9, 50, None) == 1
    assert n_draws(2.0, 50, None) == 100
    assert n_draws(None, 2, np.array([2.0, 5.0])) == 2
    assert n_draws(1.0, 2, np.array([2.0, 5.0])) == 7
    assert n_draws(1.0, 3, np.array([2.0, 0.5, 5.0])) == 3
    assert n_draws(0.5, 2, np.array([2.0, 6.0])) == 4


@pytest.mark.parametrize(
    ("max_samples", "weights"),
    [(1.0, np.array([1e9, 2e9])), (2**31, None), (1e308, None), (1e308, np.array([3.0, 4.0]))],
)
def test_too_many_draws(max_samples, weights):
    with pytest.raises(ValueError, match=r"max_samples must .* at most 2147483646 .* got"):
        n_draws(max_samples, 50, weights)


def test_cumulative_weights():
    result = cumulative_weights(np.array([3.0, 0.0, 2.0]))
    assert result.dtype == np.uint64
    assert result.tolist() == [3, 3, 5]
    rng = np.random.default_rng(2)
    for scale in (1e-250, 1e-3, 1.0, 1e250):
        weights = rng.exponential(size=100) * scale
        steps = np.diff(cumulative_weights(scale_weights(weights)).astype(float), prepend=0)
        np.testing.assert_allclose(steps / steps.sum(), weights / weights.sum(), rtol=1e-9)


def test_without_a_bootstrap(table):
    sampling = plan(table, bootstrap=False)
    assert np.array_equal(sampling.rows, canonical_order(*table))
    assert sampling.rows.dtype == np.int32
    assert (sampling.n_draws, sampling.weights, sampling.cumulative) == (0, None, None)
    weights = np.arange(60) % 3.0
    sampling = plan(table, bootstrap=False, sample_weight=weights)
    order = canonical_order(*table)
    assert np.array_equal(sampling.rows, order[weights[order] > 0])
    assert np.array_equal(sampling.weights, weights)
    sampling = plan(table, bootstrap=False, balance_trees=True)
    assert sampling.balance
    assert (sampling.weights == 1).all()


def test_class_weights(table):
    factors = np.array([0.0, 1.0, 4.0])
    sampling = plan(table, class_factors=factors, bootstrap=False)
    assert np.array_equal(sampling.weights, factors[table[1]])
    assert sorted(sampling.rows) == np.flatnonzero(table[1]).tolist()
    sampling = plan(table, np.full(60, 2.0), factors)
    steps = np.diff(sampling.cumulative.astype(int), prepend=0)
    assert np.array_equal(steps, 2 * factors[table[1]][sampling.rows])
    assert sampling.n_draws == np.count_nonzero(table[1])
    assert sampling.weights is None


def test_bootstrap(table):
    sampling = plan(table, max_samples=0.5, balance_trees=True)
    assert np.array_equal(sampling.rows, canonical_order(*table))
    assert sampling.n_draws == 30
    assert sampling.cumulative is None
    assert sampling.balance
    assert (sampling.weights == 1).all()


def test_training_rows(table):
    train = np.arange(0, 60, 2, dtype=np.int32)
    weights = (np.arange(60) % 4 > 0).astype(float)
    expected = np.intersect1d(train, np.flatnonzero(weights))
    for bootstrap in (False, True):
        sampling = plan(table, weights, train=train, bootstrap=bootstrap)
        assert sorted(sampling.rows) == expected.tolist()
    assert sampling.n_draws == len(expected)
    assert sampling.cumulative is None  # those that are left weigh the same
    with pytest.raises(ValueError, match="must leave every fold a sample"):
        plan(table, weights, train=np.arange(0, 60, 4, dtype=np.int32))


@pytest.mark.parametrize("bootstrap", [False, True])
def test_reweighting(table, bootstrap):
    """Factors are applied in the trees or in the draws, never in both."""
    weights = np.arange(60) % 3.0
    reweighting = np.linspace(0.5, 1.5, 60)
    drawn = plan(table, weights, bootstrap=bootstrap, reweighting=reweighting, redraw=True)
    assert drawn.weights is None
    steps = np.diff(drawn.cumulative.astype(float), prepend=0)
    expected = (weights * reweighting)[drawn.rows]
    np.testing.assert_allclose(steps / steps.sum(), expected / expected.sum(), rtol=1e-9)
    assert drawn.n_draws == len(drawn.rows) == 40
    weighed = plan(table, weights, bootstrap=bootstrap, reweighting=reweighting)
    in_trees = reweighting if bootstrap else weights * reweighting
    np.testing.assert_allclose(weighed.weights * in_trees.max() / weighed.weights.max(), in_trees)
    assert (weighed.cumulative is not None) == bootstrap
    assert plan(table, bootstrap=bootstrap, redraw=True).n_draws == (60 if bootstrap else 0)


def test_no_rows_left(table):
    with pytest.raises(ValueError, match=r"sample_weight and class_weight .* got none"):
        plan(table, class_factors=np.zeros(3))
    with pytest.raises(ValueError, match=r"class_weight times sample_weight must be finite"):
        plan(table, np.full(60, 1e300), np.full(3, 1e300))
