"""Coefficients from margins, and weights for the next layer."""

import numpy as np
import pytest
from mddf.baselines import GCForestClassifier
from scipy.optimize import minimize

from mddf import MDDFClassifier
from mddf._layers.coefficients import (
    LastLayer,
    MarginHistory,
    MeanMargin,
    Reweighting,
    Simplex,
    Stagewise,
)
from mddf._layers.margin_loss import margin_loss, weighted_sum

LOSS = {"target_margin": 0.8, "mu": 0.1}


def history(n_layers=3, *, weight=None, before=None, shift=0.0):
    rng = np.random.default_rng(0)
    margins = np.clip(rng.normal(0.5 + shift, 0.3, (200, n_layers)), -1, 1)
    before = np.full(n_layers - 1, 1 / max(n_layers - 1, 1)) if before is None else before
    return MarginHistory(margins, before, weight, np.arange(200), (1, 2))


def test_the_simplex_minimises_the_mean_loss():
    of = history()
    alphas = Simplex(**LOSS)(of)
    assert alphas.sum() == pytest.approx(1)
    assert np.all(alphas >= 0)

    def loss(x):
        return margin_loss(of.margins @ x, **LOSS).mean()

    constraint = {"type": "eq", "fun": lambda x: x.sum() - 1}
    exact = minimize(loss, np.full(3, 1 / 3), bounds=[(0, 1)] * 3, constraints=[constraint])
    assert loss(alphas) == pytest.approx(exact.fun, rel=0.01)


def test_stagewise_leaves_earlier_coefficients_alone():
    before = np.array([0.4, 0.1])
    alphas = Stagewise(**LOSS)(history(before=before))
    assert alphas[:2].tolist() == before.tolist()
    assert alphas[2] > 0


@pytest.mark.parametrize("rule", [Stagewise(**LOSS), MeanMargin()])
def test_one_coefficient_is_never_zero(rule):
    alphas = rule(history(2, before=np.zeros(1), shift=-2.0))
    assert alphas.tolist() == [0, 1]


def test_the_mean_margin():
    of = history(1)
    assert MeanMargin()(of)[0] == pytest.approx(np.arctanh(of.margins.mean()))


def test_the_last_layer():
    assert LastLayer()(history()).tolist() == [0, 0, 1]


def test_batches_follow_the_weights():
    weight = np.arange(200) % 3.0
    drawn = np.bincount(history(weight=weight).draw_batches().ravel(), minlength=200)
    assert np.all(drawn[weight == 0] == 0)
    assert drawn[weight == 2].sum() / drawn[weight == 1].sum() == pytest.approx(2, abs=0.05)
    assert np.array_equal(history().draw_batches(), history(weight=np.ones(200)).draw_batches())


def test_one_layer_has_the_whole_simplex():
    assert Simplex(**LOSS)(history(1)).tolist() == [1]


@pytest.mark.parametrize("strength", [0.0, 0.25, 1.0])
def test_reweighting_factors_follow_the_losses(strength):
    of, alphas = history(), np.array([0.5, 0.2, 0.3])
    factors = Reweighting(**LOSS, strength=strength)(of, alphas)
    losses = margin_loss(of.margins @ alphas, **LOSS)
    expected = 1 - strength + strength * losses / losses.mean()
    np.testing.assert_allclose(factors, expected, atol=1e-6)
    doubled = Reweighting(**LOSS, strength=strength, normalise=True)(of, 2 * alphas)
    np.testing.assert_allclose(doubled, expected, atol=1e-6)


def test_weighted_sums():
    rng = np.random.default_rng(0)
    columns, x = rng.normal(size=(50, 4)), rng.normal(size=4)
    np.testing.assert_allclose(weighted_sum(columns, x), columns @ x)
    assert weighted_sum(columns[:, :0], x[:0]).tolist() == [0] * 50


def test_the_rules_of_the_cascades():
    names = {"simplex": Simplex, "stagewise": Stagewise, "mean-margin": MeanMargin}
    for alpha, rule in names.items():
        kind = MDDFClassifier(alpha=alpha, strength=0.4)._kind()
        assert isinstance(kind.rule, rule)
        assert kind.reweighting == Reweighting(0.9, 0.1, 0.4, normalise=alpha == "mean-margin")
        assert kind.redraw
    assert MDDFClassifier(reweighting=None)._kind().reweighting is None
    assert isinstance(GCForestClassifier()._kind().rule, LastLayer)
    assert MDDFClassifier(depth_step=3)._kind().depth(1) == 9
