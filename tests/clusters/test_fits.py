"""Fits on Dask collections have the bits of fits on one machine."""

import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import DataConversionWarning
from sklearn.tree import DecisionTreeRegressor

from mddf import (
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    RandomForestRegressor,
    fingerprint,
)

dask = pytest.importorskip("dask")
da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")
distributed = pytest.importorskip("distributed")

from dask_cases import (  # noqa: E402
    DEPRECATED_IN_DASK,
    assert_that_a_killed_worker_ends_the_fit,
    chunked,
    made_array,
)

from mddf.dask import DaskEstimator  # noqa: E402


def made_frame(n=300, seed=0):
    X, signal = made_array(n, seed)
    frame = pd.DataFrame(X, columns=list("abcde"))
    colours = np.random.default_rng(seed).integers(0, 4, n)
    frame["colour"] = np.array(["red", "green", "blue", None], object)[colours]
    return frame, signal + (colours == 1)


def assert_same(local, fitted):
    """Compare the trees, and whatever else is part of the models."""
    other = fitted.estimator_
    for name, array in local._trees.arrays.items():
        np.testing.assert_array_equal(array, other._trees.arrays[name], name)
    assert fingerprint(local) == fingerprint(other)
    assert local.get_params() == {**other.get_params()}


CHUNKS = [(300,), (150, 150), (10, 1, 200, 89), (1, 0, 150, 0, 149), (60,) * 5]


def test_arrays_in_any_partitions(client):
    for chunks in CHUNKS:
        X, signal = made_array()
        options = {"max_iter": 6, "random_state": 0, "early_stopping": False}
        local = GradientBoostingRegressor(**options).fit(X, signal)
        dask_X, dask_y = chunked(X, signal, chunks)
        fitted = DaskEstimator(GradientBoostingRegressor(**options)).fit(dask_X, dask_y)
        assert_same(local, fitted)
        predictions = fitted.predict(dask_X)
        assert isinstance(predictions, da.Array)
        assert predictions.dtype == np.float64
        np.testing.assert_array_equal(predictions.compute(), local.predict(X))


@pytest.mark.parametrize("n_partitions", [1, 2, 7])
def test_frames_with_labels_weights_and_a_validation_set(client, n_partitions):
    X, signal = made_frame()
    y = pd.Series(np.where(signal > 1, "high", np.where(signal < -1, "low", "middle")))
    weights = pd.Series(np.random.default_rng(1).random(300))
    X_val, val_signal = made_frame(80, seed=5)
    y_val = pd.Series(np.where(val_signal > 0, "high", "low"))
    options = {
        "max_iter": 40,
        "learning_rate": 0.5,
        "n_iter_no_change": 3,
        "random_state": 0,
        "early_stopping": True,
    }
    local = GradientBoostingClassifier(**options).fit(X, y, weights, X_val=X_val, y_val=y_val)
    assert local.n_iter_ < 40

    def divided(frame, n=n_partitions):
        return dd.from_pandas(frame, npartitions=n)

    fitted = DaskEstimator(GradientBoostingClassifier(**options)).fit(
        divided(X), divided(y), divided(weights), X_val=divided(X_val, 2), y_val=divided(y_val, 2)
    )
    assert_same(local, fitted)
    assert fitted.estimator_.n_iter_ == local.n_iter_
    assert fitted.classes_.tolist() == ["high", "low", "middle"]
    labels = fitted.predict(divided(X))
    assert labels.dtype == labels.compute().dtype
    assert isinstance(labels, dd.Series)
    pd.testing.assert_index_equal(labels.compute().index, X.index)
    assert labels.compute().tolist() == local.predict(X).tolist()
    probabilities = fitted.predict_proba(divided(X)).compute()
    np.testing.assert_array_equal(probabilities.to_numpy(), local.predict_proba(X))


