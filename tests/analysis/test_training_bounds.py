import numpy as np
import pytest
from mddf.baselines import QuadBoostClassifier
from sklearn.datasets import load_breast_cancer

from mddf.analysis import (
    adaboost_training_bounds,
    margin_error_training_bound,
    quadboost_training_bounds,
)


def test_margin_error_bound():
    errors = np.array([0.2, 0.125, 0.3])
    assert margin_error_training_bound(errors, 0.0) == pytest.approx(
        adaboost_training_bounds(errors)[0]
    )

    def entropy(p, q):
        return p * np.log(p / q) + (1 - p) * np.log((1 - p) / (1 - q))

    divergences = [entropy(0.6, 1 - error) for error in errors]
    got = margin_error_training_bound(errors, 0.2)
    assert got == pytest.approx(np.exp(-np.sum(divergences)))
    # The step is the minimiser of the factor: a grid finds none that is smaller.
    alpha = np.linspace(0, 3, 30_001)[:, None]
    factors = (1 - errors) * np.exp(-alpha) + errors * np.exp(alpha)
    smallest = (factors * np.exp(0.2 * alpha)).min(axis=0)
    assert got == pytest.approx(smallest.prod(), rel=1e-6)
    assert margin_error_training_bound([], 0.5) == 1
    assert margin_error_training_bound([0.0], 0.5) == 0


def test_quadboost_rate():
    X, y = load_breast_cancer(return_X_y=True)
    for n_rounds in (1, 10, 200):
        model = QuadBoostClassifier(n_estimators=n_rounds).fit(X, y)
        risk, rate = quadboost_training_bounds(model.history_)
        assert risk == pytest.approx(model.history_["objective"][-1], abs=1e-9)
        assert 1 - model.score(X, y) <= risk + 1e-9 <= rate + 2e-9
        gamma = np.abs(model.history_["correlation"]).min()
        assert rate == pytest.approx(1 - model.n_iter_ * gamma**2)
    assert quadboost_training_bounds([]) == (1, 1)
