"""Kernel members: ridge and logistic regression on features of a kernel."""

import limits
import numpy as np
import pytest
from naive_votes import fit_exponent, log_losses
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression, Ridge, RidgeCV
from sklearn.metrics.pairwise import laplacian_kernel, rbf_kernel

from mddf import DeepForestClassifier
from mddf._members import kernel, kernel_logistic
from mddf._members.kernel import KernelClassifier, KernelRegressor
from mddf._members.kernel_logistic import KernelLogisticClassifier

NONE = np.zeros(3, bool)
CATEGORY = np.array([False, False, True])


def table(n, seed):
    X = np.random.default_rng(seed).normal(size=(n, 3))
    X[:, 2] = np.random.default_rng(seed).integers(0, 4, n)
    X[::7, 0] = np.nan
    return X


def smooth(X):
    return np.sin(np.nan_to_num(X[:, 0])) + X[:, 1] * (X[:, 2] == 1)


def labels(X, n_classes=2):
    values = np.sin(np.nan_to_num(X[:, 0])) + X[:, 1] * (X[:, 2] == 1)
    values += np.random.default_rng(len(X)).normal(size=len(X)) * 0.3
    return np.digitize(values, [0, 0.8, 1.5][: n_classes - 1])


def twin_features(model, X):
    """Features whose inner products are the kernel values, from its eigenvectors."""
    is_gaussian = isinstance(model, KernelLogisticClassifier) or "gamma" in model.kernel_
    similar = rbf_kernel if is_gaussian else laplacian_kernel
    values, vectors = np.linalg.eigh(similar(model.landmarks_, gamma=model.rate_))
    values += kernel.JITTER
    return similar(model._encoded(X), model.landmarks_, model.rate_) @ vectors / np.sqrt(values)


@pytest.mark.parametrize("landmarks", [1000, 40])
@pytest.mark.parametrize("gamma", [0.5, None])
def test_kernel_members_are_ridge_regression_on_features(monkeypatch, gamma, landmarks):
    for categorical in [NONE, CATEGORY]:
        limits.change(monkeypatch, landmarks=landmarks)
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
    limits.change(monkeypatch, rows_of_penalties=500)
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
    penalty, error, predictions = kernel._leave_one_out(features, values, weight, [0.3])
    assert penalty == 0.3
    shares = np.ones(30) if weight is None else weight
    assert np.isclose(error, np.sum(shares[:, None] * (values - predictions) ** 2))
    for row in range(30):
        is_other = np.arange(30) != row
        train_weight = weight[is_other] if weighted else None
        twin = Ridge(0.3).fit(features[is_other], values[is_other], train_weight)
        np.testing.assert_allclose(predictions[row], twin.predict(features[[row]])[0], atol=1e-9)


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


# Logistic regression


@pytest.mark.parametrize("n_landmarks", [300, 40])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_kernel_logistic_members_are_logistic_regression_on_features(
    monkeypatch, n_landmarks, n_classes
):
    """The twin starts from no shares of classes, but has an intercept without a penalty."""
    for categorical in [NONE, CATEGORY]:
        for weighted in [False, True]:
            limits.change(monkeypatch, landmarks=n_landmarks, tolerance_of_kernel_logistic=1e-8)
            X, new = table(150, 0), table(50, 1)
            y = labels(X, n_classes)
            weight = np.random.default_rng(0).uniform(0.5, 2, 150) if weighted else None
            model = KernelLogisticClassifier(categorical, gamma=1.0, penalty=0.1, random_state=0)
            model.fit(X, y, weight)
            assert len(model.landmarks_) == min(n_landmarks, 150)
            twin = LogisticRegression(C=10.0, tol=1e-8, max_iter=5000)
            scaled_weight = None if weight is None else weight / weight.mean()
            twin.fit(twin_features(model, X), y, scaled_weight)
            expected = twin.predict_proba(twin_features(model, new))
            np.testing.assert_allclose(model.predict_proba(new), expected, atol=0.02)
            np.testing.assert_array_equal(
                model.predict(new), model.classes_[model.predict_proba(new).argmax(axis=1)]
            )


@pytest.mark.parametrize("n_classes", [2, 4])
def test_the_chosen_parameters_have_the_least_cross_validated_loss(n_classes):
    X = table(200, 0)
    y = labels(X, n_classes)
    model = KernelLogisticClassifier(CATEGORY, random_state=0).fit(X, y)
    order = np.random.RandomState(0).permutation(200)
    losses = {}
    for gamma in kernel_logistic._GAMMAS:
        candidate = KernelLogisticClassifier(CATEGORY, gamma, 1.0, random_state=0).fit(X, y)
        features = twin_features(candidate, X[order])
        for penalty in kernel_logistic._PENALTIES:
            loss = 0.0
            for fold in range(3):
                is_held_out = np.arange(200) % 3 == fold
                twin = LogisticRegression(C=1 / penalty, max_iter=2000)
                twin.fit(features[~is_held_out], y[order][~is_held_out])
                probabilities = twin.predict_proba(features[is_held_out])
                loss += log_losses(probabilities, y[order][is_held_out]).sum()
            losses[gamma, penalty] = loss
    assert losses[model.gamma_, model.penalty_] <= 1.02 * min(losses.values())
    again = clone(model).set_params(**model.chosen()).fit(X, y)
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))


def test_the_scale_of_weights_has_no_effect_and_light_rows_are_left_out():
    X = table(100, 0)
    weight = np.random.default_rng(0).integers(1, 4, 100).astype(float)
    model = KernelLogisticClassifier(CATEGORY, random_state=0).fit(X, labels(X), weight)
    scaled = clone(model).fit(X, labels(X), weight * 2.0**-30)
    np.testing.assert_array_equal(scaled.predict_proba(X), model.predict_proba(X))
    weight[::2] = 1e-300
    model.fit(X, labels(X), weight)
    assert len(model.landmarks_) == 50


@pytest.mark.parametrize("scale", [1e-100, 1e100])
def test_numbers_of_any_size(scale):
    X = np.nan_to_num(table(100, 0)) * scale
    y = labels(table(100, 0))
    probabilities = KernelLogisticClassifier(NONE, random_state=0).fit(X, y).predict_proba(X)
    assert log_losses(probabilities, y).mean() < 0.69


def test_first_fold_chooses_for_all_folds():
    X = table(120, 0)
    forest = DeepForestClassifier(
        1, members=["kernel-logistic"], cv=3, refit=False, random_state=0
    ).fit(X, labels(X))
    models = forest._fitted.stages[0].members[0].models
    assert len({(model.gamma_, model.penalty_) for model in models}) == 1
    assert models[0].gamma is None
    assert models[1].gamma == models[0].gamma_
