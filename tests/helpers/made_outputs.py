"""Tables for multi-label and multi-output classification."""

import numpy as np
from sklearn.datasets import make_multilabel_classification


def mixed_outputs(n=200, missing=0.0):
    """A table, and outputs with two, three and one classes."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 5))
    a = (X[:, 0] + 0.3 * rng.normal(size=n) > 0).astype(int)
    b = np.searchsorted([-0.5, 0.8], X[:, 1] - X[:, 0])
    X[rng.random(X.shape) < missing] = np.nan
    return X, np.stack([a, b, np.full(n, 7)], axis=1)


def six_labels(n=300):
    """A table, and six binary labels."""
    return make_multilabel_classification(n, 12, n_classes=6, random_state=0)
