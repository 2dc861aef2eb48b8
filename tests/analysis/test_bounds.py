import numpy as np
import pytest
from mddf.baselines import AdaBoostClassifier

from mddf.analysis import (
    adaboost_training_bounds,
    deepboost_bound,
    finite_class_margin_bound,
    log_n_trees,
    margin_distribution_bound,
    quadboost_bound,
)

MARGINS = np.array([-0.5, 0.1, 0.4, 0.9])


def test_training_bounds():
    product, exponential = adaboost_training_bounds([0.2, 0.125])
    assert product == pytest.approx(2 * np.sqrt(0.16) * 2 * np.sqrt(0.109375))
    assert exponential == pytest.approx(np.exp(-2 * (0.09 + 0.140625)))
    assert adaboost_training_bounds([]) == (1.0, 1.0)
    assert adaboost_training_bounds([0.0])[0] == 0
    with pytest.raises(ValueError, match=r"weighted_error must lie in \[0, 1\]; got 1\.5"):
        adaboost_training_bounds([1.5])


def test_training_bounds_of_one_class_at_a_time():
    # One stump separates the first class, which then stops.
    y = np.array([0, 0, 0, 1, 1, 2, 1, 2, 2])
    errors = AdaBoostClassifier(5).fit(np.arange(9.0)[:, None], y).history_["weighted_error"]
    with pytest.raises(ValueError, match=r"1-d: with more than two classes, .* got shape \(3, "):
        adaboost_training_bounds(errors)
    row = errors[np.isnan(errors).any(axis=1)][0]
    with pytest.raises(ValueError, match="leave out the NaN after a class's last round; got nan"):
        adaboost_training_bounds(row)
    assert 0 < adaboost_training_bounds(row[~np.isnan(row)])[0] < 1


def test_finite_class_bound():
    got = finite_class_margin_bound(MARGINS, 0.25, 100, delta=0.1, norm=2)
    complexity = 2 * 2 / 0.25 * np.sqrt(2 * np.log(100) / 4)
    assert got == pytest.approx(0.5 + complexity + np.sqrt(np.log(10) / 8))


def test_deepboost_bound():
    margins = np.repeat(MARGINS, 1000)
    got = deepboost_bound(margins, 0.5, [1.0, -3.0], [0.01, 0.02], 6, delta=0.1)
    share = np.log(6) / 4000
    terms = np.ceil(4 / 0.25 * np.log(0.25 / share))
    expected = 0.75 + 8 * (0.25 * 0.01 + 0.75 * 0.02) + 4 * np.sqrt(share)
    expected += np.sqrt(terms * share + np.log(20) / 8000)
    assert got == pytest.approx(expected)
    assert np.isfinite(deepboost_bound(MARGINS, 0.1, [1.0], [0.1], 1000))
    huge = deepboost_bound(MARGINS, 0.5, [1e308, 1e308], [0.1, 0.1], 6)
    assert huge == pytest.approx(deepboost_bound(MARGINS, 0.5, [1, 1], [0.1, 0.1], 6))


def test_quadboost_bound():
    alpha = np.array([1.0, 0.0, -2.0])
    got = quadboost_bound(MARGINS, alpha, 0.01, p=2, delta=0.1)
    expected = np.mean((1 - MARGINS) ** 2) + 8 * np.sqrt(2) * np.sqrt(5) * 0.01
    expected += np.sqrt(np.log(np.pi**2 * 9 / 0.3) / 8)
    expected += np.sqrt(np.log(np.log2(2 * np.sqrt(5))) / 4)
    assert got == pytest.approx(expected)
    wide = quadboost_bound(MARGINS, alpha, 0.01, p=np.inf, delta=0.1)
    narrow = quadboost_bound(MARGINS, alpha, 0.01, p=1, delta=0.1)
    assert wide - narrow > 8 * 0.01 * (2 * 2 - 3) - 0.2  # n |alpha|_inf against |alpha|_1
    assert np.isfinite(quadboost_bound(MARGINS, [], 0.01))
    small = np.mean((1 - MARGINS) ** 2) + np.sqrt(np.log(np.pi**2 * 4 / 0.15) / 8)
    assert quadboost_bound(MARGINS, [0.1], 0.01) == pytest.approx(small + 4 * 0.01)
    assert quadboost_bound(MARGINS, [0.75], 0.01) == pytest.approx(small + 6 * 0.01)


