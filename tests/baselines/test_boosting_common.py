"""Properties of every boosting classifier."""

from dataclasses import replace

import numpy as np
import pytest
from mddf.baselines import (
    AdaBoostClassifier,
    AdaBoostRhoClassifier,
    ArcGVClassifier,
    DeepBoostClassifier,
    LPBoostClassifier,
    QuadBoostClassifier,
)
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.multiclass import OneVsRestClassifier
from sklearn_checks import sklearn_checks

ALL = [AdaBoostClassifier(), DeepBoostClassifier(), QuadBoostClassifier(), LPBoostClassifier()]
VARIANTS = [
    AdaBoostClassifier(weak_learners="stumps"),
    DeepBoostClassifier(loss="logistic", search="greedy", step="exact"),
    QuadBoostClassifier("l2"),
    LPBoostClassifier(C=1.0, n_estimators=10),
    ArcGVClassifier(),
    AdaBoostRhoClassifier(),
    ArcGVClassifier(max_depth=3),
    AdaBoostRhoClassifier(rho=0.3, weak_learners="stumps"),
]
SMALL = [clone(model).set_params(n_estimators=8) for model in ALL + VARIANTS]


def model_id(model):
    return str(model).replace("Classifier", "")


@pytest.fixture(scope="module")
def cancer():
    X, y = load_breast_cancer(return_X_y=True)
    return X[::3], y[::3]


@pytest.fixture(scope="module")
def iris():
    return load_iris(return_X_y=True)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
@sklearn_checks(SMALL)
def test_scikit_learn_contract(estimator, check):
    check(estimator)


@pytest.mark.parametrize("model", SMALL, ids=model_id)
def test_stages(model, cancer, iris):
    for X, y in (cancer, iris):
        model = clone(model).fit(X, y)
        decisions = list(model.staged_decision_function(X))
        assert len(decisions) == model.n_iter_ <= 8
        np.testing.assert_allclose(decisions[-1], model.decision_function(X), atol=1e-12)
        labels, shares = list(model.staged_predict(X)), list(model.staged_predict_proba(X))
        np.testing.assert_array_equal(labels[-1], model.predict(X))
        np.testing.assert_allclose(shares[-1], model.predict_proba(X), atol=1e-12)
        for label, share in zip(labels, shares, strict=True):
            np.testing.assert_allclose(share.sum(axis=1), 1)
            np.testing.assert_array_equal(model.classes_[share.argmax(axis=1)], label)


def test_the_predicted_class_is_the_most_probable(cancer, iris):
    """Also for extreme votes whose probabilities are equal after rounding."""
    for model in SMALL[:4]:
        for factor in [1e-15, 1e3]:
            for X, y in (cancer, iris):
                model = clone(model).fit(X, y)
                votes = [replace(vote, step=vote.step * factor) for vote in model.ensembles_]
                model.ensembles_ = votes
                X = np.random.default_rng(0).permuted(X, axis=0)
                p = model.predict_proba(X)
                np.testing.assert_allclose(p.sum(axis=1), 1)
                np.testing.assert_array_equal(model.classes_[p.argmax(axis=1)], model.predict(X))
                for label, share in zip(
                    model.staged_predict(X), model.staged_predict_proba(X), strict=True
                ):
                    np.testing.assert_array_equal(model.classes_[share.argmax(axis=1)], label)


def test_several_classes_are_fitted_one_against_the_rest(iris):
    for model in SMALL[:4]:
        X, y = iris
        names = np.array(["setosa", "versicolor", "virginica"])[y]
        ours = clone(model).fit(X, names)
        theirs = OneVsRestClassifier(clone(model)).fit(X, names)
        np.testing.assert_allclose(
            ours.decision_function(X), theirs.decision_function(X), atol=1e-12
        )
        np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))
        assert ours.predict(X).dtype == names.dtype


def test_margins(cancer, iris):
    for model in SMALL[:4]:
        X, y = cancer
        model = clone(model).fit(X, y)
        margins = model.margins(X, y, normalize=False)
        np.testing.assert_array_equal(margins, (2 * y - 1) * model.decision_function(X))
        total = abs(model.estimator_weights_).sum()
        np.testing.assert_allclose(model.margins(X, y) * total, margins, atol=1e-12)
        assert abs(model.margins(X, y)).max() <= 1 + 1e-12
        with pytest.raises(ValueError, match="y must hold labels seen in fit"):
            model.margins(X, y + 1)
        with pytest.raises(ValueError, match="y must have shape"):
            model.margins(X, y[:-1])
        X, y = iris
        model = clone(model).fit(X, y)
        margins = model.margins(X, y, normalize=False)
        np.testing.assert_array_equal(margins[model.predict(X) != y] <= 0, True)
        np.testing.assert_array_equal(margins[model.predict(X) == y] >= 0, True)


@pytest.mark.parametrize("model", ALL + VARIANTS, ids=model_id)
def test_early_stopping(model, cancer):
    X, y = cancer
    model = clone(model).set_params(
        n_estimators=60, early_stopping=True, validation_fraction=0.3, n_iter_no_change=5,
        random_state=0,
    )  # fmt: skip
    model.fit(X, y)
    losses = model.history_["validation_loss"]
    assert len(losses) == model.n_iter_ == model.ensembles_[0].n_rounds
    assert model.n_iter_ <= 60
    if model.n_iter_:
        assert losses[-1] == losses.min()
    ensemble = model.ensembles_[0]
    assert set(ensemble.learner) == set(
        range(len(model.estimator_weights_))
    )  # no learner is left over
    again = clone(model).fit(X, y)
    np.testing.assert_array_equal(model.decision_function(X), again.decision_function(X))


def test_arrays_of_words_are_refused_with_a_remedy(iris):
    for model in SMALL[:4]:
        X, y = iris
        words = np.where(X > 3, "high", "low").astype(object)
        message = r"X must hold numbers, .*got '(high|low)' in row 0.*; .* categorical_features"
        with pytest.raises(ValueError, match=message):
            clone(model).fit(words, y)
        with pytest.raises(ValueError, match=message):
            clone(model).fit(X, y).predict(words)
