import naive_boosting as naive
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mddf.baselines import AdaBoostClassifier
from sklearn.datasets import load_breast_cancer

from mddf.analysis import adaboost_training_bounds

seeds = st.integers(0, 2**32 - 1)


def sample(seed, n=25, d=3):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 9, size=(n, d)).astype(float)
    y = np.where(X[:, 0] + rng.normal(scale=3, size=n) > 4, 1, -1)
    y[:2] = [-1, 1]
    return X, y


@given(seeds, st.sampled_from([{}, {"max_depth": 3}, {"weak_learners": "stumps"}]))
@settings(max_examples=60, deadline=None)
def test_loss_is_the_product_of_normalizers_and_bounds_the_error(seed, params):
    X, y = sample(seed)
    model = AdaBoostClassifier(20, **params).fit(X, y)
    if (model.history_["weighted_error"] <= 1e-10).any():
        return  # a perfect learner's error is rounded up, its weight cut
    loss = np.exp(-y * model.decision_function(X)).mean()
    product, exponential = adaboost_training_bounds(model.history_["weighted_error"])
    assert loss == pytest.approx(product, rel=1e-9)
    assert loss == pytest.approx(model.history_["objective"][-1], rel=1e-9)
    np.testing.assert_allclose(
        np.cumprod(model.history_["normalizer"]), model.history_["objective"], rtol=1e-9
    )
    assert np.mean(model.predict(X) != y) <= product <= exponential


@given(seeds)
@settings(max_examples=30, deadline=None)
def test_stumps_equal_the_textbook(seed):
    X, y = sample(seed)
    H = np.array([np.ones(len(y)), *(votes for *_, votes in naive.all_stumps(X))])
    D, f = np.full(len(y), 1 / len(y)), np.zeros(len(y))
    model = AdaBoostClassifier(8).fit(X, y)
    for stage, error in zip(
        model.staged_decision_function(X), model.history_["weighted_error"], strict=True
    ):
        errors = [min(D[h != y].sum(), D[h == y].sum()) for h in H]
        if min(errors) < 1e-9:
            return  # a perfect learner: its weight is a convention
        assert error == pytest.approx(min(errors), abs=1e-9)
        vote = np.sign(np.round(stage - f, 9))  # the model's own choice among ties
        assert D[vote != y].sum() == pytest.approx(min(errors), abs=1e-9)
        f += 0.5 * np.log((1 - min(errors)) / min(errors)) * vote
        np.testing.assert_allclose(stage, f, atol=1e-8)
        D *= np.exp(-0.5 * np.log((1 - min(errors)) / min(errors)) * y * vote)
        D /= D.sum()


def test_perfect_learner_ends_boosting_with_a_finite_weight():
    X = np.arange(6.0)[:, None]
    model = AdaBoostClassifier().fit(X, X[:, 0] > 2)
    assert model.n_iter_ == 1
    assert np.isfinite(model.estimator_weights_).all()
    np.testing.assert_array_equal(model.predict(X), X[:, 0] > 2)
    fixed = AdaBoostClassifier(weak_learners="stumps").fit(X, X[:, 0] > 2)
    np.testing.assert_allclose(fixed.decision_function(X), model.decision_function(X))


def test_learners_of_the_user():
    X, y = sample(3, n=60)
    rules = [lambda X: np.where(X[:, 0] > 4, 1, -1), lambda X: np.where(X[:, 1] > 3, 1, -1)]
    model = AdaBoostClassifier(10, weak_learners=rules).fit(X, y)
    other = AdaBoostClassifier(
        10, weak_learners=lambda X: np.column_stack([rule(X) for rule in rules])
    ).fit(X, y)
    np.testing.assert_array_equal(model.decision_function(X), other.decision_function(X))
    assert set(np.round(model.decision_function(X), 9)) <= set(
        np.round(np.add.outer(*[[a, -a] for a in model.estimator_weights_]).ravel(), 9)
    )
    assert not hasattr(model, "feature_importances_")
    with pytest.raises(ValueError, match=r"weak_learners must have values in \{-1, \+1\}; got \d"):
        AdaBoostClassifier(weak_learners=[lambda X: X[:, 0]]).fit(X, y)
    with pytest.raises(ValueError, match="one value per row"):
        AdaBoostClassifier(weak_learners=[lambda X: np.ones(3), rules[0]]).fit(X, y)
    with pytest.raises(ValueError, match="weak_learners must be callable; got 'x' among them"):
        AdaBoostClassifier(weak_learners=["x"]).fit(X, y)
    with pytest.raises(ValueError, match="weak_learners must return finite values; got nan"):
        AdaBoostClassifier(weak_learners=lambda X: X[:, :1] * np.nan).fit(X, y)


def test_many_rounds_do_not_underflow():
    X, y = load_breast_cancer(return_X_y=True)
    model = AdaBoostClassifier(3000).fit(X, y)
    assert np.isfinite(model.decision_function(X)).all()
    assert np.all(np.diff(model.history_["objective"]) <= 0)


@pytest.mark.parametrize("weak_learners", [None, "stumps"])
def test_weights_by_round(weak_learners):
    """The error of a learner is 1/2 under the weights that follow it."""
    X, y = load_breast_cancer(return_X_y=True)
    weight = np.random.default_rng(0).uniform(0.5, 2, len(y))
    model = AdaBoostClassifier(8, weak_learners=weak_learners).fit(X, y, weight)
    D = list(model.staged_sample_weight(X, y, weight))
    f = [np.zeros(len(y)), *model.staged_decision_function(X)]
    assert len(D) == model.n_iter_ + 1
    np.testing.assert_allclose(D[0], weight / weight.sum())
    for t in range(model.n_iter_):
        is_wrong = (f[t + 1] - f[t] > 0) != (y == 1)
        assert D[t][is_wrong].sum() == pytest.approx(model.history_["weighted_error"][t])
        assert D[t + 1][is_wrong].sum() == pytest.approx(0.5)
