"""Rows with equal features: duplicates and repeated observations."""

import numpy as np
import pandas as pd
import pytest

from mddf import GradientBoostingClassifier, GradientBoostingRegressor

# With all of these set, nothing is left for a race to choose.
OPTIONS = {
    "max_iter": 15,
    "learning_rate": 0.2,
    "max_depth": 3,
    "min_samples_leaf": 1,
    "l2_regularization": 1.0,
    "max_features": 1.0,
    "subsample": 0.8,
    "random_state": 0,
}


def categories(numbers):
    return pd.Categorical([f"level {number}" for number in numbers])


def table(kind, n, rng):
    """Columns with 40 levels, with or without numbers that make rows unique."""
    X = pd.DataFrame({"town": categories(rng.integers(0, 40, n))})
    if kind in ("distinct", "pairs"):
        X["age"] = rng.normal(size=n)
    if kind in ("pairs", "pairs alone"):
        X["trade"] = categories(rng.integers(0, 40, n))
    if kind == "few cells":
        X["colour"] = rng.integers(0, 3, n)
    return X


def repeated(X, y, weights):
    rows = np.repeat(np.arange(len(y)), weights)
    return X.iloc[rows].reset_index(drop=True), y[rows]


def outputs(model, X):
    return model.predict_proba(X) if hasattr(model, "predict_proba") else model.predict(X)


@pytest.mark.parametrize("early_stopping", [False, "auto"])
@pytest.mark.parametrize("kind", ["distinct", "pairs", "pairs alone", "few cells", "lookup"])
@pytest.mark.parametrize("n_classes", [0, 3])
def test_weights_are_copies(n_classes, kind, early_stopping):
    rng = np.random.default_rng(0)
    n = 150 if kind != "lookup" else 600
    X, weights = table(kind, n, rng), rng.integers(1, 4, n)
    y = rng.integers(0, n_classes, n) if n_classes else rng.normal(size=n)
    if kind == "lookup":
        y = (X["town"].cat.codes.to_numpy() % (n_classes or 7)).astype(y.dtype)
    Model = GradientBoostingClassifier if n_classes else GradientBoostingRegressor
    weighted = Model(**OPTIONS, early_stopping=early_stopping).fit(X, y, weights.astype(float))
    copied = Model(**OPTIONS, early_stopping=early_stopping).fit(*repeated(X, y, weights))
    assert weighted.n_iter_ == copied.n_iter_
    assert outputs(weighted, X) == pytest.approx(outputs(copied, X), rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("n_copies", [2, 5])
@pytest.mark.parametrize("with_levels", [False, True])
@pytest.mark.filterwarnings("ignore:boosting stopped after:UserWarning")
def test_copies_of_noise_are_not_learnt(n_copies, with_levels):
    rng = np.random.default_rng(1)
    X = pd.DataFrame(rng.normal(size=(300, 3)))
    if with_levels:
        X["town"] = categories(rng.integers(0, 40, 300))
    X.columns = X.columns.map(str)
    X, y = repeated(X, rng.normal(size=300), n_copies)
    model = GradientBoostingRegressor(early_stopping=True, random_state=0).fit(X, y)
    assert outputs(model, X).std() < 0.15


@pytest.mark.parametrize("early_stopping", [False, True, "auto"])
def test_tables_with_one_column_are_learnt(early_stopping):
    rng = np.random.default_rng(0)
    towns = rng.integers(0, 50, 900)
    y = rng.integers(0, 2, 50)[towns]
    X = pd.DataFrame({"town": categories(towns)})
    model = GradientBoostingClassifier(**OPTIONS, early_stopping=early_stopping)
    assert model.fit(X[:600], y[:600]).score(X[600:], y[600:]) > 0.95
