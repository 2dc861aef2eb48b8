"""Searches, cross-validation and stacking on joblib's backends: the same scores as without them.

There an estimator is fitted by a task that gives out tasks of its own.
"""

import numpy as np
import pytest
from forest_cases import three_classes
from joblib import parallel_config
from mddf.baselines import (
    GCForestClassifier,
)
from sklearn.base import is_regressor
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_score

from mddf import (
    DeepForestClassifier,
    MDDFClassifier,
)

pytestmark = pytest.mark.usefixtures("time_limit")

LAYERS = {"n_estimators": 3, "cv": 2, "random_state": 0}
CASCADES = {
    "mddf": MDDFClassifier(2, **LAYERS),
    "gcforest": GCForestClassifier(2, **LAYERS),
    "deep": DeepForestClassifier(members=["random", "linear"], **LAYERS),
}


def problem(model):
    X, y = three_classes()
    X = np.nan_to_num(X)
    return X, (X[:, 0] + y if is_regressor(model) else y)


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
