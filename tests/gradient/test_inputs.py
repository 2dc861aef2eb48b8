"""Constraints, and refused inputs."""

import warnings

import numpy as np
import pytest
from bad_values import VALUES
from bad_values import problem as bad_value
from boosted_cases import both, numbers, problem
from sklearn.base import clone

from mddf import GradientBoostingClassifier, GradientBoostingRegressor
from mddf.explain import tree_arrays


def test_constraints_hold():
    X, y = numbers(missing=0)
    constraints = [1, 0, -1, 0, 0, 0]
    model = GradientBoostingRegressor(max_iter=100, monotonic_cst=constraints, random_state=0)
    model.fit(X, y)
    line = np.tile(X[:1], (50, 1))
    for column, sign in ((0, 1), (2, -1)):
        moved = line.copy()
        moved[:, column] = np.linspace(-3, 3, 50)
        assert np.all(sign * np.diff(model.predict(moved)) >= 0)
    free = GradientBoostingRegressor(max_iter=50, max_depth=4, random_state=0)
    lonely = clone(free).set_params(interaction_cst="no_interactions").fit(X, y)
    for tree in tree_arrays(lonely):
        assert len(set(tree.feature[tree.children_left != -1])) <= 1
    pairs = clone(free).set_params(interaction_cst="pairwise").fit(X, y)
    assert lonely.score(X, y) < pairs.score(X, y)


def test_refusals():
    for options, data, message in [
        ({"loss": "gamma"}, {"y": np.zeros(400)}, "y must be positive for loss='gamma', got 0"),
        ({"loss": "poisson"}, {"y": -np.ones(400)}, "y must not be negative"),
        ({"loss": "tweedie"}, {"y": -np.ones(400)}, "for loss='tweedie'"),
        ({"loss": "quantile"}, {}, "quantile must be a number"),
        ({"max_features": "all"}, {}, r"a str among \{('\w+'(, )?){3}\} or None\. Got 'all'"),
        ({"max_depth": 17}, {}, "max_depth must be at most 16"),
        ({"monotonic_cst": [1, 0]}, {}, "monotonic_cst"),
        ({"monotonic_cst": [1] * 6, "categorical_features": [3]}, {}, "must be 0 for categories"),
        ({"interaction_cst": [[0, 6]]}, {}, "interaction_cst must have feature numbers"),
        ({"interaction_cst": [0, 1]}, {}, "interaction_cst must be a list of lists"),
        ({"early_stopping": True, "validation_fraction": 400}, {}, "validation_fraction"),
        ({"early_stopping": True, "scoring": "accuracy"}, {}, "scoring"),
        (
            {"early_stopping": True, "scoring": "neg_log_loss"},
            {},
            "scoring must be a scorer of predicted targets, got 'neg_log_loss': .*predict_proba",
        ),
        (
            {"early_stopping": True, "scoring": lambda model, X, y: np.nan},
            {},
            "scoring must give a finite number, got nan",
        ),
        ({"loss": "huber"}, {"y": np.zeros((400, 2))}, "loss must be one of"),
        ({}, {"y": np.zeros((400, 2, 2))}, "y"),
        ({}, {"y": None}, "y"),
    ]:
        X, y = numbers()
        fit_arguments = {"X": np.round(np.nan_to_num(X)), "y": y} | data
        with pytest.raises((ValueError, TypeError), match=message):
            GradientBoostingRegressor(max_iter=3, **options).fit(**fit_arguments)


def test_refusals_of_the_classifier():
    X, y = problem(GradientBoostingClassifier)
    for options, message in (
        ({"loss": "exponential"}, "loss must be 'log_loss' for 3 classes"),
        ({"monotonic_cst": [1] * 6}, "monotonic_cst is for two classes"),
    ):
        with pytest.raises(ValueError, match=message):
            GradientBoostingClassifier(max_iter=3, **options).fit(X, y)
    model = GradientBoostingClassifier(max_iter=3).fit(X, y)
    with pytest.raises(ValueError, match="y_val cannot be used: y must hold labels"):
        model.fit(X, y, X_val=X, y_val=np.full(400, "yak"))
    assert model.n_iter_ == 3


def big(value):
    return isinstance(value, int) and value > 1000


@both
def test_any_value_of_a_parameter_works_or_is_named(Model):
    X, y = problem(Model, 40)
    problems = {}
    for name in sorted(Model().get_params()):
        model = Model(max_iter=3, early_stopping=name in ("scoring", "validation_fraction"))
        if name == "max_iter":
            model.set_params(early_stopping=True, n_iter_no_change=1)
        for value in VALUES:
            if name in ("max_iter", "verbose") and big(value):
                continue
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                text = bad_value(clone(model).set_params(**{name: value}), name, X, y)
            # At high learning rates predictions run away; test_any_learning_rate looks at them.
            if text and not (name == "learning_rate" and text.startswith("fits, but the prob")):
                problems[name, repr(value)] = text
    assert problems == {}


@both
def test_a_parameter_that_symmetric_trees_ignore_is_named(Model):
    X, y = problem(Model, 50)
    with pytest.warns(UserWarning, match="max_leaf_nodes=4 has no effect"):
        Model(max_leaf_nodes=4, max_iter=2).fit(X, y)
    Model(max_leaf_nodes=None, max_iter=2).fit(X, y)
    Model(max_leaf_nodes=4, grow_policy="leaf-wise", max_iter=2).fit(X, y)
