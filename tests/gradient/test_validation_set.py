"""Validation sets that users pass."""

import numpy as np
import pandas as pd
import pytest
from boosted_cases import MODELS
from sklearn.preprocessing import StandardScaler

from mddf import GradientBoostingClassifier, GradientBoostingRegressor


def measured(n=300, shift=50.0):
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(shift, 10, size=(n, 3)), columns=["a", "b", "c"])
    return X, X["a"].to_numpy() + X["b"].to_numpy()


def target(Model, y):
    return y > np.median(y) if Model is GradientBoostingClassifier else y


def test_a_validation_set_that_was_not_transformed():
    for early_stopping in [True, False, "auto"]:
        for Model in MODELS:
            X, y = measured()
            y = target(Model, y)
            scaler = StandardScaler().set_output(transform="pandas").fit(X[:200])
            X_train = scaler.transform(X[:200])
            model = Model(max_iter=60, early_stopping=early_stopping, random_state=0)
            with pytest.warns(
                UserWarning, match=r"constant.*ends of the training range.*column 0, 'a'"
            ):
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


@pytest.mark.parametrize("scoring", ["loss", "neg_log_loss"])
@pytest.mark.parametrize("weighted", [False, True])
def test_class_weights_count_in_a_validation_set(weighted, scoring):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(900, 3))
    y = (X[:, 0] + rng.normal(size=900) > 1.5).astype(int)
    train, held_out = slice(0, 600), slice(600, 900)
    weights = rng.uniform(0.5, 2, 900) if weighted else np.ones(900)
    factors = weights[train].sum() / (2 * np.bincount(y[train], weights[train]))
    products = weights * factors[y]
    options = {"scoring": scoring, "early_stopping": True, "random_state": 0}
    validation = {"X_val": X[held_out], "y_val": y[held_out]}
    by_class = GradientBoostingClassifier(class_weight="balanced", **options).fit(
        X[train], y[train], weights[train], **validation, sample_weight_val=weights[held_out]
    )
    by_hand = GradientBoostingClassifier(**options).fit(
        X[train], y[train], products[train], **validation, sample_weight_val=products[held_out]
    )
    assert by_class.n_iter_ == by_hand.n_iter_
    np.testing.assert_allclose(by_class.validation_score_, by_hand.validation_score_)
