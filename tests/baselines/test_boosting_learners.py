"""Learners are stored as arrays, whatever their source."""

import pickle

import joblib
import numpy as np
from mddf.baselines import AdaBoostClassifier, QuadBoostClassifier
from sklearn.datasets import load_iris


def test_a_model_is_mapped_from_its_file(tmp_path):
    X, y = load_iris(return_X_y=True)
    model = AdaBoostClassifier(20, max_depth=2).fit(X, y)
    joblib.dump(model, tmp_path / "model.joblib")
    mapped = joblib.load(tmp_path / "model.joblib", mmap_mode="r")
    assert isinstance(mapped.ensembles_[0].learners.label, np.memmap)
    np.testing.assert_array_equal(mapped.decision_function(X), model.decision_function(X))


def test_a_vote_is_pickled_by_itself():
    X = np.random.default_rng(0).integers(0, 9, size=(60, 3)).astype(float)
    model = QuadBoostClassifier(n_estimators=3, weak_learners=np.tanh).fit(X, X[:, 0] > 4)
    vote = pickle.loads(pickle.dumps(model.ensembles_[0]))
    assert np.array_equal(vote.decision(X), model.decision_function(X))
