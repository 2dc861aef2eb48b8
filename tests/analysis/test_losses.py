import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from naive_votes import margin_loss as naive_margin_loss
from scipy.optimize import check_grad, minimize
from sklearn.datasets import load_iris

from mddf import MDDFClassifier
from mddf.analysis import BandMarginLoss, odm_objective
from mddf.rules import MarginRules

THETAS = st.floats(0, 0.9)
MUS = st.floats(0.01, 1)


def equation_51(z, theta, mu):
    if z <= 1 - theta:
        return (z - 1 + theta) ** 2 / (1 - theta) ** 2
    if z <= 1 + theta:
        return 0.0
    return mu * (z - 1 - theta) ** 2 / (1 + theta) ** 2


@given(st.lists(st.floats(-3, 4), min_size=1), THETAS, MUS)
@settings(max_examples=50, deadline=None)
def test_values_and_gradients(margins, theta, mu):
    loss = BandMarginLoss(theta, mu)
    z = np.array(margins)
    expected = [equation_51(value, theta, mu) for value in margins]
    np.testing.assert_allclose(loss.value(z), expected, rtol=1e-12, atol=1e-14)
    h = 1e-6
    difference = (loss.value(z + h) - loss.value(z - h)) / (2 * h)
    scale = 1 / (1 - theta) ** 2
    np.testing.assert_allclose(loss.gradient(z), difference, atol=1e-4 * scale)
    assert (loss.value(z) >= (z <= 0) - 1e-12).all()


def test_loss_meets_equation_48_below_the_target():
    z = np.linspace(-1, 0.8, 50)
    loss = BandMarginLoss(theta=0.2)
    np.testing.assert_allclose(loss.value(z), [naive_margin_loss(v, 0.8, 0.1) for v in z])
    assert loss.value(np.ones((2, 3))).shape == (2, 3)
    assert not loss.value(np.linspace(0.8, 1.2, 9)).max() > 1e-30


@pytest.mark.parametrize("weighted", [False, True])
def test_coefficients_minimise_the_mean_loss(weighted):
    random = np.random.default_rng(0)
    means = np.array([0.4, 0.5, 0.6])
    margins = np.clip(random.normal(means, 0.4, size=(80, 3)), -1, 1)
    weight = random.random(80) if weighted else None
    loss = BandMarginLoss(0.3, 0.5)
    alphas = loss.coefficients(margins, None, weight)
    assert alphas.sum() == pytest.approx(1)
    assert (alphas >= 0).all()

    def mean_loss(a):
        return np.average(loss.value(margins @ np.asarray(a)), weights=weight)

    steps = np.arange(0, 101) / 100
    grid = [(a, b, 1 - a - b) for a in steps for b in steps if a + b <= 1]
    assert mean_loss(alphas) <= min(map(mean_loss, grid)) + 1e-12
    exact = minimize(
        mean_loss,
        np.full(3, 1 / 3),
        bounds=[(0, 1)] * 3,
        constraints={"type": "eq", "fun": lambda a: a.sum() - 1},
        options={"ftol": 1e-14},
    )
    assert mean_loss(alphas) <= exact.fun + 1e-9
    np.testing.assert_array_equal(loss.coefficients(np.zeros((4, 2))), [0.5, 0.5])


def test_a_cascade_boosts_by_the_loss():
    X, y = load_iris(return_X_y=True)
    loss = BandMarginLoss(0.2)
    model = MDDFClassifier(
        n_estimators=5,
        n_layers=3,
        early_stopping=False,
        rules=MarginRules(
            alpha=loss.coefficients,
            reweighting=lambda view: loss.sample_factors(view.margins, view.alphas),
            redraw=True,
        ),
        random_state=0,
    ).fit(X, y)
    assert len(model.alphas_) == 3
    assert model.score(X, y) > 0.9
    factors = loss.sample_factors([[0.5], [0.9]], [2.0])
    np.testing.assert_allclose(factors, loss.value([0.5, 0.9]))
    # Samples within the band have no loss; if no others have weight, all count alike.
    assert loss.sample_factors([[0.9], [1.0]], [1.0]).tolist() == [1, 1]
    assert loss.sample_factors([[0.9], [0.0]], [1.0], [1.0, 0.0]).tolist() == [1, 1]


@given(st.integers(0, 10**6), THETAS, MUS)
@settings(max_examples=20, deadline=None)
def test_gradient_of_the_odm_objective(seed, theta, mu):
    random = np.random.default_rng(seed)
    X = random.normal(size=(15, 3))
    y = np.where(random.random(15) < 0.5, -1, 1)
    options = {"lambda_": 3.0, "theta": theta, "mu": mu, "sample_weight": random.random(15)}
    w = random.normal(size=3)
    error = check_grad(
        lambda w: odm_objective(w, X, y, **options)[0],
        lambda w: odm_objective(w, X, y, **options)[1],
        w,
    )
    assert error < 1e-4 / (1 - theta) ** 2
    # Slack variables at their optimum, one sample after the other.
    weights = options["sample_weight"] / options["sample_weight"].sum()
    total = 0.5 * w @ w
    for row, label, weight in zip(X, y, weights, strict=True):
        margin = label * row @ w
        xi, eps = max(1 - theta - margin, 0), max(margin - 1 - theta, 0)
        total += 3.0 / (1 - theta) ** 2 * weight * (xi**2 + mu * eps**2)
    assert odm_objective(w, X, y, **options)[0] == pytest.approx(total)


def test_with_equal_denominators_the_loss_is_the_mean_of_equation_51():
    """Equation 52 divides by (1 - theta)^2 above the band, equation 51 by (1 + theta)^2."""
    X = np.random.default_rng(0).normal(size=(20, 2))
    y = np.where(X[:, 0] > 0, 1, -1)
    w = np.array([2.0, 0.3])
    theta, mu = 0.2, 0.5
    loss = BandMarginLoss(theta, mu * (1 + theta) ** 2 / (1 - theta) ** 2 * 0.5)
    expected = 0.5 * w @ w + 4.0 * loss.value(y * (X @ w)).mean()
    got = odm_objective(w, X, y, lambda_=4.0, theta=theta, mu=mu * 0.5)[0]
    assert got == pytest.approx(expected)
