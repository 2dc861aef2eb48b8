"""Validation sets that users pass."""

import numpy as np
import pandas as pd
import pytest
from sklearn.preprocessing import StandardScaler

from mddf import GradientBoostingClassifier, GradientBoostingRegressor

MODELS = [GradientBoostingClassifier, GradientBoostingRegressor]


def measured(n=300, shift=50.0):
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(shift, 10, size=(n, 3)), columns=["a", "b", "c"])
    return X, X["a"].to_numpy() + X["b"].to_numpy()


def target(Model, y):
    return y > np.median(y) if Model is GradientBoostingClassifier else y


@pytest.mark.parametrize("early_stopping", [True, False, "auto"])
@pytest.mark.parametrize("Model", MODELS)
def test_a_validation_set_that_was_not_transformed(Model, early_stopping):
    X, y = measured()
    y = target(Model, y)
    scaler = StandardScaler().set_output(transform="pandas").fit(X[:200])
    X_train = scaler.transform(X[:200])
    model = Model(max_iter=60, early_stopping=early_stopping, random_state=0)
    with pytest.warns(UserWarning, match=r"constant.*ends of the training range.*column 0, 'a'"):
        model.fit(X_train, y[:200], X_val=X[200:], y_val=y[200:])
    assert model.n_iter_ == 0
    model.fit(X_train, y[:200], X_val=scaler.transform(X[200:]), y_val=y[200:])
    assert model.n_iter_ > 0


def test_targets_of_another_sign():
    X, y = measured()
    model = GradientBoostingRegressor(max_iter=20, random_state=0)
    with pytest.warns(UserWarning, match="no round improves .* must be transformed as X is"):
        model.fit(X[:200], y[:200], X_val=X[200:], y_val=2 * y[:200].mean() - y[200:])


def test_columns_of_another_kind_are_refused():
    X, y = measured()
    model = GradientBoostingRegressor(max_iter=5)
    with pytest.raises(TypeError, match="must hold numbers as in fit, got text"):
        model.fit(X, y, X_val=X.assign(a="x"), y_val=y)
    with pytest.raises(ValueError, match=r"X_val cannot be used.*feature"):
        model.fit(X, y, X_val=X[["a", "b"]], y_val=y)


def test_zeros_are_a_validation_target_of_poisson():
    X, _ = measured(shift=0.0)
    y = np.random.default_rng(1).poisson(np.exp(X["a"] / 10))
    model = GradientBoostingRegressor(loss="poisson", max_iter=20, random_state=0)
    few = X["a"] < -10
    model.fit(X, y, X_val=X[few], y_val=np.zeros(few.sum()))
    assert np.isfinite(model.validation_score_).all()
    assert model.n_iter_ > 0
    with pytest.raises(ValueError, match="not all 0"):
        model.fit(X, np.zeros(300))
    with pytest.raises(ValueError, match=r"y_val.*negative"):
        model.fit(X, y, X_val=X, y_val=np.full(300, -1.0))
    gamma = GradientBoostingRegressor(loss="gamma", max_iter=5)
    with pytest.raises(ValueError, match=r"y_val.*positive"):
        gamma.fit(X, y + 1.0, X_val=X, y_val=np.zeros(300))
