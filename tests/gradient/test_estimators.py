"""Gradient boosting as estimators."""

import pickle
import warnings
from contextlib import nullcontext
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from bad_values import VALUES, weight_problems
from bad_values import problem as bad_value
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.metrics import log_loss
from sklearn_checks import WEIGHT_CHECKS, sklearn_checks

from mddf import GradientBoostingClassifier, GradientBoostingRegressor, _core
from mddf._data.binner import Binner
from mddf._data.table import ArrayTable
from mddf._gradient.growing import boost, boost_folds

FEW = {"max_iter": 30, "learning_rate": 0.3}


def draws_rows(model):
    """Checks that a model fails which holds rows out by where they stand."""
    if model.early_stopping is True:
        return dict.fromkeys(WEIGHT_CHECKS, "rows are held out by where they stand")
    if model.min_samples_leaf > 1:
        return dict.fromkeys(WEIGHT_CHECKS, "min_samples_leaf counts rows, whatever they weigh")
    if getattr(model, "class_weight", None):
        return dict.fromkeys(WEIGHT_CHECKS, "real weights are rounded")
    return {}


@sklearn_checks(
    [
        GradientBoostingClassifier(),
        GradientBoostingClassifier(**FEW, grow_policy="leaf-wise", min_samples_leaf=5),
        GradientBoostingClassifier(**FEW, early_stopping=True, n_jobs=2),
        GradientBoostingClassifier(**FEW, subsample=0.8, n_jobs=2),
        GradientBoostingClassifier(**FEW, class_weight="balanced", max_features="sqrt"),
        GradientBoostingClassifier(**FEW, warm_start=True, max_bins=20),
        GradientBoostingRegressor(),
        GradientBoostingRegressor(**FEW, grow_policy="leaf-wise", min_samples_leaf=5),
        GradientBoostingRegressor(**FEW, early_stopping=True, scoring="r2"),
        GradientBoostingRegressor(**FEW, subsample=0.8),
        GradientBoostingRegressor(**FEW, loss="absolute_error", max_features=0.5),
        GradientBoostingRegressor(**FEW, loss="huber", warm_start=True),
        GradientBoostingRegressor(**FEW, loss="quantile", quantile=0.4),
    ],
    draws_rows,
)
def test_sklearn_checks(estimator, check):
    check(estimator)


MODELS = [GradientBoostingClassifier, GradientBoostingRegressor]
both = pytest.mark.parametrize("Model", MODELS)
growth = pytest.mark.parametrize("grow_policy", ["symmetric", "leaf-wise"])


