import numpy as np
import pytest
from scipy.stats import binom

from mddf.analysis import drawn_vote_bound, empirical_bernstein_deviation


def chance_of_deviation(margins, n_draws, epsilon):
    """The exact chance: each drawn learner is right with probability (1 + margin) / 2."""
    margins = np.asarray(margins)
    least_right = np.ceil(n_draws * (1 + margins + epsilon) / 2 - 1e-9)
    return binom.sf(least_right - 1, n_draws, (1 + margins) / 2).mean()


@pytest.mark.parametrize("n_draws", [1, 10, 100, 1000])
@pytest.mark.parametrize("epsilon", [0.05, 0.3, 1.0])
def test_drawn_votes_deviate_no_more_often(n_draws, epsilon):
    for margins in ([0.0], [0.9], [-0.5], [1.0] * 9 + [0.0], np.linspace(-1, 1, 41)):
        bound = drawn_vote_bound(margins, n_draws, epsilon)
        assert chance_of_deviation(margins, n_draws, epsilon) <= bound + 1e-15


def test_the_chance_agrees_with_simulated_draws():
    rng = np.random.default_rng(0)
    margins = np.repeat([0.0, 0.6], 20_000)
    votes = 2 * rng.binomial(20, (1 + margins) / 2) / 20 - 1
    share = np.mean(votes - margins >= 0.3 - 1e-9)
    assert share == pytest.approx(chance_of_deviation(margins, 20, 0.3), abs=0.005)


def test_printed_lemma_1_fails_where_margins_differ():
    margins = np.array([1.0] * 9 + [0.0])
    printed = np.exp(-100 * 0.3**2 / (2 - 2 * margins.mean() ** 2 + 4 * 0.3 / 3))
    chance = chance_of_deviation(margins, 100, 0.3)
    assert printed < chance / 10
    assert chance < drawn_vote_bound(margins, 100, 0.3)
    same = np.full(10, 0.7)
    printed = np.exp(-100 * 0.3**2 / (2 - 2 * same.mean() ** 2 + 4 * 0.3 / 3))
    assert drawn_vote_bound(same, 100, 0.3) == pytest.approx(printed)


@pytest.mark.parametrize("m", [5, 20, 200])
@pytest.mark.parametrize("delta", [0.01, 0.1, 0.5])
def test_means_deviate_no_more_often(m, delta):
    """Exact for values 0 and 1: the number of ones has a binomial distribution."""
    ones = np.arange(m + 1)
    bounds = np.array(
        [empirical_bernstein_deviation(np.arange(m) < k, delta) for k in ones.tolist()]
    )
    for p in np.linspace(0.01, 0.99, 50):
        chances = binom.pmf(ones, m, p)
        assert chances[p - ones / m > bounds].sum() <= delta
        assert chances[ones / m - p > bounds].sum() <= delta


def test_refusals():
    with pytest.raises(ValueError, match=r"margins must lie in \[-1, 1\]; got one of size 1.5"):
        drawn_vote_bound([1.5], 10, 0.1)
    with pytest.raises(ValueError, match="epsilon must be finite and > 0; got 0"):
        drawn_vote_bound([0.5], 10, 0)
    with pytest.raises(ValueError, match="values must have at least 5 entries; got 4"):
        empirical_bernstein_deviation([0.5] * 4)
