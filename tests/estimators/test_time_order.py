"""Fits in time order: figures that do not depend on labels of the future."""

import numpy as np
import pandas as pd
import pytest
from mddf.baselines import GCForestClassifier
from scipy import sparse
from sklearn.base import clone
from sklearn.metrics import log_loss
from sklearn.model_selection import TimeSeriesSplit

from mddf import (
    DeepForestClassifier,
    DeepForestRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    MDDFClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
    TimeOrder,
    by_columns,
)

N = 240
BLOCK = 40
CASCADES = (MDDFClassifier, GCForestClassifier, DeepForestClassifier)


def drifting(seed=0, n=N):
    """Rows in time order whose labels follow a drifting rule."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    turn = np.linspace(0, 2, n)
    return X, np.where(X[:, 0] + turn * X[:, 1] > 0, "up", "down")


def cascade(kind, **options):
    if kind is DeepForestClassifier:
        options = {"members": ["random", "completely-random"]} | options
    return kind(2, n_estimators=10, cv=TimeOrder(gap=2), random_state=0).set_params(**options)


@pytest.mark.parametrize("kind", CASCADES)
def test_rows_without_a_past_are_left_out_and_counted(kind):
    X, y = drifting()
    model = cascade(kind).fit(X, y)
    is_unknown = np.isnan(model.oof_probabilities_).any(axis=1)
    assert np.flatnonzero(is_unknown).tolist() == list(range(BLOCK))
    assert model.n_without_oof_ == BLOCK
    known = model.oof_probabilities_[~is_unknown]
    np.testing.assert_allclose(known.sum(axis=1), 1)
    accuracy = np.mean(model.classes_[known.argmax(axis=1)] == y[~is_unknown])
    assert accuracy == pytest.approx(model.history_["accuracy"][model.n_layers_ - 1], abs=0.02)
    assert np.isfinite(model.predict_proba(X)).all()


@pytest.mark.parametrize("kind", CASCADES)
def test_the_future_does_not_change_the_past(kind):
    """Other labels of the last block: predictions of the rows before stay the same.

    Coefficients and calibrations are chosen by all blocks, so that one layer is looked at.
    """
    X, y = drifting()
    future = y.copy()
    future[-BLOCK:] = np.where(y[-BLOCK:] == "up", "down", "up")
    options = {"n_layers": 1, "calibrate": False}
    if kind is DeepForestClassifier:
        forest = RandomForestClassifier(10, random_state=0)
        options["members"] = [("forest", forest)]
    before, after = (
        cascade(kind).set_params(**options).fit(X, labels).oof_probabilities_
        for labels in (y, future)
    )
    np.testing.assert_array_equal(before[:-BLOCK], after[:-BLOCK])
    assert not np.array_equal(y, future)


@pytest.mark.parametrize("kind", CASCADES)
def test_out_of_fold_vectors_come_from_models_of_the_past(kind):
    X, y = drifting()
    features = cascade(kind, n_layers=1).fit_transform(X, y)
    assert np.isnan(features[:BLOCK]).all()
    assert np.isfinite(features[BLOCK:]).all()


@pytest.mark.filterwarnings("ignore:the rows are sorted")
def test_out_of_fold_loss_is_near_the_loss_of_the_future():
    """Where levels change with time, independent folds are far too optimistic."""
    rng = np.random.default_rng(1)
    level = 2 * rng.normal(size=15).repeat(40)
    X = np.column_stack([rng.normal(size=(600, 4)), np.arange(600)])
    y = np.where(X[:, 0] + level > 0, "up", "down")
    past, future = slice(0, 480), slice(480, 600)
    options = {"n_estimators": 30, "random_state": 0, "members": ["random", "boosted"]}
    ratios = {}
    for name, cv in {"time": TimeOrder(), "independent": 5}.items():
        model = DeepForestClassifier(1, cv=cv, **options).fit(X[past], y[past])
        known = ~np.isnan(model.oof_probabilities_[:, 0])
        claimed = log_loss(y[past][known], model.oof_probabilities_[known])
        ratios[name] = claimed / log_loss(y[future], model.predict_proba(X[future]))
    assert 0.9 < ratios["time"] < 1.2
    assert ratios["independent"] < 0.5


@pytest.mark.parametrize("kind", [*CASCADES, DeepForestRegressor])
def test_a_splitter_of_scikit_learn_is_the_same(kind):
    X, y = drifting()
    y = y if kind is not DeepForestRegressor else X[:, 0] * X[:, 1]
    options = {} if kind in CASCADES[:2] else {"members": ["random", "linear"]}
    models = [
        kind(2, n_estimators=5, cv=cv, random_state=0, **options).fit(X, y)
        for cv in (TimeOrder(n_splits=3, gap=2), TimeSeriesSplit(3, gap=2))
    ]
    expected, result = (model.predict(X) for model in models)
    np.testing.assert_array_equal(expected, result)


def test_intervals_are_of_rows_with_a_past():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 3))
    y = X[:, 0] + rng.normal(size=600)
    members = [("forest", RandomForestRegressor(20, min_samples_leaf=5, random_state=0))]
    model = DeepForestRegressor(1, members=members, cv=TimeOrder(), random_state=0)
    model.fit(X[:400], y[:400])
    assert np.isnan(model.oof_prediction_).sum() == model.n_without_oof_ > 0
    for adaptive in (False, True):
        low, high = model.predict_interval(X[400:], 0.8, adaptive=adaptive).T
        assert 0.7 < np.mean((low < y[400:]) & (y[400:] < high)) < 0.9


def test_the_predicting_model_is_fitted_on_all_rows():
    """Boosted trees usually keep the models of folds; here they are refitted."""
    X, y = drifting()
    model = DeepForestClassifier(
        1, n_estimators=5, members=["boosted", "random"], cv=TimeOrder(), random_state=0
    ).fit(X, y)
    by_name = {member.name: member for member in model._fitted.stages[0].members}
    assert len(by_name["boosted"].models) == 1
    fold_model = cascade(DeepForestClassifier, refit=False, members=["random"]).fit(X, y)
    (member,) = fold_model._fitted.stages[0].members
    assert sum(block.n_trees for block in member.models) == 10


@pytest.mark.parametrize("early_stopping", ["auto", True])
@pytest.mark.parametrize("kind", [GradientBoostingClassifier, GradientBoostingRegressor])
def test_boosting_stops_by_the_last_rows(kind, early_stopping):
    """A rule that no longer holds gives fewer trees than independent folds do."""
    X, y = drifting(seed=3, n=400)
    y = (y == "up").astype(int)
    y[300:] = 1 - y[300:]
    options = {"early_stopping": early_stopping, "max_iter": 100, "random_state": 0}
    with_order = kind(cv=TimeOrder(n_splits=3), **options).fit(X, y)
    independent = kind(**options).fit(X, y)
    assert with_order.n_iter_ < independent.n_iter_


def test_boosting_holds_groups_out_together():
    rng = np.random.default_rng(0)
    groups = np.repeat(np.arange(40), 5)
    X = rng.normal(size=(40, 4))[groups] + 0.01 * rng.normal(size=(200, 4))
    y = (np.arange(40) % 2)[groups]
    options = {"max_iter": 100, "random_state": 0}
    honest = GradientBoostingClassifier(**options).fit(X, y, groups=groups)
    assert honest.validation_score_.max() < -0.6
    assert GradientBoostingClassifier(**options).fit(X, y).validation_score_.max() > -0.4


def visits(n=400):
    """Rows whose level rises, with dates as a column; one column is a category."""
    rng = np.random.default_rng(0)
    day = pd.date_range("2022-01-01", periods=n)
    X = pd.DataFrame({"a": rng.normal(size=n), "day": day, "k": rng.choice(["u", "v"], n)})
    return X, X["a"].to_numpy() + (X["k"] == "u") + 0.02 * np.arange(n)


MODELS = [
    GradientBoostingRegressor(max_iter=20, random_state=0),
    DeepForestRegressor(1, n_estimators=3, members=["random", "linear"], random_state=0),
]


@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
def test_a_column_that_only_orders_is_no_feature(model, tmp_path):
    X, y = visits()
    X.to_parquet(tmp_path / "rows.parquet")
    alone = X.drop(columns="day")
    expected = clone(model).set_params(cv=TimeOrder(X["day"])).fit(alone, y).predict(alone)
    for time in ("day", 1):
        for table in (X, by_columns(tmp_path / "rows.parquet")):
            fitted = clone(model).set_params(cv=TimeOrder(time)).fit(table, y)
            assert fitted.feature_names_in_.tolist() == ["a", "k"]
            for later in (X, alone, X.assign(day="?"), table):
                np.testing.assert_array_equal(fitted.predict(later), expected)
    marked = [[2], [False, False, True], ["k"]]
    for categories in marked:
        fitted.set_params(categorical_features=categories).fit(X, y)
        np.testing.assert_array_equal(fitted.predict(X), expected)


@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
@pytest.mark.parametrize("convert", [np.asarray, by_columns, sparse.csr_matrix])
def test_a_column_of_an_array_that_only_orders(model, convert):
    X = np.random.default_rng(0).normal(size=(300, 3))
    X[:, 2] = np.arange(300)
    y = X[:, 0] + 0.1 * X[:, 2]
    model = clone(model).set_params(cv=TimeOrder(-1))
    if convert is sparse.csr_matrix and "members" in model.get_params():
        model.set_params(members=["random"])
    fitted = model.fit(convert(X), y)
    later = X.copy()
    later[:, 2] = 1e6
    np.testing.assert_array_equal(fitted.predict(convert(later)), fitted.predict(convert(X)))
    with_time = clone(model).set_params(cv=TimeOrder(2, as_feature=True)).fit(X, y)
    assert not np.array_equal(with_time.predict(later), with_time.predict(X))


@pytest.mark.filterwarnings("ignore:the rows are sorted")
@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
def test_days_are_a_feature_only_where_they_predict_later_rows(model, tmp_path):
    X, y = visits()
    X.to_parquet(tmp_path / "rows.parquet")
    in_order = clone(model).set_params(cv=TimeOrder("day", as_feature=True))
    # After 28 years months, weekdays and days of the year are the same.
    later = X.assign(day=X["day"] + pd.DateOffset(years=28))

    def uses_days(fitted):
        assert fitted.feature_names_in_.tolist() == ["a", "day", "k"]
        return not np.array_equal(fitted.predict(later), fitted.predict(X))

    assert uses_days(in_order.fit(X, y))
    expected = in_order.predict(X)
    table = by_columns(tmp_path / "rows.parquet")
    np.testing.assert_array_equal(in_order.fit(table, y).predict(table), expected)
    assert uses_days(clone(model).set_params(cv=TimeOrder()).fit(X, y))
    assert not uses_days(in_order.fit(X, X["a"]))
    assert not uses_days(clone(model).fit(X, y))


def test_days_of_several_targets_are_no_feature():
    X, y = visits()
    later = X.assign(day=X["day"] + pd.DateOffset(years=28))
    model = cascade(DeepForestClassifier, cv=TimeOrder("day", as_feature=True))
    Y = np.column_stack([y > np.quantile(y, 0.25)] * 2).astype(int)
    model.fit(X, Y)
    np.testing.assert_array_equal(model.predict_proba(later), model.predict_proba(X))


def test_a_bad_choice_of_the_feature():
    X, y = visits(60)
    model = GradientBoostingRegressor(max_iter=2, cv=TimeOrder("day", as_feature="no"))
    with pytest.raises(ValueError, match="as_feature must be True or False, got 'no'"):
        model.fit(X, y)
