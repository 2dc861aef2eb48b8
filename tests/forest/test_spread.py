"""Standard deviations of forests' predictions, against slow formulas and closed cases."""

import numpy as np
import pytest

from mddf import CompletelyRandomForestRegressor, RandomForestRegressor

kinds = pytest.mark.parametrize("kind", [RandomForestRegressor, CompletelyRandomForestRegressor])


def table(n=80, n_outputs=1, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    y = X[:, :1] + X[:, 1:2] ** 2 + rng.normal(size=(n, n_outputs))
    return X, 1000 * (y[:, 0] if n_outputs == 1 else y)


@pytest.mark.parametrize("n_outputs", [1, 2])
@kinds
def test_between_trees(kind, n_outputs):
    X, y = table(n_outputs=n_outputs)
    forest = kind(12, random_state=0).fit(X, y)
    mean, std = forest.predict(X, return_std=True)
    of_trees = [tree.predict(X) for tree in forest]
    np.testing.assert_array_equal(mean, forest.predict(X))
    np.testing.assert_allclose(std, np.std(of_trees, axis=0), atol=1e-9)
    np.testing.assert_array_equal(std, forest.predict(X, return_std="trees")[1])


def slow_jackknife(values, counts):
    """The formula of Wager, Hastie and Efron by loops over rows and training rows."""
    counts, n_trees = np.array(counts, float), len(values)
    result = np.zeros(values.shape[1])
    for x in range(values.shape[1]):
        away = values[:, x] - values[:, x].mean()
        spread = counts - counts.mean(axis=0)
        variance = sum(np.mean(spread[:, i] * away) ** 2 for i in range(counts.shape[1]))
        noise = sum(np.mean(spread[:, i] ** 2) for i in range(counts.shape[1]))
        result[x] = variance - noise * np.mean(away**2) / n_trees
    return np.sqrt(np.maximum(result, 0))


@kinds
def test_jackknife(kind):
    for options in [{}, {"max_samples": 0.5}, {"min_samples_leaf": 6}]:
        for n_outputs in [1, 2]:
            X, y = table(n_outputs=n_outputs)
            forest = kind(60, bootstrap=True, random_state=0, **options).fit(X, y)
            _, std = forest.predict(X[:9], return_std="jackknife")
            counts = [np.bincount(rows, minlength=len(X)) for rows in forest.estimators_samples_]
            of_trees = np.array([tree.predict(X[:9]) for tree in forest]).reshape(60, 9, -1)
            for j in range(n_outputs):
                slow = slow_jackknife(of_trees[..., j], counts)
                np.testing.assert_allclose(std.reshape(9, -1)[:, j], slow, rtol=1e-6, atol=1e-6)


def test_the_correction_removes_the_variance_of_few_trees():
    X, y = table(60)
    many = RandomForestRegressor(3000, min_samples_leaf=5, random_state=0).fit(X, y)
    few = RandomForestRegressor(150, min_samples_leaf=5, random_state=1).fit(X, y)
    (a, b) = (forest.predict(X, return_std="jackknife")[1] for forest in (many, few))
    assert abs(np.mean(b**2) / np.mean(a**2) - 1) < 0.25


def test_other_kinds_are_refused():
    for value in ["between", None, 1, np.nan, ["trees"]]:
        X, y = table()
        forest = RandomForestRegressor(2, random_state=0).fit(X, y)
        with pytest.raises(ValueError, match="return_std must be"):
            forest.predict(X, return_std=value)
