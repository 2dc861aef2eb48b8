"""Dask and other engines: the same bits as threads, little data sent, and recovery from failures.

On real clusters of two processes. Nothing may hang, so that every test has a time limit.
"""

import os
import signal
import threading
import time

import limits
import numpy as np
import pytest
from forest_cases import FORESTS, few_trees, three_classes
from joblib import parallel_config
from mddf.baselines import GCForestClassifier, MultiGrainedScanner
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_predict
from sklearn.tree import DecisionTreeClassifier

from mddf import (
    DeepForestClassifier,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    MDDFClassifier,
    RandomForestClassifier,
)

pytestmark = [pytest.mark.usefixtures("time_limit"), few_trees]


@pytest.fixture
def many_rows(monkeypatch):
    """Distribute predictions even for few rows."""
    limits.change(monkeypatch, traversals_for_processes=2**6)


def forest_bits():
    X, y = three_classes()
    bits = []
    for Forest in FORESTS:
        forest = Forest(15, bootstrap=True, oob_score=True, random_state=0).fit(X, y)
        bits += [forest.predict_proba(X), forest.oob_decision_function_]
        bits += [forest.feature_importances_, forest.apply(X)]
    return bits


def cascade_bits():
    X, y = three_classes()
    forests = ["random", DecisionTreeClassifier()]
    bits = []
    for cascade in (
        MDDFClassifier(2, n_estimators=5, cv=2, early_stopping=False),
        GCForestClassifier(
            2, n_estimators=5, forests=forests, cv=2, early_stopping=False, refit=True
        ),
    ):
        model = cascade.set_params(random_state=0).fit(X, y)
        bits += [model.predict_proba(X), model.transform(X[::2]), model.oof_probabilities_]
    return bits


def deep_bits():
    X, y = three_classes()
    members = ["random", "completely-random", "linear"]
    model = DeepForestClassifier(n_estimators=5, members=members, cv=2, random_state=0)
    return [model.fit(X, y).predict_proba(X), model.oof_probabilities_]


def scanner_bits():
    X, y = three_classes()
    scanner = MultiGrainedScanner([1], n_estimators=5, cv=2, random_state=0)
    return [scanner.fit_transform(X, y), scanner.transform(X[::2])]


def gradient_bits():
    X, y = three_classes()
    model = GradientBoostingClassifier(max_iter=9, subsample=0.7, random_state=0).fit(X, y)
    folds = cross_val_predict(GradientBoostingRegressor(max_iter=9, random_state=0), X, y, cv=2)
    return [model.predict_proba(X), model.train_score_, folds]


BITS = (forest_bits, cascade_bits, deep_bits, scanner_bits, gradient_bits)


def assert_same_bits(bits, engine, n_jobs):
    expected = bits()
    with parallel_config(engine, n_jobs=n_jobs):
        result = bits()
    for array, other in zip(result, expected, strict=True):
        np.testing.assert_array_equal(array, other)


@pytest.mark.parametrize("bits", BITS)
def test_the_same_bits_as_threads(bits, many_rows, dask):
    assert_same_bits(bits, "dask", -1)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # of joblibspark, about itself
@pytest.mark.parametrize("bits", BITS)
def test_the_same_bits_on_spark(bits, spark):
    assert_same_bits(bits, "spark", 2)


@pytest.mark.slow
@pytest.mark.parametrize("bits", BITS)
def test_the_same_bits_in_processes(bits, many_rows):
    assert_same_bits(bits, "loky", 2)


def test_errors_arrive(dask):
    """An error on a worker is raised here, and the estimator stays unfitted."""
    assert_errors_arrive("dask")


def assert_errors_arrive(engine):
    X, y = three_classes()
    model = GCForestClassifier(1, forests=[LogisticRegression(C="no number")], random_state=0)
    with parallel_config(engine, n_jobs=-1), pytest.raises(ValueError, match="'C' parameter"):
        model.fit(X, y)
    assert not hasattr(model, "classes_")


# A cluster that grows has one thread, too.
@pytest.mark.slow
@pytest.mark.parametrize("n_workers", [1, 0])
def test_clusters_of_one_thread_and_growing_clusters(n_workers):
    distributed = pytest.importorskip("distributed")
    bits = (forest_bits, cascade_bits, deep_bits)[: 3 if n_workers else 1]
    expected = [array for make in bits for array in make()]
    options = {"threads_per_worker": 1, "dashboard_address": ":0"}
    with (
        distributed.LocalCluster(n_workers=n_workers, **options) as cluster,
        distributed.Client(cluster),
        parallel_config("dask"),
    ):
        if n_workers == 0:
            # So long it keeps a worker that has no task yet, which may start slowly.
            cluster.adapt(minimum=0, maximum=1, wait_count=60)
        result = [array for make in bits for array in make()]
    for a, b in zip(result, expected, strict=True):
        np.testing.assert_array_equal(a, b)


