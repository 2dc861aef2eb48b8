"""Rows with equal features: duplicates and repeated observations."""

import numpy as np
import pandas as pd
import pytest
from boosted_cases import answers
from sklearn.metrics import r2_score

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


@pytest.mark.parametrize("early_stopping", [False, "auto"])
@pytest.mark.parametrize("n_classes", [0, 3])
def test_weights_are_copies(n_classes, early_stopping):
    for kind in ["distinct", "pairs", "pairs alone", "few cells", "lookup"]:
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
        assert answers(weighted, X) == pytest.approx(answers(copied, X), rel=1e-9, abs=1e-12)


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
    assert answers(model, X).std() < 0.15


@pytest.mark.parametrize("early_stopping", [False, True, "auto"])
def test_tables_with_one_column_are_learnt(early_stopping):
    rng = np.random.default_rng(0)
    towns = rng.integers(0, 50, 900)
    y = rng.integers(0, 2, 50)[towns]
    X = pd.DataFrame({"town": categories(towns)})
    model = GradientBoostingClassifier(**OPTIONS, early_stopping=early_stopping)
    assert model.fit(X[:600], y[:600]).score(X[600:], y[600:]) > 0.95


def hours(n, rng, noise=0.5):
    """Few combinations of features: the mean depends on the hour and the weekday."""
    X = np.c_[rng.integers(0, 24, n), rng.integers(0, 7, n)]
    f = 2 * rng.normal(size=(24, 7))[X[:, 0], X[:, 1]]
    return X, f, f + noise * rng.normal(size=n)


@pytest.mark.parametrize("early_stopping", [True, "auto"])
@pytest.mark.parametrize("grow_policy", ["symmetric", "leaf-wise"])
def test_few_combinations_of_features_are_learnt(grow_policy, early_stopping):
    options = {"early_stopping": early_stopping, "grow_policy": grow_policy, "random_state": 0}
    rng = np.random.default_rng(0)
    X, f, y = hours(2000, rng)
    for loss in ("squared_error", "absolute_error"):
        model = GradientBoostingRegressor(loss, **options).fit(X, y)
        assert r2_score(f, model.predict(X)) > 0.95
    counts = rng.poisson(np.exp(f / 2))
    model = GradientBoostingRegressor("poisson", **options).fit(X, counts)
    assert r2_score(np.exp(f / 2), model.predict(X)) > 0.85
    two = GradientBoostingRegressor(**options).fit(X, np.c_[y, -y])
    assert r2_score(np.c_[f, -f], two.predict(X)) > 0.95
    offset = rng.normal(size=2000)
    shifted = GradientBoostingRegressor(**options).fit(X, y + offset, offset=offset)
    assert r2_score(f, shifted.predict(X)) > 0.95
    # Without noise, equal rows have equal targets, as copies have.
    model = GradientBoostingRegressor(**options).fit(X, f)
    assert r2_score(f, model.predict(X)) > 0.99
    bits = rng.integers(0, 2, (1000, 4))
    share = np.where(bits.sum(axis=1) % 2, 0.9, 0.1)
    classifier = GradientBoostingClassifier(**options).fit(bits, rng.random(1000) < share)
    assert np.abs(classifier.predict_proba(bits)[:, 1] - share).mean() < 0.1
    text = pd.DataFrame({"hour": categories(X[:, 0])})
    mean = rng.normal(size=24)[X[:, 0]]
    model = GradientBoostingRegressor(**options).fit(text, mean + y - f)
    assert r2_score(mean, model.predict(text)) > 0.95


@pytest.mark.parametrize("n_rows", [12_000, 400])
def test_few_combinations_of_large_and_small_tables(n_rows):
    X, f, y = hours(n_rows, np.random.default_rng(0))
    assert r2_score(f, GradientBoostingRegressor(random_state=0).fit(X, y).predict(X)) > 0.8


@pytest.mark.parametrize("early_stopping", [True, "auto"])
@pytest.mark.filterwarnings("ignore:boosting stopped after:UserWarning")
@pytest.mark.filterwarnings("ignore:column 0 looks like an identifier:UserWarning")
def test_ids_are_not_learnt(early_stopping):
    y = np.random.default_rng(0).normal(size=500)
    options = {"early_stopping": early_stopping, "random_state": 0}
    X = np.arange(500)
    model = GradientBoostingRegressor(**options).fit(X[:, None], y)
    assert np.std(model.predict(X[:, None])) < 0.3
    X, y = np.repeat(X[:300], 5), np.repeat(y[:300], 5)
    model = GradientBoostingRegressor(**options).fit(X[:, None], y)
    assert np.std(model.predict(X[:, None])) < 0.3


def test_copies_are_named_where_boosting_stops():
    rng = np.random.default_rng(1)
    X, y = np.repeat(rng.normal(size=(300, 3)), 4, axis=0), np.repeat(rng.normal(size=300), 4)
    with pytest.warns(UserWarning, match="1200 samples are copies of 300 different ones"):
        GradientBoostingRegressor(random_state=0).fit(X, y)
