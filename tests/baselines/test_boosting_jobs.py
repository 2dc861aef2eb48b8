"""Interrupted fits, and fits of several classes on every kind of worker."""

import os
import signal
import threading

import numpy as np
import pytest
from joblib import parallel_config
from mddf.baselines import (
    AdaBoostClassifier,
    DeepBoostClassifier,
    LPBoostClassifier,
    QuadBoostClassifier,
)
from sklearn.base import clone
from sklearn.datasets import load_iris

# None of them comes to an end on noise.
LONG = {
    "trees": AdaBoostClassifier(10**9, max_depth=2),
    "compiled": AdaBoostClassifier(10**9, weak_learners="stumps"),
    "early stopping": AdaBoostClassifier(
        10**9, early_stopping=True, n_iter_no_change=10**9, random_state=0
    ),
    "deep": DeepBoostClassifier(10**9, beta=0, lambda_=0, max_depth=2),
    "quadratic": QuadBoostClassifier(n_estimators=10**9, tol=0.0, n_thresholds=50),
    "linear": LPBoostClassifier(n_estimators=10**9, max_depth=4),
}


@pytest.fixture(scope="module")
def noise():
    rng = np.random.default_rng(0)
    return rng.normal(size=(3000, 10)), rng.integers(0, 2, 3000)


@pytest.mark.usefixtures("time_limit", "without_collections")
@pytest.mark.parametrize(("name", "n_classes"), list(zip(LONG, [2, 3] * 3, strict=True)))
def test_an_interrupt_leaves_the_estimator_as_it_was(name, n_classes, noise):
    iris, y = load_iris(return_X_y=True)
    model = clone(LONG[name])
    model.set_params(n_estimators=5).fit(iris, y).set_params(n_estimators=10**9)
    before = dict(vars(model))
    f = model.decision_function(iris)
    X, labels = noise
    if n_classes == 3:
        labels = labels + (X[:, 0] > 1)
    stop = threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT))

    def interrupted_fit():
        stop.start()
        model.fit(X, labels)

    with pytest.raises(KeyboardInterrupt):
        interrupted_fit()
    stop.join()
    assert {key: id(value) for key, value in vars(model).items()} == {
        key: id(value) for key, value in before.items()
    }
    np.testing.assert_array_equal(model.decision_function(iris), f)
    assert all(len(values[0]) == model.n_iter_ for values in model.history_.values())
    np.testing.assert_array_equal(
        model.set_params(n_estimators=5).fit(iris, y).decision_function(iris), f
    )


@pytest.mark.parametrize(
    ("model", "backend"),
    [
        (AdaBoostClassifier(8, early_stopping=True), "multiprocessing"),
        (DeepBoostClassifier(8, loss="logistic"), "threading"),
        (QuadBoostClassifier(n_estimators=8, weak_learners=np.tanh), "multiprocessing"),
        (LPBoostClassifier(n_estimators=8, early_stopping=True), "threading"),
    ],
    ids=["AdaBoost", "DeepBoost", "QuadBoost", "LPBoost"],
)
def test_workers_of_any_kind_give_the_same_bits(model, backend):
    X, y = load_iris(return_X_y=True)
    weight = np.random.default_rng(0).random(len(y))
    sequential = clone(model).set_params(random_state=3).fit(X, y, weight)
    two = clone(model).set_params(random_state=3, n_jobs=2)
    with parallel_config(backend=backend):
        two.fit(X, y, weight)
        np.testing.assert_array_equal(sequential.predict_proba(X), two.predict_proba(X))
    for key, values in sequential.history_.items():
        np.testing.assert_array_equal(values, two.history_[key])
    for ours, theirs in zip(sequential.estimator_weights_, two.estimator_weights_, strict=True):
        np.testing.assert_array_equal(ours, theirs)
