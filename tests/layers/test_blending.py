"""Weights of forecasts, and the sharpness of their mean."""

import naive_votes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from naive_votes import forecasts

from mddf._fitted.calibration import FLOOR, fit_exponent, sharpened
from mddf._layers.blending import greedy_weights


def test_greedy_weights_match_a_slow_twin():
    for seed in range(4):
        labels, vectors = forecasts(seed)
        result = greedy_weights(vectors, labels)
        np.testing.assert_allclose(result, naive_votes.greedy_weights(vectors, labels))
        assert result.sum() == pytest.approx(1)


@settings(deadline=None, max_examples=40)
@given(st.floats(0.3, 8), st.integers(2, 6), st.integers(0, 999))
def test_sharpening_keeps_the_order_and_is_invertible(exponent, k, seed):
    rng = np.random.default_rng(seed)
    p = rng.dirichlet(np.ones(k), 200) * 0.9 + 0.1 / k
    sharp = sharpened(p, exponent)
    np.testing.assert_allclose(sharp.sum(axis=1), 1)
    np.testing.assert_array_equal(sharp.argmax(axis=1), p.argmax(axis=1))
    labels = (rng.random(200)[:, None] > p.cumsum(axis=1)).sum(axis=1)
    again = fit_exponent(sharp, labels) * exponent
    direct = fit_exponent(p, labels)
    if 0.5 < direct < 5 and 0.3 < direct / exponent < 10 and sharp.min() > FLOOR:
        assert again == pytest.approx(direct, rel=0.02)
