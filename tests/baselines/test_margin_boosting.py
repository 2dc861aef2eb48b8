"""arc-gv and AdaBoost_rho."""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from mddf.baselines import AdaBoostClassifier, AdaBoostRhoClassifier, ArcGVClassifier
from scipy.optimize import linprog
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_iris

from mddf.analysis import margin_error_training_bound

# Edges that differ by less are equal.
TIE = 1e-11


def columns(X):
    """Each column is a learner."""
    return X


def naive_rounds(H, y, n_rounds, target):
    """Steps and minimum margins, in plain Python; `target` maps the minimum margin to rho."""
    f = [0.0] * len(y)
    alpha = [0.0] * len(H)
    minimum = 0.0
    trace = []
    for _ in range(n_rounds):
        weights = [np.exp(-label * value) for label, value in zip(y, f, strict=True)]
        total = sum(weights)
        edges = [
            sum(w * label * vote for w, label, vote in zip(weights, y, h, strict=True)) / total
            for h in H
        ]
        # The first learner wins among equal edges. Edges close to rho decide whether boosting
        # stops, so they count as equal only up to the same rounding.
        largest = max(abs(edge) for edge in edges)
        best = next(j for j, edge in enumerate(edges) if abs(edge) >= largest - TIE)
        edge = abs(edges[best])
        rho = target(minimum)
        # The estimators give a learner without error a finite weight, and stop.
        if edge <= rho + TIE or edge == 1:
            break
        step = 0.5 * np.log((1 + edge) / (1 - edge)) - 0.5 * np.log((1 + rho) / (1 - rho))
        step *= np.sign(edges[best])
        alpha[best] += step
        f = [value + step * vote for value, vote in zip(f, H[best], strict=True)]
        minimum = min(label * value for label, value in zip(y, f, strict=True))
        minimum /= sum(abs(a) for a in alpha)
        trace.append((abs(step), minimum))
    return np.array(trace).reshape(-1, 2), f


def random_set(seed, n_samples=12, n_learners=6):
    random = np.random.default_rng(seed)
    y = np.where(np.arange(n_samples) % 2, 1, -1)
    flips = random.random((n_learners, n_samples)) < 0.3
    return np.where(flips, -y, y).astype(float), y


@given(st.integers(0, 10**6), st.sampled_from([0.0, 0.05, 0.2]))
@example(934260, 0.2)  # two learners whose edges exceed 0.2 by 0 and by 2e-11
@settings(max_examples=30, deadline=None)
def test_rounds_match_a_plain_twin(seed, rho):
    H, y = random_set(seed)
    cases = {
        ArcGVClassifier(15, weak_learners=columns): lambda minimum: max(minimum, 0.0),
        AdaBoostRhoClassifier(15, rho=rho, weak_learners=columns): lambda _: rho,
    }
    for model, target in cases.items():
        model.fit(H.T, y)
        trace, f = naive_rounds(H, y, 15, target)
        if model.history_["edge"].max(initial=0.0) < 1 - 1e-9:
            assert model.n_iter_ == len(trace)
            np.testing.assert_allclose(model.history_["step"], trace[:, 0], atol=1e-9)
            np.testing.assert_allclose(model.history_["minimum_margin"], trace[:, 1], atol=1e-9)
            np.testing.assert_allclose(model.decision_function(H.T), f, atol=1e-9)


def largest_minimum_margin(H, y):
    """Optimum of the linear program over votes with signed weights of norm 1."""
    n_learners, n_samples = H.shape
    both = np.concatenate([H, -H])
    rows = np.column_stack([-(both * y).T, np.ones(n_samples)])
    optimum = linprog(
        np.append(np.zeros(2 * n_learners), -1.0),
        A_ub=rows,
        b_ub=np.zeros(n_samples),
        A_eq=[[1.0] * (2 * n_learners) + [0.0]],
        b_eq=[1.0],
        bounds=[(0, None)] * (2 * n_learners) + [(None, None)],
    )
    return -optimum.fun


def separable(seed):
    """A small set that some vote separates, but no single learner."""
    for offset in range(1000):
        H, y = random_set(seed * 1000 + offset, n_samples=9, n_learners=8)
        optimum = largest_minimum_margin(H, y)
        if 0.05 < optimum < 0.6:
            return H, y, optimum
    raise AssertionError


def test_arc_gv_reaches_the_largest_minimum_margin():
    for seed in range(3):
        H, y, optimum = separable(seed)
        model = ArcGVClassifier(20_000, weak_learners=columns).fit(H.T, y)
        reached = model.margins(H.T, y).min()
        assert optimum - 5e-3 < reached <= optimum + 1e-12
        np.testing.assert_allclose(model.history_["minimum_margin"][-1], reached)


def test_adaboost_rho_reaches_feasible_margins_and_stops_at_infeasible_ones():
    for seed in range(3):
        H, y, optimum = separable(seed)
        rho = 0.9 * optimum
        model = AdaBoostRhoClassifier(5000, rho=rho, weak_learners=columns).fit(H.T, y)
        assert model.margins(H.T, y).min() > rho
        # By the minimax theorem, some weights give no learner an edge above the optimum.
        too_large = AdaBoostRhoClassifier(5000, rho=optimum + 0.2, weak_learners=columns)
        assert too_large.fit(H.T, y).n_iter_ < 5000


@pytest.mark.parametrize("parameters", [{}, {"max_depth": 3}, {"weak_learners": "stumps"}])
def test_adaboost_rho_of_0_is_adaboost(parameters):
    X, y = load_breast_cancer(return_X_y=True)
    expected = AdaBoostClassifier(25, **parameters).fit(X, y)
    model = AdaBoostRhoClassifier(25, rho=0.0, **parameters).fit(X, y)
    np.testing.assert_allclose(model.decision_function(X), expected.decision_function(X))
    # arc-gv takes the same rounds as long as the classes are not separated.
    signs = np.where(y == 1, 1, -1)
    minimum_margins = [(signs * f).min() for f in expected.staged_decision_function(X)]
    first = int(np.argmax(np.array(minimum_margins) > 0))
    arc_gv = ArcGVClassifier(first or 25, **parameters).fit(X, y)
    stages = list(expected.staged_decision_function(X))
    np.testing.assert_allclose(arc_gv.decision_function(X), stages[arc_gv.n_iter_ - 1])


def test_share_of_small_margins_is_below_the_bound():
    for rho in [0.0, 0.1, 0.3]:
        X, y = load_breast_cancer(return_X_y=True)
        model = AdaBoostRhoClassifier(40, rho=rho, max_depth=2).fit(X, y)
        errors = model.history_["weighted_error"]
        steps = model.history_["step"]
        factors = (1 - errors) * np.exp(-steps) + errors * np.exp(steps)
        bound = margin_error_training_bound(errors, rho)
        assert bound == pytest.approx(np.prod(factors * np.exp(rho * steps)))
        expected = np.exp(rho * steps.sum()) * model.history_["objective"][-1]
        assert bound == pytest.approx(expected)
        assert np.mean(model.margins(X, y) <= rho) <= bound


@pytest.mark.parametrize("model", [ArcGVClassifier(8), AdaBoostRhoClassifier(8, rho=0.3)], ids=str)
def test_a_weight_of_k_counts_as_k_rows(model):
    X, y = load_iris(return_X_y=True)
    weight = np.arange(len(y)) % 3
    weighted = clone(model).fit(X, y, sample_weight=weight)
    copied = clone(model).fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    assert weighted.history_["step"].shape == (3, weighted.n_iter_)
    np.testing.assert_allclose(weighted.decision_function(X), copied.decision_function(X))
