"""DeepForestRegressor: weights, refit, intervals, and targets of any size."""

import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import load_diabetes, make_friedman1
from sklearn.exceptions import DataConversionWarning
from sklearn.linear_model import GammaRegressor, LinearRegression
from sklearn.metrics import r2_score
from sklearn.model_selection import GroupKFold, cross_val_predict
from sklearn.svm import SVR
from sklearn_checks import WEIGHT_CHECKS, sklearn_checks

from mddf import (
    DeepForestRegressor,
    GradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)

FORESTS = ["random", "completely-random"]
SMALL = {"n_estimators": 10, "members": [*FORESTS, "linear"], "random_state": 0}


@pytest.fixture(scope="module")
def data():
    X, y = make_friedman1(500, 8, noise=1.0, random_state=0)
    return X[:300], y[:300], X[300:], y[300:]


def draws_rows(model):
    if "linear" not in model.members:
        return {}
    return dict.fromkeys(WEIGHT_CHECKS, "bootstraps of as many rows as have weight, folds of rows")


@pytest.mark.filterwarnings("ignore:transform was given the table that the model")
@sklearn_checks(
    [
        DeepForestRegressor(n_estimators=5, members=FORESTS, cv=2),
        DeepForestRegressor(1, n_estimators=5, members=["random", "linear"], refit=False, cv=2),
    ],
    draws_rows,
)
def test_sklearn_checks(estimator, check):
    check(estimator)


# What it is


def test_all_members_together_beat_a_forest():
    X, y = make_friedman1(240, 8, noise=1.0, random_state=0)
    new, truth = make_friedman1(500, 8, noise=1.0, random_state=1)
    model = DeepForestRegressor(n_estimators=30, cv=3, random_state=0).fit(X, y)
    forest = RandomForestRegressor(random_state=0).fit(X, y)
    assert 1 - model.score(new, truth) < 0.8 * (1 - forest.score(new, truth))
    assert [row["member"] for row in model.leaderboard_ if row["layer"] == 1] == [
        *("random", "completely-random", "boosted", "kernel", "linear", "network")
    ]
    assert r2_score(y, model.oof_prediction_) == pytest.approx(model.score(new, truth), abs=0.07)


@pytest.mark.parametrize("options", [{}, {"refit": False}, {"cv": 3}])
def test_predictions_follow_from_the_members(options, data, every_layer_helps):
    X, y, new, truth = data
    model = DeepForestRegressor(**SMALL | options).fit(X, y)
    weights = np.array([row["weight"] for row in model.leaderboard_])
    assert weights.sum() == pytest.approx(1)
    members = [member for layer in model._fitted.stages for member in layer.members]
    features, names = model.transform(new), model.get_feature_names_out()
    assert features.shape == (200, len(names))
    assert names[0] == f"layer1_{members[0].name}_output0"
    member_weights = np.array([member.weight for member in members])
    np.testing.assert_allclose(
        y.mean() + y.std() * features @ member_weights / member_weights.sum(), model.predict(new)
    )
    *_, last = model.staged_predict(new)
    np.testing.assert_array_equal(last, model.predict(new))
    assert model.score(new, truth) == pytest.approx(r2_score(y, model.oof_prediction_), abs=0.1)
    assert model.feature_importances_.sum() == pytest.approx(1)
    assert model.history_["r2"][-1] == pytest.approx(r2_score(y, model.oof_prediction_))


def test_out_of_fold_features_follow_from_the_vote(data):
    X, y, *_ = data
    model = DeepForestRegressor(**SMALL | {"n_layers": 1, "members": ["random"]})
    features = model.fit_transform(X, y)
    expected = y.mean() + y.std() * features[:, 0]
    np.testing.assert_allclose(model.oof_prediction_, expected)
    with pytest.warns(UserWarning, match="use fit_transform"):
        model.transform(X)