def slow_margin_distribution_bound(margins, log_size, delta, r):
    m, mean = len(margins), sum(margins) / len(margins)
    share = sum(margin < r for margin in margins) / m
    d = 2 / (1 - mean**2 + r / 9)
    mu = np.log(m) * np.log(2 * np.exp(log_size)) / r**2 + np.log(2 / delta)
    ratio = np.sqrt(np.mean(np.square(margins)) - mean**2) / mean
    return (
        share
        + m**-d
        + 3 * mu**0.5 / m**1.5
        + 7 * mu / (3 * m)
        + ratio * (3 * mu / m) ** 0.5
    )  # fmt: skip


def test_margin_distribution_bound():
    margins = np.random.default_rng(0).uniform(-0.2, 1, 3000)
    value, r, reason = margin_distribution_bound(margins, 3.0, delta=0.1, n_classes=2)
    assert value == pytest.approx(slow_margin_distribution_bound(margins, 3.0, 0.1, r))
    assert reason == ""
    grid = [slow_margin_distribution_bound(margins, 3.0, 0.1, x) for x in (0.1, 0.3, 0.7, 1)]
    assert value <= min(grid)
    assert margin_distribution_bound(margins, 4.0, delta=0.1, n_classes=2)[0] > value
    assert margin_distribution_bound(margins, 3.0, delta=0.01, n_classes=2)[0] > value


def test_margin_distribution_bound_is_nan_where_a_premise_fails():
    for margins, n_classes, message in [
        ([0.9] * 100, 3, "two classes; got n_classes=3"),
        ([0.9] * 4, 2, "at least 5 rows; got 4"),
        ([-1.0, 1.0] * 3, 2, "mean margin must be positive; got 0"),
        ([-0.5] * 9, 2, "mean margin must be positive; got -0.5"),
    ]:
        value, r, reason = margin_distribution_bound(margins, 1.0, n_classes=n_classes)
        assert np.isnan([value, r]).all()
        assert message in reason


def test_margin_distribution_bound_keeps_d_above_2():
    """r = 0.1, the best one without the condition, has d = 1.998."""
    _, r, _ = margin_distribution_bound(np.full(10**6, 0.1), 0.0, n_classes=2)
    assert 2 / (1 - 0.1**2 + r / 9) > 2
    assert r == pytest.approx(0.09, rel=0.01)


def test_number_of_trees():
    assert log_n_trees(2, 1, 2) == pytest.approx(np.log(4 * 254 * 2 * 2))  # one node, two leaves
    assert log_n_trees(2, 1, 2, max_bins=2) == pytest.approx(np.log(16))
    assert log_n_trees(100, 5, 3) < log_n_trees(200, 5, 3)
    log_size = log_n_trees(100, 5, 2)
    assert margin_distribution_bound([0.9] * 100, log_size, n_classes=2)[0] > 1


def test_margin_distribution_bound_falls_with_the_spread():
    draw = np.random.default_rng(0).standard_normal(5000).clip(-3, 3)
    narrow, wide = (
        margin_distribution_bound(0.6 + s * draw, 3.0, n_classes=2)[0] for s in (0.01, 0.13)
    )
    assert narrow < wide


def test_bounds_hold_and_grow_with_their_arguments():
    rng = np.random.default_rng(0)
    X = rng.random((4000, 3))
    y = (X[:, 0] + 0.3 * rng.normal(size=4000) > 0.5).astype(int)
    model = AdaBoostClassifier(20).fit(X[:2000], y[:2000])
    margins = model.margins(X[:2000], y[:2000])
    test_error = 1 - model.score(X[2000:], y[2000:])
    assert test_error <= finite_class_margin_bound(margins, 0.3, 4 * 2000 * 3)
    weights = model.estimator_weights_
    r = np.full(len(weights), 0.01)
    bounds = [deepboost_bound(margins, 0.3, weights, r * k, 6) for k in (1, 2)]
    assert test_error <= bounds[0] < bounds[1]
    assert deepboost_bound(margins, 0.3, weights, r, 6, delta=1e-6) > bounds[0]
