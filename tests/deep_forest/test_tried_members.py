"""Members of other packages are first tried on few rows."""

import numpy as np
import pytest
from counting import CountsRows, CountsRowsOfNumbers
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from mddf import DeepForestClassifier, DeepForestRegressor

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
def test_unsupported_values_are_found_before_fitting(package, member, message, data):
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


class NotesLabels(GaussianNB):
    """Records the first column and the labels of its fits."""

    labels: list = []

    def fit(self, X, y, sample_weight=None):
        self.labels.append((X[:, 0], y))
        return super().fit(X, y, sample_weight)


def test_members_are_tried_on_rows_of_all_classes():
    y = np.repeat([2, 0, 1], [240, 3, 60])
    X = np.column_stack([np.arange(303.0), np.random.default_rng(0).normal(size=303)])
    NotesLabels.labels.clear()
    DeepForestClassifier(members=[NotesLabels()], **DEEP).fit(X, y)
    numbers, labels = NotesLabels.labels[0]
    assert np.bincount(labels.astype(int)).tolist() == [2, 13, 13]  # two of three rows in a fold
    assert np.ptp(numbers[labels == 2]) > 200


@pytest.mark.parametrize(("n_rows", "n_seen"), [(303, 40), (12, 8)])
def test_numbers_are_tried_on_some_rows(n_rows, n_seen):
    X = np.random.default_rng(0).normal(size=(n_rows, 2))
    CountsRowsOfNumbers.n_rows.clear()
    DeepForestRegressor(members=[CountsRowsOfNumbers()], **DEEP).fit(X, X[:, 0])
    assert CountsRowsOfNumbers.n_rows[0] == n_seen