def numbers(n=400, seed=0, missing=0.1):
    """A table with missing values, and a target that leans on it."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 6))
    X[:, 3] = np.round(X[:, 3])
    y = X[:, 0] * X[:, 1] + X[:, 2] + np.abs(X[:, 3]) + 0.1 * rng.normal(size=n)
    X[rng.random(X.shape) < missing] = np.nan
    return X, y


def problem(Model, n=400, seed=0, n_classes=3):
    X, y = numbers(n, seed)
    if Model is GradientBoostingClassifier:
        y = np.searchsorted(np.quantile(y, np.arange(1, n_classes) / n_classes), y)
        y = np.array(["ape", "bee", "cat", "dog"])[y]
    return X, y


def answers(model, X):
    return model.predict_proba(X) if hasattr(model, "predict_proba") else model.predict(X)


def frame(n=300, seed=0):
    """Numbers and categories, and a target that leans on both."""
    rng = np.random.default_rng(seed)
    table = pd.DataFrame({"a": rng.normal(size=n), "b": rng.normal(size=n)})
    kinds = np.array(["red", "green", "blue", "white", "black"])
    table["kind"] = kinds[rng.integers(0, 5, n)]
    y = table["a"] + 2 * table["kind"].isin(["red", "blue"]) + 0.1 * rng.normal(size=n)
    table.loc[::11, "kind"] = None
    table["kind"] = table["kind"].astype("category")
    return table, y.to_numpy()


# What must not change the result


@both
@growth
def test_n_jobs(Model, grow_policy):
    X, y = problem(Model, 30000)
    options = {"grow_policy": grow_policy, "max_iter": 5, "random_state": 0, "subsample": 0.7}
    one = Model(**options).fit(X, y)
    for n_jobs in (2, 3):
        many = Model(**options, n_jobs=n_jobs).fit(X, y)
        assert np.array_equal(answers(one, X), answers(many, X))
        assert np.array_equal(one.train_score_, many.train_score_)
        assert np.array_equal(one.feature_importances_, many.feature_importances_)


@both
@growth
def test_the_order_of_rows(Model, grow_policy):
    X, y = problem(Model)
    order = np.random.default_rng(1).permutation(len(X))
    options = {"grow_policy": grow_policy, "max_iter": 40, "max_features": 0.5, "random_state": 0}
    a = Model(**options).fit(X, y)
    b = Model(**options).fit(X[order], y[order])
    assert np.array_equal(answers(a, X), answers(b, X))


@both
def test_whole_weights_are_copies(Model):
    X, y = problem(Model)
    times = np.random.default_rng(1).integers(0, 3, len(X))
    a = Model(max_iter=40, max_bins=20).fit(X, y, times)
    b = Model(max_iter=40, max_bins=20).fit(np.repeat(X, times, axis=0), np.repeat(y, times))
    assert np.array_equal(answers(a, X), answers(b, X))


@both
@growth
def test_warm_start_is_growing_at_once(Model, grow_policy):
    X, y = problem(Model)
    options = {"grow_policy": grow_policy, "subsample": 0.7, "random_state": 3}
    whole = Model(max_iter=25, **options).fit(X, y)
    model = Model(max_iter=10, warm_start=True, **options).fit(X, y)
    model = pickle.loads(pickle.dumps(model)).set_params(max_iter=25).fit(X, y)
    assert model.n_iter_ == 25
    assert np.array_equal(answers(whole, X), answers(model, X))
    assert np.array_equal(whole.train_score_, model.train_score_)
    with pytest.raises(ValueError, match="max_iter must be at least 25"):
        model.set_params(max_iter=20).fit(X, y)
    other = {"symmetric": "leaf-wise", "leaf-wise": "symmetric"}[grow_policy]
    with pytest.raises(ValueError, match="grow_policy must be"):
        model.set_params(max_iter=30, grow_policy=other).fit(X, y)


@both
@growth
def test_saving(Model, grow_policy):
    X, y = problem(Model)
    model = Model(max_iter=15, grow_policy=grow_policy).fit(X, y)
    loaded = pickle.loads(pickle.dumps(model))
    assert np.array_equal(answers(model, X), answers(loaded, X))
    assert repr(loaded) == repr(model)
    state = model.__getstate__()
    state["_trees"]["arrays"] = state["_trees"]["arrays"] | {"column": np.zeros(1, np.int32)}
    with pytest.raises(ValueError, match=r"must|expected"):
        Model.__new__(Model).__setstate__(state)


@both
@growth
@pytest.mark.parametrize("name", ["gain", "weight"])
@pytest.mark.parametrize("wrong", [np.zeros(3), -1.0, np.nan, np.inf])
def test_what_is_known_of_training_is_checked(Model, grow_policy, name, wrong):
    X, y = problem(Model)
    state = Model(max_iter=3, grow_policy=grow_policy).fit(X, y).__getstate__()
    arrays = state["_trees"]["arrays"]
    if np.ndim(wrong) == 0:
        wrong = np.append(arrays[name][1:], wrong)
    state["_trees"]["arrays"] = arrays | {name: wrong}
    with pytest.raises(ValueError, match=f"{name} must have"):
        Model.__new__(Model).__setstate__(state)


@growth
@pytest.mark.parametrize("subsample", [1, 0.5])
def test_leaves_know_the_weight_of_training(grow_policy, subsample):
    X, y = numbers()
    weights = np.random.default_rng(1).uniform(0, 2, len(X))
    options = {"grow_policy": grow_policy, "subsample": subsample, "random_state": 0}
    model = GradientBoostingRegressor(max_iter=5, **options).fit(X, y, weights)
    trees, leaves = model._trees, model.apply(X)
    for tree, (first, last) in enumerate(
        zip(trees.arrays["first_leaf"][:-1], trees.arrays["first_leaf"][1:], strict=True)
    ):
        values, known = trees.arrays["values"][first:last, 0], trees.arrays["weight"][first:last]
        found = np.bincount(leaves[:, tree], weights, minlength=last - first)
        for value in np.unique(values):  # ways to one leaf have their weight at the first
            same = values == value
            assert known[same].sum() == pytest.approx(found[same].sum())
    more = model.set_params(warm_start=True, max_iter=8).fit(X, y, weights)._trees
    assert np.array_equal(
        more.arrays["weight"][: len(trees.arrays["weight"])], trees.arrays["weight"]
    )
    assert len(more.first(6).arrays["weight"]) == more.arrays["first_leaf"][6]


# How well


@pytest.mark.slow
@growth
def test_regression_is_good(grow_policy):
    X, y = numbers(3000, missing=0)
    model = GradientBoostingRegressor(grow_policy=grow_policy, max_iter=300).fit(
        X[:2000], y[:2000]
    )
    peer = HistGradientBoostingRegressor(max_iter=300, learning_rate=0.05, early_stopping=False)
    peer.fit(X[:2000], y[:2000])
    assert model.score(X[2000:], y[2000:]) > peer.score(X[2000:], y[2000:]) - 0.005


@pytest.mark.slow
@growth
@pytest.mark.parametrize("n_classes", [2, 4])
def test_classification_is_good(grow_policy, n_classes):
    X, y = problem(GradientBoostingClassifier, 3000, n_classes=n_classes)
    model = GradientBoostingClassifier(grow_policy=grow_policy, max_iter=150)
    peer = HistGradientBoostingClassifier(max_iter=150, learning_rate=0.05, early_stopping=False)
    losses = [
        log_loss(y[2000:], one.fit(X[:2000], y[:2000]).predict_proba(X[2000:]))
        for one in (model, peer)
    ]
    assert losses[0] < 1.05 * losses[1]


def test_categories_are_sets():
    table, y = frame()
    model = GradientBoostingRegressor(max_iter=100, max_depth=2).fit(table, y)
    assert model.is_categorical_.tolist() == [False, False, True]
    assert model.score(table, y) > 0.93
    codes = table.assign(kind=table["kind"].cat.codes.to_numpy())
    worse = GradientBoostingRegressor(max_iter=100, max_depth=1, categorical_features=None)
    assert model.score(table, y) > worse.fit(codes, y).score(codes, y)
    strange = table.assign(kind=pd.Categorical(["violet"] * len(table)))
    with pytest.warns(UserWarning, match="categories that fit did not see"):
        model.predict(strange)


def test_losses_predict_what_they_are_for():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, 1))
    mean = np.exp(0.5 * X[:, 0])
    few = {"max_iter": 60, "learning_rate": 0.2, "max_depth": 3}
    skewed = mean * rng.exponential(size=2000)
    for share in (0.2, 0.8):
        model = GradientBoostingRegressor(loss="quantile", quantile=share, **few)
        below = np.mean(skewed <= model.fit(X, skewed).predict(X))
        assert below == pytest.approx(share, abs=0.02)
    half = GradientBoostingRegressor(loss="absolute_error", **few).fit(X, skewed)
    assert np.mean(skewed <= half.predict(X)) == pytest.approx(0.5, abs=0.02)
    counts = rng.poisson(mean)
    for loss, y in (("poisson", counts), ("gamma", skewed)):
        model = GradientBoostingRegressor(loss=loss, **few).fit(X, y)
        assert model.predict(X).min() > 0
        assert np.mean(model.predict(X)) == pytest.approx(np.mean(y), rel=0.05)
    y = mean + 0.1 * rng.normal(size=2000)
    y[::20] += 1e4
    robust = GradientBoostingRegressor(loss="huber", **few).fit(X, y)
    assert np.median(np.abs(robust.predict(X) - mean)) < 0.2


def test_constraints_hold():
    X, y = numbers(missing=0)
    constraints = [1, 0, -1, 0, 0, 0]
    model = GradientBoostingRegressor(max_iter=100, monotonic_cst=constraints).fit(X, y)
    line = np.tile(X[:1], (50, 1))
    for column, sign in ((0, 1), (2, -1)):
        moved = line.copy()
        moved[:, column] = np.linspace(-3, 3, 50)
        assert np.all(sign * np.diff(model.predict(moved)) >= 0)
    free = GradientBoostingRegressor(max_iter=50, max_depth=4)
    lonely = clone(free).set_params(interaction_cst="no_interactions").fit(X, y)
    for trees in (lonely._trees.arrays,):
        for first, last in zip(trees["first_split"][:-1], trees["first_split"][1:], strict=True):
            assert len(set(trees["column"][first:last])) <= 1
    pairs = clone(free).set_params(interaction_cst="pairwise").fit(X, y)
    assert lonely.score(X, y) < pairs.score(X, y)


# When it stops


@both
@pytest.mark.parametrize("scoring", ["loss", None])
def test_early_stopping(Model, scoring):
    X, y = problem(Model, 600)
    rng = np.random.default_rng(0)
    y = np.where(rng.random(600) < 0.3, rng.permutation(y), y)
    options = {"max_iter": 400, "learning_rate": 0.3, "n_iter_no_change": 10, "random_state": 0}
    model = Model(early_stopping=True, scoring=scoring, **options).fit(X, y)
    scores = model.validation_score_
    assert model.n_iter_ == scores.argmax() < 390
    assert len(scores) == model.n_iter_ + 11 == len(model.train_score_)
    assert model.do_early_stopping_
    assert len(list(model.staged_predict(X))) == model.n_iter_
    none = Model(**options | {"max_iter": 5}).fit(X, y)
    assert not none.do_early_stopping_
    assert len(none.validation_score_) == 0


@both
def test_a_validation_set(Model):
    X, y = problem(Model, 900)
    options = {"max_iter": 200, "learning_rate": 0.3, "n_iter_no_change": 10}
    train, others = slice(0, 600), slice(600, 900)
    given = {"X_val": X[others], "y_val": y[others]}
    model = Model(**options).fit(X[train], y[train], **given)
    weighted = Model(**options)
    weighted.fit(X[train], y[train], **given, sample_weight_val=np.full(300, 2.0))
    assert model.n_iter_ == weighted.n_iter_ < 200
    if Model is GradientBoostingClassifier:
        found = -log_loss(y[others], model.predict_proba(X[others]))
    else:
        found = -np.mean((y[others] - model.predict(X[others])) ** 2) / 2
    assert model.validation_score_.max() == pytest.approx(found)
    whole = Model(**options, early_stopping=False)
    whole.fit(X[train], y[train], **given)
    assert len(whole.validation_score_) == 201
    for name, wrong in (
        ("X_val", {"X_val": None}),
        ("y_val", {"y_val": None}),
        ("X_val", {"X_val": 3}),
        ("X_val", {"X_val": X[others, :2]}),
        ("y_val", {"y_val": y[train]}),
        ("y_val", {"y_val": np.stack(2 * [y[others]], 1)}),
        ("sample_weight_val", {"sample_weight_val": np.full(300, -1.0)}),
        ("X_val", {"X_val": None, "y_val": None, "sample_weight_val": np.ones(300)}),
    ):
        with pytest.raises(ValueError, match=name):
            Model(**options).fit(X[train], y[train], **given | wrong)


def test_stages_end_where_predictions_are():
    X, y = problem(GradientBoostingClassifier)
    model = GradientBoostingClassifier(max_iter=7).fit(X, y)
    *_, last = model.staged_predict_proba(X)
    assert np.array_equal(last, model.predict_proba(X))
    *_, last = model.staged_decision_function(X)
    assert np.array_equal(last, model.decision_function(X))
    assert len(list(model.staged_predict(X))) == 7
    assert model.apply(X).shape == (400, 7)
    two = GradientBoostingClassifier(max_iter=7, loss="exponential").fit(X, y == "ape")
    assert two.decision_function(X).shape == (400,)
    assert np.array_equal(two.predict(X), two.decision_function(X) > 0)


# What is refused


@pytest.mark.parametrize(
    ("options", "data", "message"),
    [
        ({"loss": "gamma"}, {"y": np.zeros(400)}, "y must be positive for loss='gamma', got 0"),
        ({"loss": "poisson"}, {"y": -np.ones(400)}, "y must not be negative"),
        ({"loss": "quantile"}, {}, "quantile must be a number"),
        ({"max_depth": 17}, {}, "max_depth must be at most 16"),
        ({"monotonic_cst": [1, 0]}, {}, "monotonic_cst"),
        ({"monotonic_cst": [1] * 6, "loss": "absolute_error"}, {}, "monotonic_cst is for"),
        ({"monotonic_cst": [1] * 6, "categorical_features": [3]}, {}, "must be 0 for categories"),
        ({"interaction_cst": [[0, 6]]}, {}, "interaction_cst must have feature numbers"),
        ({"interaction_cst": [0, 1]}, {}, "interaction_cst must be a list of lists"),
        ({"early_stopping": True, "validation_fraction": 400}, {}, "validation_fraction"),
        ({"early_stopping": True, "scoring": "accuracy"}, {}, "scoring"),
        ({}, {"y": np.zeros((400, 2))}, "y must have one target"),
        ({}, {"y": None}, "y"),
    ],
)
def test_refusals(options, data, message):
    X, y = numbers()
    given = {"X": np.round(np.nan_to_num(X)), "y": y} | data
    with pytest.raises((ValueError, TypeError), match=message):
        GradientBoostingRegressor(max_iter=3, **options).fit(**given)


def test_refusals_of_the_classifier():
    X, y = problem(GradientBoostingClassifier)
    for options, message in (
        ({"loss": "exponential"}, "loss must be 'log_loss' for 3 classes"),
        ({"monotonic_cst": [1] * 6}, "monotonic_cst is for one score"),
    ):
        with pytest.raises(ValueError, match=message):
            GradientBoostingClassifier(max_iter=3, **options).fit(X, y)
    model = GradientBoostingClassifier(max_iter=3).fit(X, y)
    with pytest.raises(ValueError, match="y_val cannot be used: y must hold labels"):
        model.fit(X, y, X_val=X, y_val=np.full(400, "yak"))
    assert model.n_iter_ == 3


@pytest.mark.parametrize("Model", MODELS)
@pytest.mark.parametrize("name", sorted(GradientBoostingRegressor._parameter_constraints))
def test_values_that_no_parameter_was_made_for(Model, name):
    if name not in Model().get_params():
        pytest.skip("a parameter of the other one")
    X, y = problem(Model, 40)
    model = Model(max_iter=3, early_stopping=name in ("scoring", "validation_fraction"))
    if name == "max_iter":
        model.set_params(early_stopping=True, n_iter_no_change=1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            "mddf._base.parallel.tqdm", lambda **_: nullcontext(SimpleNamespace(update=abs))
        )
        values = [value for value in VALUES if not (name == "max_iter" and big(value))]
        found = {}
        for value in values:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                given = clone(model).set_params(**{name: value})
                text = bad_value(given, name, X, y)
            # At high learning rates predictions run away; test_any_learning_rate looks at them.
            if text and not (name == "learning_rate" and text.startswith("fits, but the prob")):
                found[repr(value)] = text
    assert found == {}


def big(value):
    return isinstance(value, int) and value > 1000


@both
def test_weights_of_any_kind(Model):
    X, y = problem(Model, 30)
    assert weight_problems(Model(max_iter=3), X, y) == {}


@pytest.mark.parametrize("size", [1e-300, 1e-160, 1e-30, 1e30, 1e160, 1e300])
@growth
def test_targets_of_any_size(size, grow_policy):
    X, y = numbers(200)
    size = 2.0 ** np.round(np.log2(size))
    model = GradientBoostingRegressor(max_iter=10, grow_policy=grow_policy)
    expected = model.fit(X, y).predict(X)
    assert np.allclose(model.fit(X, y * size).predict(X) / size, expected, rtol=1e-12)


@pytest.mark.parametrize("loss", ["squared_error", "huber", "poisson", "gamma", "quantile"])
@pytest.mark.parametrize("learning_rate", [3, 100, 1e300])
@growth
def test_any_learning_rate_of_numbers(loss, learning_rate, grow_policy):
    X, y = numbers(200)
    model = GradientBoostingRegressor(
        loss=loss, quantile=0.3, max_iter=30, learning_rate=learning_rate, grow_policy=grow_policy
    )
    assert np.isfinite(model.fit(X, np.exp(y)).predict(X)).all()
    assert np.isfinite(model.feature_importances_).all()
    assert not np.isnan(model.train_score_).any()


@pytest.mark.parametrize(
    ("loss", "n_classes"), [("log_loss", 2), ("log_loss", 4), ("exponential", 2)]
)
@pytest.mark.parametrize("learning_rate", [3, 100, 1e300])
@growth
def test_any_learning_rate_of_classes(loss, n_classes, learning_rate, grow_policy):
    X, y = problem(GradientBoostingClassifier, 200, n_classes=n_classes)
    model = GradientBoostingClassifier(
        loss=loss, max_iter=30, learning_rate=learning_rate, grow_policy=grow_policy
    )
    assert np.allclose(model.fit(X, y).predict_proba(X).sum(axis=1), 1)
    assert np.isfinite(model.feature_importances_).all()
    assert not np.isnan(model.train_score_).any()


def test_one_class_and_a_constant():
    X, _ = numbers(50)
    model = GradientBoostingClassifier(max_iter=3).fit(X, ["x"] * 50)
    assert model.predict(X).tolist() == ["x"] * 50
    assert model.predict_proba(X).tolist() == [[1.0]] * 50
    assert model.n_iter_ == 0
    assert GradientBoostingRegressor(max_iter=3).fit(X, np.full(50, 7.5)).predict(X[:1]) == 7.5


def test_a_bar_is_shown(capsys):
    X, y = numbers(50)
    GradientBoostingRegressor(max_iter=12, verbose=1).fit(X, y)
    assert "12/12" in capsys.readouterr().err


def test_folds_are_models_of_their_rows():
    X, y = numbers(300)
    binned = Binner(None).fit_transform(ArrayTable(X))
    folds = [(np.setdiff1d(np.arange(300), part), part) for part in np.split(np.arange(300), 3)]
    options = _core.BoostOptions("squared_error", max_depth=4, l2=3.0)
    seeds = np.arange(50, dtype=np.uint64)
    given = (options, seeds)
    found = boost_folds(binned, y, None, folds, *given, symmetric=True, patience=5, n_jobs=2)
    totals, n_trees = 0, found[0].trees.n_trees
    for (train, held_out), one in zip(folds, found, strict=True):
        rows = train.astype(np.int32), held_out.astype(np.int32)
        alone = boost(binned, y, None, *rows, *given, symmetric=True)
        assert np.array_equal(one.scores, alone.scores)
        assert np.array_equal(one.raw, one.trees.raw(binned.codes[held_out]))
        assert one.trees.n_trees == n_trees
        totals = totals + len(held_out) * alone.scores
        if n_trees == alone.trees.n_trees:
            assert np.array_equal(one.raw, alone.raw)
    assert n_trees == totals.argmax()
    every = boost_folds(binned, y, None, folds, *given, symmetric=True)
    for (_, held_out), one in zip(folds, every, strict=True):
        assert one.trees.n_trees == len(seeds)
        assert np.array_equal(one.raw, one.trees.raw(binned.codes[held_out]))