@pytest.mark.usefixtures("few_rounds")
@pytest.mark.parametrize("refit", [True, False])
def test_boosting_features_are_its_predictions(refit, data):
    X, y, new, _ = data
    model = DeepForestRegressor(1, members=["boosted"], cv=2, refit=refit, random_state=0)
    features = model.fit(X, y).transform(new)
    # Three models of all samples, or those of the two folds.
    assert len(model._fitted.stages[0].members[0].models) == (3 if refit else 2)
    np.testing.assert_allclose(y.mean() + y.std() * features[:, 0], model.predict(new))
    middle = model.predict_interval(new).mean(axis=1)
    np.testing.assert_allclose(middle, model.predict(new))


def test_boosted_trees_are_fitted_again_on_all_samples_with_more_rounds(data):
    X, y, *_ = data
    boosting = GradientBoostingRegressor(learning_rate=0.3, max_iter=500, n_iter_no_change=5)
    model = DeepForestRegressor(1, members=[boosting], cv=4, random_state=0).fit(X, y)
    with_folds = clone(model).set_params(refit=False).fit(X, y)
    np.testing.assert_array_equal(model.oof_prediction_, with_folds.oof_prediction_)
    rounds_of_folds, rounds = (
        {tuple(boosted.rounds) for boosted in estimator._fitted.stages[0].members[0].models}
        for estimator in (with_folds, model)
    )
    ((n_of_folds,),) = rounds_of_folds
    assert n_of_folds < 400
    assert rounds == {(round(1.15 * n_of_folds),)}
    boosting.set_params(max_iter=n_of_folds)
    limited = clone(model).fit(X, y)._fitted.stages[0].members[0].models
    assert {tuple(boosted.rounds) for boosted in limited} == {(n_of_folds,)}
    starts = [boosted.trees[0].start for boosted in model._fitted.stages[0].members[0].models]
    of_folds = [
        boosted.trees[0].start for boosted in with_folds._fitted.stages[0].members[0].models
    ]
    np.testing.assert_array_equal(starts, [starts[0]] * 3)  # the mean of all targets
    assert len(np.unique(of_folds)) == 4  # each fold has its own mean
    values = [
        boosted.trees[0].arrays["values"] for boosted in model._fitted.stages[0].members[0].models
    ]
    assert not np.array_equal(values[0], values[1])  # the seeds differ


def test_one_layer_of_one_regressor_is_that_regressor(data):
    X, y, new, _ = data
    model = DeepForestRegressor(1, members=[LinearRegression()], cv=4, random_state=0).fit(X, y)
    np.testing.assert_allclose(model.predict(new), LinearRegression().fit(X, y).predict(new))
    splits = list(GroupKFold(4).split(X, groups=np.arange(300) % 9))
    model = clone(model).set_params(cv=splits).fit(X, y)
    expected = cross_val_predict(LinearRegression(), X, y, cv=splits)
    np.testing.assert_allclose(model.oof_prediction_, expected)
    by_groups = clone(model).set_params(cv=GroupKFold(4)).fit(X, y, groups=np.arange(300) % 9)
    np.testing.assert_array_equal(by_groups.oof_prediction_, model.oof_prediction_)


def test_results_do_not_depend_on_n_jobs_and_survive_a_pickle(data):
    X, y, new, _ = data
    sequential = DeepForestRegressor(**SMALL | {"members": [*FORESTS, SVR()]}).fit(X, y)
    two = clone(sequential).set_params(n_jobs=2).fit(X, y)
    again = pickle.loads(pickle.dumps(sequential))
    for other in (two, again):
        np.testing.assert_array_equal(sequential.predict(new), other.predict(new))
        np.testing.assert_array_equal(sequential.oof_prediction_, other.oof_prediction_)
        np.testing.assert_array_equal(
            sequential.predict_interval(new), other.predict_interval(new)
        )


@pytest.mark.parametrize("refit", [True, False])
def test_importances_where_no_forest_has_a_vote(refit):
    X, y = make_friedman1(200, 8, random_state=0)
    members = ["random", "completely-random", LinearRegression()]
    model = DeepForestRegressor(
        1, n_estimators=5, members=members, cv=3, refit=refit, random_state=0
    ).fit(X, X[:, 3] - 2 * X[:, 6])
    assert [member.name for member in model._fitted.stages[0].members] == ["LinearRegression"]
    assert set(np.argsort(-model.feature_importances_)[:2]) == {3, 6}
    assert model.feature_importances_.sum() == pytest.approx(1)
    copy = pickle.loads(pickle.dumps(model))
    assert np.array_equal(copy.feature_importances_, model.feature_importances_)
    model.set_params(members=[LinearRegression()]).fit(X, y)
    assert not model.feature_importances_.any()


