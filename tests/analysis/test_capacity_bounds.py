import itertools

import numpy as np
import pytest

from mddf.analysis import (
    finite_class_margin_bound,
    l1_linf_margin_bound,
    l2_l2_margin_bound,
    massart_complexity,
    rademacher_complexity,
    rademacher_margin_bound,
    tree_vc_dimension,
    vc_bound,
    vote_vc_dimension,
)

MARGINS = np.array([-0.5, 0.1, 0.4, 0.9])


def test_rademacher_margin_bound():
    got = rademacher_margin_bound(MARGINS, 0.4, 0.03, 0.1, empirical=False)
    assert got == pytest.approx(0.75 + 2 / 0.4 * 0.03 + np.sqrt(np.log(10) / 8))
    got = rademacher_margin_bound(MARGINS, 0.4, 0.03, 0.1)
    assert got == pytest.approx(0.75 + 2 / 0.4 * 0.03 + 3 * np.sqrt(np.log(20) / 8))
    uniform = np.sqrt(np.log(np.log2(5)) / 4)
    got = rademacher_margin_bound(MARGINS, 0.4, 0.03, 0.1, empirical=False, all_rho=True)
    expected = 0.75 + 4 / 0.4 * 0.03 + uniform + np.sqrt(np.log(20) / 8)
    assert got == pytest.approx(expected)
    got = rademacher_margin_bound(MARGINS, 0.4, 0.03, 0.1, all_rho=True)
    expected = 0.75 + 4 / 0.4 * 0.03 + uniform + 3 * np.sqrt(np.log(40) / 8)
    assert got == pytest.approx(expected)
    # With Massart's lemma, this is the bound of a finite class.
    finite = finite_class_margin_bound(MARGINS, 0.4, 50, 0.1)
    massart = massart_complexity(50, 4)
    got = rademacher_margin_bound(MARGINS, 0.4, massart, 0.1, empirical=False)
    assert got == pytest.approx(finite)


def labellings_of_intervals(m):
    """Subsets of m points on a line that an interval contains: VC dimension 2."""
    return {
        tuple(first <= i < end for i in range(m))
        for first in range(m)
        for end in range(first, m + 1)
    }


def test_vc_bound():
    for m in range(3, 12):
        growth = len(labellings_of_intervals(m))
        assert growth == 1 + m * (m + 1) // 2
        term = vc_bound(0.0, m, 2, delta=1 - 1e-12)
        assert term >= np.sqrt(2 * np.log(growth) / m) - 1e-6
        assert term == pytest.approx(np.sqrt(4 * np.log(np.e * m / 2) / m), abs=1e-5)
    # No more labellings than 2^m; both formulas meet there.
    assert vc_bound(0.1, 10, 50, 0.1) == vc_bound(0.1, 10, 10, 0.1)
    assert vc_bound(0.1, 10, 50, 0.1) == pytest.approx(
        0.1 + np.sqrt(2 * np.log(2)) + np.sqrt(np.log(10) / 20)
    )


def test_vc_bound_holds_on_drawn_samples():
    """Thresholds on [0, 1] with 10 % flipped labels: the largest gap is below the bound."""
    random = np.random.default_rng(0)
    m, delta = 200, 0.2
    thresholds = np.linspace(0, 1, 201)
    true_error = 0.1 + 0.8 * np.abs(thresholds - 0.5)
    n_violations = 0
    for _ in range(200):
        x = random.random(m)
        y = (x > 0.5) ^ (random.random(m) < 0.1)
        errors = ((x[:, None] > thresholds) != y[:, None]).mean(axis=0)
        bounds = np.array([vc_bound(error, m, 1, delta) for error in errors])
        n_violations += (true_error > bounds).any()
    assert n_violations <= delta * 200


def test_vc_dimensions():
    assert tree_vc_dimension(3, 14) == 7 * 4
    assert vote_vc_dimension(1, 2) == pytest.approx(12 * np.log2(2 * np.e))
    # Stumps: no set of more points than the bound can be shattered.
    X = np.random.default_rng(0).random((6, 1))
    assert tree_vc_dimension(3, 1) > 2
    labels = {tuple(X[:, 0] > t) for t in [-1, *X[:, 0]]}
    labels |= {tuple(not v for v in row) for row in labels}
    assert len(labels) == 12 < 2**6


def test_norm_bounds():
    l1 = l1_linf_margin_bound(MARGINS, 0.4, 30, 0.1, weight_norm=2, example_norm=3)
    tail = np.sqrt(np.log(10) / 8)
    assert l1 == pytest.approx(0.75 + 2 / 0.4 * 6 * np.sqrt(2 * np.log(60) / 4) + tail)
    l2 = l2_l2_margin_bound(MARGINS, 0.4, 0.1, weight_norm=2, example_norm=3)
    assert l2 == pytest.approx(0.75 + 2 / 0.4 * 6 / np.sqrt(4) + tail)
    # A vote over d learners: the l2 bound has balls of radius B_1 and sqrt(d) R_inf.
    d = 64
    vote = l1_linf_margin_bound(MARGINS, 0.4, d, 0.1) - 0.75 - tail
    ball = l2_l2_margin_bound(MARGINS, 0.4, 0.1, example_norm=np.sqrt(d)) - 0.75 - tail
    assert ball / vote == pytest.approx(np.sqrt(d / (2 * np.log(2 * d))))


def test_complexities_of_linear_functions_are_bounded():
    """The suprema over both balls are dual norms of the sums, for each sign vector."""
    random = np.random.default_rng(1)
    X = random.uniform(-1, 1, size=(8, 3))
    sums = np.array(list(itertools.product([-1, 1], repeat=8))) @ X / 8
    l1 = np.abs(sums).max(axis=1).mean()
    assert l1 == pytest.approx(rademacher_complexity(X.T, symmetric=True, n_draws=None).value)
    assert l1 <= massart_complexity(6, 8, np.abs(X).max())
    l2 = np.linalg.norm(sums, axis=1).mean()
    assert l2 <= np.linalg.norm(X, axis=1).max() / np.sqrt(8)