# What dies


def until(condition, seconds=240):
    """Wait for a condition; on a busy machine half a minute is too short."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)


def test_a_killed_worker_only_repeats_its_chunks(dask):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(4000, 10)), rng.integers(0, 2, 4000)
    forest = RandomForestClassifier(400, random_state=0, min_samples_leaf=5)
    expected = forest.fit(X, y).predict_proba(X[:500])
    pids = dask.run(os.getpid)
    scheduler = dask.cluster.scheduler
    scheduler.transition_log.clear()

    def runs():
        started = [entry[0] for entry in [*scheduler.transition_log] if entry[2] == "processing"]
        return [key for key in started if "_grow_piece" in key]

    def kill():
        until(lambda: len(runs()) >= 4)
        os.kill(next(iter(pids.values())), signal.SIGKILL)

    killer = threading.Thread(target=kill)
    killer.start()
    with parallel_config("dask"):
        result = forest.fit(X, y).predict_proba(X[:500])
    killer.join()
    np.testing.assert_array_equal(result, expected)
    keys = runs()
    assert len(set(keys)) < len(keys) < 1.75 * len(set(keys))
    dask.wait_for_workers(2, timeout=240)
    assert set(dask.run(os.getpid).values()) != set(pids.values())


# What one of them costs, a forest shows: test_a_killed_worker_only_repeats_its_chunks.
@pytest.mark.slow
@pytest.mark.parametrize("n_killed", [1, 2])
def test_a_cascade_outlives_its_workers(dask, n_killed):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(2000, 10)), rng.integers(0, 2, 2000)
    cascade = MDDFClassifier(2, n_estimators=20, cv=3, early_stopping=False, random_state=0)
    expected = cascade.fit(X, y).predict_proba(X[:500])
    dask.wait_for_workers(2, timeout=240)
    pids = [*dask.run(os.getpid).values()][:n_killed]
    log = dask.cluster.scheduler.transition_log
    log.clear()

    def kill():
        until(lambda: sum("_grow_piece" in e[0] and e[2] == "processing" for e in [*log]) >= 4)
        for pid in pids:  # of two, nobody has what tasks need
            os.kill(pid, signal.SIGKILL)

    killer = threading.Thread(target=kill)
    killer.start()
    with parallel_config("dask"):
        result = cascade.fit(X, y).predict_proba(X[:500])
    killer.join()
    np.testing.assert_array_equal(result, expected)
    dask.wait_for_workers(2, timeout=240)
    assert not {*pids} & {*dask.run(os.getpid).values()}


@pytest.mark.slow
def test_a_task_that_kills_its_workers_is_an_error(dask):
    distributed = pytest.importorskip("distributed")
    X, y = three_classes()
    own_pid = os.getpid()

    class Dies(LogisticRegression):
        def fit(self, X, y):
            if os.getpid() != own_pid:
                os.kill(os.getpid(), signal.SIGKILL)
            return super().fit(X, y)

    dask.wait_for_workers(2, timeout=240)
    with (
        parallel_config("dask"),
        pytest.raises((distributed.KilledWorker, distributed.client.FutureCancelledError)),
    ):
        GCForestClassifier(1, forests=[Dies()], cv=2).fit(np.nan_to_num(X), y)
    dask.wait_for_workers(2, timeout=240)


@pytest.mark.slow
def test_a_scheduler_that_dies_is_an_error():
    distributed = pytest.importorskip("distributed")
    import dask as dask_itself

    X, y = three_classes()
    forest = RandomForestClassifier(5, random_state=0).fit(X, y)
    expected = forest.predict_proba(X)
    rng = np.random.default_rng(0)
    many, labels = rng.normal(size=(10_000, 15)), rng.integers(0, 2, 10_000)
    forest.set_params(n_estimators=1000)
    with (
        dask_itself.config.set({"distributed.comm.timeouts.connect": "1s"}),
        distributed.LocalCluster(
            n_workers=1,
            threads_per_worker=2,
            processes=False,
            protocol="tcp://",
            dashboard_address=":0",
        ) as cluster,
        distributed.Client(cluster) as client,
    ):

        def die():
            until(lambda: any(client.processing().values()))
            cluster.loop.add_callback(cluster.scheduler.close)

        killer = threading.Thread(target=die)
        killer.start()
        with (
            parallel_config("dask"),
            pytest.raises(distributed.client.FutureCancelledError, match="lost the connection"),
        ):
            forest.fit(many, labels)
        killer.join()
    np.testing.assert_array_equal(forest.predict_proba(X), expected)
