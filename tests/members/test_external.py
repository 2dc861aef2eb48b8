"""External estimators as members: calls, weights, and names in errors."""

import threading

import numpy as np
import pytest
from mddf.baselines import GCForestClassifier
from sklearn import config_context
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import TransformedTargetRegressor
from sklearn.ensemble import (
    BaggingClassifier,
    StackingClassifier,
    StackingRegressor,
    VotingClassifier,
)
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC
from sklearn.utils.metaestimators import available_if

from mddf import DeepForestClassifier, DeepForestRegressor, MDDFClassifier
from mddf._members import external_training
from mddf._members.external import kind_of, weight_parameter

DEEP = {"n_layers": 1, "n_estimators": 3, "cv": 3, "random_state": 0}


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    return X, (X[:, 0] > 0).astype(int), rng.integers(1, 4, 60).astype(float)


def scaled(model):
    return make_pipeline(StandardScaler(), model)


def stack(final=None, base=None):
    base = LogisticRegression() if base is None else base
    return StackingClassifier([("a", base)], final, cv=2)


def vote(model, voting="soft"):
    return VotingClassifier([("a", model)], voting=voting)


def deep(*members, **options):
    return DeepForestClassifier(members=["random", *members], **DEEP | options)


def predictions(model, X):
    return model.predict_proba(X) if hasattr(model, "predict_proba") else model.predict(X)


# Metadata routing


def check_routing_changes_nothing(model, X, y, weight=None):
    expected = predictions(clone(model).fit(X, y, sample_weight=weight), X)
    with config_context(enable_metadata_routing=True):
        result = predictions(clone(model).fit(X, y, sample_weight=weight), X)
    np.testing.assert_array_equal(result, expected)


TAKE_WEIGHTS = {
    "pipeline": scaled(LogisticRegression()),
    "pipeline in pipeline": scaled(scaled(LogisticRegression())),
    "search": GridSearchCV(LogisticRegression(), {"C": [0.1, 1]}, cv=2),
    "search of pipeline": GridSearchCV(
        scaled(LogisticRegression()), {"logisticregression__C": [0.1, 1]}, cv=2
    ),
    "stack": stack(),
    "vote": vote(LogisticRegression()),
    "calibrated": CalibratedClassifierCV(LogisticRegression(), cv=2),
    "bag": BaggingClassifier(LogisticRegression(), 2),
    "cascade": GCForestClassifier(1, n_estimators=2),
}


@pytest.mark.parametrize("member", TAKE_WEIGHTS.values(), ids=TAKE_WEIGHTS)
def test_metadata_routing_changes_no_fit(member, data):
    check_routing_changes_nothing(deep(member), *data)
    check_routing_changes_nothing(deep(member, class_weight="balanced"), *data[:2])
    cascade = MDDFClassifier(2, forests=[member], n_estimators=2, cv=2, random_state=0)
    check_routing_changes_nothing(cascade, *data)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_metadata_routing_changes_no_fit_of_named_members(n_jobs, data):
    X, y, weight = data
    options = DEEP | {"n_jobs": n_jobs}
    members = ["random", "kernel", "linear", "network"]
    check_routing_changes_nothing(
        DeepForestClassifier(members=members, class_weight="balanced", **options), X, y
    )
    check_routing_changes_nothing(DeepForestClassifier(**options), X, y, weight)
    check_routing_changes_nothing(
        DeepForestRegressor(members=members, **options), X, X[:, 0], weight
    )


REGRESSORS = {
    "pipeline": scaled(Ridge()),
    "transformed": TransformedTargetRegressor(scaled(Ridge()), transformer=StandardScaler()),
    "transformed default": TransformedTargetRegressor(transformer=StandardScaler()),
    "stack": StackingRegressor([("a", Ridge())], cv=2),
}


