"""Members of other packages are tried on few rows, before any work is done."""

import numpy as np
import pytest
from counting import CountsRows
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from mddf import DeepForestClassifier
from mddf._deep_forest import training

DEEP = {"n_layers": 1, "n_estimators": 3, "cv": 3, "random_state": 0}


@pytest.fixture(scope="module")
def data():
    X = np.random.default_rng(0).normal(size=(300, 3))
    return X, (X[:, 0] > 0).astype(int)


def scaled(model):
    return make_pipeline(StandardScaler(), model)


def wrong_members():
    """Members with a value that they themselves refuse, and what is in the error."""
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
def test_values_that_other_packages_refuse_are_found_before_any_work(
    package, member, message, data
):
    X, y = data
    if isinstance(member, tuple):
        name, options = member
        member = getattr(pytest.importorskip(package), name)(**options)
    CountsRows.n_rows.clear()
    begins = "^the member 'mine' cannot be fitted: "
    with pytest.raises((ValueError, RuntimeError), match=f"{begins}(.|\n)*{message}"):
        DeepForestClassifier(members=[CountsRows(), ("mine", member)], **DEEP).fit(X, y)
    assert max(CountsRows.n_rows) <= 40  # of 200 in a fold


def test_members_that_few_rows_are_too_few_for_are_fitted(data):
    X, y = data
    member = KNeighborsClassifier(n_neighbors=100)  # more than there are when it is tried
    model = DeepForestClassifier(members=[member], **DEEP).fit(X, y)
    assert model.score(X, y) > 0.8
    message = r"^the member 'KNeighborsClassifier' cannot .*n_neighbors = 201"
    with pytest.raises(ValueError, match=message):
        DeepForestClassifier(members=[KNeighborsClassifier(201)], **DEEP).fit(X, y)


def test_members_are_tried_on_rows_of_all_classes():
    strata = np.repeat([3, 1, 2], [500, 1, 90])
    rows = np.arange(10, 591)
    few = training._few(rows, strata)
    assert set(few) <= set(rows)
    assert np.bincount(strata[few]).tolist() == [0, 1, 13, 13]
    assert np.ptp(few[strata[few] == 3]) > 480
    assert len(training._few(rows, np.zeros(600, int))) == 40
    assert len(training._few(rows[:7], np.zeros(600, int))) == 7
