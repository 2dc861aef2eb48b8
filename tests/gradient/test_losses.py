"""What losses predict, of targets of any size and at any learning rate."""

import numpy as np
import pytest
from boosted_cases import growth, numbers, problem

from mddf import GradientBoostingClassifier, GradientBoostingRegressor


def test_losses_predict_what_they_are_for():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, 1))
    mean = np.exp(0.5 * X[:, 0])
    few = {"max_iter": 60, "learning_rate": 0.2, "max_depth": 3}
    skewed = mean * rng.exponential(size=2000)
    for share in (0.2, 0.8):
        model = GradientBoostingRegressor(loss="quantile", quantile=share, **few)
        below = np.mean(skewed <= model.fit(X, skewed).predict(X))
        assert below == pytest.approx(share, abs=0.02)
    half = GradientBoostingRegressor(loss="absolute_error", **few).fit(X, skewed)
    assert np.mean(skewed <= half.predict(X)) == pytest.approx(0.5, abs=0.02)
    counts = rng.poisson(mean)
    for loss, y in (("poisson", counts), ("gamma", skewed)):
        model = GradientBoostingRegressor(loss=loss, **few).fit(X, y)
        assert model.predict(X).min() > 0
        assert np.mean(model.predict(X)) == pytest.approx(np.mean(y), rel=0.05)
    y = mean + 0.1 * rng.normal(size=2000)
    y[::20] += 1e4
    robust = GradientBoostingRegressor(loss="huber", **few).fit(X, y)
    assert np.median(np.abs(robust.predict(X) - mean)) < 0.2


@pytest.mark.parametrize("size", [1e-300, 1e-160, 1e-30, 1e30, 1e160, 1e300])
@growth
def test_targets_of_any_size(size, grow_policy):
    X, y = numbers(200)
    size = 2.0 ** np.round(np.log2(size))
    model = GradientBoostingRegressor(max_iter=10, grow_policy=grow_policy, random_state=0)
    expected = model.fit(X, y).predict(X)
    assert np.allclose(model.fit(X, y * size).predict(X) / size, expected, rtol=1e-12)


@pytest.mark.parametrize("loss", ["squared_error", "huber", "poisson", "gamma", "quantile"])
@pytest.mark.parametrize("learning_rate", [3, 100, 1e300])
@growth
def test_any_learning_rate_of_numbers(loss, learning_rate, grow_policy):
    X, y = numbers(200)
    model = GradientBoostingRegressor(
        loss=loss, quantile=0.3, max_iter=30, learning_rate=learning_rate, grow_policy=grow_policy
    )
    assert np.isfinite(model.fit(X, np.exp(y)).predict(X)).all()
    assert np.isfinite(model.feature_importances_).all()
    assert not np.isnan(model.train_score_).any()


@pytest.mark.parametrize(
    ("loss", "n_classes"), [("log_loss", 2), ("log_loss", 4), ("exponential", 2)]
)
@pytest.mark.parametrize("learning_rate", [3, 100, 1e300])
@growth
def test_any_learning_rate_of_classes(loss, n_classes, learning_rate, grow_policy):
    X, y = problem(GradientBoostingClassifier, 200, n_classes=n_classes)
    model = GradientBoostingClassifier(
        loss=loss, max_iter=30, learning_rate=learning_rate, grow_policy=grow_policy
    )
    assert np.allclose(model.fit(X, y).predict_proba(X).sum(axis=1), 1)
    assert np.isfinite(model.feature_importances_).all()
    assert not np.isnan(model.train_score_).any()


def test_one_class_and_a_constant():
    X, _ = numbers(50)
    model = GradientBoostingClassifier(max_iter=3).fit(X, ["x"] * 50)
    assert model.predict(X).tolist() == ["x"] * 50
    assert model.predict_proba(X).tolist() == [[1.0]] * 50
    assert model.n_iter_ == 0
    assert GradientBoostingRegressor(max_iter=3).fit(X, np.full(50, 7.5)).predict(X[:1]) == 7.5
