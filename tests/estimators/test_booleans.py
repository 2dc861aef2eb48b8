"""Parameters that are counts, shares or seconds refuse True and False."""

import importlib

import numpy as np
import pytest
from sklearn.utils._param_validation import Interval

from mddf import GradientBoostingRegressor, RandomForestRegressor

ESTIMATORS = [
    value
    for package in ("mddf", "mddf.baselines")
    for name in importlib.import_module(package).__all__
    if hasattr(value := getattr(importlib.import_module(package), name), "_parameter_constraints")
]


def test_numbers_are_no_booleans():
    for Estimator in ESTIMATORS:
        numbers = [
            name
            for name, allowed in Estimator._parameter_constraints.items()
            if any(isinstance(kind, Interval) for kind in allowed) and "boolean" not in allowed
        ]
        assert numbers
        for name in numbers:
            for value in (True, np.True_, float("nan"), np.float32("nan"), -np.inf):
                with pytest.raises(ValueError, match=name):
                    Estimator(**{name: value}).fit(np.eye(4), [0, 1, 0, 1])


def test_numbers_of_numpy_are_numbers():
    options = {"max_depth": np.int64(2), "learning_rate": np.float32(0.1), "max_iter": np.uint8(2)}
    X = np.random.default_rng(0).normal(size=(20, 2))
    GradientBoostingRegressor(**options, early_stopping=False).fit(X, X[:, 0])


def test_constraints_are_no_booleans():
    for value in ([[True, False]], [np.array([True, False])], [[0], {True}]):
        with pytest.raises(ValueError, match="interaction_cst must hold numbers, not booleans"):
            GradientBoostingRegressor(interaction_cst=value).fit(np.eye(2), [0.0, 1.0])
    for value in ([True, False], np.array([True, False]), [1, np.True_], {"x0": True}):
        for Model in (GradientBoostingRegressor, RandomForestRegressor):
            with pytest.raises(ValueError, match="monotonic_cst must hold numbers, not booleans"):
                Model(monotonic_cst=value).fit(np.eye(2), [0.0, 1.0])


def test_a_list_of_booleans_is_a_mask_of_categories():
    X = np.column_stack([np.arange(30) % 3, np.arange(30)])
    model = RandomForestRegressor(2, categorical_features=[True, False], random_state=0).fit(
        X, X[:, 1]
    )
    again = RandomForestRegressor(2, categorical_features=[0], random_state=0).fit(X, X[:, 1])
    assert np.array_equal(model.predict(X), again.predict(X))
