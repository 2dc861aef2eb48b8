"""Quantile regression forests, compared with quantile-forest if it is installed."""

import numpy as np
import pytest
from value_cases import REGRESSORS

from mddf import RandomForestRegressor

DECILES = np.arange(11) / 10


def steps(n_of_each, n_steps=6, n_outputs=1):
    """A column of few values with separate targets: all trees have the same leaves."""
    rng = np.random.default_rng(n_of_each)
    X = np.repeat(np.arange(n_steps), n_of_each)[:, None] * 1.0
    y = 100 * X + rng.normal(size=(len(X), n_outputs))
    order = rng.permutation(len(X))
    return X[order], (y[order, 0] if n_outputs == 1 else y[order])


def fitted(Forest, X, y, n_of_each):
    options = {"bootstrap": False, "min_samples_leaf": n_of_each, "random_state": 0}
    return Forest(3, keep_targets=n_of_each, **options).fit(X, y)


def peer(Forest, X, y, **options):
    """The corresponding fit of quantile-forest."""
    package = pytest.importorskip("quantile_forest", reason='needs "mddf[peers]"')
    kind = "RandomForest" if Forest is RandomForestRegressor else "ExtraTrees"
    Model = getattr(package, f"{kind}QuantileRegressor")
    return Model(max_samples_leaf=None, random_state=0, **options).fit(X, y)


@pytest.mark.parametrize("n_outputs", [1, 2])
@pytest.mark.parametrize("Forest", REGRESSORS)
def test_deciles_of_eleven_targets_are_these(Forest, n_outputs):
    X, y = steps(11, n_outputs=n_outputs)
    rows = np.arange(6.0)[:, None]
    result = fitted(Forest, X, y, 11).predict(rows, quantiles=DECILES)
    expected = [np.sort(y[X[:, 0] == step], axis=0).T for step in range(6)]
    np.testing.assert_array_equal(result, expected)


def test_quantiles_are_targets_next_to_interpolated_ones():
    for n_of_each in [2, 5, 8, 13]:
        for Forest in REGRESSORS:
            X, y = steps(n_of_each)
            options = {"n_estimators": 1, "bootstrap": False, "min_samples_leaf": n_of_each}
            theirs, rows = peer(Forest, X, y, **options), np.arange(6.0)[:, None]
            levels = [0, 0.05, 0.25, 0.37, 0.5, 0.8, 0.95, 1]
            result = fitted(Forest, X, y, n_of_each).predict(rows, quantiles=levels)
            low, high = (
                theirs.predict(rows, levels, interpolation=kind, weighted_quantile=False)
                for kind in ("lower", "higher")
            )
            assert np.all((low <= result) & (result <= high))
            assert np.isin(result, y).all()
