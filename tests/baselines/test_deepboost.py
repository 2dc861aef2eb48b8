import pickle

import naive_boosting as naive
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mddf.baselines import AdaBoostClassifier, DeepBoostClassifier
from mddf.baselines._boosting.complexity import (
    complexity_table,
    reference_complexity,
    stump_complexity,
    tree_complexity,
)
from mddf.baselines._boosting.losses import LOSSES
from mddf.baselines._boosting.steps import exact_step, majorizer_step
from scipy.special import expit
from sklearn.datasets import load_breast_cancer

TOY_X = np.array([[1, 0.1, 11], [3, 0.3, 11], [5, 0.4, 11], [2, 0.2, 22], [4, 0.5, 11]])
TOY_Y = np.array([1, 1, 1, -1, -1])
NOT_AND_X = np.array([[0, 0], [0, 1], [1, 0], [1, 1]] * 2, dtype=float)
NOT_AND_Y = np.array([1, 1, 1, -1] * 2)
REFERENCE = {"search": "greedy", "complexity": "reference"}
seeds = st.integers(0, 2**32 - 1)


def sample(seed, n=30, d=3):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 6, size=(n, d)).astype(float)
    y = np.where((X[:, 0] > 2) ^ (X[:, 1] > 3) ^ (rng.random(n) < 0.2), 1, -1)
    y[:2] = [-1, 1]
    return X, y


# The facts of the tests of github.com/google/deepboost


def test_fact_first_split():
    model = DeepBoostClassifier(1, beta=0, lambda_=0, max_depth=1, **REFERENCE).fit(TOY_X, TOY_Y)
    tree = model.ensembles_[0].learners[0]
    assert tree.feature[0] == 1
    assert tree.threshold[0] == pytest.approx(0.45)  # above .4
    assert tree.gain[0] / 2 == pytest.approx(0.2)  # error .4 -> .2
    alone = DeepBoostClassifier(1, beta=0, lambda_=0, max_depth=1, **REFERENCE)
    alone.fit(TOY_X[:, :1], TOY_Y)
    assert alone.ensembles_[0].learners[0].size == 1  # feature a gains nothing
    deep = DeepBoostClassifier(1, beta=0, lambda_=0, max_depth=2, **REFERENCE).fit(TOY_X, TOY_Y)
    assert deep.history_["tree_size"].tolist() == [5]
    assert deep.history_["weighted_error"].tolist() == [0]


def test_fact_penalty():
    half = (1 * reference_complexity(10, 5, 3) + 1) * 5 / 5 / 2
    assert half == pytest.approx(2.48087078, abs=5e-9)


@pytest.mark.parametrize(
    ("loss", "errors", "steps"),
    [
        ("exponential", [0.2, 0.125], [0.693147, 0.972955]),
        ("logistic", [0.2, 0.182946], [0.693147, 0.748256]),
    ],
)
def test_fact_stump_rounds(loss, errors, steps):
    model = DeepBoostClassifier(2, loss=loss, beta=0, lambda_=0, max_depth=1).fit(TOY_X, TOY_Y)
    np.testing.assert_allclose(model.history_["weighted_error"], errors, atol=5e-7)
    np.testing.assert_allclose(model.history_["step"], steps, atol=5e-7)
    assert model.score(TOY_X, TOY_Y) == 0.8


def test_fact_strong_penalty_leaves_nothing():
    for params in [{"beta": 100, "lambda_": 0}, {"beta": 0, "lambda_": 100}]:
        for search in ["greedy", "layerwise"]:
            for loss in ["exponential", "logistic"]:
                model = DeepBoostClassifier(loss=loss, search=search, **params).fit(TOY_X, TOY_Y)
                assert model.n_iter_ == 0
                assert model.predict(TOY_X).tolist() == [1] * 5


def test_fact_not_and():
    model = DeepBoostClassifier(
        2, loss="logistic", max_depth=5, beta=0.1, lambda_=0.00125, **REFERENCE
    ).fit(NOT_AND_X, NOT_AND_Y)
    assert model.history_["tree_size"].tolist() == [1, 5]  # mean 3 over 2 trees
    errors = [np.mean(p != NOT_AND_Y) for p in model.staged_predict(NOT_AND_X)]
    assert errors == [0.25, 0]


def test_fact_empty_vote():
    start = {name: loss.value(np.ones(3)).mean() for name, loss in LOSSES.items()}
    assert start["exponential"] == pytest.approx(np.e)
    assert start["logistic"] == pytest.approx(1.8946, abs=5e-5)


# Invariants