def test_masks_of_several_chunks(client):
    X, y = made_array()
    X = np.ma.array(np.where(np.isnan(X), 1e6, X), mask=np.isnan(X))
    lazy = da.from_array(X, chunks=(50, -1), asarray=False)
    options = {"max_iter": 8, "early_stopping": False, "random_state": 0}
    local = GradientBoostingRegressor(**options)
    model = DaskEstimator(local).fit(lazy, da.from_array(y, chunks=50))
    local.fit(X, y)
    assert_same(local, model)
    assert np.array_equal(model.predict(lazy).compute(), local.predict(X))
    masked = da.from_array(np.ma.array(y, mask=y > 2), chunks=50, asarray=False)
    with pytest.raises(ValueError, match="y must have no masked entries"):
        DaskEstimator(local).fit(lazy, masked)


def test_a_partition_without_a_class_and_categorical_types_that_differ(client):
    X = pd.DataFrame({"size": list("SML") * 40, "number": made_array(120)[1]})
    y = pd.Series(["a"] * 60 + ["b"] * 60)
    parts = [X[:50].astype({"size": "category"}), X[50:].astype({"size": "category"})]
    parts[1]["size"] = parts[1]["size"].cat.add_categories("XL")
    meta = parts[0].iloc[:0]

    frame = dd.from_delayed([dask.delayed(part) for part in parts], meta=meta, verify_meta=False)
    labels = dd.from_delayed([dask.delayed(y[:50]), dask.delayed(y[50:])], meta=y.iloc[:0])
    options = {"max_iter": 5, "random_state": 0, "early_stopping": False}
    fitted = DaskEstimator(GradientBoostingClassifier(**options)).fit(frame, labels)
    local = GradientBoostingClassifier(**options).fit(X.astype({"size": "category"}), y)
    assert_same(local, fitted)


def of_parts(*parts):
    """Dask data frame with the types that each part has."""

    parts = [dask.delayed(part) for part in parts]
    return dd.from_delayed(parts, meta=parts[0].compute().iloc[:0], verify_meta=False)


RNG = np.random.default_rng(0)
TRUE_OR_FALSE = RNG.random(60) < 0.5
HALVES = {
    "floats and text": (np.full(60, np.nan), RNG.choice(["u", "v"], 60)),
    "none and text": (None, RNG.choice(["u", "v"], 60)),
    "none and numbers": (None, RNG.normal(size=60)),
    "none and dates": (None, pd.date_range("2024-01-01", periods=60)),
    "floats and dates": (np.full(60, np.nan), pd.date_range("2024-01-01", periods=60)),
    "booleans with gaps": (TRUE_OR_FALSE, np.where(RNG.random(60) < 0.2, None, TRUE_OR_FALSE)),
    "booleans and none": (TRUE_OR_FALSE, None),
    "none": (None, None),
}


@pytest.mark.parametrize("name", HALVES)
def test_columns_without_values_in_a_partition(client, name):
    X = pd.DataFrame({"x": RNG.normal(size=120)})
    y = X["x"] + RNG.normal(0, 0.1, 120)
    parts = [X[60 * i : 60 * i + 60].assign(c=HALVES[name][i]) for i in range(2)]
    whole = pd.concat([parts[0].astype({"c": object}), parts[1].astype({"c": object})])
    if "dates" in name:
        whole["c"] = pd.to_datetime(whole["c"])
    options = {"max_iter": 5, "random_state": 0, "early_stopping": False}
    local = GradientBoostingRegressor(**options).fit(whole, y)
    fitted = DaskEstimator(GradientBoostingRegressor(**options))
    fitted.fit(of_parts(*parts), of_parts(y[:60], y[60:]))
    assert_same(local, fitted)
    assert fitted.estimator_.input_columns_ == local.input_columns_


