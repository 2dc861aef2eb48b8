"""The optimal margin distribution machine."""

import pickle

import numpy as np
import pytest
from mddf.baselines import ODMClassifier
from scipy.optimize import minimize
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import RidgeClassifier
from sklearn.preprocessing import StandardScaler
from sklearn_checks import sklearn_checks

from mddf.analysis import odm_objective

MODELS = [ODMClassifier(), ODMClassifier(20.0, theta=0.0, mu=1.0, fit_intercept=False)]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
@sklearn_checks(MODELS)
def test_scikit_learn_contract(estimator, check):
    check(estimator)


def problem(seed, n_samples=12, n_features=2):
    random = np.random.default_rng(seed)
    X = random.normal(size=(n_samples, n_features))
    y = np.where(X[:, 0] + 0.7 * random.normal(size=n_samples) > 0, 1, -1)
    y[:2] = 1, -1
    return X, y


@pytest.mark.parametrize("seed", range(3))
def test_constrained_form_of_equation_52(seed):
    """The quadratic program with all slack variables, by a general solver."""
    X, y = problem(seed)
    m = len(y)
    lambda_, theta, mu = 5.0, 0.3, 0.4
    model = ODMClassifier(lambda_, theta=theta, mu=mu, fit_intercept=False).fit(X, y)

    def objective(v):
        w, xi, eps = v[:2], v[2 : 2 + m], v[2 + m :]
        return 0.5 * w @ w + lambda_ / m * (xi @ xi + mu * eps @ eps) / (1 - theta) ** 2

    signed = X * y[:, None]
    above = np.hstack([signed, np.eye(m), np.zeros((m, m))])
    below = np.hstack([-signed, np.zeros((m, m)), np.eye(m)])
    constraints = [
        {"type": "ineq", "fun": lambda v: above @ v - (1 - theta), "jac": lambda v: above},
        {"type": "ineq", "fun": lambda v: below @ v + 1 + theta, "jac": lambda v: below},
    ]
    start = np.concatenate([np.zeros(2), np.full(2 * m, 1.0)])
    options = {"ftol": 1e-13, "maxiter": 500}
    exact = minimize(objective, start, constraints=constraints, options=options)
    assert model.objective_[0] == pytest.approx(exact.fun, abs=1e-7)
    np.testing.assert_allclose(model.coef_[0], exact.x[:2], atol=1e-4)


@pytest.mark.parametrize("weighted", [False, True])
def test_gradient_is_zero_at_the_solution(weighted):
    X, y = load_breast_cancer(return_X_y=True)
    X = StandardScaler().fit_transform(X)
    signs = np.where(y == 1, 1, -1)
    weight = np.random.default_rng(0).random(len(y)) if weighted else None
    options = {"lambda_": 50.0, "theta": 0.1, "mu": 0.2}
    model = ODMClassifier(**options, fit_intercept=False).fit(X, y, weight)
    value, gradient = odm_objective(model.coef_[0], X, signs, **options, sample_weight=weight)
    assert value == pytest.approx(model.objective_[0])
    assert np.abs(gradient).max() < 1e-8
    # The intercept is a column that is not penalised.
    model = ODMClassifier(**options).fit(X, y, weight)
    z = signs * model.decision_function(X)
    slopes = 0.2 * np.maximum(z - 1.1, 0) - np.maximum(0.9 - z, 0)
    assert abs(np.average(signs * slopes, weights=weight)) < 1e-10


def test_without_a_band_and_with_equal_sides_it_is_ridge_regression():
    """theta = 0 and mu = 1: the squared loss of labels in {-1, +1}."""
    X, y = load_breast_cancer(return_X_y=True)
    X = StandardScaler().fit_transform(X)
    model = ODMClassifier(10.0, theta=0.0, mu=1.0).fit(X, y)
    ridge = RidgeClassifier(alpha=len(y) / 20.0).fit(X, y)
    np.testing.assert_allclose(model.coef_, np.reshape(ridge.coef_, (1, -1)), atol=1e-8)
    np.testing.assert_allclose(model.intercept_, ridge.intercept_, atol=1e-8)
    assert model.n_iter_ == 1


def test_several_classes_one_against_the_rest():
    X, codes = load_iris(return_X_y=True)
    y = np.array(["setosa", "versicolor", "virginica"])[codes]
    model = ODMClassifier(100.0).fit(X, y)
    for k, name in enumerate(model.classes_):
        alone = ODMClassifier(100.0).fit(X, y == name)
        np.testing.assert_allclose(model.coef_[k], alone.coef_[0], rtol=1e-9)
        np.testing.assert_allclose(model.intercept_[k], alone.intercept_[0], rtol=1e-9)
    assert set(model.predict(X)) == set(y)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict(X), model.predict(X))


def test_weights_count_as_copies_and_zeros_are_left_out():
    X, codes = load_iris(return_X_y=True)
    weight = np.where(codes == 2, 0, np.arange(150) % 3)
    weighted = ODMClassifier(5.0).fit(X, codes, weight)
    copied = ODMClassifier(5.0).fit(np.repeat(X, weight, axis=0), np.repeat(codes, weight))
    assert weighted.classes_.tolist() == [0, 1]
    np.testing.assert_allclose(weighted.coef_, copied.coef_, rtol=1e-9)


def test_refusals_and_warnings():
    X, y = problem(0)
    for change in ({"lambda_": 0}, {"theta": 1.0}, {"mu": 0}, {"mu": 1.5}, {"tol": -1.0}):
        (name,) = change
        with pytest.raises(ValueError, match=f"The '{name}' parameter of ODMClassifier must"):
            ODMClassifier(**change).fit(X, y)
    with pytest.raises(ValueError, match="needs samples of at least 2 classes with positive w"):
        ODMClassifier().fit(X, np.ones(12))
    with pytest.raises(ValueError, match="sample_weight must have a finite sum; got weights"):
        ODMClassifier().fit(X, y, np.full(len(y), 1e307) * 10)
    with pytest.raises(ValueError, match=r"a finite sum, got numbers up to .*: scale the f"):
        ODMClassifier().fit(X * 1e200, y)
    with pytest.warns(ConvergenceWarning, match="not converged after max_iter=1 steps"):
        ODMClassifier(1e6, max_iter=1).fit(X, y)
