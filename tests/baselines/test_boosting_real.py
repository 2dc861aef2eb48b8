"""Theorems and statements of the papers, on real data sets."""

from functools import cache

import numpy as np
import pytest
from mddf.baselines import (
    AdaBoostClassifier,
    DeepBoostClassifier,
    LPBoostClassifier,
    QuadBoostClassifier,
)
from mddf.datasets import load
from naive_boosting import full_lpboost, full_lpboost_c, stump_votes
from sklearn.linear_model import Lasso, Ridge

from mddf.analysis import adaboost_training_bounds

SETS = ("ionosphere", "german", "pima", "heart", "optdigits-17")


@cache
def sample(name, data_home):
    """At most 300 rows, spread over the set, and labels in {-1, +1}."""
    data = load(name, data_home=data_home, download=False)
    X = np.asarray(data.X, dtype=np.float64)
    rows = np.linspace(0, len(X) - 1, min(len(X), 300)).astype(int)
    y = np.where(np.asarray(data.y) == np.unique(data.y)[1], 1.0, -1.0)
    return X[rows], y[rows]


@pytest.fixture(params=SETS)
def real(request, data_home):
    return sample(request.param, data_home)


@pytest.mark.parametrize("params", [{}, {"max_depth": 3}, {"weak_learners": "stumps"}])
def test_adaboost_loss_is_the_product_of_normalizers(real, params):
    X, y = real
    model = AdaBoostClassifier(60, **params).fit(X, y)
    error = model.history_["weighted_error"]
    if error.min() > 1e-10:
        loss = np.exp(-y * model.decision_function(X)).mean()
        product, exponential = adaboost_training_bounds(error)
        assert loss == pytest.approx(product, rel=1e-8)
        assert np.mean(model.predict(X) != y) <= product <= exponential
    assert (np.diff(model.history_["objective"]) <= 0).all()


@pytest.mark.parametrize("loss", ["exponential", "logistic"])
@pytest.mark.parametrize(
    "params", [{"max_depth": 3}, {"search": "greedy"}, {"hypotheses": "stumps"}]
)
def test_deepboost_objective_matches_its_definition_and_never_rises(real, loss, params):
    X, y = real
    model = DeepBoostClassifier(
        40, loss=loss, beta=0.01, lambda_=0.001, complexity=lambda n, m, d: n, **params
    ).fit(X, y)
    start = np.e if loss == "exponential" else np.log2(1 + np.e)
    objective = np.concatenate([[start], model.history_["objective"]])
    assert (np.diff(objective) <= 1e-12).all()
    cost = 0.01 + 0.001 * np.array([tree_nodes(size, params) for size in sizes_of(model)])
    u = np.exp(1 - y * model.decision_function(X))
    risk = np.mean(u if loss == "exponential" else np.log2(1 + u))
    assert risk + cost @ abs(model.estimator_weights_) == pytest.approx(objective[-1], rel=1e-9)


def sizes_of(model):
    return model.ensembles_[0].learners.sizes


def tree_nodes(size, params):
    """Nodes as complexities count them: stumps are complete trees of one or two levels."""
    return (7 if size > 3 else 3) if "hypotheses" in params else size


@pytest.mark.parametrize("max_depth", [1, 3])
def test_deepboost_without_penalties_is_adaboost(real, max_depth):
    X, y = real
    deep = DeepBoostClassifier.named("AdaBoost", n_estimators=40, max_depth=max_depth).fit(X, y)
    ada = AdaBoostClassifier(40, max_depth=max_depth).fit(X, y)
    np.testing.assert_allclose(deep.estimator_weights_, ada.estimator_weights_, rtol=1e-8)


