"""Invalid samples, weights and parameters of boosting classifiers are named."""

import bad_values
import numpy as np
import pytest
from joblib import parallel_config
from mddf.baselines import (
    AdaBoostClassifier,
    DeepBoostClassifier,
    LPBoostClassifier,
    QuadBoostClassifier,
)
from mddf.baselines._boosting import linear_program
from scipy.optimize import OptimizeResult
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer

ALL = [
    AdaBoostClassifier(4),
    DeepBoostClassifier(4),
    QuadBoostClassifier(n_estimators=4),
    LPBoostClassifier(n_estimators=4),
]
# What makes a parameter count that is otherwise ignored.
RELEVANT = {
    "alpha_max": {"penalty": "linf"},
    "lambda_": {"penalty": "l1"},
    "n_thresholds": {"weak_learners": "stumps"},
    "validation_fraction": {"early_stopping": True},
    "n_iter_no_change": {"early_stopping": True},
    "random_state": {"early_stopping": True},
}


def model_id(model):
    return type(model).__name__ if hasattr(model, "fit") else None


@pytest.fixture(scope="module")
def cancer():
    X, y = load_breast_cancer(return_X_y=True)
    return X[::3], y[::3]


def small(n_classes):
    X = np.random.default_rng(0).normal(size=(24, 2))
    return X, (X[:, 0] + X[::-1, 1] > 0) + (0 if n_classes == 2 else (X[:, 1] > 0.5))


@pytest.mark.parametrize("n_classes", [2, pytest.param(3, marks=pytest.mark.slow)])
@pytest.mark.parametrize("model", ALL, ids=model_id)
def test_any_value_of_a_parameter_works_or_is_named(model, n_classes):
    problems = {}
    for name in model.get_params():
        options = {k: v for k, v in RELEVANT.get(name, {}).items() if k in model.get_params()}
        with parallel_config(backend="threading"):
            variant = clone(model).set_params(**options)
            problems[name] = bad_values.problems(variant, name, *small(n_classes))
    assert not any(problems.values()), problems


def test_targets_of_another_length_are_named():
    for model in ALL:
        assert bad_values.fit_problems(model, "y", bad_values.VALUES, small(2)[0]) == {}


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize(
    "model",
    [*ALL, LPBoostClassifier(C=1.0), DeepBoostClassifier(4, beta=0, lambda_=0)],
    ids=model_id,
)
def test_any_sample_weight_works_or_is_named(model, n_classes):
    assert bad_values.weight_problems(model, *small(n_classes)) == {}


def test_a_cost_that_the_solver_fails_with_is_named(cancer, monkeypatch):
    failed = OptimizeResult(status=4, message="numerical difficulties")
    monkeypatch.setattr(linear_program, "linprog", lambda *args, **options: failed)
    with pytest.raises(ValueError, match=r"C must be a cost .* copes with; got 1000000000000000"):
        LPBoostClassifier(C=1e15).fit(*cancer)
    with pytest.raises(RuntimeError, match="was not solved: numerical difficulties"):
        LPBoostClassifier().fit(*cancer)


def test_refused_samples(cancer):
    for model in ALL:
        X, y = cancer
        with pytest.raises(
            ValueError, match="at least 2 classes with positive weight; got 1 class"
        ):
            clone(model).fit(X, y, sample_weight=y)
        with pytest.raises(
            ValueError, match=r"(?i)sample weights must contain|2 classes|entry above zero"
        ):
            clone(model).fit(X, y, sample_weight=y * 0)
        with pytest.raises(ValueError, match="Negative values in data passed to `sample_weight`"):
            clone(model).fit(X, y, sample_weight=y - 0.5)


def test_refused_parameters(cancer):
    """Numbers with which a fit would not fail."""
    for model, params in [
        (DeepBoostClassifier(), {"beta": -1}),
        (DeepBoostClassifier(), {"lambda_": -0.1}),
        (QuadBoostClassifier(), {"alpha_max": 0}),
        (LPBoostClassifier(), {"nu": 0}),
        (LPBoostClassifier(), {"C": 0}),
    ]:
        ((name, value),) = params.items()
        message = f"The '{name}' parameter of {type(model).__name__} must be .* Got {value!r}"
        with pytest.raises(ValueError, match=message):
            model.set_params(**params).fit(*cancer)