def test_members_that_cannot_be_fitted_are_named(data):
    X, y, *_ = data
    with pytest.raises(ValueError, match=r"^the member 'GammaRegressor' cannot be fitted.*y"):
        DeepForestRegressor(1, members=["random", GammaRegressor()]).fit(X, y - y.mean())


def test_members_that_learn_one_target_are_fitted_to_each(data):
    X, y, *_ = data
    several = DeepForestRegressor(1, members=[SVR(C=2)], random_state=0, cv=3)
    several.fit(X, np.column_stack([y, -y]))
    alone = DeepForestRegressor(1, members=[SVR(C=2)], random_state=0, cv=3).fit(X, y)
    expected = np.column_stack([alone.predict(X), -alone.predict(X)])
    np.testing.assert_allclose(several.predict(X), expected, atol=0.01)  # of the solver


@pytest.mark.parametrize("wrong", [lambda p: np.full_like(p, np.nan), lambda p: p[:-1]])
def test_members_with_invalid_predictions_are_named(data, wrong):
    class Odd(LinearRegression):
        def predict(self, X):
            return wrong(super().predict(X))

    X, y, *_ = data
    with pytest.raises(ValueError, match=r"^the member 'Odd' must give numbers of shape"):
        DeepForestRegressor(1, members=["random", Odd()], n_estimators=2).fit(X, y)


@pytest.mark.usefixtures("few_rounds")
def test_missing_values_and_categories(data):
    X, y, *_ = data
    rng = np.random.default_rng(0)
    kinds = rng.choice(["a", "b", "c"], 300)
    frame = pd.DataFrame(np.where(rng.random(X.shape) < 0.1, np.nan, X)).rename(columns=str)
    frame["kind"] = pd.Categorical(kinds)
    frame["nothing"] = np.nan
    effect = 10.0 * (kinds == "b")
    members = [*FORESTS, "boosted", "linear"]
    model = DeepForestRegressor(1, n_estimators=10, members=members, cv=2, random_state=0)
    assert model.fit(frame, y + effect).score(frame, y + effect) > 0.8
    frame.loc[:99, "kind"] = np.nan
    assert np.isfinite(model.predict(frame)).all()


EMPTY = {
    "text": [None] * 300,
    "category": pd.Categorical([None] * 300),
    "string": pd.array([None] * 300, "string"),
    "rare": ["seen"] + [None] * 299,
    "number": [np.nan] * 300,
    "rare number": [2.0] + [np.nan] * 299,
}


@pytest.mark.usefixtures("few_rounds")
def test_columns_without_a_value_in_all_rows_or_a_fold(data):
    for beside in [{}, {"kind": ["a", "b"] * 150}]:
        for kind in EMPTY:
            X, y, *_ = data
            plain = pd.DataFrame(X).rename(columns=str).assign(**beside)
            frame = plain.assign(empty=EMPTY[kind])
            model = DeepForestRegressor(1, n_estimators=3, cv=2, random_state=0)
            assert np.isfinite(model.fit(frame, y).predict(frame)).all()
            linear = clone(model).set_params(members=["linear"])
            result, expected = linear.fit(frame, y), clone(linear).fit(plain, y)
            if not kind.startswith("rare"):
                np.testing.assert_allclose(result.oof_prediction_, expected.oof_prediction_)
                np.testing.assert_allclose(result.predict(frame), expected.predict(plain))
            new = frame.assign(empty=None)
            assert np.array_equal(result.predict(new), result.predict(frame)) or kind.startswith(
                "rare"
            )


# Targets


