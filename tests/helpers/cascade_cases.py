"""Small cascades and their training data."""

import numpy as np
import pytest
from forest_cases import three_classes
from mddf.baselines import GCForestClassifier

from mddf import MDDFClassifier

SMALL = {"n_estimators": 8, "n_layers": 3, "cv": 3, "random_state": 0, "early_stopping": False}
both = pytest.mark.parametrize("Cascade", [MDDFClassifier, GCForestClassifier])


def small_data():
    """Training samples with named classes, and test samples with integer classes."""
    X, y = three_classes()
    X = np.nan_to_num(X)
    return X[:200], np.array(["red", "green", "blue"])[y[:200]], X[200:], y[200:]
