"""Fits that resume an interrupted fit, at any layer."""

import multiprocessing
import os
import signal
import time

import numpy as np
import pytest
from checkpoint_cases import N_LAYERS, assert_equal, cascade, deep, layers
from forest_cases import three_classes
from mddf.baselines import GCForestClassifier
from sklearn.linear_model import Ridge
from sklearn.naive_bayes import GaussianNB

from mddf import DeepForestClassifier, DeepForestRegressor, MDDFClassifier


@pytest.mark.parametrize("Cascade", [MDDFClassifier, GCForestClassifier])
def test_fits_resume_after_any_layer(Cascade, tmp_path):
    X, y = three_classes()
    weights = np.arange(len(y)) % 3 + 1.0
    expected = cascade(None, Cascade).fit(X, y, weights)
    whole = cascade(tmp_path, Cascade).fit(X, y, weights)
    assert_equal(whole, expected)
    names = layers(tmp_path)
    assert names == ["layer-001.npz", "layer-002.npz", "layer-003.npz", "layer-004.npz"]
    for n_kept in (4, 2, 1):
        for name in names[n_kept:]:
            (tmp_path / name).unlink()
        before = {name: (tmp_path / name).stat().st_mtime_ns for name in names[:n_kept]}
        again = cascade(tmp_path, Cascade, n_jobs=2).fit(X, y, weights)
        assert_equal(again, expected)
        after = {name: (tmp_path / name).stat().st_mtime_ns for name in names[:n_kept]}
        assert after == before


def without_times(model):
    """The leaderboard without times."""
    return [{k: v for k, v in row.items() if k != "seconds"} for row in model.leaderboard_]


@pytest.mark.usefixtures("few_rounds")
@pytest.mark.parametrize(
    ("Deep", "parameters"),
    [
        (DeepForestClassifier, {"members": ["random", "boosted", "linear"], "refit": False}),
        (DeepForestClassifier, {"members": ["random", GaussianNB()], "n_layers": 3}),
        (
            DeepForestClassifier,
            {
                "members": ["random", "kernel", "kernel-logistic", "network"],
                "n_layers": 3,
                "cv": 3,
            },
        ),
        (DeepForestClassifier, {"members": ["completely-random", "boosted"], "n_layers": 4}),
        (DeepForestRegressor, {"members": ["random", "boosted"], "refit": False}),
        (DeepForestRegressor, {"members": ["random", "kernel", "network"], "n_layers": 3}),
        (DeepForestClassifier, {"members": "auto", "refit": False}),
        (DeepForestRegressor, {"members": ["kernel", "random", Ridge()]}),
    ],
)
def test_deep_forests_go_on_after_any_layer(Deep, parameters, tmp_path, every_layer_is_grown):
    X, y = three_classes()
    X = np.nan_to_num(X)
    y = np.unique(y, return_inverse=True)[1]
    says = "predict_proba" if Deep is DeepForestClassifier else "predict"
    expected = deep(None, Deep, **parameters).fit(X, y)
    deep(tmp_path, Deep, **parameters).fit(X, y)
    names = layers(tmp_path)
    assert len(names) >= 2
    for n_kept in range(len(names), 0, -1):
        for name in names[n_kept:]:
            (tmp_path / name).unlink()
        again = deep(tmp_path, Deep, **parameters).fit(X, y)
        np.testing.assert_array_equal(getattr(again, says)(X), getattr(expected, says)(X))
        np.testing.assert_array_equal(again.transform(X[::2]), expected.transform(X[::2]))
        np.testing.assert_array_equal(again.history_["score"], expected.history_["score"])
        assert without_times(again) == without_times(expected)
    with pytest.raises(ValueError, match="is of a fit with n_estimators=4, not n_estimators=5"):
        deep(tmp_path, Deep, **parameters).set_params(n_estimators=5).fit(X, y)
    with pytest.raises(ValueError, match="is of a fit with another X;"):
        deep(tmp_path, Deep, **parameters).fit(X + (np.arange(len(y)) == 0)[:, None], y)


# Killed


def fit_and_report(make, folder, output):
    os.dup2(output, 1)
    X, y = three_classes()
    make(folder, verbose=1).fit(X, y)


def killed_fit(make, folder, seconds):
    """Number of layers that a fit reported before it was killed."""
    read, write = os.pipe()
    fit = multiprocessing.get_context("fork").Process(
        target=fit_and_report, args=(make, folder, write)
    )
    fit.start()
    os.close(write)
    time.sleep(seconds)
    os.kill(fit.pid, signal.SIGKILL)
    fit.join()
    with os.fdopen(read) as file:
        return sum(line.startswith("layer ") for line in file)


@pytest.mark.parametrize("times", [3, pytest.param(20, marks=pytest.mark.slow)])
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_killed_at_random_moments(times, tmp_path):
    X, y = three_classes()
    expected = cascade(None).fit(X, y)
    start = time.perf_counter()
    killed_fit(cascade, tmp_path, 0)
    cascade(tmp_path).fit(X, y)
    whole = time.perf_counter() - start
    random = np.random.default_rng(times)
    stopped = set()
    for number in range(times):
        folder = tmp_path / str(number)
        folder.mkdir()
        n_reported = killed_fit(cascade, folder, whole * random.uniform(0, 2))
        stopped.add(len(layers(folder)))
        assert len(layers(folder)) >= n_reported
        assert_equal(cascade(folder).fit(X, y), expected)
        assert len(layers(folder)) == N_LAYERS
    assert times < 20 or len(stopped) > 2


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_deep_forests_killed_at_random_moments(tmp_path):
    X, y = three_classes()
    start = time.perf_counter()
    expected = deep(None).fit(X, y)
    whole = time.perf_counter() - start
    random = np.random.default_rng(0)
    for number in range(5):
        folder = tmp_path / str(number)
        folder.mkdir()
        n_reported = killed_fit(deep, folder, whole * random.uniform(0, 1.2))
        assert len(layers(folder)) >= n_reported
        again = deep(folder).fit(X, y)
        np.testing.assert_array_equal(again.predict_proba(X), expected.predict_proba(X))
