"""Kernel members: ridge regression on features of a kernel."""

import numpy as np
import pytest
from naive_votes import fit_exponent, log_losses
from sklearn.linear_model import Ridge, RidgeCV
from sklearn.metrics.pairwise import laplacian_kernel, rbf_kernel

from mddf._members import kernel
from mddf._members.kernel import KernelClassifier, KernelRegressor

NONE = np.zeros(3, bool)
CATEGORY = np.array([False, False, True])


def table(n, seed):
    X = np.random.default_rng(seed).normal(size=(n, 3))
    X[:, 2] = np.random.default_rng(seed).integers(0, 4, n)
    X[::7, 0] = np.nan
    return X


def smooth(X):
    return np.sin(np.nan_to_num(X[:, 0])) + X[:, 1] * (X[:, 2] == 1)


def twin_features(model, X):
    """Features whose inner products are the kernel values, from its eigenvectors."""
    similar, rate = laplacian_kernel, model.rate_
    if "gamma" in model.kernel_:
        similar, rate = rbf_kernel, model.rate_
    values, vectors = np.linalg.eigh(similar(model.landmarks_, gamma=rate))
    values += kernel._JITTER
    return similar(model._encoded(X), model.landmarks_, rate) @ vectors / np.sqrt(values)


@pytest.mark.parametrize("landmarks", [1000, 40])
@pytest.mark.parametrize("gamma", [0.5, None])
def test_kernel_members_are_ridge_regression_on_features(monkeypatch, gamma, landmarks):
    for categorical in [NONE, CATEGORY]:
        monkeypatch.setattr(kernel, "_LANDMARKS", landmarks)
        X, new = table(150, 0), table(50, 1)
        y, weight = smooth(X), np.random.default_rng(0).uniform(0.5, 2, 150)
        model = KernelRegressor(categorical, gamma, random_state=0).fit(X, y, weight)
        assert len(model.landmarks_) == min(landmarks, 150)
        features = twin_features(model, X)
        chosen = RidgeCV(kernel._PENALTIES).fit(features, y[:, None], weight)
        expected = chosen.predict(twin_features(model, new))
        np.testing.assert_allclose(model.predict(new), expected.reshape(-1, 1), atol=1e-5)
        again = Ridge(chosen.alpha_).fit(features, y, weight)
        np.testing.assert_allclose(
            model.predict(new)[:, 0], again.predict(twin_features(model, new)), atol=1e-5
        )


@pytest.mark.parametrize("n_classes", [2, 3])
def test_probabilities_are_calibrated(monkeypatch, n_classes):
    monkeypatch.setattr(KernelClassifier, "_n_penalty_rows", 500)
    exponents = []
    for seed in range(5):
        X, new = table(500, 2 * seed), table(2000, 2 * seed + 1)
        noise = np.random.default_rng(seed).normal(size=2500) * 0.5
        values = np.concatenate([smooth(X), smooth(new)]) + noise
        labels = np.digitize(values, [0, 1] if n_classes == 3 else [0])
        y, y_new = labels[:500] + 10, labels[500:]
        model = KernelClassifier(CATEGORY, 0.25, random_state=0).fit(X, y)
        probabilities = model.predict_proba(new)
        np.testing.assert_allclose(probabilities.sum(axis=1), 1)
        exponents.append(fit_exponent(probabilities, y_new))
        prior = np.tile(np.bincount(labels[:500]) / 500, (2000, 1))
        assert log_losses(probabilities, y_new).mean() < 0.8 * log_losses(prior, y_new).mean()
        np.testing.assert_array_equal(
            model.predict(new), model.classes_[probabilities.argmax(axis=1)]
        )
    assert 0.9 < np.exp(np.log(exponents).mean()) < 1.1  # of one draw .8 to 1.3


@pytest.mark.parametrize("n_outputs", [2, 3])
@pytest.mark.parametrize("weighted", [False, True])
def test_leave_one_out_predictions(n_outputs, weighted):
    rng = np.random.default_rng(0)
    features, values = rng.normal(size=(30, 12)), rng.normal(size=(30, n_outputs)) + 1
    weight = rng.uniform(0.5, 2, 30) if weighted else None
    best = kernel._leave_one_out(features, values, weight, [0.3])
    assert best.penalty == 0.3
    shares = np.ones(30) if weight is None else weight
    assert np.isclose(best.error, np.sum(shares[:, None] * (values - best.predictions) ** 2))
    for row in range(30):
        is_other = np.arange(30) != row
        train_weight = weight[is_other] if weighted else None
        twin = Ridge(0.3).fit(features[is_other], values[is_other], train_weight)
        np.testing.assert_allclose(
            best.predictions[row], twin.predict(features[[row]])[0], atol=1e-9
        )


def test_rows_with_tiny_weights_have_no_effect():
    for least in [1e-300, 1e-18, 1e-13, 1e-12, 1e-11, 1e-9]:
        for n_heavy in [1, 2, 5]:
            rng = np.random.default_rng(0)
            X, values = rng.normal(size=(10, 3)), rng.normal(size=10)
            heavy = np.arange(10) < n_heavy
            weight = np.where(heavy, 1.0, least)
            for kind, y in ((KernelClassifier, np.arange(10) % 2), (KernelRegressor, values)):
                model = kind(np.zeros(3, bool), gamma=0.5, random_state=0).fit(X, y, weight)
                predicted = (
                    model.predict_proba(X) if kind is KernelClassifier else model.predict(X)
                )
                assert np.isfinite(predicted).all()
                assert len(model.landmarks_) == (n_heavy if least <= 1e-12 else 10)


@pytest.mark.parametrize("weighted", [False, True])
def test_several_outputs_share_a_kernel(weighted):
    """A single output is unchanged; several have separate functions and common parameters."""
    X = table(120, 0)
    y = np.stack([smooth(X) > 0, np.digitize(smooth(X), [-0.5, 0.7]), X[:, 1] > 0], axis=1) * 1
    weight = np.random.default_rng(1).uniform(1, 2, 120) if weighted else None
    options = {"categorical": CATEGORY, "random_state": 0}
    alone = KernelClassifier(**options).fit(X, y[:, 1], weight)
    same = KernelClassifier(**options, n_classes=[3]).fit(X, y[:, 1:2], weight)
    np.testing.assert_array_equal(alone.predict_proba(X), same.predict_proba(X))
    several = KernelClassifier(**options, n_classes=[2, 4, 2]).fit(X, y, weight)
    parts = np.split(several.predict_proba(X), [2, 6], axis=1)
    for part, own in zip(parts, y.T, strict=True):
        np.testing.assert_allclose(part.sum(axis=1), 1)
        assert np.mean(part.argmax(axis=1) == own) > 0.9
        single_output = (
            KernelClassifier(**options).set_params(**several.chosen()).fit(X, own, weight)
        )
        single_output.scale_ = several.scale_
        result = single_output.predict_proba(X)
        if part.shape[1] == result.shape[1]:
            np.testing.assert_allclose(part, result, atol=1e-9)
