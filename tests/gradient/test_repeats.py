"""Rows with equal features: duplicates and repeated observations."""

import numpy as np
import pandas as pd
import pytest
from boosted_cases import repeats_of
from hypothesis import given, settings
from hypothesis import strategies as st

from mddf import GradientBoostingClassifier, GradientBoostingRegressor
from mddf._binning.high_cardinality import CategoryLevels
from mddf._gradient.repeats import copies_of
from mddf._gradient.target_encoding import TargetSums

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


@pytest.mark.parametrize("early_stopping", [False, True, "auto"])
@pytest.mark.parametrize("kind", ["distinct", "pairs", "pairs alone", "few cells", "lookup"])
@pytest.mark.parametrize("n_classes", [0, 2, 3])
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


def test_copies_share_a_place():
    keys, y = np.array([0, 0, 0, 1, 0]), np.array([1.0, 1, 5, 7, 3])
    unit, order = np.array([0, 0, 1, 2, 3]), np.array([4, 0, 1, 3, 2])
    before = TargetSums.from_outputs(y[:, None], None).before(keys, order, unit)[:, 0]
    prior = y.mean()
    expected = [(3 + prior) / 2, (3 + prior) / 2, (5 + prior) / 4, prior, prior]
    assert before == pytest.approx(expected)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 2**20), st.integers(1, 30))
def test_orders_keep_copies_together(seed, n_different):
    rng = np.random.default_rng(seed)
    numbers = rng.integers(0, n_different, 60)
    codes = np.zeros((60, 1), np.uint8)
    levels = CategoryLevels([0], numbers[:, None], np.array([n_different]))
    targets = (numbers % 3)[:, None]
    repeats = repeats_of(codes, levels, targets)
    assert repeats.n_units == len(np.unique(numbers))
    assert not repeats.has_conflicts
    assert repeats.is_lookup(repeats.n_units, 1)
    (order,) = repeats.unit_orders(np.array([seed], np.uint64))
    assert np.array_equal(np.sort(order), np.arange(60))
    assert np.count_nonzero(np.diff(repeats.unit[order])) == repeats.n_units - 1
    different = repeats.take(repeats.first_rows())
    (by_unit,) = different.unit_orders(np.array([seed], np.uint64))
    (by_row,) = different.row_orders(np.array([seed], np.uint64))
    assert np.array_equal(by_unit, by_row)


def test_equal_rows_of_different_targets_are_observations():
    codes = np.zeros((40, 2), np.uint8)
    targets = np.arange(40)[:, None] % 2
    codes[:, 0] = np.arange(40) // 4
    assert repeats_of(codes, None, targets).has_conflicts
    assert not repeats_of(codes, None, codes[:, :1].astype(int)).has_conflicts


def test_only_whole_weights_are_copies():
    assert copies_of(None) is None
    assert copies_of(np.array([1.0, 1.0])) is None
    assert copies_of(np.array([0.5, 2.0])) is None
    assert copies_of(np.array([1e9, 1.0])) is None
    assert copies_of(np.array([2.0, 1.0])).tolist() == [2, 1]