def test_sparse_chunks(client):
    from scipy import sparse

    X, y = made_array()
    X = np.nan_to_num(X * (np.random.default_rng(0).random(X.shape) < 0.3))
    options = {"max_iter": 5, "random_state": 0, "early_stopping": False}
    local = GradientBoostingRegressor(**options).fit(sparse.csc_matrix(X), y)
    dask_X, dask_y = chunked(X, y, (100, 150, 50))
    fitted = DaskEstimator(GradientBoostingRegressor(**options))
    fitted.fit(dask_X.map_blocks(sparse.csr_matrix), dask_y)
    assert_same(local, fitted)


@pytest.mark.filterwarnings("ignore:The inplace keyword in DataFrame")
def test_predicted_frames_can_be_written(client, tmp_path):
    X, signal = made_frame()
    y = pd.Series(np.where(signal > 0, "high", "low"))
    X = dd.from_pandas(X, npartitions=2)
    model = DaskEstimator(GradientBoostingClassifier(max_iter=3, random_state=0))
    model.fit(X, dd.from_pandas(y, npartitions=2))
    model.predict_proba(X).to_parquet(tmp_path / "p")
    model.predict(X).to_frame("label").to_parquet(tmp_path / "l")
    assert list(pd.read_parquet(tmp_path / "p")) == ["high", "low"]


@pytest.mark.filterwarnings(DEPRECATED_IN_DASK)
def test_a_folder_of_parquet_files(client, tmp_path):
    X, signal = made_frame()
    X["target"] = signal
    for i in range(6):
        X[50 * i : 50 * i + 50].to_parquet(tmp_path / f"part-{i}.parquet", index=False)
    whole, frame = pd.read_parquet(tmp_path), dd.read_parquet(tmp_path)
    # Dask reads a column alone in fewer partitions.
    assert frame["target"].optimize().npartitions < frame.npartitions
    options = {"max_iter": 4, "random_state": 0, "early_stopping": False}
    local = GradientBoostingRegressor(**options)
    local.fit(whole.drop(columns="target"), whole["target"])
    fitted = DaskEstimator(GradientBoostingRegressor(**options))
    fitted.fit(frame.drop(columns="target"), frame["target"])
    assert_same(local, fitted)


def test_warnings_of_workers_name_the_call_of_fit(client):
    X, signal = made_array()
    y = da.from_array(signal[:, None], chunks=(100, 1))
    model = DaskEstimator(GradientBoostingRegressor(max_iter=2, random_state=0))
    with pytest.warns(DataConversionWarning) as caught:
        model.fit(da.from_array(X, chunks=(100, -1)), y)
    assert caught[0].filename == __file__