@pytest.mark.parametrize("member", REGRESSORS.values(), ids=REGRESSORS)
def test_metadata_routing_changes_no_regression(member, data):
    X, _, weight = data
    model = DeepForestRegressor(members=["random", member], **DEEP)
    check_routing_changes_nothing(model, X, X[:, 0], weight)


def test_weights_reach_inner_estimators(data):
    X, y, weight = data
    for member in TAKE_WEIGHTS.values():
        name = weight_parameter(member)
        plain, weighted = (clone(member), clone(member).fit(X, y, **{name: weight * (1 + 9 * y)}))
        heavy = weighted.predict_proba(X)[:, 1].mean()
        assert heavy > plain.fit(X, y).predict_proba(X)[:, 1].mean()


NO_WEIGHTS = {
    "KNeighborsClassifier": (KNeighborsClassifier(), "got 'KNeighborsClassifier'$"),
    "pipeline": (scaled(KNeighborsClassifier()), "'Pipeline' .* its KNeighborsClassifier$"),
    "vote": (vote(KNeighborsClassifier()), "'VotingClassifier' .* its KNeighborsClassifier$"),
    "stack": (stack(KNeighborsClassifier()), "'StackingClassifier' .* its KNeighborsClassifier$"),
    "stack of pipelines": (stack(None, scaled(LogisticRegression())), "its Pipeline$"),
    "calibrated": (CalibratedClassifierCV(scaled(LogisticRegression())), "its Pipeline$"),
    "search": (GridSearchCV(KNeighborsClassifier(), {"p": [1]}), "its KNeighborsClassifier$"),
}


@pytest.mark.parametrize(("member", "message"), NO_WEIGHTS.values(), ids=NO_WEIGHTS)
@pytest.mark.parametrize("routing", [False, True])
def test_members_that_weights_do_not_reach_are_refused_first(member, message, routing, data):
    X, y, weight = data
    begins = r"^{} must hold models whose fit takes sample_weight.*"
    with config_context(enable_metadata_routing=routing):
        with pytest.raises(ValueError, match=begins.format("members") + message):
            deep(member).fit(X, y, weight)
        with pytest.raises(ValueError, match=begins.format("forests") + message):
            MDDFClassifier(1, forests=[member]).fit(X, y, weight)


# What a member is


class ByDuck:
    """A classifier without the base classes of scikit-learn."""

    def get_params(self, deep=True):
        return {}

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def predict_proba(self, X):
        return np.full((len(X), len(self.classes_)), 1 / len(self.classes_))


class Plain(BaseEstimator):
    """A regressor without a declared type that has attributes of classifiers."""

    classes_ = ()

    def fit(self, X, y):
        return self

    def predict(self, X):
        return X[:, 0]


@pytest.mark.parametrize(
    ("model", "kind"),
    [
        (LogisticRegression(), "classifier"),
        (scaled(Ridge()), "regressor"),
        (GridSearchCV(scaled(SVC()), {}), "classifier"),
        (stack(), "classifier"),
        (ByDuck(), "classifier"),
        (Plain(), "regressor"),
        (TransformedTargetRegressor(), "regressor"),
        (StandardScaler(), "estimator"),
    ],
)
def test_kinds(model, kind):
    assert kind_of(model) == kind


def test_members_are_recognised_by_type_and_not_by_attributes(data):
    X, y, _ = data
    assert deep(ByDuck()).fit(X, y).score(X, y) > 0.8
    model = DeepForestRegressor(members=["random", Plain()], **DEEP).fit(X, X[:, 0] * 3)
    assert model.score(X, X[:, 0] * 3) > 0.8
    with pytest.raises(ValueError, match=r"^members must hold names or regressors .* classifier"):
        DeepForestRegressor(members=[LogisticRegression()]).fit(X, X[:, 0])
    with pytest.raises(ValueError, match=r"^members must hold names or classifiers .* regressor"):
        deep(Ridge()).fit(X, y)
    with pytest.raises(ValueError, match=r"^forests must hold names or classifiers .* estimator"):
        MDDFClassifier(1, forests=[StandardScaler()]).fit(X, y)


