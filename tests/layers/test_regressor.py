"""DeepForestRegressor: weights, refit, intervals, and targets of any size."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import make_friedman1
from sklearn.exceptions import DataConversionWarning
from sklearn.linear_model import LinearRegression
from sklearn.metrics import r2_score
from sklearn_checks import WEIGHT_CHECKS, sklearn_checks

from mddf import DeepForestRegressor, GradientBoostingRegressor, RandomForestRegressor

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


@pytest.mark.parametrize("wrong", [lambda p: np.full_like(p, np.nan), lambda p: p[:-1]])
def test_members_with_invalid_predictions_are_named(data, wrong):
    class Odd(LinearRegression):
        def predict(self, X):
            return wrong(super().predict(X))

    X, y, *_ = data
    with pytest.raises(ValueError, match=r"^the member 'Odd' must give numbers of shape"):
        DeepForestRegressor(1, members=["random", Odd()], n_estimators=2).fit(X, y)


def test_forests_with_parameters_of_a_forest_alone(data):
    X, y, *_ = data
    for parameters, message in [
        ({"criterion": "poisson"}, "criterion must be another one in layers, .* got 'poisson'"),
        ({"monotonic_cst": [1] * X.shape[1]}, "monotonic_cst is for a forest alone.* got"),
    ]:
        forest = RandomForestRegressor(2, **parameters)
        with pytest.raises(ValueError, match=message):
            DeepForestRegressor(1, members=[forest], n_estimators=2).fit(X, y)


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
