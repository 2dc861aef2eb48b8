"""Members of other packages get the columns of the data frame that was passed to fit."""

from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from mddf import DeepForestClassifier, DeepForestRegressor, with_encoder

DEEP = {"n_layers": 1, "n_estimators": 3, "cv": 3, "random_state": 0}
COLUMNS = ["size", "count", "old", "colour", "place"]


class Spy(ClassifierMixin, BaseEstimator):
    """Records the tables that it gets."""

    calls: list = []

    def fit(self, X, y):
        self.calls.append(X)
        self.classes_ = np.unique(y)
        return self

    def predict_proba(self, X):
        self.calls.append(X)
        return np.full((len(X), len(self.classes_)), 1 / len(self.classes_))


@pytest.fixture
def calls():
    Spy.calls.clear()
    return Spy.calls


def table(n=90, missing=True):
    rng = np.random.default_rng(0)
    X = pd.DataFrame(
        {
            "size": rng.normal(size=n),
            "count": rng.integers(0, 9, n),
            "old": rng.random(n) < 0.5,
            "colour": pd.Categorical(rng.choice(["red", "green", "blue"], n)),
            "place": rng.choice(["here", "there"], n),
        }
    )
    if missing:
        X.loc[::7, "size"] = np.nan
        X.loc[::5, "colour"] = None
    return X


def labels(X):
    return ((X["size"].fillna(0) > 0) ^ (X["colour"] == "red")).astype(int).to_numpy()


def assert_rows_of(frame, X):
    """Assert that a table has rows of X in their order, with its columns."""
    assert isinstance(frame, pd.DataFrame)
    assert list(frame.columns) == COLUMNS
    assert list(map(str, frame.dtypes)) == ["float64", "int64", "bool", "category", "category"]
    assert sorted(frame["colour"].cat.categories) == ["blue", "green", "red"]
    rows = {tuple(row) for row in X.astype("object").fillna("none").to_numpy().tolist()}
    frame_rows = frame.astype("object").fillna("none").to_numpy().tolist()
    assert all(tuple(row) in rows for row in frame_rows)


def test_every_fold_gets_the_original_columns(calls):
    X = table()
    model = DeepForestClassifier(members=[Spy(), "random"], **DEEP).fit(X, labels(X))
    assert len(calls) >= 7  # three folds are fitted and asked, and all rows
    for result in calls:
        assert_rows_of(result, X)
    assert (60, 30) in pairwise(map(len, calls))
    calls.clear()
    model.predict_proba(X[:8])
    for result in calls:
        pd.testing.assert_frame_equal(
            result,
            X[:8].astype({"place": result["place"].dtype, "colour": result["colour"].dtype}),
        )


def test_unseen_categories_are_missing_and_integers_may_become_floats(calls):
    X = table()
    model = DeepForestClassifier(members=[Spy()], **DEEP).fit(X, labels(X))
    new = X[:4].astype({"colour": "object", "count": "float64"})
    new.loc[0, "colour"] = "violet"
    new.loc[1, "count"], new.loc[2, "count"] = np.nan, 2.5
    calls.clear()
    model.predict_proba(new)
    (result,) = calls
    assert result["colour"].isna().tolist() == [True, *X["colour"].isna()[1:4]]
    np.testing.assert_array_equal(result["count"], new["count"])


def test_members_that_take_numbers_alone_are_named_with_a_remedy():
    X = table(missing=False)
    model = DeepForestClassifier(members=[("lr", LogisticRegression())], **DEEP)
    message = r"^the member 'lr' cannot be fitted: .* \(it gets categories as they are: set"
    with pytest.raises(ValueError, match=message):
        model.fit(X, labels(X))


def boosters():
    return [
        (
            "catboost",
            "CatBoost",
            {"iterations": 20, "verbose": False, "allow_writing_files": False},
        ),
        ("lightgbm", "LGBM", {"n_estimators": 20, "min_child_samples": 5, "verbose": -1}),
        ("xgboost", "XGB", {"n_estimators": 20, "enable_categorical": True}),
    ]


@pytest.mark.parametrize(("package", "name", "options"), boosters())
def test_boosting_of_other_packages(package, name, options):
    """With a rare class, which is absent from the training rows of a fold."""
    library = pytest.importorskip(package)
    X = table(300)
    y = np.r_[2, 2, labels(X)[2:]]
    classifier = getattr(library, f"{name}Classifier")(**options)
    regressor = getattr(library, f"{name}Regressor")(**options)
    if package == "catboost":
        classifier, regressor = with_encoder(classifier), with_encoder(regressor)
    folds = [(np.arange(2, 150), np.r_[:2, 150:300]), (np.r_[:2, 150:300], np.arange(2, 150))]
    options = DEEP | {"cv": folds}
    model = DeepForestClassifier(members=[("theirs", classifier)], **options).fit(X, y)
    assert model.score(X, y) > 0.9
    targets = np.column_stack([y, -3 * y])
    deep = DeepForestRegressor(members=[("theirs", regressor)], **options).fit(X, targets)
    assert deep.score(X, targets) > 0.6


def test_boosting_has_one_thread():
    """The results of LightGBM depend on the number of threads."""
    lightgbm = pytest.importorskip("lightgbm")
    X = table(missing=False)
    member = make_pipeline(lightgbm.LGBMClassifier(n_estimators=2, verbose=-1))
    model = DeepForestClassifier(members=[member], **DEEP).fit(X, labels(X))
    (fitted,) = model._fitted.stages[0].members[0].models
    assert fitted[-1].n_jobs == 1
    assert member[-1].n_jobs is None
