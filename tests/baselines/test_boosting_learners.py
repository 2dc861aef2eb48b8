"""Learners are stored as arrays, whatever their source."""

import joblib
import numpy as np
from mddf.baselines import AdaBoostClassifier
from sklearn.datasets import load_iris


def test_a_model_is_mapped_from_its_file(tmp_path):
    X, y = load_iris(return_X_y=True)
    model = AdaBoostClassifier(20, max_depth=2).fit(X, y)
    joblib.dump(model, tmp_path / "model.joblib")
    mapped = joblib.load(tmp_path / "model.joblib", mmap_mode="r")
    assert isinstance(mapped.ensembles_[0].learners.label, np.memmap)
    np.testing.assert_array_equal(mapped.decision_function(X), model.decision_function(X))
