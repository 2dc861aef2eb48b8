"""Learners are stored as arrays, whatever their source."""

import pickle

import joblib
import numpy as np
import pytest
from mddf.baselines import AdaBoostClassifier, LPBoostClassifier, QuadBoostClassifier
from sklearn.datasets import load_iris


def test_a_model_is_mapped_from_its_file(tmp_path):
    X, y = load_iris(return_X_y=True)
    model = AdaBoostClassifier(20, max_depth=2).fit(X, y)
    joblib.dump(model, tmp_path / "model.joblib")
    mapped = joblib.load(tmp_path / "model.joblib", mmap_mode="r")
    assert isinstance(mapped.ensembles_[0].learners.label, np.memmap)
    np.testing.assert_array_equal(mapped.decision_function(X), model.decision_function(X))


@pytest.mark.parametrize("Model", [AdaBoostClassifier, LPBoostClassifier, QuadBoostClassifier])
def test_weak_learners_accept_the_former_parameter_name(Model):
    X, y = load_iris(return_X_y=True)
    X, y = X[:100], y[:100]
    rules = [lambda X: np.where(X[:, 0] > 5.5, 1, -1), lambda X: np.where(X[:, 1] > 3, 1, -1)]
    for learners in ("stumps", rules):
        expected = Model(n_estimators=9, weak_learners=learners).fit(X, y).decision_function(X)
        with pytest.warns(FutureWarning, match=r"voters is deprecated .* use weak_learners"):
            result = Model(n_estimators=9, voters=learners).fit(X, y)
        assert np.array_equal(result.decision_function(X), expected)


def test_a_vote_is_pickled_by_itself():
    X = np.random.default_rng(0).integers(0, 9, size=(60, 3)).astype(float)
    model = QuadBoostClassifier(n_estimators=3, weak_learners=np.tanh).fit(X, X[:, 0] > 4)
    vote = pickle.loads(pickle.dumps(model.ensembles_[0]))
    assert np.array_equal(vote.decision(X), model.decision_function(X))
