"""Ratings from losses."""

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit


@pytest.fixture
def lab(script):
    return script("_lab.elo")


def test_two_methods_in_closed_form(lab):
    losses = pd.DataFrame({"a": [1, 1, 1, 2, 2, 2, 2.0], "b": [2, 2, 2, 1, 1, 1, 2.0]})
    result = lab.elo(losses.assign(b=losses["b"].where(losses.index > 4, 3)), "a")
    wins = 5 + 0.5 + 0.5  # those seen, half a tie, and half a win that all have
    assert result["a"] == 1000
    assert result["b"] == pytest.approx(1000 - 400 * np.log10(wins / (8 - wins)))
    assert np.allclose(lab.elo(losses, "b"), 1000)


def test_ratings_are_the_likeliest(lab):
    losses = pd.DataFrame(np.random.default_rng(0).normal([0, 0.5, 1, 1.5], size=(9, 4)))
    losses.columns = list("abcd")
    result = lab.elo(losses, "c")
    assert result["c"] == 1000
    assert result.is_monotonic_decreasing
    strength = result.to_numpy() * np.log(10) / 400
    for i, name in enumerate(losses):  # as many wins as are expected, of each method
        n_wins = expected = 0.0
        for j, other in enumerate(losses):
            if i != j:
                n_wins += (losses[name] < losses[other]).sum() + 0.5
                expected += (len(losses) + 1) * expit(strength[i] - strength[j])
        assert n_wins == pytest.approx(expected)


def test_intervals_hold_the_rating_and_narrow_with_more_sets(lab):
    rng = np.random.default_rng(2)
    losses = pd.DataFrame(rng.normal([0, 0.2, 0.4], size=(40, 3)), columns=list("abc"))
    ends = lab.intervals(losses, "c")
    rating = lab.elo(losses, "c")
    assert (ends[0.05] <= rating).all()
    assert (rating <= ends[0.95]).all()
    few = lab.intervals(losses[:8], "c")
    assert (ends[0.95] - ends[0.05])["a"] < (few[0.95] - few[0.05])["a"]
