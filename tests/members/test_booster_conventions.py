"""CatBoost, LightGBM, XGBoost and scikit-learn's boosting as members, with the real packages.

They get mixed tables by their own conventions, and neither print nor write files.
"""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    StackingClassifier,
    VotingClassifier,
)
from sklearn.impute import SimpleImputer
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

from mddf import (
    DeepForestClassifier,
    DeepForestRegressor,
)

DEEP = {"n_layers": 1, "n_estimators": 3, "cv": 2, "random_state": 0}
N_ROWS = 120
CATEGORIES = [3, 4, 5]  # columns
PACKAGES = ["catboost", "lightgbm", "xgboost", "sklearn"]
NAMES = {"catboost": "CatBoost", "lightgbm": "LGBM", "xgboost": "XGB"}
# The rare classes of these tests are on purpose.
pytestmark = pytest.mark.filterwarnings("ignore:The least populated class")


def booster(package, kind="Classifier", **options):
    """A boosting estimator at its defaults, but with few iterations."""
    if package == "sklearn":
        models = {
            "Classifier": HistGradientBoostingClassifier,
            "Regressor": HistGradientBoostingRegressor,
        }
        return models[kind](max_iter=5, min_samples_leaf=5, **options)
    library = pytest.importorskip(package, reason=f"needs {package}")
    size = {"iterations": 5} if package == "catboost" else {"n_estimators": 5}
    if package == "lightgbm":
        size["min_child_samples"] = 5
    return getattr(library, f"{NAMES[package]}{kind}")(**size, **options)


