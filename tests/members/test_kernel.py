"""Kernel members: ridge regression on features of a kernel."""

import numpy as np
import pytest
from naive_votes import fit_exponent, log_losses
from sklearn.base import clone
from sklearn.linear_model import Ridge, RidgeCV
from sklearn.metrics.pairwise import laplacian_kernel, rbf_kernel

from mddf._members import kernel, scores
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
@pytest.mark.parametrize("categorical", [NONE, CATEGORY], ids=["numbers", "a category"])
@pytest.mark.parametrize("gamma", [0.5, None])
def test_kernel_members_are_ridge_regression_on_features(
    monkeypatch, gamma, landmarks, categorical
):
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


def test_many_rows_are_sampled_and_predicted_in_blocks(monkeypatch):
    X, new = table(400, 0), table(100, 1)
    y = np.column_stack([smooth(X), X[:, 1]])
    for name, value in {"MOST_ROWS": 300, "_LANDMARKS": 100, "_BLOCK": 48}.items():
        monkeypatch.setattr(kernel, name, value)
    monkeypatch.setattr(KernelRegressor, "_n_penalty_rows", 80)
    model = KernelRegressor(CATEGORY, 0.5, random_state=0).fit(X, y)
    predicted = model.predict(new)
    assert predicted.shape == (100, 2)
    assert np.corrcoef(predicted[:, 0], smooth(new))[0, 1] > 0.95
    monkeypatch.setattr(kernel, "_BLOCK", 1000)
    np.testing.assert_array_equal(model.predict(new), predicted)
    np.testing.assert_array_equal(clone(model).fit(X, y).predict(new), model.predict(new))


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


def test_equal_rows_and_empty_columns():
    X = np.repeat(table(5, 0), 20, axis=0)
    X[:, 1] = np.nan
    y = np.arange(100) % 2
    probabilities = KernelClassifier(CATEGORY, 0.25, random_state=0).fit(X, y).predict_proba(X)
    np.testing.assert_allclose(probabilities, 0.5, atol=0.05)


@pytest.mark.parametrize("n", [1, 2, 3])
def test_few_rows(n):
    X = table(n, 0)
    assert np.isfinite(KernelRegressor(NONE, 0.5).fit(X, np.arange(n)).predict(X)).all()
    if n > 1:
        probabilities = KernelClassifier(NONE, 0.5).fit(X, np.arange(n)).predict_proba(X)
        assert np.isfinite(probabilities).all()


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


def test_the_kernel_with_the_least_leave_one_out_error_is_taken():
    X, y = table(60, 0), smooth(table(60, 0))[:, None]
    result = KernelRegressor(CATEGORY, random_state=0).fit(X, y)
    errors = []
    for options in KernelRegressor._kernels:
        fitted_kernel = KernelRegressor(CATEGORY, **options, random_state=0).fit(X, y)
        encoded = fitted_kernel._encoded(X)
        twin_kernel = rbf_kernel if "gamma" in options else laplacian_kernel
        similar = twin_kernel(encoded, gamma=fitted_kernel.rate_)
        least = np.inf
        for penalty in kernel._PENALTIES:
            held_out = []
            for row in range(60):
                is_other = np.arange(60) != row
                among = similar[np.ix_(is_other, is_other)]
                centre = y[is_other].mean()
                twin = np.linalg.solve(among + penalty * np.eye(59), y[is_other] - centre)
                held_out.append((centre + similar[row, is_other] @ twin)[0])
            least = min(least, np.mean((np.array(held_out) - y[:, 0]) ** 2))
        errors.append(least)
    chosen = errors[KernelRegressor._kernels.index(result.kernel_)]
    assert chosen <= 1.02 * min(errors)  # the twin has no intercept beside the mean
    again = clone(result).set_params(**result.chosen()).fit(X, y)
    assert (again.kernel_, again.penalty_) == (result.kernel_, result.penalty_)
    np.testing.assert_array_equal(again.predict(X), result.predict(X))


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


@pytest.mark.parametrize("kind", ["width", "gamma"])
def test_both_methods_for_many_levels_predict_the_same(kind, monkeypatch):
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.integers(0, 120, (500, 2)), rng.normal(size=500)])
    y = np.isin(X[:, 0] % 7, [1, 2]) + 0.2 * X[:, 2]
    parameters = {"categorical": np.array([True, True, False]), kind: 1.0, "random_state": 0}
    by_levels = KernelRegressor(**parameters).fit(X, y).predict(X)
    monkeypatch.setattr(scores, "_MANY_LEVELS", np.inf)
    assert np.array_equal(by_levels, KernelRegressor(**parameters).fit(X, y).predict(X))
