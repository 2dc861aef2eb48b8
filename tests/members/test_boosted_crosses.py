"""Boosted trees on made columns."""

import numpy as np
import pytest
from sklearn.metrics import accuracy_score, r2_score

from mddf import (
    DeepForestClassifier,
    DeepForestRegressor,
    GradientBoostingRegressor,
    explain,
)
from mddf._binning.binned_table import coded_table
from mddf._binning.bins import apply_bins, find_bins
from mddf._members.boosted import BoostingData, boost_parts
from mddf._members.boosted_crosses import boost_crosses
from mddf._training.tasks import RegressionTask

pytestmark = pytest.mark.usefixtures("few_rounds")
CROSSES = {"members": ["boosted-crosses"], "cv": 2, "random_state": 0}
CATEGORICAL = {"categorical_features": [3, 4]}


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
    """A target that depends on a difference, and a little on a category."""
    first, second, _, group, _ = np.nan_to_num(X).T
    return np.tanh(5 * (first - second)) + 0.2 * (group == 1)


def labels(X, n_classes=2):
    return np.digitize(numbers(X), [0, 0.9][: n_classes - 1])


def models_of(forest):
    return forest._layers[0].members[0].models


def learned(model):
    """Arrays that a fold has learned."""
    arrays = [array for trees in model.boosted.trees for array in trees.arrays.values()]
    return [*arrays, *vars(model.made.crosses).values(), *vars(model.made.bins).values()]


@pytest.mark.parametrize("n_classes", [2, 3])
def test_classifiers_learn_differences(n_classes):
    X, new = table(), table(seed=1)
    forest = DeepForestClassifier(1, **CROSSES, **CATEGORICAL).fit(X, labels(X, n_classes))
    assert accuracy_score(labels(new, n_classes), forest.predict(new)) > 0.85
    for model in models_of(forest):
        assert [0, 1] in model.made.crosses.pairs.tolist()
        assert len(model.made.crosses.grouped)


def test_made_columns_help_when_the_target_is_a_difference():
    X, new = table(600), table(1000, 1)
    y, expected = (np.column_stack([numbers(rows), rows[:, 2]]) for rows in (X, new))
    crossed, plain = (
        DeepForestRegressor(1, members=[name], cv=2, random_state=0).fit(X, y).predict(new)
        for name in ("boosted-crosses", "boosted")
    )
    assert r2_score(expected[:, 0], crossed[:, 0]) > 0.9
    errors = [np.square(predicted - expected).mean(axis=0) for predicted in (crossed, plain)]
    assert errors[0][0] < 0.8 * errors[1][0]


def _data(X, y, weights=None):
    bins = find_bins(X, sample_weight=weights)
    table_of_rows = coded_table(bins, apply_bins(X, bins))
    keys = np.random.default_rng(0).integers(2**62, size=len(X)).astype(np.uint64)
    return BoostingData(table_of_rows, RegressionTask(y[:, None], weights), weights, keys)


def test_the_trees_are_those_of_a_table_with_the_made_columns():
    """With one part, the result is that of boosted trees on the wider table."""
    X = table()[:, :3]
    y = numbers(table())
    data = _data(X, y)
    model = GradientBoostingRegressor(max_depth=3, max_iter=20, learning_rate=0.2)
    parts = [(np.arange(200), np.arange(200, 300))]
    ((crossed, vectors),) = boost_crosses(model, data, X, parts, (1, 2), rounds=[20])
    wide = crossed.made.table(data.table, X)
    assert wide.bins.n_columns == 3 + 6
    expected_codes = apply_bins(crossed.made.crosses.transform(X), crossed.made.bins)
    np.testing.assert_array_equal(wide.codes[:, 3:], expected_codes)
    plain = BoostingData(wide, data.task, None, data.keys)
    ((_, expected),) = boost_parts(model, plain, parts, (1, 2), [20])
    np.testing.assert_array_equal(vectors, expected)


def test_folds_share_the_rounds_and_the_number_of_columns():
    """A fold without a leading number has constant columns in the place of made columns."""
    X = table()[:, :3]
    y = np.where(np.arange(300) < 150, 0.0, numbers(table()))
    parts = [(np.arange(150), np.arange(150, 300)), (np.arange(150, 300), np.arange(150))]
    model = GradientBoostingRegressor(max_depth=3, max_iter=20, learning_rate=0.2)
    fits = boost_crosses(model, _data(X, y), X, parts, (1, 2), rounds=None)
    first, second = (crossed for crossed, _ in fits)
    assert first.rounds == second.rounds
    assert first.made.crosses.n_columns == 0
    assert second.made.crosses.n_columns > 0
    assert first.made.bins.n_columns == second.made.bins.n_columns
    np.testing.assert_array_equal(first.made.codes(X), 0)


@pytest.mark.parametrize("weighted", [False, True])
def test_models_see_only_the_training_rows_of_their_fold(weighted):
    """The leading columns also do not depend on held-out rows, in which others matter."""
    X = np.random.default_rng(0).normal(size=(300, 12))
    weights = np.random.default_rng(0).integers(0, 3, 300) * 1.0 if weighted else None
    is_held_out = np.arange(300) < 150
    y = np.where(is_held_out, 3 * X[:, 9], X[:, 0])
    changed = np.where(is_held_out, 3 * X[:, 5], X[:, 0])
    parts = [(np.arange(150, 300), np.arange(150)), (np.arange(150), np.arange(150, 300))]
    model = GradientBoostingRegressor(max_depth=3, max_iter=20, learning_rate=0.2)
    before, after = (
        boost_crosses(model, _data(X, target, weights), X, parts, (1, 2), rounds=[20])
        for target in (y, changed)
    )
    for first, second in zip(learned(before[0][0]), learned(after[0][0]), strict=True):
        np.testing.assert_array_equal(first, second)
    np.testing.assert_array_equal(before[0][1], after[0][1])
    assert np.any(before[1][1] != after[1][1])


