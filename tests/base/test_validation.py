"""Numbers of columns from parameters; a failed fit leaves its estimator unchanged."""

import numpy as np
import pytest
from mddf.baselines import (
    AdaBoostClassifier,
    DeepBoostClassifier,
    GCForestClassifier,
    LPBoostClassifier,
    MultiGrainedScanner,
    QuadBoostClassifier,
)
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import load_iris

from mddf import CompletelyRandomForestClassifier, MDDFClassifier, RandomForestClassifier

X, y = load_iris(return_X_y=True)


class Fails(ClassifierMixin, BaseEstimator):
    """Fails in the middle of the work."""

    def fit(self, X, y):
        raise RuntimeError("in the middle")

    def predict_proba(self, X):
        raise AssertionError


def test_a_failed_fit_changes_nothing():
    for estimator in [
        RandomForestClassifier(2),
        CompletelyRandomForestClassifier(2),
        MDDFClassifier(1, n_estimators=2),
        GCForestClassifier(1, n_estimators=2),
        MultiGrainedScanner([2], n_estimators=2),
        AdaBoostClassifier(2),
        DeepBoostClassifier(2),
        LPBoostClassifier(),
        QuadBoostClassifier(n_estimators=5),
    ]:
        ask = "transform" if isinstance(estimator, MultiGrainedScanner) else "predict_proba"
        with pytest.raises(ValueError, match="y contains NaN"):
            estimator.fit(X[:, :3], np.full(len(y), np.nan))
        assert not hasattr(estimator, "n_features_in_")
        before = getattr(estimator.fit(X, y), ask)(X[1:])
        with pytest.raises(ValueError, match="y contains NaN"):
            estimator.fit(X[:, :3], np.full(len(y), np.nan))
        with pytest.raises(ValueError, match="sample_weight"):
            estimator.fit(X[:, :2], y > 0, np.zeros(3))
        assert np.array_equal(getattr(estimator, ask)(X[1:]), before)


def test_a_fit_that_fails_late():
    cascade = MDDFClassifier(1, n_estimators=2).fit(X, y)
    before = cascade.predict_proba(X)
    cascade.set_params(forests=["random", Fails()])
    with pytest.raises(RuntimeError, match="in the middle"):
        cascade.fit(X[:, :2], y > 0)
    assert np.array_equal(cascade.predict_proba(X), before)


def test_interrupts_count_as_failures():
    class Interrupted(Fails):
        def fit(self, X, y):
            raise KeyboardInterrupt

    cascade = MDDFClassifier(1, n_estimators=2).fit(X, y)
    cascade.set_params(forests=["random", Interrupted()])
    before = dict(vars(cascade))
    with pytest.raises(KeyboardInterrupt):
        cascade.fit(X[:, :2], y > 0)
    assert vars(cascade) == before


def test_missing_labels_are_refused():
    for labels in [["a", None, "b"], ["a", float("nan"), "b"]]:
        for estimator in [
            RandomForestClassifier(2),
            MDDFClassifier(1),
            AdaBoostClassifier(2),
            MultiGrainedScanner(),
        ]:
            with pytest.raises(
                ValueError, match=r"y must have a label for every sample, got .* in row 1"
            ):
                estimator.fit(X[:3], np.array(labels, dtype=object))


def test_missing_labels_of_pandas():
    pd = pytest.importorskip("pandas")
    labels = pd.Series(["a", None, "b"], dtype="string")
    for estimator in (RandomForestClassifier(2), AdaBoostClassifier(2)):
        with pytest.raises(ValueError, match="y must have a label for every sample"):
            estimator.fit(X[:3], labels)


def test_max_features():
    for value, expected in [
        ("sqrt", 7),
        ("log2", 5),
        (None, 50),
        (99, 50),
        (0.5, 25),
        (0.001, 1),
        (1.0, 50),
    ]:
        X = np.random.default_rng(0).normal(size=(40, 50))
        y = np.arange(40) % 2
        result, same = (
            RandomForestClassifier(3, max_features=of, random_state=0).fit(X, y).apply(X)
            for of in (value, expected)
        )
        assert np.array_equal(result, same)