@given(
    seeds,
    st.sampled_from(["exponential", "logistic"]),
    st.sampled_from([0, 1e-4, 0.02, 0.1]),
    st.sampled_from([0, 1e-4, 0.02]),
    st.sampled_from(
        [{"max_depth": 1}, {"max_depth": 3}, {"search": "greedy"}, {"hypotheses": "stumps"}]
    ),
    st.sampled_from(["majorizer", "exact"]),
)
@settings(max_examples=120, deadline=None)
def test_objective_never_rises_and_matches_its_definition(seed, loss, beta, lambda_, params, step):
    X, y = sample(seed)
    model = DeepBoostClassifier(15, loss=loss, beta=beta, lambda_=lambda_, step=step, **params)
    model.fit(X, y)
    start = np.e if loss == "exponential" else np.log2(1 + np.e)
    objective = np.concatenate([[start], model.history_["objective"]])
    assert (np.diff(objective) <= 1e-12).all()
    ensemble = model.ensembles_[0]
    sizes = ensemble.learners.sizes
    if "hypotheses" in params:
        sizes = 1 + (sizes > 3)
    complexity = complexity_table(
        "paper",
        params.get("hypotheses", "trees"),
        max_depth=model.max_depth,
        n_rows=len(y),
        n_samples=len(y),
        n_features=X.shape[1],
    )
    cost = lambda_ * complexity[sizes] + beta
    for t, f in enumerate(model.staged_decision_function(X)):
        risk = LOSSES[loss].value(1 - y * f).mean()
        penalty = cost @ abs(ensemble.weights(t + 1))
        assert risk + penalty == pytest.approx(objective[t + 1], rel=1e-9)


@pytest.mark.parametrize("max_depth", [1, 2, 4])
def test_without_penalties_it_is_adaboost(max_depth):
    X, y = load_breast_cancer(return_X_y=True)
    weight = np.random.default_rng(0).integers(1, 4, len(y))
    ours = DeepBoostClassifier.named("AdaBoost", max_depth=max_depth).fit(X, y, weight)
    ada = AdaBoostClassifier(max_depth=max_depth).fit(X, y, weight)
    np.testing.assert_allclose(ours.estimator_weights_, ada.estimator_weights_, rtol=1e-9)
    np.testing.assert_array_equal(ours.history_["tree_size"], ada.history_["tree_size"])
    np.testing.assert_array_equal(ours.predict(X), ada.predict(X))


@given(seeds, st.booleans(), st.sampled_from([1e-3, 0.02, 0.08]))
@settings(max_examples=40, deadline=None)
def test_depth_one_follows_the_pseudocode_of_the_paper(seed, logistic, beta):
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(20, 2)), rng.choice([-1, 1], 20)
    y[:2] = [-1, 1]
    weight = 20 * rng.dirichlet(np.ones(20))  # so that no two learners have equal errors
    H = np.vstack([np.ones((1, 20)), [votes for *_, votes in naive.all_stumps(X)]])
    cost = beta + 0.01 * np.array(
        [tree_complexity(3 - 2 * (j == 0), 20, 2) for j in range(len(H))]
    )
    expected = naive.deepboost(H, y, weight / 20, cost, 15, logistic)
    loss = "logistic" if logistic else "exponential"
    model = DeepBoostClassifier(15, loss=loss, beta=beta, lambda_=0.01, max_depth=1)
    model.fit(X, y, weight)
    assert model.n_iter_ == len(expected)
    for ours, theirs in zip(model.staged_decision_function(X), expected, strict=True):
        np.testing.assert_allclose(ours, theirs, atol=1e-8)


@pytest.mark.parametrize("loss", ["exponential", "logistic"])
def test_depth_one_converges_to_the_minimum_over_all_stumps(loss):
    """At the end no stump decreases F: the subgradient conditions of equation 4 hold."""
    X, y = sample(5, n=60)
    model = DeepBoostClassifier(
        3000, loss=loss, beta=0.02, lambda_=0.01, max_depth=1, step="exact"
    ).fit(X, y)
    f = model.decision_function(X)
    slope = LOSSES[loss].derivative(1 - y * f) * y / len(y)
    cost = 0.01 * tree_complexity(3, 60, 3) + 0.02
    for *_, votes in naive.all_stumps(X):
        assert abs(slope @ votes) <= cost + 1e-6
    ensemble = model.ensembles_[0]
    values, alpha = ensemble.learners.values(X), ensemble.weights()
    for votes, weight, size in zip(values, alpha, ensemble.learners.sizes, strict=True):
        if weight != 0:
            own = 0.01 * tree_complexity(size, 60, 3) + 0.02
            assert slope @ votes == pytest.approx(np.sign(weight) * own, abs=1e-5)


@given(seeds, st.sampled_from([0.0, 0.05, 0.4]), st.floats(-1.5, 1.5))
@settings(max_examples=80, deadline=None)
def test_steps_minimise(seed, cost, alpha):
    rng = np.random.default_rng(seed)
    m = 20
    u, weight = rng.normal(size=m), rng.dirichlet(np.ones(m))
    agreement = rng.choice(np.array([-1, 1], dtype=np.int8), m)
    agreement[:2] = [-1, 1]
    grid = np.linspace(-8, 8, 401)
    for name, loss in LOSSES.items():

        def objective(eta, loss=loss):
            return weight @ loss.value(u - eta * agreement) + cost * abs(alpha + eta)

        step = exact_step(loss, u, weight, agreement, alpha=alpha, cost=cost)
        assert objective(step) <= min(map(objective, [*grid, -alpha])) + 1e-12
        slope = weight * loss.derivative(u)
        error = slope[agreement < 0].sum() / slope.sum()
        short = majorizer_step(error, alpha, cost / slope.sum())
        assert objective(short) <= objective(0.0) + 1e-12
        if name == "exponential":
            assert short == pytest.approx(step, abs=1e-8)


