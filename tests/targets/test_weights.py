import numpy as np
import pytest

from mddf._targets.weights import mean_error, scale_weights, whole_weights


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


def test_scale_weights():
    for values in ([0.3, 1e200, 0], [1e-310, 1e-320], [1e308, 1.5e308], [2.5], [1e300]):
        weights = np.array(values)
        scaled = scale_weights(weights)
        assert 0.5 <= scaled.max() < 1
        np.testing.assert_allclose(scaled / scaled.max(), weights / weights.max())
    whole = np.array([3.0, 4.0])
    assert scale_weights(whole) is whole


def test_the_error_of_a_mean():
    rng = np.random.default_rng(0)
    gains, times = rng.normal(size=30), rng.integers(0, 4, 30)
    groups, weight = np.arange(30), times.astype(float)
    rows = mean_error(gains, None, 30)
    assert rows == pytest.approx(gains.std() / np.sqrt(30))
    repeated = np.repeat(gains, times)
    assert mean_error(gains, weight, times.sum()) == pytest.approx(
        mean_error(repeated, None, len(repeated))
    )
    # By groups: copies of a sample tell no more than it does.
    assert mean_error(gains, None, 30, groups) == pytest.approx(rows)
    copies = np.repeat(groups, 4)
    assert mean_error(gains[copies], None, 120, copies) == pytest.approx(rows)
    assert mean_error(repeated, None, len(repeated), np.repeat(groups, times)) == pytest.approx(
        mean_error(gains, weight, times.sum(), groups)
    )
