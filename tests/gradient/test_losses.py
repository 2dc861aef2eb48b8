"""Predictions of losses for targets of any size and at any learning rate."""

import numpy as np
import pytest
from boosted_cases import growth, numbers, problem

from mddf import GradientBoostingClassifier, GradientBoostingRegressor

REGRESSION = [
    "squared_error",
    "absolute_error",
    "quantile",
    "huber",
    "poisson",
    "gamma",
    "tweedie",
]
CLASSES = [("log_loss", 2), ("exponential", 2), ("log_loss", 5)]


def steep(n=250, seed=0):
    """A table, and positive targets with a wide range and ties."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    y = np.exp(2 * (np.sin(2 * X[:, 0]) + X[:, 1])) * rng.gamma(0.5, 2, n) + 1e-6
    return X, np.where(rng.random(n) < 0.1, 1.0, y)


def never_rises(losses):
    """Whether losses decrease from round to round, except for rounding."""
    return np.all(np.diff(losses) <= 1e-9 * (np.abs(losses[:-1]) + abs(losses[0])))


ALL_ROWS = {"max_iter": 15, "subsample": 1.0, "early_stopping": False, "random_state": 0}
steps = pytest.mark.parametrize(("learning_rate", "l2"), [(0.01, 0.0), (0.3, 3.0), (3.0, 0.0)])


@steps
@growth
def test_the_training_loss_of_numbers_never_rises(learning_rate, l2, grow_policy):
    for loss in REGRESSION:
        X, y = steep()
        targets = [y, y * 1e-9, np.where(X[:, 0] > 1.6, 10 + y, 1.0)]
        if loss in ("poisson", "tweedie"):
            targets.append(np.where(X[:, 0] > 1.6, y, 0.0))
        options = {**ALL_ROWS, "learning_rate": learning_rate, "l2_regularization": l2}
        for target in targets:
            for weights in (None, np.random.default_rng(0).exponential(size=len(y))):
                model = GradientBoostingRegressor(
                    loss, quantile=0.7, grow_policy=grow_policy, **options
                )
                model.fit(X, target, weights)
                assert never_rises(-model.train_score_)
                assert model.train_score_[-1] > model.train_score_[0]
                assert model.predict(X).max() < 10 * target.max()


@steps
@growth
def test_the_training_loss_of_classes_never_rises(learning_rate, l2, grow_policy):
    for loss, n_classes in CLASSES:
        X, y = steep()
        shares = np.linspace(0, 0.97, n_classes)[1:]  # few rows of the last class
        labels = np.searchsorted(np.quantile(y, shares), y)
        options = {**ALL_ROWS, "learning_rate": learning_rate, "l2_regularization": l2}
        model = GradientBoostingClassifier(loss, grow_policy=grow_policy, **options).fit(X, labels)
        assert never_rises(-model.train_score_)
        assert model.train_score_[-1] > model.train_score_[0]


@growth
def test_the_training_loss_under_constraints_never_rises(grow_policy):
    for loss in ["squared_error", "absolute_error", "poisson", "huber"]:
        X, y = steep()
        options = {**ALL_ROWS, "learning_rate": 1.0, "l2_regularization": 0.0}
        model = GradientBoostingRegressor(
            loss, monotonic_cst=[-1, 1, 0, 0], grow_policy=grow_policy, **options
        )
        assert never_rises(-model.fit(X, y).train_score_)
        line = np.zeros((50, 4))
        line[:, 1] = np.linspace(-3, 3, 50)
        assert np.all(np.diff(model.predict(line)) >= 0)


@growth
def test_predictions_scale_with_targets(grow_policy):
    for loss in REGRESSION:
        X, y = steep()
        model = GradientBoostingRegressor(
            loss, quantile=0.7, max_iter=20, grow_policy=grow_policy, random_state=0
        )
        expected = model.fit(X, y).predict(X)
        for scale in (1e-9, 1 / 3, 1e9):
            result = model.fit(X, y * scale).predict(X) / scale
            assert np.allclose(result, expected, rtol=1e-6)


@growth
def test_losses_learn_where_most_targets_are_equal(grow_policy):
    for share in [0.6, 0.92, 0.98]:
        for loss in ["quantile", "absolute_error", "huber"]:
            rng = np.random.default_rng(0)
            X = rng.normal(size=(1000, 3))
            y = np.where(X[:, 0] > np.quantile(X[:, 0], share), 10 + X[:, 1], 0.0)
            model = GradientBoostingRegressor(
                loss,
                quantile={"quantile": 0.5}.get(loss),
                max_iter=150,
                learning_rate=0.1,
                early_stopping=False,
                grow_policy=grow_policy,
                random_state=0,
            ).fit(X, y)
            assert model.predict(X)[y > 0].mean() == pytest.approx(y[y > 0].mean(), abs=1.5)
            assert np.median(np.abs(model.predict(X)[y == 0])) < 0.1


def test_counts_of_a_wide_range_do_not_diverge():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 4))
    y = rng.poisson(np.exp(2 * (np.sin(2 * X[:, 0]) + X[:, 1])))

    def excess(predicted):
        logs = np.log(np.where(y[1500:] > 0, y[1500:], 1) / predicted)
        return 2 * np.mean(y[1500:] * logs - y[1500:] + predicted)

    for rate in (0.1, 0.3):
        model = GradientBoostingRegressor("poisson", learning_rate=rate, random_state=0)
        predicted = model.fit(X[:1500], y[:1500]).predict(X[1500:])
        assert predicted.max() < 3 * y.max()
        assert excess(predicted) < 20  # of the mean 92, before steps were bounded 9.5e5


def test_a_divergence_has_a_name():
    rng = np.random.default_rng(0)
    X, noise = rng.normal(size=(60, 4)), rng.normal(size=60)
    model = GradientBoostingRegressor(
        max_iter=30, learning_rate=3.0, subsample=0.1, min_samples_leaf=1, random_state=0
    )
    with pytest.warns(UserWarning, match=r"boosting diverged.*learning_rate"):
        model.set_params(early_stopping=False, l2_regularization=0.0).fit(X, noise)


def test_boosting_goes_on_with_the_same_large_residuals():
    X, y = steep()
    options = {"loss": "huber", "early_stopping": False, "random_state": 0}
    whole = GradientBoostingRegressor(max_iter=20, **options).fit(X, y)
    model = GradientBoostingRegressor(max_iter=8, warm_start=True, **options).fit(X, y)
    model.set_params(max_iter=20).fit(X, y)
    assert np.array_equal(model.predict(X), whole.predict(X))


def test_losses_estimate_their_statistics():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, 1))
    mean = np.exp(0.5 * X[:, 0])
    few = {"max_iter": 60, "learning_rate": 0.2, "max_depth": 3, "random_state": 0}
    skewed = mean * rng.exponential(size=2000)
    for share in (0.2, 0.8):
        model = GradientBoostingRegressor(loss="quantile", quantile=share, **few)
        below = np.mean(skewed <= model.fit(X, skewed).predict(X))
        assert below == pytest.approx(share, abs=0.02)
    half = GradientBoostingRegressor(loss="absolute_error", **few).fit(X, skewed)
    assert np.mean(skewed <= half.predict(X)) == pytest.approx(0.5, abs=0.02)
    counts = rng.poisson(mean)
    for loss, y in (("poisson", counts), ("gamma", skewed), ("tweedie", counts)):
        model = GradientBoostingRegressor(loss=loss, **few).fit(X, y)
        assert model.predict(X).min() > 0
        assert np.mean(model.predict(X)) == pytest.approx(np.mean(y), rel=0.05)
    y = mean + 0.1 * rng.normal(size=2000)
    y[::20] += 1e4
    robust = GradientBoostingRegressor(loss="huber", **few).fit(X, y)
    assert np.median(np.abs(robust.predict(X) - mean)) < 0.2


@growth
def test_targets_of_any_size(grow_policy):
    for size in [1e-300, 1e-30, 1e160, 1e300]:
        X, y = numbers(200)
        size = 2.0 ** np.round(np.log2(size))
        model = GradientBoostingRegressor(max_iter=10, grow_policy=grow_policy, random_state=0)
        expected = model.fit(X, y).predict(X)
        assert np.allclose(model.fit(X, y * size).predict(X) / size, expected, rtol=1e-12)


@pytest.mark.filterwarnings("ignore:boosting diverged")
@growth
def test_any_learning_rate_of_numbers(grow_policy):
    for learning_rate in [3, 1e300]:
        for loss in ["squared_error", "huber", "poisson", "gamma", "tweedie", "quantile"]:
            X, y = numbers(200)
            model = GradientBoostingRegressor(
                loss=loss,
                quantile=0.3,
                max_iter=30,
                learning_rate=learning_rate,
                grow_policy=grow_policy,
                random_state=0,
            )
            assert np.isfinite(model.fit(X, np.exp(y)).predict(X)).all()
            assert np.isfinite(model.feature_importances_).all()
            assert not np.isnan(model.train_score_).any()


@pytest.mark.filterwarnings("ignore:boosting diverged")
@growth
def test_any_learning_rate_of_classes(grow_policy):
    for learning_rate in [3, 1e300]:
        for loss, n_classes in [("log_loss", 2), ("log_loss", 4), ("exponential", 2)]:
            X, y = problem(GradientBoostingClassifier, 200, n_classes=n_classes)
            model = GradientBoostingClassifier(
                loss=loss,
                max_iter=30,
                learning_rate=learning_rate,
                grow_policy=grow_policy,
                random_state=0,
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
