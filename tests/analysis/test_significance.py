from itertools import product

import numpy as np
import pytest
from scipy.stats import beta

from mddf.analysis import (
    discordant_counts,
    poisson_binomial_test,
    probability_better,
)


def test_discordant_counts():
    assert discordant_counts([1, 1, 0, 0, 1], [1, 0, 0, 1, 0], [0, 0, 0, 0, 1]) == (1, 2)


def test_probability_is_a_beta_tail():
    assert probability_better(0, 0) == 0.5
    for a, b in [(3, 1), (10, 12), (200, 100)]:
        assert probability_better(a, b) == pytest.approx(beta.sf(0.5, a + 1, b + 1))
        assert probability_better(a, b) == pytest.approx(1 - probability_better(b, a))


@pytest.mark.parametrize("n_sets", [1, 4, 7])
def test_poisson_binomial_by_enumeration(n_sets):
    rng = np.random.default_rng(n_sets)
    a, b = rng.integers(0, 20, (2, n_sets))
    p = probability_better(a, b)
    expected = 0.0
    for wins in product([0, 1], repeat=n_sets):
        chance = np.prod(np.where(wins, p, 1 - p))
        expected += chance * (sum(wins) > n_sets / 2) + chance / 2 * (sum(wins) == n_sets / 2)
    assert poisson_binomial_test(a, b) == pytest.approx(expected)
    assert poisson_binomial_test(a, b) == pytest.approx(1 - poisson_binomial_test(b, a))