def test_complexities():
    assert stump_complexity(1, 100, 5) == pytest.approx(np.sqrt(2 * np.log(1000) / 100))
    assert stump_complexity(2, 100, 5) == pytest.approx(np.sqrt(2 * np.log(2e4 * 20) / 100))
    assert stump_complexity(1, 0.01, 1) == 0
    assert tree_complexity(3, 7, 2) == pytest.approx(np.sqrt(14 * 2 * np.log(8) / 7))
    assert reference_complexity(3, np.e, 2) == pytest.approx(np.sqrt(7 * 2 / np.e))
    table = complexity_table(
        lambda n, m, d: n * d, "trees", max_depth=2, n_rows=100, n_samples=50.0, n_features=3
    )
    assert table.tolist() == [0, 3, 6, 9, 12, 15, 18, 21]
    assert (
        len(complexity_table("paper", "trees", max_depth=60, n_rows=5, n_samples=5, n_features=3))
        == 10
    )
    assert complexity_table(
        lambda n, m, d: n, "stumps", max_depth=4, n_rows=9, n_samples=9, n_features=3
    ).tolist() == [0, 3, 7]
    for wrong in (-1, np.inf, np.nan, "much"):
        with pytest.raises(ValueError, match=f"complexity must return .* >= 0; got {wrong!r}"):
            complexity_table(
                lambda n, m, d, wrong=wrong: wrong,
                "trees",
                max_depth=2,
                n_rows=100,
                n_samples=50.0,
                n_features=3,
            )


@pytest.mark.parametrize("loss", ["exponential", "logistic"])
def test_probability_inverts_the_minimiser(loss):
    phi = LOSSES[loss]
    f = np.linspace(-6, 6, 240001)
    for p in (0.1, 0.5, 0.8):
        best = f[np.argmin(p * phi.value(1 - f) + (1 - p) * phi.value(1 + f))]
        assert expit(phi.log_odds(best)) == pytest.approx(p, abs=1e-4)


class SquaredHinge:
    """Phi(u) = max(u, 0)^2, which is flat for margins above 1."""

    def value(self, u):
        return np.maximum(u, 0) ** 2

    def derivative(self, u):
        return 2 * np.maximum(u, 0)


@pytest.mark.parametrize("name", ["exponential", "logistic"])
def test_loss_as_an_object_agrees_with_its_name(name):
    class Own:
        value = staticmethod(LOSSES[name].value)
        derivative = staticmethod(LOSSES[name].derivative)

    X, y = sample(3, n=60)
    named = DeepBoostClassifier(12, loss=name, max_depth=2, step="exact").fit(X, y)
    own = DeepBoostClassifier(12, loss=Own(), max_depth=2).fit(X, y)
    np.testing.assert_allclose(own.decision_function(X), named.decision_function(X), atol=1e-7)
    np.testing.assert_allclose(own.predict_proba(X), named.predict_proba(X), atol=1e-7)


def test_squared_hinge_loss():
    """F never increases, and the minimiser of the squared hinge loss is f = 2 p - 1."""
    X, y = sample(5, n=60)
    model = DeepBoostClassifier(50, loss=SquaredHinge(), max_depth=2).fit(X, y)
    assert (np.diff(model.history_["objective"]) <= 1e-12).all()
    p = np.clip((1 + model.decision_function(X)) / 2, 0, 1)
    np.testing.assert_allclose(model.predict_proba(X)[:, 1], p, atol=1e-12)
    copy = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(copy.predict_proba(X), model.predict_proba(X))
    separable = DeepBoostClassifier(50, loss=SquaredHinge(), beta=0, lambda_=0)
    assert separable.fit([[0], [1], [2], [3]], [0, 0, 1, 1]).score([[0], [3]], [0, 1]) == 1
    three = np.digitize(X[:, 0], np.quantile(X[:, 0], [0.3, 0.6]))
    assert DeepBoostClassifier(9, loss=SquaredHinge()).fit(X, three).score(X, three) > 0.9


def test_losses_that_are_refused():
    class Falling(SquaredHinge):
        def derivative(self, u):
            return -np.ones_like(u)

    class Scalar(SquaredHinge):
        def derivative(self, u):
            return 1.0

    X, y = sample(0, n=20)
    for loss, message in [
        (SquaredHinge, "loss must not be a class"),
        (Falling(), r"loss.derivative must not be negative.* got -1\.0"),
        (Scalar(), r"loss.derivative must return a finite number .* \(20,\); got 1\.0"),
        (abs, "'loss' parameter"),
    ]:
        with pytest.raises(ValueError, match=message):
            DeepBoostClassifier(loss=loss).fit(X, y)
