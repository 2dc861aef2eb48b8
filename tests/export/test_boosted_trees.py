"""ONNX graphs of gradient boosting, compared with their models."""

import numpy as np
import pandas as pd
import pytest
from boosted_cases import TABLES, frame_of_few_levels
from made_models import labels_of, table_with_missing

from mddf import GradientBoostingClassifier, GradientBoostingRegressor
from mddf.export import to_onnx

pytest.importorskip("onnxruntime", reason='needs "mddf[onnx]"')

from onnx_graphs import graph_outputs

GROWTH = ["symmetric", "leaf-wise"]
# Few samples in a leaf, so that many splits of a level leave some leaves as they are.
OPTIONS = {"max_iter": 12, "min_samples_leaf": 5, "learning_rate": 0.3, "random_state": 0}


def assert_same(model, X, dtype=np.float64, rtol=1e-12):
    """Compare with a tolerance, because sums have another order than in Python."""
    outputs = graph_outputs(model, X, dtype)
    expected = model.predict_proba(X) if len(outputs) == 2 else model.predict(X)[:, None]
    assert outputs[-1].shape == expected.shape
    assert outputs[-1].dtype == dtype
    assert np.all(np.abs(outputs[-1] - expected) <= rtol * np.abs(expected).max())
    if len(outputs) == 2:
        assert np.array_equal(outputs[0], model.predict(X))


def test_classes():
    for kind in TABLES:
        for grow_policy in GROWTH:
            for loss, n_classes in [
                ("log_loss", 2),
                ("exponential", 2),
                ("log_loss", 3),
                ("log_loss", 1),
            ]:
                X = TABLES[kind](240)
                y = np.array(["low", "mid", "high"])[np.minimum(labels_of(X), n_classes - 1)]
                model = GradientBoostingClassifier(loss, grow_policy=grow_policy, **OPTIONS)
                assert_same(model.fit(X[:120], y[:120]), X)


def test_numbers():
    for kind in TABLES:
        for grow_policy in GROWTH:
            for loss in [
                "squared_error",
                "absolute_error",
                "huber",
                "quantile",
                "poisson",
                "gamma",
                "tweedie",
            ]:
                X = TABLES[kind](240)
                y = np.exp(labels_of(X) + 0.1 * np.arange(240) % 0.7)
                model = GradientBoostingRegressor(
                    loss, quantile=0.3, grow_policy=grow_policy, **OPTIONS
                )
                assert_same(model.fit(X[:120], y[:120]), X)


def test_targets_of_any_size():
    for loss in ["squared_error", "gamma"]:
        for size in [1e-300, 1e-40, 1e40, 1e300]:
            X = table_with_missing(200)
            model = GradientBoostingRegressor(loss, **OPTIONS)
            assert_same(model.fit(X, np.exp(labels_of(X)) * size), X)


def test_missing_values_unseen_in_fit():
    X = frame_of_few_levels(240)
    train = X[:150].dropna()
    model = GradientBoostingClassifier(**OPTIONS).fit(train, labels_of(X)[train.index])
    assert_same(model, X)


@pytest.mark.filterwarnings("ignore:rows hold categories that fit did not see:UserWarning")
def test_target_statistics():
    """Known, missing and new categories, alone and in pairs."""
    for grow_policy in GROWTH:
        for n_classes in [0, 1, 2, 4]:
            X, y = levels(200, n_classes)
            rows, _ = levels(400, 0, seed=1)
            Model = GradientBoostingClassifier if n_classes else GradientBoostingRegressor
            model = Model(grow_policy=grow_policy, **OPTIONS).fit(X, y)
            assert len(model._binner.columns_of_many_levels()) == 4
            assert_same(model, rows)
            whole = rows.drop(columns="decimal"), X.drop(columns="decimal")
            model.fit(whole[1], y)
            assert_same(model, whole[0], np.float32, 1e-6)


def levels(n, n_classes, seed=0):
    """Columns with many text and numeric levels, and a target that depends on them."""
    rng = np.random.default_rng(seed)
    places = rng.integers(0, 70 + 20 * seed, (n, 4))
    texts = np.array(["", "?", "\ud800" if seed else "x", *(f"t{i}" for i in range(90))], object)
    X = pd.DataFrame({"a": rng.integers(-4, 5, n) / 2})
    X["text"] = pd.Series(texts[places[:, 0]], dtype=object)
    X["letter"] = texts[3 + places[:, 1]]
    X["whole"], X["decimal"] = places[:, 2].astype(float), places[:, 3] / 7
    X["colour"] = np.array(["red", "green"])[rng.integers(0, 2, n)]
    for column in X.columns[1:]:
        X.loc[rng.random(n) < 0.1, column] = None
    X[["whole", "decimal"]] = X[["whole", "decimal"]].astype("category")
    y = np.sin(places).sum(axis=1) + X["a"].to_numpy()
    if n_classes:
        y = np.searchsorted(np.quantile(y, np.arange(1, n_classes) / n_classes), y)
    return X, y


@pytest.mark.filterwarnings("ignore:.* looks like an identifier of subjects:UserWarning")
def test_target_statistics_of_numbers_that_are_equal_in_single_precision():
    X = pd.DataFrame({"number": np.arange(80) % 40 / 40 * 1e-9 + 1}).astype("category")
    model = GradientBoostingRegressor(**OPTIONS).fit(X, np.arange(80) % 40)
    assert_same(model, X)
    with pytest.raises(ValueError, match="must be different numbers in float32"):
        to_onnx(model)
