"""The score of splits: with second derivatives, or with numbers of samples."""

import pickle

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.metrics import log_loss

from mddf import GradientBoostingClassifier

FAST = {"max_iter": 30, "learning_rate": 0.3, "random_state": 0}


@pytest.mark.parametrize("load", [load_breast_cancer, load_iris])
@pytest.mark.parametrize("policy", ["symmetric", "leaf-wise"])
def test_other_losses_have_two_scores(load, policy):
    X, y = load(return_X_y=True)
    probabilities = []
    for score in ("newton", "gradient"):
        model = GradientBoostingClassifier(
            split_score=score, grow_policy=policy, early_stopping=False, **FAST
        ).fit(X[::2], y[::2], sample_weight=np.linspace(0.5, 1.5, len(y[::2])))
        assert model.split_score_ == score
        copy = pickle.loads(pickle.dumps(model))
        probabilities.append(copy.predict_proba(X[1::2]))
        assert log_loss(y[1::2], probabilities[-1]) < 0.3
    assert not np.array_equal(*probabilities)


def test_trials_choose():
    X, y = load_breast_cancer(return_X_y=True)
    options = {**FAST, "max_depth": 3, "l2_regularization": 3.0, "max_features": 0.5}
    model = GradientBoostingClassifier(split_score="auto", subsample=0.8, **options).fit(X, y)
    fixed = GradientBoostingClassifier(
        split_score=model.split_score_, subsample=0.8, **options
    ).fit(X, y)
    assert np.array_equal(model.predict_proba(X), fixed.predict_proba(X))
    model.set_params(early_stopping=False).fit(X, y)
    assert model.split_score_ == "newton"


def test_constraints_are_refused():
    X, y = load_breast_cancer(return_X_y=True)
    constraints = [1] + [0] * 29
    with pytest.raises(ValueError, match=r"split_score must be 'newton' or 'auto'.*'gradient'"):
        GradientBoostingClassifier(split_score="gradient", monotonic_cst=constraints).fit(X, y)
    model = GradientBoostingClassifier(split_score="auto", monotonic_cst=constraints, **FAST)
    assert model.fit(X, y).split_score_ == "newton"
