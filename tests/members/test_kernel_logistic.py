"""Logistic regression on features of a kernel."""

import numpy as np
import pytest
from naive_votes import log_losses
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.metrics.pairwise import rbf_kernel

from mddf import DeepForestClassifier
from mddf._members import kernel_logistic
from mddf._members.kernel_logistic import KernelLogisticClassifier

NONE = np.zeros(3, bool)
CATEGORY = np.array([False, False, True])


def table(n, seed):
    X = np.random.default_rng(seed).normal(size=(n, 3))
    X[:, 2] = np.random.default_rng(seed).integers(0, 4, n)
    X[::7, 0] = np.nan
    return X


def labels(X, n_classes=2):
    values = np.sin(np.nan_to_num(X[:, 0])) + X[:, 1] * (X[:, 2] == 1)
    values += np.random.default_rng(len(X)).normal(size=len(X)) * 0.3
    return np.digitize(values, [0, 0.8, 1.5][: n_classes - 1])


def twin_features(model, X):
    """Features whose inner products are the kernel's values, by its eigenvectors."""
    values, vectors = np.linalg.eigh(rbf_kernel(model.landmarks_, gamma=model.rate_))
    similar = rbf_kernel(model._encoded(X), model.landmarks_, model.rate_)
    return similar @ vectors / np.sqrt(values + kernel_logistic._JITTER)


@pytest.mark.parametrize("n_landmarks", [300, 40])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_it_is_logistic_regression_on_features(monkeypatch, n_landmarks, n_classes):
    """The twin starts from no shares of classes, but has an intercept without a penalty."""
    for categorical in [NONE, CATEGORY]:
        for weighted in [False, True]:
            monkeypatch.setattr(kernel_logistic, "_LANDMARKS", n_landmarks)
            monkeypatch.setattr(kernel_logistic, "_TOLERANCE", 1e-8)
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