@pytest.fixture(autouse=True)
def silently_and_without_files(tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    yield
    assert list(tmp_path.iterdir()) == []
    out, err = capfd.readouterr()
    assert (out, err) == ("", "")


def mixed_frame():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(
        {
            "size [m]": rng.normal(size=N_ROWS),  # with characters that some packages refuse
            "count": rng.integers(0, 9, N_ROWS),
            "old": rng.random(N_ROWS) < 0.5,
            "colour": pd.Categorical(rng.choice(["red", "green", "blue"], N_ROWS)),
            "place": rng.choice(["here", "there"], N_ROWS),
            "grade": pd.Categorical(rng.choice(["1", "2", "3", "4"], N_ROWS)),
        }
    )
    X.loc[::7, "size [m]"] = np.nan
    X.loc[::5, "colour"] = None
    X.loc[::6, "place"] = None
    return X


X = mixed_frame()
SCORE = X["size [m]"].fillna(0) + 2 * (X["colour"] == "red")
NUMBERS = SCORE.to_numpy()
BINARY = (SCORE > 0.3).to_numpy().astype(int)
# "one" is a class of a single row, which is in no more than one part of a fold.
RARE = np.array(["a", "b", "c"], object)[np.digitize(SCORE, [-0.3, 1.2])]
RARE[5] = "b-one"


def as_array(frame):
    """The same table as numbers, with categories as codes and NaN for missing values."""
    codes = {
        "colour": frame["colour"].cat.codes.where(lambda code: code >= 0),
        "place": frame["place"].map({"here": 0.0, "there": 1.0}),
    }
    return frame.assign(**codes).to_numpy(dtype=float)


TABLES = {
    "pandas": (X, {}),
    "polars": (pl.from_pandas(X), {}),
    "array": (as_array(X), {"categorical_features": CATEGORIES}),
}


def deep(*members, **options):
    return DeepForestClassifier(members=list(members), **DEEP | options)


@pytest.mark.parametrize("kind", TABLES)
@pytest.mark.parametrize("package", PACKAGES)
def test_mixed_tables_with_a_class_of_one_row(package, kind):
    table, options = TABLES[kind]
    for refit in (True, False) if kind == "pandas" else (False,):
        model = deep(booster(package), refit=refit, **options).fit(table, RARE)
        assert model.score(table, RARE) > 0.75
        probabilities = model.predict_proba(table)
        assert probabilities.shape == (N_ROWS, 4)
        np.testing.assert_allclose(probabilities.sum(axis=1), 1)


@pytest.mark.parametrize("package", PACKAGES)
def test_arrays_and_frames_give_the_same_boosters(package):
    member = booster(package)
    codes = pd.DataFrame(as_array(X), columns=list("abcdef"))
    whole = codes.columns[CATEGORIES]
    coded = codes.astype(dict.fromkeys(whole, "Int64")).astype(dict.fromkeys(whole, "category"))
    for first, second in (("pandas", "polars"), (coded, "array")):
        result = []
        for kind in (first, second):
            table, options = TABLES[kind] if isinstance(kind, str) else (kind, {})
            model = deep(member, **options).fit(table, BINARY)
            result.append(model.predict_proba(table))
        np.testing.assert_allclose(result[0], result[1], atol=1e-9)


@pytest.mark.parametrize("package", PACKAGES)
def test_categories_are_learnt_as_categories(package):
    """No single split by the order of the category codes separates the target."""
    rng = np.random.default_rng(0)
    names = np.array(list("abcdefgh"))
    numbers = rng.integers(0, 8, 240)
    frame = pd.DataFrame({"name": names[numbers], "noise": rng.normal(size=240)})
    y = numbers % 2
    codes = np.column_stack([numbers, frame["noise"]]).astype(float)
    sizes = {"catboost": {"depth": 1}, "sklearn": {"max_depth": 1}}
    member = booster(package, **sizes.get(package, {"max_depth": 1}))
    if package == "lightgbm":
        member.set_params(min_data_per_group=1, cat_smooth=0)
    if package == "xgboost":
        member.set_params(max_cat_to_onehot=1)
    for table, options in ((frame, {}), (codes, {"categorical_features": [0]})):
        assert deep(member, **options).fit(table, y).score(table, y) > 0.95


@pytest.mark.parametrize("package", PACKAGES)
def test_weights(package):
    weight = np.random.default_rng(1).integers(0, 3, N_ROWS)
    model = deep("random", booster(package)).fit(X, BINARY, sample_weight=weight)
    assert model.score(X, BINARY) > 0.8


@pytest.mark.parametrize("kind", ["pandas", "array"])
@pytest.mark.parametrize("package", PACKAGES)
def test_regression(package, kind):
    table, options = TABLES[kind]
    member = booster(package, "Regressor", learning_rate=0.5)
    options = DEEP | options
    alone = DeepForestRegressor(members=[member], **options).fit(table, NUMBERS)
    assert alone.score(table, NUMBERS) > 0.5
    targets = np.column_stack([NUMBERS, -3 * NUMBERS, X["count"]])
    several = DeepForestRegressor(members=[member], refit=kind == "pandas", **options)
    several.fit(table, targets)
    assert several.predict(table).shape == targets.shape
    assert several.score(table, targets) > 0.3


@pytest.mark.parametrize("package", PACKAGES)
def test_columns_and_categories_unseen_in_fit(package):
    model = deep(booster(package)).fit(X, BINARY)
    new = X.astype({"colour": object, "count": float})
    new.loc[0, "colour"], new.loc[1, "count"], new.loc[2, "place"] = "violet", 2.5, "(missing)"
    missing = new.astype({"place": object})
    missing.loc[0, "colour"] = missing.loc[2, "place"] = None
    np.testing.assert_array_equal(model.predict_proba(new), model.predict_proba(missing))


# Parameters of users


# Composite estimators


def vote(*packages):
    return VotingClassifier([(package, booster(package)) for package in packages], voting="soft")


COMPOSITES = {
    "search": lambda: GridSearchCV(booster("catboost"), {"depth": [2, 3]}, cv=2),
    "search, columns": lambda: GridSearchCV(
        booster("catboost", cat_features=["colour"]), {"depth": [2]}, cv=2
    ),
    "vote": lambda: vote(*PACKAGES),
    "stack": lambda: StackingClassifier(
        [(package, booster(package)) for package in PACKAGES], cv=2
    ),
    "pipeline": lambda: make_pipeline("passthrough", booster("catboost")),
    "pipeline of one": lambda: make_pipeline(booster("xgboost")),
    "calibrated catboost": lambda: CalibratedClassifierCV(booster("catboost"), cv=2),
    "calibrated xgboost": lambda: CalibratedClassifierCV(booster("xgboost"), cv=2),
}


def test_composite_estimators_pass_the_conventions_on():
    for kind in ["pandas", "array"]:
        for make in COMPOSITES.values():
            table, options = TABLES[kind]
            member = make()
            if kind == "array" and make is COMPOSITES["search, columns"]:
                member.estimator.set_params(cat_features=[3])
            model = deep(member, **options).fit(table, BINARY)
            assert model.score(table, BINARY) > 0.8
            loaded = pickle.loads(pickle.dumps(model))
            np.testing.assert_array_equal(loaded.predict_proba(table), model.predict_proba(table))


# Hints


def test_the_hint_for_boosting_in_a_pipeline_works():
    for strategy in ["mean", "most_frequent"]:
        for package in PACKAGES:
            member = booster(package)
            pipeline = make_pipeline(SimpleImputer(strategy=strategy), member)
            hint = (
                rf"\(pass {type(member).__name__} without a pipeline: by itself it gets categories"
            )
            with pytest.raises((ValueError, TypeError), match=hint):
                deep(pipeline).fit(X, BINARY)
            assert deep(member).fit(X, BINARY).score(X, BINARY) > 0.7


# Names


@pytest.mark.parametrize("package", PACKAGES)
def test_names_that_packages_refuse(package):
    frame = X.set_axis(["a b", "a_b", "a<b", "c[0]", 'd"{}:,', "é"], axis=1)
    assert deep(booster(package)).fit(frame, BINARY).score(frame, BINARY) > 0.7
