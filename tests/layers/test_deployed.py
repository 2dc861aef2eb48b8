"""Cascades for new samples: refitted models, calibration, number of layers."""

import re

import numpy as np
import pytest
from cascade_cases import SMALL, both, small_data
from mddf.baselines import GCForestClassifier, MultiGrainedScanner
from naive_votes import FLOOR
from sklearn.metrics import log_loss
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline

from mddf import MDDFClassifier, cost
from mddf.explain import importances

STOPPING = SMALL | {"early_stopping": True, "n_layers": 4}


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
    options = SMALL | {"transform_layers": "all"}
    folds, refit = Cascade(**options), Cascade(**options, refit=True)
    features = [model.fit_transform(X, y) for model in (folds, refit)]
    np.testing.assert_array_equal(*features)
    same_fit(folds, refit)
    assert refit.stop_reason_ == folds.stop_reason_
    assert cost(refit).n_trees * 3 == cost(folds).n_trees
    assert not np.array_equal(refit.predict_proba(new), folds.predict_proba(new))
    assert np.abs(refit.predict_proba(new) - folds.predict_proba(new)).mean() < 0.1
    assert refit.feature_importances_.sum() == pytest.approx(1)


def test_the_first_refitted_layer_has_forests_of_all_rows(data):
    X, y, new, _ = data
    near = KNeighborsClassifier()
    model = MDDFClassifier(1, forests=[near], cv=3, refit=True).fit(X, y)
    np.testing.assert_allclose(model.predict_proba(new), near.fit(X, y).predict_proba(new))


def test_scanned_images_and_held_out_importances():
    rng = np.random.default_rng(0)
    y = np.arange(60) % 2
    images = rng.random((60, 4, 4))
    images[y == 1, :2] += 0.5
    scanner = MultiGrainedScanner([2, 3], n_estimators=5, cv=2, random_state=0)
    grains = scanner.fit(images, y).grains_
    model = GCForestClassifier(2, n_estimators=5, refit=True, calibrate=True, grains=grains)
    scanned = make_pipeline(scanner, model.set_params(random_state=0)).fit(images[:40], y[:40])
    assert scanned.score(images[40:], y[40:]) > 0.8
    vectors = scanner.transform(images)
    result = importances(model, vectors[40:], y[40:])
    assert result.importances_mean.shape == (vectors.shape[1],)


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


# Few layers


@pytest.mark.parametrize("scoring", ["margin-ratio", "neg_log_loss"])
@both
def test_fewest_layers_are_the_first_of_the_best(Cascade, scoring, data):
    X, y, new, _ = data
    few, best = (
        Cascade(**STOPPING, keep_layers=keep, scoring=scoring).fit(X, y)
        for keep in ("fewest", "best")
    )
    same_fit(few, best, but=["alphas_", "oof_probabilities_"])
    n = few.n_layers_
    assert n <= best.n_layers_
    if n < best.n_layers_:
        reason = f"within the error of the best score (layer {best.n_layers_})"
        assert few.stop_reason_.endswith(f"kept {n} of {len(few.margins_)} layers, {reason}")
    # They are the same layers as if there had never been more.
    options = STOPPING | {"n_layers": n, "early_stopping": False}
    alone = Cascade(**options, scoring=scoring).fit(X, y)
    np.testing.assert_array_equal(few.predict_proba(new), alone.predict_proba(new))
    np.testing.assert_array_equal(few.oof_probabilities_, alone.oof_probabilities_)
    np.testing.assert_array_equal(few.alphas_, alone.alphas_)


def test_noise_needs_one_layer():
    rng = np.random.default_rng(0)
    X, y = rng.random((300, 4)), rng.integers(0, 2, 300)
    kept = MDDFClassifier(**STOPPING, keep_layers="fewest", scoring="accuracy").fit(X, y)
    assert kept.n_layers_ == 1
    groups = np.arange(300) // 3
    kept = MDDFClassifier(**STOPPING, keep_layers="fewest").fit(X, y, groups=groups)
    assert kept.n_layers_ <= 3


@both
def test_layers_that_are_chosen_by_held_out_rows(Cascade, data):
    X, y, new, _ = data
    options = STOPPING | {"keep_layers": "held-out"}
    model = Cascade(**options).fit(X, y)
    n_rows = len(y)
    assert re.fullmatch(
        rf"{model.n_layers_} of \d layers scored best on {n_rows // 4 + (n_rows % 4 > 0)} "
        "held-out samples",
        model.stop_reason_,
    )
    # They are the layers of a cascade that was never to have more or fewer.
    alone = {**STOPPING, "n_layers": model.n_layers_, "early_stopping": False}
    same = Cascade(**alone).fit(X, y)
    np.testing.assert_array_equal(model.predict_proba(new), same.predict_proba(new))
    groups = np.arange(len(y)) // 3
    weighted = Cascade(**options).fit(X, y, sample_weight=np.ones(len(y)), groups=groups)
    assert "held-out samples" in weighted.stop_reason_
    splits = [(np.arange(i % 2, len(y), 2), np.arange(1 - i, len(y), 2)) for i in range(2)]
    with pytest.raises(ValueError, match="'held-out' needs cv to be a number or a splitter"):
        Cascade(**(options | {"cv": splits})).fit(X, y)


def test_unpredictable_labels_get_one_layer():
    """Near-duplicates with random labels: out-of-fold vectors leak labels, new rows do not."""
    rng = np.random.default_rng(0)
    X = np.repeat(rng.normal(size=(200, 3)), 2, axis=0) + 1e-3 * rng.normal(size=(400, 3))
    y = rng.random(400) < 0.3
    options = {"n_estimators": 20, "scoring": "neg_log_loss", "random_state": 0}
    n_layers = [MDDFClassifier(4, keep_layers=how, **options).fit(X, y).n_layers_
                for how in ("best", "held-out")]  # fmt: skip
    assert n_layers[1] <= n_layers[0]
