"""Parameters that are counts, shares or seconds refuse True and False."""

import importlib
import inspect

import numpy as np
import pytest
from mddf.baselines import AdaBoostClassifier, DeepBoostClassifier, LPBoostClassifier
from sklearn.utils._param_validation import Interval

import mddf
from mddf import GradientBoostingRegressor, RandomForestRegressor
from mddf.analysis import adaboost_training_bounds, finite_class_margin_bound

PACKAGES = ["mddf", "mddf.analysis", "mddf.baselines", "mddf.explain", "mddf.export"]
ESTIMATORS = [
    value
    for package in ("mddf", "mddf.baselines")
    for name in importlib.import_module(package).__all__
    if hasattr(value := getattr(importlib.import_module(package), name), "_parameter_constraints")
]
NUMBERS = [
    (Estimator, name)
    for Estimator in ESTIMATORS
    for name, allowed in Estimator._parameter_constraints.items()
    if any(isinstance(kind, Interval) for kind in allowed) and "boolean" not in allowed
]


@pytest.mark.parametrize(
    ("Estimator", "name"), NUMBERS, ids=[f"{E.__name__}-{name}" for E, name in NUMBERS]
)
def test_numbers_are_no_booleans(Estimator, name):
    for value in (True, np.True_, float("nan"), np.float32("nan"), -np.inf):
        with pytest.raises(ValueError, match=name):
            Estimator(**{name: value}).fit(np.eye(4), [0, 1, 0, 1])


def test_time_limits_and_counts_are_among_them():
    names = {name for _, name in NUMBERS}
    assert {"time_limit", "n_estimators", "n_jobs", "learning_rate", "max_depth"} <= names


def test_numbers_of_numpy_are_numbers():
    options = {"max_depth": np.int64(2), "learning_rate": np.float32(0.1), "max_iter": np.uint8(2)}
    X = np.random.default_rng(0).normal(size=(20, 2))
    GradientBoostingRegressor(**options, early_stopping=False).fit(X, X[:, 0])


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("interaction_cst", [[True, False]]),
        ("interaction_cst", [np.array([True, False])]),
        ("interaction_cst", [[0], {True}]),
        ("monotonic_cst", [True, False]),
        ("monotonic_cst", np.array([True, False])),
        ("monotonic_cst", [1, np.True_]),
        ("monotonic_cst", {"x0": True}),
    ],
)
def test_constraints_are_no_booleans(name, value):
    with pytest.raises(ValueError, match=f"{name} must hold numbers, not booleans"):
        GradientBoostingRegressor(**{name: value}).fit(np.eye(2), [0.0, 1.0])
    if name == "monotonic_cst":
        with pytest.raises(ValueError, match="monotonic_cst must hold numbers, not booleans"):
            RandomForestRegressor(3, monotonic_cst=value).fit(np.eye(2), [0.0, 1.0])


def test_a_list_of_booleans_is_a_mask_of_categories():
    X = np.column_stack([np.arange(30) % 3, np.arange(30)])
    model = RandomForestRegressor(2, categorical_features=[True, False]).fit(X, X[:, 1])
    assert model._binner.categorical_.tolist() == [True, False]


def test_bounds_refuse_booleans_and_other_algorithms():
    with pytest.raises(ValueError, match="rho"):
        finite_class_margin_bound([0.5], True, 3)
    X = np.random.default_rng(0).normal(size=(40, 2))
    y = X[:, 0] > 0
    history = AdaBoostClassifier(3, random_state=0).fit(X, y).history_
    expected = adaboost_training_bounds(history["weighted_error"])
    assert adaboost_training_bounds(history) == expected
    for Boosting in (DeepBoostClassifier, LPBoostClassifier):
        other = Boosting(n_estimators=3, random_state=0).fit(X, y).history_
        with pytest.raises(ValueError, match="must come from an AdaBoost"):
            adaboost_training_bounds(other)


@pytest.mark.parametrize("package", [*PACKAGES, "mddf.datasets"])
def test_dir_has_no_helpers(package):
    module = importlib.import_module(package)
    public = {name for name in dir(module) if not name.startswith("_")}
    assert set(module.__all__) <= public
    undocumented = public - set(module.__all__)
    assert all(inspect.ismodule(getattr(module, name)) for name in undocumented)
    assert "publish" not in public
    assert mddf.__all__ == [name for name in mddf.__all__ if name in dir(mddf)]
