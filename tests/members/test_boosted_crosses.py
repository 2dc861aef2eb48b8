"""Boosted trees on made columns."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.metrics import log_loss, r2_score

from mddf import DeepForestClassifier, DeepForestRegressor, explain
from mddf._members import boosted_crosses
from mddf._members.boosted_crosses import (
    BoostedCrossesClassifier,
    BoostedCrossesRegressor,
    gains_of_features,
)
from mddf._resampling.time_order import TimeOrder

CATEGORICAL = np.array([False, False, False, True, True])
CROSSES = {"members": ["boosted-crosses"], "random_state": 0}


@pytest.fixture(autouse=True)
def fewer_rounds(monkeypatch):
    monkeypatch.setitem(boosted_crosses._BOOSTING, "max_iter", 100)


def table(n=300, seed=0):
    """Three numbers and two categories; some cells are missing."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 5))
    X[:, 3] = rng.integers(0, 4, n)
    X[:, 4] = rng.integers(0, 12, n)
    X[::11, 1] = np.nan
    X[::13, 3] = np.nan
    return X


def numbers(X):
    """A target that depends on a difference and on a pair of categories."""
    first, second, _, group, other = np.nan_to_num(X).T
    return np.tanh(5 * (first - second)) + (group == other % 3)


def labels(X, n_classes=2):
    return np.digitize(numbers(X), [0.3, 1.2][: n_classes - 1])


def learned(model):
    """Arrays that a fit has learned."""
    trees = [trees.arrays for trees in model.model_.trees]
    return [array for arrays in trees for array in arrays.values()]


@pytest.mark.parametrize("n_classes", [2, 3])
def test_classifiers_learn_differences(n_classes):
    X, new = table(), table(seed=1)
    y = labels(X, n_classes)
    model = BoostedCrossesClassifier(CATEGORICAL, random_state=0).fit(X, y)
    probabilities = model.predict_proba(new)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1)
    assert log_loss(labels(new, n_classes), probabilities) < 0.5
    assert [0, 1] in model.crosses_.pairs.tolist()
    np.testing.assert_array_equal(model.predict(new), probabilities.argmax(axis=1))


@pytest.mark.parametrize("n_outputs", [1, 2])
def test_regressors_learn_differences(n_outputs):
    X, new = table(), table(seed=1)
    y, expected = (np.column_stack([numbers(rows), rows[:, 0]]) for rows in (X, new))
    model = BoostedCrossesRegressor(CATEGORICAL, random_state=0).fit(X, y[:, :n_outputs])
    predictions = model.predict(new)
    assert predictions.shape == (300, n_outputs)
    assert len(model.n_rounds_) == n_outputs
    assert r2_score(expected[:, :n_outputs], predictions) > 0.7


def test_made_columns_help_when_the_target_is_a_difference():
    """Without made columns, the same trees approximate the difference by steps."""
    X, new = table(600)[:, :3], table(1000, 1)[:, :3]
    y, expected = (np.tanh(5 * np.nan_to_num(rows[:, 0] - rows[:, 1])) for rows in (X, new))
    crossed = BoostedCrossesRegressor(CATEGORICAL[:3], random_state=0).fit(X, y)
    plain = DeepForestRegressor(1, members=["boosted"], random_state=0).fit(X, y)
    errors = [np.ravel(model.predict(new)) - expected for model in (crossed, plain)]
    assert np.square(errors[0]).mean() < 0.5 * np.square(errors[1]).mean()


def test_models_see_only_the_training_rows_of_their_fold():
    X = table()
    y = labels(X)
    folds = [(np.arange(150, 300), np.arange(150)), (np.arange(150), np.arange(150, 300))]
    forest = DeepForestClassifier(1, **CROSSES, cv=folds, refit=False)
    changed = np.where(np.arange(300) < 150, 1 - y, y)
    before, after = (
        clone(forest).fit(X, target)._layers[0].members[0].models[0] for target in (y, changed)
    )
    assert before.n_rounds_ == after.n_rounds_
    for first, second in zip(learned(before), learned(after), strict=True):
        np.testing.assert_array_equal(first, second)


