"""Forests on Dask collections have the bits of forests on one machine."""

import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

import mddf

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

NAMES = [
    "RandomForestClassifier",
    "CompletelyRandomForestClassifier",
    "RandomForestRegressor",
    "CompletelyRandomForestRegressor",
]


def assert_same(local, fitted, X):
    other = fitted.estimator_
    np.testing.assert_array_equal(local.apply(X), other.apply(X))
    predict = "predict_proba" if hasattr(local, "predict_proba") else "predict"
    np.testing.assert_array_equal(getattr(local, predict)(X), getattr(other, predict)(X))
    assert mddf.fingerprint(local) == mddf.fingerprint(other)
    assert local.get_params() == other.get_params()


@pytest.mark.parametrize("name", NAMES)
def test_arrays_in_any_partitions(client, name):
    for chunks in [(400,), (10, 1, 300, 89), (1, 0, 250, 0, 149)]:
        X, signal_ = made_array(400)
        y = np.digitize(signal_, [-1, 1]) if name.endswith("Classifier") else signal_
        local = getattr(mddf, name)(4, random_state=0, bootstrap=True).fit(X, y)
        dask_X, dask_y = chunked(X, y, chunks)
        fitted = DaskEstimator(getattr(mddf, name)(4, random_state=0, bootstrap=True))
        fitted.fit(dask_X, dask_y)
        assert_same(local, fitted, X)
        predictions = fitted.predict(dask_X)
        assert isinstance(predictions, da.Array)
        np.testing.assert_array_equal(predictions.compute(), local.predict(X))


@pytest.mark.parametrize("n_partitions", [1, 5])
def test_frames_with_labels_weights_and_categories(client, n_partitions):
    X, signal_ = made_array(400)
    X = pd.DataFrame(X, columns=list("abcde"))
    X["colour"] = np.array(["red", "green", "blue", None], object)[np.arange(400) % 4]
    X["name"] = [f"name {i % 7}" for i in range(400)]
    y = pd.Series(np.where(signal_ > 1, "high", np.where(signal_ < -1, "low", "middle")))
    y[:150] = y[:150].replace("high", "middle")  # a partition without a class
    weights = pd.Series(np.random.default_rng(1).random(400))

    def divide(frame):
        return dd.from_pandas(frame, npartitions=n_partitions)

    options = {"class_weight": "balanced", "random_state": 0, "n_estimators": 5}
    local = mddf.RandomForestClassifier(**options).fit(X, y, weights)
    fitted = DaskEstimator(mddf.RandomForestClassifier(**options)).fit(
        divide(X), divide(y), divide(weights)
    )
    assert_same(local, fitted, X)
    assert fitted.classes_.tolist() == ["high", "low", "middle"]
    labels = fitted.predict(divide(X))
    assert isinstance(labels, dd.Series)
    assert labels.compute().tolist() == local.predict(X).tolist()
    probabilities = fitted.predict_proba(divide(X)).compute()
    np.testing.assert_array_equal(probabilities.to_numpy(), local.predict_proba(X))


@pytest.fixture
def parquet_folder(tmp_path):
    """Folder of eight files, of which the second one lacks a class and a category."""
    X, signal_ = made_array(400)
    frame = pd.DataFrame(X, columns=list("abcde"))
    frame["colour"] = np.array(["red", "green", "blue", None], object)[np.arange(400) % 4]
    frame["label"] = np.where(signal_ > 0, "high", "low")
    frame["target"] = signal_
    frame["weight"] = np.random.default_rng(1).random(400)
    frame.loc[50:99, "label"] = "low"
    frame.loc[50:99, "colour"] = "red"
    for i in range(8):
        frame[50 * i : 50 * i + 50].to_parquet(tmp_path / f"part-{i}.parquet", index=False)
    return tmp_path


@pytest.mark.filterwarnings(DEPRECATED_IN_DASK)
@pytest.mark.parametrize(("name", "target"), [(NAMES[0], "label"), (NAMES[2], "target")])
@pytest.mark.parametrize("columns", [["a", "b", "c", "d", "e", "colour"], ["c"]])
def test_a_folder_of_parquet_files(client, parquet_folder, name, target, columns):
    whole = pd.read_parquet(parquet_folder)
    local = getattr(mddf, name)(4, random_state=0)
    local.fit(whole[columns], whole[target], whole["weight"])
    frame = dd.read_parquet(parquet_folder)
    # Dask reads a column alone in fewer partitions.
    assert frame[target].optimize().npartitions < frame.npartitions == 8
    fitted = DaskEstimator(getattr(mddf, name)(4, random_state=0))
    fitted.fit(frame[columns], frame[target], frame["weight"])
    assert_same(local, fitted, whole[columns])
    predictions = fitted.predict(frame[columns]).compute()
    assert predictions.tolist() == local.predict(whole[columns]).tolist()


def test_the_estimator_is_cloned_and_pickled(client):
    X, y = made_array(400)
    model = DaskEstimator(mddf.RandomForestRegressor(3, random_state=0), client=client)
    model = clone(model).set_params(estimator__max_depth=3)
    model.fit(*chunked(X, y, (100, 300)))
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.estimator_.predict(X), model.estimator_.predict(X))
    assert again.client is None
    assert again.n_features_in_ == 5
    assert len(again.n_bytes_sent_) == 2


def test_parameters(client):
    for parameters, message in [
        ({"criterion": "absolute_error"}, "criterion must be 'squared_error'"),
        ({"bootstrap": False, "max_samples": 0.5}, "max_samples needs bootstrap=True"),
        ({"n_estimators": 0}, "'n_estimators' parameter of RandomForestRegressor must be"),
        ({"monotonic_cst": [1, 1]}, "monotonic_cst"),
    ]:
        X, y = made_array(60)
        model = DaskEstimator(mddf.RandomForestRegressor(random_state=0, **parameters))
        with pytest.raises(ValueError, match=message):
            model.fit(*chunked(X, y, (30, 30)))
        assert not hasattr(model, "estimator_")


@pytest.mark.slow
@pytest.mark.parametrize("n_workers", [1, 2])
def test_processes(n_workers):
    X, signal_ = made_array(30_000)
    y = np.digitize(signal_, [-1, 1])
    local = mddf.RandomForestClassifier(8, random_state=0).fit(X, y)
    with distributed.Client(n_workers=n_workers, threads_per_worker=2, dashboard_address=":0"):
        model = DaskEstimator(mddf.RandomForestClassifier(8, random_state=0))
        fitted = model.fit(*chunked(X, y, (10_000, 5000, 15_000)))
        assert_same(local, fitted, X[:1000])


@pytest.mark.slow
def test_a_worker_that_is_killed():
    model = DaskEstimator(mddf.RandomForestRegressor(5000, random_state=0))
    assert_that_a_killed_worker_ends_the_fit(model, 2, estimator__n_estimators=2)
    assert len(model.estimator_) == 2
