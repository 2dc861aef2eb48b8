import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mddf.baselines import GCForestClassifier
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.ensemble import RandomForestClassifier as ScikitForest

from mddf import (
    MDDFClassifier,
    RandomForestClassifier,
)
from mddf.analysis import diversity, error_ambiguity, layer_diversity


@given(st.integers(0, 10**6), st.booleans(), st.booleans())
@settings(max_examples=30, deadline=None)
def test_error_is_mean_error_minus_ambiguity(seed, weighted, vectors):
    random = np.random.default_rng(seed)
    shape = (4, 9, 3) if vectors else (4, 9)
    predictions = random.normal(size=shape)
    targets = random.normal(size=shape[1:])
    weights = random.random(4) if weighted else None
    rows = random.random(9) if weighted else None
    parts = error_ambiguity(predictions, targets, weights=weights, sample_weight=rows)
    assert parts.error == pytest.approx(parts.mean_error - parts.ambiguity)
    # In plain Python.
    w = np.ones(4) / 4 if weights is None else weights / weights.sum()
    r = np.ones(9) / 9 if rows is None else rows / rows.sum()
    error = ambiguity = 0.0
    for i in range(9):
        mean = sum(w[k] * predictions[k, i] for k in range(4))
        error += r[i] * np.sum((mean - targets[i]) ** 2)
        ambiguity += r[i] * sum(w[k] * np.sum((predictions[k, i] - mean) ** 2) for k in range(4))
    assert parts.error == pytest.approx(error)
    assert parts.ambiguity == pytest.approx(ambiguity)
    assert w @ parts.member_error == pytest.approx(parts.mean_error)
    assert w @ parts.member_ambiguity == pytest.approx(parts.ambiguity)


def random_vectors(seed, n_members, n_samples=30, n_classes=3):
    random = np.random.default_rng(seed)
    labels = random.integers(0, n_classes, n_samples)
    scores = random.dirichlet(np.ones(n_classes), size=(n_members, n_samples))
    scores[:, np.arange(n_samples), labels] += 0.2
    return scores / scores.sum(axis=2, keepdims=True), labels


@given(st.integers(0, 10**6), st.integers(2, 5))
@settings(max_examples=20, deadline=None)
def test_measures_in_plain_python(seed, n_members):
    probabilities, labels = random_vectors(seed, n_members)
    got = diversity(probabilities, labels)
    predicted = probabilities.argmax(axis=2)
    right = predicted == labels
    pairs = list(itertools.combinations(range(n_members), 2))
    assert got.disagreement == pytest.approx(
        np.mean([np.mean(predicted[a] != predicted[b]) for a, b in pairs])
    )
    oracle = np.mean([np.mean(right[a] != right[b]) for a, b in pairs])
    assert got.oracle_disagreement == pytest.approx(oracle)
    assert got.double_fault == pytest.approx(
        np.mean([np.mean(~right[a] & ~right[b]) for a, b in pairs])
    )
    q, phi = [], []
    for a, b in pairs:
        n11, n00 = np.sum(right[a] & right[b]), np.sum(~right[a] & ~right[b])
        n10, n01 = np.sum(right[a] & ~right[b]), np.sum(~right[a] & right[b])
        if n11 * n00 + n01 * n10:
            q.append((n11 * n00 - n01 * n10) / (n11 * n00 + n01 * n10))
        if 0 < right[a].mean() < 1 and 0 < right[b].mean() < 1:
            phi.append(np.corrcoef(right[a], right[b])[0, 1])
    assert got.q_statistic == pytest.approx(np.mean(q))
    assert got.correlation == pytest.approx(np.mean(phi))
    accuracy = right.mean()
    share = right.mean(axis=0)
    variance = np.mean(share * (1 - share))
    assert got.kohavi_wolpert_variance == pytest.approx(variance)
    assert variance == pytest.approx((n_members - 1) / (2 * n_members) * oracle)
    kappa = 1 - oracle / (2 * accuracy * (1 - accuracy))
    assert got.kappa == pytest.approx(kappa)
    n_right = right.sum(axis=0)
    largest = n_members - int(np.ceil(n_members / 2))
    entropy = np.mean(np.minimum(n_right, n_members - n_right)) / largest
    assert got.entropy == pytest.approx(entropy)
    np.testing.assert_allclose(got.member_accuracy, right.mean(axis=1))
    right = probabilities.mean(axis=0).argmax(axis=1) == labels
    assert got.accuracy == pytest.approx(right.mean())


def test_weights_count_as_copies():
    probabilities, labels = random_vectors(0, 3)
    weight = np.arange(30) % 3
    weighted = diversity(probabilities, labels, sample_weight=weight).summary()
    copies = np.repeat(np.arange(30), weight)
    copied = diversity(probabilities[:, copies], labels[copies]).summary()
    assert weighted == pytest.approx(copied)


@pytest.fixture(scope="module")
def iris():
    X, codes = load_iris(return_X_y=True)
    return X, np.array(["setosa", "versicolor", "virginica"])[codes]


SMALL = {"n_estimators": 4, "n_layers": 3, "random_state": 0}


@pytest.mark.parametrize(("Model", "n_forests"), [(MDDFClassifier, 4), (GCForestClassifier, 8)])
def test_layers_of_a_cascade(Model, n_forests, iris):
    X, y = iris
    model = Model(**SMALL, early_stopping=False)
    model = model.fit(X[::2], y[::2])
    layers = layer_diversity(model, X[1::2], y[1::2], n_jobs=2)
    assert len(layers) == 3
    codes = np.searchsorted(model.classes_, y[1::2])
    truth = np.eye(3)[codes]
    # After one layer, the cascade predicts the mean over the forests of the first layer.
    first = next(model.staged_predict_proba(X[1::2]))
    error = np.mean(((first - truth) ** 2).sum(axis=1))
    assert layers[0].decomposition.error == pytest.approx(error, abs=1e-9)
    for layer in layers:
        parts = layer.decomposition
        assert parts.error == pytest.approx(parts.mean_error - parts.ambiguity)
        assert len(layer.member_accuracy) == len(parts.member_error) == n_forests


@pytest.mark.parametrize("Forest", [RandomForestClassifier, ScikitForest])
def test_trees_of_a_forest(Forest):
    X, y = load_breast_cancer(return_X_y=True)
    forest = Forest(6, random_state=0).fit(X[::2], y[::2])
    (trees,) = layer_diversity(forest, X[1::2], y[1::2])
    probabilities = forest.predict_proba(X[1::2])
    truth = np.eye(2)[y[1::2]]
    error = np.mean(((probabilities - truth) ** 2).sum(axis=1))
    assert trees.decomposition.error == pytest.approx(error)
    assert trees.accuracy == pytest.approx(forest.score(X[1::2], y[1::2]), abs=0.02)
    assert 0 < trees.disagreement < 0.5
