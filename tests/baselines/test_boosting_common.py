"""Properties of every boosting classifier."""

import pickle
from dataclasses import replace

import numpy as np
import pytest
from mddf.baselines import (
    AdaBoostClassifier,
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


@pytest.mark.parametrize("factor", [1e-15, 1e3])
@pytest.mark.parametrize("model", SMALL[:4], ids=model_id)
def test_the_predicted_class_is_the_most_probable(model, factor, cancer, iris):
    """Also for extreme votes whose probabilities are equal after rounding."""
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


@pytest.mark.parametrize("model", SMALL, ids=model_id)
def test_fewer_rounds_are_the_start_of_more(model, cancer):
    X, y = cancer
    stages = list(clone(model).fit(X, y).staged_decision_function(X))
    short = clone(model).set_params(n_estimators=3).fit(X, y)
    np.testing.assert_allclose(short.decision_function(X), stages[2], atol=1e-12)


@pytest.mark.parametrize("model", SMALL[:4], ids=model_id)
def test_history(model, cancer, iris):
    two, three = clone(model).fit(*cancer), clone(model).fit(*iris)
    assert {"objective", "step", "n_learners"} <= set(two.history_)
    assert {"edge", "correlation"} & set(two.history_)
    for values in two.history_.values():
        assert values.shape == (two.n_iter_,)
        assert np.isfinite(values).all()
    assert two.history_["n_learners"].dtype == np.int64
    for values in three.history_.values():
        assert values.shape == (3, three.n_iter_)
    weights = two.estimator_weights_
    assert np.count_nonzero(abs(weights) > 1e-12) == two.history_["n_learners"][-1]
    lengths = [len(e.learners) for e in three.ensembles_]
    assert [len(w) for w in three.estimator_weights_] == lengths


@pytest.mark.parametrize("model", SMALL[:4], ids=model_id)
def test_several_classes_are_fitted_one_against_the_rest(model, iris):
    X, y = iris
    names = np.array(["setosa", "versicolor", "virginica"])[y]
    ours = clone(model).fit(X, names)
    theirs = OneVsRestClassifier(clone(model)).fit(X, names)
    np.testing.assert_allclose(ours.decision_function(X), theirs.decision_function(X), atol=1e-12)
    np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))
    assert ours.predict(X).dtype == names.dtype


@pytest.mark.parametrize("model", SMALL[:4], ids=model_id)
def test_margins(model, cancer, iris):
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


@pytest.mark.parametrize("model", SMALL[:4], ids=model_id)
def test_importances(model):
    rng = np.random.default_rng(0)
    X = rng.random((80, 4))
    y = X[:, 2] > 0.5
    X[:, 0] = 1.0
    for labels in (y, y + (X[:, 2] > 0.8)):
        shares = clone(model).fit(X, labels).feature_importances_
        assert shares.sum() == pytest.approx(1)
        assert (shares >= 0).all()
        assert shares.argmax() == 2
        assert shares[0] == 0


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


@pytest.mark.parametrize("model", SMALL[:4], ids=model_id)
def test_early_stopping_needs_both_classes_on_both_sides(model, cancer):
    X, y = cancer
    rows = np.r_[np.flatnonzero(y == 0)[:1], np.flatnonzero(y == 1)[:8]]
    message = r"validation_fraction=0\.1 needs .* 8 rows of one class and 1 of all others"
    with pytest.raises(ValueError, match=message):
        clone(model).set_params(early_stopping=True).fit(X[rows], y[rows])


@pytest.mark.parametrize("model", SMALL[:4], ids=model_id)
def test_pickle_clone_and_refit(model, cancer):
    X, y = cancer
    model = clone(model)
    before = dict(model.get_params())
    f = model.fit(X, y).decision_function(X)
    assert model.get_params() == before
    copy = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(copy.decision_function(X), f)
    np.testing.assert_array_equal(model.fit(X, y).decision_function(X), f)


@pytest.mark.parametrize("model", SMALL[:4], ids=model_id)
def test_arrays_of_words_are_refused_with_a_remedy(model, iris):
    X, y = iris
    words = np.where(X > 3, "high", "low").astype(object)
    message = (
        r"X must hold numbers, .*got '(high|low)' in row 0.*; .* unless categorical_features gives"
    )
    with pytest.raises(ValueError, match=message):
        clone(model).fit(words, y)
    with pytest.raises(ValueError, match=message):
        clone(model).fit(X, y).predict(words)