def test_classes_in_place_of_models_and_names_that_are_mistyped(data):
    X, y, _ = data
    with pytest.raises(ValueError, match=r"got the class GaussianNB: put parentheses after it$"):
        deep(GaussianNB).fit(X, y)
    with pytest.raises(ValueError, match=r"got 'bosted'; did you mean 'boosted' or 'boosted-leaf"):
        deep("bosted").fit(X, y)
    with pytest.raises(ValueError, match=r"got 'xyz'$"):
        deep("xyz").fit(X, y)
    with pytest.raises(ValueError, match=r"got 'liner'; did you mean 'linear'\?$"):
        DeepForestRegressor(members=["liner"]).fit(X, X[:, 0])


@pytest.mark.parametrize(
    ("package", "name", "options"),
    [
        ("catboost", "CatBoost", {"iterations": 5, "verbose": 0, "allow_writing_files": False}),
        ("lightgbm", "LGBM", {"n_estimators": 5, "verbose": -1}),
        ("xgboost", "XGB", {"n_estimators": 5}),
    ],
)
def test_boosting_of_other_packages(package, name, options, data):
    library = pytest.importorskip(package)
    X, y, weight = data
    classifier = getattr(library, f"{name}Classifier")(**options)
    regressor = getattr(library, f"{name}Regressor")(**options)
    assert kind_of(classifier) == "classifier"
    assert kind_of(regressor) == "regressor"
    assert deep(classifier).fit(X, y, weight).score(X, y) > 0.8
    assert MDDFClassifier(1, forests=[classifier]).fit(X, y).score(X, y) > 0.8
    for targets in (X[:, 0], X[:, 0] * 1000):
        for members in (["random", regressor], [regressor]):
            model = DeepForestRegressor(members=members, **DEEP).fit(X, targets, weight)
            assert model.predict(X).shape == (60,)
    with pytest.raises(ValueError, match=r"^members must hold names or regressors"):
        DeepForestRegressor(members=[classifier], **DEEP).fit(X, X[:, 0])


# What a member has


class Late(ClassifierMixin, BaseEstimator):
    """A classifier whose predict_proba appears in fit, or never."""

    def __init__(self, never=False, most_rows=1000):
        self.never = never
        self.most_rows = most_rows

    def fit(self, X, y):
        if len(X) > self.most_rows:
            raise ValueError("too many rows")
        self.model_ = None if self.never else LogisticRegression().fit(X, y)
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        return self.model_.predict(X)

    @available_if(lambda self: getattr(self, "model_", None) is not None)
    def predict_proba(self, X):
        return self.model_.predict_proba(X)


HAVE_PROBABILITIES = {
    "stack": stack(),
    "stack in pipeline": scaled(stack()),
    "stack in search": GridSearchCV(stack(), {"passthrough": [False, True]}, cv=2),
    "late": Late(),
    "pipeline": scaled(LogisticRegression()),
    "search": GridSearchCV(LogisticRegression(), {"C": [1]}, cv=2),
    "calibrated": CalibratedClassifierCV(LinearSVC(), cv=2),
    "vote": vote(LogisticRegression()),
}


@pytest.mark.parametrize("member", HAVE_PROBABILITIES.values(), ids=HAVE_PROBABILITIES)
def test_predict_proba_that_appears_in_fit_is_used(member, data):
    X, y, _ = data
    assert deep(member).fit(X, y).score(X, y) > 0.8
    for Cascade in (MDDFClassifier, GCForestClassifier):
        cascade = Cascade(1, forests=["random", member], n_estimators=3)
        assert cascade.fit(X, y).score(X, y) > 0.8