@pytest.mark.usefixtures("few_rounds")
def test_several_outputs(data):
    X, y, new, truth = data
    members = [*FORESTS, "boosted", "linear"]
    model = DeepForestRegressor(1, n_estimators=10, members=members, cv=2, random_state=0)
    model.fit(X, np.column_stack([y, 1e200 * X[:, 0]]))
    assert model.n_outputs_ == 2
    prediction = model.predict(new)
    assert prediction.shape == model.predict_interval(new).shape[:2] == (200, 2)
    assert r2_score(truth, prediction[:, 0]) > 0.7
    assert r2_score(new[:, 0], prediction[:, 1] / 1e200) > 0.95
    assert model.oof_prediction_.shape == (300, 2)
    assert len(model.get_feature_names_out()) == model.transform(new).shape[1]
    with pytest.warns(DataConversionWarning, match="column-vector y"):
        column = DeepForestRegressor(1, **SMALL).fit(X, y[:, None])
    alone = DeepForestRegressor(1, **SMALL).fit(X, y)
    np.testing.assert_array_equal(column.predict(new), alone.predict(new))


def test_constant_targets_are_predicted(data):
    for value in [0.0, 0.1, -7, 1e-300, 5e-324, -1.7e308]:
        X, *_ = data
        model = DeepForestRegressor(**SMALL, cv=3).fit(X[:40], np.full(40, value))
        np.testing.assert_array_equal(model.predict(X[40:50]), value)
        np.testing.assert_array_equal(model.predict_interval(X[40:50]), value)


def test_the_unit_of_targets_does_not_matter(data):
    X, y, new, _ = data
    plain = DeepForestRegressor(**SMALL).fit(X, y)
    for power in (-990, -40, 40, 990):
        other = DeepForestRegressor(**SMALL).fit(X, np.ldexp(y, power))
        np.testing.assert_array_equal(other.predict(new), np.ldexp(plain.predict(new), power))
        assert other.history_["r2"].tolist() == plain.history_["r2"].tolist()


def test_huge_targets_stay_finite():
    X = np.arange(40.0)[:, None]
    y = np.where(X[:, 0] < 20, -1.7e308, 1.7e308)
    model = DeepForestRegressor(**SMALL).fit(X, y)
    assert np.isfinite(model.predict([[-1e6], [1e6]])).all()
    assert np.isfinite(model.predict_interval(X, 0.5)).all()


def test_targets_that_do_not_do():
    for y, message in [
        (None, "target y is None"),
        ([1.0, np.nan, 2], r"Input y contains NaN.* got nan in row 1$"),
        ([1.0, np.inf, 2], "Input y contains infinity"),
        (["a", "b", "c"], "y cannot be used: could not convert"),
        (np.zeros((3, 0)), "y cannot be used"),
        ([1.0, 2.0], "inconsistent numbers of samples"),
    ]:
        with pytest.raises((ValueError, TypeError), match=message):
            DeepForestRegressor(**SMALL).fit(np.zeros((3, 1)), y)


# Weights of samples, wrong options


def test_weights_of_samples(data):
    X, y, new, truth = data
    shifted = np.where(np.arange(300) < 150, y, y + 100)
    weights = np.where(np.arange(300) < 150, 1.0, 0.0)
    model = DeepForestRegressor(1, **SMALL).fit(X, shifted, weights)
    assert model.score(new, truth) > 0.6
    reach = np.diff(model.predict_interval(new[:1], adaptive=False))[0, 0] / 2
    errors = np.abs(model.oof_prediction_ - shifted)[:150]
    assert np.sum(errors <= reach * (1 + 1e-9)) == np.ceil(0.9 * 151)


def test_a_fold_without_weight_is_refused(data):
    for member in ["boosted", "linear", "kernel", "network"]:
        X, y, *_ = data
        with pytest.raises(ValueError, match=r"sample_weight, and .* must .* every fold"):
            DeepForestRegressor(members=[member]).fit(X, y, np.arange(300) == 0)


def test_wrong_options_are_refused_by_name(data):
    for options, message in [
        ({"members": []}, "members must be 'auto' or a list of at least one"),
        ({"members": ["random-half"]}, "members must hold regressors or names out of"),
        ({"members": [RandomForestClassifier()]}, "members must hold names or regressors"),
        ({"members": [RandomForestRegressor]}, "members must hold names or regressors"),
        ({"members": [RandomForestRegressor(0)]}, "n_estimators"),
        ({"cv": "oob"}, "cv"),
        ({"n_layers": 0}, "n_layers"),
    ]:
        X, y, *_ = data
        with pytest.raises(ValueError, match=message):
            DeepForestRegressor(**SMALL | options).fit(X, y)