@pytest.mark.parametrize("penalty", [None, "l1", "l2", "linf"])
def test_quadboost_decrease_is_exact(real, penalty):
    X, y = real
    model = QuadBoostClassifier(penalty, n_estimators=50, lambda_=0.02).fit(X, y)
    alpha, before = np.zeros(len(model.estimator_weights_)), 1.0
    entries = zip(model.ensembles_[0].learner, model.ensembles_[0].step, strict=True)
    for (j, step), f, decrease, r in zip(
        entries,
        model.staged_decision_function(X),
        model.history_["decrease"],
        model.history_["correlation"],
        strict=True,
    ):
        new = alpha[j] == 0
        alpha[j] += step
        after = np.mean((y - f) ** 2)
        after += {"l1": 0.04 * abs(alpha).sum(), "l2": 0.02 * alpha @ alpha}.get(penalty, 0.0)
        assert before - after == pytest.approx(decrease, abs=1e-12)
        if penalty is None:  # eta = 1
            assert decrease == pytest.approx(r**2, abs=1e-12)
        elif penalty == "l1" and new:
            assert decrease == pytest.approx((abs(r) - 0.02) ** 2, abs=1e-12)
        elif penalty == "l2" and new:
            assert decrease == pytest.approx(r**2 / 1.02, abs=1e-12)
        before = after


def test_quadboost_limits_are_lasso_and_ridge(real):
    X, y = real
    H = stump_votes(X, 2).T.astype(float)
    exact = {"fit_intercept": False, "tol": 1e-15}
    lasso = Lasso(alpha=0.05, max_iter=1_000_000, **exact).fit(H, y)
    model = QuadBoostClassifier("l1", lambda_=0.05, n_thresholds=2, n_estimators=10**6).fit(X, y)
    assert model.n_iter_ < 10**6  # stops by itself
    np.testing.assert_allclose(model.decision_function(X), lasso.predict(H), atol=1e-8)
    ridge = Ridge(alpha=0.1 * len(y), **exact).fit(H, y)
    model = QuadBoostClassifier("l2", lambda_=0.1, n_thresholds=2, n_estimators=10**6).fit(X, y)
    np.testing.assert_allclose(model.decision_function(X), ridge.predict(H), atol=1e-8)


@pytest.mark.parametrize("nu", [0.2, 0.6])
def test_lpboost_reaches_the_full_program(real, nu):
    X, y = real
    model = LPBoostClassifier(nu, weak_learners="stumps", n_thresholds=3, n_estimators=500).fit(
        X, y
    )
    values = stump_votes(X, 3) * y
    cap = np.full(len(y), 1 / nu / len(y))
    full = full_lpboost(np.vstack([values, -values]).T, cap)
    history = model.history_
    assert history["objective"][-1] == pytest.approx(full, abs=1e-7)
    assert (history["gap"] >= 0).all()
    assert history["gap"][-1] <= 1e-7
    # Strong duality, and the meaning of nu.
    margin, rho = model.margins(X, y), history["rho"][-1]
    assert rho - cap @ np.maximum(rho - margin, 0) == pytest.approx(full, abs=1e-7)
    assert np.mean(margin < rho - 1e-9) <= nu + 1e-9
    assert nu <= np.mean(margin <= rho + 1e-9) + 1e-9


def test_lpboost_c_form_reaches_the_full_program(real):
    X, y = real
    model = LPBoostClassifier(
        C=0.05, weak_learners="stumps", n_thresholds=3, n_estimators=500
    ).fit(X, y)
    values = stump_votes(X, 3) * y
    full = full_lpboost_c(np.vstack([values, -values]).T, np.full(len(y), 0.05))
    slack = np.maximum(1 - y * model.decision_function(X), 0)
    primal = abs(model.estimator_weights_).sum() + 0.05 * slack.sum()
    assert primal == pytest.approx(full, rel=1e-6)


@pytest.mark.parametrize(
    "model",
    [
        AdaBoostClassifier(25),
        DeepBoostClassifier(25, max_depth=2),
        DeepBoostClassifier(25, loss="logistic", hypotheses="stumps"),
        QuadBoostClassifier("l1", n_estimators=60),
        QuadBoostClassifier("linf", n_estimators=60),
    ],
    ids=lambda model: type(model).__name__,
)
def test_whole_weights_are_copies_and_flipped_labels_flip_the_sign(real, model):
    X, y = real
    weight = np.random.default_rng(0).integers(1, 4, len(y))
    f = model.fit(X, y, weight).decision_function(X)
    copies = model.fit(X.repeat(weight, axis=0), y.repeat(weight)).decision_function(X)
    np.testing.assert_allclose(f, copies, atol=1e-7)
    np.testing.assert_allclose(f, -model.fit(X, -y, weight).decision_function(X), atol=1e-7)