WITHOUT = {
    "SVC": (SVC(probability=False), "SVC without predict_proba.*probability=False"),
    "hard vote": (
        vote(LogisticRegression(), "hard"),
        "VotingClassifier without predict_proba.*voting='hard'",
    ),
    "LinearSVC": (LinearSVC(), "LinearSVC without predict_proba"),
    "pipeline": (scaled(SVC()), "Pipeline without predict_proba"),
    "search": (GridSearchCV(SVC(), {"C": [1]}, cv=2), "GridSearchCV without predict_proba"),
    "stack": (stack(LinearSVC()), "StackingClassifier without predict_proba"),
    "never": (Late(never=True), "Late without predict_proba"),
}


@pytest.mark.filterwarnings("ignore:The `probability` parameter")
@pytest.mark.parametrize(("member", "message"), WITHOUT.values(), ids=WITHOUT)
def test_missing_requirements_are_named(member, message, data):
    X, y, _ = data
    with pytest.raises(ValueError, match=f"^members must hold .*{message}"):
        deep(member).fit(X, y)
    with pytest.raises(ValueError, match=f"^forests must hold .*{message}"):
        GCForestClassifier(1, forests=[member]).fit(X, y)


def test_methods_missing_after_fit_are_named(data):
    X, y, _ = data
    unknown = Late(never=True, most_rows=39)  # the fit that would show it fails
    with pytest.raises(RuntimeError, match=r"^the member 'Late' cannot predict: .*predict_proba"):
        DeepForestClassifier(members=[unknown], cv=3).fit(X[:45], y[:45])


# What fails


class Fails(BaseEstimator):
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


@pytest.mark.parametrize(
    ("error", "kind"), [(ValueError, ValueError), (TypeError, TypeError), (OSError, RuntimeError)]
)
@pytest.mark.parametrize(("at", "failure"), [("fit", "be fitted"), ("predict", "predict")])
def test_errors_begin_with_the_member(error, kind, at, failure, data):
    X, *_ = data
    model = DeepForestRegressor(members=["random", ("mine", Fails(error, at))], **DEEP)
    with pytest.raises(kind, match=f"^the member 'mine' cannot {failure}: no such thing"):
        model.fit(X, X[:, 0])


def test_warnings_raised_as_errors_keep_their_type(data):
    X, *_ = data
    with pytest.raises(DeprecationWarning, match=r"^no such thing"):
        DeepForestRegressor(members=[Fails(DeprecationWarning)], **DEEP).fit(X, X[:, 0])


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
    with pytest.raises(ValueError, match=f"^the member 'Pipeline' cannot predict: .*{remedy}"):
        cascade.predict(missing)
    regressor = DeepForestRegressor(members=[KNeighborsRegressor()], **DEEP).fit(X, X[:, 0])
    with pytest.raises(ValueError, match=r"^the member 'KNeighborsRegressor' cannot predict"):
        regressor.predict(missing)


def test_only_members_that_gain_by_threads_are_fitted_in_some(data, monkeypatch):
    """The bits do not depend on threads."""
    X, *_ = data
    y = np.digitize(X[:, 0], [-0.5, 0.5])
    whole, threads = external_training._fit_part, set()

    def fit(*arguments, **options):
        threads.add(threading.current_thread())
        return whole(*arguments, **options)

    monkeypatch.setattr(external_training, "_fit_part", fit)
    calling_thread, result = {threading.current_thread()}, []
    for members, few_cells, alone in (
        (["boosted", "linear"], X.size * 3 + 1, True),
        (["boosted", "linear"], X.size * 3, False),
        ([GaussianNB()], X.size * 3 + 1, False),
    ):
        threads.clear()
        monkeypatch.setattr(external_training, "_FEW_CELLS", few_cells)
        model = DeepForestClassifier(1, members=members, n_jobs=2, random_state=0, refit=False)
        result.append(model.fit(X, y).predict_proba(X))
        assert (threads == calling_thread) == alone
    np.testing.assert_array_equal(result[0], result[1])
