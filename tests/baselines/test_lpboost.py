import naive_boosting as naive
import numpy as np
import pytest
from mddf.baselines import LPBoostClassifier
from sklearn.datasets import load_breast_cancer


@pytest.fixture(scope="module")
def cancer():
    X, y = load_breast_cancer(return_X_y=True)
    keep = np.arange(0, len(y), 4)
    return np.round(X[keep, :4], 1), y[keep]


def all_columns(X, signs):
    """y h of every stump, its complement, and the two constants, as columns."""
    H = np.array([np.ones(len(signs)), *(votes for *_, votes in naive.all_stumps(X))])
    return np.vstack([H, -H]).T * signs[:, None]


def test_column_generation_reaches_the_full_program(cancer):
    for nu in [0.05, 0.2, 0.5]:
        for weighted in [False, True]:
            X, y = cancer
            signs = 2.0 * y - 1
            w = np.random.default_rng(0).integers(1, 4, len(y)) if weighted else np.ones(len(y))
            cap = w / w.sum() / nu
            model = LPBoostClassifier(nu, n_estimators=500).fit(X, y, w)
            best = naive.full_lpboost(all_columns(X, signs), cap)
            assert model.n_iter_ < 500
            assert model.history_["objective"][-1] == pytest.approx(best, abs=1e-7)
            # Strong duality: the primal value of the returned vote is the dual optimum.
            margin, rho = signs * model.decision_function(X), model.history_["rho"][-1]
            assert rho - cap @ np.maximum(rho - margin, 0) == pytest.approx(best, abs=1e-7)
            assert abs(model.estimator_weights_).sum() == pytest.approx(1)
            share = w / w.sum()
            assert share[margin < rho - 1e-9].sum() <= nu + 1e-9
            assert nu <= share[margin <= rho + 1e-9].sum() + 1e-9


@pytest.mark.parametrize("params", [{}, {"C": 0.2}, {"weak_learners": "stumps"}])
def test_gap_closes(cancer, params):
    history = LPBoostClassifier(n_estimators=300, **params).fit(*cancer).history_
    gap = history["gap"]
    assert (gap >= 0).all()
    assert (np.diff(gap) <= 1e-9).all()
    assert gap[-1] <= 1e-7
    assert gap[0] > 1e-3
    step = np.diff(history["objective"])  # of a minimum over ever more constraints
    assert (step >= -1e-9).all() if "C" not in params else (step <= 1e-9).all()


def test_c_form_reaches_the_full_program(cancer):
    X, y = cancer
    signs = 2.0 * y - 1
    model = LPBoostClassifier(C=0.1, n_estimators=500).fit(X, y)
    best = naive.full_lpboost_c(all_columns(X, signs), np.full(len(y), 0.1))
    f = model.decision_function(X)
    primal = abs(model.estimator_weights_).sum() + 0.1 * np.maximum(1 - signs * f, 0).sum()
    assert primal == pytest.approx(best, abs=1e-6)
    assert model.history_["objective"][-1] == pytest.approx(best, abs=1e-6)


def test_weights_count_as_copies_and_order_does_not_matter(cancer):
    X, y = cancer
    rng = np.random.default_rng(1)
    weight = rng.integers(0, 3, len(y))
    order = rng.permutation(len(y))
    model = LPBoostClassifier(0.2, n_estimators=40)
    f = model.fit(X, y, weight).decision_function(X)
    g = model.fit(X.repeat(weight, axis=0), y.repeat(weight)).decision_function(X)
    h = model.fit(X[order], y[order], weight[order]).decision_function(X)
    np.testing.assert_allclose(f, g, atol=1e-12)
    np.testing.assert_array_equal(f, h)


def test_separable_data_and_a_single_stump():
    X = np.arange(6.0)[:, None]
    model = LPBoostClassifier(0.5).fit(X, X[:, 0] > 2)
    assert model.history_["objective"][-1] == pytest.approx(1)
    np.testing.assert_array_equal(model.predict(X), X[:, 0] > 2)
