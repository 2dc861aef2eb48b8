"""Target statistics of many-level categories in boosted members of deep forests."""

import pickle

import numpy as np
import pandas as pd
import pytest
from boosted_cases import answers
from table_cases import read_again

from mddf import DeepForestClassifier, DeepForestRegressor

GIVEN = {"n_estimators": 5, "random_state": 0}
MODELS = [DeepForestClassifier, DeepForestRegressor]
both = pytest.mark.parametrize("Model", MODELS)
ROWS = np.arange(400)
FOLDS = [(np.setdiff1d(ROWS, ROWS[i::3]), ROWS[i::3]) for i in range(3)]


def problem(Model, n_outputs=1, n=400, seed=0):
    """Numbers and many-level columns with missing values, and a target that depends on them."""
    rng = np.random.default_rng(seed)
    towns, trades = rng.integers(0, 60, n), rng.integers(0, 300, n)
    X = pd.DataFrame({"age": rng.integers(-5, 6, n) / 2, "town": [f"t{i}" for i in towns]})
    X["trade"] = pd.Series([f"p{i % 120}" for i in trades])
    X["colour"] = np.array(["red", "green"])[rng.integers(0, 2, n)]
    X.loc[rng.random(n) < 0.05, "town"] = None
    y = X["age"].to_numpy() / 2 + 2 * np.sin(3 * towns) + np.cos(trades % 120)
    y = y + rng.normal(size=(n, 1)).ravel() / 4
    if Model is DeepForestClassifier:
        return X, np.searchsorted(np.quantile(y, [1 / 3, 2 / 3]), y)
    return X, y if n_outputs == 1 else np.column_stack([y, -y + X["age"]])


@pytest.mark.parametrize(("Model", "n_outputs"), [*((M, 1) for M in MODELS), (MODELS[1], 2)])
def test_the_mean_of_the_folds_each_of_which_has_statistics(Model, n_outputs):
    X, y = problem(Model, n_outputs)
    calibration = {"calibrate": False} if Model is DeepForestClassifier else {}
    model = Model(1, members=["boosted"], cv=FOLDS, **GIVEN, **calibration).fit(X, y)
    models = model._fitted.stages[0].members[0].models
    assert len(models) == 3
    new, _ = problem(Model, n=300, seed=1)
    new.loc[:9, "trade"] = "new"
    table = read_again(model, new)
    codes = model._binner.encode(table).codes
    levels = model._binner.levels(table, [1, 2])
    means = []
    for fold_model in models:
        raw = []
        for trees, statistics in zip(fold_model.trees, fold_model.statistics, strict=True):
            features = np.hstack([codes, statistics.transform(levels)])
            raw.append(trees.raw(features))
        means.append(fold_model.finish(raw, len(new)))
    expected = np.mean(means, axis=0)
    if Model is DeepForestRegressor:
        expected = model._fitted_stages().units.restore(expected)
    result = answers(model, new).reshape(len(new), -1)
    np.testing.assert_allclose(result, expected, rtol=1e-9)
    assert answers(pickle.loads(pickle.dumps(model)), new).tolist() == answers(model, new).tolist()


@both
def test_folds_use_only_the_targets_of_their_rows(Model):
    X, y = problem(Model)
    model = Model(1, members=["boosted"], cv=FOLDS, **GIVEN).fit(X, y)
    other = y.copy()
    held_out = FOLDS[0][1]
    other[held_out] = np.random.default_rng(0).permutation(y[held_out])
    again = Model(1, members=["boosted"], cv=FOLDS, **GIVEN).fit(X, other)
    first, two = (m._fitted.stages[0].members[0].models[0].statistics[0] for m in (model, again))
    for a, b in zip(first.codes, two.codes, strict=True):
        if Model is DeepForestClassifier:  # numbers are standardised by all rows
            np.testing.assert_array_equal(a, b)
        assert len(a) == len(b)


@both
def test_informative_levels_get_statistics(Model):
    X, y = problem(Model)
    model = Model(1, members=["boosted"], **GIVEN).fit(X, y)
    numbers = X[["age"]].assign(**{c: X[c].astype("category").cat.codes for c in X.columns[1:]})
    plain = Model(1, members=["boosted"], **GIVEN).fit(numbers, y)
    loss = "log_loss" if Model is DeepForestClassifier else "rmse"
    assert model.leaderboard_[0][loss] < 0.9 * plain.leaderboard_[0][loss]


@both
def test_other_members_get_codes(Model):
    """Forests and linear members do not change if boosted trees are added."""
    X, y = problem(Model)
    members = ["random", "linear"]
    with pytest.warns(UserWarning, match="has 113 categories, more than max_bins=100"):
        alone = Model(1, members=members, max_bins=100, **GIVEN).fit(X, y)
    beside = Model(1, members=[*members, "boosted"], max_bins=100, **GIVEN).fit(X, y)
    loss = "log_loss" if Model is DeepForestClassifier else "rmse"
    before, after = (
        {row["member"]: row[loss] for row in model.leaderboard_ if row[loss] == row[loss]}
        for model in (alone, beside)
    )
    both_fitted = before.keys() & after.keys()  # a race may have left some out
    assert both_fitted
    assert [before[name] for name in both_fitted] == [after[name] for name in both_fitted]


@both
def test_checkpoints_depend_on_levels(Model, tmp_path):
    """Tables with equal codes may have different levels, because rare levels share a code."""
    X, y = problem(Model)
    X = X.assign(trade=[f"p{i % 97 if i < 97 else 97 + i % 20:03}" for i in range(400)])
    other = X.assign(trade=X["trade"].replace({"p000": "p001", "p001": "p000"}))
    parameters = {"members": ["boosted"], "max_bins": 16, "checkpoint": str(tmp_path), **GIVEN}
    first = Model(1, **parameters).fit(X, y)
    assert np.array_equal(answers(Model(1, **parameters).fit(X, y), X), answers(first, X))
    with pytest.raises(ValueError, match="checkpoint"):
        Model(1, **parameters).fit(other, y)
