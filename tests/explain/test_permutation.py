"""Permutation importances: noise has mean 0 for all draws and scores; and a slow twin."""

from itertools import cycle

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, make_scorer

from mddf import (
    GradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from mddf.explain import importances

N_TRAIN, N_TEST, N_SIGNAL = 300, 1500, 2
NOISE = slice(N_SIGNAL, None)
X = np.random.default_rng(0).normal(size=(N_TRAIN + N_TEST, 7))
TARGET = X[:, 0] + X[:, 1] + np.random.default_rng(1).normal(size=len(X))
LABELS = np.digitize(TARGET, [-0.5, 1.0])
TARGETS = {
    "classes": LABELS,
    "two classes": LABELS > 0,
    "two outputs": np.column_stack([LABELS, LABELS > 0]),
    "numbers": TARGET,
    "two targets": np.column_stack([TARGET, X[:, 0]]),
}
WEIGHT = np.random.default_rng(2).exponential(size=N_TEST)
X_TEST = X[N_TRAIN:]


@pytest.fixture(scope="module")
def models():
    forest = RandomForestClassifier(10, min_samples_leaf=5, random_state=0)
    boosting = GradientBoostingRegressor(max_iter=20, random_state=0)
    made = {
        "classes": LogisticRegression(C=1e6),
        "two classes": LogisticRegression(C=1e6),
        "two outputs": forest,
        "numbers": boosting,
        "two targets": RandomForestRegressor(10, random_state=0),
    }
    return {kind: model.fit(X[:N_TRAIN], TARGETS[kind][:N_TRAIN]) for kind, model in made.items()}


def permuted(model, X, y, **options):
    return importances(model, X, y, kind="permutation", **{"random_state": 0} | options)


def plain_accuracy(model, X, y):
    return accuracy_score(y, model.predict(X))


def assert_noise_has_mean_zero(result, n_repeats):
    noise, spread = result.importances_mean[NOISE], result.importances_std[NOISE]
    # The score of the columns as they are is one more draw, as each of the repeats is.
    error = spread * np.sqrt(1 + 1 / n_repeats)
    assert np.all(np.abs(noise) <= 5 * error + 1e-12)
    assert abs(noise.mean()) <= 3.5 * np.sqrt(np.square(error).sum()) / len(noise) + 1e-12
    assert result.importances_mean[:N_SIGNAL].min() > 3 * np.abs(noise).max()


CASES = [
    ("classes", None),
    ("classes", "accuracy"),
    ("classes", "roc_auc_ovr"),
    ("classes", plain_accuracy),
    ("classes", make_scorer(accuracy_score)),
    ("two classes", "roc_auc"),
    ("two classes", "neg_log_loss"),
    ("two outputs", None),
    ("numbers", None),
    ("numbers", "neg_root_mean_squared_error"),
    ("numbers", "neg_median_absolute_error"),
    ("two targets", None),
]


def test_noise_has_mean_zero(models):
    for (kind, scoring), max_samples in zip(CASES, cycle([200, 0.5, N_TEST])):
        y = TARGETS[kind][N_TRAIN:]
        options = {"max_samples": max_samples, "scoring": scoring, "n_repeats": 15}
        assert_noise_has_mean_zero(permuted(models[kind], X_TEST, y, **options), 15)


@pytest.mark.parametrize("max_samples", [1, 2, 400])
@pytest.mark.parametrize("weight", [None, WEIGHT])
def test_a_slow_twin(max_samples, weight, models):
    model, y = models["numbers"], TARGET[N_TRAIN:]
    scoring, n_repeats = "neg_mean_squared_error", 3

    def score(X, rows):
        errors = -np.square(model.predict(X) - y[rows])
        return np.average(errors, weights=None if weight is None else weight[rows])

    random = np.random.RandomState(7)
    rows = np.sort(random.choice(N_TEST, max_samples, replace=False))
    seed = random.randint(np.iinfo(np.int32).max + 1)
    baseline = score(X_TEST[rows], rows)
    expected = np.empty((X.shape[1], n_repeats))
    for column in range(X.shape[1]):
        order, shuffling = np.arange(max_samples), np.random.RandomState(seed)
        shuffled = X_TEST[rows]
        for repeat in range(n_repeats):
            shuffling.shuffle(order)
            shuffled[:, column] = shuffled[order, column]
            expected[column, repeat] = baseline - score(shuffled, rows)
    options = {"scoring": scoring, "n_repeats": n_repeats, "max_samples": max_samples}
    result = permuted(model, X_TEST, y, sample_weight=weight, random_state=7, **options)
    np.testing.assert_allclose(result.importances_mean, expected.mean(axis=1), atol=1e-12)
    np.testing.assert_allclose(result.importances_std, expected.std(axis=1), atol=1e-12)


def test_rows_without_weight_do_not_count(models):
    model, y, weight = models["classes"], LABELS[N_TRAIN:].copy(), WEIGHT.copy()
    weight[::2] = 0
    expected = permuted(model, X_TEST, y, sample_weight=weight, max_samples=100)
    y[::2] = 0
    again = permuted(model, X_TEST, y, sample_weight=weight, max_samples=100)
    np.testing.assert_array_equal(again.importances_mean, expected.importances_mean)
    constant = permuted(model, X_TEST, y, sample_weight=3.0)
    np.testing.assert_allclose(
        constant.importances_mean, permuted(model, X_TEST, y).importances_mean, atol=1e-12
    )


def mixed_frame(n):
    rng = np.random.default_rng(5)
    return pd.DataFrame(
        {
            "size": rng.normal(size=n),
            "colour": pd.Categorical(rng.choice(["red", "green", "blue"], n)),
            "noise": rng.normal(size=n),
            "name": pd.Categorical(rng.choice(list("abcdefgh"), n)),
        }
    )


FRAMES = {
    "pandas": lambda frame: frame,
    "pandas, other index": lambda frame: frame.set_index(np.arange(len(frame))[::-1] * 7),
    "polars": pl.from_pandas,
    "pyarrow": lambda frame: pa.Table.from_pandas(frame, preserve_index=False),
    "batch": lambda frame: pa.RecordBatch.from_pandas(frame, preserve_index=False),
}


def test_drawn_rows_of_all_frames_are_the_same():
    frame = mixed_frame(900)
    y = (frame["size"] + 2 * (frame["colour"] == "red") > 0.5).to_numpy().astype(int)
    options = {"n_repeats": 3, "max_samples": 350}
    model = RandomForestClassifier(5, min_samples_leaf=5, random_state=0)
    expected = None
    for make in FRAMES.values():
        made = make(frame)
        model.fit(made[:300] if hasattr(made, "iloc") else made.slice(0, 300), y[:300])
        result = permuted(model, made, y, **options)
        expected = result if expected is None else expected
        np.testing.assert_array_equal(result.importances_mean, expected.importances_mean)
        for labels in (pd.Series(y, index=np.arange(900)[::-1]), pl.Series(y), y.tolist()):
            again = permuted(model, made, labels, **options)
            np.testing.assert_array_equal(again.importances_mean, expected.importances_mean)
    assert expected.importances_mean[:2].min() > 5 * np.abs(expected.importances_mean[2:]).max()


def test_refusals(models):
    model, y = models["classes"], LABELS[N_TRAIN:]
    with pytest.raises(ValueError, match=r"^scoring must take sample_weight, .* plain_accuracy"):
        permuted(model, X_TEST, y, scoring=plain_accuracy, sample_weight=WEIGHT)
    with pytest.raises(ValueError, match=r"^sample_weight needs kind='permutation'"):
        importances(models["numbers"], X_TEST, y, sample_weight=WEIGHT)
    with pytest.raises(ValueError, match="sample_weight"):
        permuted(model, X_TEST, y, sample_weight=WEIGHT[:5])
    with pytest.raises(ValueError, match=r"^scoring must be None, a function, .* got \['x'\]"):
        permuted(model, X_TEST, y, scoring=["x"])
    with pytest.raises(ValueError, match=r"^scoring must be None"):
        permuted(model, X_TEST, y, scoring=[])
