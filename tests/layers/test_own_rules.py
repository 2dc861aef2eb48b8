"""Coefficients by functions of the user."""

import pickle

import numpy as np
import pytest
from forest_cases import three_classes
from sklearn.base import clone

from mddf import MDDFClassifier
from mddf.rules import MarginRules

OPTIONS = {"n_layers": 3, "n_estimators": 3, "cv": 2, "early_stopping": False, "random_state": 0}


def mean_margin(margins, alphas, sample_weight):
    g = min(max(np.average(margins[:, -1], weights=sample_weight), 0), 1 - 1e-6)
    return np.append(alphas, 0.5 * np.log1p(2 * g / (1 - g)))


def fit(weights=None, checkpoint=None, **rules):
    X, y = three_classes()
    rules = MarginRules(**rules)
    return MDDFClassifier(**OPTIONS, rules=rules, checkpoint=checkpoint).fit(X, y, weights)


@pytest.mark.parametrize("weights", [None, np.random.default_rng(0).integers(0, 3, 300)])
def test_the_mean_margin_as_a_function(weights):
    X, _ = three_classes()
    by_name = fit(weights, alpha="mean-margin", strength=1)
    own = fit(weights, alpha=mean_margin, strength=1)
    np.testing.assert_allclose(own.alphas_, by_name.alphas_, rtol=1e-12)
    np.testing.assert_allclose(own.weights_, by_name.weights_, rtol=1e-4, atol=1e-9)
    np.testing.assert_allclose(own.predict_proba(X), by_name.predict_proba(X), atol=1e-9)


def test_arguments_of_rule_functions():
    calls = []

    def rule(margins, alphas, sample_weight):
        assert not any(of.flags.writeable for of in (margins, alphas, sample_weight))
        calls.append((margins.shape, len(alphas), len(sample_weight)))
        return np.ones(margins.shape[1])

    model = fit(alpha=rule)
    assert calls == [((300, n), n - 1, 300) for n in (1, 2, 3)]
    assert model.alphas_.tolist() == [1, 1, 1]
    np.testing.assert_array_equal(model.weights_.sum(axis=1).round(12), 1)


def test_models_with_functions_are_cloned_and_pickled():
    X, y = three_classes()
    model = clone(MDDFClassifier(rules=MarginRules(alpha=mean_margin), **OPTIONS)).fit(X, y)
    loaded = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(loaded.predict_proba(X), model.predict_proba(X))


def test_checkpoints_go_on_with_functions(tmp_path):
    X, _ = three_classes()
    model = fit(alpha=mean_margin, checkpoint=tmp_path)
    again = fit(alpha=mean_margin, checkpoint=tmp_path)
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    with pytest.raises(ValueError, match="checkpoint"):
        fit(alpha="mean-margin", checkpoint=tmp_path)


def test_invalid_coefficients():
    for coefficient in [
        None,
        "a",
        1.0,
        [1.0, 2.0],
        [[1.0]],
        [-1.0],
        [np.nan],
        [np.inf],
        [0.0],
        [10**400],
        [1j],
    ]:
        with pytest.raises(
            ValueError, match=r"^alpha must give .*coefficients, one of each layer"
        ):
            fit(alpha=lambda *_, value=coefficient: value)


def test_unknown_rules():
    for parameters, message in [
        ({"alpha": OPTIONS}, "'alpha' parameter of MarginRules"),
        ({"alpha": dict}, "alpha must not be a class"),
        ({"alpha": lambda margins: margins[0]}, "alpha cannot be used: .*argument"),
    ]:
        with pytest.raises((ValueError, TypeError), match=message):
            fit(**parameters)