def test_noise_is_not_learned_from_held_out_rows():
    """Out-of-fold predictions of noise are no better than the mean."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100, 90))
    y = rng.normal(size=100)
    forest = DeepForestRegressor(1, **CROSSES | {"cv": 5}).fit(X, y)
    assert r2_score(y, forest.oof_prediction_) < 0.05


def test_the_comparison_decides_whether_the_member_is_trained():
    X = table(500)
    members = {"members": ["boosted-crosses", "boosted", "random"], "n_estimators": 10}
    forest = DeepForestRegressor(1, **CROSSES | members).fit(X, numbers(X))
    (decision,) = _decisions(forest)
    assert decision == "kept"
    assert _row(forest)["weight"] > 0.3
    X = np.random.default_rng(1).normal(size=(500, 5))
    forest.fit(X, X[:, 0] > 0)
    assert _decisions(forest) == ["left out"]
    assert np.isnan(_row(forest)["rmse"])


def _decisions(forest):
    return [
        row["decision"]
        for row in forest.fit_report_
        if row["member"] == "boosted-crosses" and row["candidate"] == "with made columns"
    ]


def _row(forest):
    (row,) = (row for row in forest.leaderboard_ if row["member"] == "boosted-crosses")
    return row


def test_wide_tables_have_no_made_columns_next_to_boosted_trees():
    X = np.random.default_rng(0).normal(size=(60, 150))
    y = (X[:, 149] > X[:, 148]).astype(int)
    members = {"members": ["boosted", "boosted-crosses"]}
    forest = DeepForestClassifier(1, **CROSSES | members).fit(X, y)
    assert [member.name for member in forest._layers[0].members] == ["boosted"]
    alone = DeepForestClassifier(1, **CROSSES).fit(X, y)
    assert models_of(alone)[0].made.bins.n_columns <= 30
    assert np.isfinite(alone.predict_proba(X)).all()


def test_numbers_or_categories_only():
    for columns in [[0, 1, 2], [3, 4], [3], [0], [0, 4]]:
        X = table()
        y = labels(X)
        categorical = [i for i, column in enumerate(columns) if column >= 3]
        forest = DeepForestClassifier(1, **CROSSES, categorical_features=categorical)
        forest.fit(X[:200][:, columns], y[:200])
        assert np.isfinite(forest.predict_proba(X[:, columns])).all()


def test_constant_columns_and_columns_without_values():
    X = table()
    X[:, 0] = np.nan
    X[:, 1] = 3.0
    X[:, 3] = np.nan
    X[:, 4] = 0
    forest = DeepForestClassifier(1, **CROSSES, **CATEGORICAL).fit(X, labels(table()))
    assert np.isfinite(forest.predict_proba(X)).all()
    X[:, 2] = 1.0
    forest.fit(X, labels(table()))
    assert models_of(forest)[0].made.bins.n_columns == 0
    regressor = DeepForestRegressor(1, **CROSSES).fit(X, np.full(300, 2.5))
    np.testing.assert_allclose(regressor.predict(X), 2.5)


@pytest.mark.parametrize("n", [6, 20])
def test_hardly_any_rows(n):
    X = table(n)
    forest = DeepForestClassifier(1, **CROSSES).fit(X, np.arange(n) % 2)
    assert np.isfinite(forest.predict_proba(X)).all()


def test_new_categories_and_large_numbers():
    X = table()
    forest = DeepForestClassifier(1, **CROSSES, **CATEGORICAL).fit(X, labels(X))
    new, missing = X.copy(), X.copy()
    new[:, 4] = 200
    missing[:, 4] = np.nan
    with pytest.warns(UserWarning, match="categories that fit did not see"):
        probabilities = forest.predict_proba(new)
    np.testing.assert_array_equal(probabilities, forest.predict_proba(missing))
    X[:, :3] *= 1e200
    assert np.isfinite(forest.predict_proba(X)).all()


def test_shap_values_and_importances_are_those_of_the_features():
    pytest.importorskip("shap")
    X = table(150)
    y = numbers(X)
    forest = DeepForestRegressor(1, **CROSSES).fit(X, y)
    explanation = explain.shap_values(forest, X[:3], background=X[:10])
    assert explanation.values.shape == (3, 5)
    sums = explanation.values.sum(axis=1) + explanation.base_values
    np.testing.assert_allclose(sums, forest.predict(X[:3]))
    result = explain.importances(forest, X, y, n_repeats=2, random_state=0)
    assert set(np.argsort(-result.importances_mean)[:2].tolist()) == {0, 1}


def test_the_number_of_threads_does_not_matter():
    X = table()
    single, threaded = (
        DeepForestClassifier(1, **CROSSES, n_jobs=n_jobs).fit(X, labels(X)) for n_jobs in (1, 2)
    )
    for first, second in zip(models_of(single), models_of(threaded), strict=True):
        for left, right in zip(learned(first), learned(second), strict=True):
            np.testing.assert_array_equal(left, right)
    np.testing.assert_array_equal(single.predict_proba(X), threaded.predict_proba(X))


@pytest.mark.filterwarnings("ignore:time_limit")
@pytest.mark.parametrize("limit", [0.05, 60])
def test_limits_of_time(limit):
    X = table()
    members = {"members": ["random", "boosted", "boosted-crosses"], "n_estimators": 5}
    forest = DeepForestClassifier(1, **CROSSES | members, time_limit=limit).fit(X, labels(X))
    assert np.isfinite(forest.predict_proba(X)).all()
    assert _row(forest)["member"] == "boosted-crosses"
