"""Searches, cross-validation and stacking on joblib's backends: the same scores as without them.

There an estimator is fitted by a task that gives out tasks of its own.
"""

import numpy as np
import pytest
from forest_cases import three_classes
from joblib import parallel_config
from mddf.baselines import (
    AdaBoostClassifier,
    DeepBoostClassifier,
    GCForestClassifier,
    LPBoostClassifier,
    MultiGrainedScanner,
    QuadBoostClassifier,
)
from sklearn.base import is_regressor
from sklearn.ensemble import RandomForestClassifier as ScikitForestClassifier
from sklearn.ensemble import StackingClassifier, StackingRegressor
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV, cross_val_predict, cross_val_score
from sklearn.pipeline import make_pipeline

from mddf import (
    CompletelyRandomForestClassifier,
    CompletelyRandomForestRegressor,
    DeepForestClassifier,
    DeepForestRegressor,
    MDDFClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
)

pytestmark = pytest.mark.usefixtures("time_limit")

LAYERS = {"n_estimators": 3, "cv": 2, "random_state": 0}
# A member that is a cascade, one that is a search and one with jobs of its own: tasks in tasks.
NESTED = [
    MDDFClassifier(1, **LAYERS),
    GridSearchCV(LogisticRegression(), {"C": [0.1, 1]}, cv=2),
    ScikitForestClassifier(3, n_jobs=2, random_state=0),
]
CASCADES = {
    "mddf": MDDFClassifier(2, **LAYERS),
    "gcforest": GCForestClassifier(2, **LAYERS),
    "deep": DeepForestClassifier(members=["random", "linear"], **LAYERS),
}
ESTIMATORS = {
    **CASCADES,
    "nested": GCForestClassifier(1, forests=["random", *NESTED], **LAYERS),
    "deep regressor": DeepForestRegressor(members=["random", "linear"], **LAYERS),
    "forest": RandomForestClassifier(5, random_state=0),
    "completely random": CompletelyRandomForestClassifier(5, random_state=0),
    "forest regressor": RandomForestRegressor(5, random_state=0),
    "completely random regressor": CompletelyRandomForestRegressor(5, random_state=0),
    "adaboost": AdaBoostClassifier(5, random_state=0),
    "deepboost": DeepBoostClassifier(5, random_state=0),
    "quadboost": QuadBoostClassifier(n_estimators=5, random_state=0),
    "lpboost": LPBoostClassifier(n_estimators=5, random_state=0),
    "scanner": make_pipeline(
        MultiGrainedScanner([1], n_estimators=3, cv=2, random_state=0), LogisticRegression()
    ),
}


def problem(model):
    X, y = three_classes()
    X = np.nan_to_num(X)
    return X, (X[:, 0] + y if is_regressor(model) else y)


def results(model):
    """Results of cross-validation, a search and stacking."""
    X, y = problem(model)
    scores = cross_val_score(model, X, y, cv=2, error_score="raise")
    predicted = cross_val_predict(model, X, y, cv=2)
    *_, name = [name for name in model.get_params() if name.endswith("random_state")]
    search = GridSearchCV(model, {name: [0, 1]}, cv=2, error_score="raise").fit(X, y)
    stacking, last = StackingClassifier, LogisticRegression()
    if is_regressor(model):
        stacking, last = StackingRegressor, Ridge()
    stack = stacking([("one", model), ("other", model)], last, cv=2).fit(X, y)
    result = [scores, predicted, search.cv_results_["mean_test_score"], search.predict(X[::2])]
    return [*result, stack.predict(X[::2]), stack.transform(X[::2])]


def assert_same_results(model, engine, n_jobs):
    expected = results(model)
    with parallel_config(engine, n_jobs=n_jobs):
        result = results(model)
    for array, other in zip(result, expected, strict=True):
        np.testing.assert_array_equal(array, other)


@pytest.fixture(params=[1, 2], scope="module")
def threads_there(request):
    """A client of one worker with this number of threads in this process."""
    distributed = pytest.importorskip("distributed")
    with distributed.Client(
        n_workers=1, threads_per_worker=request.param, processes=False, dashboard_address=None
    ) as client:
        yield client


@pytest.fixture
def dask_threads(threads_there):
    with threads_there.as_current():
        yield threads_there


def threads_of_pool(client) -> int:
    (worker,) = client.cluster.workers.values()
    return len(worker.executors["default"]._threads)


@pytest.mark.parametrize("name", CASCADES)
def test_cross_validation_in_threads_of_dask(name, dask_threads):
    X, y = problem(CASCADES[name])
    expected = cross_val_score(CASCADES[name], X, y, cv=2)
    with parallel_config("dask"):
        result = cross_val_score(CASCADES[name], X, y, cv=2, error_score="raise")
    np.testing.assert_array_equal(result, expected)
    # Each thread that left the pool to wait has come back.
    assert threads_of_pool(dask_threads) <= sum(dask_threads.ncores().values())


@pytest.mark.slow
def test_cross_validation_in_processes_of_dask(dask):
    model = CASCADES["mddf"]
    X, y = problem(model)
    expected = cross_val_score(model, X, y, cv=2)
    with dask.as_current(), parallel_config("dask"):
        result = cross_val_score(model, X, y, cv=2, error_score="raise")
    np.testing.assert_array_equal(result, expected)


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["loky", "threading", "multiprocessing"])
@pytest.mark.parametrize("name", ESTIMATORS)
def test_in_processes_and_threads(name, engine):
    assert_same_results(ESTIMATORS[name], engine, 2)


class Failing(LogisticRegression):
    """Fails in fit, after other tasks were submitted."""

    def fit(self, X, y, sample_weight=None):
        raise ValueError("on purpose")


def test_errors_leave_the_pool_of_threads_whole(dask_threads):
    """A task with failing subtasks returns its thread, and other tasks continue."""
    X, y = problem(CASCADES["mddf"])
    failing = GCForestClassifier(1, forests=["random", Failing()], **LAYERS)
    with parallel_config("dask"):
        for _ in range(2):
            with pytest.raises(ValueError, match="on purpose"):
                cross_val_score(failing, X, y, cv=2, error_score="raise")
        result = cross_val_score(CASCADES["mddf"], X, y, cv=2)
    np.testing.assert_array_equal(result, cross_val_score(CASCADES["mddf"], X, y, cv=2))
    assert threads_of_pool(dask_threads) <= sum(dask_threads.ncores().values())
