"""Cascades for new samples: refitted models, calibration, number of layers."""

import numpy as np
import pytest
from cascade_cases import SMALL, both, small_data
from naive_votes import FLOOR
from sklearn.metrics import log_loss

from mddf import MDDFClassifier, cost


@pytest.fixture
def data():
    return small_data()


def same_fit(model, other, but=()):
    """Assert that the fitted attributes for training samples are equal."""
    for name in ("alphas_", "margins_", "weights_", "member_scores_", "oof_probabilities_"):
        if name not in but:
            np.testing.assert_array_equal(getattr(model, name), getattr(other, name))
    for name, of_layers in model.history_.items():
        if name != "time":
            np.testing.assert_array_equal(of_layers, other.history_[name])


# Refit


@both
def test_a_refit_learns_the_same_and_is_smaller(Cascade, data):
    X, y, new, _ = data
    folds, refit = Cascade(**SMALL), Cascade(**SMALL, refit=True)
    features = [model.fit_transform(X, y) for model in (folds, refit)]
    np.testing.assert_array_equal(*features)
    same_fit(folds, refit)
    assert refit.stop_reason_ == folds.stop_reason_
    assert cost(refit).n_trees * 3 == cost(folds).n_trees
    assert not np.array_equal(refit.predict_proba(new), folds.predict_proba(new))
    assert np.abs(refit.predict_proba(new) - folds.predict_proba(new)).mean() < 0.1
    assert refit.feature_importances_.sum() == pytest.approx(1)


# Calibration


@both
def test_calibrated_probabilities_are_powers(Cascade, data):
    X, y, new, _ = data
    plain, sure = Cascade(**SMALL).fit(X, y), Cascade(**SMALL, calibrate=True).fit(X, y)
    same_fit(plain, sure, but=["oof_probabilities_"])
    labels = np.searchsorted(plain.classes_, y)

    def power(probabilities, exponent):
        raised = np.maximum(probabilities, FLOOR) ** exponent
        return raised / raised.sum(axis=1, keepdims=True)

    def loss(exponent):
        own = power(plain.oof_probabilities_, exponent)[np.arange(len(y)), labels]
        return -np.log(np.maximum(own, FLOOR)).mean()

    # A hundred samples make it count half; nothing is surer than half an unseen sample allows.
    tried = np.exp(np.linspace(-1.5, 2.5, 4001))
    best = tried[np.argmin([loss(t) for t in tried])] ** (len(y) / (len(y) + 100))
    assert sure.exponent_ == pytest.approx(best, rel=2e-3)
    share = 0.5 / (len(y) + 0.5)
    assert (plain.exponent_, plain.label_smoothing_, sure.label_smoothing_) == (1, 0, share)

    def calibrated(probabilities):
        return (1 - share) * power(probabilities, sure.exponent_) + share / 3

    expected = calibrated(plain.oof_probabilities_)
    np.testing.assert_allclose(sure.oof_probabilities_, expected)
    stages = zip(sure.staged_predict_proba(new), plain.staged_predict_proba(new), strict=True)
    for result, timid in stages:
        np.testing.assert_allclose(result, calibrated(timid))
    np.testing.assert_array_equal(sure.predict_proba(new), result)
    np.testing.assert_array_equal(sure.predict(new), plain.predict(new))
    np.testing.assert_array_equal(sure.decision_function(new), plain.decision_function(new))
    np.testing.assert_array_equal(sure.transform(new), plain.transform(new))


def test_calibration_pays_and_follows_the_weights(data):
    X, y, new, _ = data
    plain, sure = MDDFClassifier(**SMALL), MDDFClassifier(**SMALL, calibrate=True, refit=True)
    half = [model.fit(X[:120], y[:120]).predict_proba(X[120:]) for model in (plain, sure)]
    assert log_loss(y[120:], half[1]) < log_loss(y[120:], half[0])
    sometimes = np.where(np.arange(len(y)) % 2, 1.0, 3.0)
    assert sure.fit(X, y, sometimes).exponent_ != sure.fit(X, y).exponent_
    one_class = sure.fit(X, np.full(len(y), "red"))
    assert one_class.exponent_ == 1
    np.testing.assert_allclose(one_class.predict_proba(new), 1)