def test_the_first_fold_chooses_the_rounds_of_all_folds():
    X = table()
    forest = DeepForestClassifier(1, **CROSSES, cv=3, refit=False).fit(X, labels(X))
    models = forest._layers[0].members[0].models
    assert models[0].n_rounds is None
    assert [model.n_rounds_ for model in models] == [models[0].n_rounds_] * 3
    assert models[1].n_rounds == models[0].n_rounds_


@pytest.mark.parametrize(
    "columns", [[0, 1, 2], [3, 4], [3], [0], [0, 4]], ids=lambda columns: f"columns {columns}"
)
def test_numbers_or_categories_only(columns):
    X = table()
    y = labels(X)
    model = BoostedCrossesClassifier(CATEGORICAL[columns], random_state=0)
    model.fit(X[:200, columns], y[:200])
    assert np.isfinite(model.predict_proba(X[:, columns])).all()
    regressor = BoostedCrossesRegressor(CATEGORICAL[columns], random_state=0)
    regressor.fit(X[:200, columns], numbers(X)[:200])
    assert np.isfinite(regressor.predict(X[:, columns])).all()


def test_constant_columns_and_columns_without_values():
    X = table()
    X[:, 0] = np.nan
    X[:, 1] = 3.0
    X[:, 3] = np.nan
    X[:, 4] = 0
    model = BoostedCrossesClassifier(CATEGORICAL, random_state=0).fit(X, labels(table()))
    assert np.isfinite(model.predict_proba(X)).all()
    X[:, 2] = 1.0
    model.fit(X, labels(table()))
    assert model.crosses_.n_columns == 0
    assert not model.feature_importances_.any()


@pytest.mark.parametrize("n", [2, 3, 7])
def test_hardly_any_rows(n):
    X = table(n)
    probabilities = BoostedCrossesClassifier(CATEGORICAL).fit(X, np.arange(n)).predict_proba(X)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1)
    model = BoostedCrossesRegressor(CATEGORICAL).fit(X, np.arange(n))
    assert np.isfinite(model.predict(X)).all()


def test_one_class_and_equal_targets():
    X = table()
    model = BoostedCrossesClassifier(CATEGORICAL).fit(X, np.full(len(X), 7))
    np.testing.assert_array_equal(model.predict_proba(X), np.ones((len(X), 1)))
    assert (model.predict(X) == 7).all()
    assert not model.feature_importances_.any()
    regressor = BoostedCrossesRegressor(CATEGORICAL).fit(X, np.full(len(X), 2.5))
    np.testing.assert_array_equal(regressor.predict(X), np.full((len(X), 1), 2.5))


def test_wide_tables_keep_some_columns():
    X = np.random.default_rng(0).normal(size=(60, 150))
    y = (X[:, 149] > X[:, 148]).astype(int)
    model = BoostedCrossesClassifier(np.zeros(150, bool), random_state=0).fit(X, y)
    assert len(model.columns_) == 60
    assert model.feature_importances_.shape == (150,)
    assert not model.feature_importances_[np.setdiff1d(np.arange(150), model.columns_)].any()


def test_many_rows_are_drawn(monkeypatch):
    monkeypatch.setattr(boosted_crosses, "_MOST_ROWS", 100)
    monkeypatch.setattr(boosted_crosses, "_MOST_ROWS_OF_ALL_FOLDS", 50)
    X = table()
    weight = np.random.default_rng(0).uniform(size=len(X))
    model = BoostedCrossesClassifier(CATEGORICAL, random_state=0).fit(X, labels(X), weight)
    again = clone(model).fit(X, labels(X), weight)
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))


def test_rows_without_weight_do_not_count():
    X = table()
    y = labels(X)
    weight = np.arange(len(X)) % 3 > 0
    model = BoostedCrossesClassifier(CATEGORICAL, random_state=0).fit(X, y, weight.astype(float))
    scaled = clone(model).fit(X, y, weight * 2.0)
    changed = np.where(weight, y, 1 - y)
    other = clone(model).fit(X, changed, weight.astype(float))
    np.testing.assert_array_equal(other.predict_proba(X), model.predict_proba(X))
    assert scaled.predict_proba(X).shape == (len(X), 2)


