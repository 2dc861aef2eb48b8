import naive_boosting as naive
import numpy as np
import pytest
from compiled import _core
from hypothesis import given, settings
from hypothesis import strategies as st
from mddf.baselines import QuadBoostClassifier
from mddf.baselines._boosting.fixed_learners import distinct_learners, stump_dictionary
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import Lasso, Ridge

seeds = st.integers(0, 2**32 - 1)


def run(H, y, weight, penalty=None, strength=0.1, n_rounds=200, tolerance=0.0):
    """The path of the kernel as (alpha, learner, step, objective, correlation, n_learners)."""
    learner, step, *rest = _core.quadboost_path(
        H, y, weight, penalty or "none", strength, strength, n_rounds, tolerance, abs
    )
    return np.bincount(learner, step, minlength=len(H)), learner, step, *rest


def learners(seed, real, n=20):
    rng = np.random.default_rng(seed)
    H = rng.normal(size=(6, n)) if real else rng.choice([-1.0, 1.0], size=(6, n))
    y = np.sign(H[0] + H[1] + rng.normal(size=n))
    weight = rng.dirichlet(np.ones(n)) if seed % 2 else np.full(n, 1 / n)
    return np.ascontiguousarray(H if real else H.astype(np.int8)), y, weight


@given(seeds, st.booleans(), st.sampled_from([None, "l1", "l2", "linf"]))
@settings(max_examples=80, deadline=None)
def test_path_equals_enumeration(seed, real, penalty):
    H, y, _ = learners(seed, real)
    weight = np.random.default_rng(seed).dirichlet(np.ones(20))  # no two decreases are equal
    expected, objectives = naive.quadboost(H.astype(float), y, weight, penalty, 0.1, 25)
    alpha, *_, objective, _, n_learners = run(H, y, weight, penalty, n_rounds=len(objectives))
    np.testing.assert_allclose(objective, objectives, atol=1e-10)
    np.testing.assert_allclose(alpha, expected, atol=1e-6)
    assert n_learners[-1] == np.count_nonzero(abs(alpha) > 1e-12)


@pytest.mark.parametrize("real", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_limits_are_lasso_and_ridge(real, weighted):
    rng = np.random.default_rng(0)
    H = rng.normal(size=(12, 80)) if real else rng.choice([-1, 1], size=(12, 80)).astype(np.int8)
    y = np.sign(H[0] + H[1] - H[2] + rng.normal(size=80))
    w = rng.integers(1, 4, 80) if weighted else np.ones(80)
    m, exact = w.sum(), {"fit_intercept": False, "tol": 1e-14}
    for strength in (0.01, 0.1, 0.3):
        alpha, *_ = run(H, y, w / m, "l1", strength, 100_000)
        lasso = Lasso(alpha=strength, max_iter=1_000_000, **exact)
        lasso.fit(H.T.astype(float), y, sample_weight=w)
        np.testing.assert_allclose(alpha, lasso.coef_, atol=1e-8)
        alpha, *_ = run(H, y, w / m, "l2", strength, 100_000)
        ridge = Ridge(alpha=m * strength, **exact).fit(H.T.astype(float), y, sample_weight=w)
        np.testing.assert_allclose(alpha, ridge.coef_, atol=1e-8)


def test_limits_of_the_classifier_on_a_real_set():
    X, y = load_breast_cancer(return_X_y=True)
    signs = 2.0 * y - 1
    H = stump_dictionary(X, 3).values(X)
    H = H[distinct_learners(H)].T.astype(float)
    lasso = Lasso(alpha=0.05, fit_intercept=False, tol=1e-14, max_iter=1_000_000).fit(H, signs)
    model = QuadBoostClassifier("l1", lambda_=0.05, n_thresholds=3, n_estimators=200_000).fit(X, y)
    assert model.n_iter_ < 200_000  # stops by itself
    np.testing.assert_allclose(model.decision_function(X), lasso.predict(H), atol=1e-8)
    assert model.history_["n_learners"][-1] == np.count_nonzero(abs(lasso.coef_) > 1e-10)
    ridge = Ridge(alpha=0.2 * len(y), fit_intercept=False).fit(H, signs)
    model = QuadBoostClassifier("l2", lambda_=0.2, n_thresholds=3, n_estimators=200_000).fit(X, y)
    np.testing.assert_allclose(model.decision_function(X), ridge.predict(H), atol=1e-8)


def test_long_runs_stay_exact():
    """More rounds than between two recomputations of the correlations, on every code path."""
    rng = np.random.default_rng(1)
    H = rng.choice([-1, 1], size=(40, 130)).astype(np.int8)
    y = rng.choice([-1.0, 1.0], 130)
    for weight in (np.full(130, 1 / 130), rng.dirichlet(np.ones(130))):
        alpha, *_ = run(H, y, weight, None, n_rounds=20_000)
        best = np.linalg.lstsq(H.T * np.sqrt(weight)[:, None], y * np.sqrt(weight), rcond=None)[0]
        np.testing.assert_allclose(alpha, best, atol=1e-9)


def test_dictionary():
    X = np.array([[0.0, 5.0, 1.0], [11.0, 5.0, 3.0], [5.4, 5.0, 2.0]])
    stumps = stump_dictionary(X, 10)
    assert len(stumps) == 20  # the constant feature has none
    np.testing.assert_allclose(stumps.threshold[:30:3], np.arange(1, 11))
    values = stumps.values(X)
    np.testing.assert_array_equal(values[:, 0], -1)
    np.testing.assert_array_equal(values[:, 1], 1)
    assert len(distinct_learners(values)) == 2
    negated = np.vstack([values[:1], -values[:1], np.zeros((1, 3))]).astype(float)
    assert distinct_learners(negated).tolist() == [0]


@given(seeds, st.sampled_from([None, "l1"]))
@settings(max_examples=20, deadline=None)
def test_searched_stumps_equal_the_set_of_all_stumps(seed, penalty):
    """With all stumps and the constant as a finite set, the enumeration makes the same rounds."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(20, 2))
    y = np.sign(X[:, 0] + rng.normal(size=20))
    y[:2] = [-1, 1]
    weight = rng.dirichlet(np.ones(20))  # no two decreases are equal
    H = np.array([np.ones(20), *(vote for _, _, vote in naive.all_stumps(X))])
    alpha, objectives = naive.quadboost(H, y, weight, penalty, 0.1, 15)
    model = QuadBoostClassifier(
        penalty, lambda_=0.1, n_estimators=len(objectives), weak_learners=None
    )
    model.fit(X, y, sample_weight=weight)
    np.testing.assert_allclose(model.history_["objective"], objectives, atol=1e-10)
    np.testing.assert_allclose(model.decision_function(X), alpha @ H, atol=1e-8)


def test_searched_trees_lower_the_risk_below_that_of_the_finite_set():
    X, y = load_breast_cancer(return_X_y=True)
    losses = [
        QuadBoostClassifier(n_estimators=30, **learners).fit(X, y).history_["objective"]
        for learners in (
            {"weak_learners": "stumps"},
            {"weak_learners": None},
            {"weak_learners": None, "max_depth": 2},
        )
    ]
    assert losses[0][-1] > losses[1][-1] > losses[2][-1]
    assert all((np.diff(path) < 0).all() for path in losses)


@pytest.mark.parametrize("penalty", ["l2", "linf"])
def test_penalties_without_a_search_are_refused(penalty):
    model = QuadBoostClassifier(penalty, weak_learners=None)
    with pytest.raises(ValueError, match=f"penalty must be None or 'l1' .*got '{penalty}'"):
        model.fit([[0.0], [1.0]], [0, 1])
