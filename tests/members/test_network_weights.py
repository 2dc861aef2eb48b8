"""Networks of layers beside a twin, on tables of any columns and weights, and on wide ones."""

import numpy as np
import pytest
from scipy.special import softmax
from sklearn.metrics import r2_score

from mddf._members.kernel import NormalScores
from mddf._members.linear import Encoding
from mddf._members.network import NetworkClassifier, NetworkRegressor

BOTH = pytest.mark.parametrize("Kind", [NetworkClassifier, NetworkRegressor])
CATEGORY = np.array([False, False, True, False])
NONE = np.zeros(4, bool)


def table(n, seed=0):
    """Two numbers, codes of categories and a number that is missing now and then."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    X[:, 2] = rng.integers(0, 4, n) * 2
    X[rng.random(n) < 0.3, 3] = np.nan
    X[rng.random(n) < 0.1, 2] = np.nan
    return X


def smooth(X):
    """A function of all columns, and of what is missing."""
    return np.sin(2 * X[:, 0]) * X[:, 1] + (X[:, 2] == 4) + 1.5 * np.isnan(X[:, 3])


def says(model, X):
    return model.predict_proba(X) if isinstance(model, NetworkClassifier) else model.predict(X)


def targets(Kind, X):
    return (smooth(X) > 0.7) * 3 if Kind is NetworkClassifier else smooth(X)


def twin(model, X):
    """What each network makes of rows, unit by unit."""
    codes = np.asarray(model.categorical)
    scores = NormalScores.of(X, Encoding.of(X, codes))
    categories = [
        found
        for column in X[:, codes].T
        for found in (np.isnan(column), *(column == code for code in range(9)))
        if found.any()
    ]
    missing = [np.isnan(column) for column in X[:, ~codes].T if np.isnan(column).any()]
    values = np.column_stack([scores.numbers(X), *categories, *missing]).astype(float)
    found = []
    for networks in range(model.n_networks):
        hidden = values
        for weights, biases in zip(model.weights_, model.biases_, strict=True):
            sums = hidden @ weights[networks].astype(float) + biases[networks]
            hidden = np.where(sums < 0, sums / (1 + np.abs(sums)), sums)
        found.append(sums)
    return np.stack(found)


@pytest.mark.parametrize("categorical", [CATEGORY, NONE], ids=["codes", "numbers"])
def test_predictions_are_those_of_a_twin(categorical):
    X = table(150)
    y = smooth(X)
    model = NetworkClassifier(categorical, random_state=0).fit(X, np.digitize(y, [0, 1]) * 2)
    shares = softmax(twin(model, X), axis=2)
    np.testing.assert_allclose(model.predict_proba(X), shares.mean(axis=0), atol=1e-12)
    y = np.column_stack([y, 1e5 * X[:, 0]])
    model = NetworkRegressor(categorical, random_state=0).fit(X, y)
    values = twin(model, X) * y.std(axis=0) + y.mean(axis=0)
    values = np.clip(values, y.min(axis=0), y.max(axis=0)).mean(axis=0)
    np.testing.assert_allclose(model.predict(X), values, rtol=1e-9, atol=1e-9)


def test_smooth_functions_categories_and_what_is_missing_are_found():
    X, new = table(500), table(500, 1)
    model = NetworkRegressor(CATEGORY, random_state=0).fit(X, smooth(X))
    assert r2_score(smooth(new), model.predict(new)) > 0.9
    labels = np.array(["no", "yes"])
    y = labels[(smooth(X) > 0.7) * 1]
    model = NetworkClassifier(CATEGORY, random_state=0).fit(X, y)
    assert np.mean(model.predict(new) == labels[(smooth(new) > 0.7) * 1]) > 0.85


COLUMNS = {
    "one number": table(40)[:, :1],
    "one with gaps": table(40)[:, 3:],
    "one category": table(40)[:, 2:3],
    "nothing but NaN": np.full((40, 2), np.nan),
    "constants": np.ones((40, 3)),
    "NaN and constants": np.column_stack([np.full(40, np.nan), np.ones(40), np.arange(40) % 2]),
    "large": np.where(table(40)[:, :2] > 0, 1e100, -1e100),
    "small": 1e-300 * table(40)[:, :2],
    "one row": table(1),
    "two rows": table(2),
    "wide": np.random.default_rng(0).normal(size=(12, 300)),
}


@BOTH
@pytest.mark.parametrize("codes", [False, True])
@pytest.mark.parametrize("name", COLUMNS)
def test_any_columns(Kind, codes, name):
    X = COLUMNS[name]
    if codes:
        X = np.clip(np.abs(np.round(X)), 0, 9)
    model = Kind(np.full(X.shape[1], codes), random_state=0).fit(X, np.arange(len(X)) % 3)
    asked = np.vstack([X, np.full(X.shape[1], 1e100), np.full(X.shape[1], np.nan)])
    said = says(model, asked)
    assert np.isfinite(said).all()
    alone = [says(model, asked[i : i + 1])[0] for i in range(len(asked))]
    np.testing.assert_array_equal(alone, said)


@BOTH
@pytest.mark.parametrize("least", [1e-300, 1e-13, 0.0])
def test_rows_of_hardly_any_weight_are_as_if_they_were_not_there(Kind, least):
    X = table(80)
    y = np.where(np.arange(80) < 60, targets(Kind, X), 1e30 if Kind is NetworkRegressor else 3)
    weight = np.where(np.arange(80) < 60, np.random.default_rng(0).uniform(1, 2, 80), least)
    model = Kind(CATEGORY, random_state=0).fit(X, y, weight)
    few = Kind(CATEGORY, random_state=0).fit(X[:60], y[:60], weight[:60])
    np.testing.assert_array_equal(says(model, X), says(few, X))


@BOTH
@pytest.mark.parametrize("unit", [5e-324, 2.0**-1000, 2.0**10, 2.0**1020])
def test_units_of_weights_do_not_matter(Kind, unit):
    X = table(80)
    weight = 1.0 + np.arange(80) % 4
    found = [
        says(Kind(CATEGORY, random_state=0).fit(X, targets(Kind, X), scale * weight), X)
        for scale in (1.0, unit)
    ]
    np.testing.assert_array_equal(*found)


def test_weights_move_predictions():
    X = np.zeros((100, 4))
    y, weight = np.arange(100) % 2, np.where(np.arange(100) % 2, 4.0, 1.0)
    said = NetworkClassifier(NONE, random_state=0).fit(X, y, weight).predict_proba(X)
    np.testing.assert_allclose(said[:, 1], 0.8, atol=0.02)
    said = NetworkRegressor(NONE, random_state=0).fit(X, y, weight).predict(X)
    np.testing.assert_allclose(said, 0.8, atol=0.02)


def test_a_class_without_weight_keeps_its_column():
    X = table(60)
    y = np.arange(60) % 3
    model = NetworkClassifier(NONE, random_state=0).fit(X, y, (y < 2) * 1.0)
    said = model.predict_proba(X)
    assert said.shape == (60, 3)
    assert said[:, 2].max() < 1e-3


@BOTH
def test_of_wide_tables_columns_that_split_best_are_seen(Kind):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100, 1000))
    y = (X[:, 700] > 0) * 1
    model = Kind(np.zeros(1000, bool), random_state=0).fit(X, y)
    assert len(model.columns_) == 100
    assert 700 in model.columns_
    others = X.copy()
    others[:, np.setdiff1d(np.arange(1000), model.columns_)] = np.nan
    np.testing.assert_array_equal(says(model, others), says(model, X))
    assert np.corrcoef(says(model, X)[:, -1], y)[0, 1] > 0.9
