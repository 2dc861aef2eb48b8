"""External estimators as members: calls, weights, and names in errors."""

import numpy as np
import pytest
from sklearn import config_context
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from mddf import DeepForestClassifier, DeepForestRegressor, MDDFClassifier

DEEP = {"n_layers": 1, "n_estimators": 3, "cv": 3, "random_state": 0}


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    return X, (X[:, 0] > 0).astype(int), rng.integers(1, 4, 60).astype(float)


def scaled(model):
    return make_pipeline(StandardScaler(), model)


def deep(*members, **options):
    return DeepForestClassifier(members=["random", *members], **DEEP | options)


# Metadata routing


NO_WEIGHTS = {
    "KNeighborsClassifier": (KNeighborsClassifier(), "got 'KNeighborsClassifier'$"),
    "pipeline": (scaled(KNeighborsClassifier()), "got 'Pipeline'$"),
}


def test_members_that_weights_do_not_reach_are_refused_first(data):
    for member, message in NO_WEIGHTS.values():
        for routing in [False, True]:
            X, y, weight = data
            begins = r"^{} must hold models whose fit takes sample_weight.*"
            with config_context(enable_metadata_routing=routing):
                with pytest.raises(ValueError, match=begins.format("members") + message):
                    deep(member).fit(X, y, weight)
                cascade = MDDFClassifier(1, forests=[member])
                with pytest.raises(ValueError, match=begins.format("forests") + message):
                    cascade.fit(X, y, weight)
                cascade.set_params(class_weight="balanced")
                with pytest.raises(ValueError, match=begins.format("forests") + message):
                    cascade.fit(X, y)


# Missing methods


def test_classes_without_a_method_are_refused(data):
    X, y, _ = data
    for name, model in [
        ("members", deep(LinearSVC())),
        ("forests", MDDFClassifier(forests=[LinearSVC()])),
    ]:
        with pytest.raises(
            ValueError, match=f"^{name} must hold .*LinearSVC without predict_proba"
        ):
            model.fit(X, y)


# What fails


class Fails(RegressorMixin, BaseEstimator):
    """A regressor that raises its own error."""

    def __init__(self, error=KeyError, at="fit"):
        self.error = error
        self.at = at

    def fit(self, X, y):
        if self.at == "fit":
            raise self.error("no such thing\nand more")
        return self

    def predict(self, X):
        raise self.error("no such thing")


def test_errors_begin_with_the_member(data):
    for error, kind in [(ValueError, ValueError), (TypeError, TypeError), (OSError, RuntimeError)]:
        for at, failure in [("fit", "be fitted"), ("predict", "predict")]:
            X, *_ = data
            model = DeepForestRegressor(members=["random", ("mine", Fails(error, at))], **DEEP)
            with pytest.raises(kind, match=f"^the member 'mine' cannot {failure}: no such thing"):
                model.fit(X, X[:, 0])


def test_members_that_refuse_missing_values_are_named_with_a_remedy(data):
    X, y, _ = data
    missing = X.copy()
    missing[:3, 1] = np.nan
    remedy = r"NaN.*\(missing values are NaN: put SimpleImputer"
    model = deep(("knn", KNeighborsClassifier()))
    with pytest.raises(ValueError, match=f"^the member 'knn' cannot be fitted: .*{remedy}"):
        model.fit(missing, y)
    with pytest.raises(ValueError, match=f"^the member 'knn' cannot predict: .*{remedy}"):
        model.fit(X, y).predict(missing)
    cascade = MDDFClassifier(1, forests=[scaled(KNeighborsClassifier())]).fit(X, y)
    with pytest.raises(
        ValueError, match=rf"^the member 'Pipeline of forests\[0\]' cannot predict: .*{remedy}"
    ):
        cascade.predict(missing)
    regressor = DeepForestRegressor(members=[KNeighborsRegressor()], **DEEP).fit(X, X[:, 0])
    with pytest.raises(ValueError, match=r"^the member 'KNeighborsRegressor' cannot predict"):
        regressor.predict(missing)
