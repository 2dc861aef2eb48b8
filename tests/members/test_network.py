"""Small networks as members: fits, supported tables, and independent rows."""

import limits
import naive_network
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import LinearRegression

from mddf._members.network import NetworkClassifier, NetworkRegressor
from mddf._members.scores import INDICATOR

CATEGORY = np.array([False, False, True])


def table(n, seed=0):
    """Two columns of numbers, some of them missing, and one of codes."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    X[:, 2] = rng.integers(0, 4, n)
    X[::7, 0] = np.nan
    return X


def product(X):
    return np.nan_to_num(X[:, 0]) * X[:, 1]


def answers(model, X):
    return model.predict_proba(X) if isinstance(model, NetworkClassifier) else model.predict(X)


def fitted(kind, X, y, weight=None, **options):
    categorical = np.zeros(X.shape[1], bool)
    return kind(**{"categorical": categorical, "random_state": 0, **options}).fit(X, y, weight)


def targets(kind, signal):
    return (signal > np.median(signal)).astype(int) if kind is NetworkClassifier else signal


KINDS = pytest.mark.parametrize("kind", [NetworkClassifier, NetworkRegressor])


# What they learn


def test_numbers_that_are_not_linear():
    X, new = np.random.default_rng(0).normal(size=(2, 600, 3))
    model = fitted(NetworkRegressor, X, X[:, 0] * X[:, 1])
    y = new[:, 0] * new[:, 1]
    linear = LinearRegression().fit(X, X[:, 0] * X[:, 1]).predict(new)
    assert np.mean((model.predict(new)[:, 0] - y) ** 2) < 0.1 * np.mean((linear - y) ** 2)


@KINDS
@pytest.mark.parametrize("factor", [0.1, 3.0])
def test_weights_count_by_their_ratios(kind, factor):
    X = table(150)
    y, weight = targets(kind, product(X)), np.random.default_rng(1).uniform(0.1, 1, 150)
    same = np.array_equal if kind is NetworkClassifier else np.allclose
    for given_ in (np.ones(150), weight):
        before = None if given_ is not weight else weight
        expected, result = (fitted(kind, X, y, w) for w in (before, factor * given_))
        assert same(answers(result, X), answers(expected, X))


@KINDS
def test_rows_with_tiny_weights_have_no_effect(kind):
    for least in [1e-300, 1e-13, 0.0]:
        X, few = table(80), np.arange(80) < 60
        other = 1e30 if kind is NetworkRegressor else 1
        y = np.where(few, targets(kind, product(X)), other)
        weight = np.where(few, np.random.default_rng(0).uniform(1, 2, 80), least)
        model = fitted(kind, X, y, weight, categorical=CATEGORY)
        expected = fitted(kind, X[few], y[few], weight[few], categorical=CATEGORY)
        assert np.array_equal(answers(model, X), answers(expected, X))


# Tables of all kinds


# What is computed


@KINDS
def test_predictions_are_means_of_networks_on_normal_scores(kind):
    X, new = table(90), table(40, 1)
    X[::9, 2] = new[::8, 2] = np.nan
    signal = product(X)
    y = np.column_stack([signal, 1e5 * X[:, 1]]) if kind is NetworkRegressor else signal > 0
    model = fitted(kind, X, y, categorical=CATEGORY)
    scores = model.encoding_.dense(new)
    indicators = np.column_stack([np.isnan(new[:, 2]), new[:, 2:] == np.arange(4)]).astype(float)
    assert np.array_equal(scores[:, 2:], INDICATOR * indicators)
    encoded = np.column_stack([scores[:, :2], indicators, np.isnan(new[:, 0])])
    outputs = []
    for i in range(4):
        layers = [(w[i], b[i]) for w, b in zip(model.weights_, model.biases_, strict=True)]
        outputs.append(naive_network.ask(layers, encoded))
    if kind is NetworkClassifier:
        expected = np.mean([naive_network.softmax(sums) for sums in outputs], axis=0)
    else:
        scaled = np.array(outputs) * y.std(axis=0) + y.mean(axis=0)
        expected = scaled.clip(y.min(axis=0), y.max(axis=0)).mean(axis=0)
    np.testing.assert_allclose(answers(model, new), expected, rtol=1e-11, atol=1e-11)


@KINDS
def test_rows_are_predicted_independently(kind, monkeypatch):
    for n_networks in [1, 4, 11]:
        X, new = table(80), table(50, 1)
        y = targets(kind, product(X))
        model = fitted(kind, X, y, categorical=CATEGORY, n_networks=n_networks)
        result = answers(model, new)
        alone = [answers(model, new[i : i + 1]) for i in range(50)]
        assert np.array_equal(np.vstack(alone), result)
        assert np.array_equal(answers(model, new[::-1]), result[::-1])
        assert np.array_equal(answers(model, np.asfortranarray(new)), result)
        limits.change(monkeypatch, rows_of_a_network=7)
        assert np.array_equal(answers(model, new), result)


# Of any table


@st.composite
def problems(draw):
    """A table, its categorical columns, a signal and weights."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    n, n_columns = draw(st.integers(1, 60)), draw(st.integers(1, 4))
    X = rng.normal(size=(n, n_columns)) * 10.0 ** draw(st.sampled_from([-300, 0, 100]))
    categorical = np.array([draw(st.booleans()) for _ in range(n_columns)])
    X[:, categorical] = rng.integers(0, draw(st.sampled_from([1, 3, 256])), (n, n_columns))[
        :, categorical
    ]
    X[rng.random(X.shape) < draw(st.sampled_from([0, 0.3, 1]))] = np.nan
    weight = 10.0 ** rng.uniform(-9, 9, n) if draw(st.booleans()) else None
    signal = rng.standard_cauchy(size=(n, draw(st.integers(1, 3))))
    return X, categorical, signal * 10.0 ** draw(st.sampled_from([-6, 0, 6])), weight


def with_far_rows(X):
    """The table with a row of extreme numbers and an empty row."""
    return np.vstack([X, np.full(X.shape[1], 1e150), np.full(X.shape[1], np.nan)])


@settings(max_examples=12, deadline=None)
@given(problems(), st.integers(1, 4))
def test_classes_of_any_table(problem, n_classes):
    X, categorical, signal, weight = problem
    y = np.argsort(np.argsort(signal[:, 0])) % n_classes - 5
    options = {"categorical": categorical, "n_networks": 2}
    new_rows = with_far_rows(X)
    result = fitted(NetworkClassifier, X, y, weight, **options).predict_proba(new_rows)
    assert result.shape == (len(new_rows), len(set(y)))
    assert (result >= 0).all()
    np.testing.assert_allclose(result.sum(axis=1), 1, rtol=1e-12)


@settings(max_examples=12, deadline=None)
@given(problems())
def test_numbers_of_any_table(problem):
    X, categorical, signal, weight = problem
    options = {"categorical": categorical, "n_networks": 2}
    new_rows = with_far_rows(X)
    result = fitted(NetworkRegressor, X, signal, weight, **options).predict(new_rows)
    assert result.shape == (len(new_rows), signal.shape[1])
    # Means of numbers within the range may be off by their last digit.
    room = 1e-15 * np.abs(signal).max(axis=0)
    assert (result >= signal.min(axis=0) - room).all()
    assert (result <= signal.max(axis=0) + room).all()