def test_unknown_categories_count_as_missing():
    X = table()
    model = BoostedCrossesClassifier(CATEGORICAL, random_state=0).fit(X, labels(X))
    new, missing = X.copy(), X.copy()
    new[:, 4] = 200
    missing[:, 4] = np.nan
    np.testing.assert_array_equal(model.predict_proba(new), model.predict_proba(missing))


def test_each_row_is_predicted_on_its_own():
    X = table()
    model = BoostedCrossesClassifier(CATEGORICAL, random_state=0).fit(X, labels(X))
    alone = np.vstack([model.predict_proba(row[None]) for row in X[:20]])
    np.testing.assert_array_equal(model.predict_proba(X)[:20], alone)


def test_importances_are_divided_among_sources():
    X = table(600)
    y = np.nan_to_num(X[:, 0] - X[:, 1])
    model = BoostedCrossesRegressor(CATEGORICAL, random_state=0).fit(X, y)
    importances = model.feature_importances_
    assert importances.sum() == pytest.approx(1)
    assert importances[:2].sum() > 0.9
    assert importances[:2].min() > 0.4
    np.testing.assert_array_equal(gains_of_features([model, model]), 2 * importances)
    assert gains_of_features([object()]) is None


def test_target_statistics_belong_to_their_categories():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=600), *rng.integers(0, 12, (2, 600))]).astype(float)
    y = rng.normal(size=(12, 12))[X[:, 1].astype(int), X[:, 2].astype(int)]
    model = BoostedCrossesRegressor(np.array([False, True, True]), random_state=0).fit(X, y)
    assert model.feature_importances_[1:].sum() > 0.9


@pytest.mark.parametrize("n_outputs", [1, 2])
def test_importances_of_deep_forests(n_outputs):
    X = table()
    y = labels(X) if n_outputs == 1 else np.column_stack([labels(X), X[:, 0] > 0])
    model = DeepForestClassifier(1, **CROSSES, cv=2).fit(X, y)
    assert model.feature_importances_.shape == (5,)
    assert model.feature_importances_.sum() == pytest.approx(1)
    assert model.feature_importances_[:2].sum() > 0.5


def test_shap_values_are_those_of_the_features():
    pytest.importorskip("shap")
    X = table()
    model = DeepForestRegressor(1, **CROSSES, cv=2).fit(X, np.nan_to_num(X[:, 0] - X[:, 1]))
    explanation = explain.shap_values(model, X[:5], background=X[:30])
    assert explanation.values.shape == (5, 5)
    sums = explanation.values.sum(axis=1) + explanation.base_values
    np.testing.assert_allclose(sums, model.predict(X[:5]))
    assert np.abs(explanation.values[:, :2]).sum() > 5 * np.abs(explanation.values[:, 2:]).sum()


def test_frames_groups_and_time_order():
    X = pd.DataFrame(table(), columns=list("abcde"))
    X["d"] = X["d"].map({0: "u", 1: "v", 2: "w", 3: "x"}).astype("category")
    y = labels(table())
    groups = np.arange(len(X)) // 3
    grouped = DeepForestClassifier(1, **CROSSES, cv=3).fit(X, y, groups=groups)
    ordered = DeepForestClassifier(1, **CROSSES, cv=TimeOrder(n_splits=3)).fit(X, y)
    for model in (grouped, ordered):
        assert np.isfinite(model.predict_proba(X)).all()
        assert [row["member"] for row in model.leaderboard_] == ["boosted-crosses"]


def test_the_number_of_threads_does_not_matter():
    X = table()
    one, two = (
        DeepForestClassifier(1, **CROSSES, cv=2, n_jobs=n_jobs).fit(X, labels(X))
        for n_jobs in (1, 2)
    )
    np.testing.assert_array_equal(one.predict_proba(X), two.predict_proba(X))
    np.testing.assert_array_equal(one.oof_probabilities_, two.oof_probabilities_)
