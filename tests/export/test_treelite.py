"""Models of treelite against the models that they were made of."""

import numpy as np
import pandas as pd
import pytest
from boosted_cases import TABLES as BOOSTED_TABLES
from custom_losses import class_scores, half
from made_models import TABLES, frame_table, labels_of, number_table
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from mddf import (
    CompletelyRandomForestClassifier,
    CompletelyRandomForestRegressor,
    CustomLoss,
    DeepForestClassifier,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    MDDFClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
)
from mddf.explain import category_codes
from mddf.export import to_treelite, treelite_inputs

treelite = pytest.importorskip("treelite", reason='needs "mddf[treelite]"')

FOREST = {"n_estimators": 7, "min_samples_leaf": 2, "random_state": 0}
BOOSTING = {"max_iter": 12, "min_samples_leaf": 5, "learning_rate": 0.3, "random_state": 0}
# Relative to the largest prediction of a regressor.
TOLERANCE = 1e-9
# Of probabilities: leaves have class shares in single precision, and treelite's softmax computes
# in single precision.
TOLERANCE_OF_PROBABILITIES = 1e-7


def outputs_of(model, X):
    """Output of the exported model, shape (n_samples, n_outputs)."""
    outputs = treelite.gtil.predict(to_treelite(model), treelite_inputs(model, X))
    return outputs.reshape(len(X), -1)


def assert_same(model, X):
    outputs = outputs_of(model, X)
    if hasattr(model, "classes_"):
        expected = model.predict_proba(X)
        tolerance = TOLERANCE_OF_PROBABILITIES
        if outputs.shape[1] == 1:  # the probability of the second class
            outputs = np.hstack([1 - outputs, outputs])
    else:
        expected = model.predict(X).reshape(len(X), -1)
        tolerance = TOLERANCE * np.abs(expected).max()
    assert np.abs(outputs - expected).max() <= tolerance


def test_forests_of_classes():
    for kind in TABLES:
        for n_classes in [2, 3]:
            for Forest in [RandomForestClassifier, CompletelyRandomForestClassifier]:
                X = TABLES[kind](240)
                y = np.array(["low", "mid", "high"])[np.minimum(labels_of(X), n_classes - 1)]
                assert_same(Forest(**FOREST).fit(X[:120], y[:120]), X)


def test_forests_of_numbers():
    for kind in TABLES:
        for n_outputs in [1, 3]:
            for Forest in [RandomForestRegressor, CompletelyRandomForestRegressor]:
                X = TABLES[kind](240)
                y = np.column_stack([labels_of(X), 1e6 * labels_of(X), np.arange(240)])[
                    :, :n_outputs
                ]
                assert_same(Forest(**FOREST).fit(X[:120], y[:120].squeeze()), X)


def test_boosted_classes():
    for kind in BOOSTED_TABLES:
        for grow_policy in ["symmetric", "leaf-wise"]:
            for loss, n_classes in [("log_loss", 2), ("exponential", 2), ("log_loss", 3)]:
                X = BOOSTED_TABLES[kind](240)
                y = np.minimum(labels_of(X), n_classes - 1)
                model = GradientBoostingClassifier(loss, grow_policy=grow_policy, **BOOSTING)
                assert_same(model.fit(X[:120], y[:120]), X)


def test_boosted_numbers():
    for kind in BOOSTED_TABLES:
        for loss in ["squared_error", "absolute_error", "poisson", "gamma"]:
            for size in [1, 1e-40, 1e40]:
                X = BOOSTED_TABLES[kind](240)
                y = np.exp(labels_of(X) + 0.1 * np.arange(240) % 0.7) * size
                assert_same(GradientBoostingRegressor(loss, **BOOSTING).fit(X[:120], y[:120]), X)


@pytest.mark.parametrize("loss", ["squared_error", "poisson", "tweedie"])
def test_boosted_numbers_of_several_outputs(loss):
    X = number_table()
    y = np.exp(labels_of(X) + 0.1 * np.arange(len(X)) % 0.7)
    targets = np.column_stack([y, 1e3 * y[::-1]])
    assert_same(GradientBoostingRegressor(loss, **BOOSTING).fit(X, targets), X)


def test_values_at_thresholds_and_unknown_categories():
    X = pd.DataFrame({"a": np.arange(60) % 7 / 10, "b": np.array(list("xyz"))[np.arange(60) % 3]})
    y = (np.arange(60) % 7 > 3) ^ (np.arange(60) % 3 == 1)
    forest = RandomForestClassifier(**FOREST).fit(X, y)
    new = pd.DataFrame({"a": [0.1, 0.15, np.nan, 1e300, -1e300], "b": ["x", "q", None, "y", "z"]})
    assert_same(forest, new)
    inputs = treelite_inputs(forest, new)
    assert category_codes(forest)[1][int(inputs[0, 1])] == "x"
    assert np.isnan(inputs[1:3, 1]).all()


def test_refusals():
    X = number_table()
    y = labels_of(X)
    scaled = make_pipeline(StandardScaler(), RandomForestClassifier(2)).fit(X, y)
    cases = {
        "must be a forest or gradient boosting for treelite, got MDDFClassifier": MDDFClassifier(
            1, n_estimators=2, cv=2
        ).fit(X, y),
        "must be a forest or gradient boosting for treelite, got Deep": DeepForestClassifier(
            1, n_estimators=2, members=["random"], cv=2
        ).fit(X, y),
        r"got a pipeline: pass model\[-1\]": scaled,
        "must have classes of one output": RandomForestClassifier(2).fit(
            X, np.column_stack([y, y])
        ),
        "must have at least two classes for treelite, got 1": RandomForestClassifier(2).fit(
            X, np.zeros(len(X))
        ),
    }
    levels = frame_table()
    boosted = GradientBoostingClassifier(max_iter=3, random_state=0).fit(levels, labels_of(levels))
    assert boosted._statistics is not None
    cases["must have no target statistics of categories for treelite"] = boosted
    custom = CustomLoss(class_scores, inverse_link=half)
    cases["must have no CustomLoss with an inverse_link for treelite"] = (
        GradientBoostingClassifier(custom, max_iter=3, early_stopping=False).fit(X, y > 0)
    )
    for message, model in cases.items():
        with pytest.raises((TypeError, ValueError), match=message):
            to_treelite(model)
        with pytest.raises((TypeError, ValueError), match=message):
            treelite_inputs(model, X)
