"""AdaBoost with any base classifier, compared with scikit-learn's."""

import pickle

import numpy as np
import pytest
from mddf.baselines import AdaBoostClassifier
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.ensemble import AdaBoostClassifier as SklearnAdaBoost
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier

from mddf.analysis import adaboost_training_bounds

ESTIMATORS = [
    DecisionTreeClassifier(max_depth=1),
    DecisionTreeClassifier(max_depth=2, max_features=3),
    GaussianNB(),
]


@pytest.fixture(scope="module")
def cancer():
    X, y = load_breast_cancer(return_X_y=True)
    return X[::3], y[::3]


def test_as_scikit_learn_with_two_classes(cancer):
    for learning_rate in [1.0, 0.3]:
        for estimator in ESTIMATORS:
            X, y = cancer
            options = {"learning_rate": learning_rate, "random_state": 5}
            peer = SklearnAdaBoost(clone(estimator), n_estimators=12, **options).fit(X, y)
            # scikit-learn ends where a fit is worse than chance; here it votes the other way.
            n_rounds = len(peer.estimators_)
            ours = AdaBoostClassifier(n_rounds, estimator=clone(estimator), **options).fit(X, y)
            assert n_rounds == len(ours.estimators_) >= 8
            np.testing.assert_allclose(
                2 * ours.estimator_weights_, peer.estimator_weights_[:n_rounds]
            )
            np.testing.assert_allclose(
                ours.history_["weighted_error"], peer.estimator_errors_[:n_rounds]
            )
            f = ours.decision_function(X) / ours.estimator_weights_.sum()
            np.testing.assert_allclose(2 * f, peer.decision_function(X), atol=1e-12)
            np.testing.assert_array_equal(ours.predict(X), peer.predict(X))
            np.testing.assert_allclose(
                list(ours.staged_score(X, y)), list(peer.staged_score(X, y))
            )
            if hasattr(peer, "feature_importances_"):
                np.testing.assert_allclose(
                    ours.feature_importances_, peer.feature_importances_, atol=1e-12
                )


def test_learning_rate_multiplies_steps(cancer):
    for options in [
        {},
        {"max_depth": 2},
        {"weak_learners": "stumps"},
        {"estimator": GaussianNB()},
    ]:
        X, y = cancer
        full = AdaBoostClassifier(6, **options).fit(X, y)
        half = AdaBoostClassifier(6, learning_rate=0.5, **options).fit(X, y)
        np.testing.assert_allclose(half.history_["step"][0], full.history_["step"][0] / 2)
        for model in (full, half):  # the mean of exp(-y f) is the product of the normalisers
            products = np.cumprod(model.history_["normalizer"])
            np.testing.assert_allclose(products, model.history_["objective"], rtol=1e-9)
        f = half.decision_function(X)
        np.testing.assert_allclose(np.exp(-(2 * y - 1) * f).mean(), half.history_["objective"][-1])
        assert adaboost_training_bounds(full.history_["weighted_error"]) is not None


def test_finite_learner_sets_are_searched_like_the_compiled_path(cancer):
    X, y = cancer
    fast = AdaBoostClassifier(30, weak_learners="stumps").fit(X, y)
    slow = AdaBoostClassifier(30, weak_learners="stumps", learning_rate=1 - 1e-15).fit(X, y)
    np.testing.assert_allclose(slow.decision_function(X), fast.decision_function(X), rtol=1e-9)
    np.testing.assert_allclose(slow.history_["objective"], fast.history_["objective"])


@pytest.mark.parametrize("learning_rate", [1.0, 0.5])
def test_classes_words_and_copies(learning_rate):
    X, y = load_iris(return_X_y=True)
    words = np.array(["setosa", "versicolor", "virginica"])[y]
    estimator = DecisionTreeClassifier(max_depth=2, random_state=0)
    model = AdaBoostClassifier(9, estimator=estimator, learning_rate=learning_rate)
    model.fit(X, words)
    assert model.score(X, words) > 0.95
    assert [len(learners) for learners in model.estimators_] == [
        len(e) for e in model.estimator_weights_
    ]
    assert model.feature_importances_.sum() == pytest.approx(1)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    # Numbers without ties, among which rounding would decide in scikit-learn's trees.
    X = X + np.random.default_rng(0).normal(size=X.shape)
    weight = np.arange(len(y)) % 3
    weighed = clone(model).fit(X, y, weight).decision_function(X)
    copied = clone(model).fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    np.testing.assert_allclose(weighed, copied.decision_function(X), rtol=1e-6)


def test_early_stopping_keeps_the_fits_of_the_best_rounds(cancer):
    model = AdaBoostClassifier(
        20, estimator=DecisionTreeClassifier(max_depth=2), early_stopping=True, random_state=0
    ).fit(*cancer)
    assert len(model.estimators_) == model.n_iter_ <= 20


def test_refused_estimators(cancer):
    X, y = cancer
    with pytest.raises(ValueError, match=r"estimator must be .* sample_weight; got KN"):
        AdaBoostClassifier(estimator=KNeighborsClassifier()).fit(X, y)
    with pytest.raises(ValueError, match="estimator must be None if weak_learners"):
        AdaBoostClassifier(estimator=GaussianNB(), weak_learners="stumps").fit(X, y)
    with pytest.raises(ValueError, match="'estimator' parameter of AdaBoostClassifier"):
        AdaBoostClassifier(estimator="tree").fit(X, y)
    with pytest.raises(ValueError, match="'learning_rate' parameter of AdaBoostClassifier"):
        AdaBoostClassifier(learning_rate=0).fit(X, y)
    with pytest.raises(AttributeError, match="estimators_ needs an estimator"):
        AdaBoostClassifier(2).fit(X, y).estimators_  # noqa: B018
    linear = AdaBoostClassifier(2, estimator=LogisticRegression(max_iter=9999)).fit(X[:, :2], y)
    assert not hasattr(linear, "feature_importances_")