def collections_of(n=60):
    X, signal = made_array(n)
    return chunked(X, signal, (n // 2, n // 2))


def test_parameters(client):
    for parameters, message in [
        ({"early_stopping": True}, "early_stopping must be 'auto' or False, unless X_val"),
        ({"max_iter": -1}, "'max_iter' parameter of GradientBoostingRegressor must be"),
        ({"monotonic_cst": [1, 1]}, "monotonic_cst"),
    ]:
        with pytest.raises(ValueError, match=message):
            DaskEstimator(GradientBoostingRegressor(random_state=0, **parameters)).fit(
                *collections_of()
            )


def test_inputs(client):
    X, y = collections_of()
    with pytest.raises(ValueError, match="'timeout' parameter of DaskEstimator must be"):
        DaskEstimator(GradientBoostingRegressor(), timeout=0).fit(X, y)
    with pytest.raises(TypeError, match="estimator must be a forest or gradient boosting of mddf"):
        DaskEstimator(DecisionTreeRegressor()).fit(X, y)
    with pytest.raises(ValueError, match="X_val must be None, because RandomForestRegressor"):
        DaskEstimator(RandomForestRegressor()).fit(X, y, X_val=X, y_val=y)
    model = DaskEstimator(GradientBoostingRegressor(max_iter=2, random_state=0))
    with pytest.raises(TypeError, match="X must be a Dask array or a Dask data frame, got nd"):
        model.fit(X.compute(), y)
    with pytest.raises(TypeError, match="y must be a Dask array or a Dask data frame, got nd"):
        model.fit(X, y.compute())
    with pytest.raises(ValueError, match=r"y must have the same partitions .*, 2, got 1"):
        model.fit(X, y[:20].rechunk(20))
    with pytest.raises(ValueError, match=r"y must have as many rows .* 20 and 30 in partition 0"):
        model.fit(X, da.concatenate([y[:20], y[20:59].rechunk(39)]))
    with pytest.raises(ValueError, match="y_val must be passed with X_val, got None"):
        model.fit(X, y, X_val=X)
    with pytest.raises(ValueError, match="X must not be empty"):
        model.fit(X[:0], y[:0])
    infinite = X.compute()
    infinite[47, 2] = np.inf
    with pytest.raises(ValueError, match=r"row 47, column 2: Input X contains infinity"):
        model.fit(da.from_array(infinite, chunks=(30, -1)), y)
    numbers = y.compute()
    numbers[48] = np.nan
    with pytest.raises(ValueError, match=r"Input y contains NaN.*row 48"):
        model.fit(X, da.from_array(numbers, chunks=30))
    with pytest.raises(TypeError, match=r"X must be .*, got a Delayed object"):
        model.fit(dask.delayed(infinite), y)
    assert not hasattr(model, "estimator_")


def test_columns_are_checked_before_any_work(client):
    def never(X):
        raise AssertionError("a partition is computed")

    X, y = collections_of()
    X = X.map_blocks(never, dtype=float, meta=np.zeros((0, 0)))
    for parameters, message in [
        ({"monotonic_cst": [1, 1]}, "but the input data X has 5 features"),
        ({"categorical_features": [7]}, "categorical_features"),
        ({"interaction_cst": [[0, 9]]}, "interaction_cst"),
    ]:
        with pytest.raises(ValueError, match=message):
            DaskEstimator(GradientBoostingRegressor(**parameters)).fit(X, y)
    frame = dd.from_pandas(made_frame()[0], npartitions=2)
    model = DaskEstimator(GradientBoostingRegressor(categorical_features=["shape"]))
    with pytest.raises(ValueError, match="shape"):
        model.fit(frame.map_partitions(never, meta=frame._meta), y)


def test_a_client_that_is_not_the_default():
    X, y = chunked(*made_array(), 100)
    options = {"processes": False, "n_workers": 1, "dashboard_address": ":0"}
    with distributed.Client(set_as_default=False, **options) as other:
        model = DaskEstimator(
            GradientBoostingRegressor(max_iter=2, early_stopping=False), client=other
        )
        assert model.fit(X, y).estimator_.n_iter_ == 2
    with pytest.raises(RuntimeError, match="got a client that is closed"):
        model.fit(X, y)


@pytest.mark.slow
@pytest.mark.parametrize("n_workers", [1, 2])
def test_processes(n_workers):
    X, signal = made_array(3000)
    y = np.digitize(signal, [-1, 1])
    options = {"max_iter": 20, "random_state": 0, "early_stopping": False}
    local = GradientBoostingClassifier(**options).fit(X, y)
    with distributed.Client(n_workers=n_workers, threads_per_worker=2, dashboard_address=":0"):
        fitted = DaskEstimator(GradientBoostingClassifier(**options)).fit(
            *chunked(X, y, (1000, 500, 1500))
        )
        assert_same(local, fitted)
        again = fitted.predict_proba(da.from_array(X, chunks=(700, -1))).compute()
    np.testing.assert_array_equal(again, local.predict_proba(X))


@pytest.mark.slow
@pytest.mark.parametrize("n_workers", [1, 2])
def test_a_worker_that_is_killed(n_workers):
    model = DaskEstimator(GradientBoostingRegressor(max_iter=100_000, random_state=0))
    assert_that_a_killed_worker_ends_the_fit(model, n_workers, estimator__max_iter=3)
    assert model.estimator_.n_iter_ == 3


@pytest.mark.slow
def test_a_worker_that_is_stopped():
    """A worker that neither answers nor ends stops the fit after the timeout."""
    X, y = made_array(20_000)
    model = DaskEstimator(
        GradientBoostingRegressor(max_iter=100_000, early_stopping=False, random_state=0),
        timeout=5,
    )
    with distributed.Client(n_workers=2, threads_per_worker=1, dashboard_address=":0") as client:
        pid = next(iter(client.run(os.getpid).values()))
        stopper = threading.Timer(4, os.kill, (pid, signal.SIGSTOP))
        stopper.start()
        start = time.monotonic()
        try:
            with pytest.raises(ConnectionError, match="has not answered"):
                model.fit(*chunked(X, y, (10_000, 10_000)))
            # Four seconds before the stop, the timeout, a second between two looks.
            assert time.monotonic() - start < 15
        finally:
            os.kill(pid, signal.SIGCONT)


@pytest.mark.slow
@pytest.mark.usefixtures("time_limit", "without_collections")
@pytest.mark.parametrize("n_workers", [1, 2])
def test_an_interrupt_ends_the_fit_on_the_workers(n_workers):
    X, y = made_array(20_000)
    collections = chunked(X, y, (10_000, 10_000))
    model = DaskEstimator(
        GradientBoostingRegressor(max_iter=100_000, early_stopping=False, random_state=0)
    )
    with distributed.Client(n_workers=n_workers, threads_per_worker=1, dashboard_address=":0"):
        start = time.monotonic()
        interrupt = threading.Timer(5, os.kill, (os.getpid(), signal.SIGINT))
        interrupt.start()
        with pytest.raises(KeyboardInterrupt):
            model.fit(*collections)
        assert time.monotonic() - start < 7
        start = time.monotonic()
        model.set_params(estimator__max_iter=3).fit(*collections)
        assert time.monotonic() - start < 5


@pytest.mark.slow
def test_a_scheduler_that_is_killed(tmp_path):
    path = str(tmp_path / "scheduler.json")
    start = [sys.executable, "-P", "-m", "distributed.cli."]
    commands = [["dask_scheduler", "--port", "0", "--scheduler-file", path]]
    commands += [["dask_worker", "--scheduler-file", path, "--nthreads", "1"]] * 2
    processes = [
        subprocess.Popen(
            [*start[:3], start[3] + name, *options, "--no-dashboard"], stderr=subprocess.DEVNULL
        )
        for name, *options in commands
    ]
    try:
        with distributed.Client(scheduler_file=path, set_as_default=False) as client:
            client.wait_for_workers(2, timeout=60)
            threading.Timer(4, processes[0].kill).start()
            estimator = GradientBoostingRegressor(max_iter=100_000, early_stopping=False)
            model = DaskEstimator(estimator, client=client)
            begin = time.monotonic()
            with pytest.raises(ConnectionError, match="connection to the scheduler has ended"):
                model.fit(*chunked(*made_array(20_000), (10_000, 10_000)))
            assert time.monotonic() - begin < 10
    finally:
        for process in processes:
            process.kill()
            process.wait()


@pytest.mark.slow
def test_a_cluster_with_tls():
    """Workers whose connections are encrypted send each other the sums of a fit."""
    pytest.importorskip("cryptography")
    security = distributed.Security.temporary()
    X, signal = made_array()
    options = {"max_iter": 6, "random_state": 0, "early_stopping": False}
    local = GradientBoostingRegressor(**options).fit(X, signal)
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, security=security, dashboard_address=":0"
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        assert all(worker.startswith("tls://") for worker in client.nthreads())
        fitted = DaskEstimator(GradientBoostingRegressor(**options))
        assert_same(local, fitted.fit(*chunked(X, signal, (150, 150))))
