"""The Tweedie loss: its deviance, its limits and its parameter."""

import numpy as np
import pytest
from boosted_cases import growth
from sklearn.metrics import mean_tweedie_deviance

from mddf import GradientBoostingRegressor

ALL_ROWS = {"subsample": 1.0, "max_features": 1.0, "early_stopping": False, "random_state": 0}


def costs(n=400, seed=0):
    """A table, and costs: sums of gamma variables, many of which are empty sums."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    mean = np.exp(np.sin(2 * X[:, 0]) + 0.5 * X[:, 1])
    n_claims = rng.poisson(mean)
    return X, rng.gamma(2 * np.maximum(n_claims, 1)) / 2 * (n_claims > 0)


def test_training_scores_are_halves_of_deviances():
    for power in [1.05, 1.5, 1.9]:
        for weight in [False, True]:
            X, y = costs()
            weights = np.random.default_rng(1).exponential(size=len(y)) if weight else None
            model = GradientBoostingRegressor(
                "tweedie", tweedie_power=power, max_iter=25, **ALL_ROWS
            )
            model.fit(X, y, weights)
            deviances = [
                mean_tweedie_deviance(y, predicted, power=power, sample_weight=weights)
                for predicted in model.staged_predict(X)
            ]
            least = model._target.least_loss(y, weights)
            assert np.allclose(2 * (-model.train_score_[1:] - least), deviances, rtol=1e-8)
            assert np.all(np.diff(deviances) < 0)


@growth
def test_limits(grow_policy):
    for power, limit in [(1 + 1e-9, "poisson"), (2 - 1e-9, "gamma")]:
        for learning_rate in [0.1, 1.0]:
            X, y = costs()
            y = y + (limit == "gamma")
            options = {"max_iter": 30, "learning_rate": learning_rate, "grow_policy": grow_policy}
            expected = GradientBoostingRegressor(limit, **options, **ALL_ROWS).fit(X, y).predict(X)
            model = GradientBoostingRegressor(
                "tweedie", tweedie_power=power, **options, **ALL_ROWS
            )
            assert np.allclose(model.fit(X, y).predict(X), expected, rtol=1e-5)


@pytest.mark.parametrize("power", [1.1, 1.5, 1.9])
def test_a_tree_without_a_penalty_finds_the_means_of_groups(power):
    """The best constant of each group is its mean, for every power."""
    X, y = costs()
    groups = (X[:, :1] > 0).astype(float)
    model = GradientBoostingRegressor(
        "tweedie", tweedie_power=power, l2_regularization=0, max_iter=200, **ALL_ROWS
    ).fit(groups, y)
    for group in (0.0, 1.0):
        is_member = groups[:, 0] == group
        mean = y[is_member].mean()
        assert np.allclose(model.predict(groups[is_member]), mean, rtol=1e-3)


@growth
def test_exposures_are_weights_of_rates(grow_policy):
    """With the Tweedie loss, the weight of a rate is the exposure to the power 2 - p."""
    X, y = costs()
    X = np.round(4 * X)
    exposure = np.random.default_rng(1).uniform(0.2, 3, len(y))
    model = GradientBoostingRegressor(
        "tweedie",
        max_iter=30,
        l2_regularization=0.0,
        grow_policy=grow_policy,
        **ALL_ROWS,
    )
    rates = model.fit(X, y / exposure, exposure**0.5).predict(X)
    model.fit(X, y, offset=np.log(exposure))
    assert np.allclose(model.predict(X), rates, rtol=1e-9)


def test_refused_powers():
    for power in [0, 1, 2, 3.0, np.nan, None, "x"]:
        X, y = costs(50)
        with pytest.raises(ValueError, match="tweedie_power"):
            GradientBoostingRegressor("tweedie", tweedie_power=power).fit(X, y)
