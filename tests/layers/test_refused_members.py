"""Errors of members of other packages name the member."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from mddf import DeepForestClassifier

DEEP = {"n_layers": 1, "n_estimators": 3, "cv": 3, "random_state": 0}


@pytest.fixture(scope="module")
def data():
    X = np.random.default_rng(0).normal(size=(300, 3))
    return X, (X[:, 0] > 0).astype(int)


def scaled(model):
    return make_pipeline(StandardScaler(), model)


def wrong_members():
    """Members with a value that they refuse, and the error message."""
    yield "sklearn", LogisticRegression(C=-1), "The 'C' parameter of LogisticRegression"
    yield "nested", scaled(LogisticRegression(solver="none")), "The 'solver' parameter"
    yield "search", GridSearchCV(GaussianNB(), {"none": [1]}, cv=2), "Invalid parameter 'none'"
    yield "lightgbm", ("LGBMClassifier", {"objective": "none", "verbose": -1}), "objective"
    yield "catboost", ("CatBoostClassifier", {"depth": 99, "verbose": 0}), "depth"
    yield "xgboost", ("XGBClassifier", {"max_depth": -5}), "max_depth"


@pytest.mark.parametrize(
    ("package", "member", "message"),
    [pytest.param(*case, id=case[0]) for case in wrong_members()],
)
def test_unsupported_values_are_refused_by_the_name_of_the_member(package, member, message, data):
    X, y = data
    if isinstance(member, tuple):
        name, options = member
        member = getattr(pytest.importorskip(package), name)(**options)
    begins = "^the member 'mine' cannot be fitted: "
    with pytest.raises((ValueError, RuntimeError), match=f"{begins}(.|\n)*{message}"):
        DeepForestClassifier(members=["random", ("mine", member)], **DEEP).fit(X, y)


def test_members_that_need_more_rows_than_a_fold_has(data):
    X, y = data
    message = r"^the member 'KNeighborsClassifier' cannot .*n_neighbors = 201"
    with pytest.raises(ValueError, match=message):
        DeepForestClassifier(members=[KNeighborsClassifier(201)], **DEEP).fit(X, y)
