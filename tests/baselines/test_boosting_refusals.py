"""Invalid samples, costs and numbers of boosting classifiers are named."""

import pytest
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


@pytest.fixture(scope="module")
def cancer():
    X, y = load_breast_cancer(return_X_y=True)
    return X[::3], y[::3]


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