def test_a_failed_fit_changes_nothing(data):
    X, y, new, _ = data
    model = DeepForestRegressor(1, **SMALL).fit(X, y)
    before = model.predict(new)
    with pytest.raises(ValueError, match="members"):
        model.set_params(members=["nothing"]).fit(X[:, :3], y)
    np.testing.assert_array_equal(model.predict(new), before)


# Intervals


@pytest.mark.parametrize("adaptive", [True, False])
@pytest.mark.parametrize("refit", [True, False])
def test_intervals_have_the_stated_coverage(refit, adaptive):
    rng = np.random.default_rng(0)
    X, y = make_friedman1(2400, 6, noise=1.0, random_state=0)
    y = y + rng.exponential(2, len(y))
    model = DeepForestRegressor(1, n_estimators=20, members=FORESTS, refit=refit, random_state=0)
    model.fit(X[:400], y[:400])
    widths = []
    for coverage in (0.5, 0.9):
        low, high = model.predict_interval(X[400:], coverage, adaptive=adaptive).T
        inside = np.mean((low <= y[400:]) & (y[400:] <= high))
        assert inside == pytest.approx(coverage, abs=0.04)
        np.testing.assert_allclose((low + high) / 2, model.predict(X[400:]))
        widths.append(np.mean(high - low))
    assert widths[0] < widths[1]
    assert (np.ptp(high - low) > 1e-6) == adaptive


def test_widths_follow_the_noise():
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (2400, 3))
    noise = np.where(X[:, 1] > 0, 2.0, 0.2)
    y = 3 * X[:, 0] + noise * rng.normal(size=len(X))
    model = DeepForestRegressor(1, n_estimators=20, members=["linear", "random"], random_state=0)
    model.fit(X[:600], y[:600])
    new, truth, loud = X[600:], y[600:], X[600:, 1] > 0
    low, high = model.predict_interval(new).T
    inside, width = (low <= truth) & (truth <= high), high - low
    assert width[loud].mean() > 3 * width[~loud].mean()
    assert inside[loud].mean() > 0.8
    low, high = model.predict_interval(new, adaptive=False).T
    assert width.mean() < (high - low).mean()
    assert np.mean((low <= truth) & (truth <= high), where=~loud) == 1


@pytest.mark.usefixtures("few_rounds")
def test_scales_of_errors_are_out_of_fold(data):
    """The error of a row does not change the prediction of its fold's forest for it."""
    X, y, *_ = data
    model = DeepForestRegressor(1, **SMALL).fit(X, y)
    shifted = y.copy()
    shifted[7] += 1e6  # an error that no other row has
    other = DeepForestRegressor(1, **SMALL).fit(X, shifted)
    for result in (model, other):
        ratios, errors = result._ratios[0].values, result._errors[0].values
        assert len(ratios) == len(errors) == 300
    # A scale that had seen the row would be about its error: the ratio would be about 1.
    assert other._ratios[0].values[-1] > 5


def test_coverages_that_do_not_do(data):
    for coverage in [0, 1, 1.5, np.nan, "0.9", None]:
        X, y, *_ = data
        model = DeepForestRegressor(1, n_estimators=2, members=["random"], cv=2).fit(
            X[:20], y[:20]
        )
        with pytest.raises(ValueError, match="coverage must be a number between 0 and 1, got"):
            model.predict_interval(X, coverage)


def test_samples_without_weight_do_not_change_intervals():
    X, y = load_diabetes(return_X_y=True)
    weight = (np.arange(442) < 20) * 1.0
    model = DeepForestRegressor(1, n_estimators=4, members=["random"], random_state=0)
    for fitted in (model.fit(X[:20], y[:20]), clone(model).fit(X, y, weight)):
        with pytest.warns(UserWarning, match="needs at least 33 samples, got 20:"):
            assert np.isinf(fitted.predict_interval(X[:3], 0.97)).all()
